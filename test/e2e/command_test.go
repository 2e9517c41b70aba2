package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	commands := []string{
		"serve", "config check", "config print", "keys create", "keys list", "keys rotate", "keys revoke", "workspaces create", "workspaces list",
		"backup create", "backup verify", "backup restore", "backup list", "db check", "db compact", "db migrate", "health", "version",
	}
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"-h"}} {
		text := ok(t, nil, args...)
		for _, name := range commands {
			if !strings.Contains(text, "\n  "+name) {
				t.Errorf("hearth %v does not list %q:\n%s", args, name, text)
			}
		}
	}
	for _, name := range commands {
		words := strings.Fields(name)
		text := ok(t, nil, append(words, "--help")...)
		if !strings.Contains(text, "Usage: hearth "+name) {
			t.Errorf("hearth %s --help printed\n%s\nwant its usage", name, text)
		}
		if again := ok(t, nil, append([]string{"help"}, words...)...); again != text {
			t.Errorf("hearth help %s and hearth %s --help differ", name, name)
		}
	}
	if text := ok(t, nil, "serve", "--help"); !strings.Contains(text, "--port") || !strings.Contains(text, "HEARTH_DATA_DIR") {
		t.Error("hearth serve --help does not list the settings")
	}
	for _, arg := range []string{"--version", "version"} {
		if text := ok(t, nil, arg); !regexp.MustCompile(`^hearth \d+\.\d+\.\d+\S* go\S+ \w+/\w+\n$`).MatchString(text) {
			t.Errorf("hearth %s printed %q", arg, text)
		}
	}
}

func TestWrongCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"srve"}, `"srve" is not a command`},
		{[]string{"keys", "frobnicate"}, "hearth help keys"},
		{[]string{"serve", "extra"}, "no arguments"},
		{[]string{"serve", "--prot", "3"}, "--prot"},
		{[]string{"serve", "--port"}, "port"},
		{[]string{"keys", "revoke"}, "give one key id"},
		{[]string{"keys", "revoke", "a", "b"}, "give one key id"},
		{[]string{"keys", "create", "--expires-in", "soon"}, "expires-in"},
		{[]string{"backup", "verify"}, "give one backup file"},
		{[]string{"serve", "--port", "70000", "--log-level", "loud"}, "2 problems"},
	} {
		got := run(t, []string{"HEARTH_DATA_DIR=" + t.TempDir()}, tt.args...)
		if got.code != 2 || !strings.Contains(got.err, tt.want) || got.out != "" {
			t.Errorf("hearth %v: code %d, %q; want 2 and %q on standard error", tt.args, got.code, got.err, tt.want)
		}
	}
	if got := run(t, []string{"HEARTH_DATA_DIR=" + t.TempDir()}, "db", "check"); got.code != 1 || !strings.Contains(got.err, "there is no store") {
		t.Errorf("db check of an empty folder: code %d, %q; want 1 and that there is no store", got.code, got.err)
	}
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	bad := []string{
		"PORT=99999", "HOST=not a host", "LOG_LEVEL=loud", "CORS_ORIGIN=example.org", "HEARTH_NOPE=1", "HEARTH_SHUTDOWN_TIMEOUT=fast",
		"HEARTH_OWNER_KEY=canary-short", "PIN_ENCRYPTION_KEY=canary-weak", "DATABASE_URL=mysql://u:canary-pass@h/d", "HEARTH_TLS_CERT=/none.pem", "TRUST_PROXY_ENABLED=maybe",
		"HEARTH_SQLITE_SYNCHRONOUS=OFF", "HEARTH_AREAS=a,z",
	}
	for _, command := range [][]string{{"config", "check"}, {"serve"}} {
		got := run(t, bad, command...)
		if got.code != 2 {
			t.Errorf("hearth %v: exit code %d, want 2", command, got.code)
		}
		for _, setting := range bad {
			name, _, _ := strings.Cut(setting, "=")
			if !strings.Contains(got.err, "\n  "+name+" ") && !(name == "HEARTH_TLS_CERT" && strings.Contains(got.err, "HEARTH_TLS_KEY")) {
				t.Errorf("hearth %v does not name %s:\n%s", command, name, got.err)
			}
		}
		if strings.Contains(got.out+got.err, "canary") {
			t.Errorf("hearth %v shows a secret:\n%s", command, got.err)
		}
	}
	file := filepath.Join(t.TempDir(), "hearth.yaml")
	if err := os.WriteFile(file, []byte("server:\n  port: 3100\n  prot: 1\n  port: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, nil, "config", "check", "--config", file); got.code != 2 || !strings.Contains(got.err, "hearth.yaml") {
		t.Errorf("a bad file: code %d, %q; want 2 and the file named", got.code, got.err)
	}
	good := run(t, []string{"HEARTH_DATA_DIR=" + t.TempDir(), "HEARTH_RATE_LIMIT=0"}, "config", "check")
	if good.code != 0 || !strings.Contains(good.out, "is valid") || !strings.Contains(good.out, "warning: HEARTH_RATE_LIMIT=0") {
		t.Errorf("a good configuration: code %d, %q; want 0, and the risky setting named", good.code, good.out)
	}
	production := run(t, []string{"HEARTH_DATA_DIR=" + t.TempDir(), "HEARTH_ENV=production"}, "config", "check")
	if production.code != 2 || !strings.Contains(production.err, "HEARTH_SERVER_KEY") {
		t.Errorf("production without secrets: code %d, %q; want 2 and what is missing", production.code, production.err)
	}
}

func TestConfigPrint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hearth.yaml")
	if err := os.WriteFile(file, []byte("server:\n  port: 3100\noracle:\n  name: From the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := ok(t, []string{
		"HEARTH_OWNER_KEY=canary-" + strings.Repeat("o", 32), "HEARTH_SERVER_KEY=canary-" + strings.Repeat("s", 32),
		"DATABASE_URL=postgres://u:canary-p@h/d", "LLM_API_KEY=canary-llm", "ORACLE_MNEMONIC=canary " + strings.Repeat("abandon ", 11),
		"PORT=3200", "ORACLE_DID=did:ixo:entity:" + strings.Repeat("0", 32), "LLM_BASE_URL=http://127.0.0.1:1/v1",
	}, "config", "print", "--config", file, "--log-level", "debug")
	if strings.Contains(text, "canary") || strings.Contains(text, "abandon") {
		t.Errorf("config print shows a secret:\n%s", text)
	}
	for _, want := range []string{
		`(?m)^PORT +3200 +environment`, `(?m)^ORACLE_NAME +From the file +file`, `(?m)^LOG_LEVEL +debug +flag`, `(?m)^HEARTH_SHUTDOWN_TIMEOUT +15s +default`,
		`(?m)^HEARTH_OWNER_KEY +\*+ +environment`, `(?m)^DATABASE_URL +postgres://u:\*+@h/d +environment`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("config print has no line %s:\n%s", want, text)
		}
	}
}

func TestDBCommands(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		if text := ok(t, storeEnv(o), "db", "migrate"); !strings.Contains(text, "schema is at version") {
			t.Errorf("db migrate printed %q", text)
		}
		s := server.Run(t, o)
		if _, err := owner(t, s).Keys.Create(t.Context(), draft("checked")); err != nil {
			t.Fatal(err)
		}
		text := ok(t, storeEnv(o), "db", "check") // beside the server
		if !strings.Contains(text, "ok") || strings.Contains(text, "WRONG") {
			t.Errorf("db check printed\n%s", text)
		}
	})
}

// TestDamagedStore flips a byte in the middle of the store: db check sees it.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: t.TempDir()}
	s := server.Run(t, o)
	for range 50 {
		if _, err := owner(t, s).Keys.Create(t.Context(), draft("row")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(patience); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.Dir, "hearth.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The header of some pages: what SQLite itself relies on.
	for page := 4096; page < len(data); page += 4096 * 3 {
		data[page] ^= 0xff
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, storeEnv(o), "db", "check"); got.code != 1 || got.out+got.err == "" {
		t.Errorf("db check of a damaged store: code %d\n%s%s", got.code, got.out, got.err)
	}
}

func TestHealthCommand(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	env := []string{"PORT=" + strings.TrimPrefix(s.URL, "http://127.0.0.1:"), "HOST=127.0.0.1", "HEARTH_DATA_DIR=" + s.Dir}
	if text := ok(t, env, "health"); text != "ready\n" {
		t.Errorf("health printed %q, want ready", text)
	}
	if err := s.Stop(patience); err != nil {
		t.Fatal(err)
	}
	if got := run(t, env, "health"); got.code != 1 || got.err == "" {
		t.Errorf("health without a server: code %d, %q; want 1 and why", got.code, got.err)
	}
}

// TestCommandsOfTheOwner: whoever can open the data folder needs no key to ask the
// server beside it, and leaves no session behind.
func TestCommandsOfTheOwner(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Dir: t.TempDir()})
	env := []string{"HEARTH_DATA_DIR=" + s.Dir}
	if text := ok(t, env, "jobs", "list"); text == "" {
		t.Error("hearth jobs list printed nothing")
	}
	if dbtest.Everything() { // half a minute of work
		if text := ok(t, env, "demo"); !strings.Contains(text, "interviews\n") || !strings.Contains(text, "The demo programme is there after ") {
			t.Errorf("hearth demo printed\n%s", text)
		}
		if text := ok(t, env, "jobs", "list"); !strings.Contains(text, "demo.load") {
			t.Errorf("hearth jobs list printed\n%s", text)
		}
		if text := ok(t, env, "demo", "remove"); !strings.Contains(text, "Nothing of the demo programme is left") {
			t.Errorf("hearth demo remove printed\n%s", text)
		}
	}
	for left, err := range owner(t, s).Keys.Sessions(t.Context(), client.PageQuery{}) {
		t.Errorf("a session is left behind: %+v, %v", left, err)
	}
}
