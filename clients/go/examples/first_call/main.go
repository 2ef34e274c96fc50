// Command first_call asks a model one question and prints its answer.
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

	response, err := client.Complete(context.Background(), &outrigger.Request{
		Model:    "sim-text", // with a key, for instance "gpt-5.2"
		Messages: []*outrigger.Message{outrigger.UserMessage("What is an outrigger?")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Text())
	usage := response.GetUsage()
	fmt.Printf("%s: %d + %d tokens\n", response.GetModel(), usage.GetInputTokens(), usage.GetOutputTokens())
}
