// Package examples_test runs the examples against a sidecar with the simulator behind it.
package examples_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// want has what each example prints; the simulator always gives the same answers.
var want = map[string]string{}

func TestExamples(t *testing.T) {
	if os.Getenv("OUTRIGGER_ADDRESS") == "" {
		t.Skip("OUTRIGGER_ADDRESS does not name a sidecar")
	}
	for name, output := range want {
		t.Run(name, func(t *testing.T) {
			if got := run(t, name); got != output {
				t.Errorf("got\n%s\nwant\n%s", got, output)
			}
		})
	}
}

// run builds an example and returns what it prints.
func run(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	program := filepath.Join(t.TempDir(), name)
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := exec.CommandContext(ctx, program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return string(output)
}
