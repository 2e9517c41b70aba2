package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// dbPackage is where InTx lives.
const dbPackage = module + "/internal/db"

// aroundTx are methods of *db.DB that reach the database by another way than
// the transaction at hand: they open a second one, or read old data.
var aroundTx = []string{"InTx", "View", "Exec", "Send", "Query", "QueryRow"}

// opens reports whether fn is itself one of them.
func opens(fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != dbPackage || !slices.Contains(aroundTx, fn.Name()) {
		return false
	}
	recv := fn.Signature().Recv()
	if recv == nil {
		return false
	}
	typ := recv.Type()
	if ptr, ok := typ.(*types.Pointer); ok {
		typ = ptr.Elem()
	}
	named, ok := typ.(*types.Named)
	return ok && named.Obj().Name() == "DB"
}

// openers are the functions of all packages that use *db.DB themselves or call
// one that does. Calls through interfaces and function values are not seen.
func openers(all []*typed) map[string]bool {
	calls := map[string][]string{} // caller → callees
	open := map[string]bool{}
	for _, p := range all {
		if module+"/"+p.dir == dbPackage {
			continue
		}
		for _, f := range p.files {
			for _, decl := range f.Decls {
				d, ok := decl.(*ast.FuncDecl)
				if !ok || d.Body == nil {
					continue
				}
				name := p.info.Defs[d.Name].(*types.Func).FullName()
				p.now(d.Body, func(call *ast.CallExpr) {
					if fn := p.callee(call); opens(fn) {
						open[name] = true
					} else if fn != nil {
						calls[name] = append(calls[name], fn.FullName())
					}
				})
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for caller, callees := range calls {
			if !open[caller] && slices.ContainsFunc(callees, func(c string) bool { return open[c] }) {
				open[caller], changed = true, true
			}
		}
	}
	return open
}

// now visits the calls below n that happen while n runs: not those of a go
// statement, nor of a function handed to AfterCommit.
func (p *typed) now(n ast.Node, visit func(*ast.CallExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			return false
		case *ast.CallExpr:
			visit(x)
			if sel, ok := x.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "AfterCommit" {
				return false
			}
		}
		return true
	})
}

// checkTx finds functions given to InTx that reach the database by another way
// than their tx.
func checkTx(all []*typed) []finding {
	open := openers(all)
	var found []finding
	for _, p := range all {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isInTx(p.callee(call)) {
					return true
				}
				for _, arg := range call.Args {
					if lit, ok := arg.(*ast.FuncLit); ok {
						found = append(found, p.insideTx(lit, open)...)
					} else if fn := p.callee(&ast.CallExpr{Fun: arg}); fn != nil && open[fn.FullName()] {
						found = append(found, p.finding(arg, "%s runs in a transaction and opens another", fn.Name()))
					}
				}
				return true
			})
		}
	}
	return found
}

func isInTx(fn *types.Func) bool { return opens(fn) && fn.Name() == "InTx" }

func (p *typed) insideTx(lit *ast.FuncLit, open map[string]bool) []finding {
	var found []finding
	p.now(lit.Body, func(call *ast.CallExpr) {
		fn := p.callee(call)
		switch {
		case isInTx(fn):
			found = append(found, p.finding(call, "InTx inside InTx"))
		case opens(fn):
			found = append(found, p.finding(call, "%s of the database inside InTx: use tx", fn.Name()))
		case fn != nil && open[fn.FullName()]:
			found = append(found, p.finding(call, "%s goes around the transaction it is called in", fn.Name()))
		}
	})
	return found
}

func TestTx(t *testing.T) {
	t.Parallel()
	all, _ := typedPackages()
	report(t, checkTx(all))
}

func TestTxFindsBad(t *testing.T) {
	t.Parallel()
	const head = `package auth

import (
	"context"

	"` + dbPackage + `"
)

type s struct{ db *db.DB }

func (s *s) count(ctx context.Context) error { return s.db.View(ctx, func(db.Querier) error { return nil }) }

func (s *s) deep(ctx context.Context) error { return s.count(ctx) }

func insert(ctx context.Context, q db.Querier) error { _, err := q.Exec(ctx, "x"); return err }

func (s *s) f(ctx context.Context) error {
	return s.db.InTx(ctx, func(tx *db.Tx) error {
`
	for _, tt := range []struct{ name, body, want string }{
		{"good", "return insert(ctx, tx)", ""},
		{"nested", "return s.db.InTx(ctx, func(*db.Tx) error { return nil })", "InTx inside InTx"},
		{"reads around", `s.db.QueryRow(ctx, "x"); return nil`, "use tx"},
		{"nested in a function", "return s.count(ctx)", "around"},
		{"nested two deep", "return s.deep(ctx)", "around"},
		{"after the commit", "tx.AfterCommit(func() { _ = s.deep(ctx) }); return nil", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := typedSample(t, "internal/auth", head+tt.body+"\n})\n}\n")
			wantFinding(t, checkTx([]*typed{p}), tt.want)
		})
	}
}

// reads are the methods that leave rows open until they are read.
var reads = []string{"Query", "QueryRow"}

// asked is the name a statement gives the rows of a query, "" for anything else.
func asked(s ast.Stmt) string {
	a, ok := s.(*ast.AssignStmt)
	if !ok || len(a.Rhs) != 1 {
		return ""
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	name, named := a.Lhs[0].(*ast.Ident)
	if !ok || !named || !slices.Contains(reads, method.Sel.Name) {
		return ""
	}
	return name.Name
}

// askedAgain finds rows that a second query takes the place of before they were read: on
// PostgreSQL their connection is lost, or busy. By name: the two statements are neighbours.
func askedAgain(f *ast.File) (found []ast.Stmt) {
	ast.Inspect(f, func(n ast.Node) bool {
		block, ok := n.(*ast.BlockStmt)
		if !ok {
			return true
		}
		for i, s := range block.List[min(1, len(block.List)):] {
			name, next := asked(block.List[i]), s
			if inner, ok := s.(*ast.IfStmt); ok && len(inner.Body.List) > 0 {
				next = inner.Body.List[0]
			}
			if name != "" && asked(next) == name {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

func TestRowsAreRead(t *testing.T) {
	t.Parallel()
	all, _ := typedPackages()
	var bad []finding
	for _, p := range all {
		for _, f := range p.files {
			for _, s := range askedAgain(f) {
				bad = append(bad, p.finding(s, "rows are asked for again before they were read; choose the statement first"))
			}
		}
	}
	report(t, bad)
	for text, want := range map[string]int{
		`rows, err := q.Query(a); if b { rows, err = q.Query(c) }; _, _ = rows, err`:      1,
		`at := q.QueryRow(a); if b { at = q.QueryRow(c) }; _ = at`:                        1,
		`if b { rows, err = q.Query(a) } else { rows, err = q.Query(c) }; rows.Close()`:   0,
		`rows, err := q.Query(a); use(rows, err); rows, err = q.Query(c); use(rows, err)`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nfunc f() {"+text+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := askedAgain(f); len(got) != want {
			t.Errorf("%s: %d findings, want %d", text, len(got), want)
		}
	}
}
