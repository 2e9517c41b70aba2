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
}

// in gives the text, in brackets when it binds less than prec.
func (p part) in(prec int) string {
	if p.prec < prec {
		return "(" + p.text + ")"
	}
	return p.text
}

// UntranslatableError says that the other language has nothing for a part of
// an expression.
type UntranslatableError struct{ Why string }

// Error says what there is no equivalent for, without a full stop.
func (e *UntranslatableError) Error() string { return e.Why }

func cannot(format string, args ...any) error {
	return &UntranslatableError{fmt.Sprintf(format, args...)}
}

// toCEL translates expressions of XLSForm into CEL.
type toCEL struct {
	names *Names
	from  *Named   // the question or section the expression stands at
	notes []string // what does not mean exactly the same

	column func(name string) (string, bool) // cells of a choice, in filters
}

func (c *toCEL) parse(text string) (part, error) {
	n, err := parseXPath(text, false)
	if err != nil {
		return part{}, err
	}
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
		return c.ref(c.from)
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
	case xColumn:
		cell, ok := c.column(n.text)
		if !ok {
			return part{}, &SyntaxError{n.at, "the sheet choices has no column " + shorten(n.text)}
		}
		return textPart(cell), nil
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

// metaPart is what a row of metadata stands for.
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
	text, list, err := c.names.cel(to, c.from)
	if err != nil {
		return part{}, cannot("%s", err)
	}
	p := part{text: text, prec: pPrimary, kind: to.gives(), name: to}
	if list {
		p.kind, p.name = kList, nil
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
	case kNumber, kAny:
		return p, nil
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
		return part{text: "double(" + p.text + ")", prec: pPrimary, kind: kNumber}, nil
	}
	return part{}, cannot("%s is no number", shorten(p.text))
}

// text is p as a text.
func text(p part) (part, error) {
	switch {
	case p.kind == kText || p.kind == kEmpty:
		return p, nil
	case p.kind == kDate:
		return part{text: "string(" + p.text + ").substring(0, 10)", prec: pPrimary, kind: kText}, nil
	case p.isLit:
		return textPart(p.literal), nil
	case p.kind == kList:
		return part{text: p.text + `.join(" ")`, prec: pPrimary, kind: kText}, nil
	}
	return part{text: "string(" + p.text + ")", prec: pPrimary, kind: kText}, nil
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

// compare translates a comparison. XPath turns the two sides into what they
// can be compared as; in CEL they must be so already.
func (c *toCEL) compare(op string, l, r part) (part, error) {
	if l.isLit && !r.isLit {
		l, r, op = r, l, mirrored(op)
	}
	equality := op == "=" || op == "!="
	if equality && r.kind == kEmpty {
		p := part{text: "answered(" + l.text + ")", prec: pPrimary, kind: kBool}
		if op == "=" {
			p = part{text: "!" + p.text, prec: pUnary, kind: kBool}
		}
		return p, nil
	}
	l, r, err := c.level(l, r, equality)
	if err != nil {
		return part{}, err
	}
	return part{text: l.in(pAdd) + " " + relations[op] + " " + r.in(pAdd), prec: pRelation, kind: kBool}, nil
}

func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}

// level makes both sides of a comparison the same kind.
func (c *toCEL) level(l, r part, equality bool) (part, part, error) {
	var err error
	switch {
	case l.kind == kBool || r.kind == kBool:
		return c.levelBools(l, r, equality)
	case l.kind == kList && r.isLit && equality:
		r = part{text: "[" + c.choice(l, r).text + "]", prec: pPrimary, kind: kList}
	case l.name != nil && r.isLit && equality && l.kind == kText:
		r = c.choice(l, r)
	case isTime(l) || isTime(r):
		if l, err = moment(l); err == nil {
			r, err = moment(r)
		}
	case l.kind == kList || r.kind == kList:
		return l, r, cannot("a list can only be compared with one choice")
	case equality && (l.kind == r.kind || l.kind == kAny || r.kind == kAny || l.kind == kText && r.kind == kText):
	case l.kind == kText && l.name != nil && l.name.kind.Clock && r.kind == kText:
	default:
		if l, err = number(l); err == nil {
			r, err = number(r)
		}
	}
	return l, r, err
}

func (c *toCEL) levelBools(l, r part, equality bool) (part, part, error) {
	if !equality {
		return l, r, cannot("true and false have no order")
	}
	l, r = boolLiteral(l), boolLiteral(r)
	if l.kind != kBool {
		l = c.truth(l)
	}
	if r.kind != kBool {
		r = c.truth(r)
	}
	return l, r, nil
}

func isTime(p part) bool { return p.kind == kDate || p.kind == kMoment }

// boolLiteral takes what XLSForm writes for yes and no.
func boolLiteral(p part) part {
	if !p.isLit {
		return p
	}
	switch strings.ToLower(p.literal) {
	case "true", "ok", "yes", "1":
		return part{text: "true", prec: pPrimary, kind: kBool}
	case "false", "no", "0":
		return part{text: "false", prec: pPrimary, kind: kBool}
	}
	return p
}

// choice is the value of a choice that l is compared with.
func (c *toCEL) choice(l, r part) part {
	value := r.literal
	if l.name != nil {
		if v, ok := l.name.values[value]; ok {
			value = v
		}
	}
	return textPart(value)
}

var datePattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// moment is p as a timestamp.
func moment(p part) (part, error) {
	switch {
	case isTime(p) || p.kind == kAny:
		return p, nil
	case p.kind == kText && p.isLit && datePattern.MatchString(p.literal):
		return part{text: "timestamp(" + quoteCEL(p.literal+midnightText) + ")", prec: pPrimary, kind: kDate}, nil
	case p.kind == kText:
		return part{text: "timestamp(" + p.text + ")", prec: pPrimary, kind: kMoment}, nil
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
