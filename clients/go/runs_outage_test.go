package outrigger_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// outages serves runs over connections in memory, so that the hours of a test pass in no time in a bubble of synctest.
type outages struct {
	t        *testing.T
	runs     *fakeRuns
	listener atomic.Pointer[bufconn.Listener]
}

// start serves until stop, or the end of the test.
func (o *outages) start() (stop func()) {
	listener := bufconn.Listen(1 << 16)
	// As the sidecar, it lets clients ping as often as they want.
	pings := keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}
	server := grpc.NewServer(grpc.WaitForHandlers(true), grpc.KeepaliveEnforcementPolicy(pings))
	pb.RegisterRunServiceServer(server, o.runs)
	go func() { _ = server.Serve(listener) }()
	o.listener.Store(listener)
	o.t.Cleanup(server.Stop)
	return func() {
		o.listener.Store(nil)
		server.Stop()
	}
}

func (o *outages) client() *outrigger.Client {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		if listener := o.listener.Load(); listener != nil {
			return listener.DialContext(ctx)
		}
		return nil, errors.New("the sidecar is away")
	}
	return newClient(o.t,
		outrigger.WithAddress("passthrough:///sidecar"),
		outrigger.WithDialOptions(grpc.WithContextDialer(dial)))
}

func TestEventsOfARunAreFollowedAfterLongSilenceAndALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var returned time.Time
		sidecar := &outages{t: t, runs: &fakeRuns{stream: func(request *pb.StreamRunRequest, stream runStream) error {
			if request.AfterSequence == nil {
				_ = sendAll(stream, change(0, pb.RunStatus_RUN_STATUS_IN_PROGRESS))
				<-stream.Context().Done()
				return lost
			}
			return sendAll(stream, change(1, pb.RunStatus_RUN_STATUS_COMPLETED))
		}}}
		stop := sidecar.start()
		go func() {
			time.Sleep(2 * time.Hour)
			stop()
			time.Sleep(2 * time.Minute)
			returned = time.Now()
			sidecar.start()
		}()
		var seen []int32
		for event, err := range sidecar.client().Runs().Events(t.Context(), "run_1", -1) {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, event.GetSequence())
		}
		check(t, "events", fmt.Sprint(seen), "[0 1]")
		if delay := time.Since(returned); delay > time.Second {
			t.Errorf("the events went on %v after the sidecar returned, want a second at most", delay)
		}
	})
}

func TestEventsOfARunFailAtOnceIfThereIsNoSidecar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		var failure error
		for _, err := range (&outages{t: t}).client().Runs().Events(t.Context(), "run_1", -1) {
			failure = err
		}
		check(t, "is a failure of the network", errors.Is(failure, outrigger.ErrNetwork), true)
		check(t, "asks for the sidecar", strings.Contains(failure.Error(), "is the sidecar running at"), true)
		check(t, "is told within a second", time.Since(started) <= time.Second, true)
	})
}

func TestEventsOfARunGoOnWhenASidecarDrainsOrIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []time.Time
		failures := []error{
			failed(&pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_SERVER, Retryable: true}),
			failed(&pb.InferenceError{
				Kind: pb.ErrorKind_ERROR_KIND_RATE_LIMIT, Retryable: true, RetryAfter: durationpb.New(5 * time.Second),
			}),
			status.Error(codes.Canceled, "the stream was reset"),
			failed(&pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_NOT_FOUND}),
		}
		sidecar := &outages{t: t, runs: &fakeRuns{stream: func(*pb.StreamRunRequest, runStream) error {
			calls = append(calls, time.Now())
			return failures[len(calls)-1]
		}}}
		sidecar.start()
		var failure error
		for _, err := range sidecar.client().Runs().Events(t.Context(), "run_1", -1) {
			failure = err
		}
		check(t, "ends with what no retry mends", errors.Is(failure, outrigger.ErrNotFound), true)
		check(t, "calls", len(calls), 4)
		check(t, "waits for as long as the sidecar says", calls[2].Sub(calls[1]), 5*time.Second)
	})
}

func TestCancelledEventsOfARunEndDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sidecar := &outages{t: t, runs: &fakeRuns{stream: func(_ *pb.StreamRunRequest, stream runStream) error {
			<-stream.Context().Done()
			return lost
		}}}
		stop := sidecar.start()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Minute)
			stop()
			time.Sleep(time.Hour)
			cancel()
		}()
		var failure error
		for _, err := range sidecar.client().Runs().Events(ctx, "run_1", -1) {
			failure = err
		}
		check(t, "is the caller's cancellation", errors.Is(failure, context.Canceled), true)
	})
}

// failed is the status of a failure that the sidecar explains.
func failed(failure *pb.InferenceError) error {
	state, err := status.New(codes.Unavailable, "failed").WithDetails(failure)
	if err != nil {
		panic(err)
	}
	return state.Err()
}
