// Command object lets a model fill in a Go struct.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

type recipe struct {
	Title       string       `json:"title"`
	Minutes     int          `json:"minutes" minimum:"1" maximum:"240"`
	Difficulty  string       `json:"difficulty" enum:"easy,medium,hard"`
	Ingredients []ingredient `json:"ingredients"`
}

type ingredient struct {
	Name  string  `json:"name"`
	Grams float64 `json:"grams"`
}

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	result, err := outrigger.GenerateObject[recipe](context.Background(), client, outrigger.GenerateOptions{
		Model:  "sim-text",
		Prompt: "A recipe for pancakes.",
	})
	if failure, ok := errors.AsType[*outrigger.Error](err); ok && failure.NoObject != nil {
		log.Fatalf("the model wrote %q: %v", failure.NoObject.GetText(), failure.NoObject.GetViolations())
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %s\n", result.Object.Title, result.Object.Difficulty)
	fmt.Println(len(result.Object.Ingredients), "ingredients")
}
