package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule is a bar of the structure, and the sentence about what is beyond it.
type rule struct {
	bar  int
	text string
}

// minAlone is how many lines a package with a single importer has at least.
const minAlone = 150

// The bars. A chain is counted in imports; small packages and missing files
// are named, and count 1 each.
var (
	longChain   = rule{12, "{name}: {n} imports in a row, at most {bar}: fold or move a package of the chain"}
	areaChain   = rule{5, "{name}: {n} imports in a row inside the family, at most {bar}: fold or move a package of the chain"}
	ownImports  = rule{8, "{name} imports {n} packages of its own family, at most {bar}: fold those whose rules are its own"}
	smallAlone  = rule{0, fmt.Sprintf("{name} has under %d lines and a single importer: fold it into that one", minAlone)}
	manyMethods = rule{40, "{name} has {n} methods, at most {bar}: give some of them a type of their own"}
	missingFile = rule{0, "{name} is missing: the root of an area has <noun>.go, service.go, http.go, and store.go where it stores"}
)

func (r rule) about(name string, n int) string {
	return strings.NewReplacer("{name}", name, "{n}", strconv.Itoa(n), "{bar}", strconv.Itoa(r.bar)).Replace(r.text)
}

// pack is one package as the rules about structure see it: its code without
// tests.
type pack struct {
	dir     string
	lines   int             // as wc -l counts them
	imports []string        // packages of ours
	methods map[string]int  // by type
	files   map[string]bool // by name
	command bool
	embeds  bool // holds files that are not Go
	tested  bool // has tests, which build a program of their own
}

// packages puts the files of each package together.
func packages(all []*file) map[string]*pack {
	out := map[string]*pack{}
	for _, f := range all {
		p := out[f.dir]
		if p == nil {
			p = &pack{dir: f.dir, methods: map[string]int{}, files: map[string]bool{}}
			out[f.dir] = p
		}
		if f.test() {
			p.tested = true
			continue
		}
		p.add(f)
	}
	return out
}

// add counts a file that is not a test.
func (p *pack) add(f *file) {
	p.lines += strings.Count(f.src, "\n")
	p.files[f.name] = true
	p.command = p.command || f.ast.Name.Name == "main"
	p.embeds = p.embeds || strings.Contains(f.src, "\n//go:embed ")
	for _, spec := range f.ast.Imports {
		to, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
		if ours && !slices.Contains(p.imports, to) {
			p.imports = append(p.imports, to)
		}
	}
	slices.Sort(p.imports)
	for _, decl := range f.ast.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil {
			p.methods[receiver(d)]++
		}
	}
}

// receiver names the type a method belongs to.
func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// house is the import graph of the packages that are not for tests alone, nor
// modules of their own.
type house map[string]*pack

func newHouse(all []*file) house {
	h := house(packages(all))
	maps.DeleteFunc(h, func(dir string, p *pack) bool {
		return testOnly(dir) || len(p.files) == 0 || strings.HasPrefix(dir, "examples/")
	})
	return h
}

// dirs are the packages in order, so that ties are broken the same way.
func (h house) dirs() []string { return slices.Sorted(maps.Keys(h)) }

// own are the packages of its family that dir imports.
func (h house) own(dir string) []string {
	fam, _, _ := family(dir)
	return slices.DeleteFunc(slices.Clone(h[dir].imports), func(to string) bool {
		other, _, _ := family(to)
		return other != fam
	})
}

// importers are the packages that import dir.
func (h house) importers(dir string) []string {
	var out []string
	for _, from := range h.dirs() {
		if slices.Contains(h[from].imports, dir) {
			out = append(out, from)
		}
	}
	return out
}

// longest gives the longest chain of packages that import one another, first
// to last, along the arrows that next gives.
func (h house) longest(next func(dir string) []string) []string {
	known := map[string][]string{}
	var from func(dir string) []string
	from = func(dir string) []string {
		if chain, ok := known[dir]; ok {
			return chain
		}
		var rest []string
		for _, to := range next(dir) {
			if h[to] == nil {
				continue
			}
			if chain := from(to); len(chain) > len(rest) {
				rest = chain
			}
		}
		known[dir] = append([]string{dir}, rest...)
		return known[dir]
	}
	var best []string
	for _, dir := range h.dirs() {
		if chain := from(dir); len(chain) > len(best) {
			best = chain
		}
	}
	return best
}

// chain is the longest way through all packages, areaChain inside one family.
func (h house) chain() []string {
	return h.longest(func(dir string) []string { return h[dir].imports })
}

func (h house) areaChain(fam string) []string {
	return h.longest(func(dir string) []string {
		if of, _, _ := family(dir); of != fam {
			return nil
		}
		return h.own(dir)
	})
}

// beyond finds the places beyond a bar.
func (h house) beyond() []finding {
	var found []finding
	note := func(r rule, name string, figure int) {
		if figure > r.bar {
			found = append(found, finding{"structure", r.about(name, figure)})
		}
	}
	note(longChain, "all packages", len(h.chain())-1)
	for _, dir := range h.dirs() {
		note(ownImports, dir, len(h.own(dir)))
		if h.offcut(h[dir]) {
			note(smallAlone, dir, 1)
		}
		for _, typ := range slices.Sorted(maps.Keys(h[dir].methods)) {
			note(manyMethods, dir+"."+typ, h[dir].methods[typ])
		}
	}
	for _, fam := range slices.Sorted(maps.Keys(ladder)) {
		note(areaChain, fam, len(h.areaChain(fam))-1)
		if ladder[fam] != area || h[fam] == nil {
			continue
		}
		for _, name := range h[fam].areaFiles() {
			if !h[fam].files[name] {
				note(missingFile, fam+"/"+name, 1)
			}
		}
	}
	return found
}

// offcut reports whether a package is too small for its single importer to
// have it apart.
func (h house) offcut(p *pack) bool {
	return p.lines < minAlone && !p.command && !p.embeds && len(h.importers(p.dir)) == 1
}

// areaFiles are what the root of an area consists of. One that leaves the store
// to packages below it has no store.go.
func (p *pack) areaFiles() []string {
	names := []string{path.Base(p.dir) + ".go", "service.go", "http.go"}
	if slices.Contains(p.imports, "internal/db") {
		names = append(names, "store.go")
	}
	return names
}

func TestStructure(t *testing.T) {
	t.Parallel()
	report(t, newHouse(allFiles(t)).beyond())
}

func TestStructureFindsBad(t *testing.T) {
	t.Parallel()
	const short = "package x\n"
	long := short + padding
	methods := func(n int) string {
		return long + "type T struct{}\n" + strings.Repeat("\nfunc (t *T) m() {}\n", n)
	}
	for _, tt := range []struct {
		name string
		in   []*file
		want string
	}{
		{"chain", row(t, 6, "internal/web/p"), "6 imports in a row"},
		{"short chain", row(t, 5, "internal/web/p"), ""},
		{"long chain", row(t, 13, "internal/web/p", "internal/auth/p", "internal/entity/p"), "13 imports in a row"},
		{"long enough a chain", row(t, 12, "internal/web/p", "internal/auth/p", "internal/entity/p"), ""},
		{"own imports", star(t, 9), "imports 9 packages of its own family"},
		{"few own imports", star(t, 8), ""},
		{"offcut", pair(t, "internal/web/x", short), "under 150 lines"},
		{"large enough", pair(t, "internal/web/x", long), ""},
		{"command", pair(t, "internal/web/x", "package main\n"), ""},
		{"embeds", pair(t, "internal/web/x", short+"\n//go:embed x.json\nvar x []byte\n"), ""},
		{"test helper", pair(t, "internal/web/xtest", short), ""},
		{"shared", append(pair(t, "internal/web/x", short), importing(t, "internal/auth", "internal/web/x")), ""},
		{"methods", []*file{sample(t, "internal/web/a.go", methods(41))}, "internal/web.T has 41 methods"},
		{"few methods", []*file{sample(t, "internal/web/a.go", methods(40))}, ""},
		{"area file", areaOf(t, "entity", "service"), "internal/entity/http.go is missing"},
		{"area that stores", append(areaOf(t, "entity", "service", "http"), importing(t, "internal/entity", "internal/db")), "internal/entity/store.go is missing"},
		{"area that does not", areaOf(t, "entity", "service", "http"), ""},
		{"area", areaOf(t, "entity", "service", "store", "http"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, newHouse(tt.in).beyond(), tt.want)
		})
	}
}

// padding makes a sample large enough to stand alone.
var padding = strings.Repeat("// x\n", minAlone)

// importing is a package of dir that imports others.
func importing(t *testing.T, dir string, imports ...string) *file {
	t.Helper()
	src := "package x\n"
	for _, to := range imports {
		src += "import _ \"" + module + "/" + to + "\"\n"
	}
	return sample(t, dir+"/a.go", src+padding)
}

// row is n imports in a row, spread over families from the lowest up.
func row(t *testing.T, n int, families ...string) []*file {
	t.Helper()
	name := func(i int) string { return fmt.Sprint(families[i*len(families)/(n+1)], i) }
	out := []*file{importing(t, name(0))}
	for i := range n {
		out = append(out, importing(t, name(i+1), name(i)))
	}
	return out
}

// star is a package that imports n of its family.
func star(t *testing.T, n int) []*file {
	t.Helper()
	var out []*file
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("internal/web/p", i))
		out = append(out, importing(t, all[i]))
	}
	return append(out, importing(t, "internal/web", all...))
}

// pair is a package of src at dir and its only importer.
func pair(t *testing.T, dir, src string) []*file {
	t.Helper()
	return []*file{sample(t, dir+"/a.go", src), importing(t, "internal/web", dir)}
}

// areaOf is the root of the entity area with some files.
func areaOf(t *testing.T, names ...string) []*file {
	t.Helper()
	var out []*file
	for _, name := range names {
		out = append(out, sample(t, "internal/entity/"+name+".go", "package entity\n"))
	}
	return out
}
