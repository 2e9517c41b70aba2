// Package markup writes pages of HTML. A page is a chain of calls, each of which
// says what it writes: markup from the source, text that is escaped, or a picture
// or style of our own. The package parses nothing and uses no reflection, unlike
// html/template, which finds methods by their names and so keeps every method of
// the program in the binary.
//
// The package does not know where in a page a text appears. Text is safe between tags and
// inside quoted attributes that hold words or numbers; the target of a link goes
// into Href, and nothing goes into a script, a style or the name of a tag.
package markup

import (
	"strings"
	"unicode/utf8"
)

// Writer holds the part of a page written so far. The zero value is an empty page.
type Writer struct{ b []byte }

// literal is markup written in the source: code outside this package cannot convert
// a variable to it.
type literal string

// Own is a picture or a style of our own, which goes into the page unescaped.
type Own string

// Put writes markup, which can only be a constant.
func (w *Writer) Put(m literal) *Writer {
	w.b = append(w.b, m...)
	return w
}

// Text writes s escaped, for use between tags or inside quotes. NUL and bytes that are
// not UTF-8 become U+FFFD.
func (w *Writer) Text(s string) *Writer {
	from := 0
	for i, r := range s {
		size := 1
		var as string
		switch r {
		case '"':
			as = "&#34;"
		case '&':
			as = "&amp;"
		case '\'':
			as = "&#39;"
		case '+':
			as = "&#43;"
		case '<':
			as = "&lt;"
		case '>':
			as = "&gt;"
		case 0:
			as = "\uFFFD"
		case utf8.RuneError:
			_, size = utf8.DecodeRuneInString(s[i:])
			as = "\uFFFD"
		default:
			continue
		}
		w.b = append(append(w.b, s[from:i]...), as...)
		from = i + size
	}
	w.b = append(w.b, s[from:]...)
	return w
}

// Tag writes an element without attributes that contains a text.
func (w *Writer) Tag(name literal, text string) *Writer {
	return w.Put("<").Put(name).Put(">").Text(text).Put("</").Put(name).Put(">")
}

// Own writes a picture or style of our own, unescaped.
func (w *Writer) Own(o Own) *Writer {
	w.b = append(w.b, o...)
	return w
}

// Href writes the attribute href with a path of this server. Anything else becomes
// "#": a browser would leave this server, or run it.
func (w *Writer) Href(path string) *Writer {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\t\n\r") {
		path = "#"
	}
	return w.Put(` href="`).Text(path).Put(`"`)
}

// Bytes returns the page as written so far.
func (w *Writer) Bytes() []byte { return w.b }
