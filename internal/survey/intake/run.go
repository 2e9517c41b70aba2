package intake

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// state is where an import continues.
type state struct {
	Line   int64  `json:"line"` // the last row that was stored
	Counts Counts `json:"counts"`
	Ended  bool   `json:"ended,omitzero"` // the file has served
}

// run is the job of an import.
func (s *Service) run(ctx context.Context, r *job.Run) error {
	var p settings
	o, err := s.cfg.Exchange.Of(ctx, r, &p, &struct{}{})
	if err != nil {
		return err
	}
	err = s.importFile(ctx, r, o, &p)
	if err == nil || fault.KindOf(err) == fault.Invalid { // the last attempt: the file has served
		return errors.Join(err, file.Drop(ctx, s.db, o.File))
	}
	return err
}

func (s *Service) importFile(ctx context.Context, r *job.Run, o *exchange.Order, p *settings) error {
	w := &worker{s: s, run: r, p: p, received: map[*zip.File]*fault.Field{}}
	resumed, err := r.State(&w.st)
	if err != nil {
		return err
	}
	if w.st.Ended {
		w.end()
		return nil
	}
	if w.open, err = s.cfg.Surveys.Open(ctx, p.SurveyID); err != nil {
		return job.Permanent(err)
	}
	if w.file, err = file.Find(ctx, s.db, o.File); err != nil {
		return err
	}
	if w.file == nil {
		return fault.New(fault.Invalid, "FILE_GONE", "The file of this import has been removed.")
	}
	if !resumed {
		// Look at all of it first: a file that is broken somewhere stores nothing.
		if w.st.Counts.Total, err = w.count(ctx); err != nil {
			return err
		}
	}
	if err := w.rows(ctx); err != nil {
		return err
	}
	w.st.Ended = true
	w.end()
	return s.db.InTx(ctx, func(tx *db.Tx) error { return r.Save(ctx, tx, w.st) })
}

// worker is one run of an import.
type worker struct {
	s    *Service
	run  *job.Run
	p    *settings
	open *survey.Open
	file *file.File
	in   *input
	st   state

	received map[*zip.File]*fault.Field // files of the archive that were stored, or why not
}

// input opens the file.
func (w *worker) input(ctx context.Context) (*input, error) {
	l := w.s.cfg.Layout(w.open)
	in := &input{
		p: w.p, caller: web.CallerFrom(ctx), layout: l, heads: l.Heads(), names: newNames(w.p, l), src: file.Open(ctx, w.s.db, w.file), size: w.file.Bytes,
		from: fmt.Sprintf("imported from %s %s, SHA-256 %s", w.p.Source, w.p.Format, w.file.SHA256),
	}
	return in, in.open(ctx)
}

// count reads the file to its end and counts its rows.
func (w *worker) count(ctx context.Context) (n int64, err error) {
	in, err := w.input(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for ; ; n++ {
		if _, err := in.row(); errors.Is(err, io.EOF) && fault.As(err) == nil {
			return n, nil
		} else if err != nil {
			return 0, err
		}
		if n%100 == 0 {
			w.run.Progress(0, 0, fmt.Sprintf("%d rows read", n))
			if err := ctx.Err(); err != nil {
				return 0, err
			}
		}
	}
}

// rows stores the rows after the last one that was stored.
func (w *worker) rows(ctx context.Context) (err error) {
	if w.in, err = w.input(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.in.Close()) }()
	w.in.hashing, w.in.after = true, w.st.Line
	var chunk []*work
	for {
		w.progress()
		r, err := w.in.row()
		last := errors.Is(err, io.EOF)
		if err != nil && (!last || fault.As(err) != nil) {
			return err
		}
		if !last {
			if r.line <= w.st.Line {
				continue
			}
			one, err := w.prepare(ctx, r)
			if err != nil {
				return err
			}
			// A response that replaces another is stored in its own transaction,
			// so that it can be undone when it is refused.
			if one.alone() {
				if err := w.flush(ctx, chunk); err != nil {
					return err
				}
				chunk = nil
				if err := w.single(ctx, one); err != nil {
					return err
				}
				continue
			}
			chunk = append(chunk, one)
		}
		if len(chunk) == together || last {
			if err := w.flush(ctx, chunk); err != nil {
				return err
			}
			chunk = nil
		}
		if last {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// work is a row on its way.
type work struct {
	row
	ready  *response.Prepared // nil when the row was refused
	stored int64              // attachments

	action  string
	missing []string // attachments that have not arrived
}

func (w *work) alone() bool { return w.ready != nil && w.draft.Supersedes != "" }

// prepare does everything for a row that needs no transaction.
func (w *worker) prepare(ctx context.Context, r *row) (*work, error) {
	one := &work{row: *r}
	if r.err != nil {
		return one, nil
	}
	d := r.draft
	ready, err := w.s.cfg.Responses.PrepareImport(ctx, w.open, d, w.in.from)
	if bad := exchange.Refusal(err); bad != nil {
		// A response that was stored before is recognised even when the survey
		// has ended.
		if w.s.cfg.Responses.Known(ctx, w.open, d) != nil {
			one.action = unchanged
			return one, nil
		}
		one.err = bad
		return one, nil
	} else if err != nil {
		return nil, err
	}
	if w.p.Source != Hearth && ready.NoConsent() {
		one.notes = append(one.notes, noConsent())
	}
	if one.ready = ready; !w.p.DryRun {
		if one.stored, err = w.receive(ctx, &one.row); err != nil {
			return nil, err
		}
	}
	return one, nil
}

// errDry undoes what a dry run has done.
var errDry = errors.New("a dry run stores nothing")

// flush stores some rows with their report, in one transaction.
func (w *worker) flush(ctx context.Context, chunk []*work) error {
	if len(chunk) == 0 {
		return nil
	}
	if w.p.DryRun {
		err := w.s.db.InTx(ctx, func(tx *db.Tx) error {
			if err := w.take(ctx, tx, chunk); err != nil {
				return err
			}
			return errDry
		})
		if !errors.Is(err, errDry) {
			return err
		}
		return w.commit(ctx, chunk, func(*db.Tx) error { return nil })
	}
	return w.commit(ctx, chunk, func(tx *db.Tx) error { return w.take(ctx, tx, chunk) })
}

// single stores one row in a transaction of its own.
func (w *worker) single(ctx context.Context, one *work) error {
	before := *one
	err := w.flush(ctx, []*work{one})
	if bad := exchange.Refusal(err); bad != nil && fault.CodeOf(err) != "" && !errors.Is(err, context.Canceled) {
		*one = before
		one.ready, one.err = nil, bad
		return w.commit(ctx, []*work{one}, func(*db.Tx) error { return nil })
	}
	return err
}

// take stores rows. A refused one stores nothing, unless it replaces another:
// then the fault is returned.
func (w *worker) take(ctx context.Context, tx *db.Tx, chunk []*work) error {
	var deltas []survey.Delta
	for _, one := range chunk {
		if one.ready == nil {
			continue
		}
		one.err, one.action = nil, "" // it may run twice
		done, err := w.s.cfg.Responses.TakeTx(ctx, tx, one.ready)
		if bad := exchange.Refusal(err); bad != nil && !one.alone() {
			one.err = bad
			continue
		} else if err != nil {
			return err
		}
		switch {
		case !done.Fresh:
			one.action = unchanged
		case done.Row.Status == response.Partial:
			one.action = partial
		default:
			one.action = created
		}
		deltas = append(deltas, done.Deltas...)
		if err := w.warn(ctx, tx, one, done); err != nil {
			return err
		}
	}
	if len(deltas) == 0 {
		return nil
	}
	return w.s.cfg.Surveys.Count(ctx, tx, w.open, deltas...)
}

// commit stores the report and the position together with the rows they
// describe.
func (w *worker) commit(ctx context.Context, chunk []*work, store func(*db.Tx) error) error {
	var st state
	err := w.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := w.run.Hold(ctx, tx); err != nil {
			return err
		}
		if err := store(tx); err != nil {
			return err
		}
		st = w.st
		rows := make([]exchange.Row, 0, len(chunk))
		for _, one := range chunk {
			st.Line = one.line
			st.Counts.add(one)
			row, err := one.report()
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		if err := w.run.Save(ctx, tx, st); err != nil {
			return err
		}
		if err := exchange.InsertRows(ctx, tx, w.run.ID, rows); err != nil {
			return err
		}
		return exchange.SaveCounts(ctx, tx, w.run.ID, counted{exchange.Received{Bytes: w.file.Bytes, SHA256: w.file.SHA256}, st.Counts})
	})
	if err == nil {
		w.st = st
	}
	return err
}

// add counts a row.
func (c *Counts) add(one *work) {
	c.Done++
	c.Media += one.stored
	c.Warnings += int64(min(len(one.notes), exchange.MaxFields))
	switch {
	case one.err != nil:
		c.Refused++
	case one.action == unchanged:
		c.Unchanged++
	default:
		if c.Created++; one.action == partial {
			c.Partial++
		}
	}
}

func (w *worker) progress() {
	note := "importing"
	if w.p.DryRun {
		note = "checking"
	}
	w.run.Progress(w.st.Counts.Done, w.st.Counts.Total, note)
}

// end gives the job its result.
func (w *worker) end() {
	c := &w.st.Counts
	w.run.Tally(c.Done-c.Refused, c.Refused)
	w.run.SetResult(struct {
		Counts
		Links api.ReportLinks `json:"links"`
	}{*c, links(w.p.SurveyID, w.run.ID)})
}
