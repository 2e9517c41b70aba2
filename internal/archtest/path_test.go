package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pathPages are the pages that lead readers to packages.
var pathPages = []string{"docs/ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"}

// foreignPaths look like paths of the repository and are none.
var foreignPaths = map[string]string{
	"testing/synctest": "the standard library",
	"backups/":         "a folder beside the data",
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	pathForm = regexp.MustCompile(`^[a-z][\w.*{},-]*/[\w./*{},-]*$`)
	choice   = regexp.MustCompile(`^(.*)\{([^,}]+),([^,}]+)\}(.*)$`)
)

// checkPaths finds what a page has in backticks as a path or a package and is
// not there. Every word in the column Package or Packages of a table is a
// package, written from the root, from internal, or beside the first of its
// cell; elsewhere a path may also begin inside an area.
func checkPaths(page, text string, exists func(pattern string) bool) []finding {
	var found []finding
	column, fenced := -1, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		cells := strings.Split(line, "|")
		switch {
		case fenced:
			continue
		case len(cells) == 1:
			column = -1 // the next bar begins a table
		case column < 0:
			column = packageColumn(cells)
		}
		for i, cell := range cells {
			for _, name := range missingIn(cell, i > 0 && i == column, exists) {
				found = append(found, finding{page, "`" + name + "` does not exist: name what is there now"})
			}
		}
	}
	return found
}

// missingIn gives the paths in backticks of a cell that are not there. In a cell
// of packages every word is one.
func missingIn(cell string, packages bool, exists func(pattern string) bool) []string {
	var out []string
	beside := ""
	for i, m := range quoted.FindAllStringSubmatch(cell, -1) {
		name := m[1]
		if i == 0 {
			beside = path.Dir(name)
		}
		wide := "internal/*/" + name
		if packages {
			wide = path.Join("internal", beside, name)
		}
		isPath := packages || pathForm.MatchString(name) && foreignPaths[name] == ""
		if isPath && !anyExists(exists, name, "internal/"+name, wide) {
			out = append(out, name)
		}
	}
	return out
}

// packageColumn is the cell of a table's head that says Package, 0 for none:
// the first cell is what stands before the first bar.
func packageColumn(head []string) int {
	for i, cell := range head {
		switch strings.TrimSpace(cell) {
		case "Package", "Packages":
			return i
		}
	}
	return 0
}

// anyExists reports whether one of the patterns is there, with every choice
// of its braces.
func anyExists(exists func(pattern string) bool, patterns ...string) bool {
	for _, p := range patterns {
		if m := choice.FindStringSubmatch(p); m != nil {
			if anyExists(exists, m[1]+m[2]+m[4]) && anyExists(exists, m[1]+m[3]+m[4]) {
				return true
			}
		} else if exists(p) {
			return true
		}
	}
	return false
}

func TestPaths(t *testing.T) {
	t.Parallel()
	there := func(pattern string) bool {
		hits, err := filepath.Glob(filepath.Join(root(), filepath.FromSlash(pattern)))
		return err == nil && len(hits) > 0
	}
	for _, page := range pathPages {
		text, err := os.ReadFile(filepath.Join(root(), page))
		if err != nil {
			t.Fatal(err)
		}
		report(t, checkPaths(page, string(text), there))
	}
}

func TestPathsFindsBad(t *testing.T) {
	t.Parallel()
	there := func(pattern string) bool {
		for _, p := range []string{
			"cmd/hearth", "internal/db", "internal/db/x/a", "internal/db/x/b", "internal/entity",
			"internal/entity/bulk", "internal/entity/bulk/chunk", "internal/entity/twin",
		} {
			if ok, err := path.Match(pattern, p); err == nil && ok {
				return true
			}
		}
		return false
	}
	const table = "| Rung | Packages |\n|---|---|\n"
	for _, tt := range []struct{ name, in, want string }{
		{"from the root", "see `cmd/hearth` and `internal/db`", ""},
		{"from internal", "see `entity/bulk`", ""},
		{"from an area", "see `bulk/chunk`", ""},
		{"gone", "see `entity/gone`", "`entity/gone` does not exist"},
		{"gone with its area", "see `nothing/here`", "does not exist"},
		{"pattern", "see `internal/ent*`", ""},
		{"pattern of nothing", "see `internal/q*`", "does not exist"},
		{"choice", "see `internal/db/x/{a,b}`", ""},
		{"choice of nothing", "see `internal/db/x/{a,c}`", "does not exist"},
		{"route", "see `/v1/entities` and `POST /v1/x`", ""},
		{"elsewhere", "use `testing/synctest`", ""},
		{"word", "a `fault`", ""},
		{"code", "```\n`entity/gone`\n```\n", ""},
		{"table", table + "| 4 | `entity` `db` |\n", ""},
		{"beside", table + "| 4 | `entity/bulk` `twin` |\n", ""},
		{"nothing beside", table + "| 4 | `entity/bulk` `gone` |\n", "`gone` does not exist"},
		{"other column", table + "| `gone` | `entity` |\n", ""},
		{"other table", table + "\n| Word | Meaning |\n|---|---|\n| `gone` | `gone` |\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkPaths("README.md", tt.in, there), tt.want)
		})
	}
}
