package openrosa_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
)

// none has no files.
func none(string) string { return "" }

// What a device sends of a form is what was answered, also of what XForms write
// in another way.
func TestAnswers(t *testing.T) {
	t.Parallel()
	f, _ := openrosatest.Load(t, "testdata/everything.json")
	x, err := openrosa.NewForm(f, openrosa.Options{ID: "everything", Version: 3, Households: true})
	if err != nil {
		t.Fatal(err)
	}
	answers := jsontext.Value(`{"start":{"agrees":true,"name":{"noAnswer":"refused"},"size":4},
		"choices":{"fuels":["lpg gas",{"other":"dung"}],"opinions":{"much heat":"no"},"weight":{"value":2.5,"unit":"lb"},"ranked":["b","a","c"],"stars":4},
		"things":{"clock":"08:30:00","when":"2026-02-01","place":{"lat":-1.5,"lon":36,"accuracy":4},"photo":"sha256:` + strings.Repeat("a", 64) + `",
			"stoves":[{"kind":"gas"},{"kind":{"other":"solar"},"days":3,"pots":[{"litres":12},{}]}]}}`)
	raw := openrosatest.Instance(f.Template(), answers, openrosatest.Submission{
		FormID: "everything", Version: "3", InstanceID: "uuid:1", Deprecated: "uuid:0", Household: "did:ixo:household/1", Device: "imei:1",
		Start: "2026-02-01T10:00:00.000+03:00", End: "2026-02-01T10:30:00.000+03:00", Name: func(string) string { return "1.jpg" },
	})
	in, err := openrosa.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	start, end := in.Times()
	if in.FormID != "everything" || in.Version != "3" || in.InstanceID != "uuid:1" || in.Deprecated != "uuid:0" || in.Household() != "did:ixo:household/1" || in.Device() != "imei:1" || end.Sub(start) != 30*time.Minute {
		t.Errorf("read %+v, %s, %s to %s", in, in.Household(), start, end)
	}
	got, files, err := x.Answers(in, func(name string) string { return map[string]string{"1.jpg": strings.Repeat("a", 64)}[name] })
	if err != nil || len(files) != 1 || files[0] != "1.jpg" {
		t.Fatalf("files %v, %v", files, err)
	}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	want, have := f.Check(form.Input{Answers: answers, Now: now}), f.Check(form.Input{Answers: got, Now: now})
	if len(want.Wrong) > 0 || string(want.Answers) != string(have.Answers) {
		t.Errorf("read\n%s\nwant\n%s\n%+v", have.Answers, want.Answers, want.Wrong)
	}
	if got, files, err = x.Answers(in, none); err != nil || len(files) != 1 || strings.Contains(string(got), "photo") {
		t.Errorf("with the file missing: %v, %v, %s", files, err, got)
	}
}

// A submission that is no answer to the form is refused with what is wrong.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const meta = `<meta><instanceID>uuid:1</instanceID></meta>`
	for name, tt := range map[string]struct{ raw, code string }{
		"nothing":        {``, "not_xml"},
		"no XML":         {`{"id": 1}`, "not_xml"},
		"cut":            {`<data id="a"><meta>`, "not_xml"},
		"crossed":        {`<data id="a"><b><c></b></c></data>`, "not_xml"},
		"two roots":      {`<data id="a"/><data id="b"/>`, "not_xml"},
		"document type":  {`<!DOCTYPE data [<!ENTITY a "aaaa">]><data id="a">&a;` + meta + `</data>`, "document_type"},
		"unknown entity": {`<data id="a">&a;` + meta + `</data>`, "not_xml"},
		"other charset":  {`<?xml version="1.0" encoding="ISO-8859-1"?><data id="a">` + meta + `</data>`, "not_xml"},
		"deep":           {`<data id="a">` + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + meta + `</data>`, "too_large"},
		"wide":           {`<data id="a">` + strings.Repeat("<a/>", 60_000) + meta + `</data>`, "too_large"},
		"large":          {`<data id="a">` + strings.Repeat("a", openrosa.MaxInstance) + meta + `</data>`, "too_large"},
		"no form":        {`<data>` + meta + `</data>`, "required"},
		"no id":          {`<data id="a"><meta/></data>`, "required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openrosa.Parse([]byte(tt.raw))
			f := fault.As(err)
			if f == nil || f.Code != "INSTANCE_INVALID" || f.Fields[0].Code != tt.code {
				t.Errorf("err = %+v, want INSTANCE_INVALID with %s", err, tt.code)
			}
		})
	}
}

func TestUnknownElements(t *testing.T) {
	t.Parallel()
	_, x := openrosatest.Load(t, "testdata/everything.json")
	for _, inside := range []string{`<nowhere/>`, `<start><nothing>1</nothing></start>`, `<things><stoves><colour>red</colour></stoves></things>`} {
		in, err := openrosa.Parse([]byte(`<data id="everything">` + inside + `<meta><instanceID>uuid:1</instanceID><instanceName>a</instanceName></meta></data>`))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := x.Answers(in, none); fault.CodeOf(err) != "INSTANCE_INVALID" {
			t.Errorf("%s: err = %v, want INSTANCE_INVALID", inside, err)
		}
	}
}

// What is said twice is refused: one of the two would be lost. A repeat is not.
func TestTwice(t *testing.T) {
	t.Parallel()
	_, x := openrosatest.Load(t, "testdata/everything.json")
	for inside, want := range map[string]string{
		`<start><size>4</size><size>5</size></start>`:                                     "/start/size",
		`<start><size>4</size></start><start><name/></start>`:                             "/start",
		`<things><stoves><days>3</days><days>4</days></stoves></things>`:                  "/things/stoves/days",
		`<things><stoves><days>3</days></stoves><stoves><days>3</days></stoves></things>`: "",
	} {
		in, err := openrosa.Parse([]byte(`<data id="everything">` + inside + `<meta><instanceID>uuid:1</instanceID></meta></data>`))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = x.Answers(in, none)
		f := fault.As(err)
		switch {
		case want == "" && err == nil:
		case f == nil || len(f.Fields) != 1 || f.Fields[0].Pointer != want || f.Fields[0].Code != "duplicate":
			t.Errorf("%s: err = %v, want %q named as a duplicate", inside, err, want)
		}
	}
}

// What XPath cannot say is named with its place, all of it at once.
func TestNotPossible(t *testing.T) {
	t.Parallel()
	f := openrosatest.Compile(t, []byte(`{"templateId":"t","title":"T","sections":[{"id":"s","questions":[
		{"id":"a","type":"text","relevant":"household.group == \"treatment\""},
		{"id":"b","type":"time","constraint":"b > \"08:00\""},
		{"id":"c","type":"calculate","calculate":"response.round"},
		{"id":"d","type":"text","validation":{"regex":"(?i)abc"}},
		{"id":"g","type":"group","required":true,"questions":[{"id":"x","type":"text"}]},
		{"id":"n","type":"number","validation":{"min":0,"step":0.5}}]},
		{"id":"hearth_x","questions":[{"id":"y","type":"text"}]}]}`))
	_, err := openrosa.NewForm(f, openrosa.Options{})
	refused := fault.As(err)
	if refused == nil || refused.Code != "XFORM_NOT_POSSIBLE" || refused.Kind != fault.Unprocessable {
		t.Fatalf("err = %v, want XFORM_NOT_POSSIBLE", err)
	}
	var got []string
	for _, one := range refused.Fields {
		got = append(got, one.Pointer)
	}
	const at = "/sections/0/questions/"
	want := []string{at + "0/relevant", at + "1/constraint", at + "2/calculate", at + "3/constraint", at + "4/required", at + "5/constraint", "/sections/1/id"}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("refused for %v, want %v", got, want)
	}
}

// A form is the same each time, and what is ours is marked as ours.
func TestForm(t *testing.T) {
	t.Parallel()
	f, x := openrosatest.Load(t, "testdata/everything.json")
	again, err := openrosa.NewForm(f, openrosa.Options{Version: 3})
	if err != nil || openrosa.Hash(again.XML) != openrosa.Hash(x.XML) || !strings.HasPrefix(openrosa.Hash(x.XML), "md5:") {
		t.Errorf("hash %s, then %s (%v)", openrosa.Hash(x.XML), openrosa.Hash(again.XML), err)
	}
	for _, want := range []string{
		`<data id="everything" version="3" hearth:template="everything">`, `hearth:pii="direct"`, `hearth:consent="true"`, `<audit></audit>`,
		`jr:constraintMsg="jr:itext(`, `<odk:rank ref="/data/choices/ranked">`, `<range ref="/data/choices/level" start="0" end="10" step="5">`,
		`src="jr://file-csv/towns.csv"`, `mediatype="image/*"`, `<output value="/data/start/name"/>`,
	} {
		if !strings.Contains(string(x.XML), want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	if len(x.Files) != 1 || x.Files[0].Name != "towns.csv" || string(x.Files[0].Content) != openrosatest.Towns {
		t.Errorf("files %+v, want towns.csv", x.Files)
	}
	part, err := f.Select([]string{"start"})
	if err != nil {
		t.Fatal(err)
	}
	some, err := openrosa.NewForm(part, openrosa.Options{ID: "srv_1", Survey: "srv_1", Version: 3, Households: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<bind nodeset="/data/choices" relevant="false()"`, `hearth:survey="srv_1"`, `src="jr://file-csv/` + openrosa.HouseholdFile} {
		if !strings.Contains(string(some.XML), want) {
			t.Errorf("the form of a survey lacks %s", want)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	raw, err := os.ReadFile("testdata/everything.json")
	if err != nil {
		f.Fatal(err)
	}
	def := openrosatest.Compile(&testing.T{}, raw)
	x, err := openrosa.NewForm(def, openrosa.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`<data id="everything"><start><agrees>true</agrees></start><meta><instanceID>uuid:1</instanceID></meta></data>`))
	f.Add([]byte(`<data id="everything"><things><stoves><kind>gas</kind></stoves><stoves/><place>1 2 3 4</place></things><meta><instanceID>a</instanceID></meta></data>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := openrosa.Parse(raw)
		if err != nil {
			return
		}
		answers, _, err := x.Answers(in, none)
		if err == nil && !answers.IsValid() {
			t.Errorf("answers are no JSON: %q", answers)
		}
		if err == nil {
			def.Check(form.Input{Answers: answers, Now: time.Now(), Partial: true})
		}
	})
}

// A pattern is bound to both ends of a text, for programs that look for it anywhere.
func TestPattern(t *testing.T) {
	t.Parallel()
	for re, want := range map[string]string{`^(?:[a-z ]{1,9})$`: `regex(., '^(?:[a-z ]{1,9})$')`, `b`: `regex(., '^(?:[\s\S]*(?:b)[\s\S]*)$')`, `^b`: `regex(., '^(?:(?:b)[\s\S]*)$')`} {
		f := openrosatest.Compile(t, []byte(`{"templateId":"p","sections":[{"id":"s","questions":[{"id":"a","type":"text","constraint":"a.matches('`+strings.ReplaceAll(re, `\`, `\\`)+`')"}]}]}`))
		x, err := openrosa.NewForm(f, openrosa.Options{})
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if text := strings.NewReplacer("&#39;", "'", "&#xA;", "").Replace(string(x.XML)); !strings.Contains(text, want) {
			t.Errorf("%s: want %s in\n%s", re, want, text)
		}
	}
}
