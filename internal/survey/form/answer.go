package form

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
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
	if a.kind == '{' && !a.n.kind.Calculated {
		return a.readObject()
	}
	return a.n.kind.read(a)
}

// readObject reads an object: the reason why there is no answer, or a value of
// the kind.
func (a *answering) readObject() error {
	list, err := a.ev.whole()
	switch {
	case err != nil:
		return err
	case len(list) == 1 && list[0].name == "noAnswer":
		a.noAnswer(list[0].value)
	case a.n.kind.object != nil:
		a.n.kind.object(a, list)
	default:
		a.objectRefused()
	}
	return nil
}

// notObject refuses a value that is not an object.
func (a *answering) notObject() error { return a.mistyped("an object") }

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
