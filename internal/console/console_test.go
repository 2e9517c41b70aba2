package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func sources(t *testing.T) *files {
	t.Helper()
	f, err := New(Config{}).files()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestVendored holds code of others to what is recorded of it, with its licence.
func TestVendored(t *testing.T) {
	t.Parallel()
	f := sources(t)
	licences := string(f.byName["vendor/LICENSES"].body)
	for name, a := range f.byName {
		if path.Dir(name) != "vendor" || name == "vendor/LICENSES" {
			continue
		}
		sum := sha256.Sum256(a.body)
		if line := hex.EncodeToString(sum[:]) + "  " + path.Base(name); !strings.Contains(licences, line) {
			t.Errorf("%s is not what vendor/LICENSES records: %s", name, line)
		}
	}
	for _, want := range []string{"preact 10.29.8 (MIT)", "@preact/signals 2.11.4 (MIT)", "htm 3.1.1 (Apache-2.0)", "d3-force 3.0.1 (ISC)", "Permission is hereby granted", "Apache License"} {
		if !strings.Contains(licences, want) {
			t.Errorf("vendor/LICENSES does not say %q", want)
		}
	}
}

var (
	imported = regexp.MustCompile(`(?:from\s+|import\()"([^"]+)"`)
	pair     = regexp.MustCompile(`"([\w.-]+)": "((?:[^"\\]|\\.)*)"`)
	fill     = regexp.MustCompile(`\{\w+\}`)
	used     = regexp.MustCompile(`\bt\("([\w.]+)"`)
)

// TestSources holds the modules to the rules that need no browser: whatever they
// import is there, none opens a door for markup, each can be read in one sitting.
func TestSources(t *testing.T) {
	t.Parallel()
	f := sources(t)
	for name, a := range f.byName {
		if path.Ext(name) != ".js" || path.Dir(name) == "vendor" {
			continue
		}
		text := string(a.body)
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			if to := path.Join(path.Dir(name), m[1]); !strings.HasPrefix(m[1], ".") || f.byName[to] == nil {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
		for _, door := range []string{"createPolicy", "innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML", "document.write", "eval(", "new Function"} {
			if strings.Contains(text, door) {
				t.Errorf("%s uses %s", name, door)
			}
		}
		if n := strings.Count(text, "\n"); n > 250 {
			t.Errorf("%s has %d lines, want 250 at most", name, n)
		}
	}
}

func wordsOf(t *testing.T, f *files, language string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range pair.FindAllStringSubmatch(string(f.byName["words/"+language+".js"].body), -1) {
		if _, twice := out[m[1]]; twice {
			t.Errorf("words/%s.js has %s twice", language, m[1])
		}
		out[m[1]] = m[2]
	}
	return out
}

// TestWords wants the same words in every language, with the same blanks, and
// words for every name that a page uses.
func TestWords(t *testing.T) {
	t.Parallel()
	f := sources(t)
	en, sw := wordsOf(t, f, "en"), wordsOf(t, f, "sw")
	if len(en) < 100 {
		t.Fatalf("only %d words were found", len(en))
	}
	for name, text := range en {
		if _, ok := sw[name]; !ok {
			t.Errorf("words/sw.js lacks %s", name)
			continue
		}
		want, got := fill.FindAllString(text, -1), fill.FindAllString(sw[name], -1)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%s: the blanks are %v and %v", name, want, got)
		}
	}
	for name := range maps.Keys(sw) {
		if _, ok := en[name]; !ok {
			t.Errorf("words/sw.js has %s, which English has not", name)
		}
	}
	for file, a := range f.byName {
		for _, m := range used.FindAllStringSubmatch(string(a.body), -1) {
			if _, ok := en[m[1]]; !ok && !strings.HasSuffix(m[1], ".") && path.Dir(file) != "vendor" {
				t.Errorf("%s uses %s, for which there are no words", file, m[1])
			}
		}
	}
}

// TestRightsInWords wants every scope and every role in words.
func TestRightsInWords(t *testing.T) {
	t.Parallel()
	en := wordsOf(t, sources(t), "en")
	for _, scope := range auth.Scopes() {
		what, verb, _ := strings.Cut(scope, ":")
		for _, name := range []string{"scope." + what, "verb." + verb} {
			if en[name] == "" {
				t.Errorf("words/en.js lacks %s, for %s", name, scope)
			}
		}
	}
	for _, r := range auth.Roles() {
		if en["role."+r.Name] == "" {
			t.Errorf("words/en.js lacks role.%s", r.Name)
		}
	}
}

// TestLetters wants each page once, and each letter for one page.
func TestLetters(t *testing.T) {
	t.Parallel()
	table := string(sources(t).byName["lib/pages.js"].body)
	for _, member := range []string{"name", "path", "key"} {
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`\b`+member+`: "([^"]+)"`).FindAllStringSubmatch(table, -1) {
			if seen[m[1]] {
				t.Errorf("lib/pages.js has the %s %q twice", member, m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) < 10 {
			t.Errorf("only %d pages have a %s", len(seen), member)
		}
	}
}

// TestEventWords wants every kind of event in the other language, too.
func TestEventWords(t *testing.T) {
	t.Parallel()
	sw := wordsOf(t, sources(t), "events_sw")
	for _, e := range event.Types() {
		if sw[e.Type] == "" {
			t.Errorf("words/events_sw.js lacks %s: %s", e.Type, e.Description)
		}
		delete(sw, e.Type)
	}
	for left := range sw {
		t.Errorf("words/events_sw.js has %s, which no event is", left)
	}
}

// TestServerWords wants a name for every check in the other language, where the server has
// none, too.
func TestServerWords(t *testing.T) {
	t.Parallel()
	sw := wordsOf(t, sources(t), "server_sw")
	for _, rule := range quality.Names() {
		if sw["flag."+rule] == "" {
			t.Errorf("words/server_sw.js lacks flag.%s", rule)
		}
	}
}

// TestSettingsInWords wants every setting that a page names to be one.
func TestSettingsInWords(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range wordsOf(t, sources(t), "en") {
		for _, setting := range regexp.MustCompile(`\b[A-Z]+(_[A-Z]+)+\b`).FindAllString(text, -1) {
			if !bytes.Contains(page, []byte("`"+setting+"`")) {
				t.Errorf("%s names %s, which is no setting", name, setting)
			}
		}
	}
}

// TestFirstPage bounds what a browser loads before it shows the first page.
func TestFirstPage(t *testing.T) {
	t.Parallel()
	f := sources(t)
	total := 0
	all := append(f.needed("main.js"), append(f.needed("pages/today.js"), "style.css")...)
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		a := f.byName[name]
		if a == nil {
			t.Fatalf("%s is needed and not there", name)
		}
		total += len(a.packed())
	}
	t.Logf("%d bytes of gzip", total)
	if total > 150_000 {
		t.Errorf("the first page takes %d bytes of gzip, want 150,000 at most", total)
	}
}

// TestServe serves the page and its files, and nothing under another version.
func TestServe(t *testing.T) {
	t.Parallel()
	api := web.NewAPI(web.APIConfig{Name: "console"})
	New(Config{}).Routes(api)
	mux := http.NewServeMux()
	api.Mount(mux)
	get := func(path string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", "gzip")
		mux.ServeHTTP(w, r)
		return w
	}
	f := sources(t)
	for path, want := range map[string]int{
		"/console/": 200, "/console/twins/did:ixo:x": 200, "/console/a/" + f.version + "/main.js": 200, "/console/a/" + f.version + "/vendor/preact.js": 200,
		"/console/a/0000000000000000/main.js": 404, "/console/a/" + f.version + "/nothing.js": 404,
	} {
		if w := get(path); w.Code != want {
			t.Errorf("GET %s = %d, want %d", path, w.Code, want)
		}
	}
	w := get("/console/a/" + f.version + "/main.js")
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(z); err != nil || !bytes.Equal(body.Bytes(), f.byName["main.js"].body) {
		t.Errorf("main.js comes as something else: %v", err)
	}
	if got := w.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("Cache-Control = %q, want immutable", got)
	}
	if _, err := fs.Stat(embedded, "ui/index.html"); err != nil {
		t.Error(err)
	}
}
