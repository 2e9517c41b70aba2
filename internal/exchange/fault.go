package exchange

import (
	"fmt"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// FileFault is the fault of a file that cannot be read, FILE_INVALID; err itself
// when it is not about the file.
func FileFault(err error) error {
	e := sheet.AsError(err)
	if e == nil {
		return err
	}
	pointer := fmt.Sprintf("line %d", e.Line)
	if e.Column != "" {
		pointer += ", column " + e.Column
	}
	return fault.New(fault.Invalid, "FILE_INVALID", "The file cannot be read: "+e.Error()).
		With(fault.Field{Pointer: pointer, Code: e.Code, Detail: e.Detail})
}

// Refusal is a fault that another attempt would not fix: one of the row, not of
// the store. It is nil for other errors.
func Refusal(err error) *fault.Error {
	f := fault.As(err)
	if f == nil || f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		return nil
	}
	return f
}

// MaxFields limits the wrong fields, and the warnings, of one row in a report.
const MaxFields = 20

// Fields returns the fields of a row for a report.
func Fields(all []fault.Field) []api.Field {
	var out []api.Field
	for _, d := range all[:min(len(all), MaxFields)] {
		d.Pointer = fault.Pointer(d.Pointer)
		out = append(out, api.Field(d))
	}
	return out
}

// Problem renders a fault for a report.
func Problem(f *fault.Error) *api.BatchProblem {
	return &api.BatchProblem{Code: f.Code, Message: f.Message, Status: web.Status(f.Kind), Errors: Fields(f.Fields)}
}
