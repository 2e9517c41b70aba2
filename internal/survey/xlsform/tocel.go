package xlsform

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// kind is what a part of an expression gives.
type kind int

const (
	kAny kind = iota
	kBool
	kNumber
	kText
	kDate   // a timestamp at midnight
	kMoment // a timestamp
	kList
	kEmpty // the text ''
)

// How tightly the parts of a CEL expression bind.
const (
	pTernary = iota
	pOr
	pAnd
	pRelation
	pAdd
	pMultiply
	pUnary
	pPrimary
)

// part is a translated piece of an expression.
type part struct {
	text    string
	prec    int
	kind    kind
	literal string // of a text or number
	isLit   bool
	name    *Named // the question it is the answer of
	whole   bool   // an integer of CEL, whose division drops the rest
	nodes   bool   // a list of the answers of a repeat, or of cells
	missing bool   // a path that leads nowhere, which is not even empty
	self    bool   // the answer of the expression's own question, which exists when it is checked
}

// in gives the text, in brackets when it binds less than prec.
func (p part) in(prec int) string {
	if p.prec < prec {
		return "(" + p.text + ")"
	}
	return p.text
}

// UntranslatableError means that the other language has no equivalent for a
// part of an expression.
type UntranslatableError struct {
	Why  string
	file string // that it needs and the workbook does not have; "" when it is not that
}

// Error says what has no equivalent, without a full stop.
func (e *UntranslatableError) Error() string { return e.Why }

func cannot(format string, args ...any) error {
	return &UntranslatableError{Why: fmt.Sprintf(format, args...)}
}

// toCEL translates expressions of XLSForm into CEL.
type toCEL struct {
	names *Names
	from  *Named   // the question or section the expression stands at
	notes []string // what does not mean exactly the same
	seeds int      // values that are made by chance so far
	top   *xnode   // the whole expression

	guarded bool // what cannot be compared is false, and not nothing: below not() and if()

	column  func(name string) (string, bool)        // members of choice, in filters
	element func(name string, at int) (part, error) // what a name alone is in the condition of a path
	over    *Named                                  // the repeat that condition is about
}

func (c *toCEL) parse(text string) (part, error) {
	n, err := parseXPath(text, false)
	if err != nil {
		return part{}, err
	}
	c.top = n
	return c.expr(n)
}

func (c *toCEL) note(text string) { c.notes = append(c.notes, text) }

func (c *toCEL) expr(n *xnode) (part, error) {
	switch n.kind {
	case xNumber:
		return numberPart(n.text)
	case xText:
		return textPart(n.text), nil
	case xSelf:
		if c.from == nil {
			return part{}, cannot("there is no answer that . could be")
		}
		p, err := c.ref(c.from)
		p.self = true
		return p, err
	case xRef:
		if cel, ok := c.names.Meta[n.path[0]]; ok && len(n.path) == 1 {
			return metaPart(cel, n.path[0])
		}
		to, err := c.names.lookup(n.path, c.from)
		if err != nil {
			return part{}, &SyntaxError{n.at, err.Error()}
		}
		return c.ref(to)
	case xParent:
		return part{}, cannot(".. has no equivalent")
	case xMinus:
		arg, err := c.expr(n.args[0])
		if err != nil {
			return part{}, err
		}
		if arg, err = number(arg); err != nil {
			return part{}, err
		}
		if strings.HasPrefix(arg.text, "-") {
			return part{text: "-(" + arg.text + ")", prec: pUnary, kind: kNumber, whole: arg.whole}, nil
		}
		return part{text: "-" + arg.in(pUnary), prec: pUnary, kind: kNumber, whole: arg.whole}, nil
	case xBinary:
		return c.binary(n)
	case xFilter:
		return c.some(n)
	case xItems:
		return c.items(n)
	case xColumn:
		if c.element != nil {
			return c.element(n.text, n.at)
		}
		member, ok := c.column(n.text)
		if !ok { // as in ODK, where a path that leads nowhere is empty
			c.note("The choices have no column " + shorten(n.text) + ": no comparison with it holds. Put a text into quotes.")
			p := textPart("")
			p.missing = true
			return p, nil
		}
		return part{text: choiceVariable + "." + member, prec: pPrimary, kind: kText}, nil
	}
	return c.call(n)
}

func numberPart(digits string) (part, error) {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return part{}, cannot("the number %s is too large", shorten(digits))
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if len(text) > 15 {
		text = strconv.FormatFloat(f, 'e', -1, 64)
	}
	return part{text: text, prec: pPrimary, kind: kNumber, literal: digits, isLit: true, whole: !strings.ContainsAny(text, ".e")}, nil
}

func textPart(s string) part {
	k := kText
	if s == "" {
		k = kEmpty
	}
	return part{text: quoteCEL(s), prec: pPrimary, kind: k, literal: s, isLit: true}
}

// quoteCEL writes a text as CEL reads it.
func quoteCEL(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// metaPart translates a row of metadata.
func metaPart(cel, name string) (part, error) {
	switch cel {
	case "":
		return part{}, cannot("a response has no member for ${%s}", name)
	case "today":
		return today(), nil
	case "response.startedAt", "response.submittedAt":
		return part{text: cel, prec: pPrimary, kind: kMoment}, nil
	}
	return part{text: cel, prec: pPrimary, kind: kText}, nil
}

const midnightText = "T00:00:00Z"

// today is the day of the response.
func today() part { return part{text: "today", prec: pPrimary, kind: kDate} }

// kinds are what answers give by their type in CEL.
var kinds = map[cel.Type]kind{cel.Number: kNumber, cel.Text: kText, cel.Boolean: kBool, cel.Texts: kList, cel.Instant: kMoment}

// gives is what the answer of a question gives.
func (n *Named) gives() kind {
	switch {
	case n.kind.Repeated:
		return kList
	case n.kind.Day:
		return kDate
	}
	return kinds[n.kind.CEL]
}

// ref is the answer of a question.
func (c *toCEL) ref(to *Named) (part, error) {
	if c.over != nil && to != c.over && to.within(c.over) {
		return part{text: "e." + strings.Join(below(to, c.over), "."), prec: pPrimary, kind: to.gives(), name: to}, nil
	}
	text, list, err := c.names.cel(to, c.from)
	if err != nil {
		return part{}, cannot("%s", err)
	}
	if c.column != nil && (text == choiceVariable || strings.HasPrefix(text, choiceVariable+".")) {
		return part{}, cannot("%s has the name that the choice has in a filter; give it another", to.id)
	}
	p := part{text: text, prec: pPrimary, kind: to.gives(), name: to}
	if list {
		p.kind, p.name, p.nodes = kList, nil, true
	}
	return p, nil
}

// truth is p as a condition.
func (c *toCEL) truth(p part) part {
	switch {
	case p.kind == kBool && p.name != nil:
		return part{text: p.text + " == true", prec: pRelation, kind: kBool}
	case p.kind == kBool:
		return p
	case p.kind == kNumber:
		return part{text: p.in(pAdd) + " != 0", prec: pRelation, kind: kBool}
	case p.isLit:
		return part{text: strconv.FormatBool(p.literal != ""), prec: pPrimary, kind: kBool}
	}
	return part{text: "answered(" + p.text + ")", prec: pPrimary, kind: kBool}
}

// number is p as a number; a date is its day.
func number(p part) (part, error) {
	switch p.kind {
	case kNumber:
		return p, nil
	case kAny:
		if p.name != nil && !p.name.kind.Calculated {
			return part{}, cannot("the answer of %s is no number", p.name.id)
		}
		return call("number", kNumber, p.text), nil
	case kList:
		if p.nodes {
			return call("number", kNumber, first(p).text), nil
		}
	case kDate:
		return part{text: `int(` + p.text + `) / 86400`, prec: pMultiply, kind: kNumber, whole: true}, nil
	case kMoment:
		return part{text: `double(int(` + p.text + `)) / 86400.0`, prec: pMultiply, kind: kNumber}, nil
	case kBool:
		return part{text: "(" + p.in(pOr) + " ? 1 : 0)", prec: pPrimary, kind: kNumber, whole: true}, nil
	case kText:
		if p.isLit {
			if _, err := strconv.ParseFloat(p.literal, 64); err == nil {
				return numberPart(p.literal)
			}
			return part{}, cannot("the text '%s' is no number", shorten(p.literal))
		}
		return call("number", kNumber, p.text), nil
	}
	return part{}, cannot("%s is no number", shorten(p.text))
}

// first is the first of a list of answers or cells.
func first(p part) part { return call("item", kAny, p.text, "0") }

// text is p as a text.
func text(p part) part {
	switch {
	case p.kind == kText && p.name != nil && !p.self:
		return call("text", kText, p.text) // there may be no answer
	case p.kind == kText || p.kind == kEmpty:
		return p
	case p.kind == kDate:
		return call("formatDate", kText, p.text, `"%Y-%m-%d"`)
	case p.isLit:
		return textPart(p.literal)
	case p.nodes:
		return call("text", kText, first(p).text)
	case p.kind == kList && p.name != nil:
		return call("joined", kText, p.text, `" "`)
	case p.kind == kList:
		return part{text: p.text + `.join(" ")`, prec: pPrimary, kind: kText}
	}
	return call("text", kText, p.text)
}

var (
	relations = map[string]string{"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
	arith     = map[string]string{"+": "+", "-": "-", "*": "*", "div": "/", "mod": "%"}
	words     = map[string]string{"and": "&&", "or": "||"}
)

func (c *toCEL) binary(n *xnode) (part, error) {
	l, err := c.expr(n.args[0])
	if err != nil {
		return part{}, err
	}
	r, err := c.expr(n.args[1])
	if err != nil {
		return part{}, err
	}
	if op := words[n.text]; op != "" {
		prec := pAnd
		if n.text == "or" {
			prec = pOr
		}
		return part{text: c.truth(l).in(prec) + " " + op + " " + c.truth(r).in(prec+1), prec: prec, kind: kBool}, nil
	}
	if op := arith[n.text]; op != "" {
		return arithmetic(n.text, l, r)
	}
	return c.compare(n.text, l, r)
}

func arithmetic(op string, l, r part) (part, error) {
	l, err := number(l)
	if err != nil {
		return part{}, err
	}
	if r, err = number(r); err != nil {
		return part{}, err
	}
	prec := pMultiply
	if op == "+" || op == "-" {
		prec = pAdd
	}
	whole := l.whole && r.whole
	if op == "div" && whole {
		// Two integers of CEL would be divided without a rest.
		if l.isLit {
			l.text += ".0"
		} else {
			l = part{text: "double(" + l.text + ")", prec: pPrimary}
		}
		whole = false
	}
	return part{text: l.in(prec) + " " + arith[op] + " " + r.in(prec+1), prec: prec, kind: kNumber, whole: whole}, nil
}

var datePattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// moment is p as a timestamp.
func moment(p part) (part, error) {
	switch {
	case isTime(p):
		return p, nil
	case p.kind == kAny || p.kind == kNumber:
		return call("moment", kMoment, p.text), nil
	case p.nodes:
		return call("moment", kMoment, first(p).text), nil
	case p.kind == kText && p.isLit && datePattern.MatchString(p.literal):
		return part{text: "timestamp(" + quoteCEL(p.literal+midnightText) + ")", prec: pPrimary, kind: kDate}, nil
	case p.kind == kText:
		return call("moment", kMoment, p.text), nil
	}
	return p, cannot("%s is no point in time", shorten(p.text))
}

// fullMatch anchors a regular expression: in XLSForm it must match all.
func fullMatch(p part) (part, error) {
	if !p.isLit {
		return p, cannot("the pattern of regex() must be a text")
	}
	re := p.literal
	if _, err := regexp.Compile(re); err != nil {
		return p, cannot("the pattern of regex() is of a kind that is not known here")
	}
	return textPart("^(?:" + re + ")$"), nil
}
