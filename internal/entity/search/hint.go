package search

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// hint is a set of texts one of which stands in every record that fits. To
// look for it is ten times cheaper than to read the record.
type hint []string

// hints finds what must stand in a record for all of exprs to hold.
func hints(exprs []*rql.Expr) []hint {
	var out []hint
	for _, e := range exprs {
		if h := hintOf(e); h != nil {
			out = append(out, h)
		}
	}
	return out
}

// hintOf is the hint of one condition, nil when anything may fit it.
func hintOf(e *rql.Expr) hint {
	if e.Op == rql.Like {
		if text, _ := e.Prefix(); literal(text) != "" {
			return hint{literal(text)}
		}
		return longest(e)
	}
	_, vals, ok := values(e)
	if !ok {
		return nil
	}
	var h hint
	for _, v := range vals {
		s, isText := v.V.(string)
		if !isText || literal(s) == "" {
			return nil
		}
		h = append(h, literal(s))
	}
	return h
}

// longest is the longest part of a pattern without * and ?.
func longest(e *rql.Expr) hint {
	pattern, _ := e.Values[0].V.(string)
	best := ""
	for _, part := range strings.FieldsFunc(pattern, func(r rune) bool { return r == '*' || r == '?' || r == '\\' }) {
		if l := literal(part); len(l) > len(best) {
			best = l
		}
	}
	if best == "" {
		return nil
	}
	return hint{best}
}

// literal is the longest part of a text that every JSON encoder writes
// unchanged.
func literal(s string) string {
	best := ""
	for _, part := range strings.FieldsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' || r == '-' || r == '_' || r == '.' || r == ':')
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// in reports whether one of the texts stands in a record.
func (h hint) in(body string) bool {
	for _, s := range h {
		if strings.Contains(body, s) {
			return true
		}
	}
	return false
}
