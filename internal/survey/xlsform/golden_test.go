package xlsform_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// golden is an expression with the value that ODK's own engine calculates from
// goldenAnswers. Inside the repeat there is a value for each element.
type golden struct {
	At, XPath string
	Want      jsontext.Value
}

const goldenAnswers = `{"main":{"yn":"yes","x":7,"y":2.5,"nm":"Ann Lee","fuels":["wood","lpg","charcoal"],"town":"t2","dob":"2012-03-04",
	"wen":"2024-05-06T07:08:09Z","clock":"09:30","digits":"12","spot":{"lat":-1.28,"lon":36.82,"altitude":1600,"accuracy":5},
	"spot2":{"lat":-1.3,"lon":36.8},"area":"7.9377 -11.5845 0 0;7.9324 -11.5902 0 0;7.9271 -11.5857 0 0;7.9237 -11.5848 0 0;7.9377 -11.5845 0 0",
	"members":[{"mname":"Ann","age":10,"sex":"f"},{"mname":"Bob","age":40,"sex":"m"},{"mname":"Cy","sex":"f"}]}}`

// goldenBook is the form of the answers, with the expression as a calculation.
func goldenBook(g golden) map[string][][]string {
	survey := [][]string{
		{"type", "name", "label", "calculation"},
		{"select_one yn", "yn", "yn"},
		{"integer", "x", "x"},
		{"decimal", "y", "y"},
		{"text", "nm", "nm"},
		{"text", "blank", "blank"},
		{"integer", "none", "none"},
		{"select_multiple fuels", "fuels", "fuels"},
		{"select_one towns", "town", "town"},
		{"date", "dob", "dob"},
		{"dateTime", "wen", "wen"},
		{"time", "clock", "clock"},
		{"text", "digits", "digits"},
		{"geopoint", "spot", "spot"},
		{"geopoint", "spot2", "spot2"},
		{"geoshape", "area", "area"},
		{"begin repeat", "members", "members"},
		{"text", "mname", "mname"},
		{"integer", "age", "age"},
		{"text", "sex", "sex"},
	}
	calculation, end := []string{"calculate", "answer", "", g.XPath}, []string{"end repeat"}
	if g.At == "" {
		survey = append(survey, end, calculation)
	} else {
		survey = append(survey, calculation, end)
	}
	return map[string][][]string{
		"survey": survey,
		"choices": {
			{"list_name", "name", "label", "county", "pop"},
			{"yn", "yes", "Yes, we do"},
			{"yn", "no", "No"},
			{"fuels", "wood", "Firewood"},
			{"fuels", "lpg", "Gas"},
			{"fuels", "charcoal", "Charcoal"},
			{"fuels", "kerosene", "Kerosene"},
			{"towns", "t1", "Kitui", "c1", "100"},
			{"towns", "t2", "Embu town", "c2", "250"},
			{"towns", "t3", "Meru", "c1", "75"},
		},
		"settings": {{"form_id"}, {"golden"}},
	}
}

// goldenText is a calculated value as XPath writes it.
func goldenText(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		var s string
		if err := json.Unmarshal(v, &s); err != nil {
			return err.Error()
		}
		if t, err := time.Parse(time.RFC3339, s); err == nil {
			return t.UTC().Format(time.RFC3339Nano) // the same moment, however it is written
		}
		return s
	case '0':
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return err.Error()
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return string(v)
}

// goldenResult calculates an expression; refused says why there is no value.
func goldenResult(t *testing.T, g golden) (got, refused string) {
	t.Helper()
	file := workbook(t, goldenBook(g))
	tmpl, report, err := xlsform.Read(bytes.NewReader(file), int64(len(file)), xlsform.Beside{})
	if err != nil {
		if f := fault.As(err); f != nil && len(f.Fields) > 0 {
			return "", f.Fields[0].Detail
		}
		return "", err.Error()
	}
	for _, i := range report.Items {
		if i.Level == xlsform.Warning && i.Column == "calculation" {
			return "", i.Detail
		}
	}
	f, err := form.Compile(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 17, 9, 0, 0, 0, time.UTC)
	r := f.Check(form.Input{Answers: jsontext.Value(goldenAnswers), Now: now, Response: map[string]any{"id": "rsp_1", "submittedAt": now}})
	if !r.OK() {
		t.Fatalf("%s: %v", g.XPath, r.Wrong)
	}
	var all struct {
		Main struct {
			Answer  jsontext.Value
			Members []struct{ Answer jsontext.Value }
		}
	}
	if err := json.Unmarshal(r.Answers, &all, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if g.At == "" {
		return goldenText(all.Main.Answer), ""
	}
	var texts []string
	for _, m := range all.Main.Members {
		texts = append(texts, goldenText(m.Answer))
	}
	return fmt.Sprint(texts), ""
}

// TestGolden has most functions of the ODK reference and the idioms people use
// give what ODK's own engine gives, or be refused by name.
func TestGolden(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/expressions.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Expressions []golden }
	if err := json.Unmarshal(text, &table, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	refusals := 0
	for _, g := range table.Expressions {
		want := goldenText(g.Want)
		if g.At != "" {
			var all []string
			if err := json.Unmarshal(g.Want, &all); err != nil {
				t.Fatal(err)
			}
			want = fmt.Sprint(all)
		}
		got, refused := goldenResult(t, g)
		switch {
		case refused != "":
			refusals++
			t.Logf("%s: refused: %s", g.XPath, strings.TrimSpace(refused))
		case got != want:
			t.Errorf("%s = %q, ODK's engine gives %q", g.XPath, got, want)
		}
	}
	t.Logf("%d expressions, %d of them refused", len(table.Expressions), refusals)
	if most := len(table.Expressions) / 20; refusals > most || len(table.Expressions) < 90 {
		t.Errorf("%d of %d expressions are refused, at most %d may be", refusals, len(table.Expressions), most)
	}
}
