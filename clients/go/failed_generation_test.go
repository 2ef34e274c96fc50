package outrigger_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// sidecarFailedGeneration lets a generation fail after two steps, and goes on from there.
func sidecarFailedGeneration(t *testing.T, client *outrigger.Client) {
	var executed atomic.Int32
	options := outrigger.GenerateOptions{
		Model:         "sim-tools:rounds=3",
		Messages:      []*outrigger.Message{outrigger.UserMessage("How is the weather in Oslo?")},
		MaxToolRounds: new(9),
		// There is no tenth step, so that the second evaluation fails.
		StopWhen: "steps.size() == 2 && steps[9].response.id == ''",
		Tools: []*outrigger.Tool{outrigger.NewTool("get_weather", "Current weather of a city.",
			func(context.Context, cityInput) (string, error) { executed.Add(1); return "rain", nil })},
	}
	_, err := generate(t, client, options)
	failure, ok := errors.AsType[*outrigger.Error](err)
	if !ok || failure.Kind != outrigger.ErrInvalidRequest {
		t.Fatalf("got %v, want an invalid request", err)
	}
	if len(failure.Steps) != 2 || len(failure.Attempts) != 2 || failure.Usage == nil {
		t.Fatalf("got %d steps, %d attempts and the usage %v, want 2 and 2",
			len(failure.Steps), len(failure.Attempts), failure.Usage)
	}
	var tokens int32
	for _, step := range failure.Steps {
		check(t, "result", toolTexts(step)[0], "rain")
		tokens += step.GetResponse().GetUsage().GetTotalTokens()
	}
	check(t, "tokens", failure.Usage.GetTotalTokens(), tokens)

	options.Messages = append(options.Messages, failure.Messages()...)
	options.StopWhen = ""
	result := mustGenerate(t, client, options)
	check(t, "steps of the rest", len(result.GetSteps()), 2)
	check(t, "executed tools", executed.Load(), 3)
}

func TestFailedGenerationHasAllStepsAndTheAttemptsOfTheStatus(t *testing.T) {
	client := playing(t, func(p *peer, _ *pb.RunToolsStart) error {
		p.finishStep("one")
		p.finishStep("two")
		failed := &pb.InferenceError{Kind: pb.ErrorKind_ERROR_KIND_SERVER, Retryable: true}
		p.send(&pb.RunToolsResponse{Message: &pb.RunToolsResponse_Error{Error: failed}})
		// A status has no room for the second step.
		progress := &pb.FailedGeneration{
			Steps: p.steps[:1], StepCount: 2, Attempts: []*pb.Attempt{{Step: 2}, {Step: 3}},
		}
		return statusWith(t, codes.Unavailable, "the provider failed", failed, progress)
	})
	_, err := client.Generate(t.Context(), outrigger.GenerateOptions{Tools: []*outrigger.Tool{weatherTool()}})
	failure, ok := errors.AsType[*outrigger.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error of the sidecar", err)
	}
	check(t, "kind", failure.Kind, outrigger.ErrServer)
	check(t, "attempts", len(failure.Attempts), 2)
	messages := failure.Messages()
	if len(messages) != 2 {
		t.Fatalf("got %d messages, want 2", len(messages))
	}
	check(t, "first message", outrigger.TextOf(messages[0]), "one")
	check(t, "second message", outrigger.TextOf(messages[1]), "two")
}
