package cel

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Use is a member that a program reads.
type Use struct {
	Shape *Shape
	Field int  // -1 is the whole record
	Deep  bool // the record or list itself is used, and so all that is in it
}

// uses finds the members a checked expression reads. Reading a record only to
// get at a member, to loop over it or to count it does not read the rest.
func (e *Env) uses(a *ast.AST) []Use {
	f := &finder{env: e, ast: a, shallow: map[int64]bool{}}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(f.visit))
	return f.found
}

// finder visits an expression, outer parts first.
type finder struct {
	env     *Env
	ast     *ast.AST
	found   []Use
	shallow map[int64]bool // parts of which only the named members are read
}

func (f *finder) visit(x ast.Expr) {
	shallow := f.shallow[x.ID()]
	switch x.Kind() {
	case ast.SelectKind:
		operand := x.AsSelect().Operand()
		f.shallow[operand.ID()] = true
		u, ok := f.env.use(f.ast, x, operand)
		u.Deep = u.Deep && !shallow
		f.add(u, ok)
	case ast.IdentKind:
		u, ok := f.env.whole(f.ast, x)
		f.add(u, ok && !shallow)
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		f.shallow[c.IterRange().ID()] = true
		if shallow {
			f.gathered(c.LoopStep())
		}
	case ast.CallKind:
		f.call(x, shallow)
	}
}

func (f *finder) add(u Use, ok bool) {
	if ok && !slices.Contains(f.found, u) {
		f.found = append(f.found, u)
	}
}

func (f *finder) call(x ast.Expr, shallow bool) {
	c := x.AsCall()
	args := c.Args()
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	switch c.FunctionName() {
	case "count", "size":
		f.shallow[args[0].ID()] = true
	case operators.Index:
		f.shallow[args[0].ID()] = true
		u, ok := f.env.whole(f.ast, x)
		f.add(u, ok && !shallow)
	case operators.Conditional:
		f.shallow[args[1].ID()], f.shallow[args[2].ID()] = shallow, shallow
	}
}

// gathered records that the records a loop puts into its result are read no
// deeper than the result is: step is result + [record], or a choice between
// that and the unchanged result.
func (f *finder) gathered(step ast.Expr) {
	if step.Kind() != ast.CallKind {
		return
	}
	switch c := step.AsCall(); c.FunctionName() {
	case operators.Conditional:
		f.gathered(c.Args()[1])
	case operators.Add:
		if into, list := c.Args()[0], c.Args()[1]; into.Kind() == ast.IdentKind && into.AsIdent() == accumulator && list.Kind() == ast.ListKind {
			for _, x := range list.AsList().Elements() {
				// A list of lists is not followed any further.
				f.shallow[x.ID()] = f.ast.GetType(x.ID()).Kind() == types.StructKind
			}
		}
	}
}

// whole is the record for an identifier or an element of a list.
func (e *Env) whole(a *ast.AST, x ast.Expr) (Use, bool) {
	t := a.GetType(x.ID())
	s, ok := e.shapes.shapes[t.TypeName()]
	return Use{Shape: s, Field: -1, Deep: true}, ok && t.Kind() == types.StructKind
}

// use is the member that the selection x of operand reads. It is deep when the
// member holds records; the caller knows whether they are read.
func (e *Env) use(a *ast.AST, x, operand ast.Expr) (Use, bool) {
	t := a.GetType(operand.ID())
	if t.Kind() != types.StructKind {
		return Use{}, false
	}
	s, ok := e.shapes.shapes[t.TypeName()]
	if !ok {
		return Use{}, false
	}
	i, ok := s.index[x.AsSelect().FieldName()]
	if !ok {
		return Use{}, false
	}
	return Use{Shape: s, Field: i, Deep: s.fields[i].Type.shape != nil}, true
}

// comparable refuses == != and in between types that are never equal: it is
// always a mistake, and would be false without a word.
func (w *resolver) comparable(a *ast.AST) error {
	var found error
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind || found != nil {
			return
		}
		c := x.AsCall()
		switch c.FunctionName() {
		case operators.Equals, operators.NotEquals:
			l, r := a.GetType(c.Args()[0].ID()), a.GetType(c.Args()[1].ID())
			if !alike(l, r) {
				found = w.errorf(x, "%s cannot equal %s", describe(l), describe(r))
			}
		case operators.In:
			l, r := a.GetType(c.Args()[0].ID()), a.GetType(c.Args()[1].ID())
			switch {
			case r.Kind() == types.DynKind:
			case r.Kind() != types.ListKind && r.Kind() != types.MapKind:
				found = w.errorf(x, "the right side of in must be a list, not %s", describe(r))
			case !alike(l, r.Parameters()[0]):
				found = w.errorf(x, "%s cannot be in a list that holds %s", describe(l), describe(r.Parameters()[0]))
			}
		}
	}))
	return found
}

// alike reports whether values of two types may be equal.
func alike(a, b *cel.Type) bool {
	x, y := family(a), family(b)
	if x == y {
		return x != types.ListKind || alike(a.Parameters()[0], b.Parameters()[0])
	}
	return x == types.DynKind || y == types.DynKind || x == types.NullTypeKind || y == types.NullTypeKind
}

// family is the kind of a type, all numbers being one.
func family(t *cel.Type) types.Kind {
	switch k := t.Kind(); k {
	case types.IntKind, types.UintKind, types.DoubleKind:
		return types.DoubleKind
	case types.TypeParamKind, types.AnyKind:
		return types.DynKind
	default:
		return k
	}
}
