// Checks metrics in Prometheus' text format as `promtool check metrics` does: prints each problem, and the number of
// metrics that were read.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	exitOn(err)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	exitOn(err)
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	exitOn(err)
	for _, problem := range problems {
		fmt.Printf("problem: %s: %s\n", problem.Metric, problem.Text)
	}
	fmt.Printf("metrics: %d\n", len(families))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
