package cel

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// cheapCalls cost no more than a few nodes whatever the answers are.
var cheapCalls = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.In, operators.NotStrictlyFalse, "selected", "answered", "count", "coalesce", "double", "int", "size",
	"getFullYear", "getMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "duration",
	"number", "holds", "item", "day", "moment",
}

// walkingCalls are our functions that walk over the texts and lists they are
// given.
var walkingCalls = []string{
	"text", "joined", "part", "before", "after", "exchanged", "squeezed", "formatDate", "dayFraction", "digest", "base64Decoded", "uuid", "random", "area", "distance", "inside",
	"selected", "sum", "total", "lowest", "highest", "found",
}

// charsPerUnit is how many bytes of text such a call walks over for a unit, as
// many as CEL counts for its own. An element of a list is a unit.
const charsPerUnit = 10

// walkCost is what a call costs that read args and wrote result.
func walkCost(args []ref.Val, result ref.Val) *uint64 {
	chars := walked(result, 0)
	for _, v := range args {
		chars = walked(v, chars)
	}
	cost := uint64(1 + chars/charsPerUnit)
	return &cost
}

// walked adds what a walk over a value takes to chars, as far as it matters: what
// is beyond MaxCost is not counted.
func walked(v ref.Val, chars int) int {
	switch x := v.(type) {
	case types.String:
		return chars + len(x)
	case *Table:
		return chars + len(x.rows)*charsPerUnit
	case traits.Lister:
		for it := x.Iterator(); it.HasNext() == types.True && chars <= MaxCost*charsPerUnit; {
			chars = walked(it.Next(), chars+charsPerUnit)
		}
	}
	return chars
}

// shortLoop is how many nodes an expression with a loop may have to run without
// its cost being counted. Lists have at most 1,000 elements, so that it costs
// about MaxCost at worst; loopCost is what it is taken to cost.
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
	if c.FunctionName() != operators.Add {
		return slices.Contains(cheapCalls, c.FunctionName())
	}
	switch a.GetType(x.ID()).Kind() {
	case types.DoubleKind, types.IntKind, types.TimestampKind, types.DurationKind:
		return true
	case types.ListKind: // the step of a loop appends to what it has so far
		return c.Args()[0].Kind() == ast.IdentKind && c.Args()[0].AsIdent() == accumulator
	}
	return false
}

// accumulator is the variable in which the CEL library gathers the result of a
// loop. Authors cannot write it.
var accumulator = ast.NewExprFactory().AccuIdentName()
