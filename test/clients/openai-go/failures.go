package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// Failures: each is the SDK's error with the status of its kind.
var failures = []check{
	{"bad_request", badRequest},
	{"not_found", notFound},
	{"rate_limit", rateLimit},
	{"retry", retry},
	{"server_error", serverError},
	{"cut_stream", cutStream},
}

func failureOf(t *target, err error) *openai.Error {
	var failure *openai.Error
	t.expect(errors.As(err, &failure), "want an error of the API, got %v", err)
	return failure
}

func createOnce(t *target, params responses.ResponseNewParams, options ...option.RequestOption) error {
	_, err := t.openai.Responses.New(t.ctx, params, append(options, option.WithMaxRetries(0))...)
	return err
}

func hello(t *target, script string) responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: t.model(script), Input: textInput("Hello")}
}

// badRequest: what contradicts itself is refused, and the answer says which parameter it is.
func badRequest(t *target) {
	params := hello(t, "text")
	params.Store = openai.Bool(false)
	for name, value := range map[string]any{
		"background":           true,
		"previous_response_id": "resp_" + strings.Repeat("0", 32),
		"max_output_tokens":    "many",
	} {
		failure := failureOf(t, createOnce(t, params, option.WithJSONSet(name, value)))
		t.expect(failure.StatusCode == 400, "status %d", failure.StatusCode)
		t.expect(failure.Type == "invalid_request_error", "type %s", failure.Type)
		t.expect(failure.Param == name, "param %q, want %q", failure.Param, name)
	}
}

func notFound(t *target) {
	id := "resp_" + strings.Repeat("0", 32)
	_, err := t.openai.Responses.Get(t.ctx, id, responses.ResponseGetParams{})
	failure := failureOf(t, err)
	t.expect(failure.StatusCode == 404 && strings.Contains(failure.Message, id), "%v", failure)
	_, itemsErr := t.openai.Responses.InputItems.List(t.ctx, id, responses.InputItemListParams{})
	_, modelErr := t.openai.Models.Get(t.ctx, "no-such-model")
	for _, err := range []error{itemsErr, modelErr, createOnce(t, hello(t, "nothing"))} {
		t.expect(failureOf(t, err).StatusCode == 404, "want 404, got %v", err)
	}
}

func rateLimit(t *target) {
	params := hello(t, "text:status=429,retry_after=2")
	failure := failureOf(t, createOnce(t, params))
	t.expect(failure.StatusCode == 429, "status %d", failure.StatusCode)
	t.expect(failure.Response.Header.Get("retry-after") == "2", "retry-after %s", failure.Response.Header.Get("retry-after"))
	stream := t.openai.Responses.NewStreaming(t.ctx, params, option.WithMaxRetries(0))
	defer stream.Close()
	t.expect(!stream.Next() && failureOf(t, stream.Err()).StatusCode == 429, "the stream did not fail with 429")
}

// retry: the SDK repeats what may succeed, after as long as it was told. The delays are of this client alone, see `times`.
func retry(t *target) {
	script := fmt.Sprintf("text:status=429,retry_after_ms=%d,times=2", 21+t.number)
	t.expect(t.create(hello(t, script)).Status == "completed", "the response is not completed")
}

func serverError(t *target) {
	failure := failureOf(t, createOnce(t, hello(t, "text:status=500")))
	t.expect(failure.StatusCode >= 500, "status %d", failure.StatusCode)
}

// cutStream: a stream that broke never looks finished.
func cutStream(t *target) {
	stream := t.openai.Responses.NewStreaming(t.ctx, hello(t, "text:cut_events=6"))
	defer stream.Close()
	var types []string
	var id string
	for stream.Next() {
		event := stream.Current()
		types = append(types, event.Type)
		if event.Type == "response.created" {
			id = event.Response.ID
		}
	}
	all := strings.Join(types, " ")
	t.expect(!strings.Contains(all, "response.completed"), "%s", all)
	t.expect(stream.Err() != nil || strings.HasSuffix(all, "response.failed"), "%s", all)
	kept := t.retrieve(id)
	t.expect(kept.Status == "failed" && kept.Error.Message != "", "the stored response is %s", kept.RawJSON())
}
