// Package xlsform turns XLSForm workbooks into templates and templates into
// XLSForm workbooks. It is pure: bytes in, a document out, and the other way
// round.
//
// XLSForm is the spreadsheet language of ODK and its relatives: a sheet survey
// with a row for each question, a sheet choices, a sheet settings. Features that
// XLSForm lacks go into columns that begin with hearth_, which other programs
// leave alone. A workbook that Write made and nobody changed is read back as the
// same template; where somebody has changed one of XLSForm's own columns, that
// column counts and ours beside it does not. A separate sheet, hearth_notes,
// lists what other programs will see differently.
//
// Expressions are XPath there and CEL here. Both sides are parsed and translated
// piece by piece, with what the template knows about the kinds of answers: XPath
// converts between texts and numbers, CEL does not. An expression without an
// equivalent is left out and reported with its cell; nothing is left out
// silently.
package xlsform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Level says how much a finding matters.
type Level string

// The levels.
const (
	Error   Level = "error"   // the workbook cannot be read as a template
	Warning Level = "warning" // the template asks or accepts something else than the workbook
	Note    Level = "note"    // something was left out that changes no answer
)

// Item is one finding in a workbook.
type Item struct {
	Sheet  string `json:"sheet,omitzero" doc:"Name of the sheet." example:"survey"`
	Row    int    `json:"row,omitzero" doc:"Number of the row as spreadsheets count." example:"12"`
	Column string `json:"column,omitzero" doc:"Name of the column." example:"relevant"`
	Level  Level  `json:"level" enum:"error,warning,note"`
	Code   string `json:"code" example:"expression_not_translated"`
	Detail string `json:"detail"`
}

// Place is the place of the item, for people.
func (i Item) Place() string {
	var at []string
	if i.Sheet != "" {
		at = append(at, "sheet "+i.Sheet)
	}
	if i.Row > 0 {
		at = append(at, fmt.Sprintf("row %d", i.Row))
	}
	if i.Column != "" {
		at = append(at, "column "+i.Column)
	}
	if len(at) == 0 {
		return ""
	}
	return strings.ToUpper(at[0][:1]) + strings.Join(at, ", ")[1:] + ": "
}

// Made is a section that was made from a workbook.
type Made struct {
	ID        string `json:"id" doc:"A group of the first level has its name; questions outside groups are in main, main_2 and so on." example:"main"`
	Row       int    `json:"row" doc:"Row of the survey sheet in which it begins." example:"2"`
	Questions int    `json:"questions" example:"12"`
}

// Report lists what could not be converted exactly, and the sections.
type Report struct {
	Items []Item `json:"items" doc:"At most 1,000, in the order of the workbook."`
	More  bool   `json:"more,omitzero" doc:"Whether there is more than shown."`

	Sections []Made `json:"sections,omitzero" doc:"The sections that were made of the survey sheet, in order. Answers stand under their ids."`

	errors int
}

const (
	maxItems  = 1000
	maxErrors = 100 // named in a fault
)

func (r *Report) add(i Item) {
	most := maxItems - maxErrors // errors always find room
	if i.Level == Error {
		r.errors++
		most = maxItems
	}
	if len(r.Items) >= most {
		r.More = true
		return
	}
	r.Items = append(r.Items, i)
}

// has reports whether the report has an error about a cell.
func (r *Report) has(sheet string, row int, column string) bool {
	return slices.ContainsFunc(r.Items, func(i Item) bool { return i.Level == Error && i.Sheet == sheet && i.Row == row && i.Column == column })
}

// err is the fault that names the errors, nil without any.
func (r *Report) err() error {
	if r.errors == 0 {
		return nil
	}
	var checks fault.Checks
	for _, i := range r.Items {
		if i.Level == Error && len(checks.Fields()) < maxErrors {
			checks.Add(i.pointer(), i.Code, i.Place()+i.Detail)
		}
	}
	return checks.Err("TEMPLATE_IMPORT_INVALID", "The workbook cannot be read as a template.")
}

// pointer names the place as other faults do.
func (i Item) pointer() string {
	out := ""
	if i.Sheet != "" {
		out = "/" + check.Escape(i.Sheet)
	}
	if i.Row > 0 {
		out += fmt.Sprintf("/%d", i.Row)
	}
	if i.Column != "" {
		out += "/" + check.Escape(i.Column)
	}
	return out
}

// shorten truncates a text for messages.
func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
