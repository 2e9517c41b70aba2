package bulk

import (
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// rowFault is the fault of a row that cannot be read. A line of NDJSON has no
// columns: what the sheet calls one is a place in the text.
func rowFault(f sheet.Format, errs []*sheet.Error) *fault.Error {
	row := fault.New(fault.Invalid, "ROW_INVALID", "The row cannot be read.")
	for _, e := range errs {
		d := fault.Field{Pointer: e.Column, Code: e.Code, Detail: e.Detail}
		if f == sheet.NDJSON && e.Column != "" {
			d.Pointer, d.Detail = "", "At byte "+e.Column+": "+e.Detail
		}
		row = row.With(d)
	}
	return row
}
