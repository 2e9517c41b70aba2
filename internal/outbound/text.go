package outbound

import "strings"

// Printable cuts what another server said to what may be stored and shown: plain
// ASCII without control characters, at most limit bytes of it.
func Printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), limit)]
}
