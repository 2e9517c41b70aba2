package outbound

import "strings"

// Printable reduces a foreign text to what may be stored and shown: plain ASCII
// without control characters, at most limit bytes.
func Printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), limit)]
}
