package bulk

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits on the stored cells of an import, which show people the mistakes.
const (
	maxRowCells  = 32 << 10 // bytes of one row
	maxBadCells  = 8 << 20  // bytes of rows that were refused or have warnings
	maxGoodCells = 2 << 20  // bytes of the others, of a dry run only
)

// Cell is the type of package api.
type Cell = api.Cell

// cellsToKeep are the cells of a chunk whose outcomes are known so far, nil for
// rows of which none are kept, and how much is kept with them in all.
func (w *importer) cellsToKeep(p *prepared, out []outcome) (keep [][]string, bad, good int64) {
	keep, bad, good = make([][]string, len(out)), w.st.BadCells, w.st.GoodCells
	for i, o := range out {
		size := int64(0)
		for _, text := range p.cells[i] {
			size += int64(len(text)) + 3
		}
		wrong := o.Err != nil || len(o.Warnings) > 0
		switch {
		case size == 0 || size > maxRowCells || !wrong && !w.p.DryRun:
			continue
		case wrong && bad+size <= maxBadCells:
			bad += size
		case !wrong && good+size <= maxGoodCells:
			good += size
		default:
			continue
		}
		keep[i] = p.cells[i]
	}
	return keep, bad, good
}

// keepCells keeps the cells of the outcomes from the first on.
func (w *importer) keepCells(ctx context.Context, tx *db.Tx, p *prepared, out []outcome, first int) error {
	keep, _, _ := w.cellsToKeep(p, out)
	rows := map[int64][]string{}
	for i := first; i < len(out); i++ {
		if keep[i] != nil {
			rows[p.lines[i]] = keep[i]
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return w.exchange.InsertCells(ctx, tx, w.run.ID, exchange.Cells{Columns: w.columns, Rows: rows, From: p.lines[first], To: p.lines[len(out)-1]})
}

// columnsOf are the columns of a file.
func columnsOf(in *sheet.Reader) []exchange.Column {
	var out []exchange.Column
	for _, c := range in.Columns() {
		out = append(out, exchange.Column(c))
	}
	return out
}

// seesCells reports whether the caller sees the cells of an import: its creator,
// and callers who see personal data.
func seesCells(ctx context.Context, j job.Job) bool {
	c := web.CallerFrom(ctx)
	return c.DID == j.CreatedBy || c.May(mask.Scope)
}

// showCells adds to rows of a report the cells they were made of.
func (s *Service) showCells(ctx context.Context, j job.Job, rows []ReportRow) error {
	if len(rows) == 0 || !seesCells(ctx, j) {
		return nil
	}
	kept, err := exchange.FindCells(ctx, s.db, j.ID, rows[0].Line, rows[len(rows)-1].Line)
	if err != nil {
		return err
	}
	for i := range rows {
		if texts := kept.Rows[rows[i].Line]; texts != nil {
			rows[i].Cells = marked(kept.Columns, texts, &rows[i])
		}
	}
	return nil
}

// marked are the cells of a row, each with what its report says about it.
func marked(columns []exchange.Column, texts []string, r *ReportRow) []Cell {
	out := make([]Cell, 0, len(columns))
	for i, c := range columns {
		cell := Cell{Column: c.Name}
		if i < len(texts) {
			cell.Value = texts[i]
		}
		out = append(out, cell)
	}
	if r.Error == nil {
		return out
	}
	for _, f := range r.Error.Errors {
		if i := blamed(columns, f.Pointer); i >= 0 && out[i].Wrong == "" {
			out[i].Wrong = f.Detail
		}
	}
	return out
}

// blamed is the column that a pointer of a report is about: it is the name of a
// column, or a JSON pointer into the record. It is -1 for what no cell says.
func blamed(columns []exchange.Column, pointer string) int {
	path := pointer
	if strings.HasPrefix(pointer, "/") {
		path = pathOf(tokens(pointer)...)
	}
	best, length := -1, -1
	for i, c := range columns {
		switch {
		case c.Name == pointer || c.Path == path:
			return i
		case c.Path == "":
		case strings.HasPrefix(path, c.Path+".") && len(c.Path) > length: // the cell holds an object
			best, length = i, len(c.Path)
		case strings.HasPrefix(c.Path, path+".") && best < 0: // the cell is a part of it
			best = i
		}
	}
	return best
}

// tokens are the names a JSON pointer is made of.
func tokens(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts
}

// serveRefused sends the refused rows of an import as a table to correct and
// send again: its columns, and one with the errors.
func (s *Service) serveRefused(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[oneIn](r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	j, _, err := s.find(ctx, kindImport, in.ID)
	if err != nil {
		return err
	}
	web.LeavePlace(ctx)
	h := w.Header()
	h.Set("Content-Type", sheet.CSV.MediaType())
	h.Set("Content-Disposition", `attachment; filename="refused-`+j.CreatedAt.Format("20060102-150405")+`.csv"`)
	after, begun := int64(-1), false
	for {
		rows, err := exchange.Refused(ctx, s.db, in.ID, after, 500)
		if err != nil || len(rows) == 0 {
			return err
		}
		text, err := s.refusedTable(ctx, j, rows, !begun)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		after, begun = rows[len(rows)-1].Line, true
	}
}

// lineColumn and whyColumn are the columns of a table of refused rows that say
// where and why. They begin like those that other programs add, so a preview
// leaves them out.
const lineColumn, whyColumn = "_line", "_why"

// refusedTable is a part of the table of refused rows. Of those whose cells are
// not kept, or not for the caller, it has the line and the reason.
func (s *Service) refusedTable(ctx context.Context, j job.Job, rows []exchange.Row, head bool) ([]byte, error) {
	var kept exchange.Cells
	var err error
	if seesCells(ctx, j) {
		kept, err = exchange.FindCells(ctx, s.db, j.ID, rows[0].Line, rows[len(rows)-1].Line)
	}
	if err != nil {
		return nil, err
	}
	var out []byte
	line := func(cells []string, at, why string) {
		for i := range kept.Columns {
			if i < len(cells) {
				out = sheet.AppendCSV(out, cells[i])
			}
			out = append(out, ',')
		}
		out = append(append(out, at...), ',')
		out = append(sheet.AppendCSV(out, why), '\r', '\n')
	}
	if head {
		names := make([]string, len(kept.Columns))
		for i, c := range kept.Columns {
			names[i] = c.Name
		}
		line(names, lineColumn, whyColumn)
	}
	for _, r := range rows {
		told, err := readRow(r)
		if err != nil {
			return nil, err
		}
		line(kept.Rows[r.Line], strconv.FormatInt(r.Line, 10), reasons(told))
	}
	return out, nil
}

// reasons is why a row was refused, in one text.
func reasons(r ReportRow) string {
	if r.Error == nil {
		return ""
	}
	out := []string{r.Error.Message}
	for _, f := range r.Error.Errors {
		out = append(out, strings.TrimSpace(f.Pointer+" "+f.Detail))
	}
	return strings.Join(out, " ")
}
