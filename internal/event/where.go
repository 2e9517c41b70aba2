package event

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// members are the fields of an event that can be filtered by: those of Item.
var members = map[string]rql.Kind{
	"seq": rql.Number, "type": rql.Text, "subject": rql.Text, "revision": rql.Number, "actor": rql.Text, "requestId": rql.Text,
	"time": rql.Time, "data": rql.Object,
}

// facts are the members that the data of events can have, whatever their type.
// Whoever appends an event with a new one adds it here: a filter on a name that
// no event has would be silent for ever. Any is for those that are a text in
// one event and a number in another.
var facts = map[string]rql.Kind{
	"added": rql.Number, "backCheckId": rql.Text, "blocked": rql.Bool, "changed": rql.Number, "code": rql.Text, "compared": rql.Number,
	"conflictId": rql.Text, "controller": rql.Text, "count": rql.Number, "credential": rql.Text, "decision": rql.Text, "drawId": rql.Text, "drawn": rql.Number,
	"errors": rql.Number, "flags": rql.Number, "from": rql.Any, "gaps": rql.Object, "household": rql.Text, "id": rql.Text,
	"imported": rql.Bool, "member": rql.Text, "migrated": rql.Number, "migration": rql.Text, "missing": rql.Number, "outcome": rql.Text,
	"owner": rql.Text, "population": rql.Number, "protocol": rql.Text, "refused": rql.Number, "removed": rql.Number,
	"resolution": rql.Text, "reviewId": rql.Text, "reviews": rql.Number, "role": rql.Text, "round": rql.Number, "question": rql.Text, "rule": rql.Text, "rules": rql.Text,
	"status": rql.Text, "surveyId": rql.Text, "target": rql.Text, "to": rql.Any, "type": rql.Text, "until": rql.Time, "version": rql.Any,
	"wrong": rql.Number,
}

// kindOf describes the fields for filters. The contents of the objects of data
// are not declared.
func kindOf(p rql.Path) (rql.Kind, error) {
	kind, known := members[p[0]]
	if p[0] != "data" || len(p) == 1 {
		if !known || len(p) > 1 {
			return 0, rql.ErrUnknown
		}
		return kind, nil
	}
	switch kind, known := facts[p[1]]; {
	case !known:
		return 0, rql.ErrUnknown
	case len(p) == 2:
		return kind, nil
	case kind == rql.Object:
		return rql.Any, nil
	}
	return 0, rql.ErrUnknown
}

// Where selects events by what they show, in the filter language of lists. Nil
// selects all.
type Where struct {
	expr *rql.Expr
	data bool // it looks into the data
}

// ParseWhere reads a filter, which is at pointer in the request. An empty text
// is nil. Faults: INVALID_FILTER, UNKNOWN_FIELD.
func ParseWhere(text, pointer string) (*Where, error) {
	if text == "" {
		return nil, nil
	}
	e, err := rql.Parse(text, rql.Schema{Field: kindOf})
	var wrong *rql.Error
	if errors.As(err, &wrong) {
		f := fault.New(fault.Invalid, "INVALID_FILTER", "The filter is not valid.")
		if wrong.Code == "unknown_field" {
			f = fault.New(fault.Invalid, "UNKNOWN_FIELD", "A field is not known.")
		}
		return nil, f.With(fault.Field{Pointer: pointer, Code: wrong.Code, Detail: fmt.Sprintf("At character %d: %s", wrong.Pos, wrong.Detail)})
	} else if err != nil {
		return nil, fmt.Errorf("parse filter: %w", err)
	}
	data := slices.ContainsFunc(e.Paths(), func(p rql.Path) bool { return p[0] == "data" })
	return &Where{expr: e, data: data}, nil
}

// Match reports whether the filter picks an event.
func (w *Where) Match(it *Item) bool {
	if w == nil {
		return true
	}
	doc := map[string]any{"seq": float64(it.Seq), "type": it.Type, "subject": it.Subject, "actor": it.Actor, "time": it.Time.Format(time.RFC3339Nano)}
	if it.Revision != 0 {
		doc["revision"] = float64(it.Revision)
	}
	if it.RequestID != "" {
		doc["requestId"] = it.RequestID
	}
	if w.data && !it.Data.IsZero() {
		var data any
		if err := json.Unmarshal(it.Data.Value, &data); err != nil {
			return false // the log holds nothing but objects
		}
		doc["data"] = data
	}
	return w.expr.Match(doc)
}

// given is a filter in a query. An empty one is refused: it is probably a
// missing value, and would select everything.
type given string

// UnmarshalText reads the parameter.
func (g *given) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty")
	}
	*g = given(text)
	return nil
}

// aboutFilter explains the filter in the API reference.
func aboutFilter() string {
	facts := strings.Join(slices.Sorted(maps.Keys(facts)), ", ")
	return "`filter` takes the filter language of lists (see `GET /v1/entities`), over what an event shows: seq, type, subject, revision, actor, requestId, time, " +
		"and the members of data, which are " + facts + ". " +
		"For example, `and(like(type,response.*),eq(data.surveyId,srv_1))` picks the changes to responses of one survey. An event that lacks a field matches no condition on it, except ne and not. " +
		"An unknown field is an error and is never ignored."
}
