// Command errors shows how calls fail: kinds of errors, retries, deadlines and cancellation.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	rateLimit(client)
	invalidRequest(client)
	cutStream(client)
	deadline(client)
	cancellation(client)
}

// ask calls a simulated model, which fails as its options say. Retries are switched off to show the error.
func ask(ctx context.Context, client *outrigger.Client, model string) error {
	_, err := client.Generate(ctx, outrigger.GenerateOptions{
		Model: model, Prompt: "Hello?", Retry: outrigger.RetryPolicy{MaxRetries: new(0)},
	})
	return err
}

func rateLimit(client *outrigger.Client) {
	err := ask(context.Background(), client, "sim-text:status=429,retry_after=2")
	fmt.Println("rate limit:", errors.Is(err, outrigger.ErrRateLimit))
	fmt.Println("failure of a provider:", errors.Is(err, outrigger.ErrProvider))
	if failure, ok := errors.AsType[*outrigger.Error](err); ok {
		delay, known := failure.RetryAfter()
		fmt.Println("retryable:", failure.Retryable, "after", delay, known)
		fmt.Println("status of the provider:", failure.ProviderFailure.GetHttpStatusCode())
	}
}

func invalidRequest(client *outrigger.Client) {
	_, err := client.Complete(context.Background(), &outrigger.Request{Model: "sim-text"})
	if failure, ok := errors.AsType[*outrigger.Error](err); ok {
		fmt.Println("invalid field:", failure.Violations[0].Field)
	}
}

// cutStream loses the provider's connection in the middle of an answer: the loop ends with an error.
func cutStream(client *outrigger.Client) {
	events := client.StreamGenerate(context.Background(), outrigger.GenerateOptions{
		Model: "sim-text:cut_events=8", Prompt: "Hello?",
	})
	for event, err := range events {
		if failure, ok := errors.AsType[*outrigger.Error](err); ok {
			fmt.Println("cut stream:", errors.Is(err, outrigger.ErrStream), "after output:", failure.OutputStarted)
		} else if event.Text() != "" {
			fmt.Printf("received %q\n", event.Text())
		}
	}
}

func deadline(client *outrigger.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err := ask(ctx, client, "sim-long:tokens=1000,rate=20")
	fmt.Println("deadline:", errors.Is(err, context.DeadlineExceeded))
}

func cancellation(client *outrigger.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	events := client.Stream(ctx, &outrigger.Request{
		Model:    "sim-long:tokens=1000,rate=20",
		Messages: []*outrigger.Message{outrigger.UserMessage("Write a lot.")},
	})
	for event, err := range events {
		if err != nil {
			fmt.Println("cancelled:", errors.Is(err, context.Canceled))
		} else if event.Text() != "" {
			cancel() // leaving the loop would cancel the call too
		}
	}
}
