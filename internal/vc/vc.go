// Package vc is the cryptography of verifiable credentials: W3C VC 2.0 documents and
// their structure, embedded proofs (eddsa-jcs-2022, eddsa-rdfc-2022, sets and chains),
// JOSE envelopes, the detached JWS of older VC 1.1 documents (Ed25519Signature2018),
// presentations, digests of related resources, and Bitstring Status Lists.
//
// It promises that no document makes it use the network (contexts are embedded, keys
// come from did:key or from a function it is given) and that no document keeps it
// busy: size, depth, contexts and the work of canonicalisation are bounded. It says
// what is wrong with a document in named reasons. It stores nothing and knows no
// routes.
package vc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Addresses of the contexts that documents begin with.
const (
	ContextV1 = "https://www.w3.org/2018/credentials/v1"
	ContextV2 = "https://www.w3.org/ns/credentials/v2"
	ContextDI = "https://w3id.org/security/data-integrity/v2"
)

// Limits of a document. Real credentials have a few kilobytes and four or five levels.
const (
	MaxBytes  = 256 << 10 // as JSON
	maxDepth  = 32        // of objects and arrays in each other
	maxValues = 8192      // names and values altogether
	maxProofs = 8
	maxShown  = 16 // credentials in one presentation
	maxExact  = 1 << 53
)

// Reason is one finding, for or against: where, a stable code in lower_snake,
// and a sentence.
type Reason = fault.Field

// reasonError carries a reason through functions that return errors.
type reasonError struct{ Reason }

func (e *reasonError) Error() string { return e.Code + ": " + e.Detail }

// fail makes an error of a reason.
func fail(pointer, code, detail string) error {
	return &reasonError{Reason{Pointer: pointer, Code: code, Detail: detail}}
}

// ReasonOf is the reason in an error of this package.
func ReasonOf(err error) (Reason, bool) {
	var r *reasonError
	if errors.As(err, &r) {
		return r.Reason, true
	}
	return Reason{}, false
}

// reasonOf is the reason in err, or one that says only that it failed.
func reasonOf(err error) Reason {
	if r, ok := ReasonOf(err); ok {
		return r
	}
	return Reason{Code: "not_verified", Detail: "The document could not be checked."}
}

// document is a JSON object as it was sent and as it was read.
type document struct {
	raw     jsontext.Value
	members map[string]any
	parts   map[string]jsontext.Value // the members as they were sent
	order   []string
}

// parse reads a document within the limits. Its errors are reasons: not_an_object,
// too_large, malformed, number_not_exact.
func parse(raw jsontext.Value) (*document, error) {
	if len(raw) > MaxBytes {
		return nil, fail("", "too_large", "A document has at most 256 KiB.")
	}
	if raw.Kind() != '{' {
		return nil, fail("", "not_an_object", "The document is not a JSON object.")
	}
	if err := measure(raw); err != nil {
		return nil, err
	}
	d := &document{raw: raw, parts: map[string]jsontext.Value{}}
	if err := json.Unmarshal(raw, &d.members); err != nil {
		return nil, fail("", "malformed", "The document is not strict JSON: no member twice, UTF-8 throughout.")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, fail("", "malformed", "The document is not strict JSON.")
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, fail("", "malformed", "The document is not strict JSON.")
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, fail("", "malformed", "The document is not strict JSON.")
		}
		d.parts[key], d.order = value.Clone(), append(d.order, key)
	}
	return d, nil
}

// measure limits a document's depth and size, and its numbers to those that
// canonical JSON distinguishes: it writes every number as a 64-bit float.
func measure(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for values := 0; ; values++ {
		t, err := dec.ReadToken()
		if err != nil {
			break // the end, or what Unmarshal will say better
		}
		if values > maxValues || dec.StackDepth() > maxDepth {
			return fail("", "too_large", "A document has at most 32 levels and 8,192 names and values.")
		}
		if t.Kind() != '0' {
			continue
		}
		if f, err := strconv.ParseFloat(t.String(), 64); err != nil || (f >= maxExact || f <= -maxExact) && !strings.ContainsAny(t.String(), ".eE") {
			return fail(string(dec.StackPointer()), "number_not_exact", "This number has no exact form as a 64-bit float. Write it as a string.")
		}
	}
	return nil
}

// without is the document with some members left out and others set.
func (d *document) without(name string, set map[string]jsontext.Value) jsontext.Value {
	out := make([]byte, 0, len(d.raw))
	out = append(out, '{')
	add := func(key string, value jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, key) // the texts are UTF-8
		out = append(append(out, ':'), value...)
	}
	for _, key := range d.order {
		value, replaced := set[key]
		switch {
		case replaced:
			add(key, value)
		case key != name:
			add(key, d.parts[key])
		}
	}
	for key, value := range set {
		if _, had := d.parts[key]; !had {
			add(key, value)
		}
	}
	return append(out, '}')
}

// canonical is v in the form of RFC 8785; v does not change.
func canonical(v jsontext.Value) (jsontext.Value, error) {
	c := v.Clone()
	if err := c.Canonicalize(); err != nil {
		return nil, fail("", "malformed", "The document has no canonical form.")
	}
	return c, nil
}

// text returns a member that must be a string if it exists.
func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// list is a value that may be one or several.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}
