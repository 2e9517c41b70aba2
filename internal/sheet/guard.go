package sheet

import (
	"strings"
	"unicode"
)

// formulaStart are the characters that make a spreadsheet run a cell, the wide
// forms of them, and the line ends and tabs a cell may begin with.
const formulaStart = "=+-@\t\r\n＝＋－＠"

// guarded reports whether s begins like a formula, after apostrophes if any. What
// cannot be seen before it may be skipped by a program: white space, marks of
// byte order and direction, controls.
func guarded(s string) bool {
	s = strings.TrimLeft(s, "'")
	for _, r := range s {
		if strings.ContainsRune(formulaStart, r) {
			return true
		}
		if !hidden(r) {
			return false
		}
	}
	return false
}

// hidden reports whether r cannot be seen.
func hidden(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Z, r)
}

// guard puts an apostrophe before a text a spreadsheet would run, and before
// one that begins with such an apostrophe already, so that unguard always gives
// the text back.
func guard(s string) string {
	if guarded(s) {
		return "'" + s
	}
	return s
}

// unguard takes the apostrophe off again.
func unguard(s string) string {
	if strings.HasPrefix(s, "'") && guarded(s) {
		return s[1:]
	}
	return s
}
