package expr

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
	var found []Use
	shallow := map[int64]bool{}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.SelectKind:
			operand := x.AsSelect().Operand()
			shallow[operand.ID()] = true
			u, ok := e.use(a, x, operand)
			u.Deep = u.Deep && !shallow[x.ID()]
			if ok && !slices.Contains(found, u) {
				found = append(found, u)
			}
		case ast.IdentKind:
			if u, ok := e.whole(a, x); ok && !shallow[x.ID()] && !slices.Contains(found, u) {
				found = append(found, u)
			}
		case ast.ComprehensionKind:
			shallow[x.AsComprehension().IterRange().ID()] = true
		case ast.CallKind:
			c := x.AsCall()
			if name := c.FunctionName(); (name == "count" || name == "size" || name == operators.Index) && len(c.Args()) > 0 {
				shallow[c.Args()[0].ID()] = true
			}
		}
	}))
	return found
}

// whole is the record that an identifier stands for.
func (e *Env) whole(a *ast.AST, x ast.Expr) (Use, bool) {
	t := a.GetType(x.ID())
	s, ok := e.shapes.shapes[t.TypeName()]
	return Use{Shape: s, Field: -1, Deep: true}, ok && t.Kind() == types.StructKind
}

// use is the member that the selection x of operand reads. It is deep when the
// member holds records; whoever asks knows whether they are looked at.
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

// alike tells that values of two types may be equal.
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
