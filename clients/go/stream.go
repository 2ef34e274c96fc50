package outrigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Event is one event of a stream. One of the fields after Step is set.
type Event struct {
	// Step is the number of the step, from 1.
	Step int
	// Model is an event of the model, under the laws that the contract lists at StreamEvent.
	Model *StreamEvent
	// StepFinish says that the model answered and its tools were executed.
	StepFinish *StepResult
	// PartialObject is what has arrived of the object: complete, valid JSON. In StreamObject.
	PartialObject json.RawMessage
	// Result is the last event of StreamGenerate and StreamObject.
	Result *Result
}

// Text returns the text by which the answer has grown; it is empty in all other events.
func (e *Event) Text() string {
	return e.Model.GetTextDelta().GetDelta()
}

// Reasoning returns the reasoning by which the answer has grown; it is empty in all other events.
func (e *Event) Reasoning() string {
	return e.Model.GetReasoningDelta().GetDelta()
}

// ToolCall returns a tool call that is complete, and nil in all other events.
func (e *Event) ToolCall() *ToolCall {
	return e.Model.GetToolCallEnd().GetToolCall()
}

// Response returns the model's whole answer in the last event of that answer, and nil in all others.
func (e *Event) Response() *Response {
	if finish := e.Model.GetFinish(); finish != nil {
		return &Response{finish.GetResponse()}
	}
	return nil
}

// Stream calls a model once and returns its events while it answers. The last one has a Response.
//
// The call begins with the range over the sequence, and leaving the loop cancels it. A failure is the
// last pair of the sequence, with a nil event: a loop that saw no error saw a complete answer. A
// sequence can be ranged over once.
func (c *Client) Stream(ctx context.Context, request *Request) iter.Seq2[*Event, error] {
	return newStream(ctx, func(ctx context.Context) (nextFrame, error) {
		stream, err := c.inference.Stream(ctx, request)
		return framesOf(stream, err, func(event *StreamEvent) frame {
			return frame{
				event:    &Event{Step: 1, Model: event},
				sequence: event.GetSequence(),
				isLast:   event.GetFinish() != nil,
				failure:  event.GetError(),
			}
		})
	})
}

// TextDeltas reduces a stream to the pieces of its text. A failure is the last pair.
func TextDeltas(events iter.Seq2[*Event, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for event, err := range events {
			if err != nil {
				yield("", err)
				return
			}
			if text := event.Text(); text != "" && !yield(text, nil) {
				return
			}
		}
	}
}

// frame is one message of a stream of any method.
type frame struct {
	// event is what the caller sees; nil if that is nothing.
	event    *Event
	sequence int32
	isLast   bool
	failure  *pb.InferenceError
}

// nextFrame receives one message. At the end of the stream it returns io.EOF.
type nextFrame func() (frame, error)

// framesOf receives the messages of an open stream as frames.
func framesOf[M any](stream interface{ Recv() (*M, error) }, err error, read func(*M) frame) (nextFrame, error) {
	if err != nil {
		return nil, err
	}
	return func() (frame, error) {
		message, err := stream.Recv()
		if err != nil {
			return frame{}, err
		}
		return read(message), nil
	}, nil
}

// newStream makes the sequence of a call that open begins.
func newStream(ctx context.Context, open func(context.Context) (nextFrame, error)) iter.Seq2[*Event, error] {
	var used atomic.Bool
	return func(yield func(*Event, error) bool) {
		if used.Swap(true) {
			yield(nil, &Error{Kind: ErrInvalidRequest, Message: "this stream was already read; make a new call"})
			return
		}
		callCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		next, err := open(callCtx)
		outputStarted := false
		var steps []*StepResult
		if err == nil {
			err = forward(next, func(event *Event) bool {
				outputStarted = outputStarted || isOutput(event)
				if event.StepFinish != nil {
					steps = append(steps, event.StepFinish)
				}
				return yield(event, nil)
			})
		}
		if err != nil {
			failure := errorOf(ctx, err)
			failure.OutputStarted = failure.OutputStarted || outputStarted
			if len(steps) > len(failure.Steps) {
				// The status has room for some of them only.
				failure.Steps = steps
			}
			yield(nil, failure)
		}
	}
}

// isOutput reports whether an event carries a part of the model's answer.
func isOutput(event *Event) bool {
	switch event.Model.GetEvent().(type) {
	case *pb.StreamEvent_TextDelta, *pb.StreamEvent_ReasoningDelta,
		*pb.StreamEvent_ToolCallStart, *pb.StreamEvent_PartAdded:
		return true
	default:
		return event.PartialObject != nil || event.StepFinish != nil
	}
}

// forward yields the events of a stream up to its last. It returns what went wrong, or nil if the
// stream is complete or the consumer has left.
func forward(next nextFrame, yield func(*Event) bool) error {
	for expected := int32(0); ; expected++ {
		message, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return streamError("the sidecar's stream ended without its last message")
		case err != nil:
			return err
		case message.sequence != expected:
			return streamError("message %d of the sidecar's stream has the number %d", expected, message.sequence)
		case message.failure != nil:
			return statusAfter(next, message.failure)
		case message.isLast:
			return finish(next, message.event, yield)
		case message.event != nil && !yield(message.event):
			return nil
		}
	}
}

// finish yields the last event once the status says that the call went well.
func finish(next nextFrame, last *Event, yield func(*Event) bool) error {
	switch _, err := next(); {
	case err == nil:
		return streamError("the sidecar sent a message after the last one")
	case !errors.Is(err, io.EOF):
		return err
	}
	yield(last)
	return nil
}

// statusAfter returns the status that follows an error in the stream, which names wrong fields too. A
// status that was lost is replaced by that error.
func statusAfter(next nextFrame, failure *pb.InferenceError) error {
	_, err := next()
	if err == nil || errors.Is(err, io.EOF) {
		return fromProto(failure)
	}
	converted := errorOf(context.Background(), err)
	if converted.Kind != Kind(failure.GetKind()) {
		return fromProto(failure)
	}
	return converted
}

func streamError(format string, args ...any) *Error {
	return &Error{Kind: ErrStream, Message: fmt.Sprintf(format, args...), Retryable: true}
}
