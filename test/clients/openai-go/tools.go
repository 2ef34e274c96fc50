package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

const question = "How is the weather in Oslo and Paris?"

// Conversations in which the model calls a function: the three ways to give it the results.
var tools = []check{
	{"tools_previous_response", toolsPreviousResponse},
	{"tools_conversation", toolsConversation},
	{"tools_stateless", toolsStateless},
	{"tools_stream", toolsStream},
}

func weatherTool() []responses.ToolUnionParam {
	schema := map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"city": map[string]any{"type": "string"}},
		"required":             []string{"city"},
		"additionalProperties": false,
	}
	return []responses.ToolUnionParam{responses.ToolParamOfFunction("get_weather", schema, true)}
}

// resultsOf gives the results of the calls of a response, whose arguments must be those that the function takes.
func resultsOf(t *target, output []responses.ResponseOutputItemUnion, calls int) []responses.ResponseInputItemUnionParam {
	var results []responses.ResponseInputItemUnionParam
	for _, item := range output {
		if item.Type != "function_call" {
			continue
		}
		call := item.AsFunctionCall()
		var arguments map[string]string
		t.noError(json.Unmarshal([]byte(call.Arguments), &arguments))
		t.expect(call.Name == "get_weather" && len(arguments) == 1 && arguments["city"] != "", "%s", call.RawJSON())
		result := responses.ResponseInputItemParamOfFunctionCallOutput(fmt.Sprintf("%d degrees", len(results)+11))
		result.OfFunctionCallOutput.CallID = openai.String(call.CallID)
		results = append(results, result)
	}
	t.expect(len(results) == calls, "%d calls, want %d", len(results), calls)
	return results
}

// checkAnswer: the model has read the results.
func checkAnswer(t *target, response *responses.Response, results ...string) {
	t.expect(response.Status == "completed", "status %s", response.Status)
	for _, result := range results {
		t.expect(strings.Contains(response.OutputText(), result), "%s", response.OutputText())
	}
}

// toolsPreviousResponse checks that a request without tools has the tools of the previous response.
func toolsPreviousResponse(t *target) {
	model := t.model("tools:calls=2")
	first := t.create(responses.ResponseNewParams{Model: model, Input: textInput(question), Tools: weatherTool()})
	second := t.create(responses.ResponseNewParams{
		Model:              model,
		PreviousResponseID: openai.String(first.ID),
		Input:              itemInput(resultsOf(t, first.Output, 2)...),
	})
	checkAnswer(t, second, "11 degrees", "12 degrees")
	t.expect(second.PreviousResponseID == first.ID, "previous_response_id %s", second.PreviousResponseID)
}

func toolsConversation(t *target) {
	conversation, err := t.openai.Conversations.New(t.ctx, conversations.ConversationNewParams{})
	t.noError(err)
	params := responses.ResponseNewParams{
		Model:        t.model("tools"),
		Tools:        weatherTool(),
		Conversation: responses.ResponseNewParamsConversationUnion{OfString: openai.String(conversation.ID)},
		Input:        textInput(question),
	}
	first := t.create(params)
	t.expect(first.Conversation.ID == conversation.ID, "conversation %s", first.Conversation.ID)
	params.Input = itemInput(resultsOf(t, first.Output, 1)...)
	checkAnswer(t, t.create(params), "11 degrees")
	items := conversationItems(t, conversation.ID)
	want := []string{"message", "function_call", "function_call_output", "message"}
	var types []string
	for _, item := range items {
		types = append(types, item.Type)
	}
	t.expect(reflect.DeepEqual(types, want), "items %v", types)
}

// toolsStateless sends all items back, reasoning included, which the provider verifies. Nothing is stored.
func toolsStateless(t *target) {
	params := responses.ResponseNewParams{
		Model:     t.model("reasoning:calls=2"),
		Tools:     weatherTool(),
		Store:     openai.Bool(false),
		Include:   []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortMedium, Summary: shared.ReasoningSummaryAuto},
		Input:     itemInput(userMessage(question)),
	}
	first := t.create(params)
	t.expect(first.Output[0].Type == "reasoning", "the first item is %s", first.Output[0].Type)
	history := append(params.Input.OfInputItemList, sendBack(first.Output)...)
	params.Input = itemInput(append(history, resultsOf(t, first.Output, 2)...)...)
	second := t.finished(t.stream(params))
	checkAnswer(t, &second, "11 degrees", "12 degrees")
	_, err := t.openai.Responses.Get(t.ctx, second.ID, responses.ResponseGetParams{})
	var failure *openai.Error
	t.expect(errors.As(err, &failure) && failure.StatusCode == 404, "want 404, got %v", err)
}

// toolsStream: the arguments of calls arrive in pieces.
func toolsStream(t *target) {
	events := t.stream(responses.ResponseNewParams{
		Model: t.model("tools:calls=2"),
		Input: textInput(question),
		Tools: weatherTool(),
		ToolChoice: responses.ResponseNewParamsToolChoiceUnion{
			OfToolChoiceMode: openai.Opt(responses.ToolChoiceOptionsRequired),
		},
	})
	response := t.finished(events)
	resultsOf(t, response.Output, 2)
	deltas := map[string]string{}
	for _, event := range events {
		if event.Type == "response.function_call_arguments.delta" {
			deltas[event.ItemID] += event.Delta
		}
	}
	for _, item := range response.Output {
		t.expect(deltas[item.ID] == item.AsFunctionCall().Arguments, "the deltas of %s are not its arguments", item.ID)
	}
}
