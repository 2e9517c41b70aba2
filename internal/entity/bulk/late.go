package bulk

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

const groupProtocol = "did:ixo:protocol/group"

// glance is the DID a record names, "" when it names none, and whether it is a
// membership group.
func (p *importJob) glance(record jsontext.Value) (id string, group bool) {
	var named struct {
		DID        jsontext.Value `json:"did"`
		DomainType jsontext.Value `json:"domainType"`
		Protocol   jsontext.Value `json:"protocol"`
	}
	if record == nil || json.Unmarshal(record, &named) != nil {
		return "", false
	}
	protocol := p.Protocol
	if named.Protocol != nil {
		protocol = text(named.Protocol)
	}
	protocol, _, _ = strings.Cut(protocol, "@")
	return text(named.DID), protocol == groupProtocol || text(named.DomainType) == "group"
}

// text is a JSON text, "" for any other value.
func text(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// split separates a row's relationships to twins of later rows from the others.
func (ca *carrier) split(all []entity.RelationDraft, at int64) (early, late []entity.RelationDraft) {
	for _, d := range all {
		if ca.lines[maphash.String(ca.seed, d.Target)] > at {
			late = append(late, d)
		} else {
			early = append(early, d)
		}
	}
	return early, late
}

// told is the report's entry about a row.
func (w *importer) told(ctx context.Context, q db.Querier, line int64) (ReportRow, error) {
	var told ReportRow
	data, err := exchange.FindRow(ctx, q, w.run.ID, line)
	if err != nil {
		return told, err
	}
	return told, json.Unmarshal([]byte(data), &told)
}

// lateWork is what a later pass has to do for a row; nil when it has nothing
// to.
type lateWork func(ctx context.Context, tx *db.Tx, told *ReportRow) (outcome, error)

// relationships adds the relationships to twins of later rows, now that all are
// stored. A dry run has none to add.
func (w *importer) relationships(ctx context.Context, in *sheet.Reader) error {
	if !w.st.Late || w.p.DryRun || w.st.Stage > 0 {
		return nil
	}
	if !w.st.Edges {
		w.st.Line, w.st.Edges = 0, true
	}
	return w.later(ctx, in, func(rec sheet.Record, r *row) lateWork {
		_, group := w.p.glance(rec.JSON)
		_, late := w.split(r.draft.Relationships, place(rec.Line, group))
		if len(late) == 0 && !w.refers(r) {
			return nil
		}
		return func(ctx context.Context, tx *db.Tx, told *ReportRow) (outcome, error) {
			r.found = nil // it may run twice
			referred, _, err := w.refer(ctx, tx, r, true)
			if err != nil {
				return outcome{Action: unchanged}, err
			}
			return w.addRelationships(ctx, tx, r, append(late[:len(late):len(late)], referred...), told)
		}
	})
}

// stages are the domain types whose twins end one after the other: what others
// need ends after them, and the groups of an organisation after it. The first
// stage is all the rest.
var stages = []string{"", "project", "organisation", "group"}

func stageOf(domain string) int { return max(slices.Index(stages, domain), 0) }

// end deactivates the new twins of a stage that the file says are.
func (w *importer) end(ctx context.Context, in *sheet.Reader, stage int) error {
	if len(w.st.Last) <= stage || !w.st.Last[stage] || w.p.DryRun || w.st.Stage > stage+1 {
		return nil
	}
	if w.st.Stage != stage+1 {
		w.st.Line, w.st.Stage = 0, stage+1
	}
	return w.later(ctx, in, func(_ sheet.Record, r *row) lateWork {
		if r.status != entity.StatusDeactivated || stageOf(w.domainOf(ctx, r)) != stage {
			return nil
		}
		return func(ctx context.Context, tx *db.Tx, told *ReportRow) (outcome, error) {
			o := outcome{Action: unchanged}
			if told.Action != created {
				return o, nil
			}
			_, err := w.transition(ctx, tx, told.DID, entity.StatusDeactivated)
			if !told.OK && exchange.Refusal(err) != nil {
				return o, nil // it is incomplete already, and says why
			}
			return o, err
		}
	})
}

// later does the remaining work for rows, after the last one done.
func (w *importer) later(ctx context.Context, in *sheet.Reader, work func(sheet.Record, *row) lateWork) error {
	for {
		lines, steps, err := w.nextLate(ctx, in, work)
		if err != nil || len(lines) == 0 {
			return err
		}
		out, err := storeChunk(ctx, w.db, chunk{Steps: steps, Pace: w.pace, Seal: func(ctx context.Context, tx *db.Tx, out []outcome, first int) error {
			return w.sealLate(ctx, tx, lines, out, first)
		}})
		if err != nil {
			return err
		}
		w.st = w.afterLate(lines, out)
	}
}

// nextLate finds the next rows with remaining work.
func (w *importer) nextLate(ctx context.Context, in *sheet.Reader, work func(sheet.Record, *row) lateWork) (lines []int64, steps []step, err error) {
	for len(lines) < ChunkRows {
		rec, _, err := w.p.read(in)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, exchange.FileFault(err)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if rec.Line <= w.st.Line || rec.JSON == nil {
			continue
		}
		r, err := w.p.rowOf(rec.JSON)
		if err != nil {
			continue // it was refused
		}
		do := work(rec, r)
		if do == nil {
			continue
		}
		line := rec.Line
		lines = append(lines, line)
		steps = append(steps, step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
			told, err := w.told(ctx, tx, line)
			if err != nil || told.Action == refused {
				return outcome{Action: unchanged}, err
			}
			return do(ctx, tx, &told)
		}})
	}
	return lines, steps, nil
}

// addRelationships adds relationships to the twin of a row. One that only waited for
// them is active then, as if it had been made with them, or what the row says
// it is.
func (ca *carrier) addRelationships(ctx context.Context, tx *db.Tx, r *row, late []entity.RelationDraft, told *ReportRow) (outcome, error) {
	o := outcome{Action: unchanged}
	held, err := ca.entities.Find(ctx, tx, told.DID)
	if err != nil {
		return o, err
	}
	for _, d := range late {
		if _, err := ca.relate(ctx, tx, held, d); err != nil {
			return o, r.blame(d, err)
		}
	}
	if told.Action != created {
		return o, nil
	}
	now, err := ca.entities.Find(ctx, tx, told.DID)
	if err != nil {
		return o, err
	}
	if now, err = ca.activate(ctx, tx, r, now); err != nil {
		return o, err
	}
	if now, err = ca.settle(ctx, tx, r, now); err != nil {
		return o, err
	}
	said := row{status: r.status}
	o.Warnings = said.warn(now.Body)
	return o, nil
}

// activate makes a draft active that has all it needs, unless its row says that
// it is a draft.
func (ca *carrier) activate(ctx context.Context, tx *db.Tx, r *row, now *entity.Row) (*entity.Row, error) {
	if now.Status != entity.StatusDraft || r.status == entity.StatusDraft {
		return now, nil
	}
	e, err := now.Entity()
	if err != nil || len(e.MissingRelationships) > 0 {
		return now, err
	}
	return ca.transition(ctx, tx, now.DID, entity.StatusActive)
}

// afterLate is the state once something late is done for some rows.
func (w *importer) afterLate(lines []int64, out []outcome) importState {
	st := w.st
	st.Line = lines[len(out)-1]
	for _, o := range out {
		if o.Err != nil {
			st.Counts.Incomplete++
		}
		st.Counts.Warnings += int64(len(o.Warnings))
	}
	return st
}

// sealLate stores the position, and reports rows of which something was refused
// or differs.
func (w *importer) sealLate(ctx context.Context, tx *db.Tx, lines []int64, out []outcome, first int) error {
	st := w.afterLate(lines, out)
	if err := w.run.Save(ctx, tx, st); err != nil {
		return err
	}
	for i, o := range out {
		if i < first || o.Err == nil && len(o.Warnings) == 0 {
			continue
		}
		told, err := w.told(ctx, tx, lines[i])
		if err != nil {
			return err
		}
		both := outcome{DID: told.DID, Action: told.Action, Err: o.Err}
		for _, d := range told.Warnings {
			both.Warnings = append(both.Warnings, fault.Field(d))
		}
		both.Warnings = append(both.Warnings, o.Warnings...)
		row, err := resultRow(lines[i], both, false)
		if err != nil {
			return err
		}
		if err := exchange.UpdateRow(ctx, tx, w.run.ID, row); err != nil {
			return err
		}
	}
	return exchange.SaveCounts(ctx, tx, w.run.ID, importCounts{exchange.Received{Bytes: w.file.Bytes, SHA256: w.file.SHA256}, st.Counts})
}
