package form_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const villages = "\ufeffname;label;county;pop\nv1;Mutomo;kitui;120\nv2;Ikutha;kitui;80\nv3;Wote;makueni;200\nv3;Wote East;kitui;10\n"

// cascade asks for a county, and for a town and a village of it.
func cascade(t *testing.T, change ...func(*form.Template)) *form.Template {
	t.Helper()
	file, err := form.ReadFile("villages.csv", []byte(villages))
	if err != nil {
		t.Fatal(err)
	}
	var out form.Template
	err = json.Unmarshal([]byte(`{"sections":[{"id":"place","questions":[
		{"id":"county","type":"single_choice","options":["kitui","makueni"]},
		{"id":"town","type":"single_choice","choiceFilter":"choice.county == county","other":true,"options":[
			{"value":"a","data":[{"county":"kitui"}]},{"value":"b","label":"B","data":[{"county":"makueni"}]},
			{"value":"c","data":[{"county":"kitui"},{"county":"makueni"}]},"d"]},
		{"id":"village","type":"single_choice","optionsFrom":{"file":"villages.csv"},"choiceFilter":"choice.county == county && choice.value != \"v2\""},
		{"id":"all","type":"multiple_choice","optionsFrom":{"file":"villages.csv","label":"county"}},
		{"id":"pop","type":"calculate","calculate":"number(item(found(files.villages, \"name\", village).map(v, v.pop), 0))"},
		{"id":"big","type":"calculate","calculate":"files.villages.filter(v, number(v.pop) > 100.0).map(v, v.label)"},
		{"id":"trips","type":"repeat","questions":[
			{"id":"from","type":"single_choice","options":["kitui","makueni"]},
			{"id":"to","type":"multiple_choice","optionsFrom":{"file":"villages.csv"},"choiceFilter":"choice.county == from"}]}
	]}]}`), &out)
	if err != nil {
		t.Fatal(err)
	}
	out.Files = []form.DataFile{*file}
	for _, f := range change {
		f(&out)
	}
	return &out
}

func TestChoicesThatFit(t *testing.T) {
	t.Parallel()
	f, err := form.Compile(cascade(t))
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	for _, tt := range []struct{ name, place, wrong, answers string }{
		{"all fit", `{"county":"kitui","town":"c","village":"v1","all":["v1","v3"]}`, "", `"pop":120`},
		{"a row of two", `{"county":"makueni","town":"c","village":"v3"}`, "", `"pop":200`},
		{"the other row", `{"county":"kitui","village":"v3"}`, "", `"village":"v3"`},
		{"a town of another county", `{"county":"kitui","town":"b"}`, "/responses/place/town not_offered", ""},
		{"a town of no county", `{"town":"a"}`, "/responses/place/town not_offered", ""},
		{"a town without data", `{"county":"kitui","town":"d"}`, "/responses/place/town not_offered", ""},
		{"other words", `{"county":"kitui","town":{"other":"Zombe"}}`, "", `{"other":"Zombe"}`},
		{"a village left out", `{"county":"kitui","village":"v2"}`, "/responses/place/village not_offered", ""},
		{"no village", `{"county":"kitui","village":"v9"}`, "/responses/place/village not_an_option", ""},
		{"one of several", `{"all":["v1","v9"]}`, "/responses/place/all/1 not_an_option", ""},
		{"looked up", `{}`, "", `"big":["Mutomo","Wote"]`},
		{"in a repeat", `{"trips":[{"from":"kitui","to":["v1"]},{"from":"makueni","to":["v3","v1"]}]}`, "/responses/place/trips/1/to not_offered", ""},
	} {
		r := f.Check(form.Input{Answers: []byte(`{"place":` + tt.place + `}`)})
		var wrong []string
		for _, w := range r.Wrong {
			wrong = append(wrong, w.Pointer+" "+w.Code)
		}
		if strings.Join(wrong, "; ") != tt.wrong {
			t.Errorf("%s: wrong = %q, want %q", tt.name, wrong, tt.wrong)
		}
		if tt.wrong == "" && !strings.Contains(string(r.Answers), tt.answers) {
			t.Errorf("%s: answers = %s, want %s in them", tt.name, r.Answers, tt.answers)
		}
	}
	if r := f.Check(form.Input{Answers: []byte(`{"place":{"town":"a"}}`), Partial: true}); !r.OK() {
		t.Errorf("partial: the county may still come: %+v", r.Wrong)
	}
}

func TestPreviewOffersWhatFits(t *testing.T) {
	t.Parallel()
	f, err := form.Compile(cascade(t))
	if err != nil {
		t.Fatal(err)
	}
	shown := func(answers string) string {
		r := f.Check(form.Input{Answers: []byte(`{"place":` + answers + `}`)})
		var out []string
		for _, q := range f.View("en", r)[0].Questions[1:4] {
			var values []string
			for _, o := range q.Options {
				values = append(values, o.Value+"="+o.Label)
			}
			out = append(out, strings.Join(values, " "))
		}
		return strings.Join(out, "|")
	}
	const everything = "v1=kitui v2=kitui v3=makueni"
	for answers, want := range map[string]string{
		`{}`:                   "||" + everything,
		`{"county":"kitui"}`:   "a=a c=c|v1=Mutomo v3=Wote East|" + everything,
		`{"county":"makueni"}`: "b=B c=c|v3=Wote|" + everything,
	} {
		if got := shown(answers); got != want {
			t.Errorf("%s offers %q, want %q", answers, got, want)
		}
	}
}

func TestFilesAreChecked(t *testing.T) {
	t.Parallel()
	question := func(t *form.Template, i int) *form.Question { return &t.Sections[0].Questions[i] }
	for _, tt := range []struct {
		name, want string
		change     func(*form.Template)
	}{
		{"no such file", "/sections/0/questions/2/optionsFrom/file unknown", func(t *form.Template) { question(t, 2).OptionsFrom.File = "towns.csv" }},
		{"no such column", "/sections/0/questions/2/optionsFrom/value unknown", func(t *form.Template) { question(t, 2).OptionsFrom.Value = "id" }},
		{"no such label", "/sections/0/questions/3/optionsFrom/label unknown", func(t *form.Template) { question(t, 3).OptionsFrom.Label = "title" }},
		{"no such member", "/sections/0/questions/1/choiceFilter expression", func(t *form.Template) { question(t, 1).ChoiceFilter = "choice.district == county" }},
		{"no such column to look up", "/sections/0/questions/4/calculate expression", func(t *form.Template) { question(t, 4).Calculate = `count(found(files.villages, "id", 1))` }},
		{"no such table", "/sections/0/questions/4/calculate expression", func(t *form.Template) { question(t, 4).Calculate = `count(files.towns)` }},
		{"both", "/sections/0/questions/2/options not_allowed", func(t *form.Template) { question(t, 2).Options = []form.Option{{Value: "a"}} }},
		{"filter of a text", "/sections/0/questions/0/choiceFilter not_allowed", func(t *form.Template) {
			*question(t, 0) = form.Question{ID: "county", Type: form.FreeText, ChoiceFilter: "true"}
		}},
		{"a member of ours", "/sections/0/questions/1/options/0/data/0/label reserved", func(t *form.Template) { question(t, 1).Options[0].Data[0]["label"] = "x" }},
		{"no word", "/sections/0/questions/1/options/0/data/0/a b invalid", func(t *form.Template) { question(t, 1).Options[0].Data[0]["a b"] = "x" }},
		{"content that is not here", "/files/0/sha256 unknown", func(t *form.Template) { t.Files = []form.DataFile{{Name: "villages.csv", SHA256: "00"}} }},
		{"twice", "/files/1/name duplicate", func(t *form.Template) { t.Files = append(t.Files, t.Files[0]) }},
		{"a name with a folder", "/files/0/name invalid", func(t *form.Template) { t.Files[0].Name = "../villages.csv" }},
		{"a name with a folder of Windows", "/files/0/name invalid", func(t *form.Template) { t.Files[0].Name = `a\villages.csv` }},
		{"a name that is hidden", "/files/0/name invalid", func(t *form.Template) { t.Files[0].Name = ".villages.csv" }},
		{"a name with a line feed", "/files/0/name invalid", func(t *form.Template) { t.Files[0].Name = "vill\nages.csv" }},
		{"too many", "/files too_many", func(t *form.Template) { t.Files = make([]form.DataFile, form.MaxFiles+1) }},
		{"a section of this name", "/sections/0/id reserved", func(t *form.Template) { t.Sections[0].ID = "files" }},
	} {
		_, err := form.Compile(cascade(t, tt.change))
		found := fault.As(err)
		if found == nil {
			t.Errorf("%s: compiled, want %s", tt.name, tt.want)
			continue
		}
		if got := found.Fields[0].Pointer + " " + found.Fields[0].Code; got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, found.Fields[0].Detail, tt.want)
		}
	}
}

// Nothing is read beyond the limits, and nothing twice.
func TestAttachWithinLimits(t *testing.T) {
	t.Parallel()
	stored := map[string][]byte{}
	var sums []string
	for i, lines := range []int{1, 2097, 2097, 2097} {
		raw := []byte("name\n" + strings.Repeat(strings.Repeat(string('a'+rune(i)), 999)+"\n", lines))
		f, err := form.ReadFile("x.csv", raw)
		if err != nil {
			t.Fatal(err)
		}
		stored[f.SHA256] = raw
		sums = append(sums, f.SHA256)
	}
	small, large := sums[0], sums[1:]
	for _, tt := range []struct {
		name, want string
		files      []string
		reads      int
	}{
		{"too many", "/files too_many", slices.Repeat(sums[:1], form.MaxFiles+1), 0},
		{"one hash in all", "", slices.Repeat(sums[:1], form.MaxFiles), 1},
		{"one that nobody has", "", slices.Repeat([]string{"00"}, form.MaxFiles), 1},
		{"too large", "/files too_large", []string{large[0], large[1], large[2], small}, 3},
		{"too large with one content", "/files too_large", slices.Repeat(large[:1], form.MaxFiles), 1},
		{"as large as may be", "", large[:2], 2},
	} {
		tpl := &form.Template{}
		for i, sum := range tt.files {
			tpl.Files = append(tpl.Files, form.DataFile{Name: fmt.Sprintf("f%d.csv", i), SHA256: sum})
		}
		reads := 0
		err := tpl.Attach(func(sum string) ([]byte, error) {
			reads++
			return stored[sum], nil
		})
		got := ""
		if bad := fault.As(err); bad != nil {
			got = bad.Fields[0].Pointer + " " + bad.Fields[0].Code
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got != tt.want || reads != tt.reads {
			t.Errorf("%s: %q after %d reads, want %q after %d", tt.name, got, reads, tt.want, tt.reads)
		}
		if last := tpl.Files[len(tpl.Files)-1]; last.Name != fmt.Sprintf("f%d.csv", len(tpl.Files)-1) {
			t.Errorf("%s: the last file is called %s", tt.name, last.Name)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	f, err := form.ReadFile("a-b.csv", []byte("Name, Full name ,name,in,2nd\na,b,c,d,e\n\"x, y\",,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	short, err := form.ReadFile("s.csv", []byte("name,label,a,b\nx\ny,Y\n"))
	if err != nil {
		t.Fatal(err)
	}
	tpl := &form.Template{Files: []form.DataFile{*short}, Sections: []form.Section{{ID: "s", Questions: []form.Question{
		{ID: "q", Type: form.SingleChoice, OptionsFrom: &form.OptionsFrom{File: "s.csv"}, ChoiceFilter: `choice.b == ""`},
		{ID: "c", Type: form.Calculate, Calculate: `item(found(files.s, "a", "").map(i, i.b), 0)`},
	}}}}
	form1, err := form.Compile(tpl)
	if err != nil {
		t.Fatal(err)
	}
	if r := form1.Check(form.Input{Answers: []byte(`{"s":{"q":"x"}}`)}); !r.OK() || len(form1.View("en", r)[0].Questions[0].Options) != 2 {
		t.Errorf("rows that end early: %+v", r.Wrong)
	}
	if got := strings.Join(f.Columns, " "); got != "Name Full_name name_2 _in _2nd" || f.Rows != 2 || f.Key() != "a_b" || !f.Has("A-B") {
		t.Errorf("columns %q, %d rows, key %s", got, f.Rows, f.Key())
	}
	for _, tt := range []struct{ raw, code string }{
		{"", "no_columns"},
		{"a\nb,c\n", "too_many_cells"},
		{"a\n\xff\n", "invalid_text"},
		{"a\n\"b\n", "open_quote"},
		{"a\n" + strings.Repeat("é", form.MaxText+1) + "\n", "too_long"},
		{strings.Repeat("a,", 100) + "a\n", "too_many_columns"},
		{"a\n" + strings.Repeat("b\n", form.MaxFileRows+1), "too_many_rows"},
		{strings.Repeat("b", form.MaxFileBytes+1), "too_large"},
	} {
		_, err := form.ReadFile("x.csv", []byte(tt.raw))
		if e := sheet.AsError(err); e == nil || e.Code != tt.code {
			t.Errorf("ReadFile(%.20q) = %v, want %s", tt.raw, err, tt.code)
		}
	}
}

// A long file is looked up at once, and what walks over all of it is bounded.
func TestLongFile(t *testing.T) {
	t.Parallel()
	var raw strings.Builder
	raw.WriteString("name,label,county\n")
	for i := range form.MaxFileRows {
		fmt.Fprintf(&raw, "v%d,Village %d,c%d\n", i, i, i%500)
	}
	tpl := cascade(t, func(t *form.Template) {
		f, err := form.ReadFile("villages.csv", []byte(raw.String()))
		if err != nil {
			panic(err)
		}
		t.Files = []form.DataFile{*f}
		qs := t.Sections[0].Questions
		qs[0] = form.Question{ID: "county", Type: form.FreeText}
		qs[1] = form.Question{ID: "label", Type: form.Calculate, Calculate: `item(found(files.villages, "name", village).map(v, v.label), 0)`}
		qs[4] = form.Question{ID: "walk", Type: form.Calculate, Calculate: `files.villages.filter(v, v.label == "no" || v.label.contains("9999")).map(v, v.name)`}
		qs[5] = form.Question{ID: "last", Type: form.FreeText}
	})
	f, err := form.Compile(tpl)
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	r := f.Check(form.Input{Answers: []byte(`{"place":{"county":"c499","village":"v19999"}}`)})
	if !r.OK() || !strings.Contains(string(r.Answers), `"label":"Village 19999"`) || strings.Contains(string(r.Answers), "walk") {
		t.Errorf("wrong %+v, answers %s", r.Wrong, r.Answers)
	}
	if n := len(f.View("en", r)[0].Questions[2].Options); n != 40 {
		t.Errorf("%d villages are offered, want 40", n)
	}
	if n := len(f.View("en", r)[0].Questions[3].Options); n != form.MaxOptions {
		t.Errorf("%d villages are shown without a filter, want %d", n, form.MaxOptions)
	}
}

// Lookups in a file whose rows are all alike are charged for what they find;
// those that find a few rows cost little, however many there are.
func TestLookupsAreCharged(t *testing.T) {
	t.Parallel()
	var raw strings.Builder
	raw.WriteString("name,g\n")
	for i := range form.MaxFileRows {
		fmt.Fprintf(&raw, "v%d,1\n", i)
	}
	file, err := form.ReadFile("v.csv", []byte(raw.String()))
	if err != nil {
		t.Fatal(err)
	}
	compiled := func(calculations ...string) *form.Form {
		t.Helper()
		qs := []form.Question{{ID: "village", Type: form.SingleChoice, OptionsFrom: &form.OptionsFrom{File: "v.csv"}, ChoiceFilter: `choice.g == "1"`}}
		for i, c := range calculations {
			qs = append(qs, form.Question{ID: fmt.Sprintf("c%d", i), Type: form.Calculate, Calculate: c})
		}
		f, err := form.Compile(&form.Template{Files: []form.DataFile{*file}, Sections: []form.Section{{ID: "s", Questions: qs}}})
		if err != nil {
			t.Fatalf("%+v", fault.As(err).Fields)
		}
		return f
	}
	answers := form.Input{Answers: []byte(`{"s":{"village":"v777"}}`)}

	f := compiled(slices.Repeat([]string{`item(found(files.v, "name", village).map(v, v.name), 0)`}, 200)...)
	r := f.Check(answers)
	if !r.OK() || strings.Count(string(r.Answers), `"v777"`) != 201 {
		t.Errorf("200 lookups: wrong %+v, answers %.300s", r.Wrong, r.Answers)
	}
	if !r.Asked([]string{"s", "village"}) || r.Asked([]string{"s", "town"}) || r.Asked([]string{"s"}) || r.Asked([]string{"t", "village"}) {
		t.Error("Asked() knows other questions than there are, or not the one there is")
	}
	if n := len(f.View("en", r)[0].Questions[0].Options); n != form.MaxOptions {
		t.Errorf("%d villages are offered, want %d", n, form.MaxOptions)
	}

	const bomb = `size(files.v.filter(r, size(found(files.v, "g", "1")) > 5))`
	if r := compiled(bomb).Check(answers); !r.OK() || strings.Contains(string(r.Answers), "c0") {
		t.Errorf("a bomb: wrong %+v, answers %s, want no value", r.Wrong, r.Answers)
	}
	if r := compiled(slices.Repeat([]string{bomb}, 20)...).Check(answers); said(r.Wrong) != "/responses too_costly" {
		t.Errorf("20 bombs: %s, want too_costly", said(r.Wrong))
	}
}
