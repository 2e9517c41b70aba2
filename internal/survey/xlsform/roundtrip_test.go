package xlsform_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// sampleTemplate has questions of many kinds.
func sampleTemplate(t testing.TB) *form.Template {
	t.Helper()
	return load(t, "testdata/sample.json")
}

// load reads a template.
func load(t testing.TB, path string) *form.Template {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out form.Template
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// question finds a question.
func question(qs []form.Question, id string) *form.Question {
	for i := range qs {
		if qs[i].ID == id {
			return &qs[i]
		}
	}
	return nil
}

// write gives the workbook of a template.
func write(t *form.Template) ([]byte, error) {
	var out bytes.Buffer
	err := xlsform.Write(&out, t, 3)
	return out.Bytes(), err
}

func read(file []byte) (*form.Template, *xlsform.Report, error) {
	return xlsform.Read(bytes.NewReader(file), int64(len(file)), xlsform.Beside{})
}

// document is the JSON of a template, for comparing.
func document(t *form.Template) (string, error) {
	out, err := json.Marshal(t, json.Deterministic(true), jsontext.WithIndent(" "))
	return string(out), err
}

// same writes and reads a template and wants it back as it was.
func same(tmpl *form.Template) error {
	want, err := document(tmpl)
	if err != nil {
		return err
	}
	file, err := write(tmpl)
	if err != nil {
		return err
	}
	back, report, err := read(file)
	if err != nil {
		return fmt.Errorf("%w: %+v\n%s", err, report.Items, want)
	}
	for _, i := range report.Items {
		return fmt.Errorf("report: %+v\n%s", i, want)
	}
	got, err := document(back)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("template (-want +got):\n%s", diff)
	}
	return nil
}

var (
	genWord  = rapid.OneOf(rapid.StringMatching(`[a-z]{1,6}`), rapid.StringMatching(`[a-zé =,'"\-+@\[{_x0]{1,8}[a-z]`))
	genWords = rapid.Map(rapid.SliceOfNDistinct(rapid.Map(genWord, strings.TrimSpace), 0, 3, rapid.ID[string]), some)
	genTags  = []string{"en", "sw", "fr", "sw-KE", "xyz"}
)

// some makes an empty list none.
func some(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// genText makes a text: none, plain, or in languages.
func genText(t *rapid.T, name string) form.Text {
	switch rapid.IntRange(0, 2).Draw(t, name) {
	case 0:
		return nil
	case 1:
		return form.Plain(genWord.Draw(t, name))
	}
	return rapid.MapOfN(rapid.SampledFrom(genTags), genWord, 1, 3).Draw(t, name)
}

func genOptions(t *rapid.T, name string) []form.Option {
	values := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a-z0-9]{1,4}`), genWord), 1, 4, rapid.ID[string]).Draw(t, name)
	out := make([]form.Option, len(values))
	for i, v := range values {
		out[i] = form.Option{Value: v, Label: genText(t, "label"), Exclusive: rapid.Bool().Draw(t, "exclusive"), Score: genNumber(t)}
	}
	return out
}

func genNumber(t *rapid.T) *float64 {
	if rapid.Bool().Draw(t, "none") {
		return nil
	}
	f := rapid.OneOf(rapid.Map(rapid.IntRange(-20, 20), func(i int) float64 { return float64(i) }), rapid.Float64Range(-1e9, 1e9)).Draw(t, "number")
	return &f
}

// generator makes templates the form takes.
type generator struct {
	t     *rapid.T
	count int
	names []string // of numbers at the top of a section
}

// Types that stand for themselves.
var plainTypes = []form.Type{
	form.FreeText, form.Integer, form.Number, form.SingleChoice, form.MultipleChoice, form.Note, form.Date, form.Time, form.DateTime, form.Geo, form.Photo, form.Signature, form.Audio, form.File,
	form.Barcode, form.Rating, form.Rank, form.Calculate, form.Boolean, form.Consent, form.HouseholdRef, form.EntityRef, form.Matrix, form.Quantity, form.Group, form.Repeat,
}

func (g *generator) expression(name string) string {
	if len(g.names) == 0 || rapid.Bool().Draw(g.t, "without") {
		return ""
	}
	n := rapid.SampledFrom(g.names).Draw(g.t, "name")
	return fmt.Sprintf(rapid.SampledFrom([]string{"%s > 3", "!( %s==4 )", "answered(%s)", "%s in [1, 2]", "household.group == 'x' && %s < -1", "coalesce(%s, 1) > 0 && today < timestamp('2030-01-01T00:00:00Z')"}).Draw(g.t, name), n)
}

func (g *generator) question(depth int) form.Question {
	t := g.t
	g.count++
	typ := rapid.SampledFrom(plainTypes).Draw(t, "type")
	if depth > 2 && (typ == form.Group || typ == form.Repeat) {
		typ = form.FreeText
	}
	q := form.Question{
		ID: fmt.Sprintf("q%d", g.count), Type: typ, Label: genText(t, "label"), Hint: genText(t, "hint"), ConstraintMessage: genText(t, "message"), Relevant: g.expression("relevant"),
		PII: rapid.SampledFrom([]form.PII{"", form.PIINone, form.PIIDirect, form.PIIIndirect}).Draw(t, "pii"), Indicators: genWords.Draw(t, "indicators"),
		BackCheckClass: rapid.IntRange(0, 3).Draw(t, "class"), ReadOnly: rapid.Bool().Draw(t, "readOnly"),
	}
	if q.Required.Always = rapid.Bool().Draw(t, "required"); !q.Required.Always {
		q.Required.When = g.expression("when")
	}
	if typ != form.Note && typ != form.Calculate {
		q.Constraint = g.expression("constraint")
	}
	if typ != form.Note && typ != form.Calculate && typ != form.Group && typ != form.Repeat {
		q.DontKnow, q.Refuse = rapid.Bool().Draw(t, "dontKnow"), rapid.Bool().Draw(t, "refuse")
	}
	g.fill(&q, depth)
	return q
}

// fill sets the members a type has of its own.
func (g *generator) fill(q *form.Question, depth int) {
	t, v := g.t, &q.Validation
	switch q.Type {
	case form.Number, form.Integer:
		v.Min, q.Unit = genNumber(t), rapid.SampledFrom([]string{"", "kg", "m²"}).Draw(t, "unit")
		if v.Min != nil && rapid.Bool().Draw(t, "max") {
			m, s := *v.Min+5, 0.5
			v.Max, v.Step = &m, &s
		}
	case form.FreeText, form.Barcode:
		v.Regex, v.MaxLength = rapid.SampledFrom([]string{"", "[a-z]+", `a|"'b`}).Draw(t, "regex"), rapid.IntRange(0, 50).Draw(t, "length")
		if v.Regex == "" && v.MaxLength == 0 && q.Type == form.FreeText {
			q.Default = form.Value{Value: jsontext.Value(rapid.SampledFrom([]string{"", `"x y"`, `"-5"`}).Draw(t, "default"))}
		}
	case form.SingleChoice, form.Rank, form.MultipleChoice:
		q.Options = genOptions(t, "options")
		q.Other = q.Type != form.Rank && rapid.Bool().Draw(t, "other")
		if q.Type == form.MultipleChoice {
			v.MinSelections, v.MaxSelections = rapid.IntRange(0, 1).Draw(t, "least"), rapid.IntRange(0, 1).Draw(t, "most")*len(q.Options)
			if v.MinSelections < 2 && rapid.Bool().Draw(t, "default") {
				q.Default = form.Value{Value: jsontext.Value(mustJSON([]string{q.Options[0].Value}))}
			}
		}
	case form.Rating:
		if rapid.Bool().Draw(t, "rating") {
			low, high := 0.0, 10.0
			v.Min, v.Max = &low, &high
		}
	case form.Calculate:
		q.Calculate, q.Required = rapid.SampledFrom([]string{"1 + 2", `"a" + 'b'`, "household.did"}).Draw(t, "calculate"), form.Required{}
	case form.Matrix:
		q.Options, q.Rows = genOptions(t, "options"), genOptions(t, "rows")
	case form.Quantity:
		if q.Units = genWords.Draw(t, "units"); len(q.Units) == 0 {
			q.Unit = "kg"
		}
	case form.Repeat:
		q.MinRepeats = rapid.IntRange(0, 2).Draw(t, "min")
		q.MaxRepeats = rapid.SampledFrom([]int{0, 2, 7}).Draw(t, "max")
		q.Questions = []form.Question{g.question(depth + 1)}
	case form.Group:
		q.Questions = []form.Question{g.question(depth + 1), g.question(depth + 1)}
	case form.Geo:
		q.Default = form.Value{Value: jsontext.Value(rapid.SampledFrom([]string{"", `{"lat":-1.5,"lon":36}`, `{"accuracy":3,"lat":1,"lon":2}`}).Draw(t, "default"))}
	}
}

func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

func (g *generator) template() *form.Template {
	t := g.t
	out := &form.Template{
		TemplateID: rapid.SampledFrom([]string{"", "my-form.1"}).Draw(t, "id"), Title: genText(t, "title"), Description: genText(t, "description"),
		Stage: rapid.SampledFrom([]string{"", "baseline", "follow-up"}).Draw(t, "stage"), DefaultLanguage: rapid.SampledFrom([]string{"", "en", "sw"}).Draw(t, "language"),
		Languages: some(rapid.SliceOfNDistinct(rapid.SampledFrom(genTags), 0, 3, rapid.ID[string]).Draw(t, "languages")), ReviewIntervalDays: rapid.IntRange(0, 2).Draw(t, "days"),
		Metadata: form.Object{Value: jsontext.Value(rapid.SampledFrom([]string{"", `{"a":[1, 2]}`, `{"long":"` + strings.Repeat("ä ", 20_000) + `"}`}).Draw(t, "metadata"))},
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "sections") {
		s := form.Section{
			ID: fmt.Sprintf("s%d", i), Title: genText(t, "title"), Hint: genText(t, "hint"), Relevant: g.expression("relevant"),
			Flag: rapid.SampledFrom([]string{"", "cookingPatterns"}).Draw(t, "flag"),
		}
		number := fmt.Sprintf("n%d", i)
		s.Questions = []form.Question{{ID: number, Type: form.Number}}
		g.names = append(g.names, number, s.ID+"."+number)
		for range rapid.IntRange(0, 4).Draw(t, "questions") {
			s.Questions = append(s.Questions, g.question(1))
		}
		out.Sections = append(out.Sections, s)
	}
	if rapid.Bool().Draw(t, "required") {
		out.Validations = form.Validations{RequiredSections: []string{"s0"}, CompletionThreshold: 0.85}
	}
	return out
}

// Write, then Read, and a template is what it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tmpl := (&generator{t: t}).template()
		if _, err := form.Compile(tmpl); err != nil {
			text, _ := document(tmpl)
			t.Skipf("the form does not take it: %+v\n%s", fault.As(err).Fields, text)
		}
		if err := same(tmpl); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRoundTripSample(t *testing.T) {
	t.Parallel()
	if err := same(sampleTemplate(t)); err != nil {
		t.Error(err)
	}
}

// The templates we ship come back too, and other programs can open them.
func TestRoundTripShipped(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../template/shipped/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			tmpl := load(t, path)
			if err := same(tmpl); err != nil {
				t.Fatal(err)
			}
			file, err := write(tmpl)
			if err != nil {
				t.Fatal(err)
			}
			x, err := excelize.OpenReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			rows, err := x.GetRows("survey")
			if err != nil || len(rows) < 20 || rows[0][0] != "type" || rows[1][0] != "begin_group" {
				t.Errorf("survey = %d rows, %v; want a header and groups", len(rows), err)
			}
			choices, err := x.GetRows("choices")
			if err != nil {
				t.Fatal(err)
			}
			for _, header := range choices[0] { // other programs take what comes after :: for a language
				if strings.Contains(header, "::") && !strings.HasPrefix(header, "label::") {
					t.Errorf("the sheet choices has a column %s", header)
				}
			}
		})
	}
}

// rows are the rows of a sheet by a column, and their cells by header.
func rows(t *testing.T, file []byte, sheet, by string) map[string]map[string]string {
	t.Helper()
	x, err := excelize.OpenReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	all, err := x.GetRows(sheet)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, r := range all[1:] {
		row := map[string]string{}
		for i, text := range r {
			row[all[0][i]] = text
		}
		if out[row[by]] == nil { // the end of a group has its name too
			out[row[by]] = row
		}
	}
	return out
}
