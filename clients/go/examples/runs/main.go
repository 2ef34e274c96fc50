// Command runs lets the sidecar generate in the background: the run continues when this program is gone, and its
// events can be read at any time, from any of them on.
package main

import (
	"context"
	"fmt"
	"log"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	run, err := client.Runs().Create(ctx, outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{Model: "sim-text", Prompt: "Say hello."},
		Background:      true,
		Labels:          map[string]string{"example": "runs"},
	})
	if err != nil {
		log.Fatal(err)
	}
	// A number instead of -1 resumes after that event. A lost connection is resumed automatically.
	for event, err := range client.Runs().Events(ctx, run.GetId(), -1) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(event.GetModelEvent().GetTextDelta().GetDelta())
	}
	run, err = client.Runs().Get(ctx, run.GetId())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("\n%v in %d step\n", run.GetStatus(), len(run.GetSteps()))

	next, err := client.Runs().Create(ctx, outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{Model: "sim-text", Prompt: "And goodbye."},
		PreviousRunID:   run.GetId(),
	})
	if err != nil {
		log.Fatal(err)
	}
	for listed, err := range client.Runs().List(ctx, outrigger.RunFilter{ThreadID: next.GetThreadId()}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("in the thread:", listed.GetStatus())
	}
	if err := client.Runs().Delete(ctx, next.GetId()); err != nil {
		log.Fatal(err)
	}
}
