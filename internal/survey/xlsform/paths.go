package xlsform

import (
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// NewPaths finds the names of a template for an XForm: expressions name
// questions by their path below root, and mean exactly what they mean here.
// XPath treats a missing answer as an empty text, CEL gives up: a translation
// preserves the difference, or is refused.
func NewPaths(t *form.Template, root string) *Names {
	n := NewNames(t)
	n.root = root
	return n
}

// Items is the path of a list's items in its instance.
const Items = "/root" + "/item"

// exact reports whether the names are those of an XForm.
func (n *Names) exact() bool { return n.root != "" }

// element is the name of the node that holds the answer in an XForm.
func (n *Named) element() string {
	if n.node != "" {
		return n.node
	}
	return n.id
}

// Path is the path of to in an XForm, seen from from; nil means from anywhere.
// In a predicate the path begins at the question of the predicate.
func (n *Names) Path(to, from *Named, predicate bool) string {
	if to == from && !predicate {
		return "."
	}
	r := sharedRepeat(to, from)
	if r == nil {
		return n.root + "/" + strings.Join(elements(to, nil), "/")
	}
	common, ups := from, 0
	for ; common != r && (common == to || !to.within(common)); common = common.parent {
		ups++
	}
	steps := append(strings.Split(strings.Repeat("../", ups), "/")[:ups], elements(to, common)...)
	if ups == 0 {
		steps = append([]string{"."}, steps...)
	}
	if predicate {
		steps = append([]string{"current()"}, steps...)
	}
	return strings.Join(steps, "/")
}

// sharedRepeat is the innermost repeat that both are in, nil for none.
func sharedRepeat(to, from *Named) *Named {
	if from == nil {
		return nil
	}
	for r := from.repeat(); r != nil; r = r.repeat() {
		if to != r && to.within(r) {
			return r
		}
	}
	return nil
}

// elements are the names of the nodes from top down to n, without top.
func elements(n, top *Named) []string {
	if n == top || n == nil {
		return nil
	}
	return append(elements(n.parent, top), n.element())
}

// Spoken is the XPath of an answer that a text at a place names; "" when the
// answer cannot be read aloud.
func (n *Names) Spoken(name string, at *Named) string {
	to, rest := n.find(strings.Split(name, "."), at)
	if to == nil || len(rest) > 0 || len(to.kids) > 0 || to.kind.Nested || to.kind.Shown {
		return ""
	}
	path := n.Path(to, at, false)
	if len(to.labels) > 0 && !to.kind.Several {
		return "jr:choice-name(" + path + ", '" + path + "')"
	}
	return path
}

// place is how an expression names a question.
func (x *toXPath) place(to *Named) (string, error) {
	if !x.names.exact() {
		return x.names.xls(to)
	}
	return x.names.Path(to, x.from, x.inside), nil
}

// metaName is how an expression names a member of a response.
func (x *toXPath) metaName(member string) string {
	name := MetaPrefix + MetaRows[member]
	if x.names.exact() {
		return x.names.root + "/" + name
	}
	return "${" + name + "}"
}

// position is the element of a repeat that the expression stands in, from 1.
func (x *toXPath) position() string {
	up := ".."
	if x.names.exact() {
		for at := x.from.parent; at != x.from.repeat(); at = at.parent {
			up += "/.."
		}
	}
	return "position(" + up + ")"
}

// opposite are the comparisons that hold when another does not. Both are false
// when an answer is missing, as CEL has it.
var opposite = map[string]string{
	operators.Equals: operators.NotEquals, operators.NotEquals: operators.Equals, operators.Less: operators.GreaterEquals,
	operators.GreaterEquals: operators.Less, operators.Greater: operators.LessEquals, operators.LessEquals: operators.Greater,
}

// not translates the opposite of an expression. not() of XPath would turn a
// comparison with a missing answer into something that holds.
func (x *toXPath) not(e ast.Expr, depth int) (xpart, error) {
	if depth > maxDepth {
		return xpart{}, cannot("the expression nests too deep")
	}
	if e.Kind() == ast.CallKind {
		c := e.AsCall()
		switch name := c.FunctionName(); {
		case name == operators.LogicalNot:
			p, err := x.expr(c.Args()[0], depth+1)
			return x.truth(p), err
		case name == operators.LogicalAnd || name == operators.LogicalOr:
			l, err := x.not(c.Args()[0], depth+1)
			if err != nil {
				return xpart{}, err
			}
			r, err := x.not(c.Args()[1], depth+1)
			if err != nil {
				return xpart{}, err
			}
			return x.function(map[string]string{operators.LogicalAnd: operators.LogicalOr, operators.LogicalOr: operators.LogicalAnd}[name], []xpart{l, r})
		case opposite[name] != "":
			l, err := x.expr(c.Args()[0], depth+1)
			if err != nil {
				return xpart{}, err
			}
			r, err := x.expr(c.Args()[1], depth+1)
			if err != nil {
				return xpart{}, err
			}
			return x.compare(xRelations[opposite[name]], l, r)
		}
	}
	p, err := x.expr(e, depth+1)
	if err != nil {
		return xpart{}, err
	}
	if p.kind == kBool && p.name != nil { // no answer is neither
		return xpart{text: p.text + " = 'false'", prec: xpEqual, kind: kBool}, nil
	}
	return x.function(operators.LogicalNot, []xpart{p})
}

// either translates a ? b : c. A condition that cannot be decided gives nothing.
func (x *toXPath) either(c ast.CallExpr, depth int) (xpart, error) {
	args := c.Args()
	yes, err := x.expr(args[0], depth)
	if err != nil {
		return xpart{}, err
	}
	no, err := x.not(args[0], depth)
	if err != nil {
		return xpart{}, err
	}
	first, err := x.expr(args[1], depth)
	if err != nil {
		return xpart{}, err
	}
	second, err := x.expr(args[2], depth)
	if err != nil {
		return xpart{}, err
	}
	k := first.kind
	if second.kind != k {
		k = kAny
	}
	first, second = first.guarded(), second.guarded()
	if no.text != "not("+x.truth(yes).text+")" {
		second = xcall("if", k, no, second, xpart{text: "''"})
	}
	return xcall("if", k, x.truth(yes), first, second), nil
}

// kept translates a constraint: an answer is refused when the constraint does not
// hold, and not when it cannot be decided.
func (x *toXPath) kept(text string) (xpart, error) {
	tree, err := parseCEL(text)
	if err != nil {
		return xpart{}, err
	}
	held, err := x.expr(tree.Expr(), 0)
	if err != nil {
		return xpart{}, err
	}
	broken, err := x.not(tree.Expr(), 0)
	if err != nil || broken.text == "not("+x.truth(held).text+")" {
		return held, err
	}
	return xcall("not", kBool, broken), nil
}

// needing is p with what must be answered for it to have a value.
func (p xpart) needing(all ...xpart) xpart {
	for _, a := range all {
		p.needs = append(p.needs, a.needs...)
		if a.name != nil {
			p.needs = append(p.needs, a.text)
		}
	}
	return p
}

// guarded is p, or nothing as long as an answer is missing that it needs.
func (p xpart) guarded() xpart {
	seen := map[string]bool{}
	var all []string
	for _, need := range p.needs {
		if !seen[need] {
			seen[need] = true
			all = append(all, need+" != ''")
		}
	}
	if len(all) == 0 {
		return p
	}
	return xpart{text: "if(" + strings.Join(all, " and ") + ", " + p.text + ", '')", prec: xpPrimary, kind: p.kind}
}

// value is p as what a question calculates: nothing where CEL gives nothing.
func (p xpart) result() xpart {
	if p.kind == kNumber && p.name == nil && !p.isLit {
		return xpart{text: "if(string(number(" + p.text + ")) = 'NaN', '', " + p.text + ")", prec: xpPrimary, kind: p.kind}
	}
	return p.guarded()
}

// looked is the first value of a column of a file.
func (x *toXPath) looked(p *pull, depth int) (xpart, error) {
	x.inside = true
	value, err := x.expr(p.value, depth)
	x.inside = false
	if err != nil {
		return xpart{}, err
	}
	return xpart{text: "instance(" + Quote(p.file) + ")" + Items + "[" + p.key + " = " + value.in(xpOrder) + "][1]/" + p.column, prec: xpPrimary, kind: kText}, nil
}

// pattern returns a regular expression that the whole text must match, whether
// or not a program anchors it; false when others may read it differently.
func pattern(re string) (string, bool) {
	for _, odd := range []string{`\A`, `\z`, `\C`, `\Q`, `\E`, `\p`, `\P`, `\x{`, "[[:", "(?i", "(?s", "(?m", "(?U", "(?P", "(?-"} {
		if strings.Contains(re, odd) {
			return "", false
		}
	}
	return "^(?:" + re + ")$", true
}

// RowNames are the names of the nodes for the rows of a matrix: their values,
// where XML allows these.
func RowNames(rows []form.Option) []string {
	taken := map[string]bool{}
	for _, o := range rows {
		taken[o.Value] = true
	}
	names := make([]string, len(rows))
	for i, o := range rows {
		name := o.Value
		if !xmlName.MatchString(name) {
			for name = "row_" + strconv.Itoa(i+1); taken[name]; {
				name += "_"
			}
			taken[name] = true
		}
		names[i] = name
	}
	return names
}

// Cells returns the expressions of a question by the columns of XLSForm:
// relevant, required, constraint, calculation, choice_filter, read_only,
// repeat_count. lost is called for what cannot be expressed; used collects the
// members of a response that were named.
func (n *Names) Cells(q *form.Question, used map[string]bool, lost func(column, cause string)) map[string]string {
	return cellWriter{names: n, used: used, lost: lost}.native(q)
}

// Condition is the relevance of a section.
func (n *Names) Condition(s *form.Section, used map[string]bool, lost func(column, cause string)) string {
	return cellWriter{names: n, used: used, lost: lost}.condition("relevant", s.Relevant, n.Section(s))
}

// Bounds are the conditions a number must meet.
func (n *Names) Bounds(v form.Validation, lost func(column, cause string)) string {
	return strings.Join(cellWriter{names: n, lost: lost}.bounds(v), " and ")
}

// Required returns when the answer of a question is required, seen from its
// node, or from those of its parts.
func (n *Names) Required(q *form.Question) (string, error) {
	at := n.Question(q)
	if (at.kind.Rows || at.kind.Units) && len(at.kids) > 0 {
		at = at.kids[0]
	}
	switch {
	case q.Required.When != "":
		return n.FromCEL(q.Required.When, Place{At: at}, Condition)
	case q.Required.Always:
		return "yes", nil
	}
	return "", nil
}

// Beside is the path of a sibling of n, seen from there.
func (n *Names) Beside(at *Named, name string) string {
	if at.repeat() != nil {
		return "../" + name
	}
	return strings.Join(append([]string{n.root}, append(elements(at.parent, nil), name)...), "/")
}

// Ranged reports whether a question is a range: numbers that have a distance
// between two bounds.
func Ranged(q *form.Question) bool { return ranged(q) }

// Range returns the bounds and the step of a range.
func Range(v form.Validation) (low, high, step string) {
	low, high, step = "1", "5", "1"
	if v.Min != nil {
		low = decimal(*v.Min)
	}
	if v.Max != nil {
		high = decimal(*v.Max)
	}
	if v.Step != nil {
		step = decimal(*v.Step)
	}
	return low, high, step
}
