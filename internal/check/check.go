// Package check has the rules that are the same wherever a client sends a text,
// a DID, a time, an object or a version. Each rule notes mistakes under a JSON
// pointer, with a code that is part of the API; empty values pass unless a rule
// says otherwise.
package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Short requires at most so many characters.
func Short(c *fault.Checks, at, text string, most int) {
	if len(text) > most && utf8.RuneCountInString(text) > most {
		c.Add(at, "too_long", fmt.Sprintf("At most %d characters are accepted.", most))
	}
}

// Line requires a non-empty text of one line.
func Line(c *fault.Checks, at, text string, most int) {
	if strings.TrimSpace(text) == "" {
		c.Require(false, at)
		return
	}
	Optional(c, at, text, most)
}

// Optional requires at most one line.
func Optional(c *fault.Checks, at, text string, most int) {
	switch {
	case !utf8.ValidString(text):
		c.Add(at, "not_text", "The value must be UTF-8 text.")
	case strings.ContainsFunc(text, unicode.IsControl):
		c.Add(at, "not_one_line", "The value must be one line without control characters.")
	default:
		Short(c, at, text, most)
	}
}

// Plain is Optional for members whose clients expect the code control_character
// for a text of several lines.
func Plain(c *fault.Checks, at, text string, most int) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		c.Add(at, "control_character", "The value must be one line without control characters.")
		return
	}
	Short(c, at, text, most)
}

// MaxReason limits the characters of a reason.
const MaxReason = 1000

// Reason requires one line with a reason; it may be empty unless needed.
func Reason(c *fault.Checks, at, reason string, needed bool) {
	if needed && strings.TrimSpace(reason) == "" {
		c.Require(false, at)
		return
	}
	Plain(c, at, reason, MaxReason)
}

// Text requires text that can be stored, in any number of lines.
func Text(c *fault.Checks, at, text string, most int) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		c.Add(at, "not_text", "The value must be UTF-8 text without U+0000.")
		return
	}
	Short(c, at, text, most)
}

// OneOf requires one of the allowed values.
func OneOf(c *fault.Checks, at, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.Add(at, "not_allowed", "The value must be one of "+strings.Join(allowed, ", ")+".")
	}
}

// Each requires at most so many members of a list, and checks each with a
// function that returns what is wrong with it, or nothing.
func Each(c *fault.Checks, at string, list []string, most int, wrong func(string) string) {
	if len(list) > most {
		c.Add(at, "too_many", fmt.Sprintf("The list must have %d members or fewer.", most))
		return
	}
	for i, s := range list {
		if detail := wrong(s); detail != "" {
			c.Add(at+"/"+strconv.Itoa(i), "invalid", detail)
		}
	}
}

// Span requires an end that is not before its start, when there are both.
func Span(c *fault.Checks, at string, from, to time.Time) {
	if !to.IsZero() && !from.IsZero() && to.Before(from) {
		c.Add(at, "out_of_range", "The end must not be before the start.")
	}
}

// Years requires a time between two years, both included, because any other
// must be a mistake.
func Years(c *fault.Checks, at string, t time.Time, from, to int) {
	if !t.IsZero() && (t.Year() < from || t.Year() > to) {
		c.Add(at, "out_of_range", fmt.Sprintf("The year must be %d to %d.", from, to))
	}
}

// Object requires a JSON object the store can hold.
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

// MaxDepth limits the nesting of an object in a record. A body may nest 64
// deep, and the record around the object must be a valid body.
const MaxDepth = 60

// IsFragment reports whether s is "#" and a name.
func IsFragment(s string) bool {
	name, ok := strings.CutPrefix(s, "#")
	return ok && name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r))
	})
}

// DID requires a DID of any form.
func DID(c *fault.Checks, at, text string) {
	switch {
	case did.Valid(text):
	case len(text) > did.MaxLength:
		c.Add(at, "too_long", fmt.Sprintf("A DID has at most %d characters.", did.MaxLength))
	default:
		c.Add(at, "not_a_did", "The value must be a DID, such as did:ixo:entity:123.")
	}
}

// IsRole reports whether s can be a role of a protocol: a small letter, then
// letters, digits, - and _.
func IsRole(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// Escape escapes a name for a JSON pointer.
func Escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
