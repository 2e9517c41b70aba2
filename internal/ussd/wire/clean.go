package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean makes text a person typed safe to keep and to show: valid UTF-8 in NFC,
// without white space at the ends. It returns false when the text holds a
// forbidden character: a control character, one that reverses the direction of
// writing, a line separator, an invisible tag or a code point that is not a
// character. Letters of every script, accents, apostrophes and hyphens stay
// unchanged.
func Clean(s string) (string, bool) {
	if isPlain(s) {
		return strings.Trim(s, " "), true
	}
	if !utf8.ValidString(s) {
		return "", false
	}
	for _, r := range s {
		if hostile(r) {
			return "", false
		}
	}
	return strings.TrimSpace(norm.NFC.String(strings.TrimSpace(s))), true
}

// clean is Clean with a limit on the code points received.
func clean(s string, limit int) (string, bool) {
	if len(s) > limit && utf8.RuneCountInString(s) > limit {
		return "", false
	}
	return Clean(s)
}

// isPlain reports whether s is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// hostile reports characters that change how others look or where a line ends,
// and code points that are not characters.
func hostile(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true // direction of writing
	case r == 0x2028, r == 0x2029, r == 0xfeff:
		return true // line and paragraph separator, byte order mark
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true // annotation and tags, invisible
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true // no characters
	}
	return false
}

// isPhone is ^\+[1-9]\d{7,14}$.
func isPhone(s string) bool {
	return len(s) >= 9 && len(s) <= 16 && s[0] == '+' && s[1] != '0' && isDigits(s[1:])
}

// isCode is * digits, up to groups times, then #.
func isCode(s string, groups int) bool {
	if len(s) < 3 || len(s) > maxCode || s[0] != '*' || s[len(s)-1] != '#' {
		return false
	}
	rest := s[1 : len(s)-1]
	for ; groups > 0; groups-- {
		part, after, more := strings.Cut(rest, "*")
		if !isDigits(part) {
			return false
		}
		if !more {
			return true
		}
		rest = after
	}
	return false
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// plusAgain puts back the plus of a number that was sent unescaped: in a form
// it means a space, and a number begins with none.
func plusAgain(phone string) string {
	if strings.HasPrefix(phone, " ") {
		return "+" + phone[1:]
	}
	return phone
}
