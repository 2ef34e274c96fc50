package outrigger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

type forecastInput struct {
	City string   `json:"city" description:"Name of the city."`
	Unit string   `json:"unit,omitempty" enum:"celsius,fahrenheit"`
	Days *int     `json:"days" minimum:"1" maximum:"14"`
	Tags []string `json:"tags,omitempty"`
}

func ExampleSchemaOf() {
	schema, err := outrigger.SchemaOf[forecastInput]()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(schema))
	// Output: {"type":"object","properties":{"city":{"type":"string","description":"Name of the city."},"unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer","minimum":1,"maximum":14},"tags":{"type":"array","items":{"type":"string"}}},"required":["city"],"additionalProperties":false}
}

func ExampleClient_Generate() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	forecast := outrigger.NewTool("forecast", "The weather to come.",
		func(_ context.Context, in forecastInput) (string, error) { return "rain in " + in.City, nil })
	result, err := client.Generate(context.Background(), outrigger.GenerateOptions{
		Model: "gpt-5.2", Prompt: "Do I need a coat?", Tools: []*outrigger.Tool{forecast}, MaxToolRounds: new(5),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text(), result.GetTotalUsage().GetTotalTokens())
}

func ExampleError_RetryAfter() {
	err := error(&outrigger.Error{Kind: outrigger.ErrRateLimit, Message: "slow down", Retryable: true})
	failure, ok := errors.AsType[*outrigger.Error](err)
	if ok && failure.Retryable {
		delay, known := failure.RetryAfter()
		if !known {
			delay = time.Second
		}
		fmt.Println("retry after", delay)
	}
	// Output: retry after 1s
}
