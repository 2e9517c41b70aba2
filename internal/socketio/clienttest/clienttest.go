// Package clienttest has clients for tests of this server: Client, which speaks
// socket.io and can also break its rules, and the published clients.
//
// The published ones are the scripts of test/clients with their npm packages. Run
// installs these once, in the user's cache folder, and shows each scenario as a
// subtest. Without node 20 or newer, without npm, or when the registry cannot be
// reached, such tests are skipped; HEARTH_TEST_CLIENTS=1 makes that a failure.
package clienttest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	oldestNode = 20
	runTime    = 5 * time.Minute // for all scenarios of a script, on a busy machine
)

// Need skips the test, or fails it, unless scripts can run here.
func Need(t *testing.T) {
	t.Helper()
	packages(t)
}

// Run runs a script with the settings in env and makes a subtest of each line
// "ok NAME" or "not ok NAME" that it prints. Lines before it that begin with #
// give details; "1..N" ends the output.
func Run(t *testing.T, script string, env ...string) {
	t.Helper()
	dir := stage(t)
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	var complaints strings.Builder
	node := exec.CommandContext(ctx, "node", script)
	node.Dir, node.Stderr = dir, &complaints
	node.Env = append(os.Environ(), env...)
	node.WaitDelay = 5 * time.Second
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	told := listen(t, out)
	err = node.Wait()
	switch {
	case ctx.Err() != nil:
		t.Errorf("%s did not end within %s\n%s", script, runTime, complaints.String())
	case !told.planned || told.planCount != told.count:
		t.Errorf("%s told of %d scenarios and did not come to its end (%v)\n%s%s", script, told.count, err, told.notes, complaints.String())
	case err != nil && !t.Failed():
		t.Errorf("%s: %v\n%s", script, err, complaints.String())
	}
}

// account is what a script has reported.
type account struct {
	count, planCount int
	planned          bool
	notes            string // lines after the last scenario
}

// listen makes a subtest of each scenario.
func listen(t *testing.T, out io.Reader) account {
	t.Helper()
	var a account
	var notes strings.Builder
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "1.."); ok {
			n, err := strconv.Atoi(text)
			a.planned, a.planCount = err == nil, n
			continue
		}
		name, failed := strings.CutPrefix(line, "not ok ")
		passed := false
		if !failed {
			name, passed = strings.CutPrefix(line, "ok ")
		}
		if !failed && !passed {
			notes.WriteString(strings.TrimPrefix(line, "# ") + "\n")
			continue
		}
		a.count++
		text := notes.String()
		notes.Reset()
		t.Run(name, func(t *testing.T) {
			if failed {
				t.Errorf("%s", text)
			} else {
				t.Logf("%s", text)
			}
		})
	}
	a.notes = notes.String()
	return a
}

// Package returns the path of a file inside the installed packages, such as
// axe-core/axe.min.js, for tests that load it in a browser.
func Package(t *testing.T, file string) string {
	t.Helper()
	return filepath.Join(packages(t), "node_modules", filepath.FromSlash(file))
}

// stage returns a folder with the scripts beside the packages they import.
func stage(t *testing.T) string {
	t.Helper()
	installed := packages(t)
	dir := t.TempDir()
	for _, pattern := range []string{"*.mjs", filepath.Join("kit", "*.mjs")} {
		files, err := filepath.Glob(filepath.Join(home(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range files {
			copyFile(t, from, filepath.Join(dir, filepath.Dir(pattern), filepath.Base(from)))
		}
	}
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// home returns the folder test/clients of this repository.
func home(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "test", "clients")
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the working folder")
		}
		dir = filepath.Dir(dir)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
