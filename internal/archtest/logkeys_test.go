package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

// logCalls are the methods of slog.Logger that take keys and values, with the
// number of arguments before them.
var logCalls = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "With": 0,
}

// checkLogKeys finds log keys whose values the redactor would hide: a line
// that says [redacted] helps nobody.
func checkLogKeys(all []*file) []finding {
	known := ops.KnownKeys()
	var found []finding
	for _, f := range code(all) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, key := range logKeys(call) {
				if text, err := strconv.Unquote(key.Value); err == nil && !slices.Contains(known, text) {
					found = append(found, f.finding(key, "log key %q is not in ops.KnownKeys: its value would be hidden", text))
				}
			}
			return true
		})
	}
	return found
}

// logKeys gives the literal keys of a call on something called log.
func logKeys(call *ast.CallExpr) []*ast.BasicLit {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	skip, ok := logCalls[sel.Sel.Name]
	if !ok || !strings.EqualFold(lastName(sel.X), "log") {
		return nil
	}
	var keys []*ast.BasicLit
	for i := skip; i < len(call.Args); i += 2 {
		if lit, ok := call.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			keys = append(keys, lit)
		}
	}
	return keys
}

func lastName(x ast.Expr) string {
	switch v := x.(type) {
	case *ast.Ident:
		return v.Name
	case *ast.SelectorExpr:
		return v.Sel.Name
	}
	return ""
}

func TestLogKeysAreKnown(t *testing.T) {
	t.Parallel()
	report(t, checkLogKeys(allFiles(t)))
}

func TestLogKeysRule(t *testing.T) {
	t.Parallel()
	const head = "package auth\n\nfunc f() {\n"
	wantFinding(t, checkLogKeys([]*file{sample(t, "internal/auth/x.go", head+`s.log.Info("x", "err", e)}`)}), "")
	wantFinding(t, checkLogKeys([]*file{sample(t, "internal/auth/x.go", head+`s.cfg.Log.WarnContext(ctx, "x", "pin", p)}`)}), "pin")
}
