package outrigger_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// TestSidecar calls a sidecar that has the simulator behind it, for instance `npm start` at the root of the
// repository: OUTRIGGER_ADDRESS=localhost:6190 go test .
func TestSidecar(t *testing.T) {
	address := os.Getenv("OUTRIGGER_ADDRESS")
	if address == "" {
		t.Skip("OUTRIGGER_ADDRESS does not name a sidecar")
	}
	client := newClient(t)
	for name, test := range map[string]func(*testing.T, *outrigger.Client){
		"complete":          sidecarComplete,
		"stream":            sidecarStream,
		"generate":          sidecarGenerate,
		"stream_generate":   sidecarStreamGenerate,
		"object":            sidecarObject,
		"stream_object":     sidecarStreamObject,
		"no_object":         sidecarNoObject,
		"error_kinds":       sidecarErrorKinds,
		"invalid_request":   sidecarInvalidRequest,
		"retries":           sidecarRetries,
		"cut_stream":        sidecarCutStream,
		"deadline":          sidecarDeadline,
		"provider_state":    sidecarProviderState,
		"concurrent_loops":  sidecarConcurrentLoops,
		"parallel_calls":    sidecarParallelCalls,
		"stream_tools":      sidecarStreamTools,
		"failing_tool":      sidecarFailingTool,
		"refusal":           sidecarRefusal,
		"invalid_arguments": sidecarInvalidArguments,
		"repaired_call":     sidecarRepairedCall,
		"slow_tool":         sidecarSlowTool,
		"cancelled_tool":    sidecarCancelledTool,
		"passive_tool":      sidecarPassiveTool,
		"max_tool_rounds":   sidecarMaxToolRounds,
		"stop_when":         sidecarStopWhen,
		"limits":            sidecarLimits,
		"failed_generation": sidecarFailedGeneration,
		"runs":              sidecarRuns,
		"failed_run":        sidecarFailedRun,
		"run_tools":         sidecarRunTools,
		"threads":           sidecarThreads,
		"thread_messages":   sidecarThreadMessages,
		"thread_of_runs":    sidecarThreadOfRuns,
		"parts":             sidecarParts,
		"raw_answer":        sidecarRawAnswer,
		"catalog":           sidecarCatalog,
		"embeddings":        sidecarEmbeddings,
		"tls":               sidecarTLS,
	} {
		t.Run(name, func(t *testing.T) { test(t, client) })
	}
}

// generate calls Generate with a deadline, so that a sidecar that hangs fails its test.
func generate(t *testing.T, client *outrigger.Client, options outrigger.GenerateOptions) (*outrigger.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if options.Prompt == "" && options.Messages == nil {
		options.Prompt = "How is the weather in Oslo?"
	}
	return client.Generate(ctx, options)
}

func mustGenerate(t *testing.T, client *outrigger.Client, options outrigger.GenerateOptions) *outrigger.Result {
	t.Helper()
	result, err := generate(t, client, options)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// toolTexts returns what the model was told by the tools of a step, errors marked.
func toolTexts(step *outrigger.StepResult) []string {
	var texts []string
	for _, result := range step.GetToolResults() {
		text := outrigger.TextOf(result)
		if result.GetFailed() {
			text = "error: " + text
		}
		texts = append(texts, text)
	}
	return texts
}

// checkOneStepTold checks the only tool result of the first step, and that the model answered after it.
func checkOneStepTold(t *testing.T, result *outrigger.Result, want string) {
	t.Helper()
	check(t, "stop reason", result.GetStopReason(), pb.GenerateResult_STOP_REASON_COMPLETED)
	told := toolTexts(result.GetSteps()[0])
	if len(told) != 1 || !strings.Contains(told[0], want) {
		t.Errorf("the model was told %q, want one result with %q", told, want)
	}
}

func sidecarComplete(t *testing.T, client *outrigger.Client) {
	response, err := client.Complete(t.Context(), &outrigger.Request{
		Model: "sim-echo", Messages: []*outrigger.Message{outrigger.UserMessage("Hello 🐚")},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", response.Text(), "Hello 🐚")
	check(t, "finish reason", response.GetFinishReason().GetReason(), pb.FinishReason_REASON_STOP)
}

func sidecarStream(t *testing.T, client *outrigger.Client) {
	var text string
	var last *outrigger.Event
	request := &outrigger.Request{Model: "sim-echo", Messages: []*outrigger.Message{outrigger.UserMessage("Hello 🐚")}}
	for event, err := range client.Stream(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
		text, last = text+event.Text(), event
	}
	check(t, "text", text, "Hello 🐚")
	check(t, "text of the response", last.Response().Text(), text)
}

func sidecarGenerate(t *testing.T, client *outrigger.Client) {
	result := mustGenerate(t, client, outrigger.GenerateOptions{Model: "sim-echo", Prompt: "Hello"})
	check(t, "text", result.Text(), "Hello")
	check(t, "stop reason", result.GetStopReason(), pb.GenerateResult_STOP_REASON_COMPLETED)
	check(t, "attempts", len(result.GetAttempts()), 1)
	check(t, "total tokens", result.GetTotalUsage().GetTotalTokens(), result.Usage().GetTotalTokens())
}

func sidecarStreamGenerate(t *testing.T, client *outrigger.Client) {
	var text string
	var steps int
	var last *outrigger.Event
	for event, err := range client.StreamGenerate(t.Context(), outrigger.GenerateOptions{Model: "sim-echo", Prompt: "Hello"}) {
		if err != nil {
			t.Fatal(err)
		}
		text, last = text+event.Text(), event
		if event.StepFinish != nil {
			steps++
		}
	}
	check(t, "text", text, "Hello")
	check(t, "steps", steps, 1)
	check(t, "text of the result", last.Result.Text(), text)
}

type recipe struct {
	Title       string    `json:"title"`
	Minutes     int       `json:"minutes" minimum:"1" maximum:"240"`
	Difficulty  string    `json:"difficulty" enum:"easy,medium,hard"`
	Ingredients []string  `json:"ingredients"`
	Invented    time.Time `json:"invented"`
}

func sidecarObject(t *testing.T, client *outrigger.Client) {
	for _, strategy := range []outrigger.Strategy{outrigger.StrategyAuto, outrigger.StrategyNative, outrigger.StrategyTool} {
		result, err := outrigger.GenerateObject[recipe](t.Context(), client, outrigger.GenerateOptions{
			Model: "sim-tools", Prompt: "Pancakes.", Object: &outrigger.ObjectOptions{Strategy: strategy},
		})
		if err != nil {
			t.Fatalf("%v: %v", strategy, err)
		}
		check(t, "the title is written", result.Object.Title != "", true)
		check(t, "the difficulty is known", strings.Contains("easy medium hard", result.Object.Difficulty), true)
	}
}

func sidecarStreamObject(t *testing.T, client *outrigger.Client) {
	partials := 0
	var final *outrigger.ObjectResult[recipe]
	for event, err := range outrigger.StreamObject[recipe](t.Context(), client, outrigger.GenerateOptions{Model: "sim-text", Prompt: "Pancakes."}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.PartialObject != nil {
			partials++
			check(t, "a partial object is JSON", json.Valid(event.PartialObject), true)
		}
		final = event.Final
	}
	check(t, "partial objects were sent", partials > 0, true)
	check(t, "the title is written", final.Object.Title != "", true)
}

func sidecarNoObject(t *testing.T, client *outrigger.Client) {
	_, err := outrigger.GenerateObject[recipe](t.Context(), client, outrigger.GenerateOptions{
		Model: "sim-text:stop=length", Prompt: "Pancakes.",
	})
	failure, _ := errors.AsType[*outrigger.Error](err)
	if failure == nil || failure.Kind != outrigger.ErrNoObjectGenerated {
		t.Fatalf("got %v, want an error without an object", err)
	}
	check(t, "the answer is kept", failure.NoObject.GetText() != "", true)
	check(t, "what is wrong is said", len(failure.NoObject.GetViolations()) > 0, true)
	check(t, "the tokens are counted", failure.Usage.GetTotalTokens() > 0, true)
}

func sidecarErrorKinds(t *testing.T, client *outrigger.Client) {
	for options, kind := range map[string]outrigger.Kind{
		"status=401":                              outrigger.ErrAuthentication,
		"status=403":                              outrigger.ErrAccessDenied,
		"status=404":                              outrigger.ErrNotFound,
		"status=429,retry_after=2":                outrigger.ErrRateLimit,
		"status=429,code=insufficient_quota":      outrigger.ErrQuotaExceeded,
		"status=400,code=context_length_exceeded": outrigger.ErrContextLength,
		"status=500":                              outrigger.ErrServer,
	} {
		_, err := generate(t, client, outrigger.GenerateOptions{
			Model: "sim-text:" + options, Retry: outrigger.RetryPolicy{MaxRetries: new(0)},
		})
		failure, _ := errors.AsType[*outrigger.Error](err)
		if failure == nil || failure.Kind != kind {
			t.Errorf("%s: got %v, want %v", options, err, kind)
			continue
		}
		after, known := failure.RetryAfter()
		check(t, options+" has a delay", known, kind == outrigger.ErrRateLimit)
		check(t, "delay of "+options, after == 2*time.Second, kind == outrigger.ErrRateLimit)
		check(t, options+" is the provider's", failure.ProviderFailure != nil, true)
	}
}

func sidecarInvalidRequest(t *testing.T, client *outrigger.Client) {
	message := []*outrigger.Message{outrigger.UserMessage("Hello")}
	for name, options := range map[string]outrigger.GenerateOptions{
		"prompt and messages": {Model: "sim-text", Prompt: "Hello", Messages: message},
		"stop_when":           {Model: "sim-text", Prompt: "Hello", StopWhen: "steps.size( >= 3"},
		"a blank model":       {Model: " ", Prompt: "Hello"},
	} {
		for _, tools := range [][]*outrigger.Tool{nil, {weatherTool()}} {
			options.Tools = tools
			_, err := client.Generate(t.Context(), options)
			failure, _ := errors.AsType[*outrigger.Error](err)
			if failure == nil || failure.Kind != outrigger.ErrInvalidRequest || len(failure.Violations) == 0 {
				t.Errorf("%s: got %v, want an invalid request that names a field", name, err)
			}
		}
	}
}

// unique makes a model string of its own: the simulator counts `times` by model string.
func unique(model string) string {
	return fmt.Sprintf("%s,rate=%d", model, 100_000+time.Now().UnixNano()%900_000)
}

func sidecarRetries(t *testing.T, client *outrigger.Client) {
	for _, tools := range [][]*outrigger.Tool{nil, {weatherTool()}} {
		result := mustGenerate(t, client, outrigger.GenerateOptions{
			Model: unique("sim-text:status=500,times=2"),
			Tools: tools,
			Retry: outrigger.RetryPolicy{BaseDelay: time.Millisecond},
		})
		check(t, "attempts", len(result.GetAttempts()), 3)
		check(t, "the first one failed", result.GetAttempts()[0].GetError().GetKind(), pb.ErrorKind_ERROR_KIND_SERVER)
	}
}

func sidecarCutStream(t *testing.T, client *outrigger.Client) {
	options := outrigger.GenerateOptions{Model: "sim-text:cut_events=8", Prompt: "Hello"}
	for _, tools := range [][]*outrigger.Tool{nil, {weatherTool()}} {
		options.Tools = tools
		var failure error
		var text string
		for event, err := range client.StreamGenerate(t.Context(), options) {
			failure = err
			if err == nil {
				text += event.Text()
			}
		}
		check(t, "text arrived", text != "", true)
		converted, _ := errors.AsType[*outrigger.Error](failure)
		if converted == nil || converted.Kind != outrigger.ErrStream || !converted.OutputStarted {
			t.Errorf("got %v, want a failure of the stream after output began", failure)
		}
	}
}

func sidecarDeadline(t *testing.T, client *outrigger.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	started := time.Now()
	for _, tools := range [][]*outrigger.Tool{nil, {weatherTool()}} {
		_, err := client.Generate(ctx, outrigger.GenerateOptions{
			Model: "sim-long:tokens=1000,rate=20", Prompt: "Write.", Tools: tools,
		})
		check(t, "is a time-out", errors.Is(err, context.DeadlineExceeded), true)
	}
	check(t, "ended promptly", time.Since(started) < promptly, true)
}

// sidecarProviderState goes on with a conversation whose reasoning is signed: the simulator checks every byte.
func sidecarProviderState(t *testing.T, client *outrigger.Client) {
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		history := []*outrigger.Message{outrigger.UserMessage("How is the weather in Oslo?")}
		for _, question := range []string{"And in Rome?", ""} {
			result, err := generate(t, client, outrigger.GenerateOptions{
				Provider: provider, Model: "sim-reasoning", Messages: history, Tools: []*outrigger.Tool{weatherTool()},
			})
			if err != nil {
				t.Fatalf("%s: %v", provider, err)
			}
			check(t, "steps with "+provider, len(result.GetSteps()), 2)
			history = append(append(history, result.Messages()...), outrigger.UserMessage(question))
		}
	}
}

func sidecarConcurrentLoops(t *testing.T, client *outrigger.Client) {
	var runs atomic.Int32
	var loops sync.WaitGroup
	for i := range 32 {
		loops.Go(func() {
			city := fmt.Sprintf("City %d", i)
			tool := toolOf("get", func(context.Context) (string, error) {
				runs.Add(1)
				return "rain in " + city, nil
			})
			result, err := generate(t, client, outrigger.GenerateOptions{
				Model: "sim-tools:calls=2,rounds=2", Tools: []*outrigger.Tool{tool}, MaxToolRounds: new(2),
			})
			if err != nil {
				t.Error(err)
				return
			}
			check(t, "the answer quotes its own tool", strings.Contains(result.Text(), city+"”"), true)
		})
	}
	loops.Wait()
	check(t, "executions", runs.Load(), 32*2*2)
}

func sidecarParallelCalls(t *testing.T, client *outrigger.Client) {
	const calls = 4
	var together sync.WaitGroup
	together.Add(calls)
	var order atomic.Int32
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		together.Done()
		together.Wait()
		call, _ := outrigger.CallFromContext(ctx)
		return fmt.Sprintf("%d %s", order.Add(1), call.ID), nil
	})
	result := mustGenerate(t, client, outrigger.GenerateOptions{
		Model: fmt.Sprintf("sim-tools:calls=%d", calls), Tools: []*outrigger.Tool{tool},
	})
	step := result.GetSteps()[0]
	asked := outrigger.ToolCallsOf(step.GetResponse().GetMessage())
	check(t, "results", len(step.GetToolResults()), calls)
	for i, answered := range step.GetToolResults() {
		check(t, "id of a result", answered.GetToolCallId(), asked[i].GetId())
		check(t, "result belongs to its call", strings.HasSuffix(outrigger.TextOf(answered), " "+asked[i].GetId()), true)
	}
}

func sidecarStreamTools(t *testing.T, client *outrigger.Client) {
	var seen []string
	var last *outrigger.Event
	events := client.StreamGenerate(t.Context(), outrigger.GenerateOptions{
		Model: "sim-tools:calls=2", Prompt: "Weather?", Tools: []*outrigger.Tool{weatherTool()},
	})
	for event, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if call := event.ToolCall(); call != nil {
			seen = append(seen, call.GetName())
		}
		if event.StepFinish != nil {
			seen = append(seen, fmt.Sprintf("step %d", event.Step))
		}
		last = event
	}
	check(t, "events", strings.Join(seen, ", "), "get_weather, get_weather, step 1, step 2")
	check(t, "the answer quotes the result", strings.Contains(last.Result.Text(), "rain in"), true)
}

func sidecarFailingTool(t *testing.T, client *outrigger.Client) {
	for tool, want := range map[*outrigger.Tool]string{
		returning("", errors.New("the station is offline")):                      "error: the station is offline",
		toolOf("get", func(context.Context) (string, error) { panic("secret") }): "error: the tool panicked",
	} {
		checkOneStepTold(t, mustGenerate(t, client, outrigger.GenerateOptions{
			Model: "sim-tools", Tools: []*outrigger.Tool{tool},
		}), want)
	}
}

func sidecarRefusal(t *testing.T, client *outrigger.Client) {
	tool := returning("", outrigger.Refuse("the user said no"))
	result := mustGenerate(t, client, outrigger.GenerateOptions{Model: "sim-tools", Tools: []*outrigger.Tool{tool}})
	checkOneStepTold(t, result, "the user said no")
	check(t, "it is an error result", result.GetSteps()[0].GetToolResults()[0].GetFailed(), true)
}

// pickyTool has a schema that the simulator's arguments do not match: it writes the known properties only.
func pickyTool(run func(context.Context, json.RawMessage) (string, error)) *outrigger.Tool {
	schema := `{"type":"object","properties":{"code":{"type":"integer"}},"required":["code"],"minProperties":2}`
	return outrigger.NewToolWithSchema("unlock", "", json.RawMessage(schema), run)
}

func sidecarInvalidArguments(t *testing.T, client *outrigger.Client) {
	tool := pickyTool(func(context.Context, json.RawMessage) (string, error) {
		t.Error("the tool was executed with invalid arguments")
		return "", nil
	})
	result := mustGenerate(t, client, outrigger.GenerateOptions{Model: "sim-tools", Tools: []*outrigger.Tool{tool}})
	checkOneStepTold(t, result, "error: ")
	check(t, "it is an error result", result.GetSteps()[0].GetToolResults()[0].GetFailed(), true)
}

func sidecarRepairedCall(t *testing.T, client *outrigger.Client) {
	const repaired = `{"code":7,"door":"front"}`
	tool := pickyTool(func(_ context.Context, arguments json.RawMessage) (string, error) { return string(arguments), nil })
	result := mustGenerate(t, client, outrigger.GenerateOptions{
		Model: "sim-tools",
		Tools: []*outrigger.Tool{tool},
		RepairToolCall: func(_ context.Context, call *outrigger.ToolCall, problem string) (*outrigger.ToolCall, error) {
			check(t, "the problem is said", problem != "", true)
			return callOf(call.GetName(), repaired), nil
		},
	})
	checkOneStepTold(t, result, repaired)
	check(t, "repaired calls", len(result.GetSteps()[0].GetRepairedCalls()), 1)
}

func sidecarSlowTool(t *testing.T, client *outrigger.Client) {
	stopped := make(chan struct{})
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		<-ctx.Done()
		close(stopped)
		time.Sleep(50 * time.Millisecond) // the answer is then too late
		return "late", nil
	})
	result := mustGenerate(t, client, outrigger.GenerateOptions{
		Model: "sim-tools", Tools: []*outrigger.Tool{tool}, Timeouts: outrigger.Timeouts{PerTool: 50 * time.Millisecond},
	})
	eventually(t, "the end of the tool's context", stopped)
	checkOneStepTold(t, result, "error: ")
}

func sidecarCancelledTool(t *testing.T, client *outrigger.Client) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan struct{})
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		cancel()
		<-ctx.Done()
		close(stopped)
		return "", ctx.Err()
	})
	_, err := client.Generate(ctx, outrigger.GenerateOptions{
		Model: "sim-tools", Prompt: "Weather?", Tools: []*outrigger.Tool{tool},
	})
	check(t, "is an abort", errors.Is(err, outrigger.ErrAbort), true)
	eventually(t, "the end of the tool", stopped)
}

func sidecarPassiveTool(t *testing.T, client *outrigger.Client) {
	passive := outrigger.NewPassiveTool[cityInput]("ask_user", "")
	for _, tools := range [][]*outrigger.Tool{{passive}, {weatherTool(), passive}} {
		options := outrigger.GenerateOptions{
			Model: "sim-tools", Tools: tools,
			ToolChoice: &outrigger.ToolChoice{Mode: pb.ToolChoice_MODE_NAMED, ToolName: "ask_user"},
		}
		result := mustGenerate(t, client, options)
		check(t, "stop reason", result.GetStopReason(), pb.GenerateResult_STOP_REASON_TOOL_CALLS)
		check(t, "calls", len(result.ToolCalls()), 1)

		answer := outrigger.ToolMessage(outrigger.TextResult(result.ToolCalls()[0].GetId(), "yes, take a coat"))
		question := outrigger.UserMessage("How is the weather in Oslo?")
		options.Messages = append(append([]*outrigger.Message{question}, result.Messages()...), answer)
		options.ToolChoice = nil
		final := mustGenerate(t, client, options)
		check(t, "the answer quotes the result", strings.Contains(final.Text(), "yes, take a coat"), true)
	}
}

// counted is a tool that counts its executions.
func counted(runs *atomic.Int32) *outrigger.Tool {
	return toolOf("get", func(context.Context) (int32, error) { return runs.Add(1), nil })
}

func sidecarMaxToolRounds(t *testing.T, client *outrigger.Client) {
	for _, test := range []struct {
		rounds *int
		runs   int32
		steps  int
		reason pb.GenerateResult_StopReason
	}{
		{new(0), 0, 1, pb.GenerateResult_STOP_REASON_TOOL_CALLS},
		{nil, 1, 2, pb.GenerateResult_STOP_REASON_MAX_TOOL_ROUNDS},
		{new(1), 1, 2, pb.GenerateResult_STOP_REASON_MAX_TOOL_ROUNDS},
		{new(2), 2, 3, pb.GenerateResult_STOP_REASON_MAX_TOOL_ROUNDS},
		{new(9), 3, 4, pb.GenerateResult_STOP_REASON_COMPLETED},
	} {
		var runs atomic.Int32
		result := mustGenerate(t, client, outrigger.GenerateOptions{
			Model: "sim-tools:rounds=3", Tools: []*outrigger.Tool{counted(&runs)}, MaxToolRounds: test.rounds,
		})
		check(t, "executions", runs.Load(), test.runs)
		check(t, "steps", len(result.GetSteps()), test.steps)
		check(t, "stop reason", result.GetStopReason(), test.reason)
	}
}

func sidecarStopWhen(t *testing.T, client *outrigger.Client) {
	var runs atomic.Int32
	result := mustGenerate(t, client, outrigger.GenerateOptions{
		Model: "sim-tools:rounds=5", Tools: []*outrigger.Tool{counted(&runs)},
		MaxToolRounds: new(9), StopWhen: "steps.size() >= 2",
	})
	check(t, "stop reason", result.GetStopReason(), pb.GenerateResult_STOP_REASON_STOP_WHEN)
	check(t, "steps", len(result.GetSteps()), 2)
}

func sidecarLimits(t *testing.T, client *outrigger.Client) {
	for _, test := range []struct {
		limits outrigger.Limits
		reason pb.GenerateResult_StopReason
	}{
		{outrigger.Limits{MaxSteps: new(2)}, pb.GenerateResult_STOP_REASON_MAX_STEPS},
		{outrigger.Limits{MaxTotalTokens: new(1)}, pb.GenerateResult_STOP_REASON_MAX_TOTAL_TOKENS},
		{outrigger.Limits{MaxToolCalls: new(2)}, pb.GenerateResult_STOP_REASON_MAX_TOOL_CALLS},
	} {
		var runs atomic.Int32
		result := mustGenerate(t, client, outrigger.GenerateOptions{
			Model: "sim-tools:rounds=5", Tools: []*outrigger.Tool{counted(&runs)}, MaxToolRounds: new(9), Limits: test.limits,
		})
		check(t, "stop reason", result.GetStopReason(), test.reason)
	}
}

func sidecarRuns(t *testing.T, client *outrigger.Client) {
	runs := client.Runs()
	created, err := runs.Create(t.Context(), outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{Model: "sim-long:tokens=100000,rate=20", Prompt: "Hello"},
		Background:      true,
	})
	if err != nil {
		t.Fatal(err)
	}
	cancelled, err := runs.Cancel(t.Context(), created.GetId())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "id", cancelled.GetId(), created.GetId())
	ended, err := runs.Wait(t.Context(), created.GetId())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "status", ended.GetStatus(), pb.RunStatus_RUN_STATUS_CANCELLED)
	if err := runs.Delete(t.Context(), created.GetId()); err != nil {
		t.Fatal(err)
	}
	_, err = runs.Get(t.Context(), created.GetId())
	check(t, "is gone", errors.Is(err, outrigger.ErrNotFound), true)
}

func sidecarFailedRun(t *testing.T, client *outrigger.Client) {
	runs := client.Runs()
	// The provider closes its connection, so that the failure is one of the network.
	created, err := runs.Create(t.Context(), outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{
			Model: "sim-text:drop=1,delay_ms=300", Prompt: "Hello", Retry: outrigger.RetryPolicy{MaxRetries: new(0)},
		},
		Background: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, err := runs.Wait(t.Context(), created.GetId())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "status", ended.GetStatus(), pb.RunStatus_RUN_STATUS_FAILED)
	var last *outrigger.RunEvent
	var failure error
	for event, err := range runs.Events(t.Context(), created.GetId(), -1) {
		if err != nil {
			failure = err
			continue
		}
		last = event
	}
	check(t, "last event", last.GetRun().GetStatus(), pb.RunStatus_RUN_STATUS_FAILED)
	check(t, "is the failure of the run", errors.Is(failure, outrigger.ErrNetwork), true)
}

func sidecarRunTools(t *testing.T, client *outrigger.Client) {
	run, err := client.Runs().Create(t.Context(), outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{
			Model:  "sim-tools",
			Prompt: "How is the weather in Oslo?",
			Tools:  []*outrigger.Tool{outrigger.NewPassiveTool[struct{ City string }]("get_weather", "Weather.")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "status", run.GetStatus(), pb.RunStatus_RUN_STATUS_REQUIRES_ACTION)
	var results []*outrigger.ToolResult
	for _, call := range run.GetRequiredResults() {
		results = append(results, outrigger.TextResult(call.GetId(), "drizzle"))
	}
	run, err = client.Runs().SubmitToolResults(t.Context(), run.GetId(), results)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "status", run.GetStatus(), pb.RunStatus_RUN_STATUS_COMPLETED)
}

func sidecarEmbeddings(t *testing.T, client *outrigger.Client) {
	dimensions := int32(8)
	embedded, err := client.Embed(t.Context(), &outrigger.EmbedRequest{
		Model: "sim-text", Texts: []string{"a", "b"}, Dimensions: &dimensions,
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "vectors", len(embedded.GetEmbeddings()), 2)
	check(t, "dimensions", len(embedded.GetEmbeddings()[1].GetValues()), 8)
	count, err := client.CountTokens(t.Context(), &outrigger.Request{
		Model: "sim-text", Messages: []*outrigger.Message{outrigger.UserMessage("Hello")},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "has tokens", count.GetInputTokens() > 0 && !count.GetEstimated(), true)
	_, err = client.Embed(t.Context(), &outrigger.EmbedRequest{
		Provider: "anthropic", Model: "sim-text", Texts: []string{"a"},
	})
	check(t, "is invalid", errors.Is(err, outrigger.ErrInvalidRequest), true)
}

// sidecarTLS calls a sidecar that asks for certificates: `ca.crt`, `client.crt` and `client.key` in a folder.
func sidecarTLS(t *testing.T, _ *outrigger.Client) {
	address, folder := os.Getenv("OUTRIGGER_TLS_ADDR"), os.Getenv("OUTRIGGER_TLS_FOLDER")
	if address == "" {
		t.Skip("OUTRIGGER_TLS_ADDR does not name a sidecar with TLS")
	}
	pem, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	check(t, "has an authority", authority.AppendCertsFromPEM(pem), true)
	identity, err := tls.LoadX509KeyPair(filepath.Join(folder, "client.crt"), filepath.Join(folder, "client.key"))
	if err != nil {
		t.Fatal(err)
	}
	complete := func(config *tls.Config) error {
		client := newClient(t, outrigger.WithAddress(address), outrigger.WithTLS(config))
		_, err := client.Complete(t.Context(), &outrigger.Request{
			Model: "sim-text", Messages: []*outrigger.Message{outrigger.UserMessage("Hello?")},
		})
		return err
	}
	if err := complete(&tls.Config{RootCAs: authority, Certificates: []tls.Certificate{identity}}); err != nil {
		t.Error(err)
	}
	nameless := complete(&tls.Config{RootCAs: authority})
	check(t, "without a certificate", errors.Is(nameless, outrigger.ErrNetwork), true)
}

func sidecarCatalog(t *testing.T, client *outrigger.Client) {
	latest, err := client.GetLatestModel(t.Context(), "anthropic", pb.Capability_CAPABILITY_TOOLS)
	if err != nil {
		t.Fatal(err)
	}
	known, err := client.GetModelInfo(t.Context(), latest.GetId(), "anthropic")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "name", known.GetDisplayName(), latest.GetDisplayName())
	found := 0
	for model, err := range client.ListModels(t.Context(), "anthropic", pb.Capability_CAPABILITY_TOOLS) {
		if err != nil {
			t.Fatal(err)
		}
		if model.GetId() == latest.GetId() {
			found++
		}
	}
	check(t, "times that the list has it", found, 1)
	_, err = client.GetModelInfo(t.Context(), "no such model", "")
	check(t, "is unknown", errors.Is(err, outrigger.ErrNotFound), true)
}

// sidecarParts sends each kind of part, and reads the same kinds from the answers.
func sidecarParts(t *testing.T, client *outrigger.Client) {
	message := outrigger.UserMessage("Look:",
		outrigger.ImagePart("image/png", []byte("png")),
		outrigger.ImageURLPart("https://example.com/cat.png"),
		outrigger.AudioPart("audio/wav", []byte("wav")),
		outrigger.DocumentPart("application/pdf", "a.pdf", []byte("pdf")))
	check(t, "image", message.GetContent()[1].GetImage().GetMediaType(), "image/png")
	check(t, "URL", message.GetContent()[2].GetImage().GetUrl(), "https://example.com/cat.png")
	check(t, "audio", string(message.GetContent()[3].GetAudio().GetData()), "wav")
	check(t, "document", message.GetContent()[4].GetDocument().GetFileName(), "a.pdf")
	response, err := client.Complete(t.Context(), &outrigger.Request{
		Provider: "gemini", Model: "sim-reasoning", ReasoningEffort: "high",
		Messages: []*outrigger.Message{outrigger.SystemMessage("Be brief."), message},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "reasoning", outrigger.ReasoningOf(response.GetMessage()), response.Reasoning())
	if response.Reasoning() == "" {
		t.Error("the answer has no reasoning")
	}
	result := mustGenerate(t, client, outrigger.GenerateOptions{
		Model: "sim-tools", Tools: []*outrigger.Tool{outrigger.NewPassiveTool[struct{}]("get_weather", "The weather.")},
	})
	check(t, "calls", len(result.ToolCalls()), 1)
	check(t, "results", len(result.ToolResults()), 0)
}

// sidecarRawAnswer reads what the provider sent, and the headers of the sidecar, through an interceptor of gRPC.
func sidecarRawAnswer(t *testing.T, _ *outrigger.Client) {
	var methods []string
	intercept := func(
		ctx context.Context, method string, request, reply any,
		conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		methods = append(methods, method)
		return invoke(ctx, method, request, reply, conn, options...)
	}
	client := newClient(t, outrigger.WithDialOptions(grpc.WithChainUnaryInterceptor(intercept)))
	var info outrigger.CallInfo
	request := &outrigger.Request{
		Model: "sim-echo", Messages: []*outrigger.Message{outrigger.UserMessage("Hello")}, IncludeRaw: true,
	}
	response, err := client.Complete(outrigger.WithCallInfo(t.Context(), &info), request)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "is JSON", json.Valid([]byte(response.GetRawJson())), true)
	check(t, "request id", info.Headers().Get("x-request-id")[0], info.RequestID())
	check(t, "methods", strings.Join(methods, " "), "/outrigger.v1.InferenceService/Complete")
}
