package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// maxDepth bounds how deep slices and maps that may hold Binary are followed.
const maxDepth = 100

// Binary is an argument that travels as bytes, not as JSON. It is found as an
// argument, and in []any and map[string]any at any depth.
type Binary []byte

// encoder writes arguments as JSON and collects the binary ones.
type encoder struct {
	buf    bytes.Buffer
	binary [][]byte
}

// encode gives the JSON array of an event's name, if it has one, and arguments.
func encode(name *string, args []any) (text []byte, binary [][]byte, err error) {
	var e encoder
	e.buf.WriteByte('[')
	if name != nil {
		if err := e.plain(*name); err != nil {
			return nil, nil, err
		}
	}
	for i, arg := range args {
		if i > 0 || name != nil {
			e.buf.WriteByte(',')
		}
		if err := e.value(arg, 0); err != nil {
			return nil, nil, fmt.Errorf("argument %d: %w", i, err)
		}
	}
	if len(e.binary) > maxAttachments {
		return nil, nil, fmt.Errorf("%d binary values, at most %d", len(e.binary), maxAttachments)
	}
	e.buf.WriteByte(']')
	return e.buf.Bytes(), e.binary, nil
}

func (e *encoder) value(v any, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	switch v := v.(type) {
	case Binary:
		fmt.Fprintf(&e.buf, `{"_placeholder":true,"num":%d}`, len(e.binary))
		e.binary = append(e.binary, v)
		return nil
	case json.RawMessage:
		if !json.Valid(v) {
			return errors.New("not JSON")
		}
		e.buf.Write(v)
		return nil
	case []any:
		return e.list(v, depth)
	case map[string]any:
		return e.object(v, depth)
	}
	return e.plain(v)
}

func (e *encoder) list(v []any, depth int) error {
	e.buf.WriteByte('[')
	for i, one := range v {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if err := e.value(one, depth+1); err != nil {
			return err
		}
	}
	e.buf.WriteByte(']')
	return nil
}

func (e *encoder) object(v map[string]any, depth int) error {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	e.buf.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if err := e.plain(k); err != nil {
			return err
		}
		e.buf.WriteByte(':')
		if err := e.value(v[k], depth+1); err != nil {
			return err
		}
	}
	e.buf.WriteByte('}')
	return nil
}

// plain writes a value without binary, and without the escapes for HTML that
// JavaScript never writes.
func (e *encoder) plain(v any) error {
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - 1) // the line feed an Encoder adds
	return nil
}
