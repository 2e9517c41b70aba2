package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const previewing = "What an import would make of a file: its columns, which path of a record each has or should have, its first 20 rows, and warnings about it. Nothing is kept: the file goes with the answer, and there is no job. " +
	"The file has the size of one to import at most. Of a workbook a preview unpacks 4 MiB of the sheet and at most 8 MiB of shared texts: one with more of them, or with more than 2 MiB of styles, is refused (`PREVIEW_TOO_LARGE`), and a dry run reads it. " +
	"The answer has at most 256 KiB: cells end after 200 characters with `…`, rows after 200 columns, and there are fewer rows, columns and cells when they are long. A workspace has one preview at a time, and the server two; others wait for some seconds (`TOO_MANY_PREVIEWS`). With protocol, columns are matched with its properties by name and title; mapping is checked as an import would. " +
	"`mapping` in the answer is ready for an import: change what was guessed wrong. It leaves out unknown columns and those that another program added; a required property that no column has is named, not refused. " +
	"The beginning of a CSV file, cut after a line, is enough. The scope `entities:write` is needed too."

// How much of a file a preview looks at.
const (
	previewRows    = 20
	previewColumns = 200 // whose cells are shown
	previewCell    = 200 // characters
)

// Preview shows what an import would make of a file.
type Preview struct {
	Format  sheet.Format      `json:"format" enum:"csv,xlsx"`
	Columns []PreviewColumn   `json:"columns" doc:"In the order of the file, the first when there are too many to show."`
	Mapping map[string]string `json:"mapping" doc:"What to send as mapping: column → path, where the path is not the name. \"\" leaves a column out."`
	Rows    []PreviewRow      `json:"rows" doc:"The first 20, or fewer when they are long."`
	More    bool              `json:"more" doc:"The file has more rows."`
	Notes   []PreviewNote     `json:"notes" doc:"What to know before the import."`
}

// Types of package api.
type (
	PreviewColumn = api.ImportColumn
	PreviewNote   = api.ImportNote
)

// PreviewRow is a row of a file.
type PreviewRow api.ImportRow

// servePreview reads the beginning of a file. It is stored while it arrives,
// like that of an import, and removed after the answer.
func (s *Service) servePreview(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[importIn](r)
	p, bad := in.job(r.Header.Get("Content-Type"))
	if err != nil {
		return together(err, bad)
	}
	ctx := r.Context()
	if err := exchange.MayAll(ctx, "entities:write"); err != nil {
		return err
	}
	if bad == nil && p.Format == sheet.NDJSON {
		bad = fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "Records of NDJSON have no columns. A preview is of CSV or XLSX.")
	}
	if bad != nil {
		return bad
	}
	var made *protocol.Protocol
	if p.Protocol != "" {
		id, version, _ := strings.Cut(p.Protocol, "@")
		if made, err = s.cfg.Protocols.Find(ctx, web.CallerFrom(ctx).Workspace, id, version); err != nil {
			return protocol.At(err, "query/protocol", id, version)
		}
	}
	f, err := s.cfg.Exchange.Upload(w, r, MaxImport)
	if err != nil {
		return err
	}
	text, err := s.previewed(ctx, f, p, made)
	if err := errors.Join(err, file.Drop(context.WithoutCancel(ctx), s.db, f.ID)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may be gone
	return nil
}

// previewed is the answer, ready to be sent: nothing else is held while a client
// takes its time to read it.
func (s *Service) previewed(ctx context.Context, f *file.File, p *importJob, made *protocol.Protocol) ([]byte, error) {
	leave, err := s.glances.take(ctx, f.Workspace)
	if err != nil {
		return nil, err
	}
	defer leave()
	out, err := s.preview(ctx, f, p, made)
	if err != nil {
		return nil, previewFault(err)
	}
	return web.Encode(out)
}

// previewFault is the fault of a file that cannot be looked at.
func previewFault(err error) error {
	if e := sheet.AsError(err); e != nil && e.Code == "too_large" {
		return fault.New(fault.TooLarge, "PREVIEW_TOO_LARGE", "The workbook is too large for a preview: "+e.Detail+
			" Save the sheet alone, or as CSV, or start a dry run (POST /v1/imports?dryRun=true), which reads larger ones.")
	}
	return exchange.FileFault(err)
}

// preview looks at a file. made is the protocol that rows are for; nil when it
// was not named.
func (s *Service) preview(ctx context.Context, f *file.File, p *importJob, made *protocol.Protocol) (out *Preview, err error) {
	in, err := sheet.Glance(p.Format, file.Open(ctx, s.db, f), f.Bytes, sheet.Options{Mapping: p.Mapping})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	g := guesser{p: p, made: made}
	columns := g.columns(in.Columns())
	// What is wrong with a cell depends on where it goes: cells are read with the
	// mapping that an import would have.
	if err := in.Remap(sheet.Options{Kind: s.kinds(ctx, p), Mapping: mappingOf(columns)}); err != nil {
		return nil, err
	}
	left := allowance(maxPreview)
	out = &Preview{Format: p.Format, Columns: left.columns(columns), Rows: []PreviewRow{}, Notes: []PreviewNote{}}
	out.Mapping = mappingOf(out.Columns)
	notes := left.notes(g.notes(columns))
	blank, cut, err := out.read(in, left)
	if err != nil {
		return nil, err
	}
	if blank > 0 {
		out.Notes = append(out.Notes, PreviewNote{Code: "blank_rows", Count: blank, Detail: "Rows without a value are passed over."})
	}
	out.Notes = append(out.Notes, notes...)
	if cut || len(out.Columns) < len(columns) {
		out.Notes = append(out.Notes, PreviewNote{Code: "more_columns", Count: len(columns), Detail: "The file has more columns than are shown. An import reads them all."})
	}
	return out, nil
}

// read takes the first rows, and looks at some more for blank ones. cut says
// that a row has more cells than are shown.
func (v *Preview) read(in *sheet.Reader, left allowance) (blank int, cut bool, err error) {
	all := columnsOf(in)
	columns := all[:min(len(v.Columns), previewColumns)]
	cut = len(columns) < len(all)
	for {
		rec, err := in.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, sheet.ErrMore) {
			v.More = v.More || errors.Is(err, sheet.ErrMore)
			return blank + int(in.Blank()), cut, nil
		} else if err != nil {
			return 0, false, err
		}
		if strings.Join(rec.Texts(), "") == "" {
			blank++
			continue
		}
		if v.More || len(v.Rows) == previewRows {
			v.More = true
			continue
		}
		row := PreviewRow{rec.Line, previewCells(columns, rec)}
		size := row.fit()
		if v.More = !left.take(size); !v.More {
			v.Rows = append(v.Rows, row)
			cut = cut || len(row.Cells) < len(columns)
		}
	}
}

// previewCells returns the first cells of a row, with their errors.
func previewCells(columns []exchange.Column, rec sheet.Record) []Cell {
	out := make([]Cell, len(columns))
	texts := rec.Texts()
	for i, c := range columns {
		out[i].Column = c.Name
		if i < len(texts) {
			out[i].Value = cutText(texts[i])
		}
	}
	// They are in the order of the columns.
	for _, e := range rec.Errs[:min(len(rec.Errs), len(columns))] {
		if i := blamed(columns, e.Column); i >= 0 && out[i].Wrong == "" {
			out[i].Wrong = e.Detail
		}
	}
	return out
}

// mappingOf is the mapping of columns that an import needs.
func mappingOf(columns []PreviewColumn) map[string]string {
	out := map[string]string{}
	for _, c := range columns {
		if c.Name != "" && c.Path != c.Name {
			out[c.Name] = c.Path
		}
	}
	return out
}

// notes are remarks about the columns of a file.
func (g *guesser) notes(columns []PreviewColumn) []PreviewNote {
	by := map[string][]string{}
	for i, c := range columns {
		name := c.Name
		if name == "" {
			name = fmt.Sprint(i + 1)
		}
		by[c.Is] = append(by[c.Is], name)
	}
	var out []PreviewNote
	add := func(code, is, detail string) {
		if names := by[is]; len(names) > 0 {
			out = append(out, PreviewNote{Code: code, Columns: names, Detail: detail})
		}
	}
	add("unknown_columns", "unknown", "These columns are not known. They are left out unless mapping says where they go.")
	if missing := g.missing(columns); len(missing) > 0 {
		out = append(out, PreviewNote{Code: "missing_columns", Columns: missing, Detail: "Every twin needs these properties and no column has them. Rows without them are refused."})
	}
	add("system_columns", "system", "The server decides these, or another program has added them. They are not taken from a file.")
	add("unnamed_columns", "unnamed", "These columns have no name. A row with a value in one is refused.")
	return out
}
