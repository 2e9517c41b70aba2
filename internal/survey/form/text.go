package form

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/did"
)

// texts are the kinds whose answer is a text: words, codes and DIDs.
var texts = []*Kind{
	{
		Type: FreeText, Members: Members{Length: true, NoAnswer: true},
		CEL: cel.Text, read: (*answering).string, value: written, Parse: parseText,
		Quality: Quality{Identity: true, Code: true, Loose: true},
		XLSForm: XLSForm{Word: "text", Reads: []string{"text", "hidden", "geotrace", "geoshape", "osm"}},
		XForm:   XForm{Type: "string", Control: "input"},
	},
	{
		Type: Barcode, Members: Members{Length: true, NoAnswer: true}, Serial: true,
		CEL: cel.Text, read: (*answering).string, value: written, Parse: parseText,
		Quality: Quality{Identity: true, Unique: true, Loose: true},
		XLSForm: XLSForm{Word: "barcode", Reads: []string{"barcode"}},
		XForm:   XForm{Type: "barcode", Control: "input"},
	},
	{
		Type: HouseholdRef, Members: Members{NoAnswer: true}, Household: true, Keyless: true,
		CEL: cel.Text, read: (*answering).string, want: wantDID, value: written, Parse: parseText,
		XLSForm: XLSForm{Word: "text", Marks: []string{"text"}},
		XForm:   XForm{Type: "string", Control: "input"},
	},
	{
		Type: EntityRef, Members: Members{NoAnswer: true}, Twin: true, Serial: true, Keyless: true,
		CEL: cel.Text, read: (*answering).string, want: wantDID, value: written, Parse: parseText,
		XLSForm: XLSForm{Word: "text", Marks: []string{"text", "select_one"}},
		XForm:   XForm{Type: "string", Control: "input"},
	},
}

// string reads a JSON string. An empty text is no answer, unless a required
// form is missing.
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
	if a.n.kind.want != nil {
		if want := a.n.kind.want(string(text)); want != "" {
			a.wrong("", "invalid", "The answer must be "+want+".")
			return nil
		}
	} else if len(text) == 0 {
		return nil
	}
	if !a.matches(text) {
		a.wrong("", "pattern", "The text does not match the pattern of the question.")
		return nil
	}
	a.ev.arena = quote(a.ev.arena, text)
	return nil
}

// matches reports whether a text has the required form. When the budget is used up
// it is not checked: the check reports that at its end.
func (a *answering) matches(text []byte) bool {
	p := a.n.pattern
	if p == nil || a.ev.cost > maxCost {
		return true
	}
	a.ev.cost += p.Cost(utf8.RuneCount(text))
	return p.Match(text)
}

// written is an answer that is a text.
func written(b *block, _ *node, c *cell) cel.Value { return cel.TextValue(b.string(c)) }

// string is an answer that is a JSON string.
func (b *block) string(c *cell) string {
	s, err := jsontext.AppendUnquote(nil, b.canonical(c))
	if err != nil {
		return "" // it was quoted here: cannot happen
	}
	return string(s)
}

func wantDID(s string) string {
	if !did.Valid(s) {
		return "a DID"
	}
	return ""
}

func parseText(text string, option func(string) string) (any, bool) { return option(text), true }
