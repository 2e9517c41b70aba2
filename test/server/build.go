package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// programVariable is the environment variable with the path of a program built from
// this source, for all test programs of a run: linking takes seconds each time.
const programVariable = "HEARTH_TEST_PROGRAM"

// Build compiles the program into dir and returns its path, or returns the path
// that the environment names.
func Build(dir string) (string, error) {
	if path := os.Getenv(programVariable); path != "" {
		return path, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	return compile(root, dir)
}

// BuildCommit is Build for the source of a commit, which it extracts into dir.
func BuildCommit(commit, dir string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	tree := filepath.Join(dir, "source")
	cmd := exec.Command("git", "worktree", "add", "--detach", tree, commit)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack %s: %w\n%s", commit, err, out)
	}
	path, err := compile(tree, dir)
	cmd = exec.Command("git", "worktree", "remove", "--force", tree)
	cmd.Dir = root
	return path, errors.Join(err, cmd.Run())
}

// BuildWith is Build with different contents for some files, which need not exist. A
// relative path starts at the root of the repository.
func BuildWith(dir string, files map[string]string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		with := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(with, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = with
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	return compile(root, dir, "-overlay="+overlay)
}

// compile builds the program from the source in root into dir.
func compile(root, dir string, flags ...string) (string, error) {
	name := "hearth"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", slices.Concat([]string{"build", "-ldflags=-s -w", "-o", path}, flags, []string{"./cmd/hearth"})...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build hearth: %w\n%s", err, out)
	}
	return path, nil
}

// Beside makes a Go workspace of this checkout and the module in dir, and returns it as
// an environment setting for go commands, so that the module reuses the compiled packages
// of the checkout.
func Beside(t testing.TB, dir string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	setting := "GOWORK=" + filepath.Join(t.TempDir(), "go.work")
	cmd := exec.CommandContext(t.Context(), "go", "work", "init", root, dir)
	cmd.Env = append(os.Environ(), setting)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go work init: %v\n%s", err, out)
	}
	return setting
}

// Root returns the folder of go.mod.
func Root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find go.mod: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("find go.mod: run this inside the repository")
	}
	return filepath.Dir(mod), nil
}

// binDir is the folder of the shared binary, once a test has asked for it.
var binDir atomic.Value

// built builds the binary that all tests of one process share, in a folder that
// Main removes.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hearth-bin-")
	if err != nil {
		return "", err
	}
	binDir.Store(dir)
	return Build(dir)
})

// Main runs the tests of a package, then what ends what they share, and removes
// the binary Binary built:
//
//	func TestMain(m *testing.M) { os.Exit(server.Main(m)) }
func Main(m *testing.M, end ...func()) int {
	code := m.Run()
	for _, f := range end {
		f()
	}
	if dir, ok := binDir.Load().(string); ok {
		os.RemoveAll(dir)
	}
	return code
}

// Binary builds the program, once per process.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Run starts a server for a test and kills it when the test ends. Options
// without a folder get a temporary one, options without a binary the built one.
func Run(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Binary == "" {
		o.Binary = Binary(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Errorf("kill the server: %v", err)
		}
		if t.Failed() {
			t.Logf("output of the server:\n%s", s.Output())
		}
	})
	return s
}
