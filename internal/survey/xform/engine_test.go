package xform_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xform"
	"github.com/hearth-dmrv/hearth/internal/survey/xform/xformtest"
)

// towns are choices in a file.
const towns = "id,title,county,people\nt1,First town,north,100\nt2,\"Second, town\",south,250\nt3,Third town,north,7\n"

// compile reads a template and makes its forms.
func compile(t *testing.T, file string) (*form.Form, *xform.Form) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := compileText(t, raw)
	x, err := xform.New(f, xform.Options{Version: 3})
	if err != nil {
		t.Fatalf("%s: %+v", file, err)
	}
	return f, x
}

func compileText(t *testing.T, raw []byte) *form.Form {
	t.Helper()
	var doc form.Template
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "towns.csv") {
		read, err := form.ReadFile("towns.csv", []byte(towns))
		if err != nil {
			t.Fatal(err)
		}
		doc.Files = []form.DataFile{*read}
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return f
}

func templates(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../template/shipped/*.json")
	if err != nil || len(all) < 3 {
		t.Fatalf("shipped templates: %v, %v", all, err)
	}
	return append(all, "testdata/everything.json")
}

// told is what the engine says about a node.
type told struct {
	Relevant bool     `json:"relevant"`
	Wrong    string   `json:"wrong"`
	Value    string   `json:"value"`
	Choices  []string `json:"choices"`
}

type filled struct {
	Nodes map[string]told `json:"nodes"`
	Sent  string          `json:"sent"`
}

// played are answers, as we made them.
type played struct {
	answers jsontext.Value
	wild    bool
}

// TestEngine has ODK's engine fill in the forms with answers that were made up.
// What it asks, refuses, offers, calculates and sends is what our own form says
// to the same answers.
func TestEngine(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	each := 60
	if dbtest.Everything() {
		each = 550
	}
	for n, file := range templates(t) {
		f, x := compile(t, file)
		r := rand.New(rand.NewPCG(24, uint64(n)))
		whole := 0
		for done := 0; done < each; done += atOnce {
			var cases []played
			for i := done; i < min(done+atOnce, each); i++ {
				p := played{wild: i%4 == 3}
				p.answers = xformtest.Answers(r, f.Template(), p.wild)
				cases = append(cases, p)
			}
			for i, got := range engine(t, filepath.Base(file), f, x, cases) {
				c := &interview{fmt.Sprintf("%s #%d", filepath.Base(file), done+i), f, x}
				if c.compare(t, cases[i], got) {
					whole++
				}
			}
		}
		if whole < each/3 {
			t.Errorf("%s: %d of %d answer sets were taken, want a third at least", file, whole, each)
		}
	}
}

// atOnce is how many answer sets one run of the engine fills in: it has minutes.
const atOnce = 110

// sheet is a form, and instances of it.
type sheet struct {
	Name  string            `json:"name"`
	XML   string            `json:"xml"`
	Files map[string]string `json:"files"`
	Cases []string          `json:"cases"`
}

// engine has the engine fill in a form.
func engine(t *testing.T, name string, f *form.Form, x *xform.Form, cases []played) []filled {
	t.Helper()
	s := sheet{Name: name, XML: string(x.XML), Files: map[string]string{}}
	for _, extra := range x.Files {
		s.Files[extra.Name] = string(extra.Content)
	}
	for i, p := range cases {
		s.Cases = append(s.Cases, string(xformtest.Instance(f.Template(), p.answers, xformtest.Submission{FormID: x.ID, Version: x.Version, InstanceID: fmt.Sprintf("uuid:%d", i)})))
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json")
	text, err := json.Marshal([]sheet{s})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	clienttest.Run(t, "odk.mjs", "ODK_IN="+in, "ODK_OUT="+out)
	if text, err = os.ReadFile(out); err != nil {
		t.Fatal(err)
	}
	var theirs []struct {
		Cases []filled `json:"cases"`
	}
	if err := json.Unmarshal(text, &theirs); err != nil || len(theirs) != 1 || len(theirs[0].Cases) != len(cases) {
		t.Fatalf("%s: %d forms told of, want one with %d answer sets (%v)", name, len(theirs), len(cases), err)
	}
	return theirs[0].Cases
}

// interview is one that both have had.
type interview struct {
	name string
	f    *form.Form
	x    *xform.Form
}

// compare compares what both say. It reports whether there was something to
// compare beside what is refused.
func (c *interview) compare(t *testing.T, p played, got filled) bool {
	t.Helper()
	name, f := c.name, c.f
	r := f.Check(form.Input{Answers: p.answers, Now: time.Now()})
	var wrong, theirs []string
	for _, w := range r.Wrong {
		// The engine looks at what is asked only, and drops a choice that is not offered.
		if at := ref(got.Nodes, w.Pointer); got.Nodes[at].Relevant && w.Code != "not_offered" {
			wrong = append(wrong, at)
		}
	}
	for at, n := range got.Nodes {
		if n.Wrong == "constraint" {
			theirs = append(theirs, at)
		}
	}
	slices.Sort(wrong)
	slices.Sort(theirs)
	theirs = slices.DeleteFunc(theirs, func(at string) bool { return strings.HasSuffix(at, "_count") })
	if !slices.Equal(slices.Compact(wrong), theirs) {
		t.Errorf("%s: the engine refuses %v, we refuse %v (%+v)\n%s", name, theirs, wrong, r.Wrong, p.answers)
	}
	if len(r.Wrong) > 0 {
		return false
	}
	seen := map[string]form.QuestionView{}
	for _, s := range f.View("en", r) {
		flatten(seen, "/data/"+s.ID, s.Questions)
		if n := got.Nodes["/data/"+s.ID]; n.Relevant != s.Relevant {
			t.Errorf("%s: section %s: asked %v, want %v\n%s", name, s.ID, n.Relevant, s.Relevant, p.answers)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(seen)) {
		q, n := seen[at], got.Nodes[at]
		if form.KindOf(q.Type).Repeated {
			continue
		}
		if n.Relevant != q.Relevant {
			t.Errorf("%s: %s: asked %v, want %v\n%s", name, at, n.Relevant, q.Relevant, p.answers)
		}
		if form.KindOf(q.Type).Calculated && q.Relevant && !sameValue(n.Value, q.Answer.Value) {
			t.Errorf("%s: %s: calculated %q, want %s\n%s", name, at, n.Value, q.Answer.Value, p.answers)
		}
	}
	c.sentBack(t, r, got.Sent)
	return true
}

// sentBack reads what the engine would send: the answers as we would store them.
func (c *interview) sentBack(t *testing.T, r *form.Result, sent string) {
	t.Helper()
	name, f, x := c.name, c.f, c.x
	in, err := xform.Parse([]byte(sent))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, sent)
		return
	}
	answers, _, err := x.Answers(in, func(name string) string { return strings.TrimPrefix(name, "sha256:") })
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, sent)
		return
	}
	again := f.Check(form.Input{Answers: answers, Now: time.Now()})
	if len(again.Wrong) > 0 || string(again.Answers) != string(r.Answers) {
		t.Errorf("%s: read back\n%s\nwant\n%s\n%+v", name, again.Answers, r.Answers, again.Wrong)
	}
}

// flatten gives the questions of a view by the path of their nodes.
func flatten(out map[string]form.QuestionView, at string, qs []form.QuestionView) {
	for _, q := range qs {
		here := at + "/" + q.ID
		out[here] = q
		k := form.KindOf(q.Type)
		for i, e := range q.Elements {
			flatten(out, fmt.Sprintf("%s[%d]", here, i+1), e)
		}
		if k.Nested && !k.Repeated {
			flatten(out, here, q.Questions)
		}
	}
}

// ref is the path of the node that a pointer into answers names. The number of
// an answer among several names no node.
func ref(nodes map[string]told, pointer string) string {
	at := "/data"
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/responses/"), "/") {
		next := at + "/" + part
		if i, err := strconv.Atoi(part); err == nil {
			next = fmt.Sprintf("%s[%d]", at, i+1)
		}
		if _, ok := nodes[next]; ok || !strings.ContainsAny(part, "0123456789") {
			at = next
		}
	}
	return at
}

// sameValue reports whether the engine has calculated what we have.
func sameValue(theirs string, ours jsontext.Value) bool {
	if len(ours) == 0 {
		return theirs == ""
	}
	if ours.Kind() == '"' {
		var s string
		return json.Unmarshal(ours, &s) == nil && s == theirs
	}
	a, err := strconv.ParseFloat(theirs, 64)
	b, err2 := strconv.ParseFloat(string(ours), 64)
	return err == nil && err2 == nil && math.Abs(a-b) <= 1e-9*max(1, math.Abs(b))
}
