package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// The limits. A function may reach longFunc lines when a comment above it
// begins a sentence with "Long because".
const (
	maxFile      = 500
	maxFunc      = 60
	longFunc     = 100 // also the limit of a test function
	maxNesting   = 4
	maxParams    = 5
	maxInterface = 5    // methods of an exported one
	maxPackage   = 4000 // lines of code: no tests, comments or blank lines
	dataTable    = 30   // a literal of more lines is data, not code
)

// roomy are packages with a larger limit, and why.
var roomy = map[string]int{
	"client": 6000, // one method for each route of all areas
}

func packageLimit(dir string) int { return max(maxPackage, roomy[dir]) }

func checkSizes(all []*file) []finding {
	var found []finding
	packages := map[string]int{}
	for _, f := range all {
		if f.generated() {
			continue
		}
		lines := strings.Count(f.src, "\n") - f.dataLines()
		if lines > maxFile {
			found = append(found, f.finding(f.ast, "%d lines, at most %d", lines, maxFile))
		}
		if !f.test() {
			size := f.codeLines()
			packages[f.dir] += size
			if limit := packageLimit(f.dir); packages[f.dir] > limit && packages[f.dir]-size <= limit {
				found = append(found, f.finding(f.ast, "package %s has more than %d lines", f.dir, limit))
			}
		}
		found = append(found, f.checkDecls()...)
	}
	return found
}

// codeLines counts the lines that hold something but a comment.
func (f *file) codeLines() int {
	n := 0
	for line := range strings.Lines(f.src) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// dataLines counts the lines of large package-level literals.
func (f *file) dataLines() int {
	sum := 0
	for _, decl := range f.ast.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			sum += f.literalLines(d)
		}
	}
	return sum
}

// literalLines counts the lines inside large literals below n.
func (f *file) literalLines(n ast.Node) int {
	sum := 0
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.CompositeLit, *ast.BasicLit:
			if lines := f.lines(n); lines > dataTable {
				sum += lines - 1
				return false
			}
		}
		return true
	})
	return sum
}

func (f *file) lines(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

func (f *file) checkDecls() []finding {
	var found []finding
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				found = append(found, f.checkFunc(d)...)
			}
		case *ast.TypeSpec:
			if i, ok := d.Type.(*ast.InterfaceType); ok && d.Name.IsExported() && len(i.Methods.List) > maxInterface {
				found = append(found, f.finding(d, "interface %s has %d methods, at most %d", d.Name.Name, len(i.Methods.List), maxInterface))
			}
		}
		return true
	})
	return found
}

func (f *file) checkFunc(d *ast.FuncDecl) []finding {
	var found []finding
	limit := maxFunc
	if f.test() || d.Doc != nil && strings.Contains(d.Doc.Text(), "Long because") {
		limit = longFunc
	}
	if lines := f.lines(d) - f.literalLines(d.Body); lines > limit {
		found = append(found, f.finding(d, "%s has %d lines, at most %d", d.Name.Name, lines, limit))
	}
	if deep := nesting(d.Body); deep > maxNesting {
		found = append(found, f.finding(d, "%s nests %d deep, at most %d", d.Name.Name, deep, maxNesting))
	}
	if n := d.Type.Params.NumFields(); n > maxParams {
		found = append(found, f.finding(d, "%s has %d parameters, at most %d; take a Config", d.Name.Name, n, maxParams))
	}
	return found
}

// nesting is the depth of the deepest if, for, switch or select below n. An
// else-if stands at the level of its if.
func nesting(n ast.Node) int {
	deepest := 0
	var visit func(n ast.Node, depth int)
	visit = func(n ast.Node, depth int) {
		deepest = max(deepest, depth)
		ast.Inspect(n, func(m ast.Node) bool {
			if m == nil || m == n {
				return true
			}
			switch s := m.(type) {
			case *ast.IfStmt:
				if outer, ok := n.(*ast.IfStmt); ok && outer.Else == s {
					visit(s, depth)
				} else {
					visit(s, depth+1)
				}
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				visit(m, depth+1)
				return false
			}
			return true
		})
	}
	visit(n, 0)
	return deepest
}

func TestSizes(t *testing.T) {
	t.Parallel()
	report(t, checkSizes(allFiles(t)))
}

func TestSizesFindsBad(t *testing.T) {
	t.Parallel()
	lines := func(n int) string { return strings.Repeat("\t_ = 1\n", n) }
	for _, tt := range []struct{ name, src, want string }{
		{"short", "func f() {\n" + lines(58) + "}", ""},
		{"long", "func f() {\n" + lines(59) + "}", "61 lines"},
		{"long with a reason", "// f steps. Long because the steps are one list.\nfunc f() {\n" + lines(90) + "}", ""},
		{"too long even so", "// f steps. Long because the steps are one list.\nfunc f() {\n" + lines(99) + "}", "at most 100"},
		{"long file", strings.Repeat("// x\n", 500), "503 lines"},
		{"data", "var x = []int{\n" + strings.Repeat("\t1,\n", 600) + "}", ""},
		{"data in a function", "func f() []int {\n\treturn []int{\n" + strings.Repeat("\t1,\n", 90) + "}\n}", ""},
		{"nested", "func f() { if a { for { switch { case b: if c { if d {} } } } } }", "nests 5"},
		{"else if", "func f() { if a {} else if b {} else if c {} else if d {} else if e {} else if g {} }", ""},
		{"parameters", "func f(a, b, c int, d, e, g string) {}", "6 parameters"},
		{"interface", "type I interface { A(); B(); C(); D(); E(); F() }", "6 methods"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkSizes([]*file{sample(t, "internal/web/a.go", "package web\n\n"+tt.src+"\n")}), tt.want)
		})
	}
	generated := "// Code generated by x. DO NOT EDIT.\n\npackage web\n" + strings.Repeat("// x\n", 600)
	wantFinding(t, checkSizes([]*file{sample(t, "internal/web/a.go", generated)}), "")
}
