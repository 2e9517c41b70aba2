package llm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// How much of a list is shown.
const (
	maxColumns = 6
	maxCell    = 40
)

// table shows what a tool answered for people to read: how it was found, then
// its figures, then its lists as tables. What is no object stays as it is.
func table(text string) string {
	var all map[string]any
	if json.Unmarshal([]byte(text), &all) != nil {
		return text
	}
	var figures, lists []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name].(type) {
		case []any:
			if rows := objects(v); len(rows) > 0 {
				lists = append(lists, name+":\n\n"+columns(rows))
			} else {
				figures = append(figures, fmt.Sprintf("%s: %s", name, cell(v)))
			}
		case map[string]any:
			lists = append(lists, name+":\n\n"+columns(sides(v)))
		default:
			figures = append(figures, figure(name, v, all))
		}
	}
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(figures, func(s string) bool { return s == "" }), "\n") + "\n\n" + strings.Join(lists, "\n\n"))
}

// figure is a line of its own, or nothing where another line says it.
func figure(name string, v any, all map[string]any) string {
	switch {
	case name == "moreThan", name == "more" && v == false:
		return ""
	case name == "next":
		return `There are more: say "more".`
	case name == "more" && all["next"] != nil:
		return ""
	case name == "count" && all["moreThan"] == true:
		return fmt.Sprintf("count: more than %v", v)
	}
	return fmt.Sprintf("%s: %v", name, v)
}

// objects are the elements of a list of objects; none for another list.
func objects(list []any) []map[string]any {
	var out []map[string]any
	for _, v := range list {
		row, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		flat := map[string]any{}
		for name, v := range row {
			if inner, ok := v.(map[string]any); ok {
				for in, v := range inner {
					flat[name+"."+in] = v
				}
				continue
			}
			flat[name] = v
		}
		out = append(out, flat)
	}
	return out
}

// sides lays an object on its side: a row for each member.
func sides(v map[string]any) []map[string]any {
	var out []map[string]any
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, map[string]any{"member": name, "value": v[name]})
	}
	return out
}

// columns writes rows under the names of their members, the most frequent ones.
func columns(rows []map[string]any) string {
	count := map[string]int{}
	for _, r := range rows {
		for name, v := range r {
			if cell(v) != "" {
				count[name]++
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if d := strings.Count(a, ".") - strings.Count(b, "."); d != 0 {
			return d
		}
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	names = names[:min(len(names), maxColumns)]
	width := make([]int, len(names))
	lines := [][]string{names}
	for _, r := range rows {
		line := make([]string, len(names))
		for i, name := range names {
			line[i] = cell(r[name])
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, text := range line {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		writeLine(&b, line, width, " ")
		if n == 0 {
			writeLine(&b, make([]string, len(names)), width, "-")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func writeLine(b *strings.Builder, line []string, width []int, fill string) {
	for i, text := range line {
		b.WriteString("| " + text + strings.Repeat(fill, width[i]-utf8.RuneCountInString(text)) + " ")
	}
	b.WriteString("|\n")
}

// cell is a value on one line, cut where it is long. A DID is never cut: it is
// there to be copied.
func cell(v any) string {
	var text string
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		text = x
	case float64, bool:
		return fmt.Sprint(x)
	default:
		raw, err := json.Marshal(x)
		if err != nil {
			return ""
		}
		text = string(raw)
	}
	text = strings.NewReplacer("\n", " ", "|", "/").Replace(text)
	if r := []rune(text); len(r) > maxCell && !strings.HasPrefix(text, "did:") {
		return string(r[:maxCell-1]) + "…"
	}
	return text
}
