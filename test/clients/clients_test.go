package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// origin is the page that the clients run in.
const origin = "https://app.example"

func TestClients(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	s := server.Run(t, server.Options{Env: []string{"CORS_ORIGIN=" + origin + ",https://other.example"}})
	env := append(tokens(t, s), "URL="+s.URL, "ORIGIN="+origin)
	for _, script := range []string{"sdk", "socket", "ucan"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			clienttest.Run(t, script+".mjs", env...)
		})
	}
}

// tokens makes tokens with the command line, as settings for the scripts.
func tokens(t *testing.T, s *server.Server) []string {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var out, complaints bytes.Buffer
		cmd := exec.CommandContext(ctx, server.Binary(t), args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaints
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HEARTH_DATA_DIR=" + s.Dir}
		if err := cmd.Run(); err != nil {
			t.Fatalf("hearth %s: %v\n%s", strings.Join(args, " "), err, complaints.String())
		}
		return strings.TrimSpace(out.String())
	}
	owner := field(run("ucan", "key"), "did")
	invocation := run("ucan", "invoke")
	delegation := run("ucan", "delegate", "--can", "memory/*", "--with", "ixo:memory")
	oracle := field(run("ucan", "inspect", invocation), "audience")
	if owner == "" || oracle == "" {
		t.Fatalf("owner %q, oracle %q, want two DIDs", owner, oracle)
	}
	return []string{"ORACLE=" + oracle, "OUR_DID=" + owner, "OUR_INVOCATION=" + invocation, "OUR_DELEGATION=" + delegation}
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
