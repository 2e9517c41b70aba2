package app

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// A claim that was disputed when its job came has another one when the dispute is
// dismissed: the first does not count for it.
func TestIssueIsAskedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		later := issueLater(job.New(job.Config{DB: d}))
		ctx := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:elder"})
		for range 2 {
			if err := d.InTx(ctx, func(tx *db.Tx) error { return later(ctx, tx, "did:x:claim") }); err != nil {
				t.Fatal(err)
			}
		}
		var n int
		if err := d.QueryRow(ctx, `SELECT count(*) FROM jobs WHERE ws = 'ws' AND kind = $1`, kindIssue).Scan(&n); err != nil || n != 2 {
			t.Errorf("%d jobs (%v), want 2", n, err)
		}
	})
}
