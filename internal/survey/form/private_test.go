package form_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const personal = `{"sections":[
	{"id":"a","questions":[
		{"id":"name","type":"text","pii":"direct"},
		{"id":"size","type":"number","pii":"none"},
		{"id":"greeting","type":"calculate","calculate":"'Dear ' + name"},
		{"id":"initial","type":"calculate","calculate":"name.substring(0, 1)","pii":"none"},
		{"id":"people","type":"repeat","questions":[
			{"id":"born","type":"date","pii":"indirect"},
			{"id":"works","type":"boolean"}
		]},
		{"id":"contact","type":"group","pii":"direct","questions":[{"id":"phone","type":"text"}]},
		{"id":"debts","type":"repeat","pii":"indirect","questions":[{"id":"sum","type":"number"}]}
	]},
	{"id":"b","questions":[{"id":"where","type":"geo","pii":"indirect"}]}
]}`

func TestPrivate(t *testing.T) {
	t.Parallel()
	f := compile(t, personal)
	for _, tt := range []struct{ name, answers, public, private, masked string }{
		{"none", `{"a":{"size":3}}`, `{"a":{"size":3}}`, "", ""},
		{
			"beside each other", `{"a":{"size":3,"name":"Amina"}}`, `{"a":{"initial":"A","size":3}}`,
			`{"a":{"greeting":"Dear Amina","name":"Amina"}}`, "/responses/a/name /responses/a/greeting",
		},
		{
			"in repeats", `{"a":{"people":[{"works":true},{"born":"1980-01-01","works":false},{}]}}`, `{"a":{"people":[{"works":true},{"works":false},{}]}}`,
			`{"a":{"people":[{},{"born":"1980-01-01"},{}]}}`, "/responses/a/people/1/born",
		},
		{"a group of them", `{"a":{"contact":{"phone":"+254"}}}`, `{}`, `{"a":{"contact":{"phone":"+254"}}}`, "/responses/a/contact/phone"},
		{"a repeat of them", `{"a":{"debts":[{"sum":5},{}]}}`, `{}`, `{"a":{"debts":[{"sum":5},{}]}}`, "/responses/a/debts/0/sum"},
		{"an empty repeat of them", `{"a":{"debts":[]}}`, `{}`, `{"a":{"debts":[]}}`, ""},
		{"alone in a section", `{"b":{"where":{"lat":1,"lon":2}}}`, `{}`, `{"b":{"where":{"lat":1,"lon":2}}}`, "/responses/b/where"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := check(f, tt.answers)
			if !r.OK() || string(r.Public) != tt.public || string(r.Private) != tt.private || strings.Join(r.Masked, " ") != tt.masked {
				t.Errorf("Public = %s, Private = %s, Masked = %v, wrong %s\nwant %s, %s, %s", r.Public, r.Private, r.Masked, said(r.Wrong), tt.public, tt.private, tt.masked)
			}
			if got, err := form.Merge(r.Public, r.Private); err != nil || string(got) != string(r.Answers) {
				t.Errorf("Merge() = %s (%v), want %s", got, err, r.Answers)
			}
		})
	}
}

func TestMergeOfBrokenParts(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{{`{"a":`, `{}`}, {`{"a":[1}`, `{"a":[2]}`}} {
		if got, err := form.Merge(jsontext.Value(tt[0]), jsontext.Value(tt[1])); err == nil {
			t.Errorf("Merge(%s, %s) = %s, want an error", tt[0], tt[1], got)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	f := compile(t, strings.Replace(personal, `{"id":"b","questions":[`, `{"id":"b","questions":[{"id":"n","type":"note"},{"id":"m","type":"matrix","rows":["r1",{"value":"r2","label":"Row 2"}],"options":["x"]},`, 1))
	var got []string
	for _, c := range f.Columns() {
		s := strings.Join(c.Path, ".") + " " + string(c.Type) + " " + string(c.PII)
		if c.Repeat {
			s += " repeat"
		}
		got = append(got, s)
	}
	want := []string{
		"a.name text direct", "a.size number none", "a.greeting calculate indirect", "a.initial calculate none",
		"a.people.born date indirect repeat", "a.people.works boolean  repeat", "a.contact.phone text direct", "a.debts.sum number indirect repeat",
		"b.m.r1 matrix ", "b.m.r2 matrix ", "b.where geo indirect",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Columns() =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	got := form.Compare(
		jsontext.Value(`{"a":{"x":1,"y":{"b":2,"a":1},"gone":[1]},"b":{"z":true}}`),
		jsontext.Value(`{"b":{"z":false,"nothing":null},"a":{"y":{"a":1.0,"b":2},"x":1,"new":"n"}}`),
	)
	var lines []string
	for _, c := range got {
		lines = append(lines, c.Pointer+" "+c.Old.String()+" > "+c.New.String())
	}
	want := "/responses/a/gone [1] > null\n/responses/a/new null > \"n\"\n/responses/b/z true > false"
	if s := strings.Join(lines, "\n"); s != want {
		t.Errorf("Compare() =\n%s\nwant\n%s", s, want)
	}
	if got := form.Compare(nil, jsontext.Value(`[]`)); len(got) != 0 {
		t.Errorf("Compare(nothing) = %v", got)
	}
}
