// Command stream prints an answer while the model writes it.
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

	events := client.Stream(context.Background(), &outrigger.Request{
		Model:    "sim-text",
		Messages: []*outrigger.Message{outrigger.UserMessage("What is an outrigger?")},
	})
	for event, err := range events {
		if err != nil { // also where the stream was cut: a loop without an error saw the whole answer
			log.Fatal(err)
		}
		fmt.Print(event.Text())
		if response := event.Response(); response != nil {
			fmt.Printf("\nfinish reason: %v\n", response.GetFinishReason().GetReason())
		}
	}
}
