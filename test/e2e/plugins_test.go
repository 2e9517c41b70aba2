package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/test/server"
)

// module checks that what a module requires is enough to build it with this
// checkout, then tests it and builds its program.
func module(t *testing.T, dir, binary string) {
	t.Helper()
	work := server.Beside(t, dir)
	for _, step := range []struct {
		work string
		args []string
	}{
		{"GOWORK=off", []string{"list", "-mod=readonly", "-deps", "-test", "."}},
		{work, []string{"vet", "."}},
		{work, []string{"test", "-vet=off", "."}},
		{work, []string{"build", "-ldflags=-s -w", "-o", binary, "."}},
	} {
		cmd := exec.CommandContext(t.Context(), "go", step.args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), step.work, "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s in %s: %v\n%s", strings.Join(step.args, " "), dir, err, out)
		}
	}
}

// What hearth plugin new writes is formatted, builds, and passes its own test.
func TestPluginNew(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles a program of its own")
	}
	root, err := server.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "stove-talk")
	if text := ok(t, nil, "plugin", "new", "--checkout", root, dir); !strings.Contains(text, "curl 'localhost:3000/stove-talk?name=Amina'") || !strings.Contains(text, "checkout of Hearth in "+root) {
		t.Errorf("hearth plugin new printed %s", text)
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).Output(); err != nil || len(out) > 0 {
		t.Errorf("not formatted: %s %v", out, err)
	}
	module(t, dir, filepath.Join(dir, "hearth"))
	s := server.Run(t, server.Options{Binary: filepath.Join(dir, "hearth"), Dir: t.TempDir(), Env: []string{"HEARTH_PLUGIN_STOVE_TALK_GREETING=Habari"}})
	wantBody(t, s, "/stove-talk?name=Amina", 200, `{"text":"Habari, Amina!"}`)
	wantBody(t, s, "/stove-talk", 400, `"message":"name should not be empty"`)
}

// The example oracle passes its own tests, checks its settings and serves its
// routes.
func TestExampleOracle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles a program of its own")
	}
	root, err := server.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir, binary := filepath.Join(root, "examples", "oracle"), filepath.Join(t.TempDir(), "oracle")
	module(t, dir, binary)
	check := exec.CommandContext(t.Context(), binary, "config", "check")
	check.Dir, check.Env = t.TempDir(), []string{"HEARTH_PLUGIN_HELP_DESK_OPENS=late", "HEARTH_PLUGIN_HELP_DESK_FAX=1", "HEARTH_PLUGIN_NOBODY_X=1"}
	out, err := check.CombinedOutput()
	for _, want := range []string{"opens: want a duration", "fax: there is no setting", "HEARTH_PLUGIN_NOBODY_X: this program has no plugin"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("config check: %v %s, want %q in it", err, out, want)
		}
	}
	s := server.Run(t, server.Options{Binary: binary, Dir: t.TempDir(), Env: []string{"HEARTH_PLUGIN_HELP_DESK_PHONE=+254700000001"}})
	wantBody(t, s, "/help-desk?zone=Africa/Nairobi", 200, `"opens":"11:00","closes":"20:00","zone":"Africa/Nairobi"}`)
	wantBody(t, s, "/docs-json", 200, `"/help-desk/calls"`)
}

// wantBody asks a running server for a path.
func wantBody(t *testing.T, s *server.Server, path string, status int, text string) {
	t.Helper()
	c := s.Client(1)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := c.Do(ctx, "GET", path, nil)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	if got.Status != status || !strings.Contains(string(got.Body), text) {
		t.Errorf("GET %s = %d %.300s, want %d with %s", path, got.Status, got.Body, status, text)
	}
}
