package bulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
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

// Counts is the progress of an import or a migration.
type Counts api.TransferCounts

// add counts one outcome.
func (c *Counts) add(o outcome) {
	c.Done++
	c.Warnings += int64(len(o.Warnings))
	switch o.Action {
	case created:
		c.Created++
	case updated:
		c.Updated++
	case unchanged:
		c.Unchanged++
	case migrated:
		c.Migrated++
	case skipped:
		c.Skipped++
	default:
		c.Refused++
	}
}

// importState is where an import continues.
type importState struct {
	Line   int64  `json:"line"` // the last one that was stored
	Counts Counts `json:"counts"`
	Sweep  int    `json:"sweep,omitzero"` // which rows are stored, see sweepAll
	Late   bool   `json:"late,omitzero"`  // some rows refer to later ones
	Edges  bool   `json:"edges,omitzero"` // all rows are stored, and edges to later ones are added
	Last   []bool `json:"last,omitzero"`  // whether some rows end in a stage, see stages
	Stage  int    `json:"stage,omitzero"` // edges are added too, and the twins of this stage end
	Ended  bool   `json:"ended,omitzero"` // the file has served

	BadCells  int64 `json:"badCells,omitzero"` // bytes of cells that are kept, see cellsToKeep
	GoodCells int64 `json:"goodCells,omitzero"`
}

// The rows of a file are stored in its order, but for groups: they come before
// their organisations, which are made with them.
const (
	sweepAll    = iota // the file has no groups, or nothing else
	sweepGroups        // they are stored
	sweepOthers        // and the rest follows
)

// runImport is the job of an import.
func (s *Service) runImport(ctx context.Context, r *job.Run) error {
	var p importJob
	o, err := s.cfg.Exchange.Of(ctx, r, &p, &struct{}{})
	if err != nil {
		return err
	}
	err = s.importFile(ctx, r, o.File, &p)
	if err == nil && p.DryRun {
		return s.cfg.Exchange.Keep(ctx, o)
	}
	if err == nil || fault.KindOf(err) == fault.Invalid { // the last attempt: the file has served
		return errors.Join(err, file.Drop(ctx, s.db, o.File))
	}
	return err
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
		st.Counts.end(r, "imports")
		return nil
	}
	if f == nil {
		return fault.New(fault.Invalid, "FILE_GONE", "The file of this import has been removed.")
	}
	open := func() (*sheet.Reader, error) {
		in, err := sheet.Open(p.Format, file.Open(ctx, s.db, f), f.Bytes, sheet.Options{Kind: s.kinds(ctx, p), Mapping: p.Mapping})
		return in, exchange.FileFault(err)
	}
	// Look at all of it first: a file that is broken somewhere stores nothing,
	// progress has a total, and rows may refer to later ones.
	w := &importer{
		carrier: carrier{
			db: s.db, entities: s.cfg.Entities, protocols: s.cfg.Protocols, p: p, reason: "import " + r.ID,
			seen: newTakenNames(slices.Sorted(maps.Keys(uncarried))...), lines: map[uint64]int64{}, seed: maphash.MakeSeed(), foreign: map[string]bool{}, twins: map[string]bool{},
		},
		run: r, file: f, st: st, pace: newPace(s.db), resumed: resumed, exchange: s.cfg.Exchange,
	}
	total, groups, blank, err := w.count(ctx, open)
	if err != nil {
		return err
	}
	if !resumed {
		w.st.Counts.Total, w.st.Counts.Blank = total, blank
		if groups > 0 && groups < total {
			w.st.Sweep = sweepGroups
		}
	}
	return w.passes(ctx, open)
}

// count reads a file to its end and notes where twins are, and how many rows
// and groups there are, and rows without a value.
func (w *importer) count(ctx context.Context, open func() (*sheet.Reader, error)) (n, groups, blank int64, err error) {
	in, err := open()
	if err != nil {
		return 0, 0, 0, err
	}
	w.columns = columnsOf(in)
	defer func() { err = errors.Join(err, in.Close()) }()
	for ; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return 0, 0, 0, ctx.Err()
		}
		rec, empty, err := w.p.read(in)
		blank += empty
		if errors.Is(err, io.EOF) {
			return n, groups, blank + in.Blank(), nil
		} else if err != nil {
			return 0, 0, 0, exchange.FileFault(err)
		}
		id, group := w.p.glance(rec.JSON)
		if group {
			groups++
		}
		if id != "" {
			w.lines[maphash.String(w.seed, id)] = place(rec.Line, group)
		}
		w.externals(rec.JSON, place(rec.Line, group))
		w.pace.Rest(ctx)
	}
}

// place is where a row stands in the order in which rows are stored.
func place(line int64, group bool) int64 {
	if group {
		return line
	}
	return line + 1<<40 // after all groups
}

// importer is one run of an import.
type importer struct {
	carrier
	run     *job.Run
	file    *file.File
	st      importState
	pace    *pace
	resumed bool // an earlier attempt has stored rows

	exchange *exchange.Service
	columns  []exchange.Column // of a table
}

// passes stores the rows, then the relationships to rows that came later, then
// ends the twins that have ended, which nothing refers to any more.
func (w *importer) passes(ctx context.Context, open func() (*sheet.Reader, error)) error {
	type pass = func(context.Context, *sheet.Reader) error
	list := []pass{w.groups, w.all, w.relationships}
	for stage := range stages {
		list = append(list, func(ctx context.Context, in *sheet.Reader) error { return w.end(ctx, in, stage) })
	}
	for _, pass := range list {
		in, err := open()
		if err != nil {
			return err
		}
		if err := errors.Join(pass(ctx, in), in.Close()); err != nil {
			return err
		}
	}
	w.st.Ended = true
	w.st.Counts.end(w.run, "imports")
	return w.db.InTx(ctx, func(tx *db.Tx) error { return w.run.Save(ctx, tx, w.st) })
}

// groups stores the groups of a file that has other rows too.
func (w *importer) groups(ctx context.Context, in *sheet.Reader) error {
	if w.st.Sweep != sweepGroups {
		return nil
	}
	if err := w.all(ctx, in); err != nil {
		return err
	}
	w.st.Sweep, w.st.Line = sweepOthers, 0
	return nil
}

// all stores the rows of a sweep after the last one that was stored.
func (w *importer) all(ctx context.Context, in *sheet.Reader) error {
	w.progress()
	if w.st.Edges || w.st.Stage > 0 {
		return nil
	}
	next, stop := w.ahead(ctx, in)
	defer stop()
	for {
		p := next()
		if p.err != nil || len(p.lines) == 0 {
			return p.err
		}
		w.note(&p)
		out, err := storeChunk(ctx, w.db, chunk{Steps: p.steps, All: w.allOf(&p), Dry: w.p.DryRun, Pace: w.pace, Seal: func(ctx context.Context, tx *db.Tx, out []outcome, first int) error {
			for i := first; i < len(out); i++ {
				out[i].Err = p.rows[i].inColumns(out[i].Err)
			}
			return w.seal(ctx, tx, &p, out, first)
		}})
		if err != nil {
			return err
		}
		w.st = w.after(&p, out)
		w.progress()
	}
}

// ahead prepares rows while those before are stored: one chunk, so that little
// is in memory. stop waits for its end.
func (w *importer) ahead(ctx context.Context, in *sheet.Reader) (next func() prepared, stop func()) {
	from := w.st
	if w.p.DryRun { // the steps look at the names that rows before have taken
		return func() prepared { return w.next(ctx, in, &from) }, func() {}
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
		for give(w.next(ctx, in, &from)) {
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
func (w *importer) after(p *prepared, out []outcome) importState {
	st := w.st
	st.Line = p.lines[len(out)-1]
	_, st.BadCells, st.GoodCells = w.cellsToKeep(p, out)
	for _, o := range out {
		st.Counts.add(o)
	}
	return st
}

// seal stores the report and the position together with the rows they describe.
func (w *importer) seal(ctx context.Context, tx *db.Tx, p *prepared, out []outcome, first int) error {
	st := w.after(p, out)
	if err := w.run.Save(ctx, tx, st); err != nil {
		return err
	}
	rows := make([]exchange.Row, 0, len(out))
	for i, o := range out[first:] {
		o.Err = w.advise(o.Err)
		row, err := resultRow(p.lines[first+i], o, w.p.DryRun)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if err := exchange.InsertRows(ctx, tx, w.run.ID, rows); err != nil {
		return err
	}
	if err := w.keepCells(ctx, tx, p, out, first); err != nil {
		return err
	}
	return exchange.SaveCounts(ctx, tx, w.run.ID, importCounts{exchange.Received{Bytes: w.file.Bytes, SHA256: w.file.SHA256}, st.Counts})
}

// advise adds a hint to the fault of a row whose twin exists already.
func (w *importer) advise(f *fault.Error) *fault.Error {
	if f == nil || f.Code != "EXTERNAL_ID_EXISTS" || w.p.Mode == modeUpsert {
		return f
	}
	told := *f
	told.Message += " Import with mode=upsert to change it."
	return &told
}

func (w *importer) progress() {
	note := "importing"
	if w.p.DryRun {
		note = "checking"
	}
	w.run.Progress(w.st.Counts.Done, w.st.Counts.Total, note)
}
