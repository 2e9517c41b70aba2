package form_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

func TestTextIn(t *testing.T) {
	t.Parallel()
	text := form.Text{"en": "stove", "sw": "jiko", "fr-CA": "poêle"}
	for _, tt := range []struct{ lang, fallback, want string }{
		{"sw", "en", "jiko"}, {"sw-KE", "en", "jiko"}, {"de", "en", "stove"}, {"", "sw", "jiko"}, {"de", "nl", "stove"}, {"fr", "sw", "jiko"}, {"fr-CA", "", "poêle"},
	} {
		if got := text.In(tt.lang, tt.fallback); got != tt.want {
			t.Errorf("In(%q, %q) = %q, want %q", tt.lang, tt.fallback, got, tt.want)
		}
	}
	if got := form.Plain("x").In("sw", "en"); got != "x" {
		t.Errorf("a plain text in any language = %q", got)
	}
	if got := form.Text(nil).In("sw", "en"); got != "" {
		t.Errorf("no text = %q", got)
	}
}

func TestCompleteness(t *testing.T) {
	t.Parallel()
	var tpl form.Template
	if err := json.Unmarshal([]byte(`{"title":"T","languages":["sw"],"sections":[{"id":"s","title":{"en":"S","sw":"S","fr":"S"},"questions":[
		{"id":"a","type":"single_choice","label":{"sw":"A"},"options":["x",{"value":"y","label":{"en":"Y","sw":"Y"}}]},
		{"id":"g","type":"group","questions":[{"id":"b","type":"note","label":""},{"id":"c","type":"calculate","calculate":"1"}]}]}]}`), &tpl); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range tpl.Completeness() {
		got = append(got, fmt.Sprintf("%s %v %d/%d %v %s", r.Language, r.Default, r.Present, r.Total, r.Complete, strings.Join(r.Missing, " ")))
	}
	want := []string{
		"en true 3/5 false /sections/0/questions/0/label /sections/0/questions/1/questions/0/label",
		"fr false 1/5 false /title /sections/0/questions/0/label /sections/0/questions/0/options/1/label /sections/0/questions/1/questions/0/label",
		"sw false 3/5 false /title /sections/0/questions/1/questions/0/label",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Completeness() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func FuzzParts(f *testing.F) {
	for _, s := range []string{`"x"`, `{"en":"x","sw":"y"}`, `{}`, `null`, `true`, `1`, `[]`, `{"value":"a","label":{"en":"A"},"exclusive":true,"score":2}`, `{"valu":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		roundTrip[form.Text](t, doc)
		roundTrip[form.Option](t, doc)
		roundTrip[form.Required](t, doc)
	})
}

func roundTrip[T any](t *testing.T, doc []byte) {
	var a, b T
	if json.Unmarshal(doc, &a) != nil {
		return
	}
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatalf("Marshal(%#v) = %v", a, err)
	}
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatalf("Unmarshal(%s) = %v", out, err)
	}
	if again, _ := json.Marshal(b); string(again) != string(out) {
		t.Fatalf("second round = %s, want %s", again, out)
	}
}

func TestPartsRefuse(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{`{"title":1,"sections":[]}`, `{"title":{"en":1},"sections":[]}`, `{"sections":[{"id":"s","questions":[{"id":"q","type":"note","required":1}]}]}`, `{"sections":[{"id":"s","questions":[{"id":"q","type":"note","options":[1]}]}]}`, `{"sections":[{"id":"s","questions":[{"id":"q","type":"note","options":[{"value":"a","x":1}]}]}]}`} {
		var tpl form.Template
		err := json.Unmarshal([]byte(doc), &tpl, json.RejectUnknownMembers(true))
		if err == nil || !strings.Contains(err.Error(), "json") {
			t.Errorf("Unmarshal(%s) = %v, want an error", doc, err)
		}
	}
}

// TestRefusalsHaveAPointer guards what the HTTP edge tells a client.
func TestRefusalsHaveAPointer(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"title":1,"sections":[]}`:        "/title",
		`{"title":{"en":1},"sections":[]}`: "/title/en",
		`{"sections":[{"id":"s","questions":[{"id":"q","type":"note","required":1}]}]}`:                         "/sections/0/questions/0/required",
		`{"sections":[{"id":"s","questions":[{"id":"q","type":"note","options":["a",1]}]}]}`:                    "/sections/0/questions/0/options/1",
		`{"sections":[{"id":"s","questions":[{"id":"q","type":"note","options":[{"value":"a","x":1}]}]}]}`:      "/sections/0/questions/0/options/0/x",
		`{"sections":[{"id":"s","questions":[{"id":"q","type":"note","options":[{"value":"a","score":""}]}]}]}`: "/sections/0/questions/0/options/0/score",
	} {
		var tpl form.Template
		err := json.Unmarshal([]byte(doc), &tpl, json.RejectUnknownMembers(true))
		var semantic *json.SemanticError
		if !errors.As(err, &semantic) || string(semantic.JSONPointer) != want {
			t.Errorf("Unmarshal(%s) = %v, want the pointer %s", doc, err, want)
		}
	}
}
