package response

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Given are the answers that people gave: those without the calculated ones,
// which follow from them and would be wrong once they change.
func Given(f *form.Form, answers jsontext.Value) (jsontext.Value, error) {
	var calculated [][]string
	for _, c := range f.Columns() {
		if c.Type == form.Calculate {
			calculated = append(calculated, c.Path)
		}
	}
	if len(calculated) == 0 || len(answers) == 0 {
		return answers, nil
	}
	// Numbers keep their text: what is not calculated must not change.
	var all map[string]jsontext.Value
	if err := json.Unmarshal(answers, &all); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for _, path := range calculated {
		if v, ok := all[path[0]]; ok {
			v, err := without(v, path[1:])
			if err != nil {
				return nil, err
			}
			all[path[0]] = v
		}
	}
	return json.Marshal(all, json.Deterministic(true))
}

// without is a value with what stands at a path taken out, in every element of
// the lists on its way.
func without(v jsontext.Value, path []string) (jsontext.Value, error) {
	switch v.Kind() {
	case '[':
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, fmt.Errorf("read answers: %w", err)
		}
		for i := range list {
			var err error
			if list[i], err = without(list[i], path); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	case '{':
		var m map[string]jsontext.Value
		if err := json.Unmarshal(v, &m); err != nil {
			return nil, fmt.Errorf("read answers: %w", err)
		}
		if inner, ok := m[path[0]]; ok && len(path) > 1 {
			inner, err := without(inner, path[1:])
			if err != nil {
				return nil, err
			}
			m[path[0]] = inner
		} else if ok {
			delete(m, path[0])
		}
		return json.Marshal(m, json.Deterministic(true))
	}
	return v, nil
}
