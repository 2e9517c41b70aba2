package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// The rungs. A package imports from lower rungs only.
const (
	ground   = iota // no package of ours
	base            // storage, HTTP, protocols
	footing         // what the shared packages stand on
	shared          // what all areas use
	floor           // mechanisms that several areas need, each once
	area            // the product; no area imports another
	console         // the admin UI, and what it asks of all areas
	settings        // the whole configuration
	wiring          // app, which alone sees everything
	terminal        // the command line
	command         // main packages
	outside         // public packages that import nothing from internal
	checks          // tests and developer tools; may import all, nobody imports them
)

// ladder names the rung of every package family: the folder and all below it.
// A package that is not here fails the test, so the table stays complete.
var ladder = map[string]int{
	"api":               ground,
	"docs":              ground,
	"internal/fault":    ground,
	"internal/did":      ground,
	"internal/secret":   ground,
	"internal/rql":      ground,
	"internal/sheet":    ground,
	"internal/cache":    ground,
	"internal/cel":      ground,
	"internal/privacy":  ground,
	"internal/quantile": ground,
	"internal/order":    ground,

	"internal/db":       base,
	"internal/web":      base,
	"internal/outbound": base,
	"internal/ops":      base,
	"internal/ucan":     base,
	"internal/socketio": base,
	"internal/vc":       base,

	"internal/check": footing,
	"internal/once":  footing,
	"internal/file":  footing,
	"internal/bus":   footing,

	"internal/auth":  shared,
	"internal/event": shared,
	"internal/job":   shared,

	"internal/exchange":      floor,
	"internal/emission":      floor,
	"internal/privacy/vault": floor,
	"internal/vc/vcapi":      floor,

	"internal/entity": area,
	"internal/survey": area,
	"internal/ussd":   area,
	"internal/oracle": area,

	"internal/audit":   console,
	"internal/console": console,
	"internal/demo":    console,
	"internal/config":  settings,
	"internal/app":     wiring,
	"internal/cli":     terminal,
	"program":          command, // what main packages of others call
	"cmd/hearth":       command,

	"client":  outside,
	"plugin":  outside,
	"plugins": outside,

	"examples": outside, // modules of their own

	"internal/archtest": checks,
	"build":             checks,
	"deploy":            checks,
	"test":              checks,
}

// badNames say nothing about what a package is for.
var badNames = []string{"util", "utils", "common", "helper", "helpers", "model", "models", "types", "manager", "base", "misc", "shared", "lib", "pkg"}

// family finds the ladder entry that dir belongs to.
func family(dir string) (string, int, bool) {
	for d := dir; d != "." && d != "/"; d = path.Dir(d) {
		if rung, ok := ladder[d]; ok {
			return d, rung, true
		}
	}
	return "", 0, false
}

// testOnly reports whether a package exists for tests alone: those of the checks
// rung, and helpers such as internal/db/dbtest.
func testOnly(dir string) bool {
	_, rung, ok := family(dir)
	helper := slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return strings.HasSuffix(part, "test") })
	return ok && rung == checks || helper
}

func checkLadder(all []*file) []finding {
	var found []finding
	seen := map[string]bool{}
	for _, f := range all {
		if f.dir == "tools" {
			continue
		}
		if _, _, ok := family(f.dir); !ok && !seen[f.dir] {
			found = append(found, f.finding(f.ast, "package %s is not in the ladder table of internal/archtest", f.dir))
		}
		if slices.Contains(badNames, path.Base(f.dir)) && !seen[f.dir] {
			found = append(found, f.finding(f.ast, "%q says nothing about what the package is for", path.Base(f.dir)))
		}
		seen[f.dir] = true
		for _, spec := range f.ast.Imports {
			full := strings.Trim(spec.Path.Value, `"`)
			if host, _, _ := strings.Cut(full, "/"); f.dir == "api" && strings.Contains(host, ".") {
				found = append(found, f.finding(spec, "api may not import %s: it stands on the standard library alone", full))
				continue
			}
			if (full == "html/template" || full == "text/template") && !f.test() && !testOnly(f.dir) {
				found = append(found, f.finding(spec, "%s may not import %s: it calls methods by name, so that the linker keeps every method of the program, 6 MB of them; pages are written with internal/web/markup", f.dir, full))
			}
			to, ok := strings.CutPrefix(full, module+"/")
			if !ok {
				continue
			}
			if why := forbidden(f, to); why != "" {
				found = append(found, f.finding(spec, "%s may not import %s: %s", f.dir, to, why))
			}
		}
	}
	return found
}

// forbidden says why f may not import the package to, or nothing.
func forbidden(f *file, to string) string {
	fromFamily, from, _ := family(f.dir)
	toFamily, target, ok := family(to)
	switch {
	case !ok:
		return "it is not in the ladder table"
	case from == checks:
		return ""
	case testOnly(to) && !f.test() && !testOnly(f.dir):
		return "it is for tests only"
	case fromFamily == toFamily:
		return ""
	case from == outside || target == outside:
		return forbiddenOutside(f, fromFamily, toFamily)
	case from == command && target != terminal && target != ground && !f.test():
		return "a command imports cli, plugins and the ground rung"
	case target > from:
		return "the arrow points up the ladder"
	case target == from && !f.test():
		return "it stands on the same rung"
	case target == from && from == area:
		return "no area imports another, not even in tests"
	}
	return ""
}

// forbiddenOutside judges arrows from and to the public packages.
func forbiddenOutside(f *file, from, to string) string {
	switch {
	case to == "api":
		return ""
	case from == "plugins" && (to == "plugin" || to == "client"): // client calls the server itself, by plugin.Host.API
		return ""
	case to == "plugin" && (strings.HasPrefix(from, "internal/oracle") || from == "internal/app" || from == "internal/cli"):
		return ""
	case (to == "plugins" || to == "plugin") && (strings.HasPrefix(from, "cmd/") || from == "program"):
		return ""
	case to == "plugins" && from == "internal/app" && f.test():
		return ""
	case from == "examples" && (to == "plugin" || to == "program" || to == "client"):
		return ""
	case to == "client" && (f.test() || from == "internal/demo" || from == "internal/cli"):
		return ""
	case f.test() && from == "client":
		return "tests of the client drive it from outside; see test/e2e"
	}
	return "public packages stand alone"
}

func TestLadder(t *testing.T) {
	t.Parallel()
	report(t, checkLadder(allFiles(t)))
}

func TestLadderFindsBadArrows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, imports, want string }{
		{"down", "internal/auth/a.go", "internal/db", ""},
		{"up", "internal/db/a.go", "internal/auth", "points up"},
		{"sideways", "internal/auth/a.go", "internal/event", "same rung"},
		{"auth to once", "internal/auth/a.go", "internal/once", ""},
		{"once to auth", "internal/once/a.go", "internal/auth", "points up"},
		{"sideways in a test", "internal/auth/a_test.go", "internal/event", ""},
		{"up in a test", "internal/db/a_test.go", "internal/auth", "points up"},
		{"inside a family", "internal/db/a.go", "internal/db/migrations", ""},
		{"area to floor", "internal/entity/a.go", "internal/exchange", ""},
		{"floor to job", "internal/exchange/a.go", "internal/job", ""},
		{"floor to area", "internal/exchange/a.go", "internal/survey", "points up"},
		{"area to area", "internal/entity/a.go", "internal/survey", "same rung"},
		{"area to area in a test", "internal/entity/a_test.go", "internal/survey", "no area"},
		{"test helper in code", "internal/auth/a.go", "internal/db/dbtest", "tests only"},
		{"inside a test helper", "internal/db/dbtest/x/main.go", "internal/db/dbtest", ""},
		{"test helper in a test", "internal/auth/a_test.go", "internal/db/dbtest", ""},
		{"command to cli", "cmd/hearth/main.go", "internal/cli", ""},
		{"program to cli", "program/program.go", "internal/cli", ""},
		{"program to plugin", "program/program.go", "plugins/weather", ""},
		{"command to plugin", "cmd/hearth/main.go", "plugins/weather", ""},
		{"example to contract", "examples/oracle/main.go", "plugin", ""},
		{"example to area", "examples/oracle/main.go", "internal/oracle", "stand alone"},
		{"command past cli", "cmd/hearth/main.go", "internal/app", "a command imports"},
		{"command to fault", "cmd/hearth/main.go", "internal/fault", ""},
		{"app to config", "internal/app/a.go", "internal/config", ""},
		{"config to app", "internal/config/a.go", "internal/app", "points up"},
		{"command to db", "cmd/hearth/main.go", "internal/db", "a command imports"},
		{"client to api", "client/a.go", "api", ""},
		{"area to api", "internal/entity/a.go", "api", ""},
		{"api to the standard library", "api/a.go", "fmt", ""},
		{"api to internal", "api/a.go", "internal/fault", "standard library alone"},
		{"client to internal", "client/a.go", "internal/fault", "stand alone"},
		{"plugin to area", "plugins/weather/a.go", "internal/entity", "stand alone"},
		{"plugin to contract", "plugins/weather/a.go", "plugin", ""},
		{"plugin to client", "plugins/weather/a.go", "client", ""},
		{"oracle to contract", "internal/oracle/a.go", "plugin", ""},
		{"end-to-end test", "test/e2e/a.go", "internal/app", ""},
		{"nobody imports checks", "internal/app/a.go", "test/bench", "tests only"},
		{"templates", "internal/survey/a.go", "html/template", "internal/web/markup"},
		{"templates in a test", "internal/survey/a_test.go", "html/template", ""},
		{"an area's own template", "internal/survey/a.go", "internal/survey/template", ""},
		{"unknown target", "internal/app/a.go", "internal/mystery", "not in the ladder"},
		{"unknown package", "internal/mystery/a.go", "fmt", "not in the ladder"},
		{"empty name", "internal/db/util/a.go", "fmt", "says nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			target := module + "/" + tt.imports
			if tt.imports == "fmt" || tt.imports == "html/template" {
				target = tt.imports
			}
			src := "package x\n\nimport _ \"" + target + "\"\n"
			wantFinding(t, checkLadder([]*file{sample(t, tt.path, src)}), tt.want)
		})
	}
}
