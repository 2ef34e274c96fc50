// Command tools lets a model call a Go function.
package main

import (
	"context"
	"fmt"
	"log"

	outrigger "github.com/outrigger-inference/outrigger/clients/go"
)

type weatherInput struct {
	City string `json:"city" description:"Name of the city."`
	Unit string `json:"unit,omitempty" enum:"celsius,fahrenheit"`
}

type weather struct {
	Sky         string `json:"sky"`
	Temperature int    `json:"temperature"`
}

func getWeather(_ context.Context, in weatherInput) (weather, error) {
	if in.City == "" {
		return weather{}, fmt.Errorf("the city is missing") // the model reads it and can try again
	}
	return weather{Sky: "drizzle", Temperature: 18}, nil
}

func main() {
	client, err := outrigger.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	result, err := client.Generate(context.Background(), outrigger.GenerateOptions{
		Model:         "sim-tools",
		Prompt:        "How is the weather in Oslo?",
		Tools:         []*outrigger.Tool{outrigger.NewTool("get_weather", "Current weather of a city.", getWeather)},
		MaxToolRounds: new(5),
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, step := range result.GetSteps() {
		for _, call := range outrigger.ToolCallsOf(step.GetResponse().GetMessage()) {
			fmt.Printf("step %d: %s(%s)\n", i+1, call.GetName(), call.GetArgumentsJson())
		}
	}
	fmt.Println(result.Text())
	fmt.Println(result.GetTotalUsage().GetTotalTokens(), "tokens in", len(result.GetSteps()), "steps")
}
