package outrigger

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Strategy is how an object is requested from the model.
type Strategy = pb.ObjectFormat_Strategy

// The strategies. StrategyAuto, the default, takes the first that the model supports.
const (
	// StrategyAuto chooses between the others.
	StrategyAuto = pb.ObjectFormat_STRATEGY_AUTO
	// StrategyNative is the provider's structured output.
	StrategyNative = pb.ObjectFormat_STRATEGY_NATIVE
	// StrategyTool is a tool that the model is forced to call.
	StrategyTool = pb.ObjectFormat_STRATEGY_TOOL
	// StrategyPrompt puts the schema into the system message.
	StrategyPrompt = pb.ObjectFormat_STRATEGY_PROMPT
)

// ObjectOptions says how an object is requested.
type ObjectOptions struct {
	// Name is the object's name for the model. Default "object".
	Name string
	// Description says what the object is, for the model.
	Description string
	// Schema replaces the JSON Schema that is derived from the type.
	Schema json.RawMessage
	// Strategy is how the object is requested from the model.
	Strategy Strategy
}

// ObjectResult is an object and the result of its generation.
type ObjectResult[T any] struct {
	*Result
	// Object is the object. It matches the schema.
	Object T
}

// ObjectEvent is one event in the stream of an object.
type ObjectEvent[T any] struct {
	*Event
	// Final is set in the last event.
	Final *ObjectResult[T]
}

// Partial decodes PartialObject, in an event that has it. Fields that have not arrived are zero, and
// strings may still grow; a type that cannot hold half a value, such as time.Time, makes it fail.
func (e *ObjectEvent[T]) Partial() (T, error) {
	var partial T
	err := json.Unmarshal(e.PartialObject, &partial)
	return partial, err
}

// GenerateObject generates a T. Its JSON Schema is derived from the type, as SchemaOf says. An answer that
// does not match it is an error of the kind ErrNoObjectGenerated, whose Error.NoObject has the answer.
func GenerateObject[T any](ctx context.Context, client *Client, options GenerateOptions) (*ObjectResult[T], error) {
	converted, format, err := objectRequest[T](&options)
	if err != nil {
		return nil, err
	}
	request := &pb.GenerateObjectRequest{Options: converted, Object: format}
	response, err := client.generation.GenerateObject(ctx, request)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return decodeObject[T](&Result{response.GetResult()})
}

// StreamObject is like GenerateObject, but also yields the object as far as it has arrived. The last event
// has Final. The sequence behaves as that of Client.Stream.
func StreamObject[T any](
	ctx context.Context, client *Client, options GenerateOptions,
) iter.Seq2[*ObjectEvent[T], error] {
	events := client.objectStream(ctx, func() (*pb.GenerationOptions, *pb.ObjectFormat, error) {
		return objectRequest[T](&options)
	})
	return func(yield func(*ObjectEvent[T], error) bool) {
		for event, err := range events {
			typed := &ObjectEvent[T]{Event: event}
			if err == nil && event.Result != nil {
				typed.Final, err = decodeObject[T](event.Result)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(typed, nil) {
				return
			}
		}
	}
}

func (c *Client) objectStream(
	ctx context.Context,
	request func() (*pb.GenerationOptions, *pb.ObjectFormat, error),
) iter.Seq2[*Event, error] {
	return newStream(ctx, func(ctx context.Context) (nextFrame, error) {
		options, format, err := request()
		if err != nil {
			return nil, err
		}
		stream, err := c.generation.StreamObject(ctx, &pb.StreamObjectRequest{Options: options, Object: format})
		return framesOf(stream, err, readObject)
	})
}

func readObject(message *pb.StreamObjectResponse) frame {
	event := &Event{Step: int(message.GetStep())}
	read := frame{event: event, sequence: message.GetSequence()}
	switch m := message.GetMessage().(type) {
	case *pb.StreamObjectResponse_Event:
		event.Model = m.Event
	case *pb.StreamObjectResponse_PartialObject:
		event.PartialObject = json.RawMessage(m.PartialObject.GetObjectJson())
	case *pb.StreamObjectResponse_StepFinish:
		event.StepFinish = m.StepFinish.GetResult()
	case *pb.StreamObjectResponse_Result:
		event.Result, read.isLast = &Result{m.Result}, true
	case *pb.StreamObjectResponse_Error:
		read.failure = m.Error
	default:
		// A kind of message that a newer sidecar sends.
		read.event = nil
	}
	return read
}

// objectRequest converts the options, which become those of a plain generation, and derives the schema from
// T if none is given.
func objectRequest[T any](options *GenerateOptions) (*pb.GenerationOptions, *pb.ObjectFormat, error) {
	if options.executesTools() {
		return nil, nil, invalid("tools", "an object is generated without executing tools; use NewPassiveTool")
	}
	object := ObjectOptions{}
	if options.Object != nil {
		object, options.Object = *options.Object, nil
	}
	if object.Schema == nil {
		schema, err := rootSchema(reflect.TypeFor[T]())
		if err != nil {
			return nil, nil, invalid("object.schema_json", "%v", err)
		}
		object.Schema = schema
	}
	converted, err := options.proto()
	return converted, &pb.ObjectFormat{
		SchemaJson:  string(object.Schema),
		Name:        object.Name,
		Description: object.Description,
		Strategy:    object.Strategy,
	}, err
}

// decodeObject decodes what the sidecar found valid. A T that cannot hold it, for instance a number that is
// too large for its type, is a mismatch too.
func decodeObject[T any](result *Result) (*ObjectResult[T], error) {
	decoded := &ObjectResult[T]{Result: result}
	if err := json.Unmarshal([]byte(result.GetOutputJson()), &decoded.Object); err != nil {
		return nil, &Error{
			Kind:          ErrNoObjectGenerated,
			Message:       "the object does not match the Go type: " + err.Error(),
			OutputStarted: true,
			Usage:         result.GetTotalUsage(),
			NoObject:      &NoObject{Text: result.GetOutputJson(), Violations: []string{err.Error()}},
			cause:         err,
		}
	}
	return decoded, nil
}
