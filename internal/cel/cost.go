package cel

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// cheapCalls cost no more than a few nodes whatever the answers are.
var cheapCalls = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.NotStrictlyFalse, "selected", "answered", "count", "coalesce", "double", "int", "size",
	"getFullYear", "getMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "duration",
	"number", "holds", "item", "day", "moment",
}

// walkingCalls walk over the texts and lists they are given, and CEL does not
// count that.
var walkingCalls = []string{
	"text", "joined", "part", "before", "after", "exchanged", "squeezed", "formatDate", "dayFraction", "digest", "base64Decoded", "uuid", "random", "area", "distance", "inside",
	"selected", "sum", "total", "lowest", "highest", "found", "number", "moment", "day",
	"format", "math.@max", "math.@min", weighed,
}

// charsPerUnit is how many bytes of text such a call walks over for a unit, as
// many as CEL counts for its own. An element of a list is a unit.
const charsPerUnit = 10

// callCost is the cost of a call that CEL does not count, or not enough; nil when
// it does. A value costs as much as a walk over it when it is made: + pays for the
// resulting list, the step of a loop for what it appends, and weighed for a
// literal. So no value is larger than the cost limit of an evaluation and the
// answers it reads, though its parts may be shared, and walking over it costs
// again.
func callCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	switch function {
	case operators.Add:
		if _, loop := args[0].(traits.MutableLister); loop {
			return walkCost(args[1:], nil)
		}
		if _, list := result.(traits.Lister); list {
			return walkCost(nil, result)
		}
	case operators.Equals, operators.NotEquals:
		if composed(args[0]) && composed(args[1]) {
			return walkCost(args[:1], nil)
		}
	case operators.In:
		if _, list := args[1].(traits.Lister); list {
			return walkCost(args[1:], nil)
		}
	case overloads.Size:
		if _, text := args[0].(types.String); text {
			return walkCost(args, nil)
		}
	case "found":
		if _, indexed := args[0].(*Table); indexed { // it is not walked over
			return walkCost(args[1:], result)
		}
	}
	// CEL counts by overload, which it only knows when it knows the types.
	if overload == "" || slices.Contains(walkingCalls, function) {
		return walkCost(args, result)
	}
	return nil
}

// composed reports whether a value has parts.
func composed(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		return true
	}
	return false
}

// walkCost is what a call costs that read args and wrote result.
func walkCost(args []ref.Val, result ref.Val) *uint64 {
	chars := walked(result, 0)
	for _, v := range args {
		chars = walked(v, chars)
	}
	cost := uint64(1 + chars/charsPerUnit)
	return &cost
}

// walked adds the cost of a walk over a value to chars, up to MaxCost.
func walked(v ref.Val, chars int) int {
	switch x := v.(type) {
	case types.String:
		return chars + len(x)
	case *Table:
		return chars + len(x.rows)*charsPerUnit
	case traits.Lister:
		n, _ := x.Size().(types.Int)
		for i := types.Int(0); i < n && chars <= MaxCost*charsPerUnit; i++ {
			chars = walked(x.Get(i), chars+charsPerUnit)
		}
	case traits.Mapper:
		for it := x.Iterator(); it.HasNext() == types.True && chars <= MaxCost*charsPerUnit; {
			key := it.Next()
			chars = walked(key, chars+charsPerUnit)
			chars = walked(x.Get(key), chars)
		}
	}
	return chars
}

// weighed is the function that returns its argument and costs a walk over it.
// Authors cannot write it.
const weighed = "@weighed"

func weighedFunction() cel.EnvOption {
	a := cel.TypeParamType("A")
	return cel.Function(weighed, cel.Overload("weighed_any", []*cel.Type{a}, a, cel.UnaryBinding(func(v ref.Val) ref.Val { return v })))
}

// weigh charges for literals that may hold lists or maps. What the step of a loop
// appends is charged there.
func (w *resolver) weigh(a *ast.AST) {
	var found []ast.Expr
	appended := map[int64]bool{}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.CallKind:
			if c := x.AsCall(); accumulates(c) {
				appended[c.Args()[1].ID()] = true
			}
		case ast.ListKind, ast.MapKind:
			if t := a.GetType(x.ID()); !appended[x.ID()] && nests(t.Parameters()[len(t.Parameters())-1]) {
				found = append(found, x)
			}
		}
	}))
	for _, x := range found {
		var literal ast.Expr
		if id := w.id(); x.Kind() == ast.ListKind {
			literal = w.fac.NewList(id, x.AsList().Elements(), x.AsList().OptionalIndices())
		} else {
			literal = w.fac.NewMap(id, x.AsMap().Entries())
		}
		a.SetType(literal.ID(), a.GetType(x.ID()))
		a.SetReference(x.ID(), ast.NewFunctionReference("weighed_any"))
		x.SetKindCase(w.fac.NewCall(x.ID(), weighed, literal))
	}
}

// nests reports whether values of a type may be lists or maps.
func nests(t *cel.Type) bool {
	switch family(t) {
	case types.DynKind, types.ListKind, types.MapKind:
		return true
	}
	return false
}

// shortLoop limits the nodes of an expression with a loop that runs without
// counting its cost. Lists have at most 1,000 elements, so it costs about
// MaxCost at worst; loopCost is its assumed cost.
const (
	shortLoop = 60
	loopCost  = 20
)

// fixedCost is the cost of an expression whose cost is bounded by its text. To
// count while it runs would double its time.
func (w *resolver) fixedCost(a *ast.AST) (cost uint64, ok bool) {
	cheap := true
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() == ast.CallKind {
			cheap = cheap && cheapCall(a, x)
		}
	}))
	switch {
	case cheap && w.deepest == 0:
		return uint64(w.nodes), true
	case cheap && w.deepest == 1 && w.nodes <= shortLoop:
		return uint64(w.nodes * loopCost), true
	}
	return 0, false
}

func cheapCall(a *ast.AST, x ast.Expr) bool {
	c := x.AsCall()
	typeOf := func(i int) *cel.Type { return a.GetType(c.Args()[i].ID()) }
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals:
		return !nests(typeOf(0)) || !nests(typeOf(1))
	case operators.In:
		list := typeOf(1)
		return !nests(typeOf(0)) || list.Kind() == types.ListKind && !nests(list.Parameters()[0])
	case operators.Add:
		switch a.GetType(x.ID()).Kind() {
		case types.DoubleKind, types.IntKind, types.TimestampKind, types.DurationKind:
			return true
		}
		return accumulates(c)
	}
	return slices.Contains(cheapCalls, c.FunctionName())
}

// accumulates reports whether a call is the step of a loop that appends to its
// result so far.
func accumulates(c ast.CallExpr) bool {
	if c.FunctionName() != operators.Add {
		return false
	}
	into := c.Args()[0]
	return into.Kind() == ast.IdentKind && into.AsIdent() == accumulator
}

// accumulator is the variable in which the CEL library gathers the result of a
// loop. Authors cannot write it.
var accumulator = ast.NewExprFactory().AccuIdentName()
