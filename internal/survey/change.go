package survey

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Changed names the members in which two drafts differ, sorted. If two windows
// do not begin together it names "window/start".
func Changed(old, new Draft) ([]string, error) {
	before, err := members(old)
	if err != nil {
		return nil, err
	}
	after, err := members(new)
	if err != nil {
		return nil, err
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	var out []string
	for _, name := range slices.Compact(names) {
		switch {
		case bytes.Equal(before[name], after[name]):
		case name == "window" && !sameStart(old.Window, new.Window):
			out = append(out, "window/start")
		default:
			out = append(out, name)
		}
	}
	return out, nil
}

// members takes a draft apart.
func members(d Draft) (map[string]jsontext.Value, error) {
	text, err := json.Marshal(d, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode survey: %w", err)
	}
	out := map[string]jsontext.Value{}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("encode survey: %w", err)
	}
	return out, nil
}

// SameWindow reports whether two windows are equal; either may be nil.
func SameWindow(w, other *Window) bool {
	return sameStart(w, other) && given(w).End.Equal(given(other).End)
}

func sameStart(w, other *Window) bool { return given(w).Start.Equal(given(other).Start) }

// given is a window that need not be there.
func given(w *Window) Window {
	if w == nil {
		return Window{}
	}
	return *w
}
