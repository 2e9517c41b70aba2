package form

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Partial is the stored answers for a reader who may read a part of them.
//
// A list of whose entries the reader sees a part is fixed: only its position
// says whose entry is whose, so adding, removing or moving one would attach
// hidden values to another entry. A list of which the reader sees nothing is not
// fixed: it can only be replaced as a whole.
type Partial struct {
	Shown, Hidden jsontext.Value
	Removed       bool // what a sent content does not have was taken out of it, and was not just unknown
}

// at is the place of the answers in a response.
const at = jsontext.Pointer("/responses")

// Filled merges what was sent with what is hidden: members of objects by their
// name, entries of fixed lists by their position. What was sent wins. The fault
// is ENTRIES_WITHHELD, for a fixed list that would have more or fewer entries.
func (p Partial) Filled(sent jsontext.Value) (jsontext.Value, error) {
	if len(sent) == 0 {
		return sent, nil // the check says that it is required
	}
	return p.filled(at, sent)
}

func (p Partial) filled(at jsontext.Pointer, sent jsontext.Value) (jsontext.Value, error) {
	switch {
	case p.Hidden.Kind() == '{' && sent.Kind() == '{':
		return p.filledObject(at, sent)
	case p.Hidden.Kind() == '[' && p.Shown.Kind() == '[' && sent.Kind() == '[':
		return p.filledList(at, sent)
	}
	return sent, p.mayGo(at)
}

func (p Partial) filledObject(at jsontext.Pointer, sent jsontext.Value) (jsontext.Value, error) {
	var to map[string]jsontext.Value
	if err := json.Unmarshal(sent, &to); err != nil {
		return nil, fmt.Errorf("read sent answers: %w", err)
	}
	err := p.members(at, func(name string, m Partial, at jsontext.Pointer) (err error) {
		said, ok := to[name]
		switch {
		case ok:
			to[name], err = m.filled(at, said)
		case p.Removed:
			err = m.mayGo(at)
		default:
			to[name] = m.Hidden
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(to, json.Deterministic(true))
}

func (p Partial) filledList(at jsontext.Pointer, sent jsontext.Value) (jsontext.Value, error) {
	var to []jsontext.Value
	if err := json.Unmarshal(sent, &to); err != nil {
		return nil, fmt.Errorf("read sent answers: %w", err)
	}
	entries, err := p.entries()
	if err != nil || entries == nil {
		return sent, err
	}
	if len(entries) != len(to) {
		return nil, withheld(at)
	}
	for i, e := range entries {
		if to[i], err = e.filled(at.AppendToken(strconv.Itoa(i)), to[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(to)
}

// mayGo requires that there is no fixed list inside.
func (p Partial) mayGo(at jsontext.Pointer) error {
	return p.fixed(at, withheld)
}

// MayApply requires that a JSON patch of the response does not add, remove or
// move entries of a fixed list, because a list of the same length may then have
// other entries. The fault is ENTRIES_WITHHELD.
func (p Partial) MayApply(patch []byte) error {
	var ops []struct {
		Op   string           `json:"op"`
		Path jsontext.Pointer `json:"path"`
		From jsontext.Pointer `json:"from"`
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return fmt.Errorf("read JSON patch: %w", err)
	}
	stirred := map[jsontext.Pointer]bool{}
	for _, o := range ops {
		switch o.Op {
		case "move":
			stirred[o.From.Parent()] = true
			fallthrough
		case "add", "remove", "copy":
			stirred[o.Path.Parent()] = true
		}
	}
	return p.fixed(at, func(list jsontext.Pointer) error {
		if stirred[list] {
			return withheld(list)
		}
		return nil
	})
}

// fixed calls f for every fixed list inside, until it fails.
func (p Partial) fixed(at jsontext.Pointer, f func(list jsontext.Pointer) error) error {
	switch {
	case p.Hidden.Kind() == '{':
		return p.members(at, func(_ string, m Partial, at jsontext.Pointer) error { return m.fixed(at, f) })
	case p.Hidden.Kind() != '[' || p.Shown.Kind() != '[':
		return nil
	}
	entries, err := p.entries()
	if err != nil || entries == nil {
		return err
	}
	if err := f(at); err != nil {
		return err
	}
	for i, e := range entries {
		if err := e.fixed(at.AppendToken(strconv.Itoa(i)), f); err != nil {
			return err
		}
	}
	return nil
}

// members calls f for every member of an object that is hidden, or has something
// hidden.
func (p Partial) members(at jsontext.Pointer, f func(name string, m Partial, at jsontext.Pointer) error) error {
	var shown, hidden map[string]jsontext.Value
	if err := json.Unmarshal(p.Hidden, &hidden); err != nil {
		return fmt.Errorf("read hidden answers: %w", err)
	}
	if p.Shown.Kind() == '{' {
		if err := json.Unmarshal(p.Shown, &shown); err != nil {
			return fmt.Errorf("read shown answers: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		if err := f(name, Partial{shown[name], hidden[name], p.Removed}, at.AppendToken(name)); err != nil {
			return err
		}
	}
	return nil
}

// entries returns those of a fixed list; nil when nothing is hidden in any of
// them. Members missing in an entry that was sent stay, because a list that is
// sent as a whole removes nothing.
func (p Partial) entries() ([]Partial, error) {
	var shown, hidden []jsontext.Value
	if err := json.Unmarshal(p.Hidden, &hidden); err != nil {
		return nil, fmt.Errorf("read hidden answers: %w", err)
	}
	if err := json.Unmarshal(p.Shown, &shown); err != nil {
		return nil, fmt.Errorf("read shown answers: %w", err)
	}
	if !slices.ContainsFunc(hidden, func(v jsontext.Value) bool { return string(v) != "{}" }) {
		return nil, nil
	}
	out := make([]Partial, len(hidden))
	for i := range out {
		out[i].Hidden = hidden[i]
		if i < len(shown) {
			out[i].Shown = shown[i]
		}
	}
	return out, nil
}

func withheld(list jsontext.Pointer) error {
	return fault.New(fault.Conflict, "ENTRIES_WITHHELD", "The entries of this list have personal answers that this key may not read: it can change the other answers, but not the list.").
		With(fault.Field{Pointer: string(list), Code: "scope_missing", Detail: "Adding, removing or moving entries of this list needs the scope responses:pii."})
}
