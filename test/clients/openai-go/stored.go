package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// Longest wait for a response in the background; on a busy machine too.
const longestWait = 30 * time.Second

// Responses that the sidecar keeps: in the background, cancelled, read again from a cursor, continued, deleted.
var stored = []check{
	{"background", background},
	{"cancel", cancel},
	{"resume", resume},
	{"resume_live", resumeLive},
	{"branch", branch},
	{"instructions", instructions},
	{"input_items", inputItems},
	{"delete", deleteResponse},
	{"compact", compact},
}

func inBackground(t *target, script string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: t.model(script), Input: textInput("Write."), Background: openai.Bool(true),
	}
}

func background(t *target) {
	response := t.create(inBackground(t, "text"))
	t.expect(response.Status == "queued" || response.Status == "in_progress", "status %s", response.Status)
	t.expect(response.Background, "background is false")
	giveUp := time.Now().Add(longestWait)
	for response.Status == "queued" || response.Status == "in_progress" {
		t.expect(time.Now().Before(giveUp), "%s did not end within %s", response.ID, longestWait)
		time.Sleep(50 * time.Millisecond)
		response = t.retrieve(response.ID)
	}
	t.expect(response.Status == "completed", "status %s", response.Status)
	t.expect(len(response.OutputText()) > 20, "text %q", response.OutputText())
}

func cancel(t *target) {
	created := t.create(inBackground(t, "long:tokens=4000,rate=20"))
	// Cancelling twice is no mistake.
	for range 2 {
		cancelled, err := t.openai.Responses.Cancel(t.ctx, created.ID)
		t.noError(err)
		t.expect(cancelled.Status == "cancelled", "status %s", cancelled.Status)
		t.expect(t.retrieve(created.ID).Status == "cancelled", "the response is not cancelled")
	}
}

// resume: a stream can be left and continued after any event; every time with the same bytes.
func resume(t *target) {
	live := t.stream(inBackground(t, "long:tokens=60,rate=300"))
	id := t.finished(live).ID
	again := t.collect(t.openai.Responses.GetStreaming(t.ctx, id, responses.ResponseGetParams{}), -1)
	t.expect(slices.Equal(raw(again), raw(live)), "the stream differs when it is read again")
	cursor := responses.ResponseGetParams{StartingAfter: openai.Int(5)}
	rest := t.collect(t.openai.Responses.GetStreaming(t.ctx, id, cursor), -1)
	t.expect(slices.Equal(raw(rest), raw(live[6:])), "the stream differs after the cursor")
}

func raw(events []responses.ResponseStreamEventUnion) []string {
	var texts []string
	for _, event := range events {
		texts = append(texts, event.RawJSON())
	}
	return texts
}

// resumeLive leaves a stream in the middle, and goes on from there while the response is still being written.
func resumeLive(t *target) {
	params := inBackground(t, "long:tokens=100,rate=100")
	events := t.collect(t.openai.Responses.NewStreaming(t.ctx, params), 8)
	cursor := responses.ResponseGetParams{StartingAfter: openai.Int(events[7].SequenceNumber)}
	id := events[0].Response.ID
	events = append(events, t.collect(t.openai.Responses.GetStreaming(t.ctx, id, cursor), -1)...)
	response := t.finished(events)
	t.expect(joined(events, "response.output_text.delta") == response.OutputText(), "the deltas are not the text")
}

// branch: two children of one response do not see each other, nor do their children.
func branch(t *target) {
	reply := func(text, parent string) *responses.Response {
		return t.create(responses.ResponseNewParams{
			Model: t.model("text"), Input: textInput(text), PreviousResponseID: openai.String(parent),
		})
	}
	parent := t.say("text", "The beginning.")
	left, right := reply("Go left.", parent.ID), reply("Go right.", parent.ID)
	leftAgain := reply("Go left.", parent.ID)
	t.expect(left.OutputText() != right.OutputText(), "both children say the same")
	checkSame(t, left, leftAgain)
	further := reply("On.", left.ID)
	checkSame(t, further, reply("On.", leftAgain.ID))
	t.expect(further.Usage.InputTokens > left.Usage.InputTokens, "the grandchild does not see its parent")
}

func checkSame(t *target, left, right *responses.Response) {
	t.expect(left.OutputText() == right.OutputText(), "%q and %q", left.OutputText(), right.OutputText())
	t.expect(left.Usage.InputTokens == right.Usage.InputTokens,
		"%d and %d tokens", left.Usage.InputTokens, right.Usage.InputTokens)
}

// instructions checks that each request has only the instructions that it sets.
func instructions(t *target) {
	first := t.create(responses.ResponseNewParams{
		Model:        t.model("text"),
		Instructions: openai.String(strings.Repeat("Answer like a pirate. ", 20)),
		Input:        textInput("Hello"),
	})
	second := t.create(responses.ResponseNewParams{
		Model: t.model("text"), PreviousResponseID: openai.String(first.ID), Input: textInput("Hello again"),
	})
	t.expect(second.JSON.Instructions.Raw() == "null", "instructions %s", second.JSON.Instructions.Raw())
	t.expect(second.Usage.InputTokens < first.Usage.InputTokens, "the instructions are sent again")
}

func inputItems(t *target) {
	texts := []string{"one", "two", "three", "four", "five"}
	var items []responses.ResponseInputItemUnionParam
	for _, text := range texts {
		items = append(items, userMessage(text))
	}
	response := t.create(responses.ResponseNewParams{Model: t.model("text"), Input: itemInput(items...)})
	ascending := responses.InputItemListParams{
		Limit: openai.Int(2), Order: responses.InputItemListParamsOrderAsc,
	}
	first, err := t.openai.Responses.InputItems.List(t.ctx, response.ID, ascending)
	t.noError(err)
	t.expect(len(first.Data) == 2 && first.HasMore, "the first page is %s", first.RawJSON())
	t.expect(slices.Equal(inputTexts(t, response.ID, ascending), texts), "wrong items")
	newestFirst := inputTexts(t, response.ID, responses.InputItemListParams{})
	slices.Reverse(newestFirst)
	t.expect(slices.Equal(newestFirst, texts), "the newest item is not the first")
}

// inputTexts reads all pages.
func inputTexts(t *target, id string, params responses.InputItemListParams) []string {
	pages := t.openai.Responses.InputItems.ListAutoPaging(t.ctx, id, params)
	var texts []string
	for pages.Next() {
		texts = append(texts, pages.Current().AsMessage().Content[0].Text)
	}
	t.noError(pages.Err())
	return texts
}

func deleteResponse(t *target) {
	created := t.say("text", "Hello")
	t.expect(t.retrieve(created.ID).ID == created.ID, "another response")
	t.noError(t.openai.Responses.Delete(t.ctx, created.ID))
	_, err := t.openai.Responses.Get(t.ctx, created.ID, responses.ResponseGetParams{})
	for _, err := range []error{err, t.openai.Responses.Delete(t.ctx, created.ID)} {
		var failure *openai.Error
		t.expect(errors.As(err, &failure) && failure.StatusCode == 404, "want 404, got %v", err)
	}
}

// compact: a long conversation becomes a short one, which can be continued.
func compact(t *target) {
	var long []responses.ResponseInputItemUnionParam
	for index := range 10 {
		long = append(long, userMessage(strings.Repeat(fmt.Sprintf("Fact %d. ", index), 30)))
	}
	compacted, err := t.openai.Responses.Compact(t.ctx, responses.ResponseCompactParams{
		Model: responses.ResponseCompactParamsModel(t.model("text")),
		Input: responses.ResponseCompactParamsInputUnion{OfResponseInputItemArray: long},
	})
	t.noError(err)
	t.expect(compacted.Object == "response.compaction" && compacted.Usage.TotalTokens > 0, "%s", compacted.RawJSON())
	t.expect(strings.Contains(compacted.JSON.Output.Raw(), `"compaction"`), "%s", compacted.JSON.Output.Raw())
	input := append(sendBack(compacted.Output), userMessage("What was the first fact?"))
	next := t.create(responses.ResponseNewParams{Model: t.model("text"), Input: itemInput(input...)})
	t.expect(next.Status == "completed", "status %s", next.Status)
}
