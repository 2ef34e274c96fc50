// Renders kustomizations and charts as kustomize and Helm do, and checks the result: by Helm's linter, by kubeconform,
// and by Pod Security. Reads a request from a JSON file, writes the manifests of each case into a folder, and prints
// `ok` or `FAIL` for each case.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// request is what the suite asks for.
type request struct {
	// Swagger is the path of Kubernetes' API as OpenAPI 2, CRDs are the paths of custom resource definitions.
	Swagger string
	CRDs    []string
	// Output is the folder for manifests.
	Output string
	Cases  []testCase
}

// testCase has a Kustomization or a Chart.
type testCase struct {
	Name          string
	Kustomization string
	Chart         string
	Values        map[string]any
	// Fails is a part of the error that is expected; empty if there is none.
	Fails string
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	exitOn(err)
	var asked request
	exitOn(json.Unmarshal(text, &asked))
	checker, err := newChecker(asked.Swagger, asked.CRDs)
	exitOn(err)
	for _, each := range asked.Cases {
		report(each.Name, each.run(checker, asked.Output))
	}
}

func (c testCase) run(checker *checker, output string) error {
	err := c.renderAndCheck(checker, output)
	if c.Fails == "" {
		return err
	}
	if err == nil || !strings.Contains(err.Error(), c.Fails) {
		return fmt.Errorf("expected an error with %q, found %v", c.Fails, err)
	}
	return nil
}

func (c testCase) renderAndCheck(checker *checker, output string) error {
	manifests, err := c.render()
	if err != nil {
		return err
	}
	path := filepath.Join(output, strings.ReplaceAll(c.Name, " ", "-")+".yaml")
	return errors.Join(os.WriteFile(path, manifests, 0o644), checker.check(manifests))
}

func (c testCase) render() ([]byte, error) {
	if c.Kustomization != "" {
		return buildKustomization(c.Kustomization)
	}
	return renderChart(c.Chart, c.Values)
}

func report(name string, err error) {
	if err == nil {
		fmt.Println("ok " + name)
		return
	}
	fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
