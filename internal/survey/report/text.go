package report

import (
	"strings"
	"unicode"
)

// clean removes invisible characters from a label that change how other text
// reads: control characters, and those that reverse the direction of text.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0xfeff, r == 0xfffe, r == 0xffff:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	return strings.Join(strings.Fields(text), " ")
}

// widthOf is about how wide a text is. Nobody knows the letters of the reader,
// so that it is rather too wide than too narrow.
func widthOf(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && r < 0x2000, r >= 0x2e80: // wide letters, pictures
			em += 1.05
		case unicode.IsUpper(r) || r == 'm' || r == 'w' || r == '%' || r == '@':
			em += .8
		case strings.ContainsRune("iljtfr.,;:' ()|!", r):
			em += .42
		default:
			em += .64
		}
	}
	return em * size
}

// Wrap breaks a cleaned text into lines that fit a width, at most so many: the
// last one ends with an ellipsis when there is more. Words that are too long are
// broken anywhere.
func Wrap(text string, width, size float64, most int) []string {
	var out []string
	now := ""
	for _, word := range strings.Fields(clean(text)) {
		if now != "" && widthOf(now+" "+word, size) <= width {
			now += " " + word
			continue
		}
		if now != "" {
			out = append(out, now)
		}
		for widthOf(word, size) > width {
			cut := fit(word, width, size)
			out, word = append(out, word[:cut]), word[cut:]
		}
		now = word
		if len(out) > most {
			break
		}
	}
	if now != "" {
		out = append(out, now)
	}
	if len(out) <= most {
		return out
	}
	last := []rune(out[most-1])
	for len(last) > 0 && widthOf(string(last)+"…", size) > width {
		last = last[:len(last)-1]
	}
	out[most-1] = strings.TrimRight(string(last), " ") + "…"
	return out[:most]
}

// fit is how many bytes of a word fit, at least one letter.
func fit(word string, width, size float64) int {
	cut := 0
	for i, r := range word {
		end := i + len(string(r))
		if cut > 0 && widthOf(word[:end], size) > width {
			break
		}
		cut = end
	}
	return cut
}
