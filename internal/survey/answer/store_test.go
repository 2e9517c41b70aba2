package answer_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
)

// TestStore: any number of rows is stored, each once however often it is given, and
// once more changes nothing.
func TestStore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for n := range 40 {
			nid := int64(n + 1)
			var rows []answer.Row
			for i := range n {
				r := answer.Row{QID: int64(i % 3), Code: fmt.Sprint("o", i), Num: float64(i) / 2, Item: int64(i % 2)}
				rows = append(rows, r, r)
			}
			ready := answer.Prepare(d.Dialect(), nid, rows)
			for i, add := range []func(*db.Tx) error{
				func(tx *db.Tx) error { return answer.AddNew(t.Context(), tx, ready) },
				func(tx *db.Tx) error { return answer.Add(t.Context(), tx, ready) },
			} {
				if err := d.InTx(t.Context(), add); err != nil {
					t.Fatal(i, err)
				}
				var got, sum int
				err := d.QueryRow(t.Context(), `SELECT count(*), coalesce(CAST(sum(2 * num) AS BIGINT), 0) FROM answers WHERE nid = $1`, nid).Scan(&got, &sum)
				if err != nil || got != n || sum != n*(n-1)/2 {
					t.Errorf("%d of %d rows, of %d in all: %v", got, n, sum, err)
				}
			}
		}
	})
}
