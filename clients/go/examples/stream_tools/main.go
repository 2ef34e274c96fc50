// Command stream_tools shows what a model writes and which tools it calls while the tool loop runs.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

type trip struct {
	City string `json:"city" description:"Where to fly."`
}

func findFlight(ctx context.Context, in trip) (string, error) {
	select { // a slow service; the context ends with the generation, and with the tool's time limit
	case <-time.After(20 * time.Millisecond):
		return "OU 619 to " + in.City, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func bookFlight(context.Context, trip) (string, error) {
	return "", outrigger.Refuse("the user did not agree")
}

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	events := client.StreamGenerate(context.Background(), outrigger.GenerateOptions{
		Model:  "sim-tools:calls=2",
		Prompt: "Book a flight to Oslo.",
		Tools: []*outrigger.Tool{
			outrigger.NewTool("find_flight", "Finds a flight.", findFlight),
			outrigger.NewTool("book_flight", "Books a flight.", bookFlight),
		},
		Timeouts: outrigger.Timeouts{PerTool: 10 * time.Second},
	})
	for event, err := range events {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(event.Text())
		if call := event.ToolCall(); call != nil {
			fmt.Printf("step %d calls %s\n", event.Step, call.GetName())
		}
		if event.StepFinish != nil {
			for _, result := range event.StepFinish.GetToolResults() {
				fmt.Printf("step %d got %q\n", event.Step, outrigger.TextOf(result))
			}
		}
		if event.Result != nil {
			fmt.Printf("\nstop reason: %v\n", event.Result.GetStopReason())
		}
	}
}
