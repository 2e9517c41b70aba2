package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/batch"
)

// all stores rows for the steps at once and fails with err when a bad one is
// among them: half of them are stored then. It notes the largest number.
func all(of string, bad []int, err error, most *int) func(context.Context, *db.Tx, []int) ([]batch.Outcome, error) {
	return func(ctx context.Context, tx *db.Tx, steps []int) ([]batch.Outcome, error) {
		*most = max(*most, len(steps))
		out := make([]batch.Outcome, len(steps))
		for i, n := range steps {
			if _, err := tx.Exec(ctx, `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, 0, 'all')`, of, n); err != nil {
				return nil, err
			}
			if slices.Contains(bad, n) {
				return nil, err
			}
			out[i] = batch.Outcome{Action: batch.Created, Revision: int64(n)}
		}
		return out, nil
	}
}

// Steps that are stored at once are stored as those that run one by one,
// whichever are refused, and each is sealed once.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		pace := batch.NewPace(d)
		for i, bad := range [][]int{nil, {0}, {46}, {9, 10}, {3, 17, 30}, {5, 6, 7, 8, 9, 10, 30}} {
			for name, err := range map[string]error{"some": batch.ErrSome, "fault": refusedFault()} {
				for _, dry := range []bool{false, true} {
					of, most := fmt.Sprint(i, name, dry), 0
					trial{of, bad, 47}.check(t, d, batch.Chunk{Dry: dry, Pace: pace, All: all(of, bad, err, &most)})
					if most == 0 {
						t.Errorf("%s: nothing was done at once", of)
					}
				}
			}
		}
	})
}

// Trouble that nobody can mend ends the chunk, and what is large is stored in
// several transactions.
func TestAllAtOnceBounds(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	trouble := errors.New("the disk is gone")
	most := 0
	c := batch.Chunk{Steps: make([]batch.Step, 5), Seal: sealed("trouble"), All: all("trouble", []int{3}, trouble, &most)}
	if _, err := batch.Store(t.Context(), d, c); !errors.Is(err, trouble) || len(stored(t, d, "trouble")) != 0 {
		t.Errorf("err = %v, want %v and nothing stored", err, trouble)
	}
	most = 0
	c = batch.Chunk{Steps: make([]batch.Step, 50), Seal: sealed("large"), All: all("large", nil, nil, &most)}
	for i := range c.Steps {
		c.Steps[i].Bytes = batch.MaxBytes/3 + 1
	}
	if out, err := batch.Store(t.Context(), d, c); err != nil || len(out) != 50 || out[49].Revision != 49 || most > 3 || len(stored(t, d, "large")) != 100 {
		t.Errorf("%d outcomes, %v, at most %d at once", len(out), err, most)
	}
}
