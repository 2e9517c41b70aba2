package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/cli"
)

// run runs a command on a folder of its own and gives exit code and output.
func run(t *testing.T, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	p := cli.Program{Version: "1.2.3", Out: &o, Err: &e, Environ: []string{"HEARTH_DATA_DIR=" + dir}}
	code = p.Run(t.Context(), args)
	return code, o.String(), e.String()
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, args string
		code       int
		out, err   string // parts of the output
	}{
		{"nothing shows help", "", 0, "Usage: hearth <command>", ""},
		{"help", "help", 0, "keys create", ""},
		{"help of no command", "help nonsense", 2, "", `"nonsense" is not a command`},
		{"help of a misspelt command", "help demo remov", 2, "", `"demo remov" is not a command`},
		{"help of a command", "help keys rotate", 0, "--grace", ""},
		{"--help", "keys rotate --help", 0, "--grace", ""},
		{"help of serve lists settings", "serve --help", 0, "HEARTH_DATA_DIR", ""},
		{"version", "--version", 0, "hearth 1.2.3", ""},
		{"unknown command", "sevre", 2, "", `"sevre" is not a command`},
		{"half a command", "keys", 0, "keys create", ""},
		{"half a command and help", "keys --help", 0, "keys revoke", ""},
		{"help of half a command", "help backup", 0, "backup restore", ""},
		{"half a command and nonsense", "keys frobnicate", 2, "", "hearth help keys"},
		{"certificate that is not there", "config check --tls-cert /nope --tls-key /nope", 2, "", "read certificate"},
		{"roles in help", "help keys create", 0, "owner, manager, collector, supervisor, verifier, evaluator, auditor, device", ""},
		{"flag without its value", "keys rotate key_1 --grace", 2, "", "--grace (flag): has no value"},
		{"warnings of good settings", "config check --cors-origin *", 0, "warning: CORS_ORIGIN=*", ""},
		{"unknown flag", "serve --prot 1", 2, "", "did you mean --port"},
		{"bad settings, all at once", "config check --port x --max-body-bytes y", 2, "", "2 problems"},
		{"missing argument", "keys revoke", 2, "", "give one key id"},
		{"two arguments", "backup verify a b", 2, "", "give one backup file"},
		{"unknown key", "keys revoke key_00000000-0000-7000-8000-000000000000", 1, "", "KEY_NOT_FOUND"},
		{"unknown workspace", "keys list --workspace nowhere", 1, "", "WORKSPACE_NOT_FOUND"},
		{"every wrong field", "keys create --role nope", 1, "", "--role: There is no such role."},
		{"wrong argument", "workspaces create Bad_Name", 1, "", "\n  id: "},
		{"no backup", "backup verify /nowhere/x.db", 1, "", "no such file"},
		{"nobody listens", "health --port 1", 1, "", "hearth:"},
		{"good settings", "config check", 0, "The configuration is valid", ""},
		{"a file of MCP servers that is not there", "config check --mcp-servers-file /nope.yaml", 2, "", "MCP_SERVERS_FILE: "},
		{"a plugin of a name that is taken", "plugin new tasks", 2, "", "Hearth has a plugin tasks already"},
		{"printed settings", "config print --owner-key 0123456789abcdef0123456789abcdef", 0, "****", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if strings.Contains(tt.err, "_NOT_FOUND") || strings.Contains(tt.err, "\n  ") || strings.Contains(tt.err, "--role") {
				newStore(t, dir)
			}
			code, out, errs := run(t, dir, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.err) {
				t.Errorf("got %d\nout: %s\nerr: %s\nwant %d with %q and %q", code, out, errs, tt.code, tt.out, tt.err)
			}
		})
	}
}

// newStore makes a store without a server.
func newStore(t *testing.T, dir string) {
	t.Helper()
	if code, out, errs := run(t, dir, "db", "migrate"); code != 0 || !strings.Contains(out, "Owner key of the new store") {
		t.Fatalf("db migrate = %d, %s %s", code, out, errs)
	}
}

// TestNoStoreIsMade keeps a mistyped folder empty.
func TestNoStoreIsMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range []string{"keys list", "keys create --name x --role owner", "workspaces list", "workspaces create kitui", "db check", "backup create"} {
		if code, _, errs := run(t, dir, strings.Fields(args)...); code != 1 || !strings.Contains(errs, "there is no store") {
			t.Errorf("%s = %d, %s", args, code, errs)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestKeysLifeCycle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newStore(t, dir)
	code, out, errs := run(t, dir, "keys", "create", "--name", "field", "--role", "collector", "--expires-in", "24h")
	if code != 0 {
		t.Fatalf("create = %d, %s", code, errs)
	}
	id := strings.Fields(out)[1]
	// Flags may stand behind the argument.
	code, out, errs = run(t, dir, "keys", "rotate", id, "--grace", "10m")
	if code != 0 || strings.Contains(errs, "owner key") {
		t.Fatalf("rotate = %d, %s", code, errs)
	}
	next := strings.Fields(out)[1]
	if code, _, errs = run(t, dir, "keys", "revoke", next); code != 0 {
		t.Fatalf("revoke = %d, %s", code, errs)
	}
	_, out, _ = run(t, dir, "keys", "list")
	for line := range strings.Lines(out) {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("keys list is %d columns wide: %s", n, line)
		}
	}
	if !lineHas(out, id, "collector") {
		t.Errorf("keys list shows no role:\n%s", out)
	}
	_, out, _ = run(t, dir, "keys", "list", "--long")
	for want, key := range map[string]string{"rotated": id, "revoked": next} {
		if !lineHas(out, key, want) {
			t.Errorf("keys list shows no %s %s:\n%s", want, key, out)
		}
	}
	for _, want := range []string{"PRINCIPAL", "EXPIRES", "BOUND TO"} {
		if !strings.Contains(out, want) {
			t.Errorf("keys list --long has no column %s:\n%s", want, out)
		}
	}
	// The last owner key goes only by force.
	var owner string
	for line := range strings.Lines(out) {
		if lineHas(line, "*", "owner") {
			owner = strings.Fields(line)[0]
		}
	}
	if code, _, errs = run(t, dir, "keys", "revoke", owner); code != 1 || !strings.Contains(errs, "LAST_OWNER") {
		t.Errorf("revoke of the last owner key = %d, %s, want LAST_OWNER", code, errs)
	}
	if code, _, errs = run(t, dir, "keys", "revoke", owner, "--force"); code != 0 {
		t.Errorf("revoke --force = %d, %s", code, errs)
	}
	if code, out, _ = run(t, dir, "workspaces", "create", "kitui"); code != 0 || !strings.Contains(out, "hearth_") {
		t.Errorf("workspaces create = %d, %s", code, out)
	}
	if _, out, _ = run(t, dir, "workspaces", "list"); !lineHas(out, "kitui", "kitui") {
		t.Errorf("workspaces list = %s", out)
	}
}

func lineHas(out string, parts ...string) bool {
	for line := range strings.Lines(out) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	newStore(t, dir)
	run(t, dir, "keys", "create", "--name", "kept", "--role", "auditor")
	file := filepath.Join(t.TempDir(), "copy.db")
	for _, args := range [][]string{{"backup", "create", file}, {"backup", "verify", file}, {"db", "check"}} {
		if code, _, errs := run(t, dir, args...); code != 0 {
			t.Fatalf("%v = %d, %s", args, code, errs)
		}
	}
	if code, _, errs := run(t, other, "backup", "restore", file); code != 0 {
		t.Fatalf("restore = %d, %s", code, errs)
	}
	// A store opens with its own server key only.
	if code, _, errs := run(t, other, "keys", "list"); code != 1 || !strings.Contains(errs, "server.key") {
		t.Errorf("keys list without the server key = %d, %s, want it asked for", code, errs)
	}
	key, err := os.ReadFile(filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "server.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, errs := run(t, other, "keys", "list"); !lineHas(out, "kept") {
		t.Errorf("the restored store lacks the key: %s %s", out, errs)
	}
	if _, out, _ := run(t, dir, "backup", "list"); !strings.Contains(out, "no backups") {
		t.Errorf("backup list = %s", out)
	}
	// Only backups with names of their own are listed, not what else lies there.
	if code, _, errs := run(t, dir, "backup", "create"); code != 0 {
		t.Fatalf("backup create = %d, %s", code, errs)
	}
	for _, name := range []string{"mine.db", "hearth-20260102T030405Z", "hearth-20260102T030405Z.db.part"} {
		if err := os.WriteFile(filepath.Join(dir, "backups", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, out, _ := run(t, dir, "backup", "list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "hearth-20") {
		t.Errorf("backup list = %s, want the one backup", out)
	}
}
