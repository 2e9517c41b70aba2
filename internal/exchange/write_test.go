package exchange_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const limit = 3 * file.PieceSize

// state is that of an export of these tests.
type state struct {
	exchange.Mark
	Ended bool `json:"ended"`
}

// counts is how far one of them has come.
type counts struct {
	Bytes int64 `json:"bytes"`
}

type rig struct {
	*exchange.Service
	db   *db.DB
	jobs *job.Service
	done chan struct{}
}

func newRig(d *db.DB) *rig {
	r := &rig{db: d, done: make(chan struct{}, 1)}
	r.jobs = job.New(job.Config{DB: d, Cursors: eventtest.Cursors(), Record: func(_ context.Context, tx *db.Tx, _, _ string, _ int64) error {
		tx.AfterCommit(func() { r.done <- struct{}{} })
		return nil
	}})
	r.Service = exchange.New(exchange.Config{DB: d, Jobs: r.jobs, Flights: &file.Flights{}})
	return r
}

// export runs an export with one function for each attempt, and gives the
// order and its job at the end.
func (r *rig) export(t *testing.T, attempts ...func(ctx context.Context, run *job.Run, w *exchange.Writer) error) (job.Job, *exchange.Order) {
	t.Helper()
	ctx := web.WithCaller(t.Context(), eventtest.Caller("w", "owner"))
	var id string
	err := r.db.InTx(ctx, func(tx *db.Tx) error {
		j, err := r.BeginExport(ctx, tx, exchange.Order{Kind: "test.export", About: 7}, map[string]string{"filter": "x", "format": "y"})
		id = j.Value.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := r.jobs.NewRunner(job.RunnerConfig{Backoff: func(int) time.Duration { return 0 }, Handlers: map[string]job.Handler{
		"test.export": func(ctx context.Context, run *job.Run) error {
			o, err := r.Of(ctx, run, &struct{}{}, &struct{}{})
			if err != nil {
				return err
			}
			w := r.Writer(run, o, limit)
			return w.End(ctx, attempts[run.Attempt-1](ctx, run, w), "things", "/format")
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(running)
	}()
	<-r.done
	stop()
	<-ended
	j, o, err := r.Look(ctx, "test.export", id)
	if err != nil || o == nil {
		t.Fatalf("Look() = %v, %v", o, err)
	}
	return j, o
}

// add adds some bytes to a file and stores them.
func add(ctx context.Context, w *exchange.Writer, raw []byte, end bool) error {
	m, err := w.Add(raw, end)
	if err != nil {
		return err
	}
	return w.Save(ctx, state{m, end}, counts{w.Bytes()})
}

// whole wants the file of an order to be want.
func (r *rig) whole(t *testing.T, j job.Job, o *exchange.Order, want []byte) {
	t.Helper()
	f, until, err := r.File(t.Context(), o, j.Status)
	sum := sha256.Sum256(want)
	if err != nil || f == nil || f.SHA256 != hex.EncodeToString(sum[:]) || f.Bytes != int64(len(want)) || !until.After(time.Now()) {
		t.Fatalf("%s: File() = %+v until %v, %v", j.Status, f, until, err)
	}
	got, err := io.ReadAll(io.NewSectionReader(file.Walk(t.Context(), r.db, f), 0, f.Bytes))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, want %d: %v", len(got), len(want), err)
	}
	var n counts
	if err := o.Read(&struct{}{}, &n); err != nil || n.Bytes != int64(len(want)) {
		t.Errorf("counts = %+v, %v", n, err)
	}
}

// An attempt that is killed is taken up where it stopped, and the file is as if
// it had not been.
func TestResumed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(d)
		first, rest := bytes.Repeat([]byte("ab"), file.PieceSize), []byte("the rest")
		killed := errors.New("killed")
		j, o := r.export(t, func(ctx context.Context, _ *job.Run, w *exchange.Writer) error {
			return errors.Join(w.Begin(ctx), add(ctx, w, first, false), killed)
		}, func(ctx context.Context, run *job.Run, w *exchange.Writer) error {
			var st state
			if ok, err := run.State(&st); !ok || err != nil || !st.Begun() || st.Pieces != 2 {
				t.Errorf("state = %+v, %v, %v", st, ok, err)
			}
			return errors.Join(w.Resume(ctx, st.Mark), add(ctx, w, nil, false), killed)
		}, func(ctx context.Context, run *job.Run, w *exchange.Writer) error {
			var st state
			_, err := run.State(&st)
			return errors.Join(err, w.Resume(ctx, st.Mark), add(ctx, w, rest, true))
		})
		r.whole(t, j, o, append(first, rest...))
	})
}

// What begins from the beginning is not taken up where an earlier attempt was.
func TestBegunAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(d)
		j, o := r.export(t, func(ctx context.Context, _ *job.Run, w *exchange.Writer) error {
			return errors.Join(w.Begin(ctx), add(ctx, w, []byte("one"), false), w.Begin(ctx), errors.New("killed"))
		}, func(ctx context.Context, run *job.Run, w *exchange.Writer) error {
			var st state
			if _, err := run.State(&st); err != nil || st.Begun() {
				t.Errorf("state = %+v, %v", st, err)
			}
			return errors.Join(w.Begin(ctx), add(ctx, w, []byte("two"), true))
		})
		r.whole(t, j, o, []byte("two"))
	})
}

// Whoever is erased takes the file that is being written away, also after its
// last byte. A new one can take its place, and nothing of the old stays.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(d)
		erase := map[string]func(ctx context.Context) error{
			"somebody": func(ctx context.Context) error {
				return d.InTx(ctx, func(tx *db.Tx) error { return r.Condemn(ctx, tx, "w") })
			},
			"a part of the survey": func(ctx context.Context) error { return r.ForgetAbout(ctx, "w", 7) },
		}
		for name, erase := range erase {
			t.Run(name, func(t *testing.T) {
				j, o := r.export(t, func(ctx context.Context, _ *job.Run, w *exchange.Writer) error {
					if err := errors.Join(w.Begin(ctx), add(ctx, w, []byte("old"), false)); err != nil {
						return err
					}
					m, err := w.Add([]byte("er"), true)
					if err := errors.Join(err, erase(ctx)); err != nil {
						return err
					}
					if err := w.Save(ctx, state{m, true}, counts{}); !errors.Is(err, file.ErrGone) {
						t.Errorf("Save() = %v, want %v", err, file.ErrGone)
					}
					if err := w.Begin(ctx); !errors.Is(err, file.ErrGone) {
						t.Errorf("Begin() = %v, want %v", err, file.ErrGone)
					}
					return errors.Join(w.Renew(ctx), w.Begin(ctx), add(ctx, w, []byte("ne"), false), add(ctx, w, []byte("w"), true))
				})
				r.whole(t, j, o, []byte("new"))
				if left, err := r.Forget(t.Context(), "w"); left || err != nil {
					t.Errorf("Forget() = %v, %v", left, err)
				}
				for table, want := range map[string]int{"transfer_files": 1, "transfer_pieces": 2} {
					var n int
					if err := d.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != want {
						t.Errorf("%s: %d rows, want %d, %v", table, n, want, err)
					}
				}
				if err := r.ForgetAbout(t.Context(), "w", 8); err != nil { // another one
					t.Fatal(err)
				}
				r.whole(t, j, o, []byte("new"))
				if err := r.ForgetAbout(t.Context(), "w", 7); err != nil {
					t.Fatal(err)
				}
				if f, _, err := r.File(t.Context(), o, j.Status); f != nil || err != nil {
					t.Errorf("File() = %+v, %v, want none", f, err)
				}
			})
		}
	})
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(d)
		j, o := r.export(t, func(ctx context.Context, _ *job.Run, w *exchange.Writer) error {
			if err := errors.Join(w.Begin(ctx), add(ctx, w, make([]byte, limit), false)); err != nil {
				return err
			}
			err := add(ctx, w, []byte("x"), true)
			if fault.CodeOf(err) != "EXPORT_TOO_LARGE" {
				t.Errorf("Add() = %v", err)
			}
			return err
		})
		if f, err := file.Find(t.Context(), d, o.File); j.Status != job.Failed || f != nil || err != nil {
			t.Errorf("%s: file = %+v, %v, want none", j.Status, f, err)
		}
	})
}
