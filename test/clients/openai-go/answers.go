package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// A PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

type rawJSON = json.RawMessage

// Answers without tools: whole, streamed, with a schema, with reasoning, about an image.
var answers = []check{
	{"text", text},
	{"settings", settings},
	{"stream", stream},
	{"done_marker", doneMarker},
	{"structured_output", structuredOutput},
	{"reasoning", reasoning},
	{"image", image},
	{"incomplete", incomplete},
	{"input_tokens", inputTokens},
	{"embeddings", embeddings},
	{"models", models},
}

func text(t *target) {
	response := t.create(responses.ResponseNewParams{
		Model:        t.model("text"),
		Instructions: openai.String("Be brief."),
		Input:        textInput("How is the weather?"),
	})
	t.expect(strings.HasPrefix(response.ID, "resp_"), "id %s", response.ID)
	t.expect(response.Status == responses.ResponseStatusCompleted, "status %s", response.Status)
	// Fields without a value are null, and not missing.
	for name, field := range map[string]string{
		"error":                response.JSON.Error.Raw(),
		"incomplete_details":   response.JSON.IncompleteDetails.Raw(),
		"previous_response_id": response.JSON.PreviousResponseID.Raw(),
	} {
		t.expect(field == "null", "%s is %q", name, field)
	}
	age := time.Since(time.Unix(int64(response.CreatedAt), 0))
	t.expect(age.Abs() < time.Minute, "created %s ago", age)
	message := response.Output[0].AsMessage()
	t.expect(message.Role == "assistant" && message.Status == "completed", "message %s", message.RawJSON())
	t.expect(len(response.OutputText()) > 20, "text %q", response.OutputText())
	checkUsage(t, response.Usage)
}

func checkUsage(t *target, usage responses.ResponseUsage) {
	t.expect(usage.InputTokens > 0 && usage.OutputTokens > 0, "usage %s", usage.RawJSON())
	t.expect(usage.TotalTokens == usage.InputTokens+usage.OutputTokens, "usage %s", usage.RawJSON())
	t.expect(usage.InputTokensDetails.JSON.CachedTokens.Valid(), "usage %s", usage.RawJSON())
	t.expect(usage.OutputTokensDetails.JSON.ReasoningTokens.Valid(), "usage %s", usage.RawJSON())
}

// settings: a response repeats the settings of its request.
func settings(t *target) {
	response := t.create(responses.ResponseNewParams{
		Model:             t.model("text"),
		Input:             textInput("Hello"),
		Instructions:      openai.String("Be brief."),
		MaxOutputTokens:   openai.Int(500),
		Metadata:          shared.Metadata{"team": "blue"},
		ParallelToolCalls: openai.Bool(false),
		PromptCacheKey:    openai.String("greeting"),
		SafetyIdentifier:  openai.String("user-1"),
		Truncation:        responses.ResponseNewParamsTruncationDisabled,
	})
	t.expect(response.Instructions.OfString == "Be brief.", "instructions %s", response.JSON.Instructions.Raw())
	t.expect(response.MaxOutputTokens == 500, "max_output_tokens %d", response.MaxOutputTokens)
	t.expect(reflect.DeepEqual(response.Metadata, shared.Metadata{"team": "blue"}), "metadata %v", response.Metadata)
	t.expect(response.JSON.ParallelToolCalls.Raw() == "false", "parallel_tool_calls is true")
	t.expect(response.PromptCacheKey == "greeting", "prompt_cache_key %s", response.PromptCacheKey)
	t.expect(response.SafetyIdentifier == "user-1", "safety_identifier %s", response.SafetyIdentifier)
	t.expect(response.Text.Format.Type == "text", "text %s", response.Text.RawJSON())
	t.expect(response.JSON.ToolChoice.Raw() == `"auto"`, "tool_choice %s", response.JSON.ToolChoice.Raw())
	t.expect(response.JSON.Tools.Raw() == "[]", "tools %s", response.JSON.Tools.Raw())
	t.expect(response.Truncation == "disabled", "truncation %s", response.Truncation)
	t.expect(response.JSON.Background.Raw() == "false", "background %s", response.JSON.Background.Raw())
}

func stream(t *target) {
	events := t.stream(responses.ResponseNewParams{
		Model: t.model("text"), Input: textInput("How is the weather?"),
	})
	response := t.finished(events)
	t.expect(events[1].Type == "response.in_progress", "the second event is %s", events[1].Type)
	t.expect(joined(events, "response.output_text.delta") == response.OutputText(), "the deltas are not the text")
	checkUsage(t, response.Usage)
	// The stored response equals the streamed one.
	stored := t.retrieve(response.ID)
	t.expect(stored.JSON.Output.Raw() == response.JSON.Output.Raw(), "stored %s", stored.JSON.Output.Raw())
}

// doneMarker reads the bytes of a stream: named events, and [DONE] at the end.
func doneMarker(t *target) {
	request, err := json.Marshal(map[string]any{
		"model": t.model("text"), "input": "Hello", "stream": true,
	})
	t.noError(err)
	url := "http://" + os.Getenv("OUTRIGGER_ADDR") + "/v1/responses"
	response, err := http.Post(url, "application/json", bytes.NewReader(request))
	t.noError(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	t.noError(err)
	events := strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n\n")
	last := len(events) - 1
	t.expect(last > 5 && events[last] == "data: [DONE]", "the stream ends with %q", events[last])
	for _, event := range events[:last] {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var content struct{ Type string }
		t.noError(json.Unmarshal([]byte(data), &content))
		t.expect(content.Type == name, "event %s has type %s", name, content.Type)
	}
}

func structuredOutput(t *target) {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"name":      map[string]any{"type": "string"},
			"people":    map[string]any{"type": "number"},
			"districts": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		},
		"required":             []string{"name", "people", "districts"},
		"additionalProperties": false,
	}
	format := responses.ResponseFormatTextConfigParamOfJSONSchema("city", schema)
	format.OfJSONSchema.Strict = openai.Bool(true)
	response := t.create(responses.ResponseNewParams{
		Model: t.model("text"),
		Input: textInput("Describe Paris as JSON."),
		Text:  responses.ResponseTextConfigParam{Format: format},
	})
	decoder := json.NewDecoder(strings.NewReader(response.OutputText()))
	decoder.DisallowUnknownFields()
	var city struct {
		Name      *string
		People    *float64
		Districts []string
	}
	t.noError(decoder.Decode(&city))
	t.expect(city.Name != nil && city.People != nil && city.Districts != nil, "%s", response.OutputText())
	t.expect(response.Text.Format.Name == "city", "format %s", response.Text.Format.RawJSON())
}

// reasoning is shown, counted, and taken back by the provider that wrote it.
func reasoning(t *target) {
	params := responses.ResponseNewParams{
		Model:     t.model("reasoning"),
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortMedium, Summary: shared.ReasoningSummaryAuto},
		Include:   []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Store:     openai.Bool(false),
		Input:     itemInput(userMessage("Why is the sky blue?")),
	}
	events := t.stream(params)
	response := t.finished(events)
	t.expect(response.Output[0].Type == "reasoning", "the first item is %s", response.Output[0].Type)
	thought := response.Output[0].AsReasoning()
	var shown string
	for _, part := range thought.Summary {
		shown += part.Text
	}
	for _, part := range thought.Content {
		shown += part.Text
	}
	t.expect(len(shown) > 20, "the reasoning is %q", shown)
	streamed := joined(events, "response.reasoning_summary_text.delta") + joined(events, "response.reasoning_text.delta")
	t.expect(streamed == shown, "the reasoning is streamed as %q", streamed)
	if t.provider == "openai" || t.provider == "anthropic" {
		t.expect(thought.EncryptedContent != "", "the reasoning is not encrypted")
	}
	t.expect(response.Usage.OutputTokensDetails.ReasoningTokens > 0, "usage %s", response.Usage.RawJSON())
	history := append(params.Input.OfInputItemList, sendBack(response.Output)...)
	params.Input = itemInput(append(history, userMessage("And at night?"))...)
	t.expect(t.create(params).Status == "completed", "the next response is not completed")
}

func image(t *target) {
	picture := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
	picture.OfInputImage.ImageURL = openai.String("data:image/png;base64," + pixel)
	content := responses.ResponseInputMessageContentListParam{
		responses.ResponseInputContentParamOfInputText("What is this?"), picture,
	}
	response := t.create(responses.ResponseNewParams{
		Model: t.model("text"),
		Input: itemInput(responses.ResponseInputItemParamOfMessage(content, responses.EasyInputMessageRoleUser)),
	})
	t.expect(strings.Contains(response.OutputText(), "1 attachment(s): image"), "%s", response.OutputText())
}

// incomplete: an answer that was truncated says so.
func incomplete(t *target) {
	response := t.create(responses.ResponseNewParams{
		Model:           t.model("long:tokens=400,rate=100000"),
		Input:           textInput("Write a lot."),
		MaxOutputTokens: openai.Int(40),
	})
	t.expect(response.Status == responses.ResponseStatusIncomplete, "status %s", response.Status)
	t.expect(response.IncompleteDetails.Reason == "max_output_tokens", "%s", response.IncompleteDetails.RawJSON())
}

func inputTokens(t *target) {
	input := strings.Repeat("How is the weather in Oslo? ", 20)
	counted, err := t.openai.Responses.InputTokens.Count(t.ctx, responses.InputTokenCountParams{
		Model: openai.String(t.model("text")),
		Input: responses.InputTokenCountParamsInputUnion{OfString: openai.String(input)},
	})
	t.noError(err)
	t.expect(counted.Object == "response.input_tokens" && counted.InputTokens > 50, "%s", counted.RawJSON())
}

// embeddings: Anthropic has none.
func embeddings(t *target) {
	answer, err := t.openai.Embeddings.New(t.ctx, openai.EmbeddingNewParams{
		Model:      t.model("text"),
		Input:      openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"Grüße 👋", "Hello", "Hello"}},
		Dimensions: openai.Int(8),
	})
	if t.provider == "anthropic" {
		var refused *openai.Error
		t.expect(errors.As(err, &refused) && refused.StatusCode == 400 && refused.Param == "model", "%v", err)
		return
	}
	t.noError(err)
	t.expect(len(answer.Data) == 3 && len(answer.Data[0].Embedding) == 8, "%s", answer.RawJSON())
	first, second, third := answer.Data[0].Embedding, answer.Data[1].Embedding, answer.Data[2].Embedding
	t.expect(reflect.DeepEqual(second, third) && !reflect.DeepEqual(first, second), "%s", answer.RawJSON())
	t.expect(answer.Usage.TotalTokens == answer.Usage.PromptTokens, "usage %s", answer.Usage.RawJSON())
}

func models(t *target) {
	pages := t.openai.Models.ListAutoPaging(t.ctx)
	var name string
	for pages.Next() {
		id := pages.Current().ID
		if name == "" || strings.HasPrefix(id, t.provider+"/") {
			name = id
		}
	}
	t.noError(pages.Err())
	t.expect(name != "", "there are no models")
	one, err := t.openai.Models.Get(t.ctx, name)
	t.noError(err)
	t.expect(one.ID == name && one.Object == "model", "%s", one.RawJSON())
}
