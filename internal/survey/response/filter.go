package response

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// filterFields are the fields that responses can be filtered by, besides their
// answers.
var filterFields = map[string]rql.Kind{
	"responseId": rql.Text, "householdId": rql.Text, "round": rql.Number, "stratum": rql.Text, "group": rql.Text, "timestamp": rql.Text,
	"startedAt": rql.Text, "receivedAt": rql.Text, "updated": rql.Text, "durationSec": rql.Number, "collector": rql.Text, "submittedBy": rql.Text,
	"mode": rql.Text, "deviceId": rql.Text, "language": rql.Text, "consent": rql.Bool, "eligible": rql.Bool, "completeness": rql.Number,
	"status": rql.Text, "flagged": rql.Bool, "revision": rql.Number, "verification.status": rql.Text, "verification.verifier": rql.Text,
}

// filterField is the kind of a field in a survey; rql.ErrUnknown when there is
// none.
func filterField(f *form.Form, p rql.Path) (rql.Kind, error) {
	if kind, ok := filterFields[strings.Join(p, ".")]; ok {
		return kind, nil
	}
	if len(p) < 3 || p[0] != "responses" {
		return rql.Any, rql.ErrUnknown
	}
	for _, c := range f.Columns() {
		if !c.PII.Private() && len(p)-1 <= len(c.Path) && hasPrefix(c.Path, p[1:]) {
			return rql.Any, nil
		}
	}
	return rql.Any, rql.ErrUnknown
}

func hasPrefix(path []string, prefix rql.Path) bool {
	for i, name := range prefix {
		if path[i] != name {
			return false
		}
	}
	return true
}

// ParseFilter reads a filter of responses of a form. The fault is
// INVALID_FILTER.
func ParseFilter(text string, f *form.Form) (*rql.Expr, error) {
	e, err := rql.Parse(text, rql.Schema{Field: func(p rql.Path) (rql.Kind, error) { return filterField(f, p) }})
	if err == nil {
		return e, nil
	}
	return nil, fault.New(fault.Invalid, "INVALID_FILTER", "The filter is not valid.").
		With(fault.Field{Pointer: "query/filter", Code: "invalid", Detail: err.Error()})
}
