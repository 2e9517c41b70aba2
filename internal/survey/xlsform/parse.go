package xlsform

import (
	"fmt"
	"strings"
)

// The parts of an XPath expression.
type xkind int

const (
	xNumber xkind = iota
	xText
	xRef    // ${name}, with further names after slashes: path[0] is the name
	xSelf   // .
	xParent // ..
	xCall
	xBinary
	xMinus  // unary
	xColumn // a column of the sheet choices, in filters, or a question of an element
	xFilter // some elements of args[0]: those that meet args[1]; path is a question of theirs
	xItems  // rows of the list text, all or those that meet args[0]; path is their column
)

// xnode is a node of an XPath expression of a form.
type xnode struct {
	kind xkind
	text string // operator, function, text or digits
	path []string
	args []*xnode
	at   int // offset in the expression
}

// Limits of an expression. Ours have 2,000 characters; those of others repeat
// paths and may be longer.
const (
	maxXPath = 8_000 // bytes
	maxDepth = 60    // nodes inside each other
)

// SyntaxError means that a text is not an expression of XLSForm.
type SyntaxError struct {
	at  int
	why string
}

// Error says where and why, as a sentence.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("The expression is not valid at character %d: %s.", e.at+1, e.why)
}

// xtoken is a word of an expression.
type xtoken struct {
	kind xtokenKind
	text string
	at   int
}

type xtokenKind int

const (
	tEnd xtokenKind = iota
	tNumber
	tText
	tRef
	tName
	tSign // operators, brackets, dots, slashes
)

// lex cuts an expression into words.
func lex(s string) ([]xtoken, error) {
	if len(s) > maxXPath {
		return nil, &SyntaxError{maxXPath, fmt.Sprintf("it has more than %d bytes", maxXPath)}
	}
	var out []xtoken
	for i := 0; i < len(s); {
		t, end, err := lexOne(s, i)
		if err != nil {
			return nil, err
		}
		if end > i && t.text != "" || t.kind == tText {
			out = append(out, t)
		}
		i = end
	}
	return append(out, xtoken{kind: tEnd, at: len(s)}), nil
}

// lexOne reads the word at i. White space is a word without text.
func lexOne(s string, i int) (t xtoken, end int, err error) {
	c := s[i]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return xtoken{}, i + 1, nil
	case strings.HasPrefix(s[i:], "\u00a0"): // what word processors put in
		return xtoken{}, i + len("\u00a0"), nil
	case c == '\'' || c == '"':
		return lexText(s, i, string(c), string(c))
	case strings.HasPrefix(s[i:], "‘") || strings.HasPrefix(s[i:], "’"):
		return lexText(s, i, "‘", "’")
	case strings.HasPrefix(s[i:], "“") || strings.HasPrefix(s[i:], "”"):
		return lexText(s, i, "“", "”")
	case strings.HasPrefix(s[i:], "${"):
		n := strings.IndexByte(s[i:], '}')
		if n < 0 {
			return t, 0, &SyntaxError{i, "${ is never closed"}
		}
		name := strings.TrimSpace(s[i+2 : i+n])
		if name = strings.TrimPrefix(name, "last-saved#"); nameLength(name) != len(name) || name == "" {
			return t, 0, &SyntaxError{i, "there is no name in ${}"}
		}
		return xtoken{tRef, name, i}, i + n + 1, nil
	case c >= '0' && c <= '9', c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
		t, end = lexNumber(s, i)
		return t, end, nil
	}
	if n := nameLength(s[i:]); n > 0 {
		return xtoken{tName, s[i : i+n], i}, i + n, nil
	}
	for _, sign := range [...]string{"!=", "<=", ">=", "..", "=", "<", ">", "+", "-", "*", "(", ")", ",", ".", "/", "|", "[", "]", "@"} {
		if strings.HasPrefix(s[i:], sign) {
			return xtoken{tSign, sign, i}, i + len(sign), nil
		}
	}
	return t, 0, &SyntaxError{i, "this character has no meaning here"}
}

// lexText reads a text in quotes. Those that word processors bend count too.
func lexText(s string, i int, open, end string) (xtoken, int, error) {
	start := i + len(open)
	n := strings.Index(s[start:], end)
	if n < 0 {
		return xtoken{}, 0, &SyntaxError{i, "the quote is never closed"}
	}
	return xtoken{tText, s[start : start+n], i}, start + n + len(end), nil
}

func lexNumber(s string, i int) (xtoken, int) {
	end, dots := i, 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' && dots == 0) {
		if s[end] == '.' {
			dots++
		}
		end++
	}
	return xtoken{tNumber, s[i:end], i}, end
}

// nameLength is how many bytes of s are a name of XML, with a prefix and a
// colon or without.
func nameLength(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
		if strings.HasPrefix(s[i:], "\u00a0") || strings.HasPrefix(s[i:], "“") || strings.HasPrefix(s[i:], "”") || strings.HasPrefix(s[i:], "‘") || strings.HasPrefix(s[i:], "’") {
			return i
		}
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-' && c != '.' && c != ':') {
			return i
		}
	}
	return len(s)
}

// xparser reads expressions by recursive descent.
type xparser struct {
	tokens []xtoken
	at     int
	depth  int
	filter bool // names alone are columns of the sheet choices
}

// parseXPath reads an expression. The error is a *SyntaxError.
func parseXPath(s string, filter bool) (*xnode, error) {
	tokens, err := lex(s)
	if err != nil {
		return nil, err
	}
	p := &xparser{tokens: tokens, filter: filter}
	n, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tEnd {
		return nil, &SyntaxError{t.at, "an operator is missing before " + quoteWord(t)}
	}
	return n, nil
}

func quoteWord(t xtoken) string {
	if t.kind == tEnd {
		return "its end"
	}
	return shorten(t.text)
}

func (p *xparser) peek() xtoken { return p.tokens[p.at] }

func (p *xparser) next() xtoken {
	t := p.tokens[p.at]
	if t.kind != tEnd {
		p.at++
	}
	return t
}

func (p *xparser) sign(text string) bool {
	if t := p.peek(); t.kind == tSign && t.text == text {
		p.at++
		return true
	}
	return false
}

// levels are the binary operators, those that bind least first.
var levels = [][]string{{"or"}, {"and"}, {"=", "!="}, {"<", "<=", ">", ">="}, {"+", "-"}, {"*", "div", "mod"}}

// binary reads operators that bind at least as level does.
func (p *xparser) binary(level int) (*xnode, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		t := p.peek()
		op := operator(t, levels[level])
		if op == "" {
			return left, nil
		}
		if n > maxDepth {
			return nil, &SyntaxError{t.at, fmt.Sprintf("more than %d operators stand in a row", maxDepth)}
		}
		p.at++
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		left = &xnode{kind: xBinary, text: op, args: []*xnode{left, right}, at: t.at}
	}
}

func operator(t xtoken, ops []string) string {
	for _, op := range ops {
		if t.text == op && (t.kind == tSign || t.kind == tName) {
			return op
		}
	}
	return ""
}

func (p *xparser) unary() (*xnode, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &SyntaxError{p.peek().at, fmt.Sprintf("it nests more than %d deep", maxDepth)}
	}
	defer func() { p.depth-- }()
	if t := p.peek(); p.sign("-") {
		arg, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &xnode{kind: xMinus, args: []*xnode{arg}, at: t.at}, nil
	}
	return p.primary()
}

// said are the cells that spreadsheets and pyxform take for a truth.
var said = map[string]string{"true": "true", "yes": "true", "false": "false", "no": "false"}

func (p *xparser) primary() (*xnode, error) {
	t := p.next()
	switch {
	case t.kind == tNumber:
		return &xnode{kind: xNumber, text: t.text, at: t.at}, nil
	case t.kind == tText:
		return &xnode{kind: xText, text: t.text, at: t.at}, nil
	case t.kind == tRef:
		return p.steps(&xnode{kind: xRef, path: []string{t.text}, at: t.at})
	case t.kind == tName && p.sign("("):
		return p.called(t)
	case t.kind == tName && p.filter:
		return &xnode{kind: xColumn, text: t.text, at: t.at}, nil
	case t.kind == tSign && t.text == "(":
		n, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		if !p.sign(")") {
			return nil, &SyntaxError{p.peek().at, ") is missing before " + quoteWord(p.peek())}
		}
		return n, nil
	case t.kind == tSign && t.text == "." && p.filter && p.sign("/"):
		return p.primary()
	case t.kind == tSign && t.text == "." && p.peek().kind == tSign && p.peek().text == "/": // below a group
		return p.parent(t)
	case t.kind == tName && p.at == 1 && p.peek().kind == tEnd && said[strings.ToLower(t.text)] != "": // the whole cell
		return &xnode{kind: xCall, text: said[strings.ToLower(t.text)], at: t.at}, nil
	case t.kind == tSign && t.text == ".":
		return &xnode{kind: xSelf, at: t.at}, nil
	case t.kind == tSign && t.text == "..":
		return p.parent(t)
	case t.kind == tSign && t.text == "/":
		return nil, &SyntaxError{t.at, "a path must begin with ${name} or ../"}
	}
	return nil, &SyntaxError{t.at, "a value is missing before " + quoteWord(t)}
}

// parent reads what follows "..": nothing, or the name of a neighbour.
func (p *xparser) parent(t xtoken) (*xnode, error) {
	if !p.sign("/") {
		return &xnode{kind: xParent, at: t.at}, nil
	}
	name := p.next()
	if name.kind == tSign && name.text == ".." {
		return p.parent(t)
	}
	if name.kind != tName {
		return nil, &SyntaxError{name.at, "a name must come after ../"}
	}
	return p.steps(&xnode{kind: xRef, path: []string{name.text}, at: t.at})
}

// steps reads the names after slashes.
func (p *xparser) steps(n *xnode) (*xnode, error) {
	for p.sign("/") {
		t := p.next()
		if t.kind != tName {
			return nil, &SyntaxError{t.at, "a name must come after /"}
		}
		n.path = append(n.path, t.text)
	}
	if !p.sign("[") {
		return n, nil
	}
	which, err := p.predicate()
	if err != nil {
		return nil, err
	}
	out := &xnode{kind: xFilter, args: []*xnode{n, which}, at: n.at}
	if p.sign("/") {
		t := p.next()
		if t.kind != tName {
			return nil, &SyntaxError{t.at, "a name must come after /"}
		}
		out.path = []string{t.text}
	}
	return out, nil
}

// predicate reads the condition of a path up to its closing bracket. Bare names
// in it refer to the nodes of the path.
func (p *xparser) predicate() (*xnode, error) {
	before := p.filter
	p.filter = true
	n, err := p.binary(0)
	if p.filter = before; err != nil {
		return nil, err
	}
	if !p.sign("]") {
		return nil, &SyntaxError{p.peek().at, "] is missing before " + quoteWord(p.peek())}
	}
	return n, nil
}

// called reads a call, and the path that begins with one: current()/../name, and
// instance('list') with the steps root, item[condition] and a column.
func (p *xparser) called(name xtoken) (*xnode, error) {
	n, err := p.call(name)
	if err != nil || name.text != "current" && name.text != "instance" || !p.sign("/") {
		return n, err
	}
	if name.text == "current" {
		t := p.next()
		if t.kind == tSign && t.text == "." {
			return &xnode{kind: xSelf, at: t.at}, nil
		}
		if t.kind != tSign || t.text != ".." {
			return nil, &SyntaxError{t.at, "../ must come after current()/"}
		}
		return p.parent(t)
	}
	if len(n.args) != 1 || n.args[0].kind != xText {
		return nil, &SyntaxError{n.at, "instance() takes the name of a list"}
	}
	out := &xnode{kind: xItems, text: n.args[0].text, at: n.at}
	for _, step := range []string{"root", "item"} {
		if t := p.next(); t.text != step || step == "root" && !p.sign("/") {
			return nil, &SyntaxError{t.at, "the steps root and item must come after instance()"}
		}
	}
	if p.sign("[") {
		which, err := p.predicate()
		if err != nil {
			return nil, err
		}
		out.args = []*xnode{which}
	}
	if p.sign("/") {
		t := p.next()
		if t.kind != tName {
			return nil, &SyntaxError{t.at, "a name must come after /"}
		}
		out.path = []string{t.text}
	}
	return out, nil
}

// call reads the arguments of a function up to its closing bracket.
func (p *xparser) call(name xtoken) (*xnode, error) {
	n := &xnode{kind: xCall, text: name.text, at: name.at}
	if p.sign(")") {
		return n, nil
	}
	for {
		arg, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, arg)
		if p.sign(")") {
			return n, nil
		}
		if !p.sign(",") {
			return nil, &SyntaxError{p.peek().at, ") is missing before " + quoteWord(p.peek())}
		}
	}
}
