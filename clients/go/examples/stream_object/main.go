// Command stream_object shows a Go struct while a model fills it in.
package main

import (
	"context"
	"fmt"
	"log"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

type city struct {
	Name  string   `json:"name"`
	Facts []string `json:"facts"`
}

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	events := outrigger.StreamObject[city](context.Background(), client, outrigger.GenerateOptions{
		Model:  "sim-text:rate=200",
		Prompt: "Facts about Oslo.",
	})
	for event, err := range events {
		if err != nil {
			log.Fatal(err)
		}
		if event.PartialObject != nil {
			partial, err := event.Partial() // what has arrived; strings and lists may still grow
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("so far: %d facts\n", len(partial.Facts))
		}
		if event.Final != nil {
			fmt.Printf("complete: %d facts about %s\n", len(event.Final.Object.Facts), event.Final.Object.Name)
		}
	}
}
