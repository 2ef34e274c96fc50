package outrigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

type cityInput struct {
	City string `json:"city" description:"Name of the city."`
}

// weatherTool answers with the city that it was asked for.
func weatherTool() *outrigger.Tool {
	return outrigger.NewTool("get_weather", "Current weather of a city.",
		func(_ context.Context, in cityInput) (string, error) { return "rain in " + in.City, nil })
}

// toolOf makes a tool without arguments of a function.
func toolOf[Out any](name string, run func(context.Context) (Out, error)) *outrigger.Tool {
	return outrigger.NewTool(name, "", func(ctx context.Context, _ struct{}) (Out, error) { return run(ctx) })
}

// returning makes a tool named get that returns a value.
func returning[Out any](value Out, err error) *outrigger.Tool {
	return toolOf("get", func(context.Context) (Out, error) { return value, err })
}

// outputOf runs one tool in a loop and returns what the model was told, and what OnToolError got.
func outputOf(t *testing.T, tool *outrigger.Tool, call *pb.ToolCall) (told string, reported error) {
	t.Helper()
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.execute(call)
		told = said(p.outputs(1)["call_0"])
		return p.finish("done")
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{
		Tools:       []*outrigger.Tool{tool},
		OnToolError: func(_ context.Context, _ *outrigger.ToolCall, err error) { reported = err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return told, reported
}

func TestGenerateRunsTheToolsAndReturnsAllSteps(t *testing.T) {
	var start *pb.RunToolsStart
	client := playing(t, func(p *peer, first *pb.RunToolsStart) error {
		start = first
		p.execute(callOf("get_weather", `{"city":"Oslo"}`), callOf("get_weather", `{"city":"Rome"}`))
		outputs := p.outputs(2)
		p.finishStep("Let me see.", outputs["call_0"].GetResult(), outputs["call_1"].GetResult())
		return p.finish("It rains in both.")
	})
	result, err := client.Generate(t.Context(), outrigger.GenerateOptions{
		Model: "m", Prompt: "Weather?", Tools: []*outrigger.Tool{weatherTool()}, MaxToolRounds: new(5),
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", result.Text(), "It rains in both.")
	check(t, "steps", len(result.GetSteps()), 2)
	check(t, "tokens of the last step", result.Usage().GetTotalTokens(), 7)
	check(t, "tokens of all steps", result.GetTotalUsage().GetTotalTokens(), 14)
	check(t, "finish reason", result.FinishReason().GetReason(), pb.FinishReason_REASON_STOP)
	results := result.GetSteps()[0].GetToolResults()
	check(t, "first result", outrigger.TextOf(results[0]), "rain in Oslo")
	check(t, "second result", outrigger.TextOf(results[1]), "rain in Rome")
	check(t, "events are left out", start.GetOmitEvents(), true)
	check(t, "rounds", start.GetOptions().GetMaxToolRounds(), 5)
	check(t, "schema", start.GetOptions().GetRequest().GetTools()[0].GetFunction().GetParametersJson(),
		`{"type":"object","properties":{"city":{"type":"string","description":"Name of the city."}},`+
			`"required":["city"],"additionalProperties":false}`)
}

func TestMessagesOfAResultContinueTheConversation(t *testing.T) {
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.execute(callOf("get_weather", `{"city":"Oslo"}`))
		p.finishStep("Let me see.", p.outputs(1)["call_0"].GetResult())
		return p.finish("It rains.")
	})
	result, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{weatherTool()}})
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, message := range result.Messages() {
		roles = append(roles, message.GetRole().String())
	}
	check(t, "roles", strings.Join(roles, " "), "ROLE_ASSISTANT ROLE_TOOL ROLE_ASSISTANT")
	check(t, "id", result.Messages()[1].GetContent()[0].GetToolResult().GetToolCallId(), "call_0")
}

func TestStreamGenerateYieldsEventsStepsAndTheResult(t *testing.T) {
	client := playing(t, func(p *peer, start *pb.RunToolsStart) error {
		check(t, "events are left out", start.GetOmitEvents(), false)
		p.event(startEvent(0))
		p.execute(callOf("get_weather", `{"city":"Oslo"}`))
		p.send(&pb.RunToolsResponse{}) // a kind of message that this client does not know
		p.finishStep("", p.outputs(1)["call_0"].GetResult())
		p.event(textEvent(0, "It rains."))
		return p.finish("It rains.")
	})
	var seen []string
	for event, err := range client.StreamGenerate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{weatherTool()}}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case event.StepFinish != nil:
			seen = append(seen, fmt.Sprintf("step %d", event.Step))
		case event.Result != nil:
			seen = append(seen, "result "+event.Result.Text())
		case event.Text() != "":
			seen = append(seen, fmt.Sprintf("%d: %s", event.Step, event.Text()))
		}
	}
	check(t, "events", strings.Join(seen, ", "), "step 1, 2: It rains., step 2, result It rains.")
}

func TestToolReturnsGoToTheModel(t *testing.T) {
	type weather struct {
		Sky string `json:"sky"`
	}
	cases := []struct {
		tool *outrigger.Tool
		want string
	}{
		{returning("rain & wind", nil), "result: rain & wind"},
		{returning(weather{"<clear>"}, nil), `result: {"sky":"<clear>"}`},
		{returning([]int{1, 2}, nil), "result: [1,2]"},
		{returning(json.RawMessage(`{"a": 1}`), nil), `result: {"a":1}`},
		{returning(outrigger.TextPart("a part"), nil), "result: a part"},
		{returning([]*outrigger.ContentPart{outrigger.TextPart("two "), outrigger.TextPart("parts")}, nil), "result: two parts"},
		{returning(&outrigger.ToolResult{Content: []*outrigger.ContentPart{outrigger.TextPart("no")}, Failed: true}, nil), "error result: no"},
		{returning("not \xff UTF-8", nil), "result: not \uFFFD UTF-8"},
	}
	for _, test := range cases {
		told, reported := outputOf(t, test.tool, callOf("get", "{}"))
		check(t, "told", told, test.want)
		check(t, "reported", reported, nil)
	}
}

func TestToolThatFailsIsAnErrorResultAndIsReported(t *testing.T) {
	huge := strings.Repeat("x", 33<<20)
	panicking := toolOf("get", func(context.Context) (string, error) { panic("secret") })
	exiting := toolOf("get", func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
	cases := []struct {
		name string
		tool *outrigger.Tool
		want string
	}{
		{"an error", returning("", errors.New("no such city \xff")), "error: no such city \uFFFD"},
		{"a wrapped refusal", returning("", fmt.Errorf("asked: %w", outrigger.Refuse("the user said no"))), "refusal: the user said no"},
		{"a panic", panicking, "error: the tool panicked"},
		{"the end of its goroutine", exiting, "error: the tool ended its goroutine"},
		{"a result that is no JSON", returning(math.NaN(), nil), "error: the result cannot be encoded as JSON: json: unsupported value: NaN"},
		{"no result", returning[*outrigger.ToolResult](nil, nil), "error: the tool returned no result"},
		{"a result that is too large", returning(huge, nil), "error: the result has 34603039 bytes, at most 33554432 can be sent"},
	}
	for _, test := range cases {
		told, reported := outputOf(t, test.tool, callOf("get", "{}"))
		check(t, test.name, told, test.want)
		check(t, test.name+" is reported", reported != nil, true)
	}
	_, reported := outputOf(t, panicking, callOf("get", "{}"))
	panicked, ok := errors.AsType[*outrigger.PanicError](reported)
	check(t, "a panic is reported as one", ok, true)
	check(t, "value of the panic", panicked.Value, any("secret"))
	check(t, "the stack names the tool", strings.Contains(string(panicked.Stack), "loop_test.go"), true)
}

func TestPartThatGRPCCannotSendFailsTheToolAlone(t *testing.T) {
	told, _ := outputOf(t, returning(outrigger.TextPart("\xff"), nil), callOf("get", "{}"))
	check(t, "told", strings.HasPrefix(told, "error: the result cannot be sent: "), true)
}

func TestErrorsOfToolsAreHiddenIfTheToolOrTheClientSaysSo(t *testing.T) {
	failing := returning("", errors.New("10.0.0.7 refused"))
	told, reported := outputOf(t, failing.HideErrors(true), callOf("get", "{}"))
	check(t, "told", told, "error: the tool failed")
	check(t, "reported", reported.Error(), "10.0.0.7 refused")
	address := listen(t, "tcp", "127.0.0.1:0", &fakeSidecar{runTools: func(stream toolStream) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		p := &peer{t: t, stream: stream, step: 1}
		p.execute(callOf("get", "{}"), callOf("open", "{}"), callOf("get_weather", "[]"))
		outputs := p.outputs(3)
		check(t, "hidden", said(outputs["call_0"]), "error: the tool failed")
		check(t, "of a tool that shows them", said(outputs["call_1"]), "error: 10.0.0.7 refused")
		check(t, "names the arguments", strings.Contains(said(outputs["call_2"]), "arguments"), true)
		return p.finish("done")
	}})
	client := newClient(t, outrigger.WithAddress(address), outrigger.WithHiddenToolErrors())
	open := toolOf("open", func(context.Context) (string, error) { return "", errors.New("10.0.0.7 refused") })
	tools := []*outrigger.Tool{failing, open.HideErrors(false), weatherTool()}
	if _, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: tools}); err != nil {
		t.Fatal(err)
	}
}

func TestArgumentsThatDoNotFitTheTypeAreAnErrorResult(t *testing.T) {
	told, _ := outputOf(t, weatherTool(), callOf("get_weather", `{"city":1}`))
	check(t, "told", strings.HasPrefix(told, "error: the arguments do not match the type of the input: json: cannot unmarshal number"), true)
}

func TestToolThatWasNotOfferedIsAnErrorResult(t *testing.T) {
	told, _ := outputOf(t, weatherTool(), callOf("delete_everything", "{}"))
	check(t, "told", told, `error: there is no tool "delete_everything"`)
}

func TestToolWithoutParametersMayBeCalledWithoutArguments(t *testing.T) {
	told, _ := outputOf(t, returning("fine", nil), callOf("get", ""))
	check(t, "told", told, "result: fine")
}

func TestCustomToolGetsTextHoweverTheProviderCallsIt(t *testing.T) {
	tool := outrigger.NewCustomTool("sql", "Runs a query.", nil,
		func(_ context.Context, query string) (string, error) { return "ran " + query, nil })
	asText := &pb.ToolCall{Name: "sql", Input: &pb.ToolCall_Text{Text: "select 1"}}
	for _, call := range []*pb.ToolCall{asText, callOf("sql", `{"input":"select 1"}`)} {
		told, _ := outputOf(t, tool, call)
		check(t, "told", told, "result: ran select 1")
	}
	told, _ := outputOf(t, tool, callOf("sql", `[]`))
	check(t, "told of wrong arguments", strings.HasPrefix(told, "error: the arguments do not match the type of the input: "), true)
}

func TestToolWithSchemaGetsTheArgumentsAsWritten(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	tool := outrigger.NewToolWithSchema("get", "", schema,
		func(_ context.Context, arguments json.RawMessage) (string, error) { return string(arguments), nil })
	told, _ := outputOf(t, tool, callOf("get", `{ "b":1, "a":2 }`))
	check(t, "told", told, `result: { "b":1, "a":2 }`)
}

func TestCallsOfAStepRunAtTheSameTime(t *testing.T) {
	const calls = 8
	var together sync.WaitGroup
	together.Add(calls)
	tool := toolOf("get", func(context.Context) (string, error) {
		together.Done()
		together.Wait()
		return "met", nil
	})
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		asked := make([]*pb.ToolCall, calls)
		for i := range asked {
			asked[i] = callOf("get", "{}")
		}
		p.execute(asked...)
		check(t, "answers", len(p.outputs(calls)), calls)
		return p.finish("done")
	})
	if _, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}}); err != nil {
		t.Fatal(err)
	}
}

func TestNoMoreToolsRunAtTheSameTimeThanAllowed(t *testing.T) {
	var running, most atomic.Int32
	tool := toolOf("get", func(context.Context) (string, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		time.Sleep(time.Millisecond)
		return "", nil
	})
	for parallel, want := range map[int]int32{0: 16, 3: 3} {
		most.Store(0)
		client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
			calls := make([]*pb.ToolCall, 60)
			for i := range calls {
				calls[i] = callOf("get", "{}")
			}
			p.execute(calls...)
			check(t, "answers", len(p.outputs(60)), 60)
			return p.finish("done")
		})
		options := outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}, MaxParallelTools: parallel}
		if _, err := client.Generate(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		if most.Load() > want {
			t.Errorf("%d tools ran at the same time, want at most %d", most.Load(), want)
		}
	}
}

func TestToolSeesItsCallAndTheConversation(t *testing.T) {
	var calls []*outrigger.Call
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		call, _ := outrigger.CallFromContext(ctx)
		calls = append(calls, call)
		return "", nil
	})
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		for range 2 {
			p.execute(callOf("get", "{}"))
			p.finishStep("Let me see.", p.outputs(1)["call_0"].GetResult())
		}
		return p.finish("done")
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{
		System: "Be brief.", Prompt: "Weather?", Tools: []*outrigger.Tool{tool},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "id", calls[0].ID, "call_0")
	check(t, "name", calls[0].Name, "get")
	check(t, "steps", [2]int{calls[0].Step, calls[1].Step}, [2]int{1, 2})
	check(t, "messages before the first step", len(calls[0].Messages), 2)
	check(t, "messages before the second step", len(calls[1].Messages), 4)
	_, found := outrigger.CallFromContext(t.Context())
	check(t, "a call outside of a tool", found, false)
}

func TestTimeLimitOfAToolEndsItsContext(t *testing.T) {
	stopped := make(chan struct{})
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		<-ctx.Done()
		close(stopped)
		return "", ctx.Err()
	})
	reported := make(chan string, 2)
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		call := callOf("get", "{}")
		call.Id = "call_0"
		p.ask(&pb.ExecuteTool{ToolCall: call, Timeout: durationpb.New(20 * time.Millisecond)})
		check(t, "told", said(p.outputs(1)["call_0"]), "error: context deadline exceeded")
		rejected := &pb.RejectedOutput{ToolCallId: "call_0", Reason: pb.RejectedOutput_REASON_TOO_LATE}
		p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_RejectedOutput{RejectedOutput: rejected}})
		return p.finish("done")
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{
		Tools: []*outrigger.Tool{tool},
		OnToolError: func(_ context.Context, call *outrigger.ToolCall, err error) {
			reported <- call.GetId() + ": " + err.Error()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the tool", stopped)
	check(t, "first report", <-reported, "call_0: context deadline exceeded")
	check(t, "second report", <-reported, "call_0: the output was not used: REASON_TOO_LATE")
}

func TestToolThatFindsNoSlotInItsTimeIsNotStarted(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{})
	var runs atomic.Int32
	tool := toolOf("get", func(context.Context) (string, error) {
		runs.Add(1)
		close(started)
		<-release
		return "", nil
	})
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.execute(callOf("get", "{}"))
		<-started
		late := callOf("get", "{}")
		late.Id = "late"
		p.ask(&pb.ExecuteTool{ToolCall: late, Timeout: durationpb.New(time.Millisecond)})
		check(t, "told", said(p.outputs(1)["late"]), "error: the tool was not started within its time limit")
		close(release)
		p.outputs(1)
		return p.finish("done")
	})
	options := outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}, MaxParallelTools: 1}
	if _, err := client.Generate(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	check(t, "runs", runs.Load(), 1)
}

// cancelledWithin runs a loop whose tool is in progress when end is called, and expects the tool and the
// call to end.
func cancelledWithin(t *testing.T, end func(cancel func())) error {
	t.Helper()
	begun, toolEnded, callEnded := make(chan struct{}), make(chan struct{}), make(chan struct{})
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		close(begun)
		<-ctx.Done()
		close(toolEnded)
		return "", ctx.Err()
	})
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		defer close(callEnded)
		p.event(startEvent(0))
		p.execute(callOf("get", "{}"))
		<-begun
		p.event(textEvent(1, "now"))
		return p.waitForEnd()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var failure error
	for event, err := range client.StreamGenerate(ctx, outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}}) {
		failure = err
		if event == nil || event.Text() == "" {
			continue
		}
		if end == nil {
			break
		}
		end(cancel)
	}
	eventually(t, "the end of the tool", toolEnded)
	eventually(t, "the end of the call", callEnded)
	return failure
}

func TestCancellingTheContextStopsARunningTool(t *testing.T) {
	err := cancelledWithin(t, func(cancel func()) { cancel() })
	check(t, "is an abort", errors.Is(err, outrigger.ErrAbort), true)
}

func TestLeavingTheStreamStopsARunningTool(t *testing.T) {
	check(t, "failure", cancelledWithin(t, nil), nil)
}

func TestFailureOfTheLoopStopsARunningTool(t *testing.T) {
	begun, stopped := make(chan struct{}), make(chan struct{})
	tool := toolOf("get", func(ctx context.Context) (string, error) {
		close(begun)
		<-ctx.Done()
		close(stopped)
		return "", nil
	})
	failed := &pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_SERVER, Usage: &pb.Usage{TotalTokens: 9}}
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.execute(callOf("get", "{}"))
		<-begun
		p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_Error{Error: failed}})
		return nil
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}})
	failure, _ := errors.AsType[*outrigger.Error](err)
	check(t, "kind", failure.Kind, outrigger.ErrServer)
	check(t, "tokens", failure.Usage.GetTotalTokens(), 9)
	eventually(t, "the end of the tool", stopped)
}

func TestLoopThatEndsWithoutAResultFailed(t *testing.T) {
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.finishStep("Let me see.")
		return nil
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{weatherTool()}})
	check(t, "is a failure of the stream", errors.Is(err, outrigger.ErrStream), true)
}

func TestToolThatIgnoresItsContextDoesNotHoldTheCall(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	tool := toolOf("get", func(context.Context) (string, error) {
		<-release
		return "", nil
	})
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.execute(callOf("get", "{}"))
		return p.finish("done without it")
	})
	result, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{tool}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "text", result.Text(), "done without it")
}

func TestCallsAreRepairedByTheCaller(t *testing.T) {
	type repair = func(context.Context, *outrigger.ToolCall, string) (*outrigger.ToolCall, error)
	cases := []struct {
		repair repair
		want   string
	}{
		{func(_ context.Context, call *outrigger.ToolCall, _ string) (*outrigger.ToolCall, error) {
			return callOf(call.GetName(), `{"city":"Oslo"}`), nil
		}, `repaired: {"city":"Oslo"}`},
		{func(context.Context, *outrigger.ToolCall, string) (*outrigger.ToolCall, error) {
			return nil, errors.New("beyond repair")
		}, "error: beyond repair"},
		{func(context.Context, *outrigger.ToolCall, string) (*outrigger.ToolCall, error) { return nil, nil }, "error: no city"},
		{func(context.Context, *outrigger.ToolCall, string) (*outrigger.ToolCall, error) { panic("!") }, "error: the tool panicked"},
		{nil, "error: no city"},
	}
	for _, test := range cases {
		client := playing(t, func(p *peer, start *pb.RunToolsStart) error {
			check(t, "calls are to be repaired", start.GetRepairCalls(), test.repair != nil)
			call := callOf("get_weather", `{"town":"Oslo"}`)
			call.Id = "call_0"
			p.ask(&pb.ExecuteTool{ToolCall: call, Problem: "no city"})
			check(t, "told", said(p.outputs(1)["call_0"]), test.want)
			return p.finish("done")
		})
		_, err := client.Generate(t.Context(), outrigger.GenerateOptions{
			Tools: []*outrigger.Tool{weatherTool()}, RepairToolCall: test.repair,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestToolsWithoutAFunctionArePassive(t *testing.T) {
	request := &outrigger.Request{Tools: []*pb.Tool{
		{Tool: &pb.Tool_Function{Function: &pb.FunctionTool{Name: "from_the_request"}}},
	}}
	var start *pb.RunToolsStart
	client := playing(t, func(p *peer, first *pb.RunToolsStart) error {
		start = first
		return p.finish("done")
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{Request: request, Tools: []*outrigger.Tool{
		weatherTool(),
		outrigger.NewPassiveTool[cityInput]("ask_user", ""),
		outrigger.NewCustomTool[string]("sql", "", nil, nil),
		outrigger.NewHostedTool("openai", map[string]any{"type": "web_search"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "passive tools", strings.Join(start.GetPassiveTools(), " "), "from_the_request ask_user sql")
	check(t, "tools", len(start.GetOptions().GetRequest().GetTools()), 5)
	check(t, "the caller's request is not changed", len(request.GetTools()), 1)
}
