// Package codec reads and writes the IPLD encodings that UCAN 0.9.1 tokens are
// made of: base64 text, CARv1, CIDv1, strict dag-cbor, and the dag-json that is
// signed. It accepts only one spelling of each value where the JavaScript
// libraries write only one: no indefinite lengths, shortest integers, sorted
// keys, 64-bit floats. It knows nothing of tokens, keys or time.
//
// A value is one of nil, bool, int64, uint64 (only above the range of int64),
// float64, string, []byte, CID, []any and Map.
package codec

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// ErrSyntax means that bytes are not well-formed. All errors of this package
// wrap it.
var ErrSyntax = errors.New("not well formed")

// maxDepth is how deep values may nest.
const maxDepth = 32

// maxSafe is the largest integer JavaScript holds exactly. It writes whole
// numbers up to it as integers and larger ones as floats.
const maxSafe = 1<<53 - 1

func bad(what string) error { return fmt.Errorf("%w: %s", ErrSyntax, what) }

// Entry is one member of a Map.
type Entry struct {
	Key   string
	Value any
}

// Map is a map in the order of dag-cbor: shorter keys first, then by bytes.
type Map []Entry

// Get finds the value of a key.
func (m Map) Get(key string) (any, bool) {
	for i := range m {
		if m[i].Key == key {
			return m[i].Value, true
		}
	}
	return nil, false
}

// byLength is the order of keys in dag-cbor.
func byLength(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// From makes a value from Go types: also int, map[string]any and slices of
// them. A whole float becomes an integer, as in JavaScript. It returns an error
// for any other type, for NaN and infinities.
func From(v any) (any, error) { return from(v, 0) }

func from(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, bad("nested too deep")
	}
	switch x := v.(type) {
	case nil, bool, int64, string, []byte, CID:
		return x, nil
	case int:
		return int64(x), nil
	case uint64:
		if x <= math.MaxInt64 {
			return int64(x), nil
		}
		return x, nil
	case float64:
		return fromFloat(x)
	case []any:
		return fromList(x, depth)
	case []map[string]any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = x[i]
		}
		return fromList(list, depth)
	case map[string]any:
		return fromMap(x, depth)
	case Map:
		m := make(map[string]any, len(x))
		for _, e := range x {
			m[e.Key] = e.Value
		}
		return fromMap(m, depth)
	}
	return nil, bad(fmt.Sprintf("no encoding for %T", v))
}

func fromFloat(f float64) (any, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, bad("not a number")
	case f == math.Trunc(f) && math.Abs(f) <= maxSafe:
		return int64(f), nil
	}
	return f, nil
}

func fromList(in []any, depth int) (any, error) {
	out := make([]any, len(in))
	for i := range in {
		v, err := from(in[i], depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func fromMap(in map[string]any, depth int) (any, error) {
	out := make(Map, 0, len(in))
	for key, value := range in {
		v, err := from(value, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{key, v})
	}
	order.Sort(out, func(a, b Entry) int { return byLength(a.Key, b.Key) })
	return out, nil
}

// Plain reverses From for maps: every Map becomes a map[string]any, which is
// more convenient.
func Plain(v any) any {
	switch x := v.(type) {
	case Map:
		m := make(map[string]any, len(x))
		for _, e := range x {
			m[e.Key] = Plain(e.Value)
		}
		return m
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = Plain(x[i])
		}
		return out
	}
	return v
}
