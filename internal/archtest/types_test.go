package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// typed is one package of ours with its types worked out, tests left out.
type typed struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

func (p *typed) finding(n ast.Node, format string, args ...any) finding {
	pos := p.fset.Position(n.Pos())
	return finding{fmt.Sprintf("%s/%s:%d", p.dir, filepath.Base(pos.Filename), pos.Line), fmt.Sprintf(format, args...)}
}

// listed is what go list tells about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listing runs go list once; it also builds the export data of every package,
// which go vet or go build have left in the cache.
var listing = sync.OnceValues(func() (map[string]listed, error) {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = root()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	all := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		all[p.ImportPath] = p
	}
})

// typeCheck works out the types of one package; what it imports comes from the
// export data of the build cache.
func typeCheck(all map[string]listed, dir string, fset *token.FileSet, parsed []*ast.File) (*typed, error) {
	lookup := func(path string) (io.ReadCloser, error) {
		if all[path].Export == "" {
			return nil, fmt.Errorf("%s does not compile", path)
		}
		return os.Open(all[path].Export)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	if _, err := conf.Check(module+"/"+dir, fset, parsed, info); err != nil {
		return nil, fmt.Errorf("type-check %s: %w", dir, err)
	}
	return &typed{dir: dir, fset: fset, files: parsed, info: info}, nil
}

// typedPackages holds every package that compiles; the findings are about the
// others.
var typedPackages = sync.OnceValues(func() (out []*typed, broken []finding) {
	all, err := listing()
	if err != nil {
		return nil, []finding{{"go.mod", err.Error()}}
	}
	for path, p := range all {
		dir, ok := strings.CutPrefix(path, module+"/")
		if !ok {
			continue
		}
		checked, err := parseAndCheck(all, dir, p)
		if err != nil {
			broken = append(broken, finding{dir, err.Error()})
			continue
		}
		out = append(out, checked)
	}
	return out, broken
})

func parseAndCheck(all map[string]listed, dir string, p listed) (*typed, error) {
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	return typeCheck(all, dir, fset, parsed)
}

func TestAllPackagesCompile(t *testing.T) {
	t.Parallel()
	all, broken := typedPackages()
	report(t, broken)
	if len(all) < 10 {
		t.Errorf("%d packages compile, want the whole repository", len(all))
	}
}

// typedSample type-checks src as a package at dir.
func typedSample(t *testing.T, dir, src string) *typed {
	t.Helper()
	all, err := listing()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "a.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p, err := typeCheck(all, dir, fset, []*ast.File{f})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// callee is the function or method a call names, nil for a function value.
func (p *typed) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) { // generic calls carry their type arguments
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := p.info.Uses[id].(*types.Func)
	return fn
}
