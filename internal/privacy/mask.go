package privacy

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Without returns the record of a twin without the personal properties of these names,
// which it lists as withheld. A record that has none of them is returned unchanged.
func Without(body []byte, names []string) ([]byte, error) {
	if len(names) == 0 {
		return body, nil
	}
	var withheld []string
	out := append(make([]byte, 0, len(body)+64), '{')
	err := members(body, func(name string, dec *jsontext.Decoder) error {
		v, err := dec.ReadValue()
		if err == nil && (name == "properties" || name == "metadata") {
			v, withheld, err = Drop(v, name, names, withheld)
		}
		if err != nil {
			return err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return err
		}
		out = append(append(out, ':'), v...)
		return nil
	})
	if err != nil || len(withheld) == 0 {
		return body, err
	}
	list, err := json.Marshal(withheld)
	if err != nil {
		return nil, err
	}
	out = append(append(out, `,"withheld":`...), list...)
	return append(out, '}'), nil
}

// Drop removes members from an object and adds them to those withheld:
// properties by their name, others prefixed by the name of the object.
func Drop(object jsontext.Value, of string, names, withheld []string) (jsontext.Value, []string, error) {
	if object.Kind() != '{' {
		return object, withheld, nil
	}
	kept := append(make([]byte, 0, len(object)), '{')
	err := members(object, func(name string, dec *jsontext.Decoder) error {
		if slices.Contains(names, name) {
			if of != "properties" {
				name = of + "." + name
			}
			withheld = append(withheld, name)
			return dec.SkipValue()
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if kept, err = jsontext.AppendQuote(kept, name); err != nil {
			return err
		}
		kept = append(append(kept, ':'), v...)
		return nil
	})
	return append(kept, '}'), withheld, err
}

// members calls fn with the name of each member of an object. fn reads or skips
// its value.
func members(object []byte, fn func(name string, dec *jsontext.Decoder) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return fmt.Errorf("read record: %w", err)
		}
		if err := fn(name.String(), dec); err != nil {
			return fmt.Errorf("read record: %w", err)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	return nil
}
