package auth_test

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// TestRoutes plays testdata/<route>.json. The cases of a file are the steps of
// one story in a fresh house, whose people newHouse lists. ${name} is the id
// of a key of the house; rows are the new ones by table, 0 for the others.
func TestRoutes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files of cases, %v, want one for each of the 9 routes", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				h := newHouse(t, d)
				for _, c := range webtest.Read(t, filepath.Base(file)) {
					t.Run(c.Name, func(t *testing.T) { h.play(t, c) })
				}
			})
		})
	}
}

func (h *house) play(t *testing.T, c webtest.Case) {
	p := webtest.Play{Handler: h.handler, Vars: maps.Clone(h.ids), Sign: func(r *http.Request, as string) {
		if as != "" {
			r.Header.Set("Authorization", "Bearer "+h.keys[as])
		}
	}}
	before := rows(t, h.db)
	p.Run(t, c)
	for table, n := range rows(t, h.db) {
		if new := n - before[table]; new != c.Rows[table] {
			t.Errorf("%d new rows in %s, want %d", new, table, c.Rows[table])
		}
	}
	if events := h.takeEvents(); !slices.Equal(events, c.Events) {
		t.Errorf("events = %q, want %q", events, c.Events)
	}
}

func rows(t *testing.T, d *db.DB) map[string]int {
	t.Helper()
	out := map[string]int{}
	for table, query := range map[string]string{
		"workspaces": `SELECT count(*) FROM workspaces`,
		"principals": `SELECT count(*) FROM principals`,
		"api_keys":   `SELECT count(*) FROM api_keys`,
	} {
		var n int
		if err := d.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}
