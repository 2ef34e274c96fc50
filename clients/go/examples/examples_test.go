// Package examples_test runs the examples against a sidecar with the simulator behind it.
package examples_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// outputs has a pattern of what each example prints.
var outputs = map[string]string{
	"first_call": `You asked: “What is an outrigger\?”\n.*\nsim-text: \d+ \+ \d+ tokens\n`,
	"stream":     `You asked: “What is an outrigger\?”\n.*\nfinish reason: REASON_STOP\n`,
	"chat": `user: My name is Ada\.\nmodel: You asked: .*\nuser: I live in London\.\nmodel: You asked: .*\n` +
		`user: What is my name\?\nmodel: You asked: “What is my name\?”.*\n6 messages\n`,
	"tools": `step 1: get_weather\(\{"city":"Oslo","unit":"\w+"\}\)\n` +
		`.*“\{"sky":"drizzle","temperature":18\}”.*\n\d+ tokens in 2 steps\n`,
	"stream_tools": `step 1 calls find_flight\nstep 1 calls book_flight\n` +
		`step 1 got "OU 619 to Oslo"\nstep 1 got "[^"]*the user did not agree"\n` +
		`.*OU 619 to Oslo.*\nstop reason: STOP_REASON_COMPLETED\n`,
	"runs": `You asked: “Say hello\.”\n.*\nRUN_STATUS_COMPLETED in 1 step\n` +
		`(in the thread: RUN_STATUS_COMPLETED\n){2}`,
	"threads":       `USER: My name is Ada\.\nASSISTANT: Hello, Ada\.\nUSER: What is my name\?\nASSISTANT: You asked: .*\n`,
	"object":        `[^\n]+, (easy|medium|hard)\n\d+ ingredients\n`,
	"stream_object": `(so far: \d+ facts\n)+complete: \d+ facts about [^\n]+\n`,
	"errors": `rate limit: true\nfailure of a provider: true\nretryable: true after 2s true\n` +
		`status of the provider: 429\ninvalid field: messages\n` +
		`(received "[^\n]+"\n)+cut stream: true after output: true\ndeadline: true\ncancelled: true\n`,
}

func TestExamples(t *testing.T) {
	if os.Getenv("OUTRIGGER_ADDRESS") == "" {
		t.Skip("OUTRIGGER_ADDRESS does not name a sidecar")
	}
	programs := map[string]string{firstProgram(t): `You asked: “Say hello\.”\n.*\n`}
	maps.Copy(programs, outputs)
	binaries := build(t, slices.Collect(maps.Keys(programs)))
	for folder, pattern := range programs {
		name, _, _ := strings.Cut(folder, "-")
		t.Run(name, func(t *testing.T) {
			output := run(t, filepath.Join(binaries, folder))
			if !regexp.MustCompile(`(?s)\A` + pattern + `\z`).MatchString(output) {
				t.Errorf("got\n%s\nwant\n%s", output, pattern)
			}
		})
	}
}

func TestEveryExampleHasAnOutput(t *testing.T) {
	folders, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if name := filepath.Dir(folder); outputs[name] == "" {
			t.Errorf("%s has no output in this test", name)
		}
	}
	if len(folders) != len(outputs) {
		t.Errorf("got %d examples, want %d", len(folders), len(outputs))
	}
}

// firstProgram returns a folder with the first program of the README.
func firstProgram(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	if lines := len(slices.DeleteFunc(strings.Split(program, "\n"), isBlank)); lines > 15 {
		t.Errorf("the first program has %d lines, want at most 15", lines)
	}
	// Inside of this module, so that its import is found.
	folder, err := os.MkdirTemp(".", "readme-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(folder)
}

func isBlank(line string) bool {
	return strings.TrimSpace(line) == ""
}

// build links programs, all at once because that takes seconds, and returns the folder of the binaries.
func build(t *testing.T, folders []string) string {
	t.Helper()
	binaries := t.TempDir()
	arguments := []string{"build", "-ldflags=-s -w", "-o", binaries}
	for _, folder := range folders {
		arguments = append(arguments, "./"+folder)
	}
	run(t, "go", arguments...)
	return binaries
}

// run returns what a program prints.
func run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, output)
	}
	return string(output)
}
