package db

import "strings"

// Prefix returns the bounds of the texts with a prefix in a column of folded
// names: from the first to, not including, the second. Only the letters A to Z
// are folded, as both databases do.
func Prefix(text string) (from, to string) {
	from = strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
	return from, from + "\U0010FFFF"
}
