package form

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
)

// choices are the kinds whose answer is one of a few values, or several.
var choices = []*Kind{
	{
		Type: SingleChoice, Members: Members{Options: true, Other: true, NoAnswer: true},
		CEL: cel.Text, read: (*answering).single, object: (*answering).inOtherWords, value: chosen, Parse: parseText,
		Quality: Quality{Choice: true, Scale: true},
		XLSForm: XLSForm{Word: "select_one", Reads: []string{"select_one"}},
		XForm:   XForm{Type: "string", Control: "select1"},
	},
	{
		Type: MultipleChoice, Members: Members{Options: true, Other: true, NoAnswer: true, Selections: true}, Several: true,
		CEL: cel.Texts, read: (*answering).multiple, value: allChosen, Parse: parseList,
		Quality: Quality{Choice: true},
		XLSForm: XLSForm{Word: "select_multiple", Reads: []string{"select_multiple"}},
		XForm:   XForm{Type: "string", Control: "select"},
	},
	{
		Type: Rank, Members: Members{Options: true, NoAnswer: true}, Several: true, Ordered: true,
		CEL: cel.Texts, read: (*answering).rank, value: allChosen, Parse: parseList,
		XLSForm: XLSForm{Word: "rank", Reads: []string{"rank"}},
		XForm:   XForm{Type: "odk:rank", Control: "odk:rank"},
	},
	{
		Type: Matrix, Members: Members{Options: true, Rows: true, NoAnswer: true},
		read: (*answering).notObject, object: (*answering).matrix, value: compound,
		Quality: Quality{Scale: true},
		XLSForm: XLSForm{Word: "begin_group", Marks: []string{"begin_group"}, Appearance: "table-list"},
		XForm:   XForm{Control: "group"},
	},
	{
		Type: Boolean, Members: Members{NoAnswer: true},
		CEL: cel.Boolean, read: (*answering).boolean, value: decided, Parse: parseBoolean,
		Quality: Quality{Choice: true},
		XLSForm: XLSForm{Word: "select_one", Reads: []string{"acknowledge"}, Marks: []string{"select_one"}},
		XForm:   XForm{Type: "string", Control: "select1"},
	},
	{
		Type: Consent, Members: Members{NoAnswer: true}, Consent: true,
		CEL: cel.Boolean, read: (*answering).boolean, value: decided, Parse: parseBoolean,
		Quality: Quality{Apart: true},
		XLSForm: XLSForm{Word: "select_one", Marks: []string{"select_one", "acknowledge"}},
		XForm:   XForm{Type: "string", Control: "select1"},
	},
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
	o := a.n.option(string(a.ev.text))
	if o == nil {
		a.wrong(below, "not_an_option", "The value is not one of the options: "+a.named())
	}
	return o
}

// namedOptions is how many options a refusal names.
const namedOptions = 10

// named lists the options, for a sender who has sent another value. The value
// itself may be about a person and is not repeated.
func (a *answering) named() string {
	var all []string
	for value := range a.n.values() {
		if len(all) == namedOptions {
			return strings.Join(all, ", ") + ", …"
		}
		all = append(all, value)
	}
	return strings.Join(all, ", ") + "."
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
		a.wrong("", "exclusive", "An option that may only be chosen alone was chosen with others.")
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
		if i > a.n.mostOptions() { // one more than all, for other
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
	if i > a.n.mostOptions()+1 {
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

// inOtherWords reads the object that replaces an option.
func (a *answering) inOtherWords(list []member) {
	if a.n.q.Other && a.other(list, "") {
		a.c.text = "other"
		return
	}
	a.objectRefused()
}

// other reads {"other": "text"}. It reports whether list is that.
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

// matrix reads {row: option}. An empty object is no answer; rows that are null
// are not answered.
func (a *answering) matrix(list []member) {
	chosen := make([]*choice, len(a.n.rowOrder))
	count := 0
	for _, m := range list {
		below := "/" + check.Escape(m.name)
		row, ok := a.n.rows[m.name]
		switch kind := m.value.Kind(); {
		case !ok:
			a.wrong(below, "unknown", "The matrix has no row of this value.")
		case kind == 'n':
		case kind != '"':
			a.wrong(below, "wrong_type", "The value must be one option, as a string.")
		default:
			if chosen[row] = a.option(m.value, below); chosen[row] != nil {
				count++
			}
		}
	}
	if a.failed || count == 0 {
		return
	}
	sep := byte('{')
	for i, o := range chosen {
		if o == nil {
			continue
		}
		a.ev.arena = append(quote(append(a.ev.arena, sep), a.n.rowOrder[i]), ':')
		a.ev.arena = append(a.ev.arena, o.canonical...)
		sep = ','
	}
	a.ev.arena = append(a.ev.arena, '}')
	a.c.num = float64(count)
}

func (a *answering) boolean() error {
	if a.kind != 't' && a.kind != 'f' {
		return a.mistyped("true or false")
	}
	a.c.flag = a.kind == 't'
	a.ev.arena = strconv.AppendBool(a.ev.arena, a.c.flag)
	return a.ev.dec.SkipValue()
}

// chosen is an answer that is one option. What was chosen in other words is the
// option "other".
func chosen(_ *block, _ *node, c *cell) cel.Value { return cel.TextValue(c.text) }

// allChosen is an answer that is several options.
func allChosen(_ *block, _ *node, c *cell) cel.Value { return cel.TextsValue(c.texts) }

// decided is an answer that is yes or no.
func decided(_ *block, _ *node, c *cell) cel.Value { return cel.BooleanValue(c.flag) }

func parseList(text string, option func(string) string) (any, bool) {
	all := strings.Fields(text)
	for i := range all {
		all[i] = option(all[i])
	}
	return all, true
}

func parseBoolean(text string, _ func(string) string) (any, bool) {
	return YesNo(strings.ReplaceAll(text, "OK", "true"))
}

// YesNo reads yes and no as people and XLSForm write them; an empty text is no.
// ok is false when the text is neither.
func YesNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.ReplaceAll(text, " ", "")) {
	case "yes", "true", "true()", "1", "y":
		return true, true
	case "", "no", "false", "false()", "0", "n":
		return false, true
	}
	return false, false
}
