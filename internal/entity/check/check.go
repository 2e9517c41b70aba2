// Package check holds the rules for texts, links and JSON in records that are
// the same wherever they stand. Each notes what is wrong under a pointer.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Line wants a text of one line with something in it.
func Line(c *fault.Checks, at, text string, most int) {
	if strings.TrimSpace(text) == "" {
		c.Require(false, at)
		return
	}
	Optional(c, at, text, most)
}

// Optional wants at most one line.
func Optional(c *fault.Checks, at, text string, most int) {
	switch {
	case !utf8.ValidString(text):
		c.Add(at, "not_text", "The value must be UTF-8 text.")
	case strings.ContainsFunc(text, unicode.IsControl):
		c.Add(at, "not_one_line", "The value must be one line without control characters.")
	case utf8.RuneCountInString(text) > most:
		c.Add(at, "too_long", fmt.Sprintf("At most %d characters are accepted.", most))
	}
}

// Text wants text that can be stored, in any number of lines.
func Text(c *fault.Checks, at, text string, most int) {
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		c.Add(at, "not_text", "The value must be UTF-8 text without U+0000.")
	case utf8.RuneCountInString(text) > most:
		c.Add(at, "too_long", fmt.Sprintf("At most %d characters are accepted.", most))
	}
}

// Span wants an end that is not before its start, when there are both.
func Span(c *fault.Checks, at string, from, to time.Time) {
	if !to.IsZero() && !from.IsZero() && to.Before(from) {
		c.Add(at, "out_of_range", "The end must not be before the start.")
	}
}

// Object wants a JSON object the store can hold.
func Object(c *fault.Checks, at string, o jsontext.Value, most int) {
	deepest, nul := web.Survey(o)
	switch {
	case len(o) == 0:
	case o.Kind() != '{':
		c.Add(at, "wrong_type", "The value must be an object.")
	case len(o) > most:
		c.Add(at, "too_large", fmt.Sprintf("At most %d KiB of JSON are accepted.", most>>10))
	case deepest > MaxDepth:
		c.Add(at, "too_deep", fmt.Sprintf("At most %d levels of arrays and objects are accepted.", MaxDepth))
	case nul:
		c.Add(at, "not_text", "No text in it may hold the character U+0000.")
	case !o.IsValid():
		c.Add(at, "invalid", "The value must be valid JSON without repeated members.")
	}
}

// MaxDepth is how deep an object in a record may nest. A body may nest 64
// deep, and the record around the object must pass as one.
const MaxDepth = 60

// IsFragment tells whether s is "#" and a name.
func IsFragment(s string) bool {
	name, ok := strings.CutPrefix(s, "#")
	return ok && name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r))
	})
}

// DID wants a DID of any form.
func DID(c *fault.Checks, at, text string) {
	if _, err := did.Parse(text); err == nil {
		return
	}
	if len(text) > did.MaxLength {
		c.Add(at, "too_long", fmt.Sprintf("A DID has at most %d characters.", did.MaxLength))
		return
	}
	c.Add(at, "not_a_did", "The value must be a DID, such as did:ixo:entity:123.")
}

// IsRole tells whether s can be a role of some protocol: a small letter, then
// letters, digits, - and _.
func IsRole(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// Keys lists the names of a map in their order.
func Keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Escape makes a name a part of a JSON pointer.
func Escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
