package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// page is a line of the table of pages that the console has.
type page struct {
	Path, Name, Scope, Area, Menu, Key string
}

// pages reads the table from the files that are served.
func (d *desk) pages() []page {
	d.t.Helper()
	d.run("read the pages", chromedp.Evaluate(`void import(document.querySelector('script[type=module]').src.replace("main.js", "lib/pages.js")).then((m) => { window.table = m.pages.map(({path, name, scope, area, menu, key}) => ({path, name, scope, area, menu, key})) })`, nil),
		until(`!!window.table`))
	return script[[]page](d, `window.table`)
}

// listed are the pages that stand in the address bar without a name to fill in.
func listed(all []page) []page {
	return slices.DeleteFunc(all, func(p page) bool { return strings.Contains(p.Path, ":") })
}

// TestEveryPage opens each page with a role that may see all, some and few, and in
// make test-all with each role: what the role may see is there, without a request that
// fails, and the rest says what is missing.
func TestEveryPage(t *testing.T) {
	d := open(t, "127.0.0.1")
	roles := []string{"owner", "supervisor", "collector"}
	if dbtest.Everything() {
		roles = append(roles, "manager", "verifier", "evaluator", "auditor")
	}
	for _, role := range roles {
		d.signIn(d.keyOf(role))
		d.run("read scopes", chromedp.Evaluate(`delete window.scopes, void fetch("/console/session").then((r) => r.json()).then((s) => { window.scopes = s.scopes })`, nil),
			until(`!!window.scopes`))
		have := script[[]string](d, `window.scopes`)
		may := func(scope string) bool {
			resource, _, _ := strings.Cut(scope, ":")
			return scope == "" || slices.Contains(have, "*") || slices.Contains(have, scope) || slices.Contains(have, resource+":*")
		}
		titles := map[string]string{}
		for _, p := range listed(d.pages()) {
			d.turn("/console" + p.Path)
			title := script[string](d, `document.title`)
			if other := titles[title]; p.Path != "/" && (other != "" || !strings.HasSuffix(title, " · Hearth")) { // "/" is another page to each role
				t.Errorf("%s as %s has the title %q, %s before it", p.Path, role, title, other)
			} else if p.Path != "/" {
				titles[title] = p.Path
			}
			forbidden := script[bool](d, `!!document.querySelector('main .failure.forbidden')`)
			if forbidden == may(p.Scope) {
				t.Errorf("%s as %s: forbidden = %v, the key has %v", p.Path, role, forbidden, have)
			}
			if !forbidden && script[bool](d, `!!document.querySelector('main .failure')`) {
				t.Errorf("%s as %s shows a failure: %s", p.Path, role, script[string](d, `document.querySelector('main').innerText`))
			}
		}
		d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
	}
}

// looks are how pages are looked at: light and dark, on a desk and on a phone. Every
// run sees each page in one of the two that differ in both; make test-all in all four.
var looks = []struct {
	scheme string
	width  int64
}{{"light", 1280}, {"dark", 390}, {"dark", 1280}, {"light", 390}}

// everyone has axe-core look at pages, and wants none wider than its window.
func (d *desk) everyone(paths []string) {
	d.t.Helper()
	for n, l := range looks {
		d.size(l.width, 900)
		d.run("choose "+l.scheme, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}))
		for i, path := range paths {
			if i%2 != n && !dbtest.Everything() {
				continue
			}
			d.turn("/console" + path)
			name := fmt.Sprintf("%s, %s, %d", path, l.scheme, l.width)
			d.Accessible(d.t, name)
			if wide := script[int64](d, `document.documentElement.scrollWidth`); wide > l.width {
				d.t.Errorf("%s is %d wide", name, wide)
			}
			d.Shot(d.t, fmt.Sprintf("%s-%s-%d", strings.NewReplacer("/", "-", "?", "-").Replace(path), l.scheme, l.width))
		}
	}
}

// TestForEveryone holds the empty pages to axe-core, those that
// TestForEveryoneWithData looks at only in make test-all.
func TestForEveryone(t *testing.T) {
	clienttest.Need(t)
	d := open(t, "127.0.0.1")
	d.visit("/console/")
	d.Accessible(t, "sign-in")
	d.signIn(d.server.Key)
	var paths []string
	for _, p := range listed(d.pages()) {
		if dbtest.Everything() || !slices.Contains(lists, p.Path) {
			paths = append(paths, p.Path)
		}
	}
	d.everyone(paths)
}

// TestPolicy holds the pages to the policy that makes scripts in data harmless.
func TestPolicy(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.visit("/console/")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/console/twins/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	policy := answer.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "img-src 'self' blob: data:;", "script-src 'self';", "style-src 'self';", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy = %q, want %q in it", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("policy = %q", policy)
	}
}
