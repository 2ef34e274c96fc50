package outrigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// sent returns what Generate sends for options.
func sent(t *testing.T, options outrigger.GenerateOptions) (*pb.GenerationOptions, error) {
	t.Helper()
	var request *pb.GenerateRequest
	client := connect(t, &fakeSidecar{
		generate: func(_ context.Context, r *pb.GenerateRequest) (*pb.GenerateResponse, error) {
			request = r
			step := &pb.StepResult{Response: answer("fine")}
			return &pb.GenerateResponse{Result: &pb.GenerateResult{Steps: []*pb.StepResult{step}}}, nil
		},
	})
	result, err := client.Generate(t.Context(), options)
	if err == nil {
		check(t, "text", result.Text(), "fine")
	}
	return request.GetOptions(), err
}

func TestEveryOptionIsSent(t *testing.T) {
	got, err := sent(t, outrigger.GenerateOptions{
		Model:         "m",
		Provider:      "p",
		Prompt:        "Hello",
		System:        "Be brief.",
		ToolChoice:    &outrigger.ToolChoice{Mode: pb.ToolChoice_MODE_NONE},
		MaxToolRounds: new(0),
		StopWhen:      "steps.size() >= 3",
		Limits: outrigger.Limits{
			MaxSteps: new(1), MaxTotalTokens: new(2), MaxCostNanoUSD: new(int64(3)), MaxToolCalls: new(4),
		},
		Timeouts: outrigger.Timeouts{Total: time.Minute, PerStep: time.Second, PerTool: time.Millisecond},
		Retry: outrigger.RetryPolicy{
			MaxRetries: new(0), BaseDelay: time.Second, MaxDelay: time.Minute,
			BackoffMultiplier: new(1.5), Jitter: new(false), RetryTimeouts: true,
		},
		Temperature:     new(0.0),
		TopP:            new(0.9),
		MaxTokens:       new(100),
		StopSequences:   []string{"END"},
		ReasoningEffort: "low",
		Metadata:        map[string]string{"team": "search"},
		ProviderOptions: map[string]any{"openai": map[string]any{"seed": 1}},
		Request:         &outrigger.Request{Model: "hidden", IncludeRaw: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.GenerationOptions{
		Request: &pb.Request{
			Model: "m", Provider: "p", IncludeRaw: true, ReasoningEffort: "low", StopSequences: []string{"END"},
			ToolChoice:  &pb.ToolChoice{Mode: pb.ToolChoice_MODE_NONE},
			Temperature: new(0.0), TopP: new(0.9), MaxTokens: new(int32(100)),
			Metadata:            map[string]string{"team": "search"},
			ProviderOptionsJson: map[string]string{"openai": `{"seed":1}`},
		},
		Prompt: "Hello", System: "Be brief.", MaxToolRounds: new(int32(0)), StopWhen: "steps.size() >= 3",
		Limits: &pb.GenerationLimits{
			MaxSteps: new(int32(1)), MaxTotalTokens: new(int32(2)), MaxCostNanoUsd: new(int64(3)), MaxToolCalls: new(int32(4)),
		},
		Timeouts: &pb.GenerationTimeouts{
			Total: durationpb.New(time.Minute), PerStep: durationpb.New(time.Second), PerTool: durationpb.New(time.Millisecond),
		},
		Retry: &pb.RetryPolicy{
			MaxRetries: new(int32(0)), BaseDelay: durationpb.New(time.Second), MaxDelay: durationpb.New(time.Minute),
			BackoffMultiplier: new(1.5), Jitter: new(false), RetryTimeouts: true,
		},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestOptionsThatAreNotSetAreNotSent(t *testing.T) {
	got, err := sent(t, outrigger.GenerateOptions{Model: "m", Messages: []*outrigger.Message{outrigger.UserMessage("Hello")}})
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.GenerationOptions{
		Request:  &pb.Request{Model: "m", Messages: []*pb.Message{outrigger.UserMessage("Hello")}},
		Retry:    &pb.RetryPolicy{},
		Timeouts: &pb.GenerationTimeouts{},
		Limits:   &pb.GenerationLimits{},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestOptionThatCannotBeSentIsNamed(t *testing.T) {
	type recursive []recursive
	cases := map[string]outrigger.GenerateOptions{
		"max_tool_rounds":           {MaxToolRounds: new(math.MaxInt32 + 1)},
		"max_tokens":                {MaxTokens: new(math.MinInt32 - 1)},
		`provider_options["p"]`:     {ProviderOptions: map[string]any{"p": func() {}}},
		"tools[1]":                  {Tools: []*outrigger.Tool{weatherTool(), nil}},
		"tools[0]":                  {Tools: []*outrigger.Tool{outrigger.NewPassiveTool[recursive]("t", "")}},
		"object":                    {Object: &outrigger.ObjectOptions{}},
		"object (with the loop)":    {Object: &outrigger.ObjectOptions{}, Tools: []*outrigger.Tool{weatherTool()}},
		"tools[0] (no JSON)":        {Tools: []*outrigger.Tool{outrigger.NewToolWithSchema[string]("t", "", json.RawMessage("{"), nil)}},
		"tools[0] (no object)":      {Tools: []*outrigger.Tool{outrigger.NewPassiveTool[string]("t", "")}},
		"tools[0] (no JSON object)": {Tools: []*outrigger.Tool{outrigger.NewHostedTool("p", make(chan int))}},
	}
	for name, options := range cases {
		field, _, _ := strings.Cut(name, " (")
		_, err := sent(t, options)
		failure, ok := errors.AsType[*outrigger.Error](err)
		if !ok || failure.Kind != outrigger.ErrInvalidRequest {
			t.Errorf("%s: got %v, want an invalid request", name, err)
			continue
		}
		check(t, "field of "+name, failure.Violations[0].Field, field)
	}
}
