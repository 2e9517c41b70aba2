package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// process is a server whose output for people and whose log are apart.
type process struct {
	cmd      *exec.Cmd
	out, log *buffer
	exited   chan struct{} // closed when it has ended
}

// launch starts "hearth serve" with nothing but the given settings and waits
// for the line that says it listens.
func launch(t *testing.T, env ...string) *process {
	t.Helper()
	p := &process{out: &buffer{}, log: &buffer{}, exited: make(chan struct{})}
	// The end of the test's context is the end of the process.
	p.cmd = exec.CommandContext(t.Context(), server.Binary(t), "serve")
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = environ(env...), t.TempDir(), p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() { <-p.exited })
	until(t, "the server listens", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the server ended: %s%s", p.out, p.log)
		default:
		}
		return strings.Contains(p.out.String(), "listening on :")
	})
	return p
}

// stop ends the process in an orderly way and gives the exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		t.Fatalf("the server did not stop:\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// address is where the named listener is.
func (p *process) address(name string) string { return field(p.out.String(), name) }

var listening = regexp.MustCompile(`(?m)^Oracle '([^']*)' \(runtime v([^)]*)\) listening on :([0-9]+)\n\z`)

func TestFirstStart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	env := []string{"PORT=0", "HOST=127.0.0.1", "HEARTH_DATA_DIR=" + dir}
	first := launch(t, env...)
	text := first.out.String()
	base, key, did := field(text, "hearth"), field(text, "owner key"), field(text, "oracle")
	if !regexp.MustCompile(`^http://127\.0\.0\.1:[0-9]+$`).MatchString(base) {
		t.Errorf("address = %q, want http://127.0.0.1:<port>\n%s", base, text)
	}
	if got := field(text, "reference"); got != base+"/docs" {
		t.Errorf("reference = %q, want %s/docs", got, base)
	}
	if got := field(text, "data"); got != dir {
		t.Errorf("data folder = %q, want %q", got, dir)
	}
	if !regexp.MustCompile(`^hearth_[a-z2-7]{10}_[A-Za-z0-9_-]{43}$`).MatchString(key) {
		t.Errorf("owner key = %q, want hearth_<prefix>_<secret>", key)
	}
	if !regexp.MustCompile(`^did:ixo:entity:[0-9a-f]{32}$`).MatchString(did) {
		t.Errorf("oracle = %q, want did:ixo:entity:<32 hex>", did)
	}
	version := strings.Fields(ok(t, nil, "--version"))[1]
	m := listening.FindStringSubmatch(text)
	if m == nil || m[1] != "Hearth" || m[2] != version || !strings.HasSuffix(base, ":"+m[3]) {
		t.Errorf("last line of\n%s\nwant Oracle 'Hearth' (runtime v%s) listening on :<port of %s>", text, version, base)
	}
	if _, err := with(t, base, key).Keys.Current(t.Context()); err != nil {
		t.Errorf("the key that was shown: %v", err)
	}
	if strings.Contains(first.log.String(), key) {
		t.Error("the log holds the owner key")
	}
	if code := first.stop(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}

	second := launch(t, append(env, "ORACLE_NAME=Baraza O'Neil")...)
	text = second.out.String()
	if strings.Contains(text, "owner key") || strings.Contains(text, key) {
		t.Errorf("the second start shows an owner key:\n%s", text)
	}
	if got := field(text, "oracle"); got != did {
		t.Errorf("oracle after a restart = %q, want %q as before", got, did)
	}
	if !strings.Contains(text, "\nOracle 'Baraza O'Neil' (runtime v"+version+") listening on :") {
		t.Errorf("output\n%s\nwant the name from ORACLE_NAME in the last line", text)
	}
	if _, err := with(t, field(text, "hearth"), key).Keys.Current(t.Context()); err != nil {
		t.Errorf("the key of the first start: %v", err)
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	env := []string{"PORT=0", "HOST=127.0.0.1", "HEARTH_DATA_DIR=" + s.Dir}
	o := run(t, env, "serve")
	if o.code != 1 || !strings.Contains(o.err, s.Dir) || !strings.Contains(o.err, "another server uses this folder") {
		t.Errorf("second server: code %d, %q; want 1 and a text that says the folder is in use", o.code, o.err)
	}
	if strings.Contains(o.out, "listening") {
		t.Errorf("second server printed %q", o.out)
	}
	if _, err := owner(t, s).Keys.Current(t.Context()); err != nil {
		t.Errorf("the first server: %v", err)
	}
	taken := run(t, []string{"HEARTH_DATA_DIR=" + t.TempDir(), "HOST=127.0.0.1", "PORT=" + strings.TrimPrefix(s.URL, "http://127.0.0.1:")}, "serve")
	if taken.code != 1 || !strings.Contains(taken.err, "address already in use") {
		t.Errorf("a port that is taken: code %d, %q; want 1 and the reason", taken.code, taken.err)
	}
}

func TestDeadPostgresFailsClearly(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	const password = "canary-password-of-the-database"
	o := run(t, []string{"PORT=0", "HEARTH_DATA_DIR=" + t.TempDir(), "DATABASE_URL=postgres://u:" + password + "@127.0.0.1:1/none"}, "serve")
	if o.code != 1 || !strings.Contains(o.err, "127.0.0.1") || !strings.Contains(o.err, "refused") {
		t.Errorf("code %d, %q; want 1 and a text that says the connection was refused", o.code, o.err)
	}
	if strings.Contains(o.err+o.out, password) {
		t.Error("the text shows the password of the database")
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %s, want an answer a person waits for", took)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		if err := s.Stop(patience); err != nil {
			t.Fatal(err)
		}
		future(t, o)
		got := run(t, append(storeEnv(o), "PORT=0", "HOST=127.0.0.1"), "serve")
		if got.code != 1 || !strings.Contains(got.err, "newer") || !strings.Contains(got.err, "9999") {
			t.Errorf("code %d, %q; want 1 and a text that the schema is newer", got.code, got.err)
		}
	})
}

// openStore opens the store of a server that does not run. It is closed with
// the test.
func openStore(t *testing.T, o server.Options) *db.DB {
	t.Helper()
	cfg := db.Config{URL: o.DatabaseURL}
	if cfg.URL == "" {
		cfg.Path = filepath.Join(o.Dir, "hearth.db")
	}
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// future enters a migration of a later version that takes something away.
func future(t *testing.T, o server.Options) {
	t.Helper()
	d := openStore(t, o)
	_, err := d.Exec(t.Context(), `INSERT INTO schema_migrations(version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)`, 9999, "contract_future", "x", 1)
	if err != nil {
		t.Fatal(err)
	}
}

// TestTwoServersOnOnePostgres is for those who run several: the second sees
// what the first has stored, and forgets a key when the first revokes it.
func TestTwoServersOnOnePostgres(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	key := "HEARTH_SERVER_KEY=" + strings.Repeat("k", 43)
	a := server.Run(t, server.Options{DatabaseURL: url, Env: []string{key}})
	b := server.Run(t, server.Options{DatabaseURL: url, Env: []string{key}})
	made, err := owner(t, a).Keys.Create(t.Context(), draft("shared"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := with(t, b.URL, made.Text).Keys.Current(t.Context()); err != nil {
		t.Errorf("the key of the first server at the second: %v", err)
	}
	if _, err := owner(t, a).Keys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the second server refuses the key", func() bool {
		_, err := with(t, b.URL, made.Text).Keys.Current(t.Context())
		return client.CodeOf(err) == "KEY_INVALID"
	})
}
