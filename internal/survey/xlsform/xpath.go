package xlsform

import "github.com/hearth-dmrv/hearth/internal/survey/form"

// Want is the purpose of an expression.
type Want int

// The purposes.
const (
	Condition Want = iota // it is true or false
	Conjunct              // a condition that others are joined to with and
	Value                 // it gives a value
)

// Place is the place of an expression in a template.
type Place struct {
	At   *Named          // the question or section
	Self bool            // whether "." is its answer, as in constraints
	Used map[string]bool // gets the members of a response that MetaRows must hold

	Choice *form.Question // whose choices the expression filters; nil for any other
}

// ToCEL translates an expression of XLSForm of a question or section. The notes
// name inexact parts. The error is a *SyntaxError when the text is not an
// expression or names something unknown, else an *UntranslatableError.
func (n *Names) ToCEL(xpath string, at *Named, want Want) (cel string, notes []string, err error) {
	c := &toCEL{names: n, from: at, guarded: want == Value}
	p, err := c.parse(xpath)
	if err != nil {
		return "", nil, err
	}
	switch {
	case want != Value:
		p = c.truth(p)
	case p.kind == kDate: // a date is written as one
		p = text(p)
	case p.nodes:
		p = first(p)
	}
	return p.text, c.notes, nil
}

// FromCEL translates CEL into an expression of XLSForm. The error is an
// *UntranslatableError.
func (n *Names) FromCEL(cel string, p Place, want Want) (string, error) {
	x := &toXPath{names: n, from: p.At, self: p.Self, meta: p.Used, choice: p.Choice}
	if x.meta == nil {
		x.meta = map[string]bool{}
	}
	x.inside = p.Choice != nil && n.exact()
	parse := x.parse
	if n.exact() && p.Self {
		parse = x.kept
	}
	out, err := parse(cel)
	if err != nil {
		return "", err
	}
	if want == Value && n.exact() {
		return out.result().text, nil
	}
	if want != Value {
		out = x.truth(out)
	}
	if want == Conjunct {
		return out.in(xpAnd), nil
	}
	return unguarded(out), nil
}

// Quote writes a text as an XPath literal.
func Quote(s string) string { return literalText(s).text }

// Choice is an option of a question in the form that expressions of XLSForm
// compare with.
func Choice(at *Named, value string) string {
	return choiceName(literalText(value), xpart{name: at}).text
}

// Find returns the first question of an id, else the section of that id, nil
// when there is neither.
func (n *Names) Find(id string) *Named {
	if all := n.all[id]; len(all) > 0 {
		return all[0]
	}
	return n.section(id)
}
