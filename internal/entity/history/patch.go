package history

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
)

const (
	maxOps   = 10_000 // of a patch; a longer one replaces the whole record
	maxMoved = 100    // elements of an array that are compared in pairs
)

// Op is one operation of a JSON patch (RFC 6902).
type Op struct {
	Op    string `json:"op" enum:"add,remove,replace"`
	Path  string `json:"path" doc:"JSON pointer." example:"/properties/metricOne"`
	Value Value  `json:"value,omitzero"`
}

// Value is any JSON value, as it is written.
type Value struct{ jsontext.Value }

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return len(v.Value) == 0 }

// Schema describes a value in the API reference.
func (Value) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Description: "Any value."} }

// errTooMany means that a patch would be longer than its result.
var errTooMany = errors.New("too many operations")

// makePatch makes the JSON patch that turns a into b. Numbers keep their text.
func makePatch(a, b []byte) ([]Op, error) {
	d := differ{ops: []Op{}}
	err := d.compare("", a, b)
	if errors.Is(err, errTooMany) {
		return []Op{{Op: "replace", Path: "", Value: Value{b}}}, nil
	}
	return d.ops, err
}

type differ struct{ ops []Op }

func (d *differ) add(name, path string, v jsontext.Value) error {
	if len(d.ops) == maxOps {
		return errTooMany
	}
	d.ops = append(d.ops, Op{Op: name, Path: path, Value: Value{v}})
	return nil
}

func (d *differ) compare(path string, a, b jsontext.Value) error {
	switch {
	case bytes.Equal(a, b):
		return nil
	case a.Kind() == '{' && b.Kind() == '{':
		return d.objects(path, a, b)
	case a.Kind() == '[' && b.Kind() == '[':
		return d.arrays(path, a, b)
	}
	return d.add("replace", path, b)
}

// field is a member of an object.
type field struct {
	name  string
	value jsontext.Value
}

func (d *differ) objects(path string, a, b jsontext.Value) error {
	was, err := readObject(a)
	if err != nil {
		return err
	}
	now, err := readObject(b)
	if err != nil {
		return err
	}
	left := make(map[string]jsontext.Value, len(now))
	for _, f := range now {
		left[f.name] = f.value
	}
	known := make(map[string]bool, len(was))
	for _, f := range was {
		known[f.name] = true
		at := path + "/" + check.Escape(f.name)
		if v, ok := left[f.name]; ok {
			err = d.compare(at, f.value, v)
		} else {
			err = d.add("remove", at, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range now {
		if known[f.name] {
			continue
		}
		if err := d.add("add", path+"/"+check.Escape(f.name), f.value); err != nil {
			return err
		}
	}
	return nil
}

// arrays compares the parts between the common beginning and the common end.
func (d *differ) arrays(path string, a, b jsontext.Value) error {
	was, err := readArray(a)
	if err != nil {
		return err
	}
	now, err := readArray(b)
	if err != nil {
		return err
	}
	start := 0
	for start < min(len(was), len(now)) && bytes.Equal(was[start], now[start]) {
		start++
	}
	end := 0
	for end < min(len(was), len(now))-start && bytes.Equal(was[len(was)-1-end], now[len(now)-1-end]) {
		end++
	}
	was, now = was[start:len(was)-end], now[start:len(now)-end]
	if max(len(was), len(now)) > maxMoved {
		return d.add("replace", path, b)
	}
	at := func(i int) string { return path + "/" + strconv.Itoa(start+i) }
	for i := range min(len(was), len(now)) {
		if err := d.compare(at(i), was[i], now[i]); err != nil {
			return err
		}
	}
	for i := len(was) - 1; i >= len(now); i-- {
		if err := d.add("remove", at(i), nil); err != nil {
			return err
		}
	}
	for i := len(was); i < len(now); i++ {
		if err := d.add("add", at(i), now[i]); err != nil {
			return err
		}
	}
	return nil
}

func readObject(v jsontext.Value) ([]field, error) {
	var out []field
	err := read(v, '}', func(dec *jsontext.Decoder) error {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		text := name.String() // before the decoder moves on
		value, err := dec.ReadValue()
		out = append(out, field{text, value.Clone()})
		return err
	})
	return out, err
}

func readArray(v jsontext.Value) ([]jsontext.Value, error) {
	var out []jsontext.Value
	err := read(v, ']', func(dec *jsontext.Decoder) error {
		value, err := dec.ReadValue()
		out = append(out, value.Clone())
		return err
	})
	return out, err
}

// read calls one for each thing between the brackets of v.
func read(v jsontext.Value, end jsontext.Kind, one func(*jsontext.Decoder) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != end {
		if dec.PeekKind() == 0 {
			return io.ErrUnexpectedEOF
		}
		if err := one(dec); err != nil {
			return err
		}
	}
	return nil
}
