package outrigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

type person struct {
	Name string `json:"name"`
	Age  int8   `json:"age"`
}

func resultWith(object string) *pb.GenerateResult {
	step := &pb.StepResult{Response: answer(object)}
	return &pb.GenerateResult{Steps: []*pb.StepResult{step}, OutputJson: object, TotalUsage: &pb.Usage{TotalTokens: 7}}
}

// objectClient answers GenerateObject with an object and keeps the request.
func objectClient(t *testing.T, object string) (*outrigger.Client, *pb.ObjectFormat) {
	t.Helper()
	format := &pb.ObjectFormat{}
	client := connect(t, &fakeSidecar{
		generateObject: func(_ context.Context, r *pb.GenerateObjectRequest) (*pb.GenerateObjectResponse, error) {
			proto.Reset(format)
			proto.Merge(format, r.GetObject())
			return &pb.GenerateObjectResponse{Result: resultWith(object)}, nil
		},
	})
	return client, format
}

func TestObjectIsDecodedAndItsSchemaDerived(t *testing.T) {
	client, format := objectClient(t, `{"name":"Ada","age":36}`)
	result, err := outrigger.GenerateObject[person](t.Context(), client, outrigger.GenerateOptions{
		Model: "m", Prompt: "Who?", Object: &outrigger.ObjectOptions{
			Name: "person", Description: "A person.", Strategy: outrigger.StrategyTool,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "object", result.Object, person{"Ada", 36})
	check(t, "tokens", result.GetTotalUsage().GetTotalTokens(), 7)
	check(t, "schema", format.GetSchemaJson(), `{"type":"object","properties":{"name":{"type":"string"},`+
		`"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`)
	check(t, "name", format.GetName(), "person")
	check(t, "description", format.GetDescription(), "A person.")
	check(t, "strategy", format.GetStrategy(), pb.ObjectFormat_STRATEGY_TOOL)
}

func TestSchemaOfAnObjectCanBeGiven(t *testing.T) {
	client, format := objectClient(t, `{"x":1}`)
	result, err := outrigger.GenerateObject[map[string]any](t.Context(), client, outrigger.GenerateOptions{
		Object: &outrigger.ObjectOptions{Schema: json.RawMessage(`{"type":"object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "object", result.Object["x"], any(1.0))
	check(t, "schema", format.GetSchemaJson(), `{"type":"object"}`)
}

func TestObjectThatTheTypeCannotHoldIsNoObject(t *testing.T) {
	client, _ := objectClient(t, `{"name":"Methuselah","age":969}`)
	_, err := outrigger.GenerateObject[person](t.Context(), client, outrigger.GenerateOptions{})
	failure, _ := errors.AsType[*outrigger.Error](err)
	check(t, "kind", failure.Kind, outrigger.ErrNoObjectGenerated)
	check(t, "text", failure.NoObject.GetText(), `{"name":"Methuselah","age":969}`)
	check(t, "violation", strings.Contains(failure.NoObject.GetViolations()[0], "number 969"), true)
	check(t, "tokens", failure.Usage.GetTotalTokens(), 7)
}

func TestObjectRequestThatCannotBeIsRefused(t *testing.T) {
	client, _ := objectClient(t, "{}")
	_, err := outrigger.GenerateObject[node](t.Context(), client, outrigger.GenerateOptions{})
	check(t, "a recursive type", errors.Is(err, outrigger.ErrInvalidRequest), true)
	_, err = outrigger.GenerateObject[person](t.Context(), client, outrigger.GenerateOptions{Tools: []*outrigger.Tool{weatherTool()}})
	check(t, "a tool to execute", errors.Is(err, outrigger.ErrInvalidRequest), true)
	for _, err := range outrigger.StreamObject[string](t.Context(), client, outrigger.GenerateOptions{}) {
		check(t, "no object", errors.Is(err, outrigger.ErrInvalidRequest), true)
	}
}

// streamingObject returns a client whose StreamObject sends partial objects and then a result.
func streamingObject(t *testing.T, result *pb.GenerateResult, partials ...string) *outrigger.Client {
	t.Helper()
	return connect(t, &fakeSidecar{streamObject: func(_ *pb.StreamObjectRequest, stream objectStream) error {
		sequence := int32(0)
		for _, partial := range partials {
			object := &pb.PartialObject{ObjectJson: partial}
			message := &pb.StreamObjectResponse_PartialObject{PartialObject: object}
			if err := stream.Send(&pb.StreamObjectResponse{Sequence: sequence, Step: 1, Message: message}); err != nil {
				return err
			}
			sequence++
		}
		if result == nil {
			return nil
		}
		message := &pb.StreamObjectResponse_Result{Result: result}
		return stream.Send(&pb.StreamObjectResponse{Sequence: sequence, Step: 1, Message: message})
	}})
}

func TestStreamedObjectGrowsAndIsComplete(t *testing.T) {
	client := streamingObject(t, resultWith(`{"name":"Ada","age":36}`), `{}`, `{"name":"A"}`, `{"name":"Ada"}`)
	var names []string
	var final *outrigger.ObjectResult[person]
	for event, err := range outrigger.StreamObject[person](t.Context(), client, outrigger.GenerateOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.PartialObject != nil {
			partial, err := event.Partial()
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, partial.Name)
		}
		final = event.Final
	}
	check(t, "names", strings.Join(names, "|"), "|A|Ada")
	check(t, "object", final.Object, person{"Ada", 36})
}

func TestStreamedObjectThatFailsEndsWithTheError(t *testing.T) {
	for name, test := range map[string]struct {
		client *outrigger.Client
		kind   outrigger.Kind
	}{
		"a cut stream":             {streamingObject(t, nil, `{"name":"A"}`), outrigger.ErrStream},
		"a number that is too big": {streamingObject(t, resultWith(`{"age":300}`)), outrigger.ErrNoObjectGenerated},
	} {
		var failure error
		for event, err := range outrigger.StreamObject[person](t.Context(), test.client, outrigger.GenerateOptions{}) {
			if err == nil && event.Final != nil {
				t.Errorf("%s: got an object", name)
			}
			failure = err
		}
		if !errors.Is(failure, test.kind) {
			t.Errorf("%s: got %v, want %v", name, failure, test.kind)
		}
	}
}
