package answer

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Filled is what was sent together with what is stored beside it: members of
// objects by their name, elements of lists of one length by their place. Of two
// answers the one that was sent holds, and a list of another length as it is.
func Filled(stored, sent jsontext.Value) (jsontext.Value, error) {
	switch {
	case stored.Kind() == '{' && sent.Kind() == '{':
		return filledObject(stored, sent)
	case stored.Kind() == '[' && sent.Kind() == '[':
		return filledList(stored, sent)
	}
	return sent, nil
}

func filledObject(stored, sent jsontext.Value) (jsontext.Value, error) {
	var from, to map[string]jsontext.Value
	if err := both(stored, sent, &from, &to); err != nil {
		return nil, err
	}
	for name, v := range from {
		if said, ok := to[name]; ok {
			var err error
			if v, err = Filled(v, said); err != nil {
				return nil, err
			}
		}
		to[name] = v
	}
	return json.Marshal(to, json.Deterministic(true))
}

func filledList(stored, sent jsontext.Value) (jsontext.Value, error) {
	var from, to []jsontext.Value
	if err := both(stored, sent, &from, &to); err != nil || len(from) != len(to) {
		return sent, err
	}
	for i, v := range from {
		var err error
		if to[i], err = Filled(v, to[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(to)
}

func both(stored, sent jsontext.Value, from, to any) error {
	if err := json.Unmarshal(stored, from); err != nil {
		return fmt.Errorf("read stored answers: %w", err)
	}
	if err := json.Unmarshal(sent, to); err != nil {
		return fmt.Errorf("read sent answers: %w", err)
	}
	return nil
}
