package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// shape is what a member of the record holds.
type shape struct {
	kind    rql.Kind
	list    bool             // an array of it
	members map[string]shape // of an object
	open    *shape           // of any other member; nil when there is none
}

// record is the shape of a twin, read from its type. properties are asked for
// at the protocols.
var record = shapeOf(reflect.TypeFor[entity.Entity]())

func shapeOf(t reflect.Type) shape {
	anything := shape{kind: rql.Any}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return shape{kind: rql.Time}
	case t == reflect.TypeFor[entity.Object](), t == reflect.TypeFor[jsontext.Value]():
		return shape{kind: rql.Object, open: &anything}
	}
	switch t.Kind() {
	case reflect.String:
		return shape{kind: rql.Text}
	case reflect.Bool:
		return shape{kind: rql.Bool}
	case reflect.Int, reflect.Int64:
		return shape{kind: rql.Number}
	case reflect.Slice:
		s := shapeOf(t.Elem())
		s.list = true
		return s
	case reflect.Map:
		s := shapeOf(t.Elem())
		return shape{kind: rql.Object, open: &s}
	case reflect.Struct:
		s := shape{kind: rql.Object, members: map[string]shape{}}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				s.members[name] = shapeOf(f.Type)
			}
		}
		return s
	}
	return anything
}

// find follows a path. In filters a number is a place in an array.
func (s shape) find(path rql.Path, places bool) (rql.Kind, error) {
	for _, name := range path {
		if s.kind == rql.Any {
			return rql.Any, nil
		}
		if _, err := strconv.ParseUint(name, 10, 32); err == nil && s.list && places {
			s.list = false
			continue
		}
		next, ok := s.members[name]
		if !ok && s.open != nil {
			next, ok = *s.open, true
		}
		if !ok {
			return 0, rql.ErrUnknown
		}
		s = next
	}
	return s.kind, nil
}

// fields describes the fields for filters of a workspace.
func (s *Service) fields(ctx context.Context, ws string, places bool) func(rql.Path) (rql.Kind, error) {
	return func(path rql.Path) (rql.Kind, error) {
		if places && (path[0] == "withheld" || path[0] == "links") {
			return 0, rql.ErrUnknown // no stored record has them
		}
		if len(path) < 2 || path[0] != "properties" {
			return record.find(path, places)
		}
		declared, open, err := s.cat.Declaring(ctx, ws, path[1])
		if err != nil {
			return 0, err
		}
		if len(declared) == 0 {
			if open {
				return rql.Any, nil
			}
			return 0, rql.ErrUnknown
		}
		kind := schema.Compares(declared[0].Kind)
		for _, d := range declared {
			if schema.Compares(d.Kind) != kind || open {
				kind = rql.Any
			}
		}
		switch {
		case len(path) == 2:
			return kind, nil
		case kind == rql.Any || kind == rql.Object:
			return rql.Any, nil // protocols need not declare the contents
		}
		return 0, rql.ErrUnknown
	}
}

// filterFault turns an error of the filter language into a fault. Other errors
// do not change.
func filterFault(err error) error {
	var e *rql.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code == "unknown_field" {
		return unknownField("query/filter", fmt.Sprintf("At character %d: %s", e.Pos, e.Detail))
	}
	return fault.New(fault.Invalid, "INVALID_FILTER", "The filter is not valid.").
		With(fault.Field{Pointer: "query/filter", Code: e.Code, Detail: fmt.Sprintf("At character %d: %s", e.Pos, e.Detail)})
}

func unknownField(pointer, detail string) error {
	return fault.New(fault.Invalid, "UNKNOWN_FIELD", "A field is not known.").
		With(fault.Field{Pointer: pointer, Code: "unknown_field", Detail: detail})
}

// Fields keeps only some members of a record: names of members, or dotted paths,
// separated by commas. did and withheld are always kept. The properties are those that
// protocols of the workspace of r declare. Faults: UNKNOWN_FIELD, INVALID_PARAMETER.
func (s *Service) Fields(ctx context.Context, r *entity.Row, body []byte, fields string) ([]byte, error) {
	return keep(body, fields, s.fields(ctx, r.Workspace, false))
}

// keep is Fields for any schema.
func keep(body []byte, fields string, known func(rql.Path) (rql.Kind, error)) ([]byte, error) {
	t, err := wanted(fields, known)
	if err != nil || t == nil {
		return body, err
	}
	return t.keep(nil, strings.TrimSpace(string(body))), nil
}

// wanted reads fields=; nil is all of the record.
func wanted(fields string, known func(rql.Path) (rql.Kind, error)) (tree, error) {
	t, err := rql.ParseFields(fields, known, "did", "withheld")
	var e *rql.Error
	switch {
	case !errors.As(err, &e):
		return tree(t), err
	case e.Code == "unknown_field":
		return nil, unknownField("query/fields", fmt.Sprintf("At character %d: %s", e.Pos, e.Detail))
	}
	return nil, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
		With(fault.Field{Pointer: "query/fields", Code: "too_many", Detail: e.Detail})
}

// keep appends the requested parts of v to dst.
func (t tree) keep(dst []byte, v string) []byte {
	switch {
	case t == nil || v == "":
		return append(dst, v...)
	case v[0] == '[':
		return t.keepEach(dst, v)
	case v[0] != '{':
		return append(dst, "null"...) // a requested member of a value that has no members
	}
	dst = append(dst, '{')
	first := true
	members(v, func(name string, from, to int) bool {
		below, ok := t[plain(name)]
		if !ok || below != nil && v[from] != '{' && v[from] != '[' {
			return true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), name...), '"', ':')
		dst = tree(below).keep(dst, v[from:to])
		return true
	})
	return append(dst, '}')
}

func (t tree) keepEach(dst []byte, v string) []byte {
	dst = append(dst, '[')
	first := true
	elements(v, func(value string) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = t.keep(dst, value)
	})
	return append(dst, ']')
}
