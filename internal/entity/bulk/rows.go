package bulk

import (
	"context"
	"errors"
	"io"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// prepared are rows that are ready to be stored; none at the end of the file.
type prepared struct {
	lines []int64
	steps []step
	made  []*entity.Prepared // by step; nil for one that makes no twin, or has more to do
	rows  []*row             // by step; nil for one that was refused
	cells [][]string         // by step, as the file has them; nil of NDJSON
	err   error
}

// note keeps what later passes have to do for some rows.
func (w *importer) note(p *prepared) {
	for _, r := range p.rows {
		if r == nil {
			continue
		}
		w.st.Late = w.st.Late || r.late
		if r.status == entity.StatusDeactivated {
			if len(w.st.Last) == 0 {
				w.st.Last = make([]bool, len(stages))
			}
			w.st.Last[r.stage] = true
		}
	}
}

// allOf stores new twins some at a time; nil when that cannot be.
func (w *importer) allOf(p *prepared) func(context.Context, *db.Tx, []int) ([]outcome, error) {
	all := allOf(w.entities, p.steps, p.made)
	if all == nil {
		return nil
	}
	return func(ctx context.Context, tx *db.Tx, steps []int) ([]outcome, error) {
		out, err := all(ctx, tx, steps)
		for i := range out {
			out[i].Warnings = p.rows[steps[i]].warn(out[i].Body)
		}
		return out, err
	}
}

// next prepares the next rows of a sweep: everything that needs no transaction.
func (w *importer) next(ctx context.Context, in *sheet.Reader, from *importState) prepared {
	var p prepared
	size := 0
	for len(p.lines) < ChunkRows && size < maxChunk {
		rec, _, err := w.p.read(in)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return prepared{err: exchange.FileFault(err)}
		}
		if err := ctx.Err(); err != nil {
			return prepared{err: err}
		}
		if skip, err := w.skip(ctx, rec, from); err != nil {
			return prepared{err: err}
		} else if skip {
			continue
		}
		st, made, row, err := w.step(ctx, rec)
		if err != nil {
			return prepared{err: err}
		}
		p.lines, p.steps, p.made, p.rows = append(p.lines, rec.Line), append(p.steps, st), append(p.made, made), append(p.rows, row)
		p.cells = append(p.cells, rec.Texts())
		size += st.Bytes
		w.pace.Rest(ctx)
	}
	return p
}

// skip says that a row is not one of a sweep, or was stored before a restart.
func (w *importer) skip(ctx context.Context, rec sheet.Record, from *importState) (bool, error) {
	if from.Sweep != sweepAll {
		_, group := w.p.glance(rec.JSON)
		switch {
		case !group && from.Sweep == sweepGroups:
			return true, nil
		case group && from.Sweep == sweepOthers:
			return true, w.remember(ctx, rec)
		}
	}
	if rec.Line > from.Line {
		return false, nil
	}
	return true, w.remember(ctx, rec)
}

// remember notes the names of a row that an earlier attempt has taken.
func (w *importer) remember(ctx context.Context, rec sheet.Record) error {
	if !w.resumed || rec.JSON == nil {
		return nil
	}
	r, err := w.p.rowOf(rec.JSON)
	if err != nil || len(namesOf(&r.draft)) == 0 {
		return nil
	}
	told, err := w.told(ctx, w.db, rec.Line)
	if err == nil && told.Action != refused {
		w.seen.take(&r.draft)
	}
	return err
}

// step is what to do for a row, with the twin it makes if it makes one. The row
// is nil when it was refused.
func (ca *carrier) step(ctx context.Context, rec sheet.Record) (step, *entity.Prepared, *row, error) {
	if len(rec.Errs) > 0 {
		return refuse("", rowFault(ca.p.Format, rec.Errs)), nil, nil, nil
	}
	r, err := ca.rowOf(ctx, rec)
	if f := exchange.Refusal(err); f != nil {
		return refuse("", ca.p.inTable(f)), nil, nil, nil
	} else if err != nil {
		return step{}, nil, nil, err
	}
	clash := ca.seen.clash(&r.draft)
	if ca.p.Mode == modeUpsert {
		if clash != nil && ca.p.DryRun {
			if f := ca.wrongValues(ctx, r); f != nil {
				return refuse(r.draft.DID, f), nil, nil, nil
			}
			st, err := ca.repeat(ctx, r)
			return st, nil, r, err
		}
		clash = nil // it is the same twin
	}
	st, made, err := ca.prepare(ctx, r)
	if f := withClash(exchange.Refusal(err), clash); f != nil {
		return refuse(r.draft.DID, ca.p.inTable(r.inColumns(f))), nil, nil, nil
	} else if err != nil {
		return st, nil, nil, err
	}
	ca.seen.take(&r.draft)
	if ca.p.DryRun && ca.p.Mode == modeUpsert {
		st, err = ca.rehearse(st, r, nil)
	}
	return st, made, r, err
}

// rowOf reads a row with all that the file as a whole says about it.
func (ca *carrier) rowOf(ctx context.Context, rec sheet.Record) (*row, error) {
	r, err := ca.p.rowOf(rec.JSON)
	if err != nil {
		return nil, err
	}
	referred, waits, err := ca.refer(ctx, ca.db, r, false)
	if err != nil {
		return nil, err
	}
	r.draft.Relationships = append(r.draft.Relationships, referred...)
	if len(r.draft.Relationships) > 0 {
		if err := ca.doubt(ctx, r, r.draft.Relationships); err != nil {
			return nil, err
		}
		_, group := ca.p.glance(rec.JSON)
		early, late := ca.split(r.draft.Relationships, place(rec.Line, group))
		r.draft.Relationships, r.late = early, len(late) > 0
	}
	r.late = r.late || waits
	if r.status == entity.StatusDeactivated {
		r.stage = stageOf(ca.domainOf(ctx, r))
	}
	if err := ca.control(ctx, r); err != nil {
		return nil, err
	}
	if ca.p.Mode == modeUpsert {
		r.merge, err = r.mergeOf()
	}
	return r, err
}
