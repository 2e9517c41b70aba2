package form

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// Change is one answer that differs.
type Change struct {
	Pointer string `json:"pointer" example:"/responses/eligibility/current_cooking"`
	Old     Value  `json:"old,omitzero" doc:"Absent when it was not answered."`
	New     Value  `json:"new,omitzero" doc:"Absent when it is not answered."`
}

// Compare lists the answers that differ between two answer objects, question by
// question in order of their pointers. A group or repeat counts as one
// question. A value that is not an object has no answers.
func Compare(old, new jsontext.Value) []Change {
	a, b := flat(old), flat(new)
	all := maps.Clone(a)
	maps.Copy(all, b)
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(a[p], b[p]) {
			changes = append(changes, Change{Pointer: p, Old: Value{Value: a[p]}, New: Value{Value: b[p]}})
		}
	}
	return changes
}

// flat is every answer of an answer object in canonical form by its pointer.
func flat(answers jsontext.Value) map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	var sections map[string]jsontext.Value
	if len(answers) == 0 || json.Unmarshal(answers, &sections) != nil {
		return out
	}
	for section, raw := range sections {
		var questions map[string]jsontext.Value
		if json.Unmarshal(raw, &questions) != nil {
			continue
		}
		for question, v := range questions {
			if v = v.Clone(); v.Kind() != 'n' && v.Canonicalize() == nil {
				out["/responses/"+check.Escape(section)+"/"+check.Escape(question)] = v
			}
		}
	}
	return out
}

// Merge joins the public and the private part of answers to the original
// Result.Answers. Either may be empty.
func Merge(public, private jsontext.Value) (jsontext.Value, error) {
	switch {
	case len(private) == 0:
		return public, nil
	case len(public) == 0:
		return private, nil
	}
	merged, err := merge(public, private)
	if err != nil {
		return nil, err
	}
	if err := merged.Canonicalize(); err != nil {
		return nil, fmt.Errorf("write merged answers: %w", err)
	}
	return merged, nil
}

// merge joins objects by name and arrays by place; of two other values the
// private one wins.
func merge(a, b jsontext.Value) (jsontext.Value, error) {
	switch {
	case a.Kind() == '{' && b.Kind() == '{':
		return mergeObjects(a, b)
	case a.Kind() == '[' && b.Kind() == '[':
		return mergeArrays(a, b)
	}
	return b, nil
}

func mergeObjects(a, b jsontext.Value) (jsontext.Value, error) {
	var x, y map[string]jsontext.Value
	if err := json.Unmarshal(a, &x); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for name, v := range y {
		if old, ok := x[name]; ok {
			var err error
			if v, err = merge(old, v); err != nil {
				return nil, err
			}
		}
		x[name] = v
	}
	return json.Marshal(x)
}

func mergeArrays(a, b jsontext.Value) (jsontext.Value, error) {
	var x, y []jsontext.Value
	if err := json.Unmarshal(a, &x); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for i, v := range y {
		if i >= len(x) {
			x = append(x, v)
			continue
		}
		var err error
		if x[i], err = merge(x[i], v); err != nil {
			return nil, err
		}
	}
	return json.Marshal(x)
}
