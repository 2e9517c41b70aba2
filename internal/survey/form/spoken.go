package form

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// Reference matches an answer that a text names, as in "Where does ${name}
// cook?".
var Reference = regexp.MustCompile(`\$\{\s*([^{}\s]+)\s*\}`)

const (
	maxSpoken = 200     // characters of an answer in a text
	maxFilled = 1 << 20 // bytes of all texts of a view that name answers, and of these
)

// spoken returns a text in the language of the viewer, with the answers that it
// names: choices by their labels, nothing where there is no answer. A reference
// to an answer that cannot be read aloud stays as it is written.
func (v viewer) spoken(b *block, t Text) string {
	text := v.in(t)
	if !strings.Contains(text, "${") {
		return text
	}
	if *v.room -= len(text); *v.room < 0 {
		return text
	}
	return Reference.ReplaceAllStringFunc(text, func(found string) string {
		at, n := b.named(Reference.FindStringSubmatch(found)[1])
		if n == nil || !n.leaf() {
			return found
		}
		said, ok := v.answer(at, n)
		if !ok || len(said) > *v.room {
			return found
		}
		*v.room -= len(said)
		return said
	})
}

// named finds a question by the name it has in expressions of the block.
func (b *block) named(name string) (*block, *node) {
	ref, err := b.ev.f.names(b.box)(name)
	if err != nil || len(ref.Path) == 0 {
		return nil, nil
	}
	r, _ := b.ResolveName(ref.Var)
	record, ok := r.(*cel.Record)
	if !ok {
		return nil, nil
	}
	at, ok := record.Members.(*block)
	for i, id := range ref.Path {
		if !ok || at == nil || at.cells == nil {
			return nil, nil
		}
		n := at.box.byID[id]
		if i == len(ref.Path)-1 {
			return at, n
		}
		at = at.cells[n.index].kids
	}
	return nil, nil
}

// answer is an answer in words; false of one that has none, such as a photo.
func (v viewer) answer(b *block, n *node) (string, bool) {
	c := &b.cells[n.index]
	if !b.stands(n) || c.state == silent {
		return "", true
	}
	switch raw := b.canonical(c); {
	case n.options != nil || n.file != nil:
		chosen := c.texts
		if !n.kind.Several {
			chosen = []string{c.text}
		}
		labels := make([]string, len(chosen))
		for i, value := range chosen {
			labels[i] = v.label(n, value)
		}
		return beginning(strings.Join(labels, ", ")), true
	case raw.Kind() == '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		return beginning(string(text)), err == nil
	case raw.Kind() == '0', raw.Kind() == 't', raw.Kind() == 'f':
		return string(raw), true
	}
	return "", false
}

// label is what people read for an option of a question.
func (v viewer) label(n *node, value string) string {
	if n.file != nil {
		if rows := n.file.table.Find(n.file.value, value); len(rows) > 0 {
			_, value = n.file.shown(rows[0])
		}
		return value
	}
	if i := slices.IndexFunc(n.q.Options, func(o Option) bool { return o.Value == value }); i >= 0 {
		if label := v.in(n.q.Options[i].Label); label != "" {
			return label
		}
	}
	return value
}

// beginning is the beginning of an answer.
func beginning(text string) string {
	if utf8.RuneCountInString(text) <= maxSpoken {
		return text
	}
	return string([]rune(text)[:maxSpoken]) + "…"
}
