package collect

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestEnketo shows the shipped templates in a browser with Enketo's form engine, and has
// it fill them in. What it asks, refuses, calculates and sends is what our own form says
// to the same answers.
func TestEnketo(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	each := 8
	if dbtest.Everything() {
		each = 40
	}
	p := openEnketo(t)
	for n, file := range templates(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The engine reads no choice aloud in the text of a question: docs/odk.md.
		f := openrosatest.Compile(t, bytes.ReplaceAll(raw, []byte("${kind}"), nil))
		x, err := openrosa.NewForm(f, openrosa.Options{Version: 3})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(24, uint64(n)))
		var answers []jsontext.Value
		for i := range each {
			answers = append(answers, openrosatest.Answers(r, f.Template(), i%4 == 3))
		}
		name, whole := filepath.Base(file), 0
		for i, got := range p.fill(name, f, x, answers) {
			if got.uncounted() {
				continue
			}
			c := &openrosatest.Interview{Name: fmt.Sprintf("%s #%d", name, i), Form: f, XForm: x}
			if c.Compare(t, answers[i], got.Filled) {
				whole++
			}
			r := f.Check(form.Input{Answers: answers[i], Now: time.Now()})
			if r.OK() && got.Valid != (len(r.Missing) == 0) {
				t.Errorf("%s: the engine takes it: %v, and it lacks %+v\n%s", c.Name, got.Valid, r.Missing, answers[i])
			}
		}
		if whole < each/8 {
			t.Errorf("%s: %d of %d answer sets were compared whole, want an eighth at least", name, whole, each)
		}
		t.Logf("%s: %d of %d answer sets were compared whole", name, whole, each)
	}
}

// templates are those that come with the program, and one with everything.
func templates(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../internal/survey/template/shipped/*.json")
	if err != nil || len(all) < 3 {
		t.Fatalf("shipped templates: %v, %v", all, err)
	}
	return append(all, "../../internal/survey/openrosa/testdata/everything.json")
}

// enketo is a page with the engine.
type enketo struct {
	t *testing.T
	b *browser.Browser
}

// openEnketo makes the page and opens it, from a server of the test's own.
func openEnketo(t *testing.T) *enketo {
	t.Helper()
	script := filepath.Join(t.TempDir(), "page.js")
	clienttest.Run(t, "enketo.mjs", "ENKETO_OUT="+script)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<!doctype html><meta charset="utf-8"><title>Enketo</title><link rel="icon" href="data:,"><div id="place"></div><script src="page.js"></script>`))
	})
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, script) })
	mux.HandleFunc("GET /tile.png", func(http.ResponseWriter, *http.Request) {}) // of a map without a map
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	b := browser.Open(t)
	if err := chromedp.Run(b.Context, chromedp.Navigate(s.URL+"/")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Check(t, s.URL) })
	return &enketo{t, b}
}

// shown is what the engine makes of an instance.
type shown struct {
	openrosatest.Filled
	Valid bool `json:"valid"`
}

// uncounted reports whether a repeat that must be there has not been asked: the engine
// takes it for empty then, and ODK's engine and we for not known.
func (s shown) uncounted() bool {
	for at, n := range s.Nodes {
		if strings.HasSuffix(at, "_count") && n.Wrong == "required" {
			return true
		}
	}
	return false
}

// fill has the engine show a form with answers.
func (p *enketo) fill(name string, f *form.Form, x *openrosa.Form, answers []jsontext.Value) []shown {
	p.t.Helper()
	sheet := openrosatest.NewSheet(name, f, x, answers)
	for file, content := range sheet.Files {
		sheet.Files[file] = asXML(p.t, content)
	}
	text, err := json.Marshal(sheet)
	if err != nil {
		p.t.Fatal(err)
	}
	var out string
	wait := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	if err := chromedp.Run(p.b.Context, chromedp.Evaluate("fill("+string(text)+").then(JSON.stringify)", &out, wait)); err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	var told struct {
		Trouble []string `json:"trouble"`
		Cases   []shown  `json:"cases"`
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || len(told.Trouble) > 0 || len(told.Cases) != len(answers) {
		p.t.Fatalf("%s: %d of %d answer sets, %v, %v", name, len(told.Cases), len(answers), told.Trouble, err)
	}
	return told.Cases
}

// asXML makes of a file of choices what a site with Enketo gives the engine.
func asXML(t *testing.T, content string) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("<root>")
	for _, row := range rows[1:] {
		b.WriteString("<item>")
		for i, cell := range row {
			b.WriteString("<" + rows[0][i] + ">")
			_ = xml.EscapeText(&b, []byte(cell)) // a buffer takes everything
			b.WriteString("</" + rows[0][i] + ">")
		}
		b.WriteString("</item>")
	}
	b.WriteString("</root>")
	return b.String()
}
