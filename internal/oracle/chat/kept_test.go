package chat_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// A sealed value opens in its own place only, and with its own key.
func TestKeptSeals(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	k := g.s.Kept("memory")
	ctx, other := tool.With(t.Context(), tool.Context{Talker: ann}), tool.With(t.Context(), tool.Context{Talker: bob})
	sealed := k.Seal(ctx, "one", []byte(`{"text":"Kitui"}`))
	if strings.Contains(string(sealed), "Kitui") || string(k.Open(ctx, "one", sealed)) != `{"text":"Kitui"}` {
		t.Errorf("sealed as %s, opened as %s", sealed, k.Open(ctx, "one", sealed))
	}
	for what, got := range map[string][]byte{
		"another user":   k.Open(other, "one", sealed),
		"another name":   k.Open(ctx, "two", sealed),
		"another plugin": g.s.Kept("files").Open(ctx, "one", sealed),
		"another key":    g.store("x").Kept("memory").Open(ctx, "one", sealed),
		"a part of it":   k.Open(ctx, "one", sealed[:len(sealed)-2]),
		"no base64":      k.Open(ctx, "one", []byte("sealed:?")),
	} {
		if got != nil {
			t.Errorf("%s opens it: %s", what, got)
		}
	}
	if got := k.Open(ctx, "one", []byte("{}")); string(got) != "{}" {
		t.Errorf("a value that is not sealed is %s", got)
	}
}

// What was kept before is sealed page by page, whatever is done with it meanwhile.
func TestKeptBackfill(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		g := newRig(t, d)
		for _, at := range []string{"memory/" + ann + "/a", "memory/" + ann + "/b", "memory/" + bob + "/a", "files/" + ann + "/a"} {
			p := strings.Split(at, "/")
			if _, err := d.Exec(t.Context(), `INSERT INTO plugin_state (plugin, user_did, session, name, workspace, did, value, updated_at) VALUES ($1, $2, 0, $3, 'w', $2, $4, 1)`,
				p[0], p[1], p[2], `{"text":"Kitui `+at+`"}`); err != nil {
				t.Fatal(err)
			}
		}
		k := g.s.Kept("memory")
		for i, want := range []int{2, 1, 0, 0} {
			if n, err := k.Backfill(t.Context(), 2); n != want || err != nil {
				t.Errorf("page %d: %d, %v, want %d", i, n, err, want)
			}
		}
		stored := values(t, d)
		for at, value := range stored {
			p := strings.Split(at, "/")
			if sealed := !strings.Contains(value, "Kitui"); sealed != (p[0] == "memory") {
				t.Errorf("%s is stored as %s", at, value)
			}
			ctx := tool.With(t.Context(), tool.Context{Talker: p[1]})
			if got := string(k.Open(ctx, p[2], []byte(value))); got != `{"text":"Kitui `+at+`"}` {
				t.Errorf("%s opens as %s", at, got)
			}
		}
		// Another server that starts finds nothing to do.
		if n, err := g.s.Kept("memory").Backfill(t.Context(), 10); n != 3 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		for at, value := range values(t, d) {
			if stored[at] != value {
				t.Errorf("%s was sealed twice", at)
			}
		}
	})
}

// values are what plugins keep, by plugin, user and name.
func values(t *testing.T, d *db.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	rows, err := d.Query(t.Context(), `SELECT plugin, user_did, name, value FROM plugin_state`)
	err = db.Each(rows, err, "read values", func(row db.Row) error {
		var plugin, user, name, value string
		err := row.Scan(&plugin, &user, &name, &value)
		out[plugin+"/"+user+"/"+name] = value
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%v, %v", out, err)
	}
	return out
}
