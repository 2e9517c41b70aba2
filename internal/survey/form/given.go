package form

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Given are the answers that people gave: those without the calculated ones,
// which follow from them and would be wrong once they change.
func Given(f *Form, answers jsontext.Value) (jsontext.Value, error) {
	return edit(f, func(k *Kind) bool { return k.Calculated }, answers, func(jsontext.Value) (jsontext.Value, error) { return nil, nil })
}

// Rename gives every household that an answer names another name. What is not
// the text of a name stays.
func Rename(f *Form, answers jsontext.Value, name func(string) string) (jsontext.Value, error) {
	return edit(f, func(k *Kind) bool { return k.Household }, answers, func(v jsontext.Value) (jsontext.Value, error) {
		if v.Kind() != '"' {
			return v, nil
		}
		var old string
		if err := json.Unmarshal(v, &old); err != nil {
			return nil, fmt.Errorf("read answers: %w", err)
		}
		return json.Marshal(name(old))
	})
}

// Unnamed are answers without those that name households.
func Unnamed(f *Form, answers jsontext.Value) (jsontext.Value, error) {
	return edit(f, func(k *Kind) bool { return k.Household }, answers, func(jsontext.Value) (jsontext.Value, error) { return nil, nil })
}

// RenameAll is Rename for several contents, in their place.
func RenameAll(f *Form, name func(string) string, contents ...*jsontext.Value) (err error) {
	for _, c := range contents {
		if *c, err = Rename(f, *c, name); err != nil {
			return err
		}
	}
	return nil
}

// change makes another value of an answer, nil for none.
type change func(jsontext.Value) (jsontext.Value, error)

// edit changes the answers to the questions of some kinds.
func edit(f *Form, of func(*Kind) bool, answers jsontext.Value, to change) (jsontext.Value, error) {
	var paths [][]string
	for _, c := range f.Columns() {
		if of(c.Kind) {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) == 0 || len(answers) == 0 {
		return answers, nil
	}
	// Numbers keep their text: what is not changed must not change.
	var all map[string]jsontext.Value
	if err := json.Unmarshal(answers, &all); err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for _, path := range paths {
		if v, ok := all[path[0]]; ok {
			v, err := inside(v, path[1:], to)
			if err != nil {
				return nil, err
			}
			all[path[0]] = v
		}
	}
	return json.Marshal(all, json.Deterministic(true))
}

// inside is a value with what stands at a path changed, in every element of the
// lists on its way.
func inside(v jsontext.Value, path []string, to change) (jsontext.Value, error) {
	switch v.Kind() {
	case '[':
		var list []jsontext.Value
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, fmt.Errorf("read answers: %w", err)
		}
		for i := range list {
			var err error
			if list[i], err = inside(list[i], path, to); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	case '{':
		var m map[string]jsontext.Value
		if err := json.Unmarshal(v, &m); err != nil {
			return nil, fmt.Errorf("read answers: %w", err)
		}
		old, ok := m[path[0]]
		if !ok {
			return v, nil
		}
		var next jsontext.Value
		var err error
		if len(path) > 1 {
			next, err = inside(old, path[1:], to)
		} else {
			next, err = to(old)
		}
		if err != nil {
			return nil, err
		}
		if m[path[0]] = next; next == nil {
			delete(m, path[0])
		}
		return json.Marshal(m, json.Deterministic(true))
	}
	return v, nil
}

var cidText = base32.StdEncoding.WithPadding(base32.NoPadding)

// ContentID is the CID (version 1, raw bytes, SHA-256) of a content.
func ContentID(content []byte) string {
	sum := sha256.Sum256(content)
	return "b" + strings.ToLower(cidText.EncodeToString(append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)))
}

// IsPrivate reports whether an answer holds anything about a person.
func IsPrivate(f *Form, pointer string) bool {
	for _, c := range f.Columns() {
		if !c.PII.Private() {
			continue
		}
		at := "/responses/" + strings.Join(c.Path, "/")
		if at == pointer || strings.HasPrefix(at, pointer+"/") || strings.HasPrefix(pointer, at+"/") {
			return true
		}
	}
	return false
}
