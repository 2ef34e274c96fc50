package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// schema is a JSON Schema, or an OpenAPI definition.
type schema = map[string]any

// kinds are the kinds whose schemas are written, by definition.
var kinds = map[string]string{
	"io.k8s.api.apps.v1.Deployment":            "deployment-apps-v1",
	"io.k8s.api.core.v1.ConfigMap":             "configmap-v1",
	"io.k8s.api.core.v1.Service":               "service-v1",
	"io.k8s.api.networking.v1.NetworkPolicy":   "networkpolicy-networking-v1",
	"io.k8s.api.policy.v1.PodDisruptionBudget": "poddisruptionbudget-policy-v1",
}

// writeSchemas writes the schema of each kind under the name by which kubeconform looks for it. Fields that Kubernetes
// does not know are errors.
func writeSchemas(folder, swagger string) error {
	text, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var spec struct{ Definitions map[string]schema }
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	for definition, name := range kinds {
		used := map[string]any{}
		collect(spec.Definitions, definition, used)
		root := schema{"$ref": "#/definitions/" + definition, "definitions": used}
		if err := writeSchema(folder, name, root); err != nil {
			return err
		}
	}
	return nil
}

// collect adds a definition and those that it refers to, made strict.
func collect(all map[string]schema, name string, used map[string]any) {
	if _, known := used[name]; known {
		return
	}
	definition := all[name]
	used[name] = definition
	refine(definition, func(reference string) {
		collect(all, strings.TrimPrefix(reference, "#/definitions/"), used)
	})
	// Its text may be a number in YAML.
	if strings.HasSuffix(name, ".resource.Quantity") {
		used[name] = schema{"type": []string{"string", "number"}}
	}
}

// refine makes a schema strict, and tells the references in it.
func refine(value any, refer func(string)) {
	switch node := value.(type) {
	case schema:
		if reference, ok := node["$ref"].(string); ok {
			refer(reference)
		}
		_, isOpen := node["additionalProperties"]
		if _, ok := node["properties"].(schema); ok && !isOpen && node["x-kubernetes-preserve-unknown-fields"] != true {
			node["additionalProperties"] = false
		}
		if node["format"] == "int-or-string" || node["x-kubernetes-int-or-string"] == true {
			delete(node, "format")
			node["type"] = []string{"string", "integer"}
		}
		for _, child := range node {
			refine(child, refer)
		}
	case []any:
		for _, child := range node {
			refine(child, refer)
		}
	}
}

// writeCustomSchemas writes the schemas of custom resources.
func writeCustomSchemas(folder string, paths []string) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Singular string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema schema }
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return err
		}
		group, _, _ := strings.Cut(crd.Spec.Group, ".")
		for _, version := range crd.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			refine(root, func(string) {})
			// Kubernetes checks it, the definition does not.
			root["properties"].(schema)["metadata"] = schema{"type": "object"}
			name := fmt.Sprintf("%s-%s-%s", crd.Spec.Names.Singular, group, version.Name)
			if err := writeSchema(folder, name, root); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeSchema(folder, name string, root schema) error {
	text, err := json.Marshal(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".json"), text, 0o644)
}
