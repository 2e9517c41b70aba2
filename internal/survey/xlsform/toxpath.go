package xlsform

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/parser"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// How tightly the parts of an XPath expression bind.
const (
	xpOr = iota
	xpAnd
	xpEqual
	xpOrder
	xpAdd
	xpMultiply
	xpUnary
	xpPrimary
)

// xpart is a piece of XPath.
type xpart struct {
	text  string
	prec  int
	kind  kind
	name  *Named // the question it is the answer of
	value string // of a text literal
	isLit bool
	needs []string // answers without which it has no value
}

func (p xpart) in(prec int) string {
	if p.prec < prec {
		return "(" + p.text + ")"
	}
	return p.text
}

// toXPath translates CEL into expressions of XLSForm.
type toXPath struct {
	names *Names
	from  *Named
	self  bool            // whether "." stands for the answer: in constraints
	meta  map[string]bool // members of response that were named; rows must hold them
	loop  *loop
	// inside says that the expression stands in a predicate.
	inside bool

	choice *form.Question // whose choices are filtered; nil for any other expression
}

// loop is the variable of a map() over a repeat.
type loop struct {
	name string
	over *Named
}

// parseCEL reads CEL as templates have it, without taking its macros apart.
func parseCEL(text string) (*ast.AST, error) {
	p, err := parser.NewParser(parser.MaxRecursionDepth(2*maxDepth), parser.EnableIdentEscapeSyntax(true), parser.ExpressionSizeCodePointLimit(maxXPath), parser.ErrorRecoveryLimit(4))
	if err != nil {
		return nil, err
	}
	tree, errs := p.Parse(common.NewTextSource(text))
	if len(errs.GetErrors()) > 0 {
		return nil, cannot("the expression is not valid CEL")
	}
	return tree, nil
}

// unguarded keeps an expression from beginning like a formula: it would get an
// apostrophe in front, which other programs take for a part of it.
func unguarded(p xpart) string {
	if strings.HasPrefix(p.text, "-") {
		return "(" + p.text + ")"
	}
	return p.text
}

func (x *toXPath) parse(text string) (xpart, error) {
	tree, err := parseCEL(text)
	if err != nil {
		return xpart{}, err
	}
	return x.expr(tree.Expr(), 0)
}

func (x *toXPath) expr(e ast.Expr, depth int) (xpart, error) {
	if depth > maxDepth {
		return xpart{}, cannot("the expression nests too deep")
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return literal(e)
	case ast.IdentKind, ast.SelectKind:
		return x.ident(e)
	case ast.CallKind:
		return x.call(e.AsCall(), depth+1)
	}
	return xpart{}, cannot("lists and maps have no equivalent")
}

func literal(e ast.Expr) (xpart, error) {
	switch v := e.AsLiteral().(type) {
	case types.Bool:
		return xpart{text: strconv.FormatBool(bool(v)) + "()", prec: xpPrimary, kind: kBool}, nil
	case types.Int:
		return numeral(strconv.FormatInt(int64(v), 10)), nil
	case types.Double:
		text := strconv.FormatFloat(float64(v), 'f', -1, 64)
		if len(text) > 30 {
			return xpart{}, cannot("the number is too long")
		}
		return numeral(text), nil
	case types.String:
		return literalText(string(v)), nil
	case types.Null:
		return xpart{text: "''", prec: xpPrimary, kind: kEmpty, isLit: true}, nil
	}
	return xpart{}, cannot("the constant has no equivalent")
}

func numeral(text string) xpart {
	p := xpart{text: text, prec: xpPrimary, kind: kNumber, value: text, isLit: true}
	if strings.HasPrefix(text, "-") {
		p.prec = xpUnary
	}
	return p
}

// literalText quotes a text. XPath has no escapes: one with both quotes is put
// together.
func literalText(s string) xpart {
	p := xpart{prec: xpPrimary, kind: kText, value: s, isLit: true}
	switch {
	case s == "":
		p.text, p.kind = "''", kEmpty
	case !strings.Contains(s, "'"):
		p.text = "'" + s + "'"
	case !strings.Contains(s, `"`):
		p.text = `"` + s + `"`
	default:
		p.text = "concat('" + strings.ReplaceAll(s, "'", `', "'", '`) + "')"
	}
	return p
}

// path gives the names of a.b.c, nil when e is anything else.
func path(e ast.Expr) []string {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{e.AsIdent()}
	case ast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() {
			if p := path(s.Operand()); p != nil {
				return append(p, s.FieldName())
			}
		}
	}
	return nil
}

// MetaRows are the types of the metadata rows that hold members of a response.
var MetaRows = map[string]string{"response.startedAt": "start", "response.collector": "username"}

// MetaPrefix begins the names of such rows.
const MetaPrefix = "hearth_meta_"

func (x *toXPath) ident(e ast.Expr) (xpart, error) {
	names := path(e)
	if names == nil {
		return xpart{}, cannot("a member of a value has no equivalent")
	}
	if x.loop != nil && names[0] == x.loop.name {
		return x.element(names[1:])
	}
	if x.choice != nil && names[0] == choiceVariable {
		if len(names) != 2 {
			return xpart{}, cannot("a choice is compared by its members")
		}
		return xpart{text: x.names.column(x.choice, names[1]), prec: xpPrimary, kind: kText}, nil
	}
	if to, rest := x.names.find(names, x.from); to != nil && len(rest) == 0 {
		return x.ref(to)
	}
	whole := strings.Join(names, ".")
	switch {
	case whole == "today":
		return xpart{text: "today()", prec: xpPrimary, kind: kDate}, nil
	case whole == "response.submittedAt":
		return xpart{text: "now()", prec: xpPrimary, kind: kMoment}, nil
	case whole == "index" && x.from != nil && x.from.repeat() != nil:
		return xpart{text: x.position() + " - 1", prec: xpAdd, kind: kNumber}, nil
	case MetaRows[whole] != "":
		x.meta[whole] = true
		k := kMoment
		if whole == "response.collector" {
			k = kText
		}
		return xpart{text: x.metaName(whole), prec: xpPrimary, kind: k}, nil
	}
	return xpart{}, cannot("%s has no equivalent", shorten(whole))
}

// element is a question of the repeat that a loop runs over.
func (x *toXPath) element(names []string) (xpart, error) {
	at := x.loop.over
	for _, name := range names {
		if at = at.kid(name); at == nil || at.kind.Repeated {
			return xpart{}, cannot("the loop has no equivalent")
		}
	}
	if at == x.loop.over {
		return xpart{}, cannot("the loop has no equivalent")
	}
	text, err := x.place(at)
	if err != nil {
		return xpart{}, cannot("%s", err)
	}
	return xpart{text: text, prec: xpPrimary, kind: at.gives(), name: at}, nil
}

func (x *toXPath) ref(to *Named) (xpart, error) {
	p := xpart{text: ".", prec: xpPrimary, kind: to.gives(), name: to}
	if x.self && to == x.from {
		return p, nil
	}
	text, err := x.place(to)
	if err != nil {
		return xpart{}, cannot("%s", err)
	}
	p.text = text
	return p, nil
}

// truth is p as a condition. A boolean answer is one of two choices.
func (x *toXPath) truth(p xpart) xpart {
	if p.kind == kBool && p.name != nil {
		return xpart{text: p.text + " = 'true'", prec: xpEqual, kind: kBool}
	}
	return p
}

var xRelations = map[string]string{
	operators.Equals: "=", operators.NotEquals: "!=", operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">", operators.GreaterEquals: ">=",
}

var xArithmetic = map[string]string{operators.Add: "+", operators.Subtract: "-", operators.Multiply: "*", operators.Divide: "div", operators.Modulo: "mod"}

func (x *toXPath) call(c ast.CallExpr, depth int) (xpart, error) {
	name := c.FunctionName()
	if x.names.exact() && name == operators.LogicalNot {
		return x.not(c.Args()[0], depth)
	}
	if x.names.exact() && name == operators.Conditional {
		return x.either(c, depth)
	}
	if p, ok, err := x.special(c, depth); ok || err != nil {
		return p, err
	}
	var args []xpart
	all := c.Args()
	if c.IsMemberFunction() {
		if t := c.Target(); t.Kind() == ast.IdentKind && t.AsIdent() == "math" {
			name = "math." + name
		} else {
			all = append([]ast.Expr{t}, all...)
			name = "." + name
		}
	}
	for _, a := range all {
		p, err := x.expr(a, depth)
		if err != nil {
			return xpart{}, err
		}
		args = append(args, p)
	}
	if op := xRelations[name]; op != "" {
		return x.compare(op, args[0], args[1])
	}
	if op := xArithmetic[name]; op != "" {
		return x.arithmetic(op, args[0], args[1])
	}
	return x.function(name, args)
}

// special are calls whose arguments are not translated one by one.
func (x *toXPath) special(c ast.CallExpr, depth int) (p xpart, ok bool, err error) {
	args := c.Args()
	switch name := c.FunctionName(); {
	case name == "item" && len(args) == 2 && isLiteral(args[1], types.Int(0)) && pulled(args[0]) != nil:
		p, err = x.pulldata(pulled(args[0]), depth)
		return p, true, err
	case name == "uuid" && len(args) == 1:
		return xcall("uuid", kText), true, nil
	case name == "random" && len(args) == 1:
		return xcall("random", kNumber), true, nil
	case name == "timestamp" && len(args) == 1:
		if day := midnight(args[0]); day != "" {
			return xpart{text: "date('" + day + "')", prec: xpPrimary, kind: kDate}, true, nil
		}
	case name == operators.Divide && days(c) != nil:
		if p, err = x.expr(days(c), depth); err == nil && p.kind != kDate && p.kind != kMoment {
			err = cannot("int() has no equivalent")
		}
		return xcall("number", kNumber, p), true, err
	case name == operators.In && len(args) == 2:
		p, err = x.member(args[0], args[1], depth)
		return p, true, err
	case (name == operators.Equals || name == operators.NotEquals) && slices.ContainsFunc(args, isList):
		p, err = x.only(xRelations[name], args, depth)
		return p, true, err
	case c.IsMemberFunction() && name == "map" && len(args) == 2:
		p, err = x.each(c, depth)
		return p, true, err
	}
	return xpart{}, false, nil
}

// pull is a look-up in a file: found(files.file, "key", value).map(i, i.column).
type pull struct {
	file, key, column string
	value             ast.Expr
}

// pulled recognises a look-up, nil when e is anything else.
func pulled(e ast.Expr) *pull {
	each := asCall(e, "map", 2)
	if each == nil || !each.IsMemberFunction() {
		return nil
	}
	found := asCall(each.Target(), "found", 3)
	over, column := each.Args()[0], path(each.Args()[1])
	if found == nil || over.Kind() != ast.IdentKind || len(column) != 2 || column[0] != over.AsIdent() {
		return nil
	}
	file := path(found.Args()[0])
	key, ok := found.Args()[1].AsLiteral().(types.String)
	if len(file) != 2 || file[0] != "files" || !ok {
		return nil
	}
	return &pull{file: file[1], key: string(key), column: column[1], value: found.Args()[2]}
}

func (x *toXPath) pulldata(p *pull, depth int) (xpart, error) {
	name, ok := x.names.stems[p.file]
	if !ok {
		return xpart{}, cannot("there is no file %s", shorten(p.file))
	}
	if x.names.exact() {
		return x.looked(p, depth)
	}
	value, err := x.expr(p.value, depth)
	if err != nil {
		return xpart{}, err
	}
	return xcall("pulldata", kText, literalText(name), literalText(p.column), literalText(p.key), value), nil
}

// days recognises int(x) / 86400 and double(int(x)) / 86400.0, the days of a
// timestamp, and gives x.
func days(c ast.CallExpr) ast.Expr {
	args := c.Args()
	if in := asCall(args[0], "int", 1); in != nil && isLiteral(args[1], types.Int(86400)) {
		return in.Args()[0]
	}
	if whole := asCall(args[0], "double", 1); whole != nil && isLiteral(args[1], types.Double(86400)) {
		if in := asCall(whole.Args()[0], "int", 1); in != nil {
			return in.Args()[0]
		}
	}
	return nil
}

// asCall returns e as a call of a function with n arguments, nil when it is not
// one.
func asCall(e ast.Expr, name string, n int) ast.CallExpr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != name || len(e.AsCall().Args()) != n {
		return nil
	}
	return e.AsCall()
}

func isLiteral(e ast.Expr, v ref.Val) bool { return e.Kind() == ast.LiteralKind && e.AsLiteral() == v }

// midnight recognises the text of a day's beginning and gives the date.
func midnight(e ast.Expr) string {
	if e.Kind() != ast.LiteralKind {
		return ""
	}
	text, ok := e.AsLiteral().(types.String)
	day, found := strings.CutSuffix(string(text), midnightText)
	if !ok || !found || !datePattern.MatchString(day) {
		return ""
	}
	return day
}

// member translates x in [a, b] and a in x.
func (x *toXPath) member(value, list ast.Expr, depth int) (xpart, error) {
	v, err := x.expr(value, depth)
	if err != nil {
		return xpart{}, err
	}
	if list.Kind() != ast.ListKind {
		in, err := x.expr(list, depth)
		if err != nil || in.kind != kList || in.name == nil {
			return xpart{}, cannot("in has no equivalent here")
		}
		return x.function("selected", []xpart{in, v})
	}
	var all []string
	for _, e := range list.AsList().Elements() {
		o, err := x.expr(e, depth)
		if err != nil {
			return xpart{}, err
		}
		p, err := x.compare("=", v, o)
		if err != nil {
			return xpart{}, err
		}
		all = append(all, p.in(xpAnd))
	}
	switch len(all) {
	case 0:
		return xpart{text: "false()", prec: xpPrimary, kind: kBool}, nil
	case 1:
		return xpart{text: all[0], prec: xpEqual, kind: kBool}, nil
	}
	return xpart{text: strings.Join(all, " or "), prec: xpOr, kind: kBool}, nil
}

func isList(e ast.Expr) bool { return e.Kind() == ast.ListKind }

// only compares an answer of several choices with a list of one: XPath has the choices
// as one text, in which the order of several would count.
func (x *toXPath) only(op string, args []ast.Expr, depth int) (xpart, error) {
	answer, list := args[0], args[1]
	if isList(answer) {
		answer, list = list, answer
	}
	l, err := x.expr(answer, depth)
	if err != nil {
		return xpart{}, err
	}
	if !isList(list) || list.AsList().Size() != 1 || l.kind != kList || l.name == nil || l.name.kind.Repeated {
		return xpart{}, cannot("lists cannot be compared")
	}
	r, err := x.expr(list.AsList().Elements()[0], depth)
	if err != nil || !r.isLit || r.kind != kText {
		return xpart{}, cannot("lists cannot be compared")
	}
	return xpart{text: l.in(xpEqual) + " " + op + " " + choiceName(r, l).text, prec: xpEqual, kind: kBool}, nil
}

// each translates repeat.map(e, e.question): all answers to a question.
func (x *toXPath) each(c ast.CallExpr, depth int) (xpart, error) {
	over := path(c.Target())
	v := c.Args()[0]
	if over == nil || v.Kind() != ast.IdentKind || x.loop != nil {
		return xpart{}, cannot("the loop has no equivalent")
	}
	to, rest := x.names.find(over, x.from)
	if to == nil || len(rest) > 0 || !to.kind.Repeated || path(c.Args()[1]) == nil {
		return xpart{}, cannot("the loop has no equivalent")
	}
	x.loop = &loop{name: v.AsIdent(), over: to}
	p, err := x.expr(c.Args()[1], depth)
	x.loop = nil
	p.kind, p.name = kList, nil
	return p, err
}
