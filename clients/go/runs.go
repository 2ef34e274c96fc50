package outrigger

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Messages of runs.
type (
	// Run is a stored generation: its status, its steps, and what it waits for.
	Run = pb.Run
	// RunStatus is the state of a run.
	RunStatus = pb.RunStatus
	// RunEvent is a change of a run.
	RunEvent = pb.RunEvent
	// McpServer is an MCP server whose tools the sidecar executes.
	McpServer = pb.McpServer
	// ToolApproval is the caller's answer to a call that needs approval.
	ToolApproval = pb.ToolApproval
)

// resumeDelay is the pause between two attempts to resume, unless the sidecar names a longer one.
const resumeDelay = 250 * time.Millisecond

// RunOptions says what a run generates, and how it is kept.
type RunOptions struct {
	// GenerateOptions says what to generate. A run executes no function of this process: calls of Tools
	// end it with RUN_STATUS_REQUIRES_ACTION, and SubmitToolResults continues it.
	GenerateOptions

	// PreviousRunID is the run to continue. Not together with ThreadID.
	PreviousRunID string
	// ThreadID is the thread to continue. Empty: a new one, or that of the previous run.
	ThreadID string
	// Background says whether the run continues when the caller is gone. Create then returns at once.
	Background bool
	// Store says whether the run is stored. Default true.
	Store *bool
	// Labels are stored with the run: at most 16. Metadata is for the provider.
	Labels map[string]string
	// McpServers are MCP servers whose tools the model may call. The sidecar executes them.
	McpServers []*McpServer
	// Approvals are decisions on calls that need approval.
	Approvals []*ToolApproval
	// InheritTools says whether the tools and MCP servers of the previous run are used if there are none here.
	InheritTools bool
}

// RunFilter says which runs are listed. Empty fields include all.
type RunFilter struct {
	// ThreadID is the thread of the runs.
	ThreadID string
	// Statuses are the states of which each run has one.
	Statuses []RunStatus
	// PageSize is the number of runs that are fetched at once, up to 100. Default 20.
	PageSize int32
}

// Runs calls the sidecar's run engine: generations that are stored, that can continue in the background, and
// whose events can be read at any time.
type Runs struct {
	service pb.RunServiceClient
}

// Runs returns the calls of the run engine.
func (c *Client) Runs() *Runs {
	return &Runs{pb.NewRunServiceClient(c.conn)}
}

// Create creates a run. It returns a background run at once, any other when it has ended or requires action.
// A run that failed is no error of this call: its Status and Error say so.
func (r *Runs) Create(ctx context.Context, options RunOptions) (*Run, error) {
	request, err := options.proto()
	if err != nil {
		return nil, err
	}
	return answered(ctx, request, r.service.CreateRun)
}

// CreateStream creates a run and returns its events. Leaving the loop cancels the run, unless it is in the
// background. The events of a background run are resumed automatically when the connection is lost, as those
// of Events are.
//
// A run that failed ends with its run event, and then with the failure.
func (r *Runs) CreateStream(ctx context.Context, options RunOptions) iter.Seq2[*RunEvent, error] {
	request, err := options.proto()
	if err != nil {
		return func(yield func(*RunEvent, error) bool) { yield(nil, err) }
	}
	follower := &runFollower{runs: r, last: -1}
	open := func(ctx context.Context) (grpc.ServerStreamingClient[RunEvent], error) {
		return r.service.CreateRunStream(ctx, request)
	}
	return follower.events(ctx, open)
}

// Events returns the events of a run after one with this number, past ones first, until it has ended or
// requires action; -1 gives all. It resumes automatically when the connection is lost, after an outage of any length:
// ctx bounds how long it waits. It fails at once if there is no sidecar at the beginning.
// Leaving the loop does not affect the run. A run that failed ends with its run event, and then with the failure.
func (r *Runs) Events(ctx context.Context, runID string, after int32) iter.Seq2[*RunEvent, error] {
	follower := &runFollower{runs: r, runID: runID, last: after}
	return follower.events(ctx, follower.resume)
}

// Get returns a run with its steps. ErrNotFound if there is none.
func (r *Runs) Get(ctx context.Context, runID string) (*Run, error) {
	return answered(ctx, &pb.GetRunRequest{RunId: runID}, r.service.GetRun)
}

// Wait waits until a run has ended or requires action, and returns it with its steps.
func (r *Runs) Wait(ctx context.Context, runID string) (*Run, error) {
	for {
		run, err := r.Get(ctx, runID)
		if err != nil || !isUnderWay(run) {
			return run, err
		}
		follower := &runFollower{runs: r, runID: runID, last: run.GetLastSequence()}
		for _, err := range follower.events(ctx, follower.resume) {
			// A failure of the run itself is in what Get returns.
			if err != nil && !follower.isOver {
				return nil, err
			}
		}
	}
}

// SubmitToolResults continues a run that requires action, with a result for each of its RequiredResults and
// a decision on each of its RequiredApprovals. It returns as Create does.
func (r *Runs) SubmitToolResults(
	ctx context.Context, runID string, results []*ToolResult, approvals ...*ToolApproval,
) (*Run, error) {
	request := &pb.SubmitToolResultsRequest{RunId: runID, Results: results, Approvals: approvals}
	return answered(ctx, request, r.service.SubmitToolResults)
}

// Cancel cancels a run. It has no effect on one that has ended.
func (r *Runs) Cancel(ctx context.Context, runID string) (*Run, error) {
	return answered(ctx, &pb.CancelRunRequest{RunId: runID}, r.service.CancelRun)
}

// Delete deletes a run with its steps and events. One in progress is cancelled first.
func (r *Runs) Delete(ctx context.Context, runID string) error {
	_, err := answered(ctx, &pb.DeleteRunRequest{RunId: runID}, r.service.DeleteRun)
	return err
}

// List returns the caller's runs, newest first, without their steps. It fetches page after page.
func (r *Runs) List(ctx context.Context, filter RunFilter) iter.Seq2[*Run, error] {
	return pages(func(token string) ([]*Run, string, error) {
		page, err := answered(ctx, &pb.ListRunsRequest{
			ThreadId:  filter.ThreadID,
			Statuses:  filter.Statuses,
			PageSize:  filter.PageSize,
			PageToken: token,
		}, r.service.ListRuns)
		return page.GetRuns(), page.GetNextPageToken(), err
	})
}

// proto converts the options.
func (o *RunOptions) proto() (*pb.CreateRunRequest, error) {
	options, err := o.GenerateOptions.proto()
	if err != nil {
		return nil, err
	}
	return &pb.CreateRunRequest{
		Options:       options,
		PreviousRunId: o.PreviousRunID,
		ThreadId:      o.ThreadID,
		Background:    o.Background,
		Store:         o.Store,
		Metadata:      o.Labels,
		McpServers:    o.McpServers,
		Approvals:     o.Approvals,
		InheritTools:  o.InheritTools,
	}, nil
}

// runFollower reads the events of one run over as many streams as it takes.
type runFollower struct {
	runs  *Runs
	runID string
	// last is the number of the last event that was received.
	last int32
	// isOver says that the run has ended or requires action.
	isOver bool
	// wasReached says that there was a sidecar to send a call to.
	wasReached bool
	// failure is why the run failed, in its last state. Nil unless it failed.
	failure *InferenceError
}

type openRun func(context.Context) (grpc.ServerStreamingClient[RunEvent], error)

// resume opens a stream of the events that have not been received.
func (f *runFollower) resume(ctx context.Context) (grpc.ServerStreamingClient[RunEvent], error) {
	request := &pb.StreamRunRequest{RunId: f.runID}
	if f.last >= 0 {
		request.AfterSequence = &f.last
	}
	return f.runs.service.StreamRun(ctx, request)
}

func (f *runFollower) events(ctx context.Context, open openRun) iter.Seq2[*RunEvent, error] {
	return func(yield func(*RunEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for {
			isLeft, err := f.read(ctx, open, yield)
			if isLeft {
				return
			}
			if f.isOver && err == nil {
				if f.failure != nil {
					// Only the stream that created the run ends with its failure.
					yield(nil, fromProto(f.failure))
				}
				return
			}
			if f.mustResume(ctx, err) {
				if err = pause(ctx, err); err == nil {
					open = f.resume
					continue
				}
			}
			yield(nil, failureOfRun(ctx, err))
			return
		}
	}
}

// read yields the events of one stream. The first result says whether the consumer has left.
func (f *runFollower) read(
	ctx context.Context, open openRun, yield func(*RunEvent, error) bool,
) (isLeft bool, err error) {
	stream, err := open(ctx)
	if err != nil {
		return false, errorOf(ctx, err)
	}
	f.wasReached = true
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, errorOf(ctx, err)
		}
		f.note(event)
		if !yield(event, nil) {
			return true, nil
		}
	}
}

// mustResume reports whether there may be further events after a stream ended like this. A stream may also end
// without an error and without the end of its run. A sidecar that drains, or whose store is away, fails it with an
// error that may be retried; a server that stops may reset it, which looks like a cancellation.
func (f *runFollower) mustResume(ctx context.Context, err error) bool {
	if f.isOver || !f.wasReached || f.runID == "" {
		return false
	}
	if err == nil {
		return true
	}
	failure := errorOf(ctx, err)
	switch failure.Kind {
	case ErrAbort:
		return ctx.Err() == nil
	case ErrRequestTimeout:
		return false
	default:
		return failure.Retryable
	}
}

func (f *runFollower) note(event *RunEvent) {
	f.last = event.GetSequence()
	if run := event.GetRun(); run != nil {
		f.isOver = !isUnderWay(run)
		f.failure = failureOfState(run)
		if run.GetBackground() {
			f.runID = run.GetId()
		}
	}
}

// failureOfState returns why a run failed; nil in any other state.
func failureOfState(run *Run) *InferenceError {
	if run.GetStatus() != pb.RunStatus_RUN_STATUS_FAILED {
		return nil
	}
	return run.GetError()
}

func failureOfRun(ctx context.Context, err error) error {
	if err == nil {
		return streamError("the events of the run ended without its last one")
	}
	return errorOf(ctx, err)
}

// pause waits before the next attempt, after a stream that ended with lost. Returns an error if ctx ends first.
func pause(ctx context.Context, lost error) error {
	delay := resumeDelay
	if failure, ok := errors.AsType[*Error](lost); ok {
		after, _ := failure.RetryAfter()
		delay = max(delay, after)
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func isUnderWay(run *Run) bool {
	switch run.GetStatus() {
	case pb.RunStatus_RUN_STATUS_QUEUED, pb.RunStatus_RUN_STATUS_IN_PROGRESS:
		return true
	default:
		return false
	}
}

// answered makes a call with one answer.
func answered[Q, A any](
	ctx context.Context, request *Q, call func(context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	answer, err := call(ctx, request)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return answer, nil
}

// pages returns the items of all pages, each fetched when it is reached. A failure is the last pair.
func pages[T any](fetch func(token string) ([]*T, string, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for token, isFirst := "", true; isFirst || token != ""; isFirst = false {
			items, next, err := fetch(token)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			token = next
		}
	}
}
