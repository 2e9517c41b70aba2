package cel

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
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
