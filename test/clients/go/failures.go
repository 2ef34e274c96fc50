package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "example.com/outrigger-client/build/outrigger/v1"
)

// A cancelled call, and one whose deadline expires, ends at once. The bound is generous so
// that a busy machine does not fail the check.
const promptly = 3 * time.Second

// failure has the code and details of a failed call. Details that were not attached are nil.
type failure struct {
	code      codes.Code
	inference *pb.InferenceError
	info      *errdetails.ErrorInfo
	retry     *errdetails.RetryInfo
	fields    *errdetails.BadRequest
}

// inspect decodes the status details of an error that a call returned. gRPC for Go unpacks the
// types that are linked into the program; importing the stubs is what links InferenceError.
func inspect(err error) failure {
	state := status.Convert(err)
	found := failure{code: state.Code()}
	for _, detail := range state.Details() {
		switch d := detail.(type) {
		case *pb.InferenceError:
			found.inference = d
		case *errdetails.ErrorInfo:
			found.info = d
		case *errdetails.RetryInfo:
			found.retry = d
		case *errdetails.BadRequest:
			found.fields = d
		}
	}
	return found
}

func checkErrorDetails(ctx context.Context, to sidecar) error {
	_, err := to.inference.Complete(ctx, &pb.Request{
		Model:    "sim-text:status=429,retry_after=2",
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "Hello?")},
	})
	found := inspect(err)
	failed := found.inference
	switch {
	case found.code != codes.ResourceExhausted:
		return fmt.Errorf("status %v, want RESOURCE_EXHAUSTED: %v", found.code, err)
	case failed.GetKind() != pb.ErrorKind_ERROR_KIND_RATE_LIMIT || !failed.GetRetryable():
		return fmt.Errorf("want a retryable RATE_LIMIT, got %v", failed)
	case failed.GetRetryAfter().AsDuration() != 2*time.Second:
		return fmt.Errorf("retry_after %v, want 2s", failed.GetRetryAfter().AsDuration())
	case failed.GetProviderFailure().GetHttpStatusCode() != 429:
		return fmt.Errorf("provider status %d, want 429", failed.GetProviderFailure().GetHttpStatusCode())
	case found.info.GetReason() != "RATE_LIMIT" || found.info.GetDomain() != "outrigger":
		return fmt.Errorf("unexpected ErrorInfo %v", found.info)
	case found.retry.GetRetryDelay().AsDuration() != 2*time.Second:
		return fmt.Errorf("unexpected RetryInfo %v", found.retry)
	}
	return nil
}

func checkValidationError(ctx context.Context, to sidecar) error {
	_, err := to.inference.Complete(ctx, &pb.Request{Model: "sim-text"})
	found := inspect(err)
	if found.code != codes.InvalidArgument {
		return fmt.Errorf("status %v, want INVALID_ARGUMENT: %v", found.code, err)
	}
	if found.inference.GetKind() != pb.ErrorKind_ERROR_KIND_INVALID_REQUEST {
		return fmt.Errorf("want INVALID_REQUEST, got %v", found.inference)
	}
	if found.inference.GetProviderFailure() != nil {
		return errors.New("no provider was asked, yet the error names one")
	}
	for _, violation := range found.fields.GetFieldViolations() {
		if violation.GetField() == "messages" {
			return nil
		}
	}
	return fmt.Errorf("BadRequest does not name the field messages: %v", found.fields)
}

func checkMidStreamError(ctx context.Context, to sidecar) error {
	stream, err := to.inference.Stream(ctx, &pb.Request{
		Model:    "sim-text:error_after=5",
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "Hello?")},
	})
	if err != nil {
		return err
	}
	// Once the stream has begun, a failure is reported twice: as its last event, for code that reads
	// events, and as the status, for interceptors, retries and metrics.
	events, err := receiveAll(stream)
	if err == nil {
		return errors.New("the stream ended well, want an error")
	}
	if len(events) == 0 || events[len(events)-1].GetError() == nil {
		return fmt.Errorf("the last event before the status is no error: %v", err)
	}
	announced, found := events[len(events)-1].GetError(), inspect(err)
	if !announced.GetOutputStarted() {
		return errors.New("output_started is not set, though text was streamed")
	}
	if found.code != codes.Unavailable || !proto.Equal(announced, found.inference) {
		return fmt.Errorf("status %v with %v, but the event said %v", found.code, found.inference, announced)
	}
	return nil
}

func checkDeadline(ctx context.Context, to sidecar) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	started := time.Now()
	stream, err := openLongStream(ctx, to)
	if err == nil {
		_, err = receiveAll(stream)
	}
	if code := status.Code(err); code != codes.DeadlineExceeded {
		return fmt.Errorf("status %v, want DEADLINE_EXCEEDED: %v", code, err)
	}
	if waited := time.Since(started); waited > promptly {
		return fmt.Errorf("waited %v for a deadline of 300ms", waited)
	}
	return nil
}

func checkCancellation(ctx context.Context, to sidecar) error {
	// Cancelling the context is enough: the sidecar then closes its connection to the provider.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := openLongStream(ctx, to)
	if err != nil {
		return err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("the stream ended before its first delta: %w", err)
		}
		if event.GetTextDelta() != nil {
			break
		}
	}

	cancel()
	started := time.Now()
	_, err = receiveAll(stream)
	if code := status.Code(err); code != codes.Canceled {
		return fmt.Errorf("status %v, want CANCELLED: %v", code, err)
	}
	if waited := time.Since(started); waited > promptly {
		return fmt.Errorf("waited %v for the end of a cancelled stream", waited)
	}
	return nil
}

// openLongStream starts an answer that takes 50 seconds, far longer than any check waits.
func openLongStream(ctx context.Context, to sidecar) (grpc.ServerStreamingClient[pb.StreamEvent], error) {
	return to.inference.Stream(ctx, &pb.Request{
		Model:    "sim-long:tokens=1000,rate=20",
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "Write a lot.")},
	})
}
