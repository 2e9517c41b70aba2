package chat

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxShortcode is how long a shortcode is at most, in bytes.
const maxShortcode = 32

// ReplaceEmoji replaces the shortcodes of a text, such as :wave:, by the characters
// they mean. Text that only looks like one stays: a did:key: in a DID, anything
// inside code, and every word that is not in the table.
func ReplaceEmoji(text string) string {
	if !strings.Contains(text, ":") {
		return text
	}
	var b strings.Builder
	w := NewEmojiWriter(func(s string) error { b.WriteString(s); return nil })
	_, _ = w.write(text), w.Flush() // a builder never fails
	return b.String()
}

// EmojiWriter replaces the shortcodes of a text that arrives in pieces, with the same
// result as ReplaceEmoji on the whole. It holds back only the beginning of a possible
// shortcode. It is for one goroutine.
type EmojiWriter struct {
	out  func(string) error
	held string // the beginning of a possible shortcode
	prev rune   // before what comes next; 0 at the beginning and after a shortcode

	run   int // backticks just read
	fence int // backticks that have opened the code we are in; 0 outside
}

// NewEmojiWriter makes an EmojiWriter that passes text to out as soon as
// possible.
func NewEmojiWriter(out func(string) error) *EmojiWriter { return &EmojiWriter{out: out} }

// Write takes a piece. It calls out at most once.
func (w *EmojiWriter) Write(piece string) error {
	if w.held == "" && w.run == 0 && w.fence == 0 && strings.IndexByte(piece, ':') < 0 && strings.IndexByte(piece, '`') < 0 { // almost always
		if piece == "" {
			return nil
		}
		w.prev, _ = utf8.DecodeLastRuneInString(piece)
		return w.out(piece)
	}
	return w.write(piece)
}

func (w *EmojiWriter) write(piece string) error {
	text := w.held + piece
	w.held = ""
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == ':' && w.opens() {
			n, char, whole := matchShortcode(text[i:])
			if !whole {
				b.WriteString(text[from:i])
				w.held, from = text[i:], len(text)
				break
			}
			if n > 0 {
				b.WriteString(text[from:i] + char)
				i += n
				from, w.prev = i, 0
				continue
			}
		}
		w.step(r)
		i += size
	}
	b.WriteString(text[from:])
	if b.Len() == 0 {
		return nil
	}
	return w.out(b.String())
}

// Flush gives what was held back. What comes after it is a new text.
func (w *EmojiWriter) Flush() error {
	text := w.held
	*w = EmojiWriter{out: w.out}
	if text == "" {
		return nil
	}
	if n, char, _ := matchShortcode(text + "\n"); n > 0 {
		text = char
	}
	return w.out(text)
}

// opens reports whether a colon here may begin a shortcode.
func (w *EmojiWriter) opens() bool {
	return w.fence == 0 && w.run == 0 && (w.prev == 0 || freeOfWords(w.prev) && w.prev != ':' && w.prev != '\\')
}

// freeOfWords reports whether a character may stand beside a shortcode: not a part of a
// word, of a path or of code.
func freeOfWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("`/=@&#", r)
}

// step passes over a character and follows where code begins and ends: at a run
// of backticks, until a run of as many. Code within a line ends with it at the
// latest.
func (w *EmojiWriter) step(r rune) {
	w.prev = r
	if r == '`' {
		w.run++
		return
	}
	switch {
	case w.run == 0:
	case w.fence == 0:
		w.fence = w.run
	case w.fence == w.run:
		w.fence = 0
	}
	w.run = 0
	if r == '\n' && w.fence < 3 {
		w.fence = 0
	}
}

// matchShortcode looks at a text that begins with a colon. n is the length of the
// shortcode it begins with, 0 when it begins with none; whole is false when only
// what follows can tell.
func matchShortcode(text string) (n int, char string, whole bool) {
	end := 1
	for end < len(text) && isName(text[end]) {
		end++
	}
	switch {
	case end > maxShortcode+1:
		return 0, "", true
	case end == len(text):
		return 0, "", false
	case text[end] != ':' || end == 1:
		return 0, "", true
	}
	char = emojiOf(text[1:end])
	switch end++; {
	case char == "":
		return 0, "", true
	case end == len(text):
		return 0, "", false
	}
	if r, _ := utf8.DecodeRuneInString(text[end:]); !freeOfWords(r) {
		return 0, "", true
	}
	return end, char, true
}

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '+' || c == '-'
}

// emojiOf is the character of a shortcode, "" when there is none.
func emojiOf(name string) string { return emojis()[name] }

// emojis is the table as a map, made when the first is asked for.
var emojis = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for _, entry := range strings.Fields(emojiTable) {
		name, char, _ := strings.Cut(entry, "=")
		m[name] = char
	}
	return m
})
