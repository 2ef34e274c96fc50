// Runs the tests of alert rules as `promtool test rules` does, with its code: the build takes unittest.go from
// Prometheus' folder cmd/promtool. The whole of promtool would take minutes to build. Its arguments are
// the file with tests, and a file with further queries, one in each line, of which it prints those that are no PromQL.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	// unittest.go imports these; without an import here, `go mod tidy` would not see that.
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/nsf/jsondiff"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	_ "github.com/prometheus/prometheus/rules"
)

// unittest.go uses these of promtool.
const (
	successExitCode = 0
	failureExitCode = 1
)

func parseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339, text)
}

func main() {
	promql := parser.NewParser(parser.Options{})
	options := promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true}
	code := RulesUnitTest(options, promql, nil, true, false, false, os.Args[1])
	queries, err := os.ReadFile(os.Args[2])
	if err != nil {
		fmt.Println(err)
		code = failureExitCode
	}
	for query := range strings.Lines(string(queries)) {
		if _, err := promql.ParseExpr(query); err != nil {
			fmt.Printf("%v: %s\n", err, query)
			code = failureExitCode
		}
	}
	os.Exit(code)
}
