package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

// target is a provider behind the sidecar, and what checks have in common.
type target struct {
	ctx      context.Context
	openai   openai.Client
	provider string
	// Position in the list of providers.
	number int
}

// model is the full name of a model of the provider's simulator, such as anthropic/sim-tools:calls=2.
func (t *target) model(script string) string {
	return t.provider + "/sim-" + script
}

// expect ends the check if the condition does not hold.
func (t *target) expect(condition bool, format string, values ...any) {
	if !condition {
		panic(fmt.Sprintf(format, values...))
	}
}

func (t *target) noError(err error) {
	if err != nil {
		panic(err)
	}
}

func (t *target) create(params responses.ResponseNewParams) *responses.Response {
	response, err := t.openai.Responses.New(t.ctx, params)
	t.noError(err)
	return response
}

// say creates a stored response to a text.
func (t *target) say(script, text string) *responses.Response {
	return t.create(responses.ResponseNewParams{Model: t.model(script), Input: textInput(text)})
}

func (t *target) retrieve(id string) *responses.Response {
	response, err := t.openai.Responses.Get(t.ctx, id, responses.ResponseGetParams{})
	t.noError(err)
	return response
}

func (t *target) stream(params responses.ResponseNewParams) []responses.ResponseStreamEventUnion {
	return t.collect(t.openai.Responses.NewStreaming(t.ctx, params), -1)
}

// collect reads a stream to its end, or until it has given that many events.
func (t *target) collect(
	stream *ssestream.Stream[responses.ResponseStreamEventUnion], most int,
) []responses.ResponseStreamEventUnion {
	defer stream.Close()
	var events []responses.ResponseStreamEventUnion
	for len(events) != most && stream.Next() {
		events = append(events, stream.Current())
	}
	t.noError(stream.Err())
	return events
}

// finished is the response of the last event of a stream that must be complete and numbered without gaps.
func (t *target) finished(events []responses.ResponseStreamEventUnion) responses.Response {
	for index, event := range events {
		t.expect(event.SequenceNumber == int64(index), "event %d has number %d", index, event.SequenceNumber)
	}
	t.expect(len(events) > 3, "the stream has %d events", len(events))
	t.expect(events[0].Type == "response.created", "the first event is %s", events[0].Type)
	last := events[len(events)-1]
	t.expect(last.Type == "response.completed", "the last event is %s", last.Type)
	return last.Response
}

// joined is the text of all deltas of that type.
func joined(events []responses.ResponseStreamEventUnion, eventType string) string {
	var text strings.Builder
	for _, event := range events {
		if event.Type == eventType {
			text.WriteString(event.Delta)
		}
	}
	return text.String()
}

func textInput(text string) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}
}

func itemInput(items ...responses.ResponseInputItemUnionParam) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfInputItemList: items}
}

func userMessage(text string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
}

// sendBack makes input of output items: as the sidecar sent them, to the byte.
func sendBack(output []responses.ResponseOutputItemUnion) []responses.ResponseInputItemUnionParam {
	var items []responses.ResponseInputItemUnionParam
	for _, item := range output {
		items = append(items, param.Override[responses.ResponseInputItemUnionParam](rawJSON(item.RawJSON())))
	}
	return items
}
