package cel

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
)

// Ref is the meaning of a name: a variable, or a member of one, or a member of
// that.
type Ref struct {
	Var  string
	Path []string
}

// Names looks a name up. The error's text tells an author what is wrong.
type Names func(name string) (Ref, error)

// basicTypes are CEL's own names.
var basicTypes = []string{"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"}

// resolver walks a parsed expression: it replaces names by what they mean and
// refuses unknown names and excessive parts.
type resolver struct {
	ast   *ast.AST
	names Names
	fac   ast.ExprFactory
	next  int64
	bound []string // variables of loops
	loops int
	nodes int

	deepest  int // most loops inside one another
	patterns patterns
	shared   patterns // of the environment
	heap     int      // bytes of the patterns that are not
}

func (w *resolver) run() error {
	w.fac = ast.NewExprFactory()
	w.next = ast.MaxID(w.ast) + 1
	err := w.expr(w.ast.Expr(), 0)
	if err == nil && w.nodes > maxNodes {
		return w.errorf(w.ast.Expr(), "the expression is too long: at most %d parts", maxNodes)
	}
	return err
}

func (w *resolver) errorf(e ast.Expr, format string, args ...any) error {
	at := w.ast.SourceInfo().GetStartLocation(e.ID())
	return &Error{max(at.Line(), 1), max(at.Column(), 0) + 1, fmt.Sprintf(format, args...)}
}

func (w *resolver) expr(e ast.Expr, depth int) error {
	w.nodes++
	if depth > maxDepth {
		return w.errorf(e, "the expression nests deeper than %d", maxDepth)
	}
	switch e.Kind() {
	case ast.IdentKind:
		return w.ident(e)
	case ast.SelectKind:
		return w.expr(e.AsSelect().Operand(), depth+1)
	case ast.CallKind:
		return w.call(e, depth)
	case ast.ListKind:
		return w.each(e.AsList().Elements(), depth)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if err := w.each([]ast.Expr{entry.AsMapEntry().Key(), entry.AsMapEntry().Value()}, depth); err != nil {
				return err
			}
		}
		return nil
	case ast.ComprehensionKind:
		return w.loop(e, depth)
	case ast.StructKind:
		return w.errorf(e, "records cannot be made in expressions")
	}
	return nil
}

func (w *resolver) each(all []ast.Expr, depth int) error {
	for _, e := range all {
		if err := w.expr(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *resolver) call(e ast.Expr, depth int) error {
	c := e.AsCall()
	if c.FunctionName() == overloads.Matches {
		if err := w.pattern(c); err != nil {
			return err
		}
	}
	if c.IsMemberFunction() && !w.namespace(c) {
		if err := w.expr(c.Target(), depth+1); err != nil {
			return err
		}
	}
	return w.each(c.Args(), depth)
}

// pattern bounds the regular expression of matches. It must stand in the
// expression: one that comes from an answer could not be checked here, and the
// limit of CEL itself does not survive a counted repeat.
func (w *resolver) pattern(c ast.CallExpr) error {
	args := c.Args()
	if len(args) == 0 {
		return nil // the type checker says so
	}
	p := args[len(args)-1]
	if p.Kind() != ast.LiteralKind {
		return w.errorf(p, "the pattern of matches must be a literal text in the expression")
	}
	text, ok := p.AsLiteral().Value().(string)
	if !ok {
		return nil // the type checker says so
	}
	if err := w.addPattern(text); err != nil {
		return w.errorf(p, "%s", err)
	}
	return nil
}

// namespace reports whether the target of a call is the "math" of math.least: a
// part of the function's name and no value.
func (w *resolver) namespace(c ast.CallExpr) bool {
	t := c.Target()
	return t.Kind() == ast.IdentKind && t.AsIdent() == "math"
}

func (w *resolver) ident(e ast.Expr) error {
	name := e.AsIdent()
	if slices.Contains(w.bound, name) {
		return nil
	}
	ref, err := w.names(name)
	switch {
	case err != nil && slices.Contains(basicTypes, name):
		return nil
	case err != nil:
		return w.errorf(e, "%s", err)
	case len(ref.Path) == 0:
		e.SetKindCase(w.fac.NewIdent(e.ID(), ref.Var))
		return nil
	}
	operand := w.fac.NewIdent(w.id(), ref.Var)
	last := len(ref.Path) - 1
	for _, member := range ref.Path[:last] {
		operand = w.fac.NewSelect(w.id(), operand, member)
	}
	e.SetKindCase(w.fac.NewSelect(e.ID(), operand, ref.Path[last]))
	return nil
}

func (w *resolver) id() int64 {
	w.next++
	return w.next
}

func (w *resolver) loop(e ast.Expr, depth int) error {
	c := e.AsComprehension()
	if err := w.each([]ast.Expr{c.IterRange(), c.AccuInit()}, depth); err != nil {
		return err
	}
	w.loops++
	w.deepest = max(w.deepest, w.loops)
	if w.loops > maxLoops {
		return w.errorf(e, "at most %d loops may stand inside one another", maxLoops)
	}
	outer := len(w.bound)
	w.bound = append(w.bound, c.IterVar(), c.AccuVar())
	if c.HasIterVar2() {
		w.bound = append(w.bound, c.IterVar2())
	}
	err := w.each([]ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()}, depth)
	w.bound = w.bound[:outer]
	w.loops--
	return err
}
