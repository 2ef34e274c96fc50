package outrigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Tool is what a model may call. It is immutable and safe for concurrent use.
type Tool struct {
	definition *pb.Tool
	name       string
	err        error
	// hideErrors says whether errors are hidden from the model; nil for the Client's setting.
	hideErrors *bool
	// run executes a call; nil if the tool is not executed in the loop.
	run func(context.Context, *ToolCall) (*ToolResult, error)
}

// NewTool makes a tool of a function. The JSON Schema of its arguments is derived from the struct type
// In, as SchemaOf says; a type that has none is an error of the call that is given the tool.
//
// What run returns goes to the model: a string, a *ContentPart, a []*ContentPart and a *ToolResult as they
// are, anything else as JSON. An error becomes an error result with its text, so that the model can try
// something else; Refuse makes one that says that the call was declined. A panic becomes an error result
// too. The context ends with the generation, and with the time limit of the tool.
func NewTool[In, Out any](name, description string, run func(context.Context, In) (Out, error)) *Tool {
	tool := NewPassiveTool[In](name, description)
	tool.run = func(ctx context.Context, call *ToolCall) (*ToolResult, error) {
		var in In
		if err := json.Unmarshal(argumentsOf(call), &in); err != nil {
			return nil, &argumentsError{fmt.Sprintf("the arguments do not match the type of the input: %v", err)}
		}
		return execute(ctx, call, in, run)
	}
	return tool
}

// NewPassiveTool makes a tool that is not executed: a call to it ends the generation with
// STOP_REASON_TOOL_CALLS, and Result.ToolCalls has it.
func NewPassiveTool[In any](name, description string) *Tool {
	schema, err := rootSchema(reflect.TypeFor[In]())
	return functionTool(name, description, schema, err)
}

// NewToolWithSchema makes a tool whose JSON Schema is given, for tools that are known at run time only. Where
// run is nil, the tool is passive.
func NewToolWithSchema[Out any](
	name, description string,
	schema json.RawMessage,
	run func(ctx context.Context, arguments json.RawMessage) (Out, error),
) *Tool {
	var err error
	if !json.Valid(schema) {
		err = errors.New("the schema is not valid JSON")
	}
	tool := functionTool(name, description, schema, err)
	if run != nil {
		tool.run = func(ctx context.Context, call *ToolCall) (*ToolResult, error) {
			return execute(ctx, call, json.RawMessage(argumentsOf(call)), run)
		}
	}
	return tool
}

// NewCustomTool makes a tool whose input is free text, constrained by a grammar where it is not nil. Where
// run is nil, the tool is passive.
func NewCustomTool[Out any](
	name, description string,
	grammar *Grammar,
	run func(ctx context.Context, input string) (Out, error),
) *Tool {
	custom := &pb.CustomTool{Name: name, Description: description, Grammar: grammar}
	tool := &Tool{name: name, definition: &pb.Tool{Tool: &pb.Tool_Custom{Custom: custom}}}
	if run != nil {
		tool.run = func(ctx context.Context, call *ToolCall) (*ToolResult, error) {
			input, err := customInput(call)
			if err != nil {
				return nil, err
			}
			return execute(ctx, call, input, run)
		}
	}
	return tool
}

// NewHostedTool makes a tool that the provider executes itself, for instance its web search. The
// configuration, a value that encodes as a JSON object, is the provider's own.
func NewHostedTool(provider string, configuration any) *Tool {
	encoded, err := json.Marshal(configuration)
	hosted := &pb.HostedTool{Provider: provider, ConfigJson: string(encoded)}
	return &Tool{definition: &pb.Tool{Tool: &pb.Tool_Hosted{Hosted: hosted}}, err: err}
}

func functionTool(name, description string, schema json.RawMessage, err error) *Tool {
	if err != nil {
		err = fmt.Errorf("tool %q: %w", name, err)
	}
	function := &pb.FunctionTool{Name: name, Description: description, ParametersJson: string(schema)}
	return &Tool{name: name, err: err, definition: &pb.Tool{Tool: &pb.Tool_Function{Function: function}}}
}

// HideErrors returns the tool with a separate setting for WithHiddenToolErrors.
func (t *Tool) HideErrors(hide bool) *Tool {
	changed := *t
	changed.hideErrors = &hide
	return &changed
}

// Name returns the tool's name; that of a hosted tool is empty.
func (t *Tool) Name() string {
	return t.name
}

// Definition returns the tool as the model sees it, for Request.Tools. It fails if the tool's
// type has no JSON Schema.
func (t *Tool) Definition() (*pb.Tool, error) {
	if t == nil {
		return nil, errors.New("expected a tool, found nil")
	}
	return t.definition, t.err
}

// isExecutable reports whether the loop executes the tool.
func (t *Tool) isExecutable() bool {
	return t != nil && t.run != nil
}

// Call is a tool call, as the function that executes it sees it.
type Call struct {
	// ID is the id of the call, unique in the generation.
	ID string
	// Name is the name of the tool.
	Name string
	// Step is the number of the step, from 1.
	Step int
	// Messages is the conversation that the model was sent when it made the call. Do not change it.
	Messages []*Message
}

type callKey struct{}

// CallFromContext returns the call that is being executed. The second result is false outside of a tool.
func CallFromContext(ctx context.Context) (*Call, bool) {
	call, ok := ctx.Value(callKey{}).(*Call)
	return call, ok
}

// RefusalError is returned by a tool that declines a call, for instance because a user did not approve it.
type RefusalError struct {
	// Reason says why, for the model.
	Reason string
}

// Refuse makes the error by which a tool declines a call.
func Refuse(reason string) error {
	return &RefusalError{Reason: reason}
}

// Error implements error.
func (e *RefusalError) Error() string {
	return "refused: " + e.Reason
}

// PanicError is what OnToolError gets for a tool that panicked. The model learns only that it did.
type PanicError struct {
	// Value is what the tool panicked with.
	Value any
	// Stack is the stack of the goroutine.
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the tool panicked: %v", e.Value)
}

// argumentsError is always sent to the model: it is about the model's text.
type argumentsError struct {
	problem string
}

// Error implements error.
func (e *argumentsError) Error() string {
	return e.problem
}

// execute runs a tool's function and converts what it returns.
func execute[In, Out any](
	ctx context.Context, call *ToolCall, in In, run func(context.Context, In) (Out, error),
) (*ToolResult, error) {
	out, err := run(ctx, in)
	if err != nil {
		return nil, err
	}
	return toolResult(call.GetId(), out)
}

func toolResult(callID string, out any) (*ToolResult, error) {
	switch value := out.(type) {
	case *ToolResult:
		if value == nil {
			return nil, errors.New("the tool returned no result")
		}
		return &ToolResult{ToolCallId: callID, Content: value.GetContent(), Failed: value.GetFailed()}, nil
	case *ContentPart:
		return &ToolResult{ToolCallId: callID, Content: []*ContentPart{value}}, nil
	case []*ContentPart:
		return &ToolResult{ToolCallId: callID, Content: value}, nil
	case string:
		return TextResult(callID, strings.ToValidUTF8(value, "\uFFFD")), nil
	default:
		encoded, err := encodeJSON(value)
		if err != nil {
			return nil, fmt.Errorf("the result cannot be encoded as JSON: %w", err)
		}
		return TextResult(callID, encoded), nil
	}
}

// encodeJSON writes JSON for a model: without the escapes that are for HTML.
func encodeJSON(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// argumentsOf returns the arguments of a call. A tool without parameters may be called without any.
func argumentsOf(call *ToolCall) []byte {
	if arguments := call.GetArgumentsJson(); arguments != "" {
		return []byte(arguments)
	}
	return []byte("{}")
}

// customInput returns the text of a call. Providers without custom tools are given a function with one
// argument instead.
func customInput(call *ToolCall) (string, error) {
	if _, isJSON := call.GetInput().(*pb.ToolCall_ArgumentsJson); !isJSON {
		return call.GetText(), nil
	}
	var arguments struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(argumentsOf(call), &arguments); err != nil {
		return "", &argumentsError{fmt.Sprintf("the arguments do not match the type of the input: %v", err)}
	}
	return arguments.Input, nil
}
