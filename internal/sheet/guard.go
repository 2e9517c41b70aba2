package sheet

import "strings"

// formulaStart are the characters that make a spreadsheet run a cell, the wide
// forms of them, and the white space that is skipped before one.
const formulaStart = "=+-@\t\r\n＝＋－＠"

// guarded tells whether s begins like a formula, after apostrophes if any.
func guarded(s string) bool {
	s = strings.TrimLeft(s, "'")
	if s == "" {
		return false
	}
	for _, r := range s {
		return strings.ContainsRune(formulaStart, r)
	}
	return false
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
