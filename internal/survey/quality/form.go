package quality

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/quality/stat"
)

// Bounds of what a run looks at in a form, and with that of its memory.
const (
	maxNumbers = 200   // questions for numbers, each unit of a quantity by itself
	maxOptions = 1_000 // of all choices
)

// column is a question a check looks at.
type column struct {
	path    []string
	pointer string
	typ     form.Type
	options []string // of choices
}

// columns are the questions of a form by what checks do with them. Answers in
// repeats are left out: they are no answers of the household.
type columns struct {
	numbers  []column
	choices  []column
	public   []column // all that make two interviews alike
	identity []column // who somebody is, all together
	unique   []column // what no two households have: telephone, serial number
	geo      []column
}

func columnsOf(f *form.Form) *columns {
	out, options := &columns{}, 0
	for _, c := range f.Columns() {
		if c.Repeat {
			continue
		}
		one := column{path: c.Path, pointer: pointerOf(c.Path), typ: c.Type}
		for _, o := range c.Options {
			one.options = append(one.options, o.Value)
		}
		if c.Type == form.Boolean {
			one.options = []string{"true"}
		}
		if isUnique(c) {
			out.unique = append(out.unique, one)
		}
		if c.Type == form.Geo {
			out.geo = append(out.geo, one)
		}
		if c.PII == form.PIIDirect && slices.Contains([]form.Type{form.FreeText, form.Barcode, form.Date, form.Integer}, c.Type) {
			out.identity = append(out.identity, one)
		}
		if c.PII.Private() {
			continue
		}
		switch c.Type {
		case form.Number, form.Integer, form.Quantity:
			out.numbers = append(out.numbers, one)
		case form.SingleChoice, form.MultipleChoice, form.Boolean:
			if options += len(one.options); options <= maxOptions {
				out.choices = append(out.choices, one)
			}
		case form.Calculate, form.Consent, form.Photo, form.Audio, form.File, form.Signature:
			continue
		}
		out.public = append(out.public, one)
	}
	return out
}

// isUnique tells whether a question asks for something no two households have.
func isUnique(c form.Column) bool {
	if c.Type == form.Barcode {
		return true
	}
	if c.Type != form.FreeText && c.Type != form.Integer || c.PII != form.PIIDirect {
		return false
	}
	id := strings.ToLower(c.Path[len(c.Path)-1])
	for _, word := range []string{"phone", "mobile", "msisdn", "telephone", "national_id", "id_number", "passport", "serial"} {
		if strings.Contains(id, word) {
			return true
		}
	}
	return false
}

func pointerOf(path []string) string { return "/responses/" + strings.Join(path, "/") }

// answers are those of one response by section and question.
type answers map[string]any

func answersOf(text []byte) answers {
	var out answers
	if json.Unmarshal(text, &out) != nil {
		return nil // nothing was answered
	}
	return out
}

// at follows a path; nil when there is no answer.
func (a answers) at(path []string) any {
	var v any = map[string]any(a)
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// number is an answer that is a number, with its unit.
func (a answers) number(c column) (v float64, unit string, ok bool) {
	switch x := a.at(c.path).(type) {
	case float64:
		return x, "", true
	case map[string]any:
		v, ok = x["value"].(float64)
		unit, _ = x["unit"].(string)
		return v, unit, ok
	}
	return 0, "", false
}

// chosen calls f for each option that was chosen, by its place.
func (a answers) chosen(c column, f func(option int)) (answered bool) {
	pick := func(v any) {
		text, ok := v.(string)
		if b, isBool := v.(bool); isBool && b {
			text, ok = "true", true
		}
		if at := slices.Index(c.options, text); ok && at >= 0 {
			f(at)
		}
	}
	switch x := a.at(c.path).(type) {
	case nil:
		return false
	case map[string]any:
		return x["noAnswer"] == nil // something else was chosen
	case []any:
		for _, v := range x {
			pick(v)
		}
	default:
		pick(x)
	}
	return true
}

// plain is an answer that people write in different ways, in one of them.
func plain(v any) string {
	text, ok := v.(string)
	if !ok {
		if v == nil {
			return ""
		}
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return ""
		}
		text = string(b)
	}
	var digits, letters []rune
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsDigit(r):
			digits, letters = append(digits, r), append(letters, r)
		case unicode.IsLetter(r):
			letters = append(letters, r)
		}
	}
	// A number with and without the code of its country is the same.
	if len(digits) == len(letters) && len(digits) > 9 {
		return string(digits[len(digits)-9:])
	}
	return string(letters)
}

// keys are what must not be found in two households: hashes under a seed that
// nobody else has and that is gone with the run. question is "" for all that
// tells who somebody is, together.
func (c *columns) keys(a answers, seed maphash.Seed, found func(key uint64, question string)) {
	for _, one := range c.unique {
		if text := plain(a.at(one.path)); len(text) >= 4 {
			found(maphash.String(seed, one.pointer+"\x1f"+text), one.pointer)
		}
	}
	var b strings.Builder
	n := 0
	for _, one := range c.identity {
		text := plain(a.at(one.path))
		if text != "" {
			n++
		}
		b.WriteString(text + "\x1f")
	}
	if n >= 2 {
		found(maphash.String(seed, b.String()), "")
	}
}

// place is where an interview was: the first place among the answers.
func (c *columns) place(a answers) *stat.Point {
	for _, one := range c.geo {
		m, _ := a.at(one.path).(map[string]any)
		lat, ok := m["lat"].(float64)
		lon, also := m["lon"].(float64)
		if ok && also {
			return &stat.Point{Lat: lat, Lon: lon}
		}
	}
	return nil
}

// vector is the answers of an interview as numbers, 0 where there is none, and
// how many there are.
func (c *columns) vector(a answers) (out []uint32, answered int) {
	out = make([]uint32, len(c.public))
	for i, one := range c.public {
		v := a.at(one.path)
		if v == nil {
			continue
		}
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			continue
		}
		h := stat.Mix(uint64(i))
		for _, x := range b {
			h = (h ^ uint64(x)) * 0x100000001b3
		}
		out[i], answered = max(1, uint32(stat.Mix(h))), answered+1
	}
	return out, answered
}
