package form

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Given returns the answers that people gave, without calculated ones, which
// follow from them and would be wrong once they change.
func Given(f *Form, answers jsontext.Value) (jsontext.Value, error) {
	return edit(f, func(c *Column) bool { return c.Kind.Calculated }, answers, func(jsontext.Value) (jsontext.Value, error) { return nil, nil })
}

// Namer translates names in answers to pseudonyms and back.
type Namer interface {
	Household(id string) string
	Serial(text string) string
}

// Rename replaces every household that an answer names, and every number on a
// thing, by a pseudonym, as pseudonymised exports do. A value that is not a text
// or number stays.
func Rename(f *Form, answers jsontext.Value, n Namer) (jsontext.Value, error) {
	return rename(f, answers, n, func(_, name jsontext.Value) jsontext.Value { return name })
}

// Restore undoes Rename: it replaces the pseudonyms of names in original by those
// names, wherever they appear in answers.
func Restore(f *Form, answers, original jsontext.Value, n Namer) (jsontext.Value, error) {
	meant := map[string]jsontext.Value{}
	if _, err := rename(f, original, n, func(old, name jsontext.Value) jsontext.Value {
		meant[string(name)] = old
		return old
	}); err != nil || len(meant) == 0 {
		return answers, err
	}
	return rename(f, answers, n, func(old, _ jsontext.Value) jsontext.Value {
		if is, ok := meant[string(old)]; ok {
			return is
		}
		return old
	})
}

// rename puts what to says in the place of answers that have another name.
func rename(f *Form, answers jsontext.Value, n Namer, to func(old, name jsontext.Value) jsontext.Value) (jsontext.Value, error) {
	with := func(name func(string) string) change {
		return func(v jsontext.Value) (jsontext.Value, error) {
			text := string(v)
			switch v.Kind() {
			case '"':
				if err := json.Unmarshal(v, &text); err != nil {
					return nil, fmt.Errorf("read answers: %w", err)
				}
			case '0':
			default:
				return v, nil
			}
			other, err := json.Marshal(name(text))
			return to(v, other), err
		}
	}
	answers, err := edit(f, func(c *Column) bool { return c.Kind.Household }, answers, with(n.Household))
	if err != nil || len(f.serials) == 0 {
		return answers, err
	}
	return edit(f, func(c *Column) bool { return f.serials[c.question()] && !c.Kind.Household }, answers, with(n.Serial))
}

// question is the id of the question of a column.
func (c *Column) question() string {
	if last := len(c.Path) - 1; !c.Kind.Rows {
		return c.Path[last]
	} else if last > 0 {
		return c.Path[last-1]
	}
	return ""
}

// Unnamed returns answers without those that name households.
func Unnamed(f *Form, answers jsontext.Value) (jsontext.Value, error) {
	return edit(f, func(c *Column) bool { return c.Kind.Household }, answers, func(jsontext.Value) (jsontext.Value, error) { return nil, nil })
}

// RenameAll is Rename for several contents, in place.
func RenameAll(f *Form, n Namer, contents ...*jsontext.Value) (err error) {
	for _, c := range contents {
		if *c, err = Rename(f, *c, n); err != nil {
			return err
		}
	}
	return nil
}

// change makes another value of an answer, nil for none.
type change func(jsontext.Value) (jsontext.Value, error)

// edit changes the answers of some columns.
func edit(f *Form, of func(*Column) bool, answers jsontext.Value, to change) (jsontext.Value, error) {
	var paths [][]string
	columns := f.Columns()
	for i := range columns {
		if c := &columns[i]; of(c) {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) == 0 || len(answers) == 0 {
		return answers, nil
	}
	// Numbers keep their text, so that unchanged values stay identical.
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
