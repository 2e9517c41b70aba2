package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxExposure is what systemd-analyze may find, on its scale to 10.
const maxExposure = 2.0

func unit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("hearth.service")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUnitSettings(t *testing.T) {
	t.Parallel()
	text := unit(t)
	for _, want := range []string{
		"Type=notify", "WatchdogSec=", "DynamicUser=yes", "StateDirectory=hearth", "ProtectSystem=strict",
		"NoNewPrivileges=yes", "MemoryMax=", "LimitNOFILE=", "SystemCallFilter=@system-service",
		"ExecStart=/usr/local/bin/hearth serve", "Restart=on-failure",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("hearth.service has no %s", want)
		}
	}
	// The project is published nowhere; a link would lead to somebody else's.
	if strings.Contains(text, "://") {
		t.Error("hearth.service points to an address outside")
	}
	if m := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)s$`).FindStringSubmatch(text); m == nil || atoi(t, m[1]) <= 15 {
		t.Errorf("TimeoutStopSec = %v, want more than the 15 s the server drains", m)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUnitVerifies hands the unit to systemd itself, with a program that
// exists on every system in the place of ours.
func TestUnitVerifies(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hearth.service")
	text := strings.Replace(unit(t), "/usr/local/bin/hearth", self, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
	if err != nil || strings.Contains(string(out), path) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}

	out, err = exec.CommandContext(t.Context(), analyze, "security", "--offline=yes", "--no-pager", path).CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze security: %v\n%s", err, out)
	}
	m := regexp.MustCompile(`Overall exposure level for \S+: (\d+\.\d+)`).FindStringSubmatch(string(out))
	if m == nil {
		t.Fatalf("no exposure level in:\n%s", out)
	}
	if level, err := strconv.ParseFloat(m[1], 64); err != nil || level > maxExposure {
		t.Errorf("exposure = %s, want at most %.1f\n%s", m[1], maxExposure, out)
	}
}
