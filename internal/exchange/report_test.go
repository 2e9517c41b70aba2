package exchange_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
)

// results are rows from a line on; every third was refused.
func results(first, n int) []exchange.Row {
	var out []exchange.Row
	for i := range n {
		out = append(out, exchange.Row{Line: int64(first + i), OK: (first+i)%3 != 0, Data: fmt.Sprintf(`{"n":%d}`, first+i)})
	}
	return out
}

func insert(t *testing.T, d *db.DB, job string, rows []exchange.Row) error {
	t.Helper()
	return d.InTx(t.Context(), func(tx *db.Tx) error { return exchange.InsertRows(t.Context(), tx, job, rows) })
}

func list(t *testing.T, d *db.DB, p exchange.Page) []exchange.Row {
	t.Helper()
	rows, err := exchange.Rows(t.Context(), d, p)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Any number of rows goes in, comes out in order and in pages, and goes away.
func TestRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, n := range []int{0, 1, 9, 10, 11, 37} {
			job := fmt.Sprint("job", n)
			want := results(1, n)
			if err := insert(t, d, job, want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, list(t, d, exchange.Page{Job: job, Limit: 100})); diff != "" {
				t.Errorf("%d rows (-want +got):\n%s", n, diff)
			}
		}
		var refused []exchange.Row
		for _, r := range results(1, 37) {
			if !r.OK && r.Line > 5 {
				refused = append(refused, r)
			}
		}
		if diff := cmp.Diff(refused[:4], list(t, d, exchange.Page{Job: "job37", Refused: true, After: 5, Limit: 4})); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		changed := exchange.Row{Line: 7, OK: false, Data: "{}"}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error { return exchange.UpdateRow(t.Context(), tx, "job37", changed) }); err != nil {
			t.Fatal(err)
		}
		if data, err := exchange.FindRow(t.Context(), d, "job37", 7); err != nil || data != "{}" {
			t.Errorf("line 7 = %s, %v", data, err)
		}
		if data, err := exchange.FindRow(t.Context(), d, "job11", 7); err != nil || data != `{"n":7}` {
			t.Errorf("line 7 of another = %s, %v", data, err)
		}
		for _, want := range []int{30, 7, 0} {
			if n, err := exchange.RemoveRows(t.Context(), d, "job37", 30); err != nil || n != want {
				t.Errorf("removed %d, %v; want %d", n, err, want)
			}
		}
		if n := len(list(t, d, exchange.Page{Job: "job11", Limit: 100})); n != 11 {
			t.Errorf("%d rows of another are left, want 11", n)
		}
	})
}

// A line that is there already is an error, wherever it stands, and nothing of
// the others is stored: a row is told once.
func TestRowsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if err := insert(t, d, "job", results(14, 1)); err != nil {
			t.Fatal(err)
		}
		for _, first := range []int{5, 10, 14} {
			if err := insert(t, d, "job", results(first, 10)); err == nil {
				t.Errorf("from %d on: stored twice", first)
			}
		}
		if n := len(list(t, d, exchange.Page{Job: "job", Limit: 100})); n != 1 {
			t.Errorf("%d rows, want one", n)
		}
	})
}
