package twin

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// writer appends members of JSON objects to B exactly as web.Encode renders
// them: no reflection, and nothing allocated but the text. Names of members come with their quotes and the colon,
// as they stand in JSON: `"did":`.
type writer struct {
	B      []byte
	Failed bool // something was no text, or no JSON; B is of no use
}

// Open begins an object.
func (w *writer) Open() { w.B = append(w.B, '{') }

// Shut ends an object.
func (w *writer) Shut() { w.B = append(w.B, '}') }

// comma parts a value from the one before it. No value ends in a bracket that
// opens.
func (w *writer) comma() {
	if last := w.B[len(w.B)-1]; last != '{' && last != '[' {
		w.B = append(w.B, ',')
	}
}

// Name begins a member.
func (w *writer) Name(name string) {
	w.comma()
	w.B = append(w.B, name...)
}

// Quote begins an element, or the name of a member, with a text.
func (w *writer) Quote(text string) {
	w.comma()
	w.Quoted(text)
}

// Quoted writes a text.
func (w *writer) Quoted(text string) {
	if isPlain(text) {
		w.B = append(w.B, '"')
		w.B = append(w.B, text...)
		w.B = append(w.B, '"')
		return
	}
	b, err := jsontext.AppendQuote(w.B, text)
	w.B, w.Failed = b, w.Failed || err != nil
}

// isPlain reports whether text is ASCII that JSON does not escape.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Text writes a member.
func (w *writer) Text(name, text string) {
	w.Name(name)
	w.Quoted(text)
}

// Some is Text that leaves an empty one out.
func (w *writer) Some(name, text string) {
	if text != "" {
		w.Text(name, text)
	}
}

// Mark writes true, or nothing.
func (w *writer) Mark(name string, is bool) {
	if is {
		w.Name(name)
		w.B = append(w.B, "true"...)
	}
}

// Moment is Time that leaves the zero time out.
func (w *writer) Moment(name string, t time.Time) {
	if !t.IsZero() {
		w.Time(name, t)
	}
}

// Time writes a time in UTC.
func (w *writer) Time(name string, t time.Time) {
	w.Name(name)
	w.B = append(w.B, '"')
	w.B = t.UTC().AppendFormat(w.B, web.TimeFormat)
	w.B = append(w.B, '"')
}

// Number writes a whole number.
func (w *writer) Number(name string, n int64) {
	w.Name(name)
	w.B = strconv.AppendInt(w.B, n, 10)
}

// Object writes JSON of a client without its white space, its texts in the
// shortest form.
func (w *writer) Object(name string, o jsontext.Value) {
	w.Name(name)
	if o == nil {
		w.B = append(w.B, "null"...)
		return
	}
	b, err := jsontext.AppendFormat(w.B, o)
	w.B, w.Failed = b, w.Failed || err != nil
}

// Texts writes a list of texts.
func (w *writer) Texts(name string, all []string) {
	w.Name(name)
	w.B = append(w.B, '[')
	for _, text := range all {
		w.Quote(text)
	}
	w.B = append(w.B, ']')
}

// each writes a list of objects.
func each[T any](w *writer, name string, all []T, one func(*T)) {
	w.Name(name)
	w.B = append(w.B, '[')
	for i := range all {
		w.comma()
		w.Open()
		one(&all[i])
		w.Shut()
	}
	w.B = append(w.B, ']')
}
