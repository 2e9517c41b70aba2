package xlsform_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// sampleTemplate has a question of every kind that expressions meet.
func xpathSampleTemplate(t testing.TB) *form.Template {
	t.Helper()
	text, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	var out form.Template
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// toCEL translates an expression that stands at the question id. invalid tells
// that the text is no expression.
func toCEL(t *form.Template, id, text string, want xlsform.Want) (cel string, invalid bool, err error) {
	n := xlsform.NewNames(t)
	n.Meta = map[string]string{"start_time": "response.startedAt", "day": "today", "device": ""}
	cel, _, err = n.ToCEL(text, n.Find(id), want)
	var syntax *xlsform.SyntaxError
	return cel, errors.As(err, &syntax), err
}

// toXPath translates CEL that stands at the question id.
func toXPath(t *form.Template, id, text string, want xlsform.Want) (string, error) {
	n := xlsform.NewNames(t)
	return n.FromCEL(text, xlsform.Place{At: n.Find(id), Self: true}, want)
}

// question finds a question of a template.
func xpathQuestion(qs []form.Question, id string) *form.Question {
	for i := range qs {
		if qs[i].ID == id {
			return &qs[i]
		}
		if q := xpathQuestion(qs[i].Questions, id); q != nil {
			return q
		}
	}
	return nil
}

// takes wants the form to take an expression at the question id.
func takes(t testing.TB, id, cel string, condition bool) {
	t.Helper()
	tmpl := xpathSampleTemplate(t)
	for i := range tmpl.Sections {
		q := xpathQuestion(tmpl.Sections[i].Questions, id)
		if q == nil {
			continue
		}
		if condition {
			q.Constraint = cel
		} else {
			*q = form.Question{ID: q.ID, Type: form.Calculate, Calculate: cel}
		}
		break
	}
	if _, err := form.Compile(tmpl); err != nil {
		t.Errorf("the form does not take %s: %v", cel, err)
	}
}

// translations are true both ways, unless back says otherwise.
var translations = []struct{ at, xpath, cel, back string }{
	{"size", ". > 3", "size > 3", ""},
	{"size", ". >= 1 and . <= 20", "size >= 1 && size <= 20", ""},
	{"town", "${size} > 3 or ${weight} < 2.5 and ${cost} = 1", "size > 3 || weight < 2.5 && cost == 1", "${size} > 3 or ${weight} < 2.5 and ${home}/cost = 1"},
	{"note1", "(${size} > 3 or ${weight} < 2) and ${cost} = 0", "(size > 3 || weight < 2) && cost == 0", "(${size} > 3 or ${weight} < 2) and ${later}/cost = 0"},
	{"town", "not(${size} = 3)", "!(size == 3)", ""},
	{"town", "${fuel} = 'wood'", `fuel == "wood"`, ""},
	{"town", "'wood' != ${fuel}", `fuel != "wood"`, "${fuel} != 'wood'"},
	{"town", "${fuel} = 1", `fuel == "1"`, "${fuel} = '1'"},
	{"town", "${fuel} = 'option_3'", `fuel == "three stone"`, ""},
	{"town", "${fuel} = ''", `!answered(fuel)`, ""},
	{"town", "${fuel} != ''", `answered(fuel)`, ""},
	{"town", "selected(${uses}, 'heat')", `selected(uses, "heat")`, ""},
	{"town", "not(selected(${fuel}, 'gas'))", `!selected(fuel, "gas")`, ""},
	{"uses", "count-selected(.) <= 2", "count(uses) <= 2", ""},
	{"town", "${uses} = 'heat'", `uses == ["heat"]`, "-"},
	{"town", "string-length(.) < 30", "size(town) < 30", "-"}, // size is a question here, and still a function
	{"town", `regex(., '^[A-Z][a-z]+$')`, `town.matches("^(?:^[A-Z][a-z]+$)$")`, ""},
	{"town", "${agree} = 'true'", "agree == true", ""},
	{"town", "${agree} = 'OK'", "agree == true", "${agree} = 'true'"},
	{"town", "${agree}", "agree == true", "${agree} = 'true'"},
	{"town", "not(${agree})", "!(agree == true)", "not(${agree} = 'true')"},
	{"town", "${size}", "size != 0", "${size} != 0"},
	{"town", "true()", "true", ""},
	{"born", ". <= today()", "born <= today", ""},
	{"born", ". < today()", `born < today`, ""},
	{"born", "today() > .", `today > born`, ""},
	{"born", ". >= date('2020-01-31')", `born >= timestamp("2020-01-31T00:00:00Z")`, ""},
	{"born", ". >= '2020-01-31'", `born >= timestamp("2020-01-31T00:00:00Z")`, ". >= date('2020-01-31')"},
	{"seen", ". <= now()", "seen <= response.submittedAt", ""},
	{"seen", ". >= ${start_time}", "seen >= response.startedAt", ". >= ${hearth_meta_start}"},
	{"born", ". = ${day}", `born == today`, ". = today()"},
	{"town", "${home}/today < today()", `home.today < today`, "${today} < today()"},
	{"town", "${inner} > 1", "more.inner > 1", ""},
	{"note1", "${inner} > ${more}/inner", "more.inner > more.inner", "${inner} > ${inner}"},
	{"hours", ". + ${deep} < 24", "hours + box.deep < 24", ""},
	{"deep", ". < ${hours}", "box.deep < hours", ""},
	{"town", "sum(${hours}) > 5", "total(stoves.map(e, e.hours)) > 5", ""},
	{"note1", "sum(${deep}) > 5", "total(stoves.map(e, e.box.deep)) > 5", ""},
	{"town", "count(${stoves}) >= 1", "count(stoves) >= 1", ""},
	{"hours", "position(..) > 1", "index + 1 > 1", "position(..) - 1 + 1 > 1"},
	{"town", "../size > 2", "size > 2", "${size} > 2"},
	{"box", "./deep > 2", "box.deep > 2", "${deep} > 2"},
	{"town", "FALSE", "false", "false()"},
	{"town", "yes", "true", "true()"},
	{"note1", "${amount}/value > 2 and ${amount}/unit = 'kg'", `amount.value > 2 && amount.unit == "kg"`, ""},
	{"size", ". mod 2 = 0", "size % 2 == 0", ""},
	{"size", "-1 < .", "-1 < size", "(-1 < .)"},
	{"town", "contains(., 'x') or starts-with(., 'y')", `town.contains("x") || town.startsWith("y")`, ""},
	{"town", `. != "it's"`, `town != "it's"`, ""},
	{"town", "coalesce(${size}, 0) > 2", "number(coalesce(size, 0)) > 2", "number(coalesce(${size}, 0)) > 2"},
	{"clock", ". = '14:05'", `clock == "14:05"`, ""},
	{"town", "‘wood’ = ${fuel}", `fuel == "wood"`, "${fuel} = 'wood'"},
}

func TestTranslateConditions(t *testing.T) {
	t.Parallel()
	for _, tt := range translations {
		t.Run(tt.xpath, func(t *testing.T) {
			t.Parallel()
			tmpl := xpathSampleTemplate(t)
			got, _, err := toCEL(tmpl, tt.at, tt.xpath, xlsform.Condition)
			if err != nil || got != tt.cel {
				t.Fatalf("ToCEL = %s, %v; want %s", got, err, tt.cel)
			}
			takes(t, tt.at, got, true)
			want := tt.back
			switch want {
			case "-":
				return
			case "":
				want = tt.xpath
			}
			if back, err := toXPath(tmpl, tt.at, got, xlsform.Condition); err != nil || back != want {
				t.Errorf("ToXPath = %s, %v; want %s", back, err, want)
			}
		})
	}
}

func TestTranslateValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ xpath, cel, back string }{
		{"${size} * 2 + ${weight}", "size * 2 + weight", ""},
		{"${size} - (${weight} - 1)", "size - (weight - 1)", ""},
		{"${size} div 2", "size / 2", ""},
		{"1 div 2", "1.0 / 2", "1 div 2"},
		{"-${size}", "-size", "(-${size})"},
		{"-(-3)", "-(-3)", "(-(-3))"},
		{"if(${size} > 2, 'big', 'small')", `holds(size > 2) ? "big" : "small"`, ""},
		{"if(${size} > 2, 1, '')", `holds(size > 2) ? dyn(1) : dyn(null)`, ""},
		{"if(${size} > 2, 'a', '')", `holds(size > 2) ? "a" : ""`, ""},
		{"concat(${town}, '-', ${size})", `text(town) + "-" + text(size)`, "concat(${town}, '-', string(${size}))"},
		{"int(${weight})", "int(weight)", ""},
		{"round(${weight})", "math.round(weight)", ""},
		{"round(${weight} div 3, 2)", "roundTo(weight / 3, 2)", ""},
		{"max(${size}, ${weight}, 3)", "math.greatest(size, weight, 3)", ""},
		{"int((today() - ${born}) div 365.25)", `int((int(today) / 86400 - int(born) / 86400) / 365.25)`, "int((number(today()) - number(${born})) div 365.25)"},
		{"once(${size})", "size", "${size}"},
		{"number(${town}) + 1", "number(town) + 1", "number(${town}) + 1"},
		{"string-length(concat('a', ${town}))", `size("a" + text(town))`, ""},
		{"'say \"no\"'", `"say \"no\""`, ""},
		{"floor(${weight}) + ceiling(${weight}) + abs(${size})", "math.floor(weight) + math.ceil(weight) + math.abs(size)", ""},
		{"count-non-empty(${kind})", "count(stoves.map(e, e.kind).filter(e, answered(e)))", "-"},
	} {
		t.Run(tt.xpath, func(t *testing.T) {
			t.Parallel()
			tmpl := xpathSampleTemplate(t)
			got, _, err := toCEL(tmpl, "total", tt.xpath, xlsform.Value)
			if err != nil || got != tt.cel {
				t.Fatalf("ToCEL = %s, %v; want %s", got, err, tt.cel)
			}
			takes(t, "total", got, false)
			want := tt.back
			switch want {
			case "-":
				return
			case "":
				want = tt.xpath
			}
			if back, err := toXPath(tmpl, "total", got, xlsform.Value); err != nil || back != want {
				t.Errorf("ToXPath = %s, %v; want %s", back, err, want)
			}
		})
	}
}

// What XLSForm has and we do not, and what is no expression at all.
func TestTranslateRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		xpath, why string
		invalid    bool
	}{
		{"pulldata('f', 'a', 'b', ${town})", "file f", false},
		{"jr:choice-name(${fuel}, '${town}')", "no choices", false},
		{"indexed-repeat(${town}, ${stoves}, 1)", "indexed-repeat", false},
		{"area(${town}, ${town})", "area()", true},
		{"boolean(${town})", "true in ODK", false},
		{"regex(${town}, '(?=a)')", "pattern", false},
		{"regex(${town}, ${fuel})", "pattern", false},
		{"${device} = 'x'", "${device}", false},
		{"${agree} > 1", "order", false},
		{"${uses} > 1", "list", false},
		{"${town} < 'abc'", "number", false},
		{"position(..) > 1", "repeat", false},
		{". + ", "value is missing", true},
		{"${nobody} = 1", "${nobody}", true},
		{"${home}/nobody = 1", "nobody", true},
		{"${cost", "never closed", true},
		{"'abc", "never closed", true},
		{"size > 3", "", true},
		{"(1", ") is missing", true},
		{"1 2", "operator", true},
		{"if(1, 2)", "arguments", true},
		{"${size} > 3 &&", "no meaning", true},
		{"/data/size > 1", "path", true},
		{"${}", "name", true},
		{"", "missing", true},
		{strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), "deep", true},
		{strings.Repeat("-", 1000) + "1", "deep", true},
		{strings.Repeat("1+", 1000) + "1", "operators", true},
		{strings.Repeat(" ", 9000) + "1", "8000", true},
	} {
		t.Run(shortName(tt.xpath), func(t *testing.T) {
			t.Parallel()
			got, invalid, err := toCEL(xpathSampleTemplate(t), "town", tt.xpath, xlsform.Condition)
			if err == nil || invalid != tt.invalid || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("ToCEL = %s, %v (invalid %v); want an error with %q (invalid %v)", got, err, invalid, tt.why, tt.invalid)
			}
		})
	}
}

func shortName(s string) string { return s[:min(len(s), 40)] }

// CEL that XLSForm has no words for, and some it has others for.
func TestTranslateBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ cel, xpath string }{
		{`fuel in ["wood", "three stone"]`, "${fuel} = 'wood' or ${fuel} = 'option_3'"},
		{`fuel in ["wood"] && size > 1`, "${fuel} = 'wood' and ${size} > 1"},
		{`(fuel in ["wood", "gas"]) && size > 1`, "(${fuel} = 'wood' or ${fuel} = 'gas') and ${size} > 1"},
		{`"heat" in uses`, "selected(${uses}, 'heat')"},
		{`fuel == null`, "${fuel} = ''"},
		{`agree != false`, "${agree} != 'false'"},
		{`!agree`, "not(${agree} = 'true')"},
		{`home.size == null || double(home.size) <= double(weight)`, "${size} = '' or ${size} <= ${weight}"},
		{`town.matches("^a+$")`, "regex(., 'a+')"},
		{`town.matches("a|b")`, `regex(., '[\s\S]*(?:a|b)[\s\S]*')`},
		{`town == "it's \"so\""`, `. = concat('it', "'", 's "so"')`},
		{`size(uses) > 1`, "count-selected(${uses}) > 1"},
		{`uses == ["heat"] || ["cook"] != uses`, "${uses} = 'heat' or ${uses} != 'cook'"},
		{`household.group == "adopter"`, "-"},
		{`stoves.exists(s, s.hours > 2)`, "-"},
		{`stoves[0].hours > 2`, "-"},
		{`uses == ["heat", "cook"]`, "-"},
		{`response.round > 1`, "-"},
		{`{"a": 1}.a == 1`, "-"},
		{`size +`, "-"},
		{`today - seen > duration("24h")`, "-"},
	} {
		t.Run(tt.cel, func(t *testing.T) {
			t.Parallel()
			got, err := toXPath(xpathSampleTemplate(t), "town", tt.cel, xlsform.Condition)
			if tt.xpath == "-" {
				if err == nil {
					t.Errorf("ToXPath = %s, want no equivalent", got)
				}
				return
			}
			if err != nil || got != tt.xpath {
				t.Errorf("ToXPath = %s, %v; want %s", got, err, tt.xpath)
			}
		})
	}
}

// Whatever the text, the parsers come back, and what they make of it the other
// side can read.
func FuzzExpression(f *testing.F) {
	for _, tt := range translations {
		f.Add(tt.xpath, tt.cel)
	}
	tmpl := xpathSampleTemplate(f)
	f.Fuzz(func(t *testing.T, text, cel string) {
		if got, _, err := toCEL(tmpl, "town", text, xlsform.Condition); err == nil {
			if back, err := toXPath(tmpl, "town", got, xlsform.Condition); err == nil {
				if _, invalid, err := toCEL(tmpl, "town", back, xlsform.Condition); invalid && !strings.Contains(err.Error(), "hearth_meta") {
					t.Errorf("%s became %s and then %s, which is %v", text, got, back, err)
				}
			} else if strings.Contains(err.Error(), "not valid CEL") {
				t.Errorf("%s became %s, which is %v", text, got, err)
			}
		}
		if got, err := toXPath(tmpl, "town", cel, xlsform.Condition); err == nil {
			if _, invalid, err := toCEL(tmpl, "town", got, xlsform.Condition); invalid && !strings.Contains(err.Error(), "hearth_meta") && !strings.Contains(err.Error(), "deep") && !strings.Contains(err.Error(), "operators") {
				t.Errorf("%s became %s, which is %v", cel, got, err)
			}
		}
	})
}
