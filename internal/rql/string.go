package rql

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String writes the filter so that Parse, with the same schema, reads an equal
// one. Filters that differ only in blanks and quotes give the same text.
func (e *Expr) String() string {
	var b strings.Builder
	e.write(&b)
	return b.String()
}

func (e *Expr) write(b *strings.Builder) {
	b.WriteString(string(e.Op))
	b.WriteByte('(')
	first := true
	comma := func() {
		if !first {
			b.WriteByte(',')
		}
		first = false
	}
	for _, a := range e.Args {
		comma()
		a.write(b)
	}
	if len(e.Field) > 0 {
		comma()
		if text := e.Field.String(); !strings.ContainsAny(text, `"',()\`) && !strings.ContainsFunc(text, isSpace) {
			b.WriteString(text)
		} else {
			quote(b, text)
		}
	}
	for _, v := range e.Values {
		comma()
		v.write(b)
	}
	b.WriteByte(')')
}

func (v Value) write(b *strings.Builder) {
	switch x := v.V.(type) {
	case nil:
		b.WriteString("null")
	case string:
		quote(b, x)
	case float64:
		b.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
	case bool:
		b.WriteString(strconv.FormatBool(x))
	case time.Time:
		quote(b, x.Format(time.RFC3339Nano))
	default:
		fmt.Fprint(b, x)
	}
}

func quote(b *strings.Builder, text string) {
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// quoted is a text of the client's as an error repeats it: in quotes, and at
// most its first 100 characters.
func quoted(text string) string {
	const most = 100
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strconv.Quote(text)
}
