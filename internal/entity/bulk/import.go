package bulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"runtime/debug"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/chunk"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/report"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The modes of an import.
const (
	modeCreate = "create"
	modeUpsert = "upsert"
)

// importJob is what an import was asked for.
type importJob struct {
	Format   sheet.Format      `json:"format"`
	Mode     string            `json:"mode"`
	DryRun   bool              `json:"dryRun"`
	Protocol string            `json:"protocol,omitzero"`
	Type     string            `json:"type,omitzero"`
	Mapping  map[string]string `json:"mapping,omitzero"`
}

// Counts is how far an import or a migration has come.
type Counts struct {
	Total     int64 `json:"total" doc:"Rows there are; 0 until they are counted."`
	Done      int64 `json:"done" doc:"Rows that have been looked at."`
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged" doc:"Twins that already were what the row says."`
	Migrated  int64 `json:"migrated,omitzero"`
	Skipped   int64 `json:"skipped,omitzero" doc:"Twins that are newer than the target, or deactivated."`
	Refused   int64 `json:"refused" doc:"Rows with an error, of which nothing is stored; see the report."`
	// Incomplete rows are counted above as well.
	Incomplete int64 `json:"incomplete,omitzero" doc:"Rows whose twin is stored and of which a relationship to a later row was refused."`
}

// add counts one outcome.
func (c *Counts) add(o chunk.Outcome) {
	c.Done++
	switch o.Action {
	case chunk.Created:
		c.Created++
	case chunk.Updated:
		c.Updated++
	case chunk.Unchanged:
		c.Unchanged++
	case chunk.Migrated:
		c.Migrated++
	case chunk.Skipped:
		c.Skipped++
	default:
		c.Refused++
	}
}

// importState is where an import goes on.
type importState struct {
	Line   int64  `json:"line"` // the last one that was stored
	Counts Counts `json:"counts"`
	Late   bool   `json:"late,omitzero"`  // some rows refer to later ones
	Edges  bool   `json:"edges,omitzero"` // all rows are stored, and edges to later ones are added
	Ended  bool   `json:"ended,omitzero"` // the file has served
}

// runImport is the job of an import.
func (s *Service) runImport(ctx context.Context, r *job.Run) error {
	t, err := s.mine(ctx, r)
	if err != nil {
		return err
	}
	var p importJob
	if err := decodeJSON(t.settings, &p); err != nil {
		return err
	}
	err = s.importFile(ctx, r, t.file, &p)
	if err == nil || fault.KindOf(err) == fault.Invalid { // the last attempt: the file has served
		return errors.Join(err, file.Drop(ctx, s.db, t.file))
	}
	return err
}

// mine reads the transfer of a run.
func (s *Service) mine(ctx context.Context, r *job.Run) (*transfer, error) {
	t, err := findTransfer(ctx, s.db, web.CallerFrom(ctx).Workspace, r.ID)
	if err == nil && t == nil {
		err = job.Permanent(fault.New(fault.NotFound, "TRANSFER_NOT_FOUND", "What this job was to work on has been removed."))
	}
	return t, err
}

func (s *Service) importFile(ctx context.Context, r *job.Run, id string, p *importJob) error {
	f, err := file.Find(ctx, s.db, id)
	if err != nil {
		return err
	}
	var st importState
	resumed, err := r.State(&st)
	if err != nil {
		return err
	}
	if st.Ended {
		r.SetResult(st.Counts)
		return nil
	}
	if f == nil {
		return fault.New(fault.Invalid, "FILE_GONE", "The file of this import has been removed.")
	}
	open := func() (*sheet.Reader, error) {
		in, err := sheet.Open(p.Format, file.Open(ctx, s.db, f), f.Bytes, sheet.Options{Kind: s.kinds(ctx, p), Mapping: p.Mapping})
		return in, blame(err)
	}
	// Look at all of it first: a file that is broken somewhere stores nothing,
	// progress has a total, and rows may refer to later ones.
	w := &importer{
		s: s, run: r, p: p, file: f, st: st, pace: chunk.NewPace(s.db), seen: map[string]bool{}, lines: map[uint64]int64{}, seed: maphash.MakeSeed(),
	}
	total, err := w.count(ctx, open)
	if err != nil {
		return err
	}
	if !resumed {
		w.st.Counts.Total = total
	}
	return w.passes(ctx, open)
}

// blame makes a fault of an error of the file.
func blame(err error) error {
	if f := fileFault(err); f != nil {
		return f
	}
	return err
}

// count reads a file to its end and notes where twins are.
func (w *importer) count(ctx context.Context, open func() (*sheet.Reader, error)) (n int64, err error) {
	in, err := open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for ; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return 0, blame(err)
		}
		if id := didOf(rec.JSON); id != "" {
			w.lines[maphash.String(w.seed, id)] = rec.Line
		}
		w.pace.Rest(ctx)
	}
}

// importer is one run of an import.
type importer struct {
	s    *Service
	run  *job.Run
	p    *importJob
	file *file.File
	st   importState
	pace *chunk.Pace
	// seen are the names the rows so far have taken, for a dry run: nothing is
	// there to clash with, or to refer to.
	seen map[string]bool
	// lines are the rows that name a DID, by the hash of it: a file may have a
	// million.
	lines map[uint64]int64
	seed  maphash.Seed
}

// passes stores the rows, then the edges to rows that came later.
func (w *importer) passes(ctx context.Context, open func() (*sheet.Reader, error)) error {
	for _, pass := range []func(context.Context, *sheet.Reader) error{w.all, w.edges} {
		in, err := open()
		if err != nil {
			return err
		}
		if err := errors.Join(pass(ctx, in), in.Close()); err != nil {
			return err
		}
	}
	w.st.Ended = true
	w.run.SetResult(w.st.Counts)
	return w.s.db.InTx(ctx, func(tx *db.Tx) error { return w.run.Save(ctx, tx, w.st) })
}

// all stores the rows after the last one that was stored.
func (w *importer) all(ctx context.Context, in *sheet.Reader) error {
	w.progress()
	if w.st.Edges {
		return nil
	}
	next, stop := w.ahead(ctx, in)
	defer stop()
	for {
		p := next()
		if p.err != nil || len(p.lines) == 0 {
			return p.err
		}
		w.st.Late = w.st.Late || p.late
		out, err := chunk.Store(ctx, w.s.db, chunk.Chunk{Steps: p.steps, All: w.s.allOf(p.steps, p.made), Dry: w.p.DryRun, Pace: w.pace, Seal: func(ctx context.Context, tx *db.Tx, out []chunk.Outcome, first int) error {
			return w.seal(ctx, tx, p.lines, out, first)
		}})
		if err != nil {
			return err
		}
		w.st = w.after(p.lines, out)
		w.progress()
	}
}

// ahead prepares rows while those before are stored: one chunk, so that little
// is in memory. stop waits for its end.
func (w *importer) ahead(ctx context.Context, in *sheet.Reader) (next func() prepared, stop func()) {
	skip := w.st.Line
	if w.p.DryRun { // it looks at the names that rows before have taken
		return func() prepared { return w.next(ctx, in, skip) }, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ready, done := make(chan prepared, 1), make(chan struct{})
	give := func(p prepared) bool {
		select {
		case ready <- p:
		case <-ctx.Done():
		}
		return p.err == nil && len(p.lines) > 0 && ctx.Err() == nil
	}
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil { // the runner of jobs sees its own goroutine only
				give(prepared{err: fmt.Errorf("panic while preparing rows: %v\n%s", v, debug.Stack())})
			}
		}()
		for give(w.next(ctx, in, skip)) {
		}
	}()
	next = func() prepared {
		select {
		case p := <-ready:
			return p
		case <-ctx.Done():
			return prepared{err: ctx.Err()}
		}
	}
	return next, func() {
		cancel()
		<-done
	}
}

// after is the state once some of the next rows are stored.
func (w *importer) after(lines []int64, out []chunk.Outcome) importState {
	st := w.st
	st.Line = lines[len(out)-1]
	for _, o := range out {
		st.Counts.add(o)
	}
	return st
}

// seal keeps the report and the place with the rows they tell of.
func (w *importer) seal(ctx context.Context, tx *db.Tx, lines []int64, out []chunk.Outcome, first int) error {
	st := w.after(lines, out)
	if err := w.run.Save(ctx, tx, st); err != nil {
		return err
	}
	rows := make([]report.Row, 0, len(out))
	for i, o := range out[first:] {
		row, err := resultRow(lines[first+i], o, w.p.DryRun)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if err := report.Insert(ctx, tx, w.run.ID, rows); err != nil {
		return err
	}
	return saveCounts(ctx, tx, w.run.ID, importCounts{Bytes: w.file.Bytes, SHA256: w.file.SHA256, Counts: st.Counts})
}

func (w *importer) progress() {
	note := "importing"
	if w.p.DryRun {
		note = "checking"
	}
	w.run.Progress(w.st.Counts.Done, w.st.Counts.Total, note)
}

// prepared are rows that are ready to be stored; none at the end of the file.
type prepared struct {
	lines []int64
	steps []chunk.Step
	made  []*entity.Prepared // by step; nil for one that makes no twin
	late  bool               // some refer to later rows
	err   error
}

// next prepares the next rows after a line: everything that needs no
// transaction.
func (w *importer) next(ctx context.Context, in *sheet.Reader, skip int64) prepared {
	var p prepared
	size := 0
	for len(p.lines) < ChunkRows && size < chunk.MaxBytes {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return prepared{err: blame(err)}
		}
		if err := ctx.Err(); err != nil {
			return prepared{err: err}
		}
		if rec.Line <= skip { // stored before a restart
			w.remember(rec)
			continue
		}
		st, made, late, err := w.step(ctx, rec)
		if err != nil {
			return prepared{err: err}
		}
		p.lines, p.steps, p.made, p.late = append(p.lines, rec.Line), append(p.steps, st), append(p.made, made), p.late || late
		size += st.Bytes
		w.pace.Rest(ctx)
	}
	return p
}

// remember notes the names of a row that an earlier attempt has checked.
func (w *importer) remember(rec sheet.Record) {
	if !w.p.DryRun || rec.JSON == nil {
		return
	}
	if row, err := w.p.rowOf(rec.JSON); err == nil {
		w.take(&row.draft)
	}
}

// step is what to do for a row, with the twin it makes if it makes one. late
// tells that it refers to later rows.
func (w *importer) step(ctx context.Context, rec sheet.Record) (st chunk.Step, made *entity.Prepared, late bool, err error) {
	if len(rec.Errs) > 0 {
		return chunk.Refuse("", recordFault(w.p.Format, rec.Errs)), nil, false, nil
	}
	row, err := w.p.rowOf(rec.JSON)
	if f := chunk.Refusal(err); f != nil {
		return chunk.Refuse("", f), nil, false, nil
	} else if err != nil {
		return chunk.Step{}, nil, false, err
	}
	early, later := w.split(row.draft.Relationships, rec.Line)
	row.draft.Relationships = early
	if w.p.DryRun {
		if w.p.Mode == modeUpsert && slices.ContainsFunc(names(&row.draft), func(name string) bool { return w.seen[name] }) {
			return chunk.Step{Done: &chunk.Outcome{DID: row.draft.DID, Action: chunk.Updated}}, nil, false, nil
		}
		if f := w.clash(&row.draft); f != nil {
			return chunk.Refuse(row.draft.DID, f), nil, false, nil
		}
	}
	st, made, err = w.prepare(ctx, row)
	if f := chunk.Refusal(err); f != nil {
		return chunk.Refuse(row.draft.DID, f), nil, false, nil
	}
	return st, made, len(later) > 0, err
}

// names are what a draft takes for itself.
func names(d *entity.Draft) []string {
	var out []string
	if d.DID != "" {
		out = append(out, d.DID)
	}
	for scheme, value := range d.ExternalIDs {
		out = append(out, scheme+"\x00"+value)
	}
	return out
}

func (w *importer) take(d *entity.Draft) {
	for _, name := range names(d) {
		w.seen[name] = true
	}
}

// clash tells of a name that an earlier row of the file has taken.
func (w *importer) clash(d *entity.Draft) *fault.Error {
	if d.DID != "" && w.seen[d.DID] {
		return fault.New(fault.Conflict, "ENTITY_EXISTS", "An earlier row has this DID.").
			With(fault.Field{Pointer: "/did", Code: "exists", Detail: "An earlier row has this DID."})
	}
	for scheme, value := range d.ExternalIDs {
		if w.seen[scheme+"\x00"+value] {
			return fault.New(fault.Conflict, "EXTERNAL_ID_EXISTS", "An earlier row has this external id.").
				With(fault.Field{Pointer: "/externalIds/" + scheme, Code: "exists", Detail: "An earlier row has this external id."})
		}
	}
	return nil
}

// pending tells whether a dry run fails only because it has not stored an
// earlier row this one refers to.
func (w *importer) pending(err error, d *entity.Draft) bool {
	switch fault.CodeOf(err) {
	case "RELATIONSHIP_TARGET_NOT_FOUND", "REFERENCE_NOT_FOUND":
		return slices.ContainsFunc(d.Relationships, func(r entity.RelationDraft) bool { return w.seen[r.Target] })
	}
	return false
}
