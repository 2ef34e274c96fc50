package main

import (
	"errors"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// buildKustomization is `kustomize build`.
func buildKustomization(folder string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}

// renderChart is `helm lint` and `helm template shop CHART --namespace team-a`. The dependencies of the chart have to be
// in its folder `charts`.
func renderChart(folder string, values map[string]any) ([]byte, error) {
	chart, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "shop", Namespace: "team-a", Revision: 1, IsInstall: true}
	rendered, err := chartutil.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, rendered)
	if err != nil {
		return nil, err
	}
	return joinManifests(files), lintChart(folder, values)
}

func lintChart(folder string, values map[string]any) error {
	var problems []error
	for _, message := range lint.All(folder, values, "team-a", true).Messages {
		if message.Severity >= support.WarningSev {
			problems = append(problems, message)
		}
	}
	return errors.Join(problems...)
}

// joinManifests returns the files of templates as one stream of documents, in the order of their names.
func joinManifests(files map[string]string) []byte {
	var names []string
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(text) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var all strings.Builder
	for _, name := range names {
		all.WriteString("---\n" + strings.TrimSpace(files[name]) + "\n")
	}
	return []byte(all.String())
}
