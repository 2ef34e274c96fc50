package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/yannh/kubeconform/pkg/validator"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// checker checks manifests.
type checker struct {
	validator   validator.Validator
	podSecurity policy.Evaluator
}

// newChecker creates a checker for the API of Kubernetes and custom resources.
func newChecker(swagger string, crds []string) (*checker, error) {
	folder, err := os.MkdirTemp("", "schemas-")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(writeSchemas(folder, swagger), writeCustomSchemas(folder, crds)); err != nil {
		return nil, err
	}
	locations := []string{folder + "/{{ .ResourceKind }}{{ .KindSuffix }}.json"}
	conform, err := validator.New(locations, validator.Opts{Strict: true})
	if err != nil {
		return nil, err
	}
	podSecurity, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	return &checker{conform, podSecurity}, err
}

// check returns what is wrong with manifests.
func (c *checker) check(manifests []byte) error {
	var problems []error
	count := 0
	for _, result := range c.validator.Validate("manifests", io.NopCloser(bytes.NewReader(manifests))) {
		if result.Status == validator.Empty {
			continue
		}
		count++
		if result.Status != validator.Valid {
			problems = append(problems, fmt.Errorf("kubeconform: %w", result.Err))
			continue
		}
		problems = append(problems, c.checkPod(result.Resource.Bytes))
	}
	if count < 4 {
		problems = append(problems, fmt.Errorf("there are only %d manifests", count))
	}
	return errors.Join(problems...)
}

// checkPod checks the pods of a Deployment by the Pod Security Standard "restricted".
func (c *checker) checkPod(manifest []byte) error {
	var deployment appsv1.Deployment
	if yaml.Unmarshal(manifest, &deployment) != nil || deployment.Kind != "Deployment" {
		return nil
	}
	if err := yaml.UnmarshalStrict(manifest, &deployment); err != nil {
		return err
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	template := deployment.Spec.Template
	result := policy.AggregateCheckResults(c.podSecurity.EvaluatePod(level, &template.ObjectMeta, &template.Spec))
	if !result.Allowed {
		return fmt.Errorf("pod security: %s", result.ForbiddenDetail())
	}
	return nil
}
