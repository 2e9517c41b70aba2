package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m, browser.Close)) }

// patience is how long anything may take on a busy machine before it counts
// as not happening.
const patience = 2 * time.Minute

// each runs f with the embedded store and with PostgreSQL, in parallel. The
// options name the store; f starts a server on them as often as it likes.
func each(t *testing.T, f func(t *testing.T, o server.Options)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, server.Options{Dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, server.Options{Dir: t.TempDir(), DatabaseURL: dbtest.Migrated(t)})
	})
}

// same is each for what the packages test on both databases already, and what another
// test here holds on both: a stream and a dialog that survive kills, a job that is
// taken up again, writers that meet. PostgreSQL is left to make test-all.
func same(t *testing.T, f func(t *testing.T, o server.Options)) {
	t.Helper()
	if dbtest.Everything() {
		each(t, f)
		return
	}
	f(t, server.Options{Dir: t.TempDir()})
}

// owner calls s with the owner key, with short waits between attempts.
func owner(t *testing.T, s *server.Server) *client.Client { return with(t, s.URL, s.Key) }

func with(t *testing.T, url, key string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: url, Key: key, Retry: client.Retry{Attempts: 6, Min: 20 * time.Millisecond, Max: 200 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// until looks at something again and again until it holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// draft asks for a key that may do little.
func draft(name string) client.KeyDraft {
	return client.KeyDraft{Name: name, Scopes: []string{"entities:read"}}
}

// buffer collects what a process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// outcome is how a command ended.
type outcome struct {
	out, err string
	code     int
}

// environ is a clean environment with the given settings.
func environ(env ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)
}

// storeEnv names the store of o.
func storeEnv(o server.Options) []string {
	env := []string{"HEARTH_DATA_DIR=" + o.Dir, "HEARTH_OWNER_KEY=" + server.OwnerKey}
	if o.DatabaseURL != "" {
		env = append(env, "DATABASE_URL="+o.DatabaseURL)
	}
	return append(env, o.Env...)
}

// run runs the program to its end.
func run(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, server.Binary(t), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ(env...), t.TempDir(), &out, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("hearth %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return outcome{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// ok is run for a command that must work; it returns what it printed.
func ok(t *testing.T, env []string, args ...string) string {
	t.Helper()
	o := run(t, env, args...)
	if o.code != 0 {
		t.Fatalf("hearth %s: exit code %d, want 0\n%s%s", strings.Join(args, " "), o.code, o.out, o.err)
	}
	return o.out
}

// field finds the line of a printed record that begins with name.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
