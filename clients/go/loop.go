package outrigger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// defaultParallelTools bounds the tools that one generation runs at the same time.
const defaultParallelTools = 16

// toolLoop is the caller's side of one RunTools call. The messages are received by the goroutine that
// reads the stream; each call of a tool has a separate goroutine, which sends the output.
type toolLoop struct {
	ctx     context.Context
	options *GenerateOptions
	tools   map[string]*Tool
	// hideErrors says whether errors are hidden from the model, unless a tool says otherwise.
	hideErrors bool
	// slots has an element for each tool that runs.
	slots chan struct{}
	// history is the conversation that the model has been sent. Only the reading goroutine changes it.
	history []*Message

	sending sync.Mutex
	stream  grpc.BidiStreamingClient[pb.RunToolsRequest, pb.RunToolsResponse]
}

// executesTools reports whether the options have a tool that this process executes.
func (o *GenerateOptions) executesTools() bool {
	return slices.ContainsFunc(o.Tools, func(tool *Tool) bool { return tool.isExecutable() })
}

// runTools makes the sequence of a generation with the tool loop.
func (c *Client) runTools(ctx context.Context, options GenerateOptions, omitEvents bool) iter.Seq2[*Event, error] {
	return newStream(ctx, func(ctx context.Context) (nextFrame, error) {
		start, err := options.startOfLoop(omitEvents)
		if err != nil {
			return nil, err
		}
		stream, err := c.generation.RunTools(ctx)
		if err != nil {
			return nil, err
		}
		loop := newToolLoop(ctx, &options, start, stream)
		loop.hideErrors = c.hideErrors
		err = loop.send(&pb.RunToolsRequest{Message: &pb.RunToolsRequest_Start{Start: start}})
		if errors.Is(err, io.EOF) {
			// The call has ended already; receiving gives the reason.
			err = nil
		}
		return framesOf(stream, err, loop.read)
	})
}

// startOfLoop makes the message that opens the loop. A tool without a function is passive.
func (o *GenerateOptions) startOfLoop(omitEvents bool) (*pb.RunToolsStart, error) {
	converted, err := o.proto()
	if err != nil {
		return nil, err
	}
	start := &pb.RunToolsStart{Options: converted, OmitEvents: omitEvents, RepairCalls: o.RepairToolCall != nil}
	tools := o.executable()
	for _, definition := range converted.GetRequest().GetTools() {
		name := nameOf(definition)
		if name != "" && tools[name] == nil {
			start.PassiveTools = append(start.PassiveTools, name)
		}
	}
	return start, nil
}

// executable returns the tools that this process executes, by name.
func (o *GenerateOptions) executable() map[string]*Tool {
	tools := map[string]*Tool{}
	for _, tool := range o.Tools {
		if tool.isExecutable() {
			tools[tool.name] = tool
		}
	}
	return tools
}

// nameOf returns the name of a tool that the caller executes; a hosted tool has none.
func nameOf(tool *pb.Tool) string {
	if custom := tool.GetCustom(); custom != nil {
		return custom.GetName()
	}
	return tool.GetFunction().GetName()
}

func newToolLoop(
	ctx context.Context,
	options *GenerateOptions,
	start *pb.RunToolsStart,
	stream grpc.BidiStreamingClient[pb.RunToolsRequest, pb.RunToolsResponse],
) *toolLoop {
	slots := options.MaxParallelTools
	if slots <= 0 {
		slots = defaultParallelTools
	}
	return &toolLoop{
		ctx:     ctx,
		options: options,
		tools:   options.executable(),
		slots:   make(chan struct{}, slots),
		history: conversationOf(start.GetOptions()),
		stream:  stream,
	}
}

// conversationOf returns the messages with which the model is called first.
func conversationOf(options *pb.GenerationOptions) []*Message {
	var messages []*Message
	if system := options.GetSystem(); system != "" {
		messages = append(messages, SystemMessage(system))
	}
	messages = append(messages, options.GetRequest().GetMessages()...)
	if prompt := options.GetPrompt(); prompt != "" {
		messages = append(messages, UserMessage(prompt))
	}
	return messages
}

// read takes a message of the sidecar. It starts the tools, which is why it must be called in order.
func (l *toolLoop) read(message *pb.RunToolsResponse) frame {
	event := &Event{Step: int(message.GetStep())}
	read := frame{event: event, sequence: message.GetSequence()}
	switch m := message.GetMessage().(type) {
	case *pb.RunToolsResponse_Event:
		event.Model = m.Event
	case *pb.RunToolsResponse_StepFinish:
		event.StepFinish = m.StepFinish.GetResult()
		l.history = append(l.history, messagesOf(event.StepFinish)...)
	case *pb.RunToolsResponse_Result:
		event.Result, read.isLast = &Result{m.Result}, true
	case *pb.RunToolsResponse_Error:
		read.failure = m.Error
	default:
		l.handle(event.Step, message)
		read.event = nil
	}
	return read
}

// handle takes a message that is for the loop alone. Kinds that a newer sidecar sends are skipped.
func (l *toolLoop) handle(step int, message *pb.RunToolsResponse) {
	switch m := message.GetMessage().(type) {
	case *pb.RunToolsResponse_Execute:
		call := &Call{
			ID:       m.Execute.GetToolCall().GetId(),
			Name:     m.Execute.GetToolCall().GetName(),
			Step:     step,
			Messages: slices.Clip(l.history),
		}
		go l.answer(m.Execute, call)
	case *pb.RunToolsResponse_RejectedOutput:
		rejected := &ToolCall{Id: m.RejectedOutput.GetToolCallId()}
		l.report(l.ctx, rejected, fmt.Errorf("the output was not used: %v", m.RejectedOutput.GetReason()))
	}
}

// errToolEnded is the failure of a tool that neither returned nor panicked.
var errToolEnded = errors.New("the tool ended its goroutine")

// answer executes or repairs one call and sends what became of it.
func (l *toolLoop) answer(execute *pb.ExecuteTool, call *Call) {
	ctx, cancel := context.WithValue(l.ctx, callKey{}, call), context.CancelFunc(func() {})
	if timeout := execute.GetTimeout(); timeout != nil {
		ctx, cancel = context.WithTimeout(ctx, timeout.AsDuration())
	}
	defer cancel()
	output, err := (*pb.ToolOutput)(nil), errToolEnded
	// Deferred, because runtime.Goexit in a tool must not leave its call without an output.
	defer func() { l.conclude(ctx, execute.GetToolCall(), output, err) }()
	output, err = l.outputOf(ctx, execute)
	if err == nil {
		err = checkEncoding(output)
	}
}

// conclude sends the output of a call, or its failure. A loop that has ended wants neither.
func (l *toolLoop) conclude(ctx context.Context, call *ToolCall, output *pb.ToolOutput, err error) {
	if l.ctx.Err() != nil {
		return
	}
	if err != nil {
		l.report(ctx, call, err)
		output = failedOutput(call.GetId(), err, l.hidesErrorsOf(call))
	}
	// An error says that the stream has ended, and then the receiving side has the reason.
	_ = l.send(&pb.RunToolsRequest{Message: &pb.RunToolsRequest_Output{Output: output}})
}

// outputOf executes or repairs one call, when there is a slot for it.
func (l *toolLoop) outputOf(ctx context.Context, execute *pb.ExecuteTool) (*pb.ToolOutput, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, errors.New("the tool was not started within its time limit")
	}
	call := execute.GetToolCall()
	if problem := execute.GetProblem(); problem != "" {
		repaired, err := guarded(func() (*ToolCall, error) { return l.repair(ctx, call, problem) })
		output := &pb.ToolOutput_RepairedCall{RepairedCall: repaired}
		return &pb.ToolOutput{ToolCallId: call.GetId(), Output: output}, err
	}
	tool := l.tools[call.GetName()]
	if tool == nil {
		return nil, fmt.Errorf("there is no tool %q", call.GetName())
	}
	result, err := guarded(func() (*ToolResult, error) { return tool.run(ctx, call) })
	return &pb.ToolOutput{ToolCallId: call.GetId(), Output: &pb.ToolOutput_Result{Result: result}}, err
}

// repair requests other arguments. A repair without a result is a failure with the problem.
func (l *toolLoop) repair(ctx context.Context, call *ToolCall, problem string) (*ToolCall, error) {
	if l.options.RepairToolCall == nil {
		return nil, &argumentsError{problem}
	}
	repaired, err := l.options.RepairToolCall(ctx, call, problem)
	if err == nil && repaired == nil {
		err = &argumentsError{problem}
	}
	return repaired, err
}

// guarded calls a function of the caller, whose panic becomes an error.
func guarded[T any](run func() (*T, error)) (result *T, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return run()
}

// checkEncoding refuses an output that gRPC could not send, which would end the whole generation.
func checkEncoding(output *pb.ToolOutput) error {
	encoded, err := proto.Marshal(output)
	if err != nil {
		return fmt.Errorf("the result cannot be sent: %w", err)
	}
	if len(encoded) >= maxMessageBytes {
		return fmt.Errorf("the result has %d bytes, at most %d can be sent", len(encoded), maxMessageBytes)
	}
	return nil
}

// failedOutput is the output for a call that failed or was refused.
func failedOutput(callID string, err error, hide bool) *pb.ToolOutput {
	output := &pb.ToolOutput{ToolCallId: callID}
	if refusal, ok := errors.AsType[*RefusalError](err); ok {
		output.Output = &pb.ToolOutput_Refusal{Refusal: &pb.ToolRefusal{Reason: validText(refusal.Reason)}}
		return output
	}
	message := validText(err.Error())
	if _, isOfArguments := errors.AsType[*argumentsError](err); hide && !isOfArguments {
		message = "the tool failed"
	} else if _, panicked := errors.AsType[*PanicError](err); panicked {
		message = "the tool panicked"
	}
	output.Output = &pb.ToolOutput_Failure{Failure: &pb.ToolFailure{Message: message}}
	return output
}

// hidesErrorsOf reports whether the error of a call is hidden from the model.
func (l *toolLoop) hidesErrorsOf(call *ToolCall) bool {
	if tool := l.tools[call.GetName()]; tool != nil && tool.hideErrors != nil {
		return *tool.hideErrors
	}
	return l.hideErrors
}

func validText(text string) string {
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (l *toolLoop) report(ctx context.Context, call *ToolCall, err error) {
	if l.options.OnToolError != nil {
		l.options.OnToolError(ctx, call, err)
	}
}

// send sends one message; gRPC allows one at a time.
func (l *toolLoop) send(message *pb.RunToolsRequest) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	return l.stream.Send(message)
}
