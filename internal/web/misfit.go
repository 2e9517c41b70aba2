package web

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxWrong is how many wrong members of one body are named.
const maxWrong = 50

// misfits names the members of a body that v, a pointer, does not have or cannot
// hold, up to 50, in their order, and fills v with the others. If v has a method
// Validate, its findings about the others are added. lenient accepts unknown
// members, except those of the outermost object that differ from a known name by
// case only. It returns nil, and v is empty, when the body is broken further on.
func misfits(body []byte, v any, how reading) []fault.Field {
	target := reflect.ValueOf(v).Elem()
	target.SetZero() // the decoder has left a part in it
	w := &misfitWalk{dec: jsontext.NewDecoder(bytes.NewReader(body)), reading: how, shapes: map[reflect.Type]*misfitShape{}}
	err := w.value(target)
	if err == nil {
		_, err = w.dec.ReadToken() // the end
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, errEnough) || len(w.wrong) == 0 {
		target.SetZero() // half a body must not be validated
		return nil
	}
	w.rules(v)
	return w.wrong
}

// IsMisfit reports whether err names all members of a body that are unknown, of the
// wrong type, empty or missing: the caller who decoded it has the others.
func IsMisfit(err error) bool {
	f := fault.As(err)
	return f != nil && slices.Contains([]string{"UNKNOWN_MEMBER", "WRONG_TYPE", "EMPTY_MEMBER", "MISSING_MEMBER"}, f.Code) && len(f.Fields) < maxWrong
}

// JoinFields adds fields to the wrong ones, except where one of these, or its
// parent, is named already: the first reason is the one to fix.
func JoinFields(wrong, more []fault.Field) []fault.Field {
	out := slices.Clip(wrong)
	for _, f := range more {
		if !touches(wrong, f.Pointer) {
			out = append(out, f)
		}
	}
	return out
}

// unknownField is a member that is not known.
func unknownField(pointer string) fault.Field {
	return fault.Field{Pointer: pointer, Code: "unknown", Detail: "This member is not known here."}
}

// wanter is an error of a type that reads its own JSON: Wanted is what a value must
// be, such as "a string or an object". Otherwise only the Go type would be known.
type wanter interface {
	error
	Wanted() string
}

// wrongType is what the decoder says about one member.
func wrongType(err *json.SemanticError) fault.Field {
	pointer := string(err.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return unknownField(pointer)
	}
	detail := "The value has the wrong type."
	want := typeName(err)
	if own := wanter(nil); errors.As(err, &own) {
		want = own.Wanted()
	}
	if want != "" {
		detail = "The value must be " + want + "."
	}
	return fault.Field{Pointer: pointer, Code: "wrong_type", Detail: detail}
}

var errEnough = errors.New("enough members are wrong")

// misfitWalk reads a body value by value, alongside the Go value it is meant
// for.
type misfitWalk struct {
	dec    *jsontext.Decoder
	wrong  []fault.Field
	shapes map[reflect.Type]*misfitShape
	reading
}

// shape is what a type looks like in JSON. A body may hold a type very often.
type misfitShape struct {
	whole bool // it reads its own JSON
	known map[string][]int
	full  map[string]bool // optional members that are not "" when they are given
	need  map[string]bool // members for which zero is a valid value, so that they must be given
}

func (w *misfitWalk) shape(t reflect.Type) *misfitShape {
	s := w.shapes[t]
	if s == nil {
		s = &misfitShape{whole: ownWords(t)}
		if !s.whole && t.Kind() == reflect.Struct {
			s.known = membersOf(t)
			s.full, s.need = fullOf(t, s.known), neededOf(t, s.known)
		}
		w.shapes[t] = s
	}
	return s
}

func (w *misfitWalk) note(f fault.Field) error {
	f.Pointer = fault.Pointer(f.Pointer)
	w.wrong = append(w.wrong, f)
	if len(w.wrong) == maxWrong {
		return errEnough
	}
	return nil
}

// value reads the next value into v.
func (w *misfitWalk) value(v reflect.Value) error {
	kind := w.dec.PeekKind()
	if !w.shape(v.Type()).whole {
		switch {
		case v.Kind() == reflect.Pointer && kind != 'n':
			v.Set(reflect.New(v.Type().Elem()))
			return w.value(v.Elem())
		case v.Kind() == reflect.Struct && kind == '{':
			return w.members(v)
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String && kind == '{':
			return w.entries(v)
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 && kind == '[':
			return w.elements(v)
		}
	}
	return w.leaf(v)
}

// ownWords reports whether a type reads its own JSON.
func ownWords(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// leaf decodes a value as a whole.
func (w *misfitWalk) leaf(v reflect.Value) error {
	text, err := w.dec.ReadValue()
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, v.Addr().Interface(), json.RejectUnknownMembers(!w.lenient))
	if err == nil {
		return nil
	}
	v.SetZero()
	pointer := string(w.dec.StackPointer())
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return w.note(fault.Field{Pointer: pointer, Code: "wrong_type", Detail: "The value has the wrong type."})
	}
	f := wrongType(semantic)
	f.Pointer = pointer + f.Pointer
	return w.note(f)
}

// inside reads an object or array and calls each before every value of it;
// name is the member's, "" in arrays.
func (w *misfitWalk) inside(end jsontext.Kind, each func(name string) error) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != end {
		name := ""
		if end == '}' {
			token, err := w.dec.ReadToken()
			if err != nil {
				return err
			}
			name = token.String()
		}
		if err := each(name); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *misfitWalk) members(v reflect.Value) error {
	known, full, need := w.shape(v.Type()).known, w.shape(v.Type()).full, w.shape(v.Type()).need
	seen := make(map[string]bool, len(need))
	err := w.inside('}', func(name string) error {
		seen[name] = seen[name] || need[name] && w.dec.PeekKind() != 'n'
		if index, ok := known[name]; ok {
			text := w.dec.PeekKind() == '"'
			if err := w.value(fieldAt(v, index)); err != nil || !text || !full[name] || !fieldAt(v, index).IsZero() {
				return err
			}
			return w.note(fault.Field{Pointer: string(w.dec.StackPointer()), Code: "empty", Detail: "The value must not be empty. Leave the member out instead."})
		}
		if err := w.dec.SkipValue(); err != nil {
			return err
		}
		if w.lenient && (w.dec.StackDepth() > 1 || !variant(known, name)) {
			return nil
		}
		return w.note(unknownField(string(w.dec.StackPointer())))
	})
	for name := range need {
		if err == nil && !seen[name] && !w.patch {
			err = w.note(missing(string(w.dec.StackPointer() + "/" + jsontext.Pointer(name))))
		}
	}
	return err
}

// variant reports whether a name differs from a known one by case only.
func variant(known map[string][]int, name string) bool {
	for k := range known {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

// membersOf lists the fields of a struct by their names in JSON, with those of
// embedded structs; a field nearer to the top hides others of its name. Bodies
// have no fields with the options format and string.
func membersOf(t reflect.Type) map[string][]int {
	out := map[string][]int{}
	addMembers(out, t, nil)
	return out
}

func addMembers(out map[string][]int, t reflect.Type, above []int) {
	for i := range t.NumField() {
		f, index := t.Field(i), append(slices.Clone(above), i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && tag == "" && inner.Kind() == reflect.Struct:
			addMembers(out, inner, index)
		case f.IsExported():
			name := cmp.Or(tag, f.Name)
			if had, ok := out[name]; !ok || len(index) < len(had) {
				out[name] = index
			}
		}
	}
}

// fullOf lists the members that may be left out and, when they are given, must
// not be "": texts with the tag minLength that are left out when empty.
func fullOf(t reflect.Type, known map[string][]int) map[string]bool {
	out := map[string]bool{}
	for name, index := range known {
		f := t.FieldByIndex(index)
		if f.Type.Kind() == reflect.String && f.Tag.Get("minLength") != "" && strings.HasSuffix(f.Tag.Get("json"), ",omitzero") {
			out[name] = true
		}
	}
	return out
}

// neededOf lists the numbers with the tag required:"true".
func neededOf(t reflect.Type, known map[string][]int) map[string]bool {
	out := map[string]bool{}
	for name, index := range known {
		f := t.FieldByIndex(index)
		if f.Type.Kind() == reflect.Float64 && f.Tag.Get("required") == "true" {
			out[name] = true
		}
	}
	return out
}

// missing is a member that must be there.
func missing(pointer string) fault.Field {
	return fault.Field{Pointer: pointer, Code: "required", Detail: "This member is required."}
}

// mayBeEmpty reports whether v, a pointer, has such a member anywhere.
func mayBeEmpty(v any) bool {
	w := &misfitWalk{shapes: map[reflect.Type]*misfitShape{}}
	return w.mayBeEmpty(reflect.TypeOf(v).Elem())
}

func (w *misfitWalk) mayBeEmpty(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || w.shapes[t] != nil {
		return false
	}
	s := w.shape(t)
	if len(s.full) > 0 {
		return true
	}
	for _, index := range s.known {
		if w.mayBeEmpty(t.FieldByIndex(index).Type) {
			return true
		}
	}
	return false
}

// at is a field of v; embedded pointers on the way are filled.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}

func (w *misfitWalk) entries(v reflect.Value) error {
	t := v.Type()
	v.Set(reflect.MakeMap(t))
	return w.inside('}', func(name string) error {
		value := reflect.New(t.Elem()).Elem()
		before := len(w.wrong)
		err := w.value(value)
		if len(w.wrong) == before {
			v.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), value)
		}
		return err
	})
}

func (w *misfitWalk) elements(v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	return w.inside(']', func(string) error {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		return w.value(v.Index(v.Len() - 1))
	})
}

// rules adds what the rules of a body say about the members that are right.
func (w *misfitWalk) rules(v any) {
	checked, ok := v.(interface{ Validate() error })
	if !ok || w.wrong[0].Pointer == "" {
		return
	}
	broken := fault.As(checked.Validate())
	if broken == nil || broken.Kind != fault.Invalid {
		return
	}
	w.wrong = JoinFields(w.wrong, broken.Fields)
	w.wrong = w.wrong[:min(len(w.wrong), maxWrong)]
}

// touches reports whether a member, or one it is part of, is named already.
func touches(wrong []fault.Field, pointer string) bool {
	for _, f := range wrong {
		if pointer == f.Pointer || strings.HasPrefix(pointer, f.Pointer+"/") {
			return true
		}
	}
	return false
}

// typeName says in words what a JSON value should have been, "" when the Go
// type does not determine it.
func typeName(err *json.SemanticError) string {
	t := err.GoType
	if t == nil {
		return ""
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Time]() {
		return "a time such as 2026-01-31T08:00:00Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return ""
}
