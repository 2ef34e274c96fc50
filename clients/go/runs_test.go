package outrigger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

type runStream = grpc.ServerStreamingServer[pb.RunEvent]

// fakeRuns plays the run engine.
type fakeRuns struct {
	pb.UnimplementedRunServiceServer
	create func(*pb.CreateRunRequest, runStream) error
	stream func(*pb.StreamRunRequest, runStream) error
	list   func(*pb.ListRunsRequest) *pb.ListRunsResponse
}

func (f *fakeRuns) CreateRunStream(request *pb.CreateRunRequest, stream runStream) error {
	return f.create(request, stream)
}

func (f *fakeRuns) StreamRun(request *pb.StreamRunRequest, stream runStream) error {
	return f.stream(request, stream)
}

func (f *fakeRuns) ListRuns(_ context.Context, request *pb.ListRunsRequest) (*pb.ListRunsResponse, error) {
	return f.list(request), nil
}

func connectRuns(t *testing.T, fake *fakeRuns) *outrigger.Client {
	t.Helper()
	return newClient(t, outrigger.WithAddress(listenWith(t, func(server *grpc.Server) {
		pb.RegisterRunServiceServer(server, fake)
	})))
}

// change is an event with the run in a state.
func change(sequence int32, state pb.RunStatus) *pb.RunEvent {
	run := &pb.Run{Id: "run_1", Status: state, Background: true}
	return &pb.RunEvent{Sequence: sequence, Event: &pb.RunEvent_Run{Run: run}}
}

func sendAll(stream runStream, events ...*pb.RunEvent) error {
	for _, event := range events {
		if err := stream.Send(event); err != nil {
			return err
		}
	}
	return nil
}

var lost = status.Error(codes.Unavailable, "the connection is lost")

func TestEventsOfABackgroundRunAreResumedWhenTheConnectionIsLost(t *testing.T) {
	var after []int32
	client := connectRuns(t, &fakeRuns{
		create: func(_ *pb.CreateRunRequest, stream runStream) error {
			_ = sendAll(stream, change(0, pb.RunStatus_RUN_STATUS_QUEUED), change(1, pb.RunStatus_RUN_STATUS_IN_PROGRESS))
			return lost
		},
		stream: func(request *pb.StreamRunRequest, stream runStream) error {
			after = append(after, request.GetAfterSequence())
			if len(after) == 1 {
				return sendAll(stream, &pb.RunEvent{Sequence: 2})
			}
			return sendAll(stream, change(3, pb.RunStatus_RUN_STATUS_COMPLETED))
		},
	})
	var seen []int32
	for event, err := range client.Runs().CreateStream(t.Context(), outrigger.RunOptions{Background: true}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, event.GetSequence())
	}
	check(t, "events", fmt.Sprint(seen), "[0 1 2 3]")
	check(t, "resumed after", fmt.Sprint(after), "[1 2]")
}

func TestFailureOfARunIsNotResumed(t *testing.T) {
	calls := 0
	client := connectRuns(t, &fakeRuns{stream: func(_ *pb.StreamRunRequest, stream runStream) error {
		calls++
		_ = sendAll(stream, change(4, pb.RunStatus_RUN_STATUS_FAILED))
		return lost
	}})
	var failure error
	for _, err := range client.Runs().Events(t.Context(), "run_1", 3) {
		failure = err
	}
	check(t, "is the failure of the run", errors.Is(failure, outrigger.ErrNetwork), true)
	check(t, "calls", calls, 1)
}

func TestRunsAreListedPageAfterPage(t *testing.T) {
	var tokens []string
	client := connectRuns(t, &fakeRuns{list: func(request *pb.ListRunsRequest) *pb.ListRunsResponse {
		tokens = append(tokens, request.GetPageToken())
		page := &pb.ListRunsResponse{Runs: []*pb.Run{{Id: fmt.Sprint("run_", len(tokens))}}}
		if len(tokens) < 3 {
			page.NextPageToken = fmt.Sprint("page ", len(tokens)+1)
		}
		return page
	}})
	var ids []string
	for run, err := range client.Runs().List(t.Context(), outrigger.RunFilter{PageSize: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.GetId())
	}
	check(t, "runs", strings.Join(ids, " "), "run_1 run_2 run_3")
	check(t, "tokens", strings.Join(tokens, ","), ",page 2,page 3")
}

func TestCallSendsHeadersAndGivesWhatTheSidecarSentBeside(t *testing.T) {
	var log bytes.Buffer
	var got []string
	address := listen(t, "tcp", "127.0.0.1:0", &fakeSidecar{
		complete: func(ctx context.Context, _ *pb.Request) (*pb.Response, error) {
			got = metadata.ValueFromIncomingContext(ctx, "x-request-id")
			_ = grpc.SetHeader(ctx, metadata.Pairs("x-request-id", got[0]))
			return answer("secret"), nil
		},
	})
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client := newClient(t, outrigger.WithAddress(address), outrigger.WithLogger(logger))
	var info outrigger.CallInfo
	ctx := outrigger.WithHeaders(t.Context(), map[string]string{"x-request-id": "mine"})
	if _, err := client.Complete(outrigger.WithCallInfo(ctx, &info), &outrigger.Request{}); err != nil {
		t.Fatal(err)
	}
	check(t, "sent", slices.Contains(got, "mine"), true)
	check(t, "received", info.RequestID(), "mine")
	line := log.String()
	for _, part := range []string{"method=Complete", "code=OK", "request_id=mine"} {
		check(t, part, strings.Contains(line, part), true)
	}
	check(t, "has the answer", strings.Contains(line, "secret"), false)
}

func TestStreamGivesItsHeadersAtItsEnd(t *testing.T) {
	client := connect(t, &fakeSidecar{stream: func(_ *pb.Request, stream eventStream) error {
		_ = stream.SetHeader(metadata.Pairs("x-request-id", "r1"))
		return status.Error(codes.Internal, "broken")
	}})
	var info outrigger.CallInfo
	for range client.Stream(outrigger.WithCallInfo(t.Context(), &info), &outrigger.Request{}) {
		continue
	}
	check(t, "request id", info.RequestID(), "r1")
}
