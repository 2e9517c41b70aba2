package menu

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// object has the members of a mapping by name.
type object map[string]*value

// absent marks a member that is missing. It is reported where it is asked for.
func (o object) get(name string) *value {
	if v := o[name]; v != nil {
		return v
	}
	at := o[""].spot
	return &value{spot: at, kind: ast.UnknownNodeType}
}

func kindName(k ast.NodeType) string {
	switch k {
	case ast.MappingType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	case ast.NullType:
		return "nothing"
	}
	return "a text"
}

// decoder reads values of the tree, and collects mistakes.
type decoder struct {
	file     string
	problems Problems
	unread   int // ways from node to node that could not be read
}

func (d *decoder) bad(at spot, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: at.line, Column: at.column, Path: path, Text: fmt.Sprintf(format, args...)})
}

// want reports a value of the wrong kind and reports whether it is the right one.
func (d *decoder) want(v *value, path string, kind ast.NodeType) bool {
	switch v.kind {
	case kind:
		return true
	case refused:
	case ast.UnknownNodeType:
		d.bad(v.spot, path, "is missing")
	default:
		d.bad(v.spot, path, "want %s, not %s", kindName(kind), kindName(v.kind))
	}
	return false
}

func (d *decoder) members(v *value, path string) []member {
	if !d.want(v, path, ast.MappingType) {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range v.members {
		if seen[m.name] {
			d.bad(m.spot, path, "%s is there twice", m.name)
		}
		seen[m.name] = true
	}
	return v.members
}

// object reads a mapping with known members; nil when it is not a mapping. The
// member "" is the mapping itself, for its place.
func (d *decoder) object(v *value, path string, fields []string) object {
	members := d.members(v, path)
	if v.kind != ast.MappingType {
		return nil
	}
	o := object{"": v}
	for _, m := range members {
		if !slices.Contains(fields, m.name) {
			d.bad(m.spot, join(path, m.name), "is not known here; want one of %s", strings.Join(fields, ", "))
			d.unread++ // it may be a way, misspelt
			continue
		}
		o[m.name] = m.value
		if m.value.kind == ast.NullType {
			m.value.spot = m.spot
		}
	}
	return o
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (d *decoder) list(v *value, path string) []*value {
	if !d.want(v, path, ast.SequenceType) {
		return nil
	}
	return v.list
}

func (d *decoder) scalar(v *value, path string) string {
	if !d.want(v, path, ast.StringType) {
		return ""
	}
	if v.text == "" {
		d.bad(v.spot, path, "is empty")
	}
	return v.text
}

func (d *decoder) form(v *value, path string, form *regexp.Regexp) string {
	s := d.scalar(v, path)
	if s != "" && !form.MatchString(s) {
		d.bad(v.spot, path, "%s does not have the form %s", strconv.Quote(s), form)
		return ""
	}
	return s
}

// number reads a number from least to most, which are above 0; 0 means none.
func (d *decoder) number(v *value, path string, least, most int) int {
	if v == nil {
		return 0
	}
	s := d.scalar(v, path)
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || !numberForm.MatchString(s) || n < least || n > most {
		d.bad(v.spot, path, "want a number from %d to %d", least, most)
		return 0
	}
	return n
}

func (d *decoder) flag(v *value, path string, absent bool) bool {
	if v == nil {
		return absent
	}
	switch s := d.scalar(v, path); s {
	case "true":
		return true
	case "false":
		return false
	case "":
	default:
		want := "true or false"
		if strings.HasSuffix(path, ".draft") {
			want = "true, false or login"
		}
		d.bad(v.spot, path, "want %s", want)
	}
	return absent
}

// strings reads a list of names; one alone needs no list.
func (d *decoder) strings(v *value, path string) []*value {
	if v.kind == ast.StringType {
		return []*value{v}
	}
	items := d.list(v, path)
	for i, item := range items {
		d.scalar(item, path+"["+strconv.Itoa(i)+"]")
	}
	return items
}

// constants reads a mapping of names to texts.
func (d *decoder) constants(v *value, path string) map[string]string {
	out := map[string]string{}
	for _, m := range d.members(v, path) {
		if d.want(m.value, join(path, m.name), ast.StringType) {
			out[m.name] = m.value.text
		}
	}
	return out
}

// text reads a text: a mapping by language, or one that is the same in all. It
// is nil when there is neither.
func (r *reader) text(v *value, path string) Text {
	if !r.wantText(v, path) {
		return nil
	}
	t := Text{}
	if v.kind == ast.StringType {
		s := r.phrase(v, path)
		for _, lang := range r.pack.Languages {
			t[lang] = s
		}
		return t
	}
	for _, m := range r.members(v, path) {
		at := join(path, m.name)
		if !slices.Contains(r.pack.Languages, m.name) && !r.foreign {
			r.bad(m.spot, at, "the pack does not list the language %s", strconv.Quote(m.name))
			continue
		}
		t[m.name] = r.phrase(m.value, at)
	}
	lang := r.pack.Languages[0]
	if _, ok := t[lang]; !ok && !r.mute {
		r.bad(v.spot, path, "want a text in %s, the default language", lang)
	}
	return t
}

func (r *reader) wantText(v *value, path string) bool {
	return v.kind == ast.StringType || r.want(v, path, ast.MappingType)
}

// line reads a text that stands on one line of a screen.
func (r *reader) line(v *value, path string) Text {
	t := r.text(v, path)
	for _, s := range t {
		if strings.Contains(s, "\n") {
			r.bad(v.spot, path, "want one line")
			break
		}
	}
	return t
}

// phrase reads a text in one language, in characters that handsets have.
func (r *reader) phrase(v *value, path string) string {
	if !r.want(v, path, ast.StringType) {
		return ""
	}
	s := Plain(strings.TrimSpace(v.text))
	switch {
	case s == "":
		r.bad(v.spot, path, "is empty")
	case utf8.RuneCountInString(s) > maxText:
		r.bad(v.spot, path, "more than %d characters", maxText)
	case strings.ContainsFunc(s, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }):
		r.bad(v.spot, path, "holds a control character")
	default:
		r.placeholders(s, v.spot, path)
	}
	return s
}

// placeholders checks the variables of a text.
func (r *reader) placeholders(s string, at spot, path string) {
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return
		}
		s = s[i+1:]
		if strings.HasPrefix(s, "{") {
			s = s[1:]
			continue
		}
		name, rest, ok := strings.Cut(s, "}")
		if !ok || !variableForm.MatchString(name) {
			r.bad(at, path, "a { begins no variable; write {{ for a brace")
			return
		}
		if !r.rowText {
			r.uses(name, at, path)
		}
		s = rest
	}
}
