package quality

import (
	"hash/maphash"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// maxOptions is how many options of all choices are looked at.
const maxOptions = 1_000

// Column is a question a check looks at.
type Column struct {
	Path    []string
	Pointer string
	Options []string // of choices
}

// Set groups the questions of a form by what checks do with them. Answers in
// repeats are left out: they are not answers of the household.
type Set struct {
	Numbers  []Column
	Choices  []Column
	Public   []Column // all that make two interviews alike
	Identity []Column // those that identify a person, together
	Unique   []Column // what no two households have: telephone, serial number
	Geo      []Column
}

// Of groups the questions of a form.
func Of(f *form.Form) *Set {
	out, options := &Set{}, 0
	for _, c := range f.Columns() {
		if c.Repeat {
			continue
		}
		one := Column{Path: c.Path, Pointer: Pointer(c.Path)}
		for _, o := range c.Options {
			one.Options = append(one.Options, o.Value)
		}
		if c.Kind.CEL == cel.Boolean {
			one.Options = []string{"true"}
		}
		if isUnique(c) {
			out.Unique = append(out.Unique, one)
		}
		if c.Kind.Place {
			out.Geo = append(out.Geo, one)
		}
		if c.PII == form.PIIDirect && c.Kind.Quality.Identity {
			out.Identity = append(out.Identity, one)
		}
		if c.PII.Private() {
			continue
		}
		switch does := c.Kind.Quality; {
		case does.Apart:
			continue
		case does.Amount:
			out.Numbers = append(out.Numbers, one)
		case does.Choice:
			if options += len(one.Options); options <= maxOptions {
				out.Choices = append(out.Choices, one)
			}
		}
		out.Public = append(out.Public, one)
	}
	return out
}

// isUnique reports whether a question asks for something no two households have.
func isUnique(c form.Column) bool {
	if c.Kind.Quality.Unique {
		return true
	}
	if !c.Kind.Quality.Code || c.PII != form.PIIDirect {
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

// Pointer is the JSON pointer of an answer in a response.
func Pointer(path []string) string { return "/responses/" + strings.Join(path, "/") }

// Answers holds the answers of one response by section and question.
type Answers map[string]any

// Read decodes the answers of a response.
func Read(text []byte) Answers {
	var out Answers
	if json.Unmarshal(text, &out) != nil {
		return nil // nothing was answered
	}
	return out
}

// At follows a path; nil when there is no answer.
func (a Answers) At(path []string) any {
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

// Number returns an answer that is a number, with its unit.
func (a Answers) Number(c Column) (v float64, unit string, ok bool) {
	switch x := a.At(c.Path).(type) {
	case float64:
		return x, "", true
	case map[string]any:
		v, ok = x["value"].(float64)
		unit, _ = x["unit"].(string)
		return v, unit, ok
	}
	return 0, "", false
}

// Chosen calls f for each chosen option, by its index.
func (a Answers) Chosen(c Column, f func(option int)) (answered bool) {
	pick := func(v any) {
		text, ok := v.(string)
		if b, isBool := v.(bool); isBool && b {
			text, ok = "true", true
		}
		if at := slices.Index(c.Options, text); ok && at >= 0 {
			f(at)
		}
	}
	switch x := a.At(c.Path).(type) {
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

// Plain is an answer that people write in different ways, in one of them.
func plainAnswer(v any) string {
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

// Keys calls found with values that must not occur in two households, hashed
// under a seed that nobody else has and that is gone after the run. question is
// "" for all that identifies a person, together.
func (c *Set) Keys(a Answers, seed maphash.Seed, found func(key uint64, question string)) {
	for _, one := range c.Unique {
		if text := plainAnswer(a.At(one.Path)); len(text) >= 4 {
			found(maphash.String(seed, one.Pointer+"\x1f"+text), one.Pointer)
		}
	}
	var b strings.Builder
	n := 0
	for _, one := range c.Identity {
		text := plainAnswer(a.At(one.Path))
		if text != "" {
			n++
		}
		b.WriteString(text + "\x1f")
	}
	if n >= 2 {
		found(maphash.String(seed, b.String()), "")
	}
}

// Place is where an interview took place: the first place among the answers.
func (c *Set) Place(a Answers) *Point {
	for _, one := range c.Geo {
		m, _ := a.At(one.Path).(map[string]any)
		lat, ok := m["lat"].(float64)
		lon, also := m["lon"].(float64)
		if ok && also {
			return &Point{Lat: lat, Lon: lon}
		}
	}
	return nil
}

// Vector returns the answers of an interview as numbers, 0 for none, and how
// many there are.
func (c *Set) Vector(a Answers) (out []uint32, answered int) {
	out = make([]uint32, len(c.Public))
	for i, one := range c.Public {
		v := a.At(one.Path)
		if v == nil {
			continue
		}
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			continue
		}
		h := Mix(uint64(i))
		for _, x := range b {
			h = (h ^ uint64(x)) * 0x100000001b3
		}
		out[i], answered = max(1, uint32(Mix(h))), answered+1
	}
	return out, answered
}
