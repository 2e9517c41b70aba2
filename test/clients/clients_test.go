package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// origin is the page that the clients run in.
const origin = "https://app.example"

// invocation is the setting that has the token of a user.
const invocation = "OUR_INVOCATION="

func TestClients(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	s := server.Run(t, server.Options{Env: []string{"CORS_ORIGIN=" + origin + ",https://other.example", "HEARTH_OUTBOUND_ALLOW=127.0.0.0/8"}})
	env := append(tokens(t, s), "URL="+s.URL, "ORIGIN="+origin, "KEY="+s.Key, "BINARY="+server.Binary(t), "DIR="+s.Dir)
	signed := strings.TrimPrefix(env[slices.IndexFunc(env, func(line string) bool { return strings.HasPrefix(line, invocation) })], invocation)
	env = append(
		env, `TOOL={"say":"/tool count_twins","name":"count_twins"}`,
		`CREDENTIALS=[{"X-API-Key":"`+s.Key+`"},{"Authorization":"Bearer `+signed+`","X-Auth-Type":"ucan"}]`,
	)
	for _, script := range []string{"sdk", "socket", "ucan", "document", "mcp", "agui", "odata"} {
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
	token := run("ucan", "invoke")
	delegation := run("ucan", "delegate", "--can", "memory/*", "--with", "ixo:memory")
	oracle := field(run("ucan", "inspect", token), "audience")
	if owner == "" || oracle == "" {
		t.Fatalf("owner %q, oracle %q, want two DIDs", owner, oracle)
	}
	return []string{"ORACLE=" + oracle, "OUR_DID=" + owner, invocation + token, "OUR_DELEGATION=" + delegation}
}

// TestGoClient has oapi-codegen make a client of the API document, and compiles
// it: a minute of work, for make test-all.
func TestGoClient(t *testing.T) {
	t.Parallel()
	if !dbtest.Everything() {
		t.Skip("a client of 50,000 lines is compiled by make test-all only")
	}
	s := server.Run(t, server.Options{})
	answer, err := s.Client(1).Do(t.Context(), "GET", "/docs-json?openapi=3.0", nil)
	if err != nil || answer.Status != 200 {
		t.Fatalf("GET /docs-json?openapi=3.0: %+v, %v", answer, err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("oapi")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"openapi.json": answer.Body, "gen/doc.go": []byte("// Package gen is generated.\npackage gen\n")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"tool", "oapi-codegen", "-generate", "types,client", "-package", "gen", "-o", "gen/gen.go", "openapi.json"},
		{"build", "./gen"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%.4000s", strings.Join(args, " "), err, out)
		}
	}
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
