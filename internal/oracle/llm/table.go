package llm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// How much of a list is shown.
const (
	maxColumns = 6
	maxCell    = 40
)

// plumbing are members that mean nothing to a person who asks a question.
var plumbing = []string{"links", "metadata", "relayerNode", "statusCode", "controllers", "missingRelationships", "more", "moreThan", "next", "how", "count"}

// table presents a tool's answer to people: a sentence, then its figures, then its
// lists as tables, in a language. An answer that is not an object stays unchanged.
func (l language) table(text string) string {
	var all map[string]any
	if json.Unmarshal([]byte(text), &all) != nil {
		return text
	}
	var figures, lists []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(plumbing, name) {
			continue
		}
		switch v := all[name].(type) {
		case []any:
			if rows := objects(v); len(rows) > 0 {
				lists = append(lists, l.heading(name)+":\n\n"+l.columns(rows))
			} else if len(v) > 0 {
				figures = append(figures, "- "+l.heading(name)+": "+cell(v))
			}
		case map[string]any:
			if len(v) > 0 {
				lists = append(lists, l.heading(name)+":\n\n"+l.columns(sides(v)))
			}
		default:
			figures = append(figures, "- "+l.heading(name)+": "+cell(v))
		}
	}
	parts := append([]string{l.lead(all), strings.Join(figures, "\n")}, lists...)
	if next, ok := all["next"].(string); ok && next != "" {
		parts = append(parts, l.say(sayMore))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// lead is the opening sentence of an answer: how many there are, and of what.
func (l language) lead(all map[string]any) string {
	how, _ := all["how"].(string)
	how = l.how(how)
	count, counted := all["count"]
	switch {
	case counted:
		out := fmt.Sprint(count)
		if all["moreThan"] == true {
			out = l.say(sayMoreThan) + out
		}
		if how != "" {
			out += " (" + how + ")"
		}
		return out + "."
	case how != "":
		return strings.ToUpper(how[:1]) + how[1:] + "."
	}
	return ""
}

// heading is a member's name as people write it: cookingHours is "Cooking hours",
// and of properties.district the district.
func (l language) heading(name string) string {
	if name = name[strings.LastIndexByte(name, '.')+1:]; name == "did" {
		return "DID"
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case r == '_':
			r = ' '
		case unicode.IsUpper(r):
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return l.say(b.String())
}

// objects are the elements of a list of objects; none for another list.
func objects(list []any) []map[string]any {
	var out []map[string]any
	for _, v := range list {
		row, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		out = append(out, flat(row))
	}
	return out
}

// flat moves the members of nested objects up, so that all members are values.
func flat(row map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range row {
		inner, ok := v.(map[string]any)
		if !ok {
			out[name] = v
			continue
		}
		for in, v := range inner {
			out[name+"."+in] = v
		}
	}
	return out
}

// sides lays an object on its side: a row for each member.
func sides(v map[string]any) []map[string]any {
	var out []map[string]any
	for _, name := range slices.Sorted(maps.Keys(v)) {
		row := map[string]any{"what": name, "value": v[name]}
		if inner, ok := v[name].(map[string]any); ok {
			row = flat(inner)
			row["what"] = name
		}
		out = append(out, row)
	}
	return out
}

// rank puts what people know a thing by first, and what machines do last.
func rank(name string, v any) int {
	switch last := name[strings.LastIndexByte(name, '.')+1:]; {
	case last == "what":
		return -1
	case last == "value" && !strings.Contains(name, "."), last == "name", last == "title", last == "day":
		return 0
	case last == "did", strings.HasPrefix(cell(v), "did:"):
		return 3
	case strings.Contains(name, "."):
		return 2
	}
	return 1
}

// columns writes rows under the names of their members, the most frequent ones.
func (l language) columns(rows []map[string]any) string {
	count, order := map[string]int{}, map[string]int{}
	for _, r := range rows {
		for name, v := range r {
			if cell(v) != "" {
				count[name]++
				order[name] = rank(name, v)
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(order[a]-order[b], count[b]-count[a], strings.Compare(a, b))
	})
	names, labels := l.labelled(names, rows)
	if len(names) > maxColumns {
		names = names[:maxColumns]
		if count["did"] > 0 { // it leads to the rest
			names[maxColumns-1] = "did"
		}
	}
	width := make([]int, len(names))
	lines := [][]string{make([]string, len(names))}
	for i, name := range names {
		lines[0][i] = labels[name]
	}
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

// labelled gives columns their headings. If two have the same one, the second is
// left out when it repeats the first, and otherwise gets a longer heading.
func (l language) labelled(names []string, rows []map[string]any) (kept []string, labels map[string]string) {
	labels = map[string]string{}
	first := map[string]string{} // by heading
	for _, name := range names {
		label := l.heading(name)
		other, taken := first[label]
		if taken && !slices.ContainsFunc(rows, func(r map[string]any) bool { return cell(r[name]) != "" && cell(r[name]) != cell(r[other]) }) {
			continue
		}
		if of, _, inner := strings.Cut(name, "."); taken && inner {
			label = l.heading(of) + " " + strings.ToLower(label)
		}
		first[label], labels[name] = name, label
		kept = append(kept, name)
	}
	return kept, labels
}

func writeLine(b *strings.Builder, line []string, width []int, fill string) {
	for i, text := range line {
		b.WriteString("| " + text + strings.Repeat(fill, width[i]-utf8.RuneCountInString(text)) + " ")
	}
	b.WriteString("|\n")
}

// cell formats a value on one line, truncated if it is long. A DID is never
// truncated, because people copy it.
func cell(v any) string {
	var text string
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		text = x
	case float64, bool:
		return fmt.Sprint(x)
	case []any:
		parts := make([]string, len(x))
		for i := range x {
			parts[i] = cell(x[i])
		}
		text = strings.Join(parts, ", ")
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
