// Calls a sidecar's /v1 with OpenAI's SDK for Go, the way a program does that was written for OpenAI: only the base URL
// and the names of the models differ. Each check runs for every provider.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

type check struct {
	name string
	run  func(t *target)
}

func main() {
	client := openai.NewClient(
		option.WithBaseURL("http://"+os.Getenv("OUTRIGGER_ADDR")+"/v1/"),
		option.WithAPIKey("any"),
	)
	wanted := strings.Join(os.Args[1:], "")
	failed := false
	for index, provider := range []string{"openai", "anthropic", "gemini", "compatible"} {
		t := &target{ctx: context.Background(), openai: client, provider: provider, number: index}
		for _, c := range checks() {
			name := provider + "/" + c.name
			if strings.Contains(name, wanted) {
				failed = !report(name, c.run, t) || failed
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

func checks() []check {
	var all []check
	for _, group := range [][]check{answers, tools, stored, conversationChecks, failures} {
		all = append(all, group...)
	}
	return all
}

// report runs one check and prints its result. Others run whether or not it fails.
func report(name string, run func(*target), t *target) (passed bool) {
	defer func() {
		if reason := recover(); reason != nil {
			fmt.Printf("FAIL %s: %s\n", name, strings.Join(strings.Fields(fmt.Sprint(reason)), " "))
			return
		}
		fmt.Printf("ok %s\n", name)
		passed = true
	}()
	run(t)
	return
}
