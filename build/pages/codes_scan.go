package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

var (
	codeForm  = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	fieldForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	verbForm  = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)
)

// use is one place where a code is made.
type use struct {
	code    string
	kind    string // name of the fault kind, "" for a field code
	message string // what varies is shown as …
	dir     string
}

// call is a call that makes a fault, with the places of its arguments. kind is
// -1 where the kind is fixed.
type call struct {
	kind, code, message int
	fixed               string
}

// scanner goes through one package.
type scanner struct {
	consts map[string]string
	// wrappers are functions of the package that pass their own parameters on
	// to a fault: calls of them make codes too.
	wrappers map[string]call
	uses     []use
	errs     []error
}

// scan finds all codes. A code that is not a constant is an error: it could
// not be documented.
func scan(files []*source) ([]use, error) {
	consts := constants(files)
	byDir := map[string][]*source{}
	for _, s := range files {
		if s.usesFault() {
			byDir[s.dir] = append(byDir[s.dir], s)
		}
	}
	var uses []use
	var errs []error
	for dir, group := range byDir {
		sc := &scanner{consts: consts[dir], wrappers: map[string]call{}}
		for range 2 { // the first round learns the wrappers
			sc.uses, sc.errs = nil, nil
			for _, s := range group {
				sc.file(s)
			}
		}
		uses, errs = append(uses, sc.uses...), append(errs, sc.errs...)
	}
	return uses, errors.Join(errs...)
}

func (sc *scanner) file(s *source) {
	for _, decl := range s.tree.Decls {
		fn, _ := decl.(*ast.FuncDecl)
		ast.Inspect(decl, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				sc.call(s, fn, x)
			case *ast.CompositeLit:
				sc.field(s, x)
			}
			return true
		})
	}
}

// call notes x when it makes a fault.
func (sc *scanner) call(s *source, fn *ast.FuncDecl, x *ast.CallExpr) {
	shape, ok := sc.shape(x)
	if !ok {
		return
	}
	code, constant := sc.text(x.Args[shape.code])
	if param := parameter(fn, x.Args[shape.code]); !constant && param >= 0 {
		sc.learn(fn, x, shape, param)
		return
	}
	form := codeForm
	if shape.fixed == fieldKind {
		form = fieldForm
	}
	if !constant || !form.MatchString(code) {
		sc.errs = append(sc.errs, fmt.Errorf("%s: the code is not a constant of the usual form", s.where(x)))
		return
	}
	u := use{code: code, kind: shape.fixed, dir: s.dir}
	if shape.kind >= 0 {
		u.kind = kindName(x.Args[shape.kind])
	}
	if u.kind == "" {
		sc.errs = append(sc.errs, fmt.Errorf("%s: the kind of %s is not a constant", s.where(x), code))
		return
	}
	if shape.message >= 0 {
		u.message, _ = sc.text(x.Args[shape.message])
	}
	sc.uses = append(sc.uses, u)
}

// fieldKind marks codes of single fields, which have no status of their own.
const fieldKind = "field"

// shape reports whether x makes a fault, and where its arguments stand.
func (sc *scanner) shape(x *ast.CallExpr) (call, bool) {
	switch fun := x.Fun.(type) {
	case *ast.Ident:
		w, ok := sc.wrappers[fun.Name]
		return w, ok
	case *ast.SelectorExpr:
		id, _ := fun.X.(*ast.Ident)
		switch {
		case id != nil && id.Name == "fault" && fun.Sel.Name == "New" && len(x.Args) == 3:
			return call{kind: 0, code: 1, message: 2}, true
		case fun.Sel.Name == "Err" && len(x.Args) == 2:
			return call{kind: -1, code: 0, message: 1, fixed: "Invalid"}, true
		case fun.Sel.Name == "Add" && len(x.Args) == 3:
			return call{kind: -1, code: 1, message: 2, fixed: fieldKind}, sc.isText(x.Args[1])
		}
		w, ok := sc.wrappers["."+fun.Sel.Name]
		return w, ok && (id == nil || id.Name != "fault")
	}
	return call{}, false
}

// isText distinguishes a field check from other methods called Add.
func (sc *scanner) isText(e ast.Expr) bool {
	_, ok := sc.text(e)
	return ok
}

// learn notes that fn passes its parameter on as a code.
func (sc *scanner) learn(fn *ast.FuncDecl, x *ast.CallExpr, shape call, param int) {
	w := call{kind: -1, code: param, message: -1, fixed: shape.fixed}
	if shape.kind >= 0 {
		w.kind = parameter(fn, x.Args[shape.kind])
		w.fixed = kindName(x.Args[shape.kind])
	}
	if shape.message >= 0 {
		w.message = parameter(fn, x.Args[shape.message])
	}
	name := fn.Name.Name
	if fn.Recv != nil {
		name = "." + name
	}
	sc.wrappers[name] = w
}

// field notes the code of a fault.Field literal.
func (sc *scanner) field(s *source, lit *ast.CompositeLit) {
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Field" {
		return
	}
	u := use{kind: fieldKind, dir: s.dir}
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		text, constant := sc.text(kv.Value)
		switch key := kv.Key.(*ast.Ident).Name; {
		case key == "Code" && constant:
			u.code = text
		case key == "Detail":
			u.message = text
		}
	}
	if fieldForm.MatchString(u.code) {
		sc.uses = append(sc.uses, u)
	}
}

// text renders an expression; ok reports whether all of it is constant. What is
// not is shown as an ellipsis.
func (sc *scanner) text(e ast.Expr) (text string, ok bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		return literal(x)
	case *ast.ParenExpr:
		return sc.text(x.X)
	case *ast.Ident:
		text, ok = sc.consts[x.Name]
		if ok {
			return text, true
		}
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			left, okLeft := sc.text(x.X)
			right, okRight := sc.text(x.Y)
			return left + right, okLeft && okRight
		}
	case *ast.CallExpr:
		if sel, isSel := x.Fun.(*ast.SelectorExpr); isSel && sel.Sel.Name == "Sprintf" && len(x.Args) > 0 {
			format, _ := sc.text(x.Args[0])
			return strings.ReplaceAll(verbForm.ReplaceAllString(format, "…"), "%%", "%"), false
		}
	}
	return "…", false
}

// kindName is the name of a fault kind written as fault.Name.
func kindName(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == "fault" {
			return sel.Sel.Name
		}
	}
	return ""
}

// parameter is the index of e among fn's parameters, -1 when it is not one.
func parameter(fn *ast.FuncDecl, e ast.Expr) int {
	id, ok := e.(*ast.Ident)
	if !ok || fn == nil {
		return -1
	}
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == id.Name {
				return i
			}
			i++
		}
	}
	return -1
}
