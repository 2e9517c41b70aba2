package bulk

import (
	"context"
	"errors"
	"hash/maphash"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/chunk"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/report"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// didOf is the DID a record names, "" when it names none.
func didOf(record jsontext.Value) string {
	var named struct {
		DID jsontext.Value `json:"did"`
	}
	var id string
	if record == nil || json.Unmarshal(record, &named) != nil || named.DID.Kind() != '"' || json.Unmarshal(named.DID, &id) != nil {
		return ""
	}
	return id
}

// split tells the edges of a row to twins of later rows from the others.
func (w *importer) split(all []entity.RelationDraft, line int64) (early, late []entity.RelationDraft) {
	for _, d := range all {
		if w.lines[maphash.String(w.seed, d.Target)] > line {
			late = append(late, d)
		} else {
			early = append(early, d)
		}
	}
	return early, late
}

// edges adds the edges to twins of later rows, now that all are stored. A dry
// run has none to add.
func (w *importer) edges(ctx context.Context, in *sheet.Reader) error {
	if !w.st.Late || w.p.DryRun {
		return nil
	}
	if !w.st.Edges {
		w.st.Line, w.st.Edges = 0, true
	}
	for {
		lines, steps, err := w.nextEdges(ctx, in)
		if err != nil || len(lines) == 0 {
			return err
		}
		out, err := chunk.Store(ctx, w.s.db, chunk.Chunk{Steps: steps, Pace: w.pace, Seal: func(ctx context.Context, tx *db.Tx, out []chunk.Outcome, first int) error {
			return w.sealEdges(ctx, tx, lines, out, first)
		}})
		if err != nil {
			return err
		}
		w.st = w.afterEdges(lines, out)
	}
}

// nextEdges finds the next rows that refer to later ones.
func (w *importer) nextEdges(ctx context.Context, in *sheet.Reader) (lines []int64, steps []chunk.Step, err error) {
	for len(lines) < ChunkRows {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, blame(err)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if rec.Line <= w.st.Line || rec.JSON == nil {
			continue
		}
		row, err := w.p.rowOf(rec.JSON)
		if err != nil {
			continue // it was refused
		}
		if _, late := w.split(row.draft.Relationships, rec.Line); len(late) > 0 {
			line := rec.Line
			lines = append(lines, line)
			steps = append(steps, chunk.Step{Run: func(ctx context.Context, tx *db.Tx) (chunk.Outcome, error) { return w.addEdges(ctx, tx, line, late) }})
		}
	}
	return lines, steps, nil
}

// addEdges adds edges to the twin of a row. One that only waited for them is
// active then, as if it had been made with them.
func (w *importer) addEdges(ctx context.Context, tx *db.Tx, line int64, late []entity.RelationDraft) (chunk.Outcome, error) {
	o := chunk.Outcome{Action: chunk.Unchanged}
	data, err := report.Find(ctx, tx, w.run.ID, line)
	if err != nil {
		return o, err
	}
	var told ReportRow
	if err := decodeJSON(data, &told); err != nil || !told.OK {
		return o, err
	}
	held, err := w.s.cfg.Entities.Find(ctx, tx, told.DID)
	if err != nil {
		return o, err
	}
	for _, d := range late {
		if _, err := w.relate(ctx, tx, held, d); err != nil {
			return o, err
		}
	}
	if told.Action != chunk.Created || held.Status != entity.StatusDraft {
		return o, nil
	}
	next, err := w.s.cfg.Entities.Find(ctx, tx, told.DID)
	if err != nil {
		return o, err
	}
	e, err := next.Entity()
	if err != nil || len(e.MissingRelationships) > 0 {
		return o, err
	}
	_, err = w.s.cfg.Entities.TransitionTx(ctx, tx, told.DID, "", entity.Transition{To: entity.StatusActive})
	return o, err
}

// afterEdges is the state once edges of some rows are added.
func (w *importer) afterEdges(lines []int64, out []chunk.Outcome) importState {
	st := w.st
	st.Line = lines[len(out)-1]
	for _, o := range out {
		if o.Err != nil {
			st.Counts.Incomplete++
		}
	}
	return st
}

// sealEdges keeps the place, and tells of rows whose edges were refused.
func (w *importer) sealEdges(ctx context.Context, tx *db.Tx, lines []int64, out []chunk.Outcome, first int) error {
	st := w.afterEdges(lines, out)
	if err := w.run.Save(ctx, tx, st); err != nil {
		return err
	}
	for i, o := range out {
		if i < first || o.Err == nil {
			continue
		}
		data, err := report.Find(ctx, tx, w.run.ID, lines[i])
		if err != nil {
			return err
		}
		var told ReportRow
		if err := decodeJSON(data, &told); err != nil {
			return err
		}
		row, err := resultRow(lines[i], chunk.Outcome{DID: told.DID, Action: told.Action, Err: o.Err}, false)
		if err != nil {
			return err
		}
		if err := report.Update(ctx, tx, w.run.ID, row); err != nil {
			return err
		}
	}
	return saveCounts(ctx, tx, w.run.ID, importCounts{Bytes: w.file.Bytes, SHA256: w.file.SHA256, Counts: st.Counts})
}
