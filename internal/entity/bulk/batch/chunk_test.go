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
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// change stores a row, and fails afterwards when it is a bad one: half of it is
// stored then.
func change(of string, n int, err error) batch.Step {
	return batch.Step{Run: func(ctx context.Context, tx *db.Tx) (batch.Outcome, error) {
		_, bad := tx.Exec(ctx, `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, 0, 'step')`, of, n)
		return batch.Outcome{Action: batch.Created}, errors.Join(err, bad)
	}}
}

// stored lists what is in the store of a batch: steps, and seals from 1000 on.
func stored(t *testing.T, d *db.DB, of string) []int {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT n FROM batch_results WHERE batch = $1 ORDER BY n`, of)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// sealed notes every step that is sealed.
func sealed(of string) func(context.Context, *db.Tx, []batch.Outcome, int) error {
	return func(ctx context.Context, tx *db.Tx, out []batch.Outcome, first int) error {
		for n := first; n < len(out); n++ {
			if _, err := tx.Exec(ctx, `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, 0, 'seal')`, of, 1000+n); err != nil {
				return err
			}
		}
		return nil
	}
}

func refusedFault() error { return fault.New(fault.Conflict, "X_EXISTS", "X exists.") }

// trial is a chunk of steps of which the bad ones are refused: the even ones
// before they run, the odd ones when they do.
type trial struct {
	of    string
	bad   []int
	steps int
}

// check stores c with the steps of the trial. The good ones must be stored, each
// must be sealed once, and nothing may be left of the bad ones.
func (tr trial) check(t *testing.T, d *db.DB, c batch.Chunk) {
	t.Helper()
	c.Seal = sealed(tr.of)
	var want []int
	for n := range tr.steps {
		st := change(tr.of, n, nil)
		switch {
		case slices.Contains(tr.bad, n) && n%2 == 0:
			st = batch.Refuse("", fault.As(refusedFault()))
		case slices.Contains(tr.bad, n):
			st = change(tr.of, n, refusedFault())
		case !c.Dry:
			want = append(want, n)
		}
		c.Steps = append(c.Steps, st)
	}
	for n := range tr.steps {
		want = append(want, 1000+n)
	}
	out, err := batch.Store(t.Context(), d, c)
	if err != nil {
		t.Fatalf("%s: %v", tr.of, err)
	}
	for n, o := range out {
		if (o.Err != nil) != slices.Contains(tr.bad, n) {
			t.Errorf("%s: outcome %d = %+v", tr.of, n, o)
		}
	}
	if got := stored(t, d, tr.of); !slices.Equal(got, want) {
		t.Errorf("%s: stored %v, want %v", tr.of, got, want)
	}
}

// Whichever steps are refused, the others are stored, each is sealed once, and
// nothing is left of the refused ones.
func TestRefusedStepsLeaveNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, bad := range [][]int{nil, {0}, {4}, {11}, {0, 11}, {1, 2, 3}, {0, 1, 2, 3}, {7, 8, 9, 10, 11}, {0, 2, 4, 6, 8, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}} {
			for _, dry := range []bool{false, true} {
				trial{fmt.Sprint(bad, dry), bad, 12}.check(t, d, batch.Chunk{Dry: dry})
			}
		}
	})
}

// Trouble that nobody can mend ends the chunk, with nothing stored.
func TestTroubleEndsChunk(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		trouble := errors.New("the disk is gone")
		for name, err := range map[string]error{"error": trouble, "fault": fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "Later.").Wrap(trouble)} {
			c := batch.Chunk{Steps: []batch.Step{change(name, 0, nil), change(name, 1, refusedFault()), change(name, 2, err)}, Seal: sealed(name)}
			if _, got := batch.Store(t.Context(), d, c); !errors.Is(got, trouble) {
				t.Errorf("%s: err = %v, want %v", name, got, trouble)
			}
			if got := stored(t, d, name); len(got) != 0 {
				t.Errorf("%s: stored %v, want nothing", name, got)
			}
		}
		c := batch.Chunk{Steps: []batch.Step{change("seal", 0, nil)}, Seal: func(context.Context, *db.Tx, []batch.Outcome, int) error { return trouble }}
		if _, err := batch.Store(t.Context(), d, c); !errors.Is(err, trouble) || len(stored(t, d, "seal")) != 0 {
			t.Errorf("a seal that fails: %v", err)
		}
	})
}

// Steps that write much get transactions of their own, and each is sealed once,
// with refused ones among them.
func TestChunkIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, dry := range map[string]bool{"store": false, "dry": true} {
			var steps []batch.Step
			for n := range 20 {
				st := change(name, n, nil)
				if n%9 == 3 {
					st = change(name, n, refusedFault())
				}
				steps = append(steps, batch.Step{Run: func(ctx context.Context, tx *db.Tx) (batch.Outcome, error) {
					o, err := st.Run(ctx, tx)
					o.Bytes = batch.MaxBytes / 3
					return o, err
				}})
			}
			seals, most, seal := 0, 0, sealed(name)
			out, err := batch.Store(t.Context(), d, batch.Chunk{Steps: steps, Dry: dry, Seal: func(ctx context.Context, tx *db.Tx, out []batch.Outcome, first int) error {
				seals, most = seals+1, max(most, len(out)-first)
				return seal(ctx, tx, out, first)
			}})
			if err != nil || len(out) != 20 {
				t.Fatal(out, err)
			}
			if most > 5 || seals < 5 { // three that are stored, and refused ones
				t.Errorf("%s: %d seals, the largest of %d steps", name, seals, most)
			}
			var want []int
			for n := range 20 {
				if !dry && n%9 != 3 {
					want = append(want, n)
				}
				if refused := out[n].Err != nil; refused != (n%9 == 3) {
					t.Errorf("%s: step %d: %+v", name, n, out[n])
				}
			}
			for n := range 20 {
				want = append(want, 1000+n)
			}
			if got := stored(t, d, name); !slices.Equal(got, want) {
				t.Errorf("%s: stored %v, want %v", name, got, want)
			}
		}
	})
}
