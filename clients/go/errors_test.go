package outrigger_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// failing returns a client whose calls of Complete fail with a status.
func failing(t *testing.T, code codes.Code, message string, details ...protoadapt.MessageV1) *outrigger.Client {
	t.Helper()
	failure := statusWith(t, code, message, details...)
	return connect(t, &fakeSidecar{complete: func(context.Context, *pb.Request) (*pb.Response, error) {
		return nil, failure
	}})
}

// statusWith returns a status with details as an error.
func statusWith(t *testing.T, code codes.Code, message string, details ...protoadapt.MessageV1) error {
	t.Helper()
	state, err := status.New(code, message).WithDetails(details...)
	if err != nil {
		t.Error(err)
	}
	return state.Err()
}

// failureOf returns the error of a call that must fail.
func failureOf(t *testing.T, ctx context.Context, client *outrigger.Client) *outrigger.Error {
	t.Helper()
	_, err := client.Complete(ctx, &outrigger.Request{Model: "any"})
	failure, ok := errors.AsType[*outrigger.Error](err)
	if !ok {
		t.Fatalf("got %T, want *outrigger.Error: %v", err, err)
	}
	return failure
}

func TestAccessKeyIsToldFromTheKeyOfAProvider(t *testing.T) {
	kind := pb.ErrorKind_ERROR_KIND_AUTHENTICATION
	for want, failure := range map[bool]*pb.InferenceError{
		true:  {Kind: kind},
		false: {Kind: kind, ProviderFailure: &pb.ProviderFailure{Provider: "openai"}},
	} {
		client := connect(t, &fakeSidecar{complete: func(context.Context, *pb.Request) (*pb.Response, error) {
			detailed, _ := status.New(codes.Unauthenticated, "refused").WithDetails(failure)
			return nil, detailed.Err()
		}})
		_, err := client.Complete(t.Context(), &outrigger.Request{})
		refused, _ := errors.AsType[*outrigger.Error](err)
		check(t, "is the access key", refused.IsAccessKey(), want)
	}
}

func TestErrorCarriesEveryDetailOfTheStatus(t *testing.T) {
	client := failing(t, codes.ResourceExhausted, "slow down",
		&pb.InferenceError{
			Kind:          pb.ErrorKind_ERROR_KIND_RATE_LIMIT,
			Message:       "slow down",
			Retryable:     true,
			RetryAfter:    durationpb.New(1500 * time.Millisecond),
			OutputStarted: true,
			Usage:         &pb.Usage{TotalTokens: 12},
			ProviderFailure: &pb.ProviderFailure{
				Provider: "openai", ErrorCode: "rate_limit_exceeded", RequestId: "req_1",
			},
			Cause: &pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_SERVER, Message: "overloaded"},
		},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "messages[0]", Description: "is empty"},
		}})
	failure := failureOf(t, t.Context(), client)

	check(t, "kind", failure.Kind, outrigger.ErrRateLimit)
	check(t, "text", failure.Error(), "outrigger: rate limit: slow down")
	check(t, "retryable", failure.Retryable, true)
	check(t, "output started", failure.OutputStarted, true)
	check(t, "tokens", failure.Usage.GetTotalTokens(), 12)
	check(t, "request id", failure.ProviderFailure.GetRequestId(), "req_1")
	check(t, "violations", fmt.Sprint(failure.Violations), "[{messages[0] is empty}]")
	after, known := failure.RetryAfter()
	check(t, "retry after is known", known, true)
	check(t, "retry after", after, 1500*time.Millisecond)
	check(t, "status code", status.Code(failure), codes.ResourceExhausted)
	check(t, "the cause is found by its kind", errors.Is(failure, outrigger.ErrServer), true)
	check(t, "log", failure.LogValue().String(), "[kind=rate limit message=slow down retryable=true retry_after=1.5s "+
		"provider=openai http_status_code=0 error_code=rate_limit_exceeded request_id=req_1]")
}

func TestErrorWithoutADelayHasNone(t *testing.T) {
	client := failing(t, codes.Unavailable, "x", &pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_SERVER})
	_, known := failureOf(t, t.Context(), client).RetryAfter()
	check(t, "retry after is known", known, false)
}

func TestEveryKindOfTheContractHasAName(t *testing.T) {
	for number, name := range pb.ErrorKind_name {
		if number == 0 {
			continue
		}
		want := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "ERROR_KIND_"), "_", " "))
		check(t, name, outrigger.Kind(number).String(), want)
	}
	check(t, "a kind of a newer sidecar", outrigger.Kind(299).String(), "failure of kind 299")
}

func TestKindsFormATree(t *testing.T) {
	for number := range pb.ErrorKind_name {
		kind := outrigger.Kind(number)
		failure := fmt.Errorf("wrapped: %w", &outrigger.Error{Kind: kind})
		found, _ := errors.AsType[outrigger.Kind](failure)
		check(t, "kind that errors.AsType finds", found, kind)
		ofProvider := number >= 100 && number < 200
		check(t, fmt.Sprintf("%v is itself", kind), errors.Is(failure, kind), true)
		check(t, fmt.Sprintf("%v is a failure of a provider", kind), errors.Is(failure, outrigger.ErrProvider), ofProvider)
		check(t, fmt.Sprintf("%v is a rate limit", kind), errors.Is(failure, outrigger.ErrRateLimit), number == 105)
	}
}

func TestStatusWithoutDetailsBecomesAKind(t *testing.T) {
	cases := map[codes.Code]outrigger.Kind{
		codes.Unavailable:        outrigger.ErrNetwork,
		codes.DeadlineExceeded:   outrigger.ErrRequestTimeout,
		codes.Canceled:           outrigger.ErrAbort,
		codes.Unauthenticated:    outrigger.ErrAuthentication,
		codes.PermissionDenied:   outrigger.ErrAccessDenied,
		codes.NotFound:           outrigger.ErrNotFound,
		codes.InvalidArgument:    outrigger.ErrInvalidRequest,
		codes.ResourceExhausted:  outrigger.ErrInvalidRequest,
		codes.FailedPrecondition: outrigger.ErrConfiguration,
		codes.Unimplemented:      outrigger.ErrConfiguration,
		codes.Unknown:            outrigger.ErrInternal,
		codes.DataLoss:           outrigger.ErrInternal,
	}
	for code, kind := range cases {
		failure := failureOf(t, t.Context(), failing(t, code, "from a proxy"))
		check(t, code.String(), failure.Kind, kind)
		check(t, code.String()+" is retryable", failure.Retryable, kind == outrigger.ErrNetwork || kind == outrigger.ErrRequestTimeout)
	}
}

func TestSidecarThatIsNotThereIsANetworkError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	failure := failureOf(t, t.Context(), newClient(t, outrigger.WithAddress(address)))
	check(t, "kind", failure.Kind, outrigger.ErrNetwork)
	check(t, "retryable", failure.Retryable, true)
}

// hanging returns a client whose calls never end by themselves, and a channel that is closed when the
// server sees the end of one.
func hanging(t *testing.T) (client *outrigger.Client, begun, ended chan struct{}) {
	t.Helper()
	begun, ended = make(chan struct{}), make(chan struct{})
	client = connect(t, &fakeSidecar{complete: func(ctx context.Context, _ *pb.Request) (*pb.Response, error) {
		close(begun)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}})
	return client, begun, ended
}

func TestDeadlineOfTheContextBoundsTheCall(t *testing.T) {
	client, _, ended := hanging(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	failure := failureOf(t, ctx, client)
	check(t, "kind", failure.Kind, outrigger.ErrRequestTimeout)
	check(t, "is context.DeadlineExceeded", errors.Is(failure, context.DeadlineExceeded), true)
	check(t, "is context.Canceled", errors.Is(failure, context.Canceled), false)
	eventually(t, "the end of the call in the sidecar", ended)
}

func TestCancellationReachesTheSidecarAndKeepsItsCause(t *testing.T) {
	client, begun, ended := hanging(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the user went away")
	go func() {
		<-begun
		cancel(reason)
	}()
	failure := failureOf(t, ctx, client)
	check(t, "kind", failure.Kind, outrigger.ErrAbort)
	check(t, "is context.Canceled", errors.Is(failure, context.Canceled), true)
	check(t, "is the cause", errors.Is(failure, reason), true)
	eventually(t, "the end of the call in the sidecar", ended)
}

func TestTextThatIsNotUTF8IsAnInvalidRequest(t *testing.T) {
	client := connect(t, &fakeSidecar{})
	_, err := client.Complete(t.Context(), &outrigger.Request{Model: "\xff"})
	check(t, "is an invalid request", errors.Is(err, outrigger.ErrInvalidRequest), true)
}
