package bulk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// exportPage is how many twins an export reads at once.
const exportPage = 100

// ExportDraft is what an export is made from.
type ExportDraft struct {
	Format       sheet.Format `json:"format" enum:"ndjson,csv,xlsx" example:"csv"`
	Columns      []string     `json:"columns,omitzero" doc:"Paths into the record, at most 1000: did, properties.serial. Without them CSV and XLSX have a column for every value there is, NDJSON the whole record."`
	Filter       string       `json:"filter,omitzero" doc:"As in the list of twins." example:"eq(status,active)"`
	Type         string       `json:"type,omitzero"`
	Class        string       `json:"class,omitzero" enum:"physical,cognitive,system,oracle"`
	Protocol     string       `json:"protocol,omitzero" doc:"DID of the protocol."`
	Status       string       `json:"status,omitzero" enum:"draft,active,suspended,completed,deactivated"`
	Project      string       `json:"project,omitzero" doc:"DID of the project."`
	UpdatedSince time.Time    `json:"updatedSince,omitzero"`
	Near         string       `json:"near,omitzero" doc:"Latitude, longitude, metres."`
}

func (d *ExportDraft) query() search.Query {
	return search.Query{
		Filter: d.Filter, Type: d.Type, Class: d.Class, Protocol: d.Protocol, Status: d.Status, Project: d.Project,
		UpdatedSince: d.UpdatedSince, Near: d.Near, Sort: "created", Limit: exportPage,
	}
}

// validate names everything that is wrong. Whether the filter is one, the
// search tells.
func (d *ExportDraft) validate() error {
	var c fault.Checks
	if !d.Format.Known() {
		c.Add("/format", "unknown", "The format must be ndjson, csv or xlsx.")
	}
	if _, err := sheet.NewColumns(d.Columns...); err != nil {
		detail := err.Error()
		if e := sheet.AsError(err); e != nil {
			detail = e.Detail
		}
		c.Add("/columns", "invalid", detail)
	}
	size := 0
	for _, p := range d.Columns {
		size += len(p)
	}
	if size > 32<<10 {
		c.Add("/columns", "too_long", "The columns have more than 32768 bytes.")
	}
	return c.Err("EXPORT_INVALID", "The export is not valid.")
}

// exported is how far an export has come, as it is stored.
type exported struct {
	Total    int64    `json:"total"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	SHA256   string   `json:"sha256,omitzero"`
	Columns  []string `json:"columns,omitzero"`
	Personal audience `json:"personal,omitzero"`
}

// exportState is where the writing of NDJSON and CSV goes on. XLSX begins anew:
// an archive cannot be taken up in its middle.
type exportState struct {
	Place  *search.Place `json:"place"`
	Pieces int64         `json:"pieces"`
	Hash   []byte        `json:"hash"`
	Counts exported      `json:"counts"` // without the columns
	Ended  bool          `json:"ended"`
}

// runExport is the job of an export.
func (s *Service) runExport(ctx context.Context, r *job.Run) error {
	t, err := s.mine(ctx, r)
	if err != nil {
		return err
	}
	e := &exporter{s: s, run: r, file: t.file, until: t.createdAt, sum: sha256.New()}
	if err := decodeJSON(t.settings, &e.d); err != nil {
		return err
	}
	err = e.export(ctx, t)
	if errors.Is(err, file.ErrGone) {
		return job.Permanent(fault.New(fault.Unavailable, "EXPORT_INTERRUPTED", "Somebody was erased who may be in what was written already. Export again."))
	}
	if fault.KindOf(err) == fault.Invalid {
		return errors.Join(err, file.Drop(ctx, s.db, t.file))
	}
	return err
}

// exporter is one run of an export.
type exporter struct {
	s       *Service
	run     *job.Run
	d       ExportDraft
	file    string
	until   int64 // ms; twins made later are not exported, or it might never end
	columns *sheet.Columns
	buf     bytes.Buffer
	sum     hash.Hash
	st      exportState
}

func (e *exporter) export(ctx context.Context, t *transfer) error {
	resumed, err := e.run.State(&e.st)
	if err != nil {
		return err
	}
	if !resumed || e.d.Format == sheet.XLSX {
		e.st = exportState{}
		if err := e.begin(ctx); err != nil {
			return err
		}
	} else if err := e.resume(t); err != nil {
		return err
	}
	for {
		err := e.write(ctx)
		var more *sheet.UnknownColumnError
		if !errors.As(err, &more) {
			return exportFault(err)
		}
		// A twin was changed after its columns were collected.
		if err := e.begin(ctx); err != nil {
			return err
		}
	}
}

// exportFault turns a limit of the format into a fault.
func exportFault(err error) error {
	if e := sheet.AsError(err); e != nil {
		return fault.New(fault.Invalid, "EXPORT_IMPOSSIBLE", "The twins do not fit the format: "+e.Error()).
			With(fault.Field{Pointer: "/columns", Code: e.Code, Detail: e.Detail})
	}
	return err
}

// begin makes an empty file, and finds the columns of a table.
func (e *exporter) begin(ctx context.Context) error {
	for {
		n := 0
		err := e.s.db.InTx(ctx, func(tx *db.Tx) (err error) {
			if err = e.run.Hold(ctx, tx); err == nil {
				n, err = file.Shrink(ctx, tx, e.file, file.Batch)
			}
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	e.st, e.columns = exportState{}, nil
	e.sum.Reset()
	e.buf.Reset()
	if len(e.d.Columns) > 0 {
		var err error
		e.columns, err = sheet.NewColumns(e.d.Columns...)
		return err
	}
	if e.d.Format == sheet.NDJSON {
		return nil
	}
	return e.collect(ctx)
}

// collect finds every column there is a value for.
func (e *exporter) collect(ctx context.Context) error {
	found, err := sheet.NewColumns("did")
	if err != nil {
		return err
	}
	err = e.each(ctx, nil, func(r *entity.Row) error {
		e.st.Counts.Total++
		return found.Collect(tableRecord(r.Body))
	}, func(*search.Place) error {
		e.run.Progress(0, 0, fmt.Sprintf("%d twins looked at", e.st.Counts.Total))
		return nil
	})
	if err != nil {
		return exportFault(err)
	}
	paths := slices.Clone(found.Paths())
	slices.SortStableFunc(paths, func(a, b string) int { return columnRank(a) - columnRank(b) })
	e.columns, err = sheet.NewColumns(paths...)
	return err
}

// resume goes on after what an earlier attempt stored.
func (e *exporter) resume(t *transfer) error {
	u, ok := e.sum.(encoding.BinaryUnmarshaler)
	if !ok {
		return errors.New("the hash cannot be resumed")
	}
	if err := u.UnmarshalBinary(e.st.Hash); err != nil {
		return fmt.Errorf("resume export: %w", err)
	}
	var counts exported
	if err := decodeJSON(t.counts, &counts); err != nil {
		return err
	}
	if len(counts.Columns) == 0 {
		return nil
	}
	var err error
	e.columns, err = sheet.NewColumns(counts.Columns...)
	return err
}

// each gives fn all twins from a place on, and tells after each page where it
// is; nil at the end.
func (e *exporter) each(ctx context.Context, from *search.Place, fn func(*entity.Row) error, page func(*search.Place) error) error {
	q := e.d.query()
	q.After = from
	for {
		found, err := e.s.cfg.Search.List(ctx, e.s.db, q)
		if err != nil {
			return err
		}
		for _, r := range found.Rows {
			if r.CreatedAt > e.until {
				return page(nil)
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		if err := page(found.Next); err != nil || found.Next == nil {
			return err
		}
		q.After = found.Next
	}
}

// write writes the twins from where the state is.
func (e *exporter) write(ctx context.Context) error {
	w, err := sheet.NewWriter(e.d.Format, &e.buf, sheet.WriterOptions{
		Columns: e.columns, Partial: len(e.d.Columns) > 0, Kind: e.s.kinds(ctx, &importJob{}), Continue: e.st.Pieces > 0 || e.st.Counts.Rows > 0,
	})
	if err != nil {
		return err
	}
	if !e.st.Ended {
		err = e.each(ctx, e.st.Place, func(r *entity.Row) error {
			e.st.Counts.Rows++
			if err := e.mark(ctx, r); err != nil {
				return err
			}
			if e.d.Format == sheet.NDJSON {
				return w.Write(r.Body)
			}
			return w.Write(tableRecord(r.Body))
		}, func(next *search.Place) error {
			e.st.Place, e.st.Ended = next, next == nil
			if next == nil {
				return w.Close()
			}
			if err := w.Flush(); err != nil {
				return err
			}
			return e.flush(ctx, false)
		})
		if err != nil {
			return err
		}
	}
	return e.flush(ctx, true)
}

// mark notes that the file has something personal in it.
func (e *exporter) mark(ctx context.Context, r *entity.Row) (err error) {
	if e.st.Counts.Personal == forAll {
		e.st.Counts.Personal, err = audienceOf(ctx, e.s.db, e.s.cfg.Protocols, r.Protocol, r.Body)
	}
	return err
}

// flush stores what has been written, once it fills a piece.
func (e *exporter) flush(ctx context.Context, end bool) error {
	e.run.Progress(e.st.Counts.Rows, e.st.Counts.Total, "writing")
	if !end && e.buf.Len() < file.PieceSize {
		return nil
	}
	raw := e.buf.Bytes()
	_, _ = e.sum.Write(raw) // a hash never fails
	if e.st.Counts.Bytes += int64(len(raw)); e.st.Counts.Bytes > MaxExport {
		return fault.New(fault.Invalid, "EXPORT_TOO_LARGE", fmt.Sprintf("The file would have more than %d bytes. Narrow the export.", MaxExport))
	}
	var packed [][]byte
	for some := range slices.Chunk(raw, file.PieceSize) {
		p, err := file.Pack(some)
		if err != nil {
			return err
		}
		packed = append(packed, p)
	}
	if err := e.save(ctx, packed, end); err != nil {
		return err
	}
	e.st.Pieces += int64(len(packed))
	e.buf.Reset()
	return nil
}

// save stores pieces together with the place they lead to.
func (e *exporter) save(ctx context.Context, packed [][]byte, end bool) error {
	st := e.st
	st.Pieces += int64(len(packed))
	if m, ok := e.sum.(encoding.BinaryMarshaler); ok {
		var err error
		if st.Hash, err = m.MarshalBinary(); err != nil {
			return fmt.Errorf("save export: %w", err)
		}
	}
	counts := st.Counts
	if e.columns != nil {
		counts.Columns = e.columns.Paths()
	}
	f := &file.File{ID: e.file, Kind: file.Export, Job: e.run.ID, Bytes: counts.Bytes, At: e.s.cfg.Now().UnixMilli()}
	if end {
		counts.SHA256 = hex.EncodeToString(e.sum.Sum(nil))
		f.SHA256 = counts.SHA256
		result := exported{Total: counts.Rows, Rows: counts.Rows, Bytes: counts.Bytes, SHA256: counts.SHA256}
		if counts.Personal != forAll {
			result.SHA256 = "" // all who read jobs see it, and a hash tells when a guess is right
		}
		e.run.SetResult(result)
	}
	return e.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := e.run.Save(ctx, tx, st); err != nil {
			return err
		}
		for i, p := range packed {
			if err := file.AddPiece(ctx, tx, e.file, e.st.Pieces+int64(i), p); err != nil {
				return err
			}
		}
		if err := file.Update(ctx, tx, f); err != nil {
			return err
		}
		return saveCounts(ctx, tx, e.run.ID, counts)
	})
}
