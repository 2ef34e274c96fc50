package outrigger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

func startEvent(sequence int32) *pb.StreamEvent {
	return &pb.StreamEvent{Sequence: sequence, Event: &pb.StreamEvent_StreamStart{StreamStart: &pb.StreamStart{}}}
}

func textEvent(sequence int32, text string) *pb.StreamEvent {
	delta := &pb.TextDelta{Delta: text}
	return &pb.StreamEvent{Sequence: sequence, Event: &pb.StreamEvent_TextDelta{TextDelta: delta}}
}

func finishEvent(sequence int32, text string) *pb.StreamEvent {
	finish := &pb.Finish{Response: answer(text)}
	return &pb.StreamEvent{Sequence: sequence, Event: &pb.StreamEvent_Finish{Finish: finish}}
}

func errorEvent(sequence int32, failure *pb.InferenceError) *pb.StreamEvent {
	return &pb.StreamEvent{Sequence: sequence, Event: &pb.StreamEvent_Error{Error: failure}}
}

// streaming returns a client whose Stream sends these events and then ends with err.
func streaming(t *testing.T, err error, events ...*pb.StreamEvent) *outrigger.Client {
	t.Helper()
	return connect(t, &fakeSidecar{stream: func(_ *pb.Request, stream eventStream) error {
		for _, event := range events {
			if sendErr := stream.Send(event); sendErr != nil {
				return sendErr
			}
		}
		return err
	}})
}

// readAll reads the stream of a client: its text, its last event, and how it failed.
func readAll(ctx context.Context, client *outrigger.Client) (text string, last *outrigger.Event, failure error) {
	for event, err := range client.Stream(ctx, &outrigger.Request{}) {
		if err != nil {
			return text, last, err
		}
		text += event.Text()
		last = event
	}
	return text, last, nil
}

func TestStreamYieldsTheEventsAndEndsWithTheResponse(t *testing.T) {
	client := streaming(t, nil, startEvent(0), textEvent(1, "Hel"), textEvent(2, "lo"), finishEvent(3, "Hello"))
	text, last, err := readAll(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", text, "Hello")
	check(t, "step", last.Step, 1)
	check(t, "text of the response", last.Response().Text(), "Hello")
}

func TestStreamThatIsCutNeverLooksFinished(t *testing.T) {
	failed := &pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_SERVER, Message: "overloaded", OutputStarted: true}
	unavailable := status.Error(codes.Unavailable, "connection lost")
	cases := []struct {
		name   string
		client *outrigger.Client
		kind   outrigger.Kind
		text   string
	}{
		{"an end without the last event", streaming(t, nil, startEvent(0), textEvent(1, "Hel")), outrigger.ErrStream, "Hel"},
		{"an end without any event", streaming(t, nil), outrigger.ErrStream, ""},
		{"a lost event", streaming(t, nil, startEvent(0), textEvent(2, "lo"), finishEvent(3, "Hello")), outrigger.ErrStream, ""},
		{"a lost connection", streaming(t, unavailable, startEvent(0), textEvent(1, "Hel")), outrigger.ErrNetwork, "Hel"},
		{"a failure after the last event", streaming(t, unavailable, finishEvent(0, "Hello")), outrigger.ErrNetwork, ""},
		{"an event after the last", streaming(t, nil, finishEvent(0, ""), textEvent(1, "?")), outrigger.ErrStream, ""},
		{"an error without a status", streaming(t, nil, textEvent(0, "Hel"), errorEvent(1, failed)), outrigger.ErrServer, "Hel"},
		{"an error with another status", streaming(t, unavailable, errorEvent(0, failed)), outrigger.ErrServer, ""},
	}
	for _, test := range cases {
		text, _, err := readAll(t.Context(), test.client)
		if !errors.Is(err, test.kind) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.kind)
			continue
		}
		check(t, "text before "+test.name, text, test.text)
		failure, _ := errors.AsType[*outrigger.Error](err)
		started := test.text != "" || test.kind == outrigger.ErrServer
		check(t, "output started before "+test.name, failure.OutputStarted, started)
	}
}

func TestStreamTakesTheDetailsOfTheStatusThatFollowsAnError(t *testing.T) {
	failed := &pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_INVALID_REQUEST, Message: "wrong"}
	field := &errdetails.BadRequest_FieldViolation{Field: "model", Description: "is wrong"}
	state, err := status.New(codes.InvalidArgument, "wrong").WithDetails(failed,
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{field}})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = readAll(t.Context(), streaming(t, state.Err(), errorEvent(0, failed)))
	failure, _ := errors.AsType[*outrigger.Error](err)
	check(t, "fields", len(failure.Violations), 1)
	check(t, "code", status.Code(failure), codes.InvalidArgument)
}

func TestUnknownEventsOfANewerSidecarAreYielded(t *testing.T) {
	client := streaming(t, nil, startEvent(0), &pb.StreamEvent{Sequence: 1}, finishEvent(2, "Hello"))
	_, last, err := readAll(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", last.Response().Text(), "Hello")
}

// endless returns a client whose stream goes on until the caller leaves, and a channel that is closed then.
func endless(t *testing.T) (*outrigger.Client, <-chan struct{}) {
	t.Helper()
	ended := make(chan struct{})
	client := connect(t, &fakeSidecar{stream: func(_ *pb.Request, stream eventStream) error {
		defer close(ended)
		for sequence := int32(0); ; sequence++ {
			if err := stream.Send(textEvent(sequence, "more ")); err != nil {
				return err
			}
		}
	}})
	return client, ended
}

func TestLeavingAStreamCancelsTheCall(t *testing.T) {
	client, ended := endless(t)
	for event, err := range client.Stream(t.Context(), &outrigger.Request{}) {
		if err != nil || event.Text() != "more " {
			t.Fatalf("got %v and %v", event, err)
		}
		break
	}
	eventually(t, "the end of the call in the sidecar", ended)
}

func TestCancellingTheContextEndsAStream(t *testing.T) {
	client, ended := endless(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failure error
	for _, err := range client.Stream(ctx, &outrigger.Request{}) {
		cancel()
		failure = err
	}
	check(t, "is an abort", errors.Is(failure, outrigger.ErrAbort), true)
	eventually(t, "the end of the call in the sidecar", ended)
}

func TestDeadlineEndsAStream(t *testing.T) {
	client, ended := endless(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err := readAll(ctx, client)
	check(t, "is a time-out", errors.Is(err, outrigger.ErrRequestTimeout), true)
	eventually(t, "the end of the call in the sidecar", ended)
}

func TestStreamCanBeReadOnce(t *testing.T) {
	client := streaming(t, nil, finishEvent(0, ""))
	events := client.Stream(t.Context(), &outrigger.Request{})
	var failures []error
	for range 2 {
		for _, err := range events {
			failures = append(failures, err)
		}
	}
	check(t, "pairs", len(failures), 2)
	if failures[0] != nil || !errors.Is(failures[1], outrigger.ErrInvalidRequest) {
		t.Errorf("got %v, want nothing and then an invalid request", failures)
	}
}

func TestTextDeltasAreTheTextOfAStreamAndItsFailure(t *testing.T) {
	client := streaming(t, nil, startEvent(0), textEvent(1, "Hel"), textEvent(2, "lo"))
	var pieces []string
	var failure error
	for piece, err := range outrigger.TextDeltas(client.Stream(t.Context(), &outrigger.Request{})) {
		pieces, failure = append(pieces, piece), err
	}
	check(t, "pieces", strings.Join(pieces, "|"), "Hel|lo|")
	check(t, "is a failure of the stream", errors.Is(failure, outrigger.ErrStream), true)
}

func TestLeavingTheTextDeltasCancelsTheCall(t *testing.T) {
	client, ended := endless(t)
	for range outrigger.TextDeltas(client.Stream(t.Context(), &outrigger.Request{})) {
		break
	}
	eventually(t, "the end of the call in the sidecar", ended)
}
