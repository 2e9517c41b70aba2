package export

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// stataWriter writes a file of Stata, format 118. It begins with how many rows
// follow and how wide each text is, so the responses are read first to measure
// them, then for the rows, and once more when there are texts too long for a
// row.
type stataWriter struct {
	l     *Layout
	about About
	vars  []stataVar
	step  stataStep
	found int64 // responses that were measured
	rows
	at   int64 // row of the long texts
	long int64 // bytes of them that are still to come
}

type stataStep uint8

const (
	measuring stataStep = iota
	rowing
	texting // the long texts
)

// stataVar is a variable: a number or a text.
type stataVar struct {
	name   string
	label  string // of the variable
	column string // its name in the other formats
	kind   stataKind
	values []stataValue // labels of numbers
	truth  bool         // they are no and yes
	words  bool         // it has a value that is not a number

	longest int   // bytes of its longest text
	texts   int64 // that are not empty
	bytes   int64 // of all texts
}

type stataValue struct {
	n    int32
	text string
}

type stataKind uint8

const (
	stataText stataKind = iota
	stataNumber
	stataDay
	stataMoment
)

// What Stata can hold.
const (
	maxStataText = 2045          // bytes of a text in a row
	maxStataName = 32            // characters of a name
	maxStataNote = 80            // characters of a label of a variable
	maxLabelled  = 2_147_483_620 // greatest number with a label
)

// Numbers in the type of a variable, and in place of a value.
const (
	typeDouble = 65526
	typeLong   = 32768 // a text stored outside the rows
	noValue    = 0x7fe0000000000000
	noValueOne = 0x0000010000000000 // between .a and .b
)

func newStataWriter(l *Layout, about About) *stataWriter {
	w := &stataWriter{l: l, about: about}
	names := map[string]bool{yesNo: true}
	lang := l.cfg.Form.Template().Language()
	for i := range l.columns {
		c := &l.columns[i]
		v := stataVar{name: stataName(c.Name, names), column: c.Name, kind: stataKindOf(c)}
		v.label = cut(c.Label.In(l.cfg.Language, lang), maxStataNote)
		if v.kind == stataNumber {
			v.truth = c.truth()
			v.values = stataValues(c, l.cfg.Language, lang)
		}
		w.vars = append(w.vars, v)
	}
	return w
}

// stataName makes a name of letters, digits and underscores that no other
// variable has.
func stataName(column string, taken map[string]bool) string {
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, column)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	name = cut(name, maxStataName)
	for n := 2; taken[name] || stataWords[name]; n++ {
		end := "_" + strconv.Itoa(n)
		name = cut(name, maxStataName-len(end)) + end
	}
	taken[name] = true
	return name
}

// stataWords are names that Stata keeps for itself, as far as questions may be
// called so.
var stataWords = map[string]bool{
	"byte": true, "double": true, "float": true, "if": true, "in": true, "int": true, "long": true, "using": true, "with": true,
	"_all": true, "_b": true, "_cons": true, "_n": true, "_N": true, "_pi": true, "_pred": true, "_rc": true, "_skip": true, "strL": true,
}

// cut keeps the beginning of a text, at most so many characters.
func cut(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i]
		}
		most--
	}
	return s
}

// stataKindOf says how the values of a column are kept. It depends on the form
// alone, so that the files of two rounds fit together.
func stataKindOf(c *Column) stataKind {
	k := form.KindOf(form.Type(c.Type))
	switch {
	case len(c.Options) > 0:
		if k.Several || c.open || !allWhole(c.Options) {
			return stataText
		}
		return stataNumber
	case k.Day:
		return stataDay
	case k.CEL == cel.Instant:
		return stataMoment
	case k.CEL == cel.Number, k.CEL == cel.Boolean, k.Calculated: // a text among them makes it one
		return stataNumber
	}
	return stataText
}

// whole is a text that is an integer in its shortest form and can have a label.
func whole(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int32(n), err == nil && n <= maxLabelled && n >= -maxLabelled && strconv.FormatInt(n, 10) == s
}

func allWhole(all []form.Option) bool {
	for i := range all {
		if _, ok := whole(all[i].Value); !ok {
			return false
		}
	}
	return true
}

// truth reports whether the values of a column are true and false.
func (c *Column) truth() bool {
	return form.KindOf(form.Type(c.Type)).CEL == cel.Boolean && len(c.Options) == 0
}

// stataValues are the labels of the values of a number.
func stataValues(c *Column, lang, fallback string) []stataValue {
	if c.truth() {
		return []stataValue{{0, "no"}, {1, "yes"}}
	}
	var out []stataValue
	for i := range c.Options {
		n, _ := whole(c.Options[i].Value)
		out = append(out, stataValue{n, cut(c.labelOf(&c.Options[i]).In(lang, fallback), 8000)})
	}
	return out
}

// Add measures or writes a response.
func (w *stataWriter) Add(b []byte, r *Response) ([]byte, error) {
	if err := w.l.fill(r); err != nil {
		return b, err
	}
	switch w.step {
	case measuring:
		w.measure()
		return b, nil
	case rowing:
		return w.row(b)
	}
	return w.longTexts(b)
}

func (w *stataWriter) measure() {
	w.found++
	for i := range w.vars {
		v, c := &w.vars[i], &w.l.row[i]
		if v.kind != stataText && !v.words {
			_, ok := v.number(c)
			v.words = !ok
		}
		if n := len(c.text()); n > 0 {
			v.longest, v.texts, v.bytes = max(v.longest, n), v.texts+1, v.bytes+int64(n)
		}
	}
}

// End ends a reading of the responses.
func (w *stataWriter) End(b []byte) ([]byte, bool, error) {
	switch w.step {
	case measuring:
		w.step = rowing
		return w.begin(b), true, nil
	case rowing:
		b = append(b, "</data><strls>"...)
		if w.step = texting; w.long > 0 {
			return b, true, w.missing(w.found - w.Rows())
		}
		return w.end(b), false, w.missing(w.found - w.Rows())
	}
	return w.end(b), false, w.missing(w.long)
}

// missing is the error of a reading that has less than the first.
func (w *stataWriter) missing(n int64) error {
	if n != 0 {
		return errChanged
	}
	return nil
}

// row writes a row.
func (w *stataWriter) row(b []byte) ([]byte, error) {
	if w.rows++; w.Rows() > w.found {
		return b, errChanged
	}
	for i := range w.vars {
		v, c := &w.vars[i], &w.l.row[i]
		if v.kind != stataText {
			bits, ok := v.number(c)
			if !ok {
				return b, errChanged
			}
			b = binary.LittleEndian.AppendUint64(b, bits)
			continue
		}
		text := c.text()
		switch {
		case len(text) > v.longest:
			return b, errChanged
		case !v.long():
			b = append(append(b, text...), make([]byte, v.size()-len(text))...)
		case text == "":
			b = binary.LittleEndian.AppendUint64(b, 0)
		default: // the number of the variable in two bytes, that of the row in six
			b = binary.LittleEndian.AppendUint64(b, uint64(i+1)|uint64(w.rows)<<16)
		}
	}
	return b, nil
}

// longTexts writes the texts of a response that its row refers to.
func (w *stataWriter) longTexts(b []byte) ([]byte, error) {
	w.at++
	for i := range w.vars {
		text := w.l.row[i].text()
		if !w.vars[i].long() || text == "" {
			continue
		}
		if w.long -= int64(longHead + len(text)); w.long < 0 {
			return b, errChanged
		}
		b = binary.LittleEndian.AppendUint32(append(b, "GSO"...), uint32(i+1))
		b = binary.LittleEndian.AppendUint64(b, uint64(w.at))
		b = binary.LittleEndian.AppendUint32(append(b, longIsText), uint32(len(text)+1))
		b = append(append(b, text...), 0)
	}
	return b, nil
}

const (
	longHead   = 3 + 4 + 8 + 1 + 4 + 1 // bytes of a long text besides its own
	longIsText = 130
)

func (v *stataVar) long() bool { return v.kind == stataText && v.longest > maxStataText }

// size is how many bytes of a row it has.
func (v *stataVar) size() int {
	if v.kind != stataText || v.long() {
		return 8
	}
	return max(v.longest, 1)
}

// number is the value of a cell; false when it is not a number.
func (v *stataVar) number(c *cell) (bits uint64, ok bool) {
	var f float64
	var err error
	switch c.kind {
	case empty:
		return noValue, true
	case words:
		switch c.s {
		case dontKnow:
			return noValue + ('d'-'a'+1)*noValueOne, true
		case refused:
			return noValue + ('r'-'a'+1)*noValueOne, true
		}
		return 0, false
	case integer:
		f = float64(c.n)
	case moment:
		f = float64(c.n - stataZero)
	case quoted:
		f, err = v.read(plain(c.s))
	case number:
		switch c.s {
		case "true":
			f = 1
		case "false":
		default:
			f, err = strconv.ParseFloat(c.s, 64)
		}
	default:
		return 0, false
	}
	return math.Float64bits(f), err == nil && math.Abs(f) < 8e307
}

// stataZero is the time Stata counts from, in milliseconds: 1960 began.
const stataZero = -315_619_200_000

// read parses a text as a number.
func (v *stataVar) read(s string) (float64, error) {
	switch v.kind {
	case stataDay:
		t, err := time.Parse(time.DateOnly, s)
		return float64((t.UnixMilli() - stataZero) / (24 * time.Hour).Milliseconds()), err
	case stataMoment:
		t, err := time.Parse(time.RFC3339Nano, s)
		return float64(t.UnixMilli() - stataZero), err
	}
	n, ok := whole(s)
	if !ok {
		return 0, strconv.ErrSyntax
	}
	return float64(n), nil
}
