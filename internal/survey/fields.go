package survey

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// FieldsQuery is the parameter fields: names of members, or dotted paths,
// separated by commas. Members that name the record, or say that a part of it
// is hidden, are always included.
type FieldsQuery struct {
	Fields string `query:"fields" doc:"Only these members, separated by commas; the id is always included, and masked when something is masked." example:"status,updated"`
}

// FieldsOf describes the fields of the records of a type.
type FieldsOf struct {
	Type   reflect.Type
	Always []string   // members that are always included
	Form   *form.Form // whose questions the answers have; nil takes any
}

// FieldSet is the set of fields a request asks for. The zero value is the whole
// record.
type FieldSet struct{ wanted rql.Tree }

// Set reads the parameter. Faults: UNKNOWN_FIELD, INVALID_PARAMETER.
func (q FieldsQuery) Set(of FieldsOf) (FieldSet, error) {
	t, err := rql.ParseFields(q.Fields, of.find, of.Always...)
	var e *rql.Error
	switch {
	case !errors.As(err, &e):
		return FieldSet{t}, err
	case e.Code == "unknown_field":
		return FieldSet{}, fault.New(fault.Invalid, "UNKNOWN_FIELD", "The list names an unknown field.").
			With(fault.Field{Pointer: "query/fields", Code: "unknown_field", Detail: fmt.Sprintf("At character %d: %s", e.Pos, e.Detail)})
	}
	return FieldSet{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
		With(fault.Field{Pointer: "query/fields", Code: "too_many", Detail: e.Detail})
}

// find reports whether records may have something at a path. Its kind does not
// matter.
func (o FieldsOf) find(path rql.Path) (rql.Kind, error) {
	if path[0] == "responses" && o.Form != nil && len(path) > 1 {
		if !slices.ContainsFunc(o.Form.Columns(), func(c form.Column) bool {
			n := min(len(c.Path), len(path)-1) // below a question its answer may have members
			return slices.Equal(c.Path[:n], path[1:n+1])
		}) {
			return 0, rql.ErrUnknown
		}
		return rql.Any, nil
	}
	t := o.Type
	for _, name := range path {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[jsontext.Value]() {
			t = t.Elem()
		}
		switch {
		case t == reflect.TypeFor[form.Object](), t == reflect.TypeFor[form.Value](), t == reflect.TypeFor[jsontext.Value]():
			return rql.Any, nil // the contents are not declared
		case t.Kind() == reflect.Map:
			t = t.Elem()
		case t.Kind() != reflect.Struct, t == reflect.TypeFor[time.Time]():
			return 0, rql.ErrUnknown
		default:
			f, ok := memberNamed(t, name)
			if !ok {
				return 0, rql.ErrUnknown
			}
			t = f.Type
		}
	}
	return rql.Any, nil
}

// memberNamed finds a member of a struct by its name in JSON.
func memberNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name && tag != "" && tag != "-" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// KeepOne reduces the answer with a record to the requested fields.
func KeepOne[T any](s FieldSet) func(web.Reply[T], error) (web.Reply[T], error) {
	return func(r web.Reply[T], err error) (web.Reply[T], error) { return cutFields(s.wanted, r, err) }
}

// KeepPage reduces the answer with a page of records to the requested fields.
func KeepPage[T any](s FieldSet) func(web.Reply[web.Page[T]], error) (web.Reply[web.Page[T]], error) {
	t := rql.Tree{"items": s.wanted, "page": nil}
	if s.wanted == nil {
		t = nil
	}
	return func(r web.Reply[web.Page[T]], err error) (web.Reply[web.Page[T]], error) { return cutFields(t, r, err) }
}

func cutFields[T any](t rql.Tree, r web.Reply[T], err error) (web.Reply[T], error) {
	if t == nil || err != nil {
		return r, err
	}
	body := r.Raw
	if body == nil {
		if body, err = web.Encode(r.Value); err != nil {
			return r, err
		}
	}
	var out bytes.Buffer
	if err := keepFields(t, jsontext.NewEncoder(&out), jsontext.NewDecoder(bytes.NewReader(body))); err != nil {
		return r, fmt.Errorf("keep fields: %w", err)
	}
	r.Raw = bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return r, nil
}

// keepFields copies the requested fields of the next value.
func keepFields(t rql.Tree, out *jsontext.Encoder, in *jsontext.Decoder) error {
	switch kind := in.PeekKind(); {
	case t == nil:
		v, err := in.ReadValue()
		if err != nil {
			return err
		}
		return out.WriteValue(v)
	case kind == '{' || kind == '[':
		return keepEachField(t, out, in)
	}
	if err := in.SkipValue(); err != nil {
		return err
	}
	return out.WriteToken(jsontext.Null) // a requested member of a value that has no members
}

// keepEachField copies the requested fields of an object, or of each element of a
// list.
func keepEachField(t rql.Tree, out *jsontext.Encoder, in *jsontext.Decoder) error {
	open, err := in.ReadToken()
	if err != nil {
		return err
	}
	if err := out.WriteToken(open); err != nil {
		return err
	}
	list := open.Kind() == '['
	for in.PeekKind() != '}' && in.PeekKind() != ']' {
		below := t
		if !list {
			name, err := in.ReadToken()
			if err != nil {
				return err
			}
			text, wanted := name.String(), false
			if below, wanted = t[text]; !wanted || below != nil && in.PeekKind() != '{' && in.PeekKind() != '[' {
				if err := in.SkipValue(); err != nil {
					return err
				}
				continue
			}
			if err := out.WriteToken(jsontext.String(text)); err != nil {
				return err
			}
		}
		if err := keepFields(below, out, in); err != nil {
			return err
		}
	}
	end, err := in.ReadToken()
	if err != nil {
		return err
	}
	return out.WriteToken(end)
}
