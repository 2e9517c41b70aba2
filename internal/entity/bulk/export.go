package bulk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// exportPage is how many twins an export reads at once.
const exportPage = 100

// ExportDraft describes an export to make.
type ExportDraft struct {
	Format       sheet.Format `json:"format" enum:"ndjson,csv,xlsx,geojson" example:"csv"`
	Columns      []string     `json:"columns,omitzero" doc:"Paths into the record, at most 1000: did, properties.serial. Without them CSV and XLSX have a column for every value there is, NDJSON the whole record."`
	Filter       string       `json:"filter,omitzero" doc:"As in the list of twins." example:"eq(status,active)"`
	Type         string       `json:"type,omitzero"`
	Class        string       `json:"class,omitzero" enum:"physical,cognitive,system,oracle"`
	Protocol     string       `json:"protocol,omitzero" doc:"DID of the protocol."`
	Status       string       `json:"status,omitzero" enum:"draft,active,suspended,completed,deactivated"`
	Project      string       `json:"project,omitzero" doc:"DID of the project."`
	UpdatedSince time.Time    `json:"updatedSince,omitzero"`
	Near         string       `json:"near,omitzero" doc:"Latitude, longitude, metres."`
	PII          string       `json:"pii,omitzero" doc:"none leaves personal properties out, whatever the caller may see; full, the default, includes those the caller may see." enum:"none,full" example:"none"`
}

// withoutPeople is the pii of a file that anybody may have.
const withoutPeople = "none"

func (d *ExportDraft) query() entity.Query {
	return entity.Query{
		Filter: d.Filter, Type: d.Type, Class: d.Class, Protocol: d.Protocol, Status: d.Status, Project: d.Project,
		UpdatedSince: d.UpdatedSince, Near: d.Near, Sort: "created", Limit: exportPage,
	}
}

// table reports whether the file has columns rather than whole records.
func (d *ExportDraft) table() bool { return d.Format != sheet.NDJSON && d.Format != geoJSON }

// validate names everything that is wrong. The search checks the filter.
func (d *ExportDraft) validate() error {
	var c fault.Checks
	if !d.Format.Known() && d.Format != geoJSON {
		c.Add("/format", "unknown", "The format must be ndjson, csv, xlsx or geojson.")
	}
	if _, err := sheet.NewColumns(d.Columns...); err != nil {
		detail := err.Error()
		if e := sheet.AsError(err); e != nil {
			detail = e.Detail
		}
		c.Add("/columns", "invalid", detail)
	}
	if d.PII != "" {
		check.OneOf(&c, "/pii", d.PII, withoutPeople, "full")
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

// exported is the stored progress of an export.
type exported struct {
	Total    int64    `json:"total"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	SHA256   string   `json:"sha256,omitzero"`
	Columns  []string `json:"columns,omitzero"`
	Personal audience `json:"personal,omitzero"`
}

// exportState is where writing NDJSON and CSV continues. XLSX starts over: an
// archive cannot be resumed in the middle.
type exportState struct {
	exchange.Mark
	Place  *entity.Place `json:"place"`
	Counts exported      `json:"counts"` // without the columns
	Ended  bool          `json:"ended"`
}

// runExport is the job of an export.
func (s *Service) runExport(ctx context.Context, r *job.Run) error {
	e := &exporter{s: s, run: r}
	var counts exported
	o, err := s.cfg.Exchange.Of(ctx, r, &e.d, &counts)
	if err != nil {
		return err
	}
	e.out, e.until = s.cfg.Exchange.Writer(r, o, MaxExport), o.CreatedAt
	err = e.out.End(ctx, e.export(ctx, counts.Columns), "twins", "/columns")
	if errors.Is(err, file.ErrGone) {
		return job.Permanent(fault.New(fault.Unavailable, "EXPORT_INTERRUPTED", "Somebody was erased whose data may already be in the file. Export again."))
	}
	return err
}

// exporter is one run of an export.
type exporter struct {
	s       *Service
	run     *job.Run
	d       ExportDraft
	until   int64 // ms; twins made later are not exported, or it might never end
	columns *sheet.Columns
	buf     bytes.Buffer
	out     *exchange.Writer
	st      exportState
}

// export writes the file. columns has the columns of an earlier attempt.
func (e *exporter) export(ctx context.Context, columns []string) error {
	if _, err := e.run.State(&e.st); err != nil {
		return err
	}
	if !e.st.Begun() || e.d.Format == sheet.XLSX {
		if err := e.begin(ctx); err != nil {
			return err
		}
	} else if err := e.resume(ctx, columns); err != nil {
		return err
	}
	for {
		err := e.write(ctx)
		var more *sheet.UnknownColumnError
		if !errors.As(err, &more) {
			return err
		}
		// A twin was changed after its columns were collected.
		if err := e.begin(ctx); err != nil {
			return err
		}
	}
}

// begin makes an empty file, and finds the columns of a table.
func (e *exporter) begin(ctx context.Context) error {
	e.st, e.columns = exportState{}, nil
	e.buf.Reset()
	if err := e.out.Begin(ctx); err != nil {
		return err
	}
	if len(e.d.Columns) > 0 {
		var err error
		e.columns, err = sheet.NewColumns(e.d.Columns...)
		return err
	}
	if !e.d.table() {
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
		return found.Collect(tableRecord(r.Body, true))
	}, func(*entity.Place) error {
		e.run.Progress(0, 0, fmt.Sprintf("%d twins looked at", e.st.Counts.Total))
		return nil
	})
	if err != nil {
		return err
	}
	paths := slices.Clone(found.Paths())
	slices.SortStableFunc(paths, func(a, b string) int { return columnRank(a) - columnRank(b) })
	e.columns, err = sheet.NewColumns(paths...)
	return err
}

// resume continues after what an earlier attempt stored.
func (e *exporter) resume(ctx context.Context, columns []string) (err error) {
	if len(columns) > 0 {
		if e.columns, err = sheet.NewColumns(columns...); err != nil {
			return err
		}
	}
	return e.out.Resume(ctx, e.st.Mark)
}

// each passes all twins from a place on to fn, and after each page the next
// place; nil at the end.
func (e *exporter) each(ctx context.Context, from *entity.Place, fn func(*entity.Row) error, page func(*entity.Place) error) error {
	q := e.d.query()
	q.After = from
	for {
		// A replica may be read, and it must know every erasure up to now.
		now, err := db.SinceNow(ctx, e.s.db)
		if err != nil {
			return err
		}
		found, err := e.s.cfg.Search.List(now, db.Reader(now, e.s.db), q)
		if err != nil {
			return err
		}
		for _, r := range found.Rows {
			if r.CreatedAt > e.until {
				return page(nil)
			}
			if err := e.strip(ctx, r); err != nil {
				return err
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

// strip removes what is personal from a twin, if the file must not contain it.
func (e *exporter) strip(ctx context.Context, r *entity.Row) error {
	if e.d.PII != withoutPeople {
		return nil
	}
	names, err := e.s.cfg.Protocols.Personal(ctx, e.s.db, web.CallerFrom(ctx).Workspace, r.Protocol)
	if err == nil {
		r.Body, err = privacy.Without(r.Body, names)
	}
	return err
}

// write writes the twins from where the state is.
func (e *exporter) write(ctx context.Context) error {
	w, err := e.writer(sheet.WriterOptions{
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
			if !e.d.table() {
				return w.Write(r.Body)
			}
			return w.Write(tableRecord(r.Body, !slices.Contains(e.d.Columns, "relationships")))
		}, func(next *entity.Place) error {
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

func (e *exporter) writer(o sheet.WriterOptions) (recordWriter, error) {
	if e.d.Format == geoJSON {
		return newFeatureWriter(&e.buf, o, e.st.Counts.Rows)
	}
	return sheet.NewWriter(e.d.Format, &e.buf, o)
}

// mark notes that the file has something personal in it.
func (e *exporter) mark(ctx context.Context, r *entity.Row) (err error) {
	if e.st.Counts.Personal == forAll {
		e.st.Counts.Personal, err = audienceOf(ctx, e.s.db, e.s.cfg.Protocols, r.Protocol, r.Body)
	}
	return err
}

// flush stores what has been written, once it fills a piece.
func (e *exporter) flush(ctx context.Context, end bool) (err error) {
	e.run.Progress(e.st.Counts.Rows, e.st.Counts.Total, "writing")
	if !end && e.buf.Len() < file.PieceSize {
		return nil
	}
	if e.st.Mark, err = e.out.Add(e.buf.Bytes(), end); err != nil {
		return err
	}
	e.buf.Reset()
	e.st.Counts.Bytes = e.out.Bytes()
	counts := e.st.Counts
	if e.columns != nil {
		counts.Columns = e.columns.Paths()
	}
	if end {
		counts.SHA256 = e.out.SHA256()
		result := exported{Total: counts.Rows, Rows: counts.Rows, Bytes: counts.Bytes, SHA256: counts.SHA256}
		if counts.Personal != forAll {
			result.SHA256 = "" // everybody who reads jobs sees it, and a hash confirms a right guess
		}
		e.run.SetResult(result)
	}
	return e.out.Save(ctx, e.st, counts)
}
