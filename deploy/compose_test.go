package deploy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// composed is what is looked at of a compose file.
type composed struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		Command     []string          `yaml:"command"`
		Stop        string            `yaml:"stop_grace_period"`
		ReadOnly    bool              `yaml:"read_only"`
		Volumes     []string          `yaml:"volumes"`
	} `yaml:"services"`
}

func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c composed
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	nodes, own := 0, map[string]bool{}
	for name, s := range c.Services {
		if !strings.HasPrefix(name, "hearth-") {
			if !pinned(s.Image) {
				t.Errorf("%s: image without a version: %s", name, s.Image)
			}
			continue
		}
		nodes++
		own[s.Volumes[0]] = true
		if !s.ReadOnly || s.Stop != "30s" {
			t.Errorf("%s: read only %v, %s to stop", name, s.ReadOnly, s.Stop)
		}
		for setting, value := range s.Environment {
			if setting != "PGPASSWORD" && !strings.Contains(string(settings), "| `"+setting+"`") {
				t.Errorf("%s: %s is no setting of docs/configuration.md", name, setting)
			}
			if secretName.MatchString(setting) && setting != "DATABASE_URL" && !strings.HasPrefix(value, "${"+setting+":?") {
				t.Errorf("%s: %s has a value here", name, setting)
			}
		}
	}
	if nodes != 3 || len(own) != 3 {
		t.Errorf("%d nodes with %d folders, want 3", nodes, len(own))
	}
	pool, most := number(t, `pool_max_conns=(\d+)`, string(text)), number(t, `max_connections=(\d+)`, string(text))
	if need := nodes*(pool+10) + 20; need > most {
		t.Errorf("%d connections, want %d or more", most, need)
	}
}

// number is the first one in a text that a pattern finds.
func number(t *testing.T, pattern, text string) int {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s", pattern)
	}
	return atoi(t, m[1])
}

// TestProxies: the examples name the nodes of the compose file. That they work is
// tested in test/fleet.
func TestProxies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"haproxy.cfg", "nginx.conf"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i <= 3; i++ {
			if n := strings.Count(string(text), fmt.Sprintf(" hearth-%d:3000", i)); n != 2 {
				t.Errorf("%s names node %d %d times, want it for polling and for the rest", name, i, n)
			}
		}
	}
}
