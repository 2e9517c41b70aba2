package archtest

import (
	"go/ast"
	"go/constant"
	"go/types"
	"sort"
	"strings"
	"testing"
)

// statement is one SQL text of the program and where it is used.
type statement struct {
	sql   string
	name  string // of the constant, "" for a literal
	where finding
}

// checkSQL collects the SQL text of every Exec, Send, Query and QueryRow in packages
// above internal/db. A text that is not a constant is a finding: nobody can
// read it, explain it, or be sure that no input is part of it.
func checkSQL(all []*typed) ([]statement, []finding) {
	var stmts []statement
	var found []finding
	for _, p := range all {
		_, rung, _ := family(p.dir)
		if rung < shared || rung > wiring || testOnly(p.dir) {
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !runsSQL(p.callee(call)) || len(call.Args) < 2 {
					return true
				}
				text := call.Args[1]
				if v := p.info.Types[text].Value; v != nil {
					stmts = append(stmts, statement{constant.StringVal(v), constName(text), p.finding(text, "")})
				} else {
					found = append(found, p.finding(text, "the SQL text is not a constant"))
				}
				return true
			})
		}
	}
	sort.Slice(stmts, func(i, j int) bool { return stmts[i].where.where < stmts[j].where.where })
	return stmts, found
}

func constName(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// runsSQL reports whether fn is a method that takes a context, an SQL text and
// its arguments.
func runsSQL(fn *types.Func) bool {
	if fn == nil || fn.Signature().Recv() == nil {
		return false
	}
	switch fn.Name() {
	case "Exec", "Send", "Query", "QueryRow":
	default:
		return false
	}
	sig := fn.Signature()
	return sig.Variadic() && sig.Params().Len() == 3 &&
		sig.Params().At(0).Type().String() == "context.Context" &&
		strings.HasSuffix(sig.Params().At(1).Type().String(), "string")
}

func TestSQLIsConstant(t *testing.T) {
	t.Parallel()
	all, _ := typedPackages()
	stmts, found := checkSQL(all)
	report(t, found)
	if len(stmts) < 20 {
		t.Errorf("found %d statements, want the whole program's", len(stmts))
	}
}

func TestSQLIsConstantFindsBad(t *testing.T) {
	t.Parallel()
	const head = `package auth

import "context"

type q interface {
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
}

const columns = "a, b"

const selectAll = "SELECT " + columns + " FROM t"

func f(ctx context.Context, q q, name string) {
`
	for _, tt := range []struct{ name, body, want, sql string }{
		{"literal", `q.Exec(ctx, "SELECT 1")`, "", "SELECT 1"},
		{"constant", "q.Exec(ctx, selectAll)", "", "SELECT a, b FROM t"},
		{"joined", `q.Exec(ctx, "SELECT "+columns+" FROM u")`, "", "SELECT a, b FROM u"},
		{"built", `q.Exec(ctx, "SELECT "+name)`, "not a constant", ""},
		{"variable", `text := "SELECT 1"; q.Exec(ctx, text)`, "not a constant", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stmts, found := checkSQL([]*typed{typedSample(t, "internal/auth", head+tt.body+"\n}\n")})
			wantFinding(t, found, tt.want)
			if tt.sql != "" && (len(stmts) != 1 || stmts[0].sql != tt.sql) {
				t.Errorf("statements = %v, want %q", stmts, tt.sql)
			}
		})
	}
}
