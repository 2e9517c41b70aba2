package survey

import (
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/expr"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// compileEligibility compiles the expression that tells which responses count.
// Package expr bounds its length, nesting and cost.
func compileEligibility(f *form.Form, source string) (*expr.Program, error) {
	return f.Condition(source)
}

// noteExpression notes what is wrong with an expression.
func noteExpression(c *fault.Checks, pointer string, err error) {
	c.Add(pointer, "invalid_expression", "The expression is not valid: "+err.Error()+".")
}
