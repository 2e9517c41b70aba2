package export

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

var texts = []string{
	`{}`, `[]`, `null`, `-1.5e3`, `"a\"b\\"`, `{"a":{"b":[1,{"c":"}]"}]},"d":"\\\\"}`, ` { "a" : [ 1 , 2 ] } `, `{"a":{"other":"x"},"b":{"noAnswer":"refused"}}`,
	`{"a":{"fuels":["wood",{"other":"x"}],"where":{"lat":1.25,"lon":-2},"grid":{"r":"x"},"q":{"unit":"kg","value":1},"rep":[{"n":1},{}]}}`,
	`{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `"\`, `{"other":`, `{"a":[{"other":`, `{"a":{"rep":[1]}}`, `{"a":{"rep":{}}}`, `{"a":1}`, `{"a":{"fuels":"x"}}`, "\x00", `{"a" 1}`, `{a:1}`,
}

// What is JSON is walked over whole.
func FuzzScan(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := scanner{s: s}
		v := p.value()
		p.space()
		if jsontext.Value(s).IsValid() && (p.bad || p.i != len(s) || v != strings.TrimSpace(s)) {
			t.Errorf("value(%q) = %q, bad %v at %d", s, v, p.bad, p.i)
		}
	})
}

// Whatever the store holds, writing it ends, and what was JSON stays JSON.
func FuzzWriters(f *testing.F) {
	c, err := form.Compile(&form.Template{Sections: []form.Section{{ID: "a", Questions: []form.Question{
		{ID: "fuels", Type: form.MultipleChoice, Options: []form.Option{{Value: "wood"}}, Other: true},
		{ID: "where", Type: form.Geo},
		{ID: "grid", Type: form.Matrix, Rows: []form.Option{{Value: "r"}}, Options: []form.Option{{Value: "x"}}},
		{ID: "q", Type: form.Quantity, Units: []string{"kg"}},
		{ID: "rep", Type: form.Repeat, Questions: []form.Question{{ID: "n", Type: form.Integer}}},
		{ID: "of", Type: form.HouseholdRef},
		{ID: "w", Type: form.FreeText},
	}}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answers string) {
		// Only what is written in one line stays in one.
		valid := jsontext.Value(answers).IsValid() && !strings.ContainsRune(answers, '\n')
		for _, level := range Levels() {
			for _, shape := range []Shape{Wide, Long} {
				l := NewLayout(LayoutConfig{Form: c, Level: level, Shape: shape, Names: func(v string) string { return "hh_" + v }})
				write(t, l, answers, valid)
			}
		}
	})
}

// write writes a response in all formats that are lines.
func write(t *testing.T, l *Layout, answers string, valid bool) {
	t.Helper()
	for _, format := range []Format{CSV, NDJSON} {
		w, _ := l.Writer(format, About{})
		b, err := w.Add(nil, &Response{ID: "r", Head: `{}`, Answers: answers})
		if err != nil || format == CSV || !valid {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if v := jsontext.Value(line); !v.IsValid() {
				t.Errorf("%s %s: %q", l.cfg.Level, l.cfg.Shape, line)
			}
		}
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		ms := noise.Int64N(400_000_000_000_000) - 100_000_000_000_000
		if i < 2000 {
			ms = int64(i) - 1000
		}
		if got, want := string(appendMoment(nil, ms)), time.UnixMilli(ms).UTC().Format(web.TimeFormat); got != want {
			t.Fatalf("appendMoment(%d) = %s, want %s", ms, got, want)
		}
	}
}
