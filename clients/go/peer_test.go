package outrigger_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// peer is the sidecar's side of one tool loop, played by a test.
type peer struct {
	t        *testing.T
	stream   toolStream
	sequence int32
	step     int32
	steps    []*pb.StepResult
}

// playing returns a client whose RunTools is played by a function, which is given the first message.
func playing(t *testing.T, play func(*peer, *pb.RunToolsStart) error) *outrigger.Client {
	t.Helper()
	return connect(t, &fakeSidecar{runTools: func(stream toolStream) error {
		first, err := stream.Recv()
		if err != nil {
			return err
		}
		return play(&peer{t: t, stream: stream, step: 1}, first.GetStart())
	}})
}

func (p *peer) send(message *pb.RunToolsResponse) {
	message.Sequence, message.Step = p.sequence, p.step
	p.sequence++
	// A caller that has gone is what some tests want; others miss the message.
	_ = p.stream.Send(message)
}

func (p *peer) event(event *pb.StreamEvent) {
	p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_Event{Event: event}})
}

// execute asks for the execution of calls, which are named call_0, call_1, ...
func (p *peer) execute(calls ...*pb.ToolCall) {
	for i, call := range calls {
		call.Id = fmt.Sprintf("call_%d", i)
		p.ask(&pb.ExecuteTool{ToolCall: call})
	}
}

func (p *peer) ask(execute *pb.ExecuteTool) {
	if execute.Timeout == nil {
		execute.Timeout = durationpb.New(time.Minute)
	}
	p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_Execute{Execute: execute}})
}

// outputs receives as many outputs, by the id of their call.
func (p *peer) outputs(count int) map[string]*pb.ToolOutput {
	outputs := map[string]*pb.ToolOutput{}
	for range count {
		message, err := p.stream.Recv()
		if err != nil {
			p.t.Errorf("got %v, want an output", err)
			break
		}
		outputs[message.GetOutput().GetToolCallId()] = message.GetOutput()
	}
	return outputs
}

// finishStep ends a step and begins the next.
func (p *peer) finishStep(text string, results ...*pb.ToolResult) {
	step := &pb.StepResult{Response: answer(text), ToolResults: results}
	p.steps = append(p.steps, step)
	p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_StepFinish{StepFinish: &pb.StepFinish{Result: step}}})
	p.step++
}

// finish ends the loop with an answer.
func (p *peer) finish(text string) error {
	p.finishStep(text)
	p.step--
	result := &pb.GenerateResult{
		Steps:      p.steps,
		Response:   p.steps[len(p.steps)-1].GetResponse(),
		TotalUsage: &pb.Usage{TotalTokens: int32(7 * len(p.steps))},
		StopReason: pb.GenerateResult_STOP_REASON_COMPLETED,
	}
	p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_Result{Result: result}})
	return nil
}

// waitForEnd waits until the caller has closed or cancelled the call.
func (p *peer) waitForEnd() error {
	for {
		if _, err := p.stream.Recv(); err != nil && err != io.EOF {
			return err
		}
	}
}

func callOf(tool, arguments string) *pb.ToolCall {
	return &pb.ToolCall{Name: tool, Input: &pb.ToolCall_ArgumentsJson{ArgumentsJson: arguments}}
}

// said returns what an output tells the model, with its kind before it.
func said(output *pb.ToolOutput) string {
	switch o := output.GetOutput().(type) {
	case *pb.ToolOutput_Result:
		text := outrigger.TextOf(o.Result)
		if o.Result.GetFailed() {
			return "error result: " + text
		}
		return "result: " + text
	case *pb.ToolOutput_Failure:
		return "error: " + o.Failure.GetMessage()
	case *pb.ToolOutput_Refusal:
		return "refusal: " + o.Refusal.GetReason()
	case *pb.ToolOutput_RepairedCall:
		return "repaired: " + o.RepairedCall.GetArgumentsJson()
	default:
		return "nothing"
	}
}
