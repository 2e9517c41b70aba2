package batch

import (
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Problem is a refusal inside a report.
type Problem struct {
	Code    string  `json:"code" doc:"Stable name of the error."`
	Message string  `json:"message"`
	Status  int     `json:"status" doc:"HTTP status the single route would answer with."`
	Errors  []Field `json:"errors,omitempty" doc:"Every field that is wrong."`
}

// Field names one place in the input.
type Field struct {
	Pointer string `json:"pointer" doc:"JSON pointer into the twin, or the column of a table."`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// maxFields is how many wrong fields of one row a report keeps.
const maxFields = 20

// ProblemOf is a fault in a report.
func ProblemOf(f *fault.Error) *Problem {
	p := &Problem{Code: f.Code, Message: f.Message, Status: web.Status(f.Kind)}
	for i, d := range f.Fields {
		if i == maxFields {
			break
		}
		p.Errors = append(p.Errors, Field(d))
	}
	return p
}
