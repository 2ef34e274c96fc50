package outrigger

import (
	"context"
	"iter"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Result is the result of a generation: the contract's message with its steps, usage and attempts, and
// accessors for the last step.
type Result struct {
	*pb.GenerateResult
}

// Text returns the text of the last step.
func (r *Result) Text() string {
	return TextOf(r.lastMessage())
}

// Reasoning returns the reasoning of the last step, as far as the provider shows it.
func (r *Result) Reasoning() string {
	return ReasoningOf(r.lastMessage())
}

// ToolCalls returns the tool calls of the last step. Calls without a result are left to the caller.
func (r *Result) ToolCalls() []*ToolCall {
	return ToolCallsOf(r.lastMessage())
}

// ToolResults returns the results of the tools that were executed in the last step.
func (r *Result) ToolResults() []*ToolResult {
	return r.lastStep().GetToolResults()
}

// FinishReason says why the model stopped in the last step.
func (r *Result) FinishReason() *FinishReason {
	return r.lastStep().GetResponse().GetFinishReason()
}

// Usage returns the tokens of the last step. TotalUsage has those of all steps.
func (r *Result) Usage() *Usage {
	return r.lastStep().GetResponse().GetUsage()
}

// Messages returns the messages to append to the history to continue the conversation: the model's messages of
// all steps, unchanged, and the results of the tools.
func (r *Result) Messages() []*Message {
	return messagesOfSteps(r.GetSteps())
}

func messagesOfSteps(steps []*StepResult) []*Message {
	var messages []*Message
	for _, step := range steps {
		messages = append(messages, messagesOf(step)...)
	}
	return messages
}

// messagesOf returns what a step adds to the conversation.
func messagesOf(step *StepResult) []*Message {
	messages := []*Message{step.GetResponse().GetMessage()}
	if results := step.GetToolResults(); len(results) > 0 {
		messages = append(messages, ToolMessage(results...))
	}
	return messages
}

func (r *Result) lastStep() *StepResult {
	if steps := r.GetSteps(); len(steps) > 0 {
		return steps[len(steps)-1]
	}
	return nil
}

func (r *Result) lastMessage() *Message {
	return r.lastStep().GetResponse().GetMessage()
}

// Generate returns the result as a whole. If options has a tool that can be executed, the tool loop
// runs: the model's calls are executed in this process, all of one step at the same time,
// and their results sent to the model, until it answers or a limit is reached.
func (c *Client) Generate(ctx context.Context, options GenerateOptions) (*Result, error) {
	if options.executesTools() {
		return resultOf(c.runTools(ctx, options, true))
	}
	converted, err := options.proto()
	if err != nil {
		return nil, err
	}
	response, err := c.generation.Generate(ctx, &pb.GenerateRequest{Options: converted})
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return &Result{response.GetResult()}, nil
}

// StreamGenerate is like Generate, but yields the model's events as they arrive. The last event has the
// Result. The sequence behaves as that of Stream; a tool that still runs when the loop is left has its
// context cancelled.
func (c *Client) StreamGenerate(ctx context.Context, options GenerateOptions) iter.Seq2[*Event, error] {
	if options.executesTools() {
		return c.runTools(ctx, options, false)
	}
	return newStream(ctx, func(ctx context.Context) (nextFrame, error) {
		converted, err := options.proto()
		if err != nil {
			return nil, err
		}
		stream, err := c.generation.StreamGenerate(ctx, &pb.StreamGenerateRequest{Options: converted})
		return framesOf(stream, err, readGenerated)
	})
}

// resultOf reads a stream to its end.
func resultOf(events iter.Seq2[*Event, error]) (*Result, error) {
	var result *Result
	for event, err := range events {
		if err != nil {
			return nil, err
		}
		result = event.Result
	}
	return result, nil
}

func readGenerated(message *pb.StreamGenerateResponse) frame {
	event := &Event{Step: int(message.GetStep())}
	read := frame{event: event, sequence: message.GetSequence()}
	switch m := message.GetMessage().(type) {
	case *pb.StreamGenerateResponse_Event:
		event.Model = m.Event
	case *pb.StreamGenerateResponse_StepFinish:
		event.StepFinish = m.StepFinish.GetResult()
	case *pb.StreamGenerateResponse_Result:
		event.Result, read.isLast = &Result{m.Result}, true
	case *pb.StreamGenerateResponse_Error:
		read.failure = m.Error
	default:
		// A kind of message that a newer sidecar sends.
		read.event = nil
	}
	return read
}
