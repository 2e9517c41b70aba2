package once_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// open opens a store and migrates it, as a start of the server does.
func open(t *testing.T, cfg db.Config) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRestart(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, cfg db.Config) {
		d := open(t, cfg)
		f := newFixture(t, d)
		first := f.send("/v1/things", "w/ann", "k-1", `{}`)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f = newFixture(t, open(t, cfg))
		if got := f.send("/v1/things", "w/ann", "k-1", `{}`); got.body != first.body || !got.replayed {
			t.Errorf("after the restart: %s replayed %v, want %s", got.body, got.replayed, first.body)
		}
		f.wantCounts(t, 1, 1)

		// Another server key cannot read the answer, and must not do it again.
		f.use(t, serverKey(t, "o"))
		if got := f.send("/v1/things", "w/ann", "k-1", `{}`); got.status != 409 || !strings.Contains(got.body, "IDEMPOTENCY_ANSWER_LOST") {
			t.Errorf("with another key: %d %s, want IDEMPOTENCY_ANSWER_LOST", got.status, got.body)
		}
		f.wantCounts(t, 1, 1)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, db.Config{URL: dbtest.URL(t)})
	})
}

// TestSecretIsSealed looks for a secret in the stored rows and, on SQLite, in
// the files themselves.
func TestSecretIsSealed(t *testing.T) {
	t.Parallel()
	const canary = "canary-5b1f0c7e"
	var path string
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		if got := f.send("/v1/things", "w/ann", "key-of-"+canary, `{"mode":"`+canary+`"}`); !strings.Contains(got.body, canary) {
			t.Fatalf("answer = %s, want it to hold the secret", got.body)
		}
		var key, request, answer []byte
		if err := d.QueryRow(t.Context(), `SELECT key_hash, request_hash, answer FROM idem`).Scan(&key, &request, &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer) == 0 || bytes.Contains(append(append(key, request...), answer...), []byte(canary)) {
			t.Errorf("the row holds the secret in plain: %q", answer)
		}
		if d.Dialect() != db.SQLite {
			return
		}
		for _, name := range []string{path, path + "-wal"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte(canary)) {
				t.Errorf("%s holds the secret in plain", name)
			}
		}
	}, dbtest.With(func(c *db.Config) {
		if c.Path != "" {
			path = c.Path
		}
	}))
}

// TestSealedAnswerStaysInItsRow copies an answer to another principal's row.
func TestSealedAnswerStaysInItsRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		f.send("/v1/things", "w/ann", "k-1", `{}`)
		f.send("/v1/things", "v/bob", "k-1", `{}`)
		n, err := d.Exec(t.Context(), `UPDATE idem SET answer = (SELECT answer FROM idem WHERE ws = 'w') WHERE ws = 'v'`)
		if n != 1 || err != nil {
			t.Fatalf("swapped %d rows, %v", n, err)
		}
		if got := f.send("/v1/things", "v/bob", "k-1", `{}`); got.status != 409 || strings.Contains(got.body, `"id"`) {
			t.Errorf("got %d %s, want a refusal", got.status, got.body)
		}
	})
}
