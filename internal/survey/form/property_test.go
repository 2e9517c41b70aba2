package form_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// anyTemplate draws a valid template of a few sections: all types, skip logic
// on earlier answers, personal data, groups and repeats.
func anyTemplate(t *rapid.T) *form.Template {
	next := 0
	var question func(depth int) form.Question
	list := func(depth int) []form.Question {
		var out []form.Question
		for range rapid.IntRange(1, 5).Draw(t, "questions") {
			out = append(out, question(depth))
		}
		return out
	}
	question = func(depth int) form.Question {
		types := []form.Type{
			form.SingleChoice, form.MultipleChoice, form.Number, form.Integer, form.FreeText, form.Boolean, form.Date, form.Time, form.DateTime,
			form.Geo, form.Photo, form.Barcode, form.Rating, form.Rank, form.Matrix, form.Quantity, form.HouseholdRef, form.Calculate, form.Note, form.Consent,
		}
		if depth < form.MaxDepth {
			types = append(types, form.Group, form.Repeat, form.Repeat)
		}
		next++
		q := form.Question{ID: fmt.Sprintf("q%d", next), Type: rapid.SampledFrom(types).Draw(t, "type")}
		q.PII = rapid.SampledFrom([]form.PII{"", "", form.PIINone, form.PIIDirect, form.PIIIndirect}).Draw(t, "pii")
		q.Required.Always = rapid.Bool().Draw(t, "required")
		switch q.Type {
		case form.SingleChoice, form.MultipleChoice:
			q.Options, q.Other, q.Refuse = []form.Option{{Value: "a"}, {Value: "b"}, {Value: "é\"", Exclusive: true}}, true, true
		case form.Rank:
			q.Options = []form.Option{{Value: "a"}, {Value: "b"}}
		case form.Matrix:
			q.Options, q.Rows = []form.Option{{Value: "a"}}, []form.Option{{Value: "r"}, {Value: "\U0001F525"}, {Value: "\uFB33"}}
		case form.Quantity:
			q.Units = []string{"kg"}
		case form.Calculate:
			q.Calculate = rapid.SampledFrom([]string{"1 + 1", "'x'", "today", "count(s0)", "household.did"}).Draw(t, "calculate")
		case form.Group, form.Repeat:
			q.Questions = list(depth + 1)
		}
		if rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
			q.Relevant = rapid.SampledFrom([]string{"true", "false", "household.did == null", "response.round == 1"}).Draw(t, "relevant")
		}
		return q
	}
	tpl := &form.Template{}
	for i := range rapid.IntRange(1, 3).Draw(t, "sections") {
		tpl.Sections = append(tpl.Sections, form.Section{ID: fmt.Sprintf("s%d", i), Questions: list(1)})
	}
	return tpl
}

// anyAnswers draws an object for questions; most answers are right.
func anyAnswers(t *rapid.T, questions []form.Question) map[string]any {
	out := map[string]any{}
	for _, q := range questions {
		if rapid.IntRange(0, 2).Draw(t, "answered") > 0 {
			out[q.ID] = anyAnswer(t, q)
		}
	}
	return out
}

func anyAnswer(t *rapid.T, q form.Question) any {
	if rapid.IntRange(0, 19).Draw(t, "stray") == 0 {
		return rapid.SampledFrom([]any{nil, true, "x", 1.5, []any{}, map[string]any{}, []any{map[string]any{"other": "x"}}, map[string]any{"noAnswer": "refused"}}).Draw(t, "value")
	}
	switch q.Type {
	case form.SingleChoice:
		return rapid.SampledFrom([]any{"a", "b", map[string]any{"other": "x"}}).Draw(t, "one")
	case form.MultipleChoice:
		return rapid.SampledFrom([]any{[]any{"a"}, []any{"b", "a"}, []any{"é\""}, []any{map[string]any{"other": "\u2028"}, "b"}}).Draw(t, "some")
	case form.Number:
		return rapid.Float64().Draw(t, "number")
	case form.Integer:
		return rapid.Int32().Draw(t, "integer")
	case form.FreeText, form.Barcode:
		return rapid.String().Draw(t, "text")
	case form.Boolean, form.Consent:
		return rapid.Bool().Draw(t, "boolean")
	case form.Date:
		return "2026-01-31"
	case form.Time:
		return "14:05"
	case form.DateTime:
		return "2026-01-31T14:05:00Z"
	case form.Geo:
		return map[string]any{"lon": rapid.Float64Range(-180, 180).Draw(t, "lon"), "lat": 1, "accuracy": 4}
	case form.Photo:
		return sum
	case form.Rating:
		return rapid.IntRange(1, 5).Draw(t, "rating")
	case form.Rank:
		return []any{"b", "a"}
	case form.Matrix:
		return map[string]any{"r": "a", "\U0001F525": "a", "\uFB33": "a"}
	case form.Quantity:
		return map[string]any{"unit": "kg", "value": rapid.Float64Range(0, 1e6).Draw(t, "value")}
	case form.HouseholdRef:
		return "did:ixo:household/1"
	case form.Group:
		return anyAnswers(t, q.Questions)
	case form.Repeat:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, anyAnswers(t, q.Questions))
		}
		return list
	}
	return nil
}

// sameAsked wants Asked to say of questions what a page shows of them.
func sameAsked(t *rapid.T, r *form.Result, at []string, around bool, questions []form.QuestionView) {
	for _, q := range questions {
		path, want := append(slices.Clone(at), q.ID), around && q.Relevant
		if got := r.Asked(path); got != want {
			t.Fatalf("Asked(%v) = %v, want %v", path, got, want)
		}
		sameAsked(t, r, path, want, q.Questions)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tpl := anyTemplate(t)
		f, err := form.Compile(tpl)
		if err != nil {
			t.Fatalf("Compile() = %v %+v", err, fault.As(err).Fields)
		}
		answers := map[string]any{}
		for _, s := range tpl.Sections {
			answers[s.ID] = anyAnswers(t, s.Questions)
		}
		raw, err := json.Marshal(answers)
		if err != nil {
			t.Fatal(err)
		}
		r := check(f, string(raw))
		for _, s := range f.View("en", r) {
			sameAsked(t, r, []string{s.ID}, s.Relevant, s.Questions)
		}
		canonical(t, "Answers", r.Answers)
		canonical(t, "Public", r.Public)
		if r.Private != nil {
			canonical(t, "Private", r.Private)
		}
		merged, err := form.Merge(r.Public, r.Private)
		if err != nil || string(merged) != string(r.Answers) {
			t.Fatalf("Merge(%s, %s) = %s (%v), want %s", r.Public, r.Private, merged, err, r.Answers)
		}
		again := check(f, string(r.Answers))
		if string(again.Answers) != string(r.Answers) || !again.OK() || len(again.Dropped) != 0 {
			t.Fatalf("second check = %s, wrong %s, dropped %v; want %s", again.Answers, said(again.Wrong), again.Dropped, r.Answers)
		}
		if again.Relevant != r.Relevant || r.OK() && (again.Answered != r.Answered || said(again.Missing) != said(r.Missing)) {
			t.Fatalf("second check counts %d/%d, first %d/%d", again.Answered, again.Relevant, r.Answered, r.Relevant)
		}
		for _, s := range tpl.Sections {
			if _, err := f.Select([]string{s.ID}); err != nil {
				t.Fatal(err)
			}
		}
		f.View("sw", r)
		f.Columns()
	})
}

// canonical fails unless v is RFC 8785.
func canonical(t *rapid.T, what string, v jsontext.Value) {
	c := v.Clone()
	if err := c.Canonicalize(); err != nil || string(c) != string(v) {
		t.Fatalf("%s = %s, want the canonical %s (%v)", what, v, c, err)
	}
}

func FuzzCheck(f *testing.F) {
	forms := []*form.Form{compile(f, documented), compile(f, household), compile(f, personal), compile(f, waiting)}
	for _, s := range []string{
		`{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":5}}`,
		`{"consent":{"consent_given":true},"cooking":{"fuels":["wood",{"other":"x"}],"wood_kg":5,"devices":[{"type":"mud","parts":[{"part":"a"}]}]}}`,
		`{"a":{"name":"\ud83d\ude00","people":[{"born":"1980-01-01"},{}],"debts":[{"sum":1e308}]},"b":{"where":{"lat":1,"lon":2}}}`,
		`{"a":{"fuel":"wood","wood":3,"total":1,"people":[{"job":"x","home":{"by":"y"}}]},"b":{"grid":{"y":"1"},"why":"z","late":"z"}}`,
		`{"a":`, `[[[[`, `"\ud800"`, "{\"a\":{\"name\":\"\xff\"}}", `{"":{"":0}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answers []byte) {
		for _, one := range forms {
			for _, open := range []bool{false, true} {
				fuzzCheck(t, one, form.Input{Answers: answers, Now: now, Partial: open})
			}
		}
	})
}

func fuzzCheck(t *testing.T, f *form.Form, in form.Input) {
	r := f.Check(in)
	for _, v := range []jsontext.Value{r.Answers, r.Public, r.Private} {
		c := v.Clone()
		if v != nil && (c.Canonicalize() != nil || string(c) != string(v)) {
			t.Fatalf("Check(%q) gives %s, want the canonical %s", in.Answers, v, c)
		}
	}
	if merged, err := form.Merge(r.Public, r.Private); err != nil || string(merged) != string(r.Answers) {
		t.Fatalf("Merge() = %s (%v), want %s", merged, err, r.Answers)
	}
	again := in
	again.Answers = r.Answers
	if second := f.Check(again); string(second.Answers) != string(r.Answers) {
		t.Fatalf("second check of %q = %s, want %s", in.Answers, second.Answers, r.Answers)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add([]byte(documented))
	f.Add([]byte(household))
	f.Add([]byte(personal))
	f.Add([]byte(waiting))
	f.Add([]byte(`{"sections":[{"id":"s","relevant":"q.a > 1","questions":[{"id":"q","type":"group","questions":[{"id":"a","type":"x","relevant":"s.q"},{"id":"a","type":"text","default":1,"validation":{"regex":"\\Qa"}}]}]},{"id":"","questions":[]}]}`))
	f.Add([]byte(`{"sections":[{"id":"s","title":{"en":1},"questions":[{"id":"q","type":"single_choice","required":"x","options":[{"value":"a","score":1e400}]}]}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var tpl form.Template
		if json.Unmarshal(doc, &tpl, json.RejectUnknownMembers(true)) != nil {
			return
		}
		out, err := json.Marshal(&tpl, json.Deterministic(true))
		if err != nil {
			return
		}
		if _, err := form.Compile(&tpl); err != nil {
			if e := fault.As(err); e == nil || e.Code != "TEMPLATE_INVALID" || len(e.Fields) == 0 {
				t.Fatalf("Compile(%s) = %v", doc, err)
			}
			return
		}
		again := template(t, string(out))
		if _, err := form.Compile(again); err != nil {
			t.Fatalf("Compile(%s) = %v, but the first was valid", out, err)
		}
		if d := form.Diff(&tpl, again); d.Verdict != form.Identical {
			t.Fatalf("Diff() after a round trip = %+v", d)
		}
		tpl.Completeness()
	})
}
