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

// maxFields is how many wrong fields of one row a report keeps.
const maxFields = 20

// Problem is a fault in a report.
func Problem(f *fault.Error) *api.BatchProblem {
	p := &api.BatchProblem{Code: f.Code, Message: f.Message, Status: web.Status(f.Kind)}
	for _, d := range f.Fields[:min(len(f.Fields), maxFields)] {
		p.Errors = append(p.Errors, api.Field(d))
	}
	return p
}
