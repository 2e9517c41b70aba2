package app_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

const (
	fileDID  = "did:ixo:entity:ofafile"
	otherDID = "did:ixo:entity:another"
	words    = "legal winner thank year wave sausage worth useful legal winner thank yellow"
	others   = "letter advice cage absurd amount doctor acoustic avoid letter advice cage above"
)

// oracleFile writes an oracle.json as earlier servers kept it.
func oracleFile(t *testing.T, dir, did string, seed byte) {
	t.Helper()
	text := `{"did":"` + did + `","ed25519Seed":"` + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{seed}, ed25519.SeedSize)) + `"}`
	if err := os.WriteFile(filepath.Join(dir, "oracle.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startOnce starts a server, stops it and says why it did not start.
func startOnce(t *testing.T, change func(*config.Config)) error {
	t.Helper()
	b := &app.Built{}
	err := b.Begin(t, change)
	b.Shut()
	return err
}

// TestOracleOfTheStore: the first server on a store brings the oracle, and every
// later one has it, whatever its folder says. Settings that differ stop the start.
func TestOracleOfTheStore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		t.Helper()
		dir := t.TempDir()
		oracleFile(t, dir, fileDID, 1)
		at := func(dir string, more ...func(*config.Config)) func(*config.Config) {
			return func(c *config.Config) {
				c.Data.Dir, c.Data.DatabaseURL, c.Auth.ServerKey = dir, config.Secret(dsn), "a server key that all of them have"
				for _, f := range more {
					f(c)
				}
			}
		}
		first := app.Build(t, owner, at(dir))
		if got := first.OracleDID(); got != fileDID {
			t.Fatalf("the first server is %s, want that of its file", got)
		}
		minted := token(t, first, 'a')
		first.Shut()
		oracleFile(t, dir, otherDID, 2)
		if dsn != "" {
			dir = t.TempDir()
			oracleFile(t, dir, otherDID, 2)
		}
		var log bytes.Buffer
		second := app.BuildTo(t, owner, &log, at(dir))
		if got := second.OracleDID(); got != fileDID {
			t.Errorf("the second server is %s, want %s", got, fileDID)
		}
		if text := log.String(); !strings.Contains(text, fileDID) || !strings.Contains(text, otherDID) {
			t.Error("the log does not name both oracles")
		}
		if w := (chatter{second, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + minted}}).send("GET", "/sessions", ""); w.Code != 200 {
			t.Errorf("a token for the first at the second = %d %s", w.Code, w.Body)
		}
		second.Shut()
		for name, tt := range map[string]struct {
			change func(*config.Config)
			want   string
		}{
			"another DID":        {func(c *config.Config) { c.Oracle.DID = otherDID }, fileDID},
			"another key":        {func(c *config.Config) { c.Oracle.DID, c.Oracle.Mnemonic = fileDID, words }, "ORACLE_MNEMONIC"},
			"another server key": {func(c *config.Config) { c.Auth.ServerKey = "a server key that is not the same one" }, "server key"},
			"the same DID":       {func(c *config.Config) { c.Oracle.DID = fileDID }, ""},
		} {
			err := startOnce(t, at(t.TempDir(), func(c *config.Config) {
				if dsn == "" {
					c.Data.Dir = dir
				}
				tt.change(c)
			}))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%s: %v, want an error with %q", name, err, tt.want)
			}
		}
	})
}

// TestOracleGetsItsKey: a store whose oracle was a DID alone takes the key that
// belongs to it when a server has one, and no other afterwards.
func TestOracleGetsItsKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(mnemonic string) error {
		return startOnce(t, func(c *config.Config) {
			c.Data.Dir, c.Oracle.DID, c.Oracle.Mnemonic = dir, otherDID, config.Secret(mnemonic)
		})
	}
	for _, mnemonic := range []string{"", words, "", words} {
		if err := start(mnemonic); err != nil {
			t.Fatalf("start with %q: %v", mnemonic, err)
		}
	}
	if err := start(others); err == nil || !strings.Contains(err.Error(), "ORACLE_MNEMONIC") {
		t.Errorf("start with another mnemonic: %v", err)
	}
}

// TestDamagedOracleFile: a file that cannot be read is no reason for a new oracle.
func TestDamagedOracleFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "oracle.json"), []byte(`{"did":"`+fileDID+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(c *config.Config) { c.Data.Dir = dir }
	if err := startOnce(t, in); err == nil || !strings.Contains(err.Error(), "ed25519Seed") {
		t.Fatalf("start = %v, want the file named", err)
	}
}

// TestOnePINKey: servers on one store seal PINs with one key, also before there are
// any.
func TestOnePINKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		t.Helper()
		dir := t.TempDir()
		with := func(key, old string) func(*config.Config) {
			return func(c *config.Config) {
				c.Data.Dir, c.Data.DatabaseURL, c.Auth.ServerKey = dir, config.Secret(dsn), "a server key that all of them have"
				c.USSD.PINKey, c.USSD.OldPINKey = config.Secret(key), config.Secret(old)
			}
		}
		const one, two = "the first key of all PINs", "the second key of all PINs"
		first := app.Build(t, owner, with(one, ""))
		if dsn != "" { // it still runs
			if err := startOnce(t, with(two, "")); err == nil || !strings.Contains(err.Error(), "PIN_ENCRYPTION_KEY") {
				t.Errorf("another key beside the first: %v", err)
			}
		}
		first.Shut()
		app.Build(t, owner, with(two, one)).Shut() // a rotation
		app.Build(t, owner, with(two, "")).Shut()
		app.Build(t, owner, with(one, "")).Shut() // no PIN was ever sealed, and nobody else is there
	})
}

// TestAdoptOracle: the only copy of a key is not dropped without a word.
func TestAdoptOracle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(c *config.Config) { c.Data.Dir, c.Auth.ServerKey = dir, "a server key that all of them have" }
	var cfg *config.Config
	if err := startOnce(t, func(c *config.Config) { in(c); cfg = c }); err != nil {
		t.Fatal(err)
	}
	cfg.Oracle.DID = otherDID
	core, err := app.OpenCore(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	if _, err := core.AdoptOracle(t.Context(), cfg, false); !errors.Is(err, app.ErrKeyLost) {
		t.Errorf("adopting = %v, want that a key would be lost", err)
	}
	for _, sure := range []bool{true, false} { // afterwards there is no key to be lost
		if _, err := core.AdoptOracle(t.Context(), cfg, sure); err != nil {
			t.Errorf("adopting, sure %t: %v", sure, err)
		}
	}
}
