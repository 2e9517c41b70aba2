package form_test

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// shade is a type that only tests have: a colour such as #ff8800.
const shade form.Type = "shade"

func TestMain(m *testing.M) {
	colour := regexp.MustCompile(`^#[0-9a-f]{6}$`)
	form.AddText(form.Kind{
		Type: shade, Members: form.Members{NoAnswer: true}, Quality: form.Quality{Unique: true},
		XLSForm: form.XLSForm{Word: "text", Marks: []string{"text"}},
	}, func(s string) string {
		if colour.MatchString(s) {
			return ""
		}
		return "a colour such as #ff8800"
	})
	os.Exit(m.Run())
}

const painted = `{"templateId":"paint","sections":[{"id":"s","questions":[
	{"id":"wall","type":"shade","label":"Wall?","dontKnow":true,"default":"#ffffff","backCheckClass":1},
	{"id":"why","type":"text","label":"Why red?","relevant":"wall == '#ff0000'"},
	{"id":"rooms","type":"repeat","questions":[{"id":"door","type":"shade","label":"Door?"}]}
]}]}`

const paintedAnswers = `{"s":{"rooms":[{"door":"#00ff00"}],"wall":"#ff0000","why":"It was cheap."}}`

// A type that is one value in the table is asked, read, refused and seen by
// expressions and the preview like those that are built in.
func TestAddedTypeInForms(t *testing.T) {
	t.Parallel()
	f := compile(t, painted)
	r := check(f, paintedAnswers)
	if !r.Complete || string(r.Answers) != paintedAnswers {
		t.Errorf("Check() = %s, wrong %s", r.Answers, said(r.Wrong))
	}
	for answers, want := range map[string]string{
		`{"s":{"wall":"red"}}`:                    "/responses/s/wall invalid",
		`{"s":{"wall":""}}`:                       "/responses/s/wall invalid",
		`{"s":{"wall":1}}`:                        "/responses/s/wall wrong_type",
		`{"s":{"wall":{"noAnswer":"refused"}}}`:   "/responses/s/wall/noAnswer not_allowed",
		`{"s":{"rooms":[{},{"door":"#FF0000"}]}}`: "/responses/s/rooms/1/door invalid",
	} {
		if got := said(check(f, answers).Wrong); got != want {
			t.Errorf("Check(%s) = %s, want %s", answers, got, want)
		}
	}
	if r := check(f, `{"s":{"wall":"#00ff00","why":"It was cheap."}}`); !slices.Equal(r.Dropped, []string{"/responses/s/why"}) {
		t.Errorf("Dropped = %v, want the question that depends on the colour", r.Dropped)
	}
	for doc, want := range map[string]string{
		questions(`{"id":"a","type":"shade","default":"red"}`):                   "/sections/0/questions/0/default invalid",
		questions(`{"id":"a","type":"shade","options":["red"]}`):                 "/sections/0/questions/0/options not_allowed",
		questions(`{"id":"a","type":"shade","constraint":"a + 1 > 2"}`):          "/sections/0/questions/0/constraint expression",
		questions(`{"id":"a","type":"shade","validation":{"min":1,"regex":""}}`): "/sections/0/questions/0/validation/min not_allowed",
	} {
		if got := said(problems(t, doc)); got != want {
			t.Errorf("Compile(%s) = %s, want %s", doc, got, want)
		}
	}
	view := f.View("en", r)[0].Questions[0]
	if view.Type != shade || view.Answer.String() != `"#ff0000"` || view.Label != "Wall?" {
		t.Errorf("View() = %+v", view)
	}
	if r := template(t, painted).Completeness()[0]; r.Total != 3 {
		t.Errorf("Completeness() counts %d texts, want the labels of all questions that are asked", r.Total)
	}
	if d := form.Diff(template(t, painted), template(t, strings.Replace(painted, `"shade","label":"Wall?"`, `"text","label":"Wall?"`, 1))); d.Verdict != form.Breaking {
		t.Errorf("Diff() = %+v, want a breaking change", d)
	}
	if set := quality.Of(f); len(set.Unique) != 1 || set.Unique[0].Pointer != "/responses/s/wall" || len(set.Public) != 2 {
		t.Errorf("columns of checks = %+v", set)
	}
}

// exported is the file of one response.
func exported(t *testing.T, format export.Format, shape export.Shape) []byte {
	t.Helper()
	f := compile(t, painted)
	w, err := export.NewLayout(export.LayoutConfig{Survey: "s1", Form: f, Level: export.Full, Shape: shape}).Writer(format, export.About{Survey: "s1", AsOf: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Begin(nil)
	if err == nil {
		b, err = w.Add(b, &export.Response{ID: "r1", Head: `{}`, Answers: paintedAnswers})
	}
	if err == nil {
		b, _, err = w.End(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sheets are the rows of all sheets of a workbook, cells separated by "|".
func sheets(t *testing.T, file []byte) string {
	t.Helper()
	book, err := sheet.OpenBook(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i := range book.Sheets() {
		err := book.Rows(i, func(_ int64, cells []sheet.Cell) error {
			for _, c := range cells {
				out.WriteString(c.Text + "|")
			}
			out.WriteString("\n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestAddedTypeInExports(t *testing.T) {
	t.Parallel()
	book := export.NewCodebook("s1", 1, compile(t, painted), export.Sample{})
	at := slices.IndexFunc(book.Columns, func(c export.Column) bool { return c.Name == "s.wall" })
	if c := book.Columns[at]; c.Type != string(shade) || !slices.Equal(c.Missing, []string{"dont_know"}) || len(c.Levels) != 3 {
		t.Errorf("codebook = %+v", c)
	}
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"codebook", string(book.CSV()), []string{"s.wall,answer,s,wall,,,shade,", "s.rooms.door,answer,s,rooms.door,,,shade,"}},
		{"wide", string(exported(t, export.CSV, export.Wide)), []string{"s.wall,s.why,s.rooms", "#ff0000,It was cheap."}},
		{"long", string(exported(t, export.CSV, export.Long)), []string{"s,wall,,#ff0000", "s,rooms.door,1,#00ff00"}},
		{"NDJSON", string(exported(t, export.NDJSON, export.Wide)), []string{paintedAnswers}},
		{"XLSX", sheets(t, exported(t, export.XLSX, export.Wide)), []string{"s.wall|s.why|s.rooms|", "#ff0000|It was cheap.|", "s.wall|answer|s|wall|||shade|"}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.file, want) {
				t.Errorf("%s lacks %q:\n%s", tt.name, want, tt.file)
			}
		}
	}
}

func TestAddedTypeInXLSForm(t *testing.T) {
	t.Parallel()
	in := template(t, painted)
	var file bytes.Buffer
	if err := xlsform.Write(&file, in, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"text|wall|Wall?|", "|#ffffff|", "|shade|", "${wall} = '#ff0000'"} {
		if got := sheets(t, file.Bytes()); !strings.Contains(got, want) {
			t.Errorf("the workbook lacks %q:\n%s", want, got)
		}
	}
	out, report, err := xlsform.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), xlsform.Beside{})
	if err != nil || len(report.Items) > 0 {
		t.Fatalf("Read() = %v, %+v", err, report.Items)
	}
	want, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(out, json.Deterministic(true)); err != nil || string(got) != string(want) {
		t.Errorf("Read() = %s (%v), want %s", got, err, want)
	}
}

// TestTypesAreDocumented: the API reference names every type that is built in.
func TestTypesAreDocumented(t *testing.T) {
	t.Parallel()
	member, _ := reflect.TypeFor[form.Question]().FieldByName("Type")
	documented := strings.Split(member.Tag.Get("enum"), ",")
	slices.Sort(documented)
	var built []string
	for _, k := range form.Kinds() {
		if k.Type != shade {
			built = append(built, string(k.Type))
		}
	}
	if !slices.Equal(documented, built) {
		t.Errorf("the tag of Question.Type has %v, the table %v", documented, built)
	}
}
