package openrosatest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
)

// Told is what a form engine reports about a node.
type Told struct {
	Relevant bool     `json:"relevant"`
	Wrong    string   `json:"wrong"` // constraint, required, or nothing
	Value    string   `json:"value"`
	Choices  []string `json:"choices"`
}

// Filled is what a form engine makes of an instance: its nodes by their paths, and what
// it would send.
type Filled struct {
	Nodes map[string]Told `json:"nodes"`
	Sent  string          `json:"sent"`
}

// Interview is an interview that both a form engine and Hearth's form have run.
type Interview struct {
	Name  string
	Form  *form.Form
	XForm *openrosa.Form
}

// Compare compares both for the same answers: which questions they ask, what they
// refuse, offer and calculate, and what is stored. It reports whether there was anything
// to compare besides refusals.
func (c *Interview) Compare(t *testing.T, answers jsontext.Value, got Filled) bool {
	t.Helper()
	name, f := c.Name, c.Form
	r := f.Check(form.Input{Answers: answers, Now: time.Now()})
	var wrong, theirs []string
	for _, w := range r.Wrong {
		// The engine checks only questions it asks, and drops a choice it does not offer.
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
		t.Errorf("%s: the engine refuses %v, we refuse %v (%+v)\n%s", name, theirs, wrong, r.Wrong, answers)
	}
	if len(r.Wrong) > 0 {
		return false
	}
	seen := map[string]form.QuestionView{}
	for _, s := range f.View("en", r) {
		flatten(seen, "/data/"+s.ID, s.Questions)
		if n := got.Nodes["/data/"+s.ID]; n.Relevant != s.Relevant {
			t.Errorf("%s: section %s: asked %v, want %v\n%s", name, s.ID, n.Relevant, s.Relevant, answers)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(seen)) {
		q, n := seen[at], got.Nodes[at]
		if form.KindOf(q.Type).Repeated {
			continue
		}
		if n.Relevant != q.Relevant {
			t.Errorf("%s: %s: asked %v, want %v\n%s", name, at, n.Relevant, q.Relevant, answers)
		}
		if form.KindOf(q.Type).Calculated && q.Relevant && !sameValue(n.Value, q.Answer.Value) {
			t.Errorf("%s: %s: calculated %q, want %s\n%s", name, at, n.Value, q.Answer.Value, answers)
		}
	}
	c.sentBack(t, r, got.Sent)
	return true
}

// sentBack checks that what the engine would send reads as the answers Hearth stores.
func (c *Interview) sentBack(t *testing.T, r *form.Result, sent string) {
	t.Helper()
	name, f, x := c.Name, c.Form, c.XForm
	in, err := openrosa.Parse([]byte(sent))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, sent)
		return
	}
	read, _, err := x.Answers(in, func(name string) string { return strings.TrimPrefix(name, "sha256:") })
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, sent)
		return
	}
	again := f.Check(form.Input{Answers: read, Now: time.Now()})
	if len(again.Wrong) > 0 || string(again.Answers) != string(r.Answers) {
		t.Errorf("%s: read back\n%s\nwant\n%s\n%+v", name, again.Answers, r.Answers, again.Wrong)
	}
}

// flatten adds the questions of a view to out by the paths of their nodes.
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

// ref returns the path of the node that a pointer into answers names. It skips the
// index of an answer among several, which names no node.
func ref(nodes map[string]Told, pointer string) string {
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

// sameValue reports whether the engine and Hearth calculated the same value.
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
