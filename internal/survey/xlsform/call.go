package xlsform

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// translation makes the CEL of a function of XLSForm from its arguments.
type translation struct {
	least, most int
	make        func(c *toCEL, args []part) (part, error)
}

func (c *toCEL) call(n *xnode) (part, error) {
	if n.text == "position" && len(n.args) == 1 && n.args[0].kind == xParent {
		return c.position()
	}
	switch n.text { // whose arguments are more than values
	case "pulldata":
		return c.pulldata(n)
	case "indexed-repeat":
		return c.indexed(n)
	case "jr:choice-name":
		return c.choiceName(n)
	case "count-if", "sum-if", "min-if", "max-if", "join-if":
		return c.someOnly(n)
	case "once":
		if n != c.top {
			c.note("once() is left out inside another expression: now(), today(), uuid() and random() give a response the same value each time, anything else is calculated from the answers.")
		}
	}
	f, ok := calls[n.text]
	if !ok {
		return part{}, cannot("the function %s() has no equivalent", shorten(n.text))
	}
	if len(n.args) < f.least || len(n.args) > f.most {
		return part{}, &SyntaxError{n.at, fmt.Sprintf("%s() cannot have %d arguments", n.text, len(n.args))}
	}
	args := make([]part, len(n.args))
	before := c.guarded
	defer func() { c.guarded = before }()
	c.guarded = c.guarded || n.text == "not" || n.text == "if" || strings.HasSuffix(n.text, "checklist")
	for i, a := range n.args {
		p, err := c.expr(a)
		if err != nil {
			return part{}, err
		}
		args[i] = p
	}
	return f.make(c, args)
}

// someOnly is a function over those elements of a repeat that meet a condition:
// count-if(${people}, ${age} > 5), join-if(', ', ${name}, ${age} > 5).
func (c *toCEL) someOnly(n *xnode) (part, error) {
	name := strings.TrimSuffix(n.text, "-if")
	before := len(n.args) - 2
	if before < 0 || before != 0 && name != "join" || before != 1 && name == "join" || n.args[before].kind != xRef {
		return part{}, &SyntaxError{n.at, n.text + "() takes a question of a repeat, and a condition"}
	}
	only := &xnode{kind: xFilter, args: n.args[before:], at: n.at}
	return c.call(&xnode{kind: xCall, text: name, args: append(slices.Clone(n.args[:before]), only), at: n.at})
}

// position is the number of the element of a repeat.
func (c *toCEL) position() (part, error) {
	if c.from == nil || c.from.repeat() == nil {
		return part{}, cannot("position(..) stands outside a repeat")
	}
	return part{text: "index + 1", prec: pAdd, kind: kNumber, whole: true}, nil
}

const manyArgs = 50

var calls = index(valueCalls, odkCalls)

func index(tables ...map[string]translation) map[string]translation {
	out := map[string]translation{}
	for _, t := range tables {
		maps.Copy(out, t)
	}
	return out
}

var valueCalls = map[string]translation{
	"true":  {0, 0, func(*toCEL, []part) (part, error) { return part{text: "true", prec: pPrimary, kind: kBool}, nil }},
	"false": {0, 0, func(*toCEL, []part) (part, error) { return part{text: "false", prec: pPrimary, kind: kBool}, nil }},
	"not": {1, 1, func(c *toCEL, a []part) (part, error) {
		return part{text: "!" + c.truth(a[0]).in(pUnary), prec: pUnary, kind: kBool}, nil
	}},
	"boolean": {1, 1, func(c *toCEL, a []part) (part, error) {
		if a[0].name != nil {
			return part{}, cannot("boolean() of a question is true in ODK whatever the answer is; compare it with ''")
		}
		return c.truth(a[0]), nil
	}},
	"selected":       {2, 2, callSelected},
	"count-selected": {1, 1, callCount},
	"count":          {1, 1, callCount},
	"count-non-empty": {1, 1, func(_ *toCEL, a []part) (part, error) {
		if a[0].kind != kList || a[0].name != nil {
			return part{}, cannot("count-non-empty() is for the questions of a repeat")
		}
		return call("count", kNumber, a[0].text+".filter(e, answered(e))"), nil
	}},
	"sum": {1, 1, func(_ *toCEL, a []part) (part, error) {
		if a[0].kind != kList {
			return number(a[0])
		}
		return call("total", kNumber, a[0].text), nil
	}},
	"string-length": {0, 1, callLength},
	"regex": {2, 2, func(_ *toCEL, a []part) (part, error) {
		re, err := fullMatch(a[1])
		return part{text: text(a[0]).in(pPrimary) + ".matches(" + re.text + ")", prec: pPrimary, kind: kBool}, err
	}},
	"if": {3, 3, callIf},
	"coalesce": {2, 2, func(_ *toCEL, a []part) (part, error) {
		if a[0].nodes {
			a[0] = first(a[0])
		}
		return call("coalesce", kAny, a[0].text, a[1].text), nil
	}},
	"today": {0, 0, func(*toCEL, []part) (part, error) { return today(), nil }},
	"now": {0, 0, func(c *toCEL, _ []part) (part, error) {
		c.note("now() became the time at which the response is submitted.")
		return part{text: "response.submittedAt", prec: pPrimary, kind: kMoment}, nil
	}},
	"once":   {1, 1, func(_ *toCEL, a []part) (part, error) { return a[0], nil }},
	"number": {1, 1, func(_ *toCEL, a []part) (part, error) { return number(a[0]) }},
	"int": {1, 1, func(_ *toCEL, a []part) (part, error) {
		n, err := number(a[0])
		if n.whole {
			return n, err
		}
		p := call("int", kNumber, n.text)
		p.whole = true
		return p, err
	}},
	"round":    {1, 2, callRound},
	"floor":    {1, 1, callMath("floor")},
	"ceiling":  {1, 1, callMath("ceil")},
	"abs":      {1, 1, callMath("abs")},
	"sqrt":     {1, 1, callMath("sqrt")},
	"min":      {1, manyArgs, callExtreme("math.least", "lowest")},
	"max":      {1, manyArgs, callExtreme("math.greatest", "highest")},
	"string":   {1, 1, func(_ *toCEL, a []part) (part, error) { return text(a[0]), nil }},
	"concat":   {1, manyArgs, callConcat},
	"contains": {2, 2, callOnText("contains")},

	"starts-with": {2, 2, callOnText("startsWith")},
	"ends-with":   {2, 2, callOnText("endsWith")},
	"date": {1, 1, func(_ *toCEL, a []part) (part, error) {
		switch {
		case a[0].kind == kDate:
			return a[0], nil
		case a[0].kind == kText && a[0].isLit && datePattern.MatchString(a[0].literal):
			return moment(a[0])
		case a[0].nodes:
			a[0] = first(a[0])
		}
		return call("day", kDate, a[0].text), nil
	}},
	"date-time": {1, 1, func(_ *toCEL, a []part) (part, error) { return moment(a[0]) }},
	"decimal-date-time": {1, 1, func(_ *toCEL, a []part) (part, error) {
		m, err := moment(a[0])
		if err != nil {
			return part{}, err
		}
		return number(m)
	}},
}

// call is a call of CEL.
func call(name string, k kind, args ...string) part {
	out := name + "("
	for i, a := range args {
		if i > 0 {
			out += ", "
		}
		out += a
	}
	return part{text: out + ")", prec: pPrimary, kind: k}
}

func callSelected(c *toCEL, a []part) (part, error) {
	if a[0].name != nil && a[0].kind == kBool {
		return c.compare("=", a[0], a[1])
	}
	value := a[1]
	if value.isLit {
		value = c.choice(a[0], value)
	} else if value.kind != kText {
		value = text(value)
	}
	return call("selected", kBool, a[0].text, value.text), nil
}

func callCount(_ *toCEL, a []part) (part, error) {
	if a[0].isLit {
		return part{}, cannot("a constant cannot be counted")
	}
	return call("count", kNumber, a[0].text), nil
}

func callLength(c *toCEL, a []part) (part, error) {
	if len(a) == 0 {
		if c.from == nil {
			return part{}, cannot("there is no answer to measure")
		}
		self, err := c.ref(c.from)
		if err != nil {
			return part{}, err
		}
		a = []part{self}
	}
	p := call("size", kNumber, text(a[0]).text)
	p.whole = true
	return p, nil
}

func callIf(c *toCEL, a []part) (part, error) {
	yes, no := branch(a[1], a[2]), branch(a[2], a[1])
	k := yes.kind
	if k != no.kind || k == kNumber && yes.whole != no.whole || yes.name != nil || no.name != nil {
		// CEL wants one type, and there may be no answer; dyn() accepts any.
		if k != no.kind {
			k = kAny
		}
		yes, no = call("dyn", k, yes.text), call("dyn", k, no.text)
	}
	return part{text: c.truth(a[0]).in(pOr) + " ? " + yes.in(pOr) + " : " + no.in(pTernary), prec: pTernary, kind: k}, nil
}

// branch is p as one of two results of which other is the second.
func branch(p, other part) part {
	switch {
	case p.kind == kEmpty && (other.kind == kText || other.kind == kEmpty):
		p.kind = kText
	case p.kind == kEmpty:
		return part{text: "null", prec: pPrimary, kind: kEmpty}
	case p.isLit && p.kind == kNumber && other.kind == kText:
		return textPart(p.literal)
	}
	return p
}

func callRound(_ *toCEL, a []part) (part, error) {
	n, err := number(a[0])
	if err != nil {
		return part{}, err
	}
	if n.whole {
		n = part{text: "double(" + n.text + ")", prec: pPrimary}
	}
	if len(a) == 1 || a[1].isLit && a[1].literal == "0" {
		return call("math.round", kNumber, n.text), nil
	}
	return call("roundTo", kNumber, n.text, a[1].text), nil
}

func callMath(name string) func(*toCEL, []part) (part, error) {
	return func(_ *toCEL, a []part) (part, error) {
		args := make([]string, len(a))
		for i := range a {
			n, err := number(a[i])
			if err != nil {
				return part{}, err
			}
			if n.whole && name != "least" && name != "greatest" && name != "abs" {
				n.text = "double(" + n.text + ")"
			}
			args[i] = n.text
		}
		return call("math."+name, kNumber, args...), nil
	}
}

func callOnText(name string) func(*toCEL, []part) (part, error) {
	return func(_ *toCEL, a []part) (part, error) {
		return part{text: text(a[0]).in(pPrimary) + "." + name + "(" + text(a[1]).text + ")", prec: pPrimary, kind: kBool}, nil
	}
}

func callConcat(_ *toCEL, a []part) (part, error) {
	out := ""
	for i, p := range a {
		s := text(p)
		if p.nodes {
			s = call("joined", kText, p.text, `""`)
		}
		if i > 0 {
			out += " + "
		}
		out += s.in(pMultiply)
	}
	return part{text: out, prec: pAdd, kind: kText}, nil
}
