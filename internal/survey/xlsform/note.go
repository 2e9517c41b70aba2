package xlsform

import (
	"fmt"
	"strconv"
)

// notesSheet lists what other programs will see differently. No program reads
// it, we neither.
const notesSheet = "hearth_notes"

var notesOrder = []string{"sheet", "row", "column", "code", "detail"}

// without says what other programs do without the cell of a column.
var without = map[string]string{
	"relevant":      "Other programs always ask.",
	"required":      "Other programs never ask for an answer that is missing.",
	"constraint":    "Other programs accept answers that are refused here.",
	"calculation":   "Other programs have an empty value.",
	"choice_filter": "Other programs offer other choices.",
	"label":         "Other programs give the entity no name.",
	"entity_id":     "Other programs do not know which entity changes.",
	"create_if":     "Other programs make an entity always.",
	"update_if":     "Other programs change the entity always.",
}

// note notes that a cell of the row that is being made does not say all that
// the template says.
func (e *exporter) note(column, cause string) {
	e.notes.add(Item{
		Sheet: "survey", Row: len(e.survey), Column: column, Level: Warning, Code: "not_in_xlsform",
		Detail: fmt.Sprintf("XLSForm cannot express this: %s. %s", cause, without[column]),
	})
}

// noteRows are the notes as rows; so many rows stand before those of the
// questions.
func (e *exporter) noteRows(before int) []cells {
	const header = 2 // spreadsheets count from 1, and there is one of it
	var rows []cells
	for _, i := range e.notes.Items {
		row := i.Row + before + header
		if i.Sheet == entitiesSheet {
			row = header
		}
		rows = append(rows, cells{"sheet": i.Sheet, "row": strconv.Itoa(row), "column": i.Column, "code": i.Code, "detail": i.Detail})
	}
	return rows
}
