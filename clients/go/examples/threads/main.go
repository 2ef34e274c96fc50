// Command threads keeps a conversation in the sidecar: runs read it and append to it, so that this program
// sends and keeps only new messages.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	// The messages are those of a conversation that began elsewhere; without them the thread is empty.
	thread, err := client.Threads().Create(ctx, outrigger.ThreadOptions{
		Messages: []*outrigger.Message{
			outrigger.UserMessage("My name is Ada."),
			outrigger.AssistantMessage("Hello, Ada."),
		},
		Labels: map[string]string{"example": "threads"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Runs().Create(ctx, outrigger.RunOptions{
		GenerateOptions: outrigger.GenerateOptions{Model: "sim-text", Prompt: "What is my name?"},
		ThreadID:        thread.GetId(),
	}); err != nil {
		log.Fatal(err)
	}

	for stored, err := range client.Threads().ListMessages(ctx, thread.GetId(), outrigger.MessageOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		message := stored.GetMessage()
		role := strings.TrimPrefix(message.GetRole().String(), "ROLE_")
		fmt.Printf("%s: %s\n", role, outrigger.TextOf(message))
	}
	if err := client.Threads().Delete(ctx, thread.GetId()); err != nil {
		log.Fatal(err)
	}
}
