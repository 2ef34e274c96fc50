package outrigger

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// GenerateOptions says what to generate. Model is required, and one of Prompt and Messages. A nil
// pointer and a zero duration leave the sidecar's default.
type GenerateOptions struct {
	// Model is the provider's own id of the model, or an alias that the sidecar has.
	Model string
	// Provider is the name of the registered provider. Empty means the default one.
	Provider string
	// Prompt is the text of a user message, instead of Messages.
	Prompt string
	// System is the text of a system message, put before the conversation.
	System string
	// Messages is the conversation so far, oldest first.
	Messages []*Message

	// Tools are what the model may call. Where at least one can be executed, the tool loop runs.
	Tools []*Tool
	// ToolChoice says whether and how the model must use tools.
	ToolChoice *ToolChoice
	// MaxToolRounds is how many times tools may be executed and their results sent to the model. Zero
	// executes none: calls are returned. Default 1.
	MaxToolRounds *int
	// MaxParallelTools is how many tools run at the same time. Default 16.
	MaxParallelTools int
	// RepairToolCall is given calls whose arguments do not parse or do not match the tool's schema, and
	// what is wrong with them. It returns the call with other arguments, or an error, which the model gets.
	RepairToolCall func(ctx context.Context, call *ToolCall, problem string) (*ToolCall, error)
	// OnToolError is called for each tool that failed, before the model gets its error result, and for each
	// output that the sidecar did not use, for instance because it came too late. It is meant for logs, and
	// may be called by several goroutines at once.
	OnToolError func(ctx context.Context, call *ToolCall, err error)

	// StopWhen ends the generation early: a CEL expression over the variable steps, for instance
	// "steps.size() >= 3".
	StopWhen string
	// Limits bounds what all steps together may use.
	Limits Limits
	// Timeouts are its time limits. The deadline of the context bounds all of them.
	Timeouts Timeouts
	// Retry says when a failed model call is retried.
	Retry RetryPolicy

	// Temperature is the sampling temperature.
	Temperature *float64
	// TopP is the nucleus sampling mass.
	TopP *float64
	// MaxTokens is the maximum number of tokens of one answer, reasoning included.
	MaxTokens *int
	// StopSequences are texts at which the model stops.
	StopSequences []string
	// ReasoningEffort is how much a reasoning model reasons: none, minimal, low, medium, high, xhigh, max.
	ReasoningEffort string
	// Metadata is stored by the provider with the call.
	Metadata map[string]string
	// ProviderOptions is merged into the body of the provider's request: provider name to a value that
	// encodes as a JSON object.
	ProviderOptions map[string]any

	// Object says how GenerateObject and StreamObject request the object. Not for other calls.
	Object *ObjectOptions

	// Request has fields of the contract's Request that have no field above. It is not changed, and a
	// field that is set above wins.
	Request *Request
}

// Limits bounds what all steps of a generation together may use. Nil means no limit.
type Limits struct {
	// MaxSteps is the maximum number of steps.
	MaxSteps *int
	// MaxTotalTokens is the maximum number of tokens of all steps.
	MaxTotalTokens *int
	// MaxCostNanoUSD is the maximum cost of all steps, in billionths of a US dollar.
	MaxCostNanoUSD *int64
	// MaxToolCalls is the maximum number of tool calls in all steps.
	MaxToolCalls *int
}

// Timeouts are the time limits of a generation. Zero means no limit, unless a default is given.
type Timeouts struct {
	// Total is the maximum duration of the generation.
	Total time.Duration
	// PerStep is the maximum duration of one call of the model.
	PerStep time.Duration
	// PerTool is the maximum duration of one tool, after which the model gets an error result. Default 300 s.
	PerTool time.Duration
}

// RetryPolicy says when and how often a failed model call is retried. A retry never executes a tool again,
// and a stream is not retried after output began.
type RetryPolicy struct {
	// MaxRetries is the number of retries after the first attempt. Zero disables retries. Default 2.
	MaxRetries *int
	// BaseDelay is the delay before the first retry. Default 1 s.
	BaseDelay time.Duration
	// MaxDelay is the longest delay before jitter. Default 60 s.
	MaxDelay time.Duration
	// BackoffMultiplier is the factor between one delay and the next. Default 2.
	BackoffMultiplier *float64
	// Jitter says whether each delay is multiplied by a random factor from 0.5 to 1.5. Default true.
	Jitter *bool
	// RetryTimeouts says whether an error of the kind ErrRequestTimeout is retried too.
	RetryTimeouts bool
}

// proto converts the options. It fails if they cannot be expressed in the contract.
func (o *GenerateOptions) proto() (*pb.GenerationOptions, error) {
	if o.Object != nil {
		return nil, invalid("object", "is for GenerateObject and StreamObject only")
	}
	request, err := o.request()
	if err != nil {
		return nil, err
	}
	numbers := narrower{}
	options := &pb.GenerationOptions{
		Request:       request,
		Prompt:        o.Prompt,
		System:        o.System,
		MaxToolRounds: numbers.int32("max_tool_rounds", o.MaxToolRounds),
		StopWhen:      o.StopWhen,
		Retry: &pb.RetryPolicy{
			MaxRetries:        numbers.int32("retry.max_retries", o.Retry.MaxRetries),
			BaseDelay:         durationOf(o.Retry.BaseDelay),
			MaxDelay:          durationOf(o.Retry.MaxDelay),
			BackoffMultiplier: o.Retry.BackoffMultiplier,
			Jitter:            o.Retry.Jitter,
			RetryTimeouts:     o.Retry.RetryTimeouts,
		},
		Timeouts: &pb.GenerationTimeouts{
			Total:   durationOf(o.Timeouts.Total),
			PerStep: durationOf(o.Timeouts.PerStep),
			PerTool: durationOf(o.Timeouts.PerTool),
		},
		Limits: &pb.GenerationLimits{
			MaxSteps:       numbers.int32("limits.max_steps", o.Limits.MaxSteps),
			MaxTotalTokens: numbers.int32("limits.max_total_tokens", o.Limits.MaxTotalTokens),
			MaxCostNanoUsd: o.Limits.MaxCostNanoUSD,
			MaxToolCalls:   numbers.int32("limits.max_tool_calls", o.Limits.MaxToolCalls),
		},
	}
	request.MaxTokens = or(numbers.int32("max_tokens", o.MaxTokens), request.MaxTokens)
	return options, numbers.err
}

// request makes the request of the model: the caller's own one, and what the options set.
func (o *GenerateOptions) request() (*Request, error) {
	request := &Request{}
	if o.Request != nil {
		request = proto.CloneOf(o.Request)
	}
	request.Model = orText(o.Model, request.Model)
	request.Provider = orText(o.Provider, request.Provider)
	request.ReasoningEffort = orText(o.ReasoningEffort, request.ReasoningEffort)
	request.Temperature = or(o.Temperature, request.Temperature)
	request.TopP = or(o.TopP, request.TopP)
	request.ToolChoice = or(o.ToolChoice, request.ToolChoice)
	if o.Messages != nil {
		request.Messages = o.Messages
	}
	if o.StopSequences != nil {
		request.StopSequences = o.StopSequences
	}
	if o.Metadata != nil {
		request.Metadata = o.Metadata
	}
	for i, tool := range o.Tools {
		definition, err := tool.Definition()
		if err != nil {
			return nil, invalid(fmt.Sprintf("tools[%d]", i), "%v", err)
		}
		request.Tools = append(request.Tools, definition)
	}
	return request, o.addProviderOptions(request)
}

func (o *GenerateOptions) addProviderOptions(request *Request) error {
	for provider, options := range o.ProviderOptions {
		encoded, err := json.Marshal(options)
		if err != nil {
			return invalid(fmt.Sprintf("provider_options[%q]", provider), "%v", err)
		}
		if request.ProviderOptionsJson == nil {
			request.ProviderOptionsJson = map[string]string{}
		}
		request.ProviderOptionsJson[provider] = string(encoded)
	}
	return nil
}

// narrower converts numbers to the contract's 32 bits, and keeps the first that is out of range.
type narrower struct {
	err error
}

func (n *narrower) int32(field string, value *int) *int32 {
	if value == nil {
		return nil
	}
	if *value < math.MinInt32 || *value > math.MaxInt32 {
		n.err = invalid(field, "expected a number of 32 bits, found %d", *value)
		return nil
	}
	return new(int32(*value))
}

func durationOf(value time.Duration) *durationpb.Duration {
	if value == 0 {
		return nil
	}
	return durationpb.New(value)
}

func or[T any](value, otherwise *T) *T {
	if value != nil {
		return value
	}
	return otherwise
}

func orText(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}
