package entity

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func count(t testing.TB, d *db.DB, sql string) int {
	t.Helper()
	var n int
	if err := d.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Any number of properties goes in and comes out again.
func TestProps(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for n := range 10 {
			var props []prop
			for i := range n {
				props = append(props, prop{PID: int64(i), Val: fmt.Sprintf("s%d", i)})
			}
			for range 2 { // a second time changes nothing
				if err := d.InTx(t.Context(), func(tx *db.Tx) error { return addProps(t.Context(), tx, 7, props) }); err != nil {
					t.Fatal(err)
				}
			}
			if got := count(t, d, `SELECT count(*) FROM entity_props`); got != n {
				t.Errorf("%d entries, want %d", got, n)
			}
			if err := d.InTx(t.Context(), func(tx *db.Tx) error { return dropProps(t.Context(), tx, 7, props) }); err != nil {
				t.Fatal(err)
			}
			if got := count(t, d, `SELECT count(*) FROM entity_props`); got != 0 {
				t.Errorf("%d entries are left", got)
			}
		}
	})
}

// A new twin that says a word twice has one entry of it, alone and among many.
func TestNewProps(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for n := range 7 {
			var props []prop
			for i := range n {
				props = append(props, prop{PID: -1, Val: fmt.Sprint(i % 5)}, prop{PID: -2, Val: "mary"}, prop{PID: -1, Val: fmt.Sprint(i % 5)})
			}
			nid := int64(n)
			if err := d.InTx(t.Context(), func(tx *db.Tx) error {
				return addReady(t.Context(), tx, prepareProps(tx.Dialect(), nid, props), true)
			}); err != nil {
				t.Fatal(err)
			}
			want := min(n, 5) + min(n, 1)
			if got := count(t, d, fmt.Sprintf(`SELECT count(*) FROM entity_props WHERE nid = %d`, nid)); got != want {
				t.Errorf("%d entries, want %d", got, want)
			}
		}
		var all []propOf
		for nid := int64(100); nid < 150; nid++ {
			all = append(all, propOf{prop{PID: 1, Val: "a"}, nid}, propOf{prop{PID: 2, Val: "b"}, nid})
		}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error { return addAllProps(t.Context(), tx, all) }); err != nil {
			t.Fatal(err)
		}
		if got := count(t, d, `SELECT count(*) FROM entity_props WHERE nid >= 100`); got != len(all) {
			t.Errorf("%d entries of many, want %d", got, len(all))
		}
	})
}

// A name belongs to one twin of a workspace, and only that twin frees it.
func TestNames(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		add := func(ws string, nid int64, names ...ExternalID) error {
			return d.InTx(t.Context(), func(tx *db.Tx) error { return addNames(t.Context(), tx, ws, nid, names) })
		}
		if err := add("ws", 1, ExternalID{Scheme: "serial", Value: "1"}, ExternalID{Scheme: "crm", Value: "1"}); err != nil {
			t.Fatal(err)
		}
		if err := add("other", 2, ExternalID{Scheme: "serial", Value: "1"}); err != nil {
			t.Errorf("the same name in another workspace: %v", err)
		}
		err := add("ws", 3, ExternalID{Scheme: "new", Value: "1"}, ExternalID{Scheme: "serial", Value: "1"}, ExternalID{Scheme: "crm", Value: "1"})
		if f := fault.As(err); f == nil || f.Code != "EXTERNAL_ID_EXISTS" || len(f.Fields) != 2 || f.Fields[1].Pointer != "/externalIds/crm" {
			t.Errorf("two names that are taken = %+v, want both named", f)
		}
		drop := func(nid int64) {
			t.Helper()
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				return dropNames(t.Context(), tx, "ws", nid, []ExternalID{{Scheme: "serial", Value: "1"}})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		drop(3)
		if got := count(t, d, `SELECT count(*) FROM entity_externals`); got != 3 {
			t.Errorf("%d names, want 3: a twin frees its own only", got)
		}
		drop(1)
		if err := add("ws", 3, ExternalID{Scheme: "serial", Value: "1"}); err != nil {
			t.Errorf("a freed name: %v", err)
		}
	})
}
