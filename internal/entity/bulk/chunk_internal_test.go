package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// change stores a row, and fails afterwards when it is a bad one: half of it is
// stored then.
func change(of string, n int, err error) step {
	return step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
		_, bad := tx.Exec(ctx, `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, 0, 'step')`, of, n)
		return outcome{Action: created}, errors.Join(err, bad)
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
func sealed(of string) func(context.Context, *db.Tx, []outcome, int) error {
	return func(ctx context.Context, tx *db.Tx, out []outcome, first int) error {
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
func (tr trial) check(t *testing.T, d *db.DB, c chunk) {
	t.Helper()
	c.Seal = sealed(tr.of)
	var want []int
	for n := range tr.steps {
		st := change(tr.of, n, nil)
		switch {
		case slices.Contains(tr.bad, n) && n%2 == 0:
			st = refuse("", fault.As(refusedFault()))
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
	out, err := storeChunk(t.Context(), d, c)
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
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for _, bad := range [][]int{nil, {0}, {4}, {11}, {0, 11}, {1, 2, 3}, {0, 1, 2, 3}, {7, 8, 9, 10, 11}, {0, 2, 4, 6, 8, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}} {
			for _, dry := range []bool{false, true} {
				trial{fmt.Sprint(bad, dry), bad, 12}.check(t, d, chunk{Dry: dry})
			}
		}
	})
}

// Trouble that nobody can mend ends the chunk, with nothing stored.
func TestTroubleEndsChunk(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		trouble := errors.New("the disk is gone")
		slow := &pace{db: d, limit: time.Hour} // a chunk is one transaction, however busy the machine is
		for name, err := range map[string]error{"error": trouble, "fault": fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "Later.").Wrap(trouble)} {
			c := chunk{Steps: []step{change(name, 0, nil), change(name, 1, refusedFault()), change(name, 2, err)}, Seal: sealed(name), Pace: slow}
			if _, got := storeChunk(t.Context(), d, c); !errors.Is(got, trouble) {
				t.Errorf("%s: err = %v, want %v", name, got, trouble)
			}
			if got := stored(t, d, name); len(got) != 0 {
				t.Errorf("%s: stored %v, want nothing", name, got)
			}
		}
		c := chunk{Steps: []step{change("seal", 0, nil)}, Seal: func(context.Context, *db.Tx, []outcome, int) error { return trouble }}
		if _, err := storeChunk(t.Context(), d, c); !errors.Is(err, trouble) || len(stored(t, d, "seal")) != 0 {
			t.Errorf("a seal that fails: %v", err)
		}
	})
}

// Steps that write much get transactions of their own, and each is sealed once,
// with refused ones among them.
func TestChunkIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for name, dry := range map[string]bool{"store": false, "dry": true} {
			var steps []step
			for n := range 20 {
				st := change(name, n, nil)
				if n%9 == 3 {
					st = change(name, n, refusedFault())
				}
				steps = append(steps, step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
					o, err := st.Run(ctx, tx)
					o.Bytes = maxChunk / 3
					return o, err
				}})
			}
			seals, most, seal := 0, 0, sealed(name)
			out, err := storeChunk(t.Context(), d, chunk{Steps: steps, Dry: dry, Seal: func(ctx context.Context, tx *db.Tx, out []outcome, first int) error {
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

// all stores rows for the steps at once and fails with err when a bad one is
// among them: half of them are stored then. It notes the largest number.
func allSteps(of string, bad []int, err error, most *int) func(context.Context, *db.Tx, []int) ([]outcome, error) {
	return func(ctx context.Context, tx *db.Tx, steps []int) ([]outcome, error) {
		*most = max(*most, len(steps))
		out := make([]outcome, len(steps))
		for i, n := range steps {
			if _, err := tx.Exec(ctx, `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, 0, 'all')`, of, n); err != nil {
				return nil, err
			}
			if slices.Contains(bad, n) {
				return nil, err
			}
			out[i] = outcome{Action: created, Revision: int64(n)}
		}
		return out, nil
	}
}

// Steps that are stored at once are stored as those that run one by one,
// whichever are refused, and each is sealed once.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		pace := newPace(d)
		for i, bad := range [][]int{nil, {0}, {46}, {9, 10}, {3, 17, 30}, {5, 6, 7, 8, 9, 10, 30}} {
			for name, err := range map[string]error{"some": errSome, "fault": refusedFault()} {
				for _, dry := range []bool{false, true} {
					of, most := fmt.Sprint(i, name, dry), 0
					trial{of, bad, 47}.check(t, d, chunk{Dry: dry, Pace: pace, All: allSteps(of, bad, err, &most)})
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
	c := chunk{Steps: make([]step, 5), Seal: sealed("trouble"), All: allSteps("trouble", []int{3}, trouble, &most)}
	if _, err := storeChunk(t.Context(), d, c); !errors.Is(err, trouble) || len(stored(t, d, "trouble")) != 0 {
		t.Errorf("err = %v, want %v and nothing stored", err, trouble)
	}
	most = 0
	c = chunk{Steps: make([]step, 50), Seal: sealed("large"), All: allSteps("large", nil, nil, &most)}
	for i := range c.Steps {
		c.Steps[i].Bytes = maxChunk/3 + 1
	}
	if out, err := storeChunk(t.Context(), d, c); err != nil || len(out) != 50 || out[49].Revision != 49 || most > 3 || len(stored(t, d, "large")) != 100 {
		t.Errorf("%d outcomes, %v, at most %d at once", len(out), err, most)
	}
}
