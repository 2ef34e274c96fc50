// Command chat holds a conversation of several turns. The messages that a model wrote go back unchanged, with
// the signatures and encrypted reasoning that its provider wants to see again.
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

	var history []*outrigger.Message
	for _, question := range []string{"My name is Ada.", "I live in London.", "What is my name?"} {
		history = append(history, outrigger.UserMessage(question))
		result, err := client.Generate(context.Background(), outrigger.GenerateOptions{
			Model:           "sim-reasoning",
			System:          "Be brief.",
			Messages:        history,
			ReasoningEffort: "low",
		})
		if err != nil {
			log.Fatal(err)
		}
		history = append(history, result.Messages()...)
		fmt.Printf("user: %s\nmodel: %s\n", question, result.Text())
	}
	fmt.Println(len(history), "messages")
}
