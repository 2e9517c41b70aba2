package form

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// answering is the reading of one answer. It writes the canonical bytes to the
// end of the arena; none means that nothing was answered.
type answering struct {
	ev     *evaluation
	b      *block
	n      *node
	c      *cell
	kind   jsontext.Kind
	failed bool
}

// wrong notes a problem. below is what follows the pointer of the question.
func (a *answering) wrong(below, code, detail string) {
	a.failed = true
	a.ev.wrong(a.b.at(a.n)+below, code, detail)
}

// mistyped notes a value of the wrong type and skips it.
func (a *answering) mistyped(want string) error {
	a.wrong("", "wrong_type", "The answer must be "+want+".")
	return a.ev.dec.SkipValue()
}

func (a *answering) read() error {
	if a.kind == '{' {
		return a.object()
	}
	switch a.n.q.Type {
	case SingleChoice:
		return a.single()
	case MultipleChoice:
		return a.multiple()
	case Rank:
		return a.rank()
	case Number, Integer, Rating:
		return a.number()
	case Boolean, Consent:
		return a.boolean()
	case Calculate:
		return a.raw()
	case Geo, Matrix, Quantity:
		return a.mistyped("an object")
	}
	return a.string()
}

// object reads what is an object: a place, a quantity, a matrix, or one of the
// two answers in other words.
func (a *answering) object() error {
	if a.n.q.Type == Calculate {
		return a.raw()
	}
	list, err := a.ev.whole()
	if err != nil {
		return err
	}
	if len(list) == 1 && list[0].name == "noAnswer" {
		a.noAnswer(list[0].value)
		return nil
	}
	switch a.n.q.Type {
	case Geo:
		a.place(list)
	case Quantity:
		a.quantity(list)
	case Matrix:
		a.matrix(list)
	case SingleChoice:
		if a.n.q.Other && a.other(list, "") {
			a.c.text = "other"
			return nil
		}
		a.objectRefused()
	default:
		a.objectRefused()
	}
	return nil
}

func (a *answering) objectRefused() {
	if !a.failed {
		a.wrong("", "wrong_type", "An object is not an answer to this question.")
	}
}

func (a *answering) noAnswer(v jsontext.Value) {
	switch q := a.n.q; {
	case string(v) == `"dont_know"` && q.DontKnow, string(v) == `"refused"` && q.Refuse:
		a.c.state = silent
		a.ev.arena = append(append(append(a.ev.arena, `{"noAnswer":`...), v...), '}')
	case string(v) == `"dont_know"`, string(v) == `"refused"`:
		a.wrong("/noAnswer", "not_allowed", "This question must be answered or left out.")
	default:
		a.wrong("/noAnswer", "not_allowed", "The value must be dont_know or refused.")
	}
}

// other reads {"other": "text"}. It tells whether list is that.
func (a *answering) other(list []member, below string) bool {
	if len(list) != 1 || list[0].name != "other" {
		return false
	}
	if list[0].value.Kind() != '"' {
		a.wrong(below+"/other", "wrong_type", "The value must be a string.")
		return true
	}
	if !a.unquote(list[0].value) {
		return true
	}
	if len(bytes.TrimSpace(a.ev.text)) == 0 {
		a.wrong(below+"/other", "required", "The text may not be empty.")
		return true
	}
	if !a.fits(below+"/other", MaxText) {
		return true
	}
	a.ev.arena = append(quote(append(a.ev.arena, `{"other":`...), a.ev.text), '}')
	return true
}

// unquote puts the text of a JSON string into ev.text.
func (a *answering) unquote(raw jsontext.Value) bool {
	var err error
	a.ev.text, err = jsontext.AppendUnquote(a.ev.text[:0], raw)
	if err != nil || bytes.IndexByte(a.ev.text, 0) >= 0 {
		a.wrong("", "invalid", "The text holds a character that is not allowed.")
		return false
	}
	return true
}

// fits checks the length of ev.text.
func (a *answering) fits(below string, most int) bool {
	if len(a.ev.text) > most && utf8.RuneCount(a.ev.text) > most {
		a.wrong(below, "too_long", "The text may have at most "+strconv.Itoa(most)+" characters.")
		return false
	}
	return true
}

func (a *answering) single() error {
	if a.kind != '"' {
		return a.mistyped("one option, as a string")
	}
	raw, err := a.ev.dec.ReadValue()
	if err != nil {
		return err
	}
	if o := a.option(raw, ""); o != nil {
		a.c.text = o.value
		a.ev.arena = append(a.ev.arena, o.canonical...)
	}
	return nil
}

// option finds the option that a JSON string names.
func (a *answering) option(raw jsontext.Value, below string) *choice {
	if !a.unquote(raw) {
		return nil
	}
	o := a.n.options[string(a.ev.text)]
	if o == nil {
		a.wrong(below, "not_an_option", "The value is not one of the options: "+a.named())
	}
	return o
}

// namedOptions is how many options a refusal names.
const namedOptions = 10

// named lists the options, for who has sent another. What was sent may be about
// a person and is not repeated.
func (a *answering) named() string {
	all := a.n.q.Options
	var b strings.Builder
	for i := range all[:min(len(all), namedOptions)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(all[i].Value)
	}
	if len(all) > namedOptions {
		return b.String() + ", …"
	}
	return b.String() + "."
}

func (a *answering) multiple() error {
	if a.kind != '[' {
		return a.mistyped("an array of options, also for one")
	}
	exclusive := false
	err := a.array(func(i int, kind jsontext.Kind) error {
		below := "/" + strconv.Itoa(i)
		if kind == '{' && a.n.q.Other {
			list, err := a.ev.whole()
			if err != nil {
				return err
			}
			if !a.other(list, below) {
				a.wrong(below, "wrong_type", "The value must be an option, or an object with the member other.")
			}
			a.choose("other", below)
			return nil
		}
		o, err := a.element(kind, below)
		if o != nil {
			exclusive = exclusive || o.exclusive
		}
		return err
	})
	if err != nil || a.failed {
		return err
	}
	v, count := a.n.q.Validation, len(a.c.texts)
	switch {
	case count == 0:
	case exclusive && count > 1:
		a.wrong("", "exclusive", "An option was chosen with others that may only be chosen alone.")
	case count < v.MinSelections && !exclusive:
		a.wrong("", "too_few", "At least "+strconv.Itoa(v.MinSelections)+" options must be chosen.")
	case v.MaxSelections > 0 && count > v.MaxSelections:
		a.wrong("", "too_many", "At most "+strconv.Itoa(v.MaxSelections)+" options may be chosen.")
	}
	return nil
}

// array reads an array of choices. An empty one is no answer.
func (a *answering) array(read func(i int, kind jsontext.Kind) error) error {
	if _, err := a.ev.dec.ReadToken(); err != nil {
		return err
	}
	start := len(a.ev.arena)
	a.ev.arena = append(a.ev.arena, '[')
	i := 0
	for ; a.ev.dec.PeekKind() != ']'; i++ {
		if i > len(a.n.options) { // one more than all, for other
			if err := a.ev.dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.ev.arena = append(a.ev.arena, ',')
		}
		if err := read(i, a.ev.dec.PeekKind()); err != nil {
			return err
		}
	}
	if i > len(a.n.options)+1 {
		a.wrong("", "too_many", "There are more values than options.")
	}
	a.ev.arena = append(a.ev.arena, ']')
	if i == 0 {
		a.ev.arena = a.ev.arena[:start]
	}
	_, err := a.ev.dec.ReadToken()
	return err
}

// element reads one option of an array.
func (a *answering) element(kind jsontext.Kind, below string) (*choice, error) {
	if kind != '"' {
		a.wrong(below, "wrong_type", "The value must be an option, as a string.")
		return nil, a.ev.dec.SkipValue()
	}
	raw, err := a.ev.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	o := a.option(raw, below)
	if o != nil {
		a.ev.arena = append(a.ev.arena, o.canonical...)
		a.choose(o.value, below)
	}
	return o, nil
}

func (a *answering) choose(value, below string) {
	if slices.Contains(a.c.texts, value) {
		a.wrong(below, "duplicate", "The option is chosen twice.")
		return
	}
	a.c.texts = append(a.c.texts, value)
}

func (a *answering) rank() error {
	if a.kind != '[' {
		return a.mistyped("an array of all options in order")
	}
	err := a.array(func(i int, kind jsontext.Kind) error {
		_, err := a.element(kind, "/"+strconv.Itoa(i))
		return err
	})
	if err == nil && !a.failed && len(a.c.texts) > 0 && len(a.c.texts) < len(a.n.options) {
		a.wrong("", "too_few", "Every option must be ranked.")
	}
	return err
}

func (a *answering) number() error {
	if a.kind != '0' {
		return a.mistyped("a JSON number")
	}
	raw, err := a.ev.dec.ReadValue()
	if err != nil {
		return err
	}
	if f, ok := a.inRange(raw, ""); ok {
		a.c.num = f
		a.ev.arena = number(a.ev.arena, f)
	}
	return nil
}

// maxSafe is the largest integer that every JSON reader keeps exact.
const maxSafe = 1<<53 - 1

// inRange reads a number and checks it against the bounds of the question.
func (a *answering) inRange(raw jsontext.Value, below string) (float64, bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		a.wrong(below, "out_of_range", "The number is too large.")
		return 0, false
	}
	if t := a.n.q.Type; t == Integer || t == Rating {
		if f != math.Trunc(f) {
			a.wrong(below, "wrong_type", "The answer must be an integer.")
			return 0, false
		}
		if math.Abs(f) > maxSafe {
			a.wrong(below, "out_of_range", "The number is too large.")
			return 0, false
		}
	}
	if f < a.n.min || f > a.n.max {
		a.wrong(below, "out_of_range", a.bounds())
		return 0, false
	}
	if s := a.n.q.Validation.Step; s != nil && !onStep(f, a.n.min, *s) {
		a.wrong(below, "step", "The answer must be a multiple of "+short(*s)+" away from "+short(base(a.n.min))+".")
		return 0, false
	}
	return f, true
}

func (a *answering) bounds() string {
	switch low, high := a.n.min, a.n.max; {
	case math.IsInf(low, 0):
		return "The answer must be at most " + short(high) + "."
	case math.IsInf(high, 0):
		return "The answer must be at least " + short(low) + "."
	default:
		return "The answer must be from " + short(low) + " to " + short(high) + "."
	}
}

func short(f float64) string { return string(number(nil, f)) }

// base is where steps are counted from.
func base(low float64) float64 {
	if math.IsInf(low, 0) {
		return 0
	}
	return low
}

// onStep tells that f is a whole number of steps above base. Decimals such as
// 0.3 are no whole number of 0.1 in binary, so a rounding error is forgiven:
// a few units in the last place of what was subtracted.
func onStep(f, low, step float64) bool {
	n := (f - base(low)) / step
	tolerance := 1e-9 + 4*(math.Abs(f)+math.Abs(base(low)))/step*0x1p-52
	return tolerance < 0.5 && math.Abs(n-math.Round(n)) <= tolerance
}

func (a *answering) boolean() error {
	if a.kind != 't' && a.kind != 'f' {
		return a.mistyped("true or false")
	}
	a.c.flag = a.kind == 't'
	a.ev.arena = strconv.AppendBool(a.ev.arena, a.c.flag)
	return a.ev.dec.SkipValue()
}

// raw keeps what the client calculated, to be compared with our own value.
func (a *answering) raw() error {
	v, err := a.ev.dec.ReadValue()
	if err != nil {
		return err
	}
	v = v.Clone()
	if err := v.Canonicalize(); err != nil {
		a.wrong("", "invalid", "The value is not valid.")
		return nil
	}
	a.ev.arena = append(a.ev.arena, v...)
	return nil
}

// string reads all that is a JSON string. An empty text is no answer.
func (a *answering) string() error {
	if a.kind != '"' {
		return a.mistyped("a string")
	}
	raw, err := a.ev.dec.ReadValue()
	if err != nil {
		return err
	}
	if !a.unquote(raw) || !a.fits("", a.n.most) {
		return nil
	}
	text := a.ev.text
	switch a.n.q.Type {
	case FreeText, Barcode:
		if len(text) == 0 {
			return nil
		}
		if !a.matches(text) {
			a.wrong("", "pattern", "The text does not have the form that is asked for.")
			return nil
		}
	default:
		if want := form(a.n.q.Type, string(text)); want != "" {
			a.wrong("", "invalid", "The answer must be "+want+".")
			return nil
		}
	}
	a.ev.arena = quote(a.ev.arena, text)
	return nil
}

// matches tells that a text has the form that is asked for. When the budget is
// spent it is not looked at: the check says so at its end.
func (a *answering) matches(text []byte) bool {
	p := a.n.pattern
	if p == nil || a.ev.cost > maxCost {
		return true
	}
	a.ev.cost += p.Cost(utf8.RuneCount(text))
	return p.Match(text)
}

// form says what a string of that type must be, or nothing when s is.
func form(t Type, s string) string {
	switch t {
	case Date:
		if _, err := time.Parse(time.DateOnly, s); err != nil || s < "0001" {
			return "a date such as 2026-01-31"
		}
	case Time:
		_, short := time.Parse("15:04", s)
		_, long := time.Parse("15:04:05", s)
		if short != nil && long != nil || len(s) != 5 && len(s) != 8 {
			return "a time such as 14:05 or 14:05:30"
		}
	case DateTime:
		if _, err := time.Parse(time.RFC3339, s); err != nil || len(s) > 35 || s < "0001" {
			return "a date and time such as 2026-01-31T14:05:00Z"
		}
	case Photo, Audio, File, Signature:
		if !attachment(s) {
			return "the hash of an attachment: sha256: and 64 lower-case hexadecimal digits"
		}
	case HouseholdRef, EntityRef:
		if !did.Valid(s) {
			return "a DID"
		}
	}
	return ""
}

func attachment(s string) bool {
	const prefix = "sha256:"
	if len(s) != len(prefix)+64 || s[:len(prefix)] != prefix {
		return false
	}
	for i := len(prefix); i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
