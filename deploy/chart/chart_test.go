// Package chart tests the Helm chart as Helm itself reads it, against the types of
// Kubernetes.
package chart

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const folder = "hearth"

// values are the least that somebody has to say, and more.
func values(more map[string]any) map[string]any {
	v := map[string]any{"postgres": map[string]any{"host": "db"}}
	for name, value := range more {
		if inner, ok := value.(map[string]any); ok && v[name] != nil {
			maps.Copy(v[name].(map[string]any), inner)
			continue
		}
		v[name] = value
	}
	return v
}

// render gives the files that the chart makes, by the name of their template.
func render(more map[string]any) (map[string]string, error) {
	c, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values(more), chartutil.ReleaseOptions{Name: "fire", Namespace: "home"}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	out := map[string]string{}
	for name, text := range files {
		out[name[strings.LastIndex(name, "/")+1:]] = text
	}
	return out, err
}

// read is one of the files, of which Kubernetes must know every member.
func read[T any](t *testing.T, files map[string]string, name string) (out T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(files[name]), &out); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, files[name])
	}
	return out
}

func TestLint(t *testing.T) {
	t.Parallel()
	for _, m := range lint.All(folder, values(nil), "home", true).Messages {
		if m.Severity > support.InfoSev {
			t.Error(m)
		}
	}
}

func TestRendered(t *testing.T) {
	t.Parallel()
	files, err := render(map[string]any{"nats": map[string]any{"url": "tls://nats:4222"}})
	if err != nil {
		t.Fatal(err)
	}
	d := read[apps.Deployment](t, files, "deployment.yaml")
	pod := d.Spec.Template.Spec
	one := pod.Containers[0]
	if *d.Spec.Replicas != 3 || one.Image != "hearth:0.1.0" || *pod.TerminationGracePeriodSeconds != 5+15+10 {
		t.Errorf("%d replicas of %s, %d s to stop", *d.Spec.Replicas, one.Image, *pod.TerminationGracePeriodSeconds)
	}
	if len(pod.TopologySpreadConstraints) != 2 || !*pod.SecurityContext.RunAsNonRoot || !*one.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("spread %v, security %v", pod.TopologySpreadConstraints, one.SecurityContext)
	}
	for probe, path := range map[*core.Probe]string{one.LivenessProbe: "/livez", one.StartupProbe: "/livez", one.ReadinessProbe: "/readyz"} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != one.Ports[0].Name {
			t.Errorf("probe %v, want %s", probe.HTTPGet, path)
		}
	}
	// Before the listener closes, the probe must have failed.
	if p := one.ReadinessProbe; 2*p.PeriodSeconds*p.FailureThreshold > 5 {
		t.Errorf("a node that stops is noticed after %d s, too late for a delay of 5 s", 2*p.PeriodSeconds*p.FailureThreshold)
	}
	env := map[string]string{}
	for _, e := range one.Env {
		env[e.Name] = e.Value
	}
	if want := "postgres://db:5432/hearth?sslmode=verify-full&pool_max_conns=16"; env["DATABASE_URL"] != want || env["NATS_URL"] != "tls://nats:4222" {
		t.Errorf("settings %v, want the database %s", env, want)
	}
	known(t, slices.Collect(maps.Keys(env)))
	b := read[policy.PodDisruptionBudget](t, files, "disruption.yaml")
	s := read[core.Service](t, files, "service.yaml")
	for what, labels := range map[string]map[string]string{
		"budget": b.Spec.Selector.MatchLabels, "service": s.Spec.Selector, "deployment": d.Spec.Selector.MatchLabels,
		"spread": pod.TopologySpreadConstraints[1].LabelSelector.MatchLabels,
	} {
		if !maps.Equal(labels, d.Spec.Template.Labels) {
			t.Errorf("the %s is for pods with %v, they have %v", what, labels, d.Spec.Template.Labels)
		}
	}
	if b.Spec.MaxUnavailable.IntVal != 1 {
		t.Errorf("budget %v", b.Spec.MaxUnavailable)
	}
}

// known fails for settings that the program does not have.
func known(t *testing.T, names []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "| `"+name+"`") {
			t.Errorf("%s is no setting of docs/configuration.md", name)
		}
	}
}

// TestRefused: what cannot work is refused before anything is changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	pg := func(name string, value any) map[string]any {
		return map[string]any{"postgres": map[string]any{name: value}}
	}
	for _, tt := range []struct {
		name   string
		values map[string]any
		want   string // "": it is rendered
	}{
		{"as many nodes as fit", map[string]any{"replicas": 5}, ""}, // 6 × 26 = 156 ≤ 180
		{"one more", map[string]any{"replicas": 6}, "7 nodes .* with 26 connections each need 182, and postgres.maxConnections leaves 180"},
		{"a large pool", pg("poolSize", 64), "need 296"},
		{"more during an upgrade", map[string]any{"replicas": 5, "rollingUpdate": map[string]any{"maxSurge": 2}}, "7 nodes"},
		{"no host", pg("host", ""), "postgres.host is missing"},
		{"a word wrong", pg("pool", 3), "(?i)additional properties? .*pool"},
		{"a setting that is no text", map[string]any{"settings": map[string]any{"HEARTH_RATE_LIMIT": 1}}, "HEARTH_RATE_LIMIT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := render(tt.values)
			if (err == nil) != (tt.want == "") || err != nil && !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Errorf("render() = %v, want %q", err, tt.want)
			}
		})
	}
}
