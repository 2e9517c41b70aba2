package form_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestCompileProblems(t *testing.T) {
	t.Parallel()
	q := func(s string) string { return questions(`{"id":"q",` + s + `}`) }
	many := func(n int, one string) string {
		var list []string
		for i := range n {
			list = append(list, strings.ReplaceAll(one, "#", fmt.Sprint(i)))
		}
		return strings.Join(list, ",")
	}
	for _, tt := range []struct{ name, doc, want string }{
		{"empty", `{"sections":[]}`, "/sections required"},
		{"no questions", `{"sections":[{"id":"a","questions":[]}]}`, "/sections/0/questions required"},
		{"template id", `{"templateId":"a b","sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/templateId invalid"},
		{"stage", `{"stage":"late","sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/stage not_allowed"},
		{"languages", `{"defaultLanguage":"English","languages":["sw","sw","x"],"sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/defaultLanguage invalid; /languages/1 duplicate; /languages/2 invalid"},
		{"text", `{"title":{"English":"x","":"y"},"sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/title/ invalid; /title/English invalid"},
		{"review", `{"reviewIntervalDays":-1,"sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/reviewIntervalDays out_of_range"},
		{"metadata", `{"metadata":[],"sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/metadata invalid"},
		{"threshold", `{"validations":{"completionThreshold":80,"requiredSections":["a","a","b"]},"sections":[{"id":"a","questions":[{"id":"q","type":"note"}]}]}`, "/validations/completionThreshold out_of_range; /validations/requiredSections/1 duplicate; /validations/requiredSections/2 unknown"},
		{
			"section ids", `{"sections":[{"id":"a","questions":[{"id":"q","type":"note"}]},{"id":"a","questions":[{"id":"q","type":"note"}]},{"id":"household","questions":[{"id":"q","type":"note"}]},{"id":"in","questions":[{"id":"q","type":"note"}]},{"id":"1a","flag":"x","questions":[{"id":"q","type":"note"}]}]}`,
			"/sections/1/id duplicate; /sections/2/id reserved; /sections/3/id reserved; /sections/4/id invalid; /sections/4/flag not_allowed",
		},
		{
			"question ids", questions(`{"id":"a","type":"note"},{"id":"g","type":"group","questions":[{"id":"a","type":"note"}]},{"id":"","type":"note"},{"id":"a-b","type":"note"},{"id":"for","type":"note"}`),
			"/sections/0/questions/1/questions/0/id duplicate; /sections/0/questions/2/id required; /sections/0/questions/3/id invalid; /sections/0/questions/4/id reserved",
		},
		{"type", questions(`{"id":"a","type":"select"},{"id":"b","type":""}`), "/sections/0/questions/0/type not_allowed; /sections/0/questions/1/type required"},
		{"options", q(`"type":"single_choice"`), "/sections/0/questions/0/options required"},
		{
			"options of a number", q(`"type":"number","options":["a"],"other":true,"rows":["x"],"calculate":"1","units":["x"],"minRepeats":1`),
			"/sections/0/questions/0/other not_allowed; /sections/0/questions/0/options not_allowed; /sections/0/questions/0/rows not_allowed; /sections/0/questions/0/units not_allowed; /sections/0/questions/0/calculate not_allowed; /sections/0/questions/0/minRepeats not_allowed",
		},
		{
			"option values", q(`"type":"multiple_choice","other":true,"options":["a","","a","other"]`),
			"/sections/0/questions/0/options/1 required; /sections/0/questions/0/options/2 duplicate; /sections/0/questions/0/options/3 reserved",
		},
		{
			"options with semicolons", questions(`{"id":"a","type":"multiple_choice","options":["x","y;z"]},{"id":"b","type":"rank","options":[";"]},{"id":"c","type":"single_choice","options":["x;y"]},{"id":"d","type":"matrix","rows":["a;b"],"options":["x;y"]}`),
			"/sections/0/questions/0/options/1 not_allowed; /sections/0/questions/1/options/0 not_allowed",
		},
		{"too many options", q(`"type":"single_choice","options":[` + many(1001, `"o#"`) + `]`), "/sections/0/questions/0/options too_many"},
		{"matrix", q(`"type":"matrix","options":["a"]`), "/sections/0/questions/0/rows required"},
		{"matrix words", q(`"type":"matrix","options":["a"],"rows":["noAnswer"]`), "/sections/0/questions/0/rows/0 reserved"},
		{"bounds", q(`"type":"number","validation":{"min":5,"max":1,"step":0}`), "/sections/0/questions/0/validation/step out_of_range; /sections/0/questions/0/validation/max out_of_range"},
		{"bounds of a text", q(`"type":"text","validation":{"min":5,"minSelections":1}`), "/sections/0/questions/0/validation/min not_allowed; /sections/0/questions/0/validation not_allowed"},
		{"rating", q(`"type":"rating","validation":{"min":6}`), "/sections/0/questions/0/validation/max out_of_range"},
		{"rating fraction", q(`"type":"rating","validation":{"max":4.5}`), "/sections/0/questions/0/validation/max invalid"},
		{"regex", q(`"type":"text","validation":{"regex":"(?=a)"}`), "/sections/0/questions/0/validation/regex invalid"},
		{"regex length", q(`"type":"text","validation":{"regex":"` + strings.Repeat("a", 501) + `"}`), "/sections/0/questions/0/validation/regex too_long"},
		{"regex in a group", questions(`{"id":"a","type":"text","validation":{"regex":"\\Qabc"}},{"id":"b","type":"text","validation":{"regex":"a)|(?:b"}},{"id":"c","type":"text","validation":{"regex":"\\Qabc\\E|d"}}`), "/sections/0/questions/0/validation/regex invalid; /sections/0/questions/1/validation/regex invalid"},
		{"regex size", q(`"type":"text","validation":{"regex":"` + strings.Repeat(".{0,1000}", 55) + `","maxLength":10}`), "/sections/0/questions/0/validation/regex too_complex"},
		{"regex classes", q(`"type":"text","validation":{"regex":"\\pL{1,300}"}`), "/sections/0/questions/0/validation/regex too_complex"},
		{
			"regex time", questions(`{"id":"a","type":"text","validation":{"regex":"(?:.*a?){60}"}},{"id":"b","type":"text","validation":{"regex":"(?:.*a?){60}","maxLength":1000}},{"id":"c","type":"barcode","validation":{"regex":"[A-Za-z ]{2,300}"}}`),
			"/sections/0/questions/0/validation/regex too_complex",
		},
		{"regexes together", questions(many(50, `{"id":"q#","type":"text","validation":{"regex":"[\\pL#]{1,60}"}}`)), "/sections/0/questions/6/validation/regex too_complex"},
		{"matches together", questions(`{"id":"t","type":"text"},` + many(50, `{"id":"q#","type":"note","relevant":"t.matches('^[\\\\pL#]{1,60}$')"}`)), "/sections/0/questions/7/relevant too_complex"},
		{"one regex for all", questions(`{"id":"t","type":"text","validation":{"max":1}},` + many(50, `{"id":"q#","type":"text","constraint":"q#.matches('^\\\\pL{1,60}$')","validation":{"regex":"\\pL{1,60}"}}`)), "/sections/0/questions/0/validation/max not_allowed"},
		{"regex of a number", q(`"type":"number","validation":{"regex":"a"}`), "/sections/0/questions/0/validation not_allowed"},
		{"max length", q(`"type":"text","validation":{"maxLength":4001}`), "/sections/0/questions/0/validation/maxLength out_of_range"},
		{"selections", q(`"type":"multiple_choice","options":["a"],"validation":{"minSelections":2,"maxSelections":1}`), "/sections/0/questions/0/validation/minSelections out_of_range; /sections/0/questions/0/validation/maxSelections out_of_range"},
		{"units", q(`"type":"quantity"`), "/sections/0/questions/0/units required"},
		{"group", q(`"type":"group"`), "/sections/0/questions/0/questions required"},
		{"repeats", q(`"type":"repeat","minRepeats":5,"maxRepeats":3,"questions":[{"id":"a","type":"note"}]`), "/sections/0/questions/0/maxRepeats out_of_range"},
		{"repeats limit", q(`"type":"repeat","maxRepeats":201,"questions":[{"id":"a","type":"note"}]`), "/sections/0/questions/0/maxRepeats out_of_range"},
		{"calculate", q(`"type":"calculate"`), "/sections/0/questions/0/calculate required"},
		{"pii", q(`"type":"text","pii":"yes","backCheckClass":4,"indicators":["","a","a"]`), "/sections/0/questions/0/pii not_allowed; /sections/0/questions/0/backCheckClass out_of_range; /sections/0/questions/0/indicators/0 required; /sections/0/questions/0/indicators/2 duplicate"},
		{"default", q(`"type":"number","default":"5"`), "/sections/0/questions/0/default invalid"},
		{"default in a repeat", questions(`{"id":"r","type":"repeat","questions":[{"id":"q","type":"single_choice","options":["a"],"default":"b"}]}`), "/sections/0/questions/0/questions/0/default invalid"},
		{"default of a group", q(`"type":"group","default":{},"questions":[{"id":"a","type":"note"}]`), "/sections/0/questions/0/default not_allowed"},
		{"depth", q(`"type":"group","questions":[{"id":"b","type":"group","questions":[{"id":"c","type":"group","questions":[{"id":"d","type":"group","questions":[{"id":"e","type":"note"}]}]}]}]`), "/sections/0/questions/0/questions/0/questions/0/questions/0/questions too_deep"},
		{"too many questions", questions(many(1001, `{"id":"q#","type":"note"}`)), "/sections/0/questions/1000 too_many"},
		{"too many sections", `{"sections":[` + many(101, `{"id":"s#","questions":[{"id":"q","type":"note"}]}`) + `]}`, "/sections too_many"},
		{"long label", q(`"type":"note","label":"` + strings.Repeat("é", 4001) + `"`), "/sections/0/questions/0/label too_long"},
		{
			"expressions", questions(`{"id":"a","type":"number","relevant":"b > 1","required":"a +","constraint":"a","calculate":""}`),
			"/sections/0/questions/0/relevant expression; /sections/0/questions/0/required expression; /sections/0/questions/0/constraint expression",
		},
		{"an unknown member", questions(`{"id":"a","type":"geo"},{"id":"b","type":"note","relevant":"a.latitude > 1"}`), "/sections/0/questions/1/relevant expression"},
		{"a section expression", `{"sections":[{"id":"a","relevant":"1","questions":[{"id":"q","type":"note"}]}]}`, "/sections/0/relevant expression"},
		{"long expressions", questions(many(150, `{"id":"q#","type":"note","relevant":"`+strings.Repeat("a", 1900)+`"}`)), "/sections/0/questions/137/relevant too_long"},
		{
			"all at once", `{"stage":"x","sections":[{"id":"s","relevant":"zz > 1","questions":[{"id":"a","type":"select"},{"id":"b","type":"note","relevant":"e > "},{"id":"b","type":"number","relevant":"a > 1 && a == 'x'"},{"id":"c","type":"number","relevant":"d > 1"},{"id":"d","type":"number","relevant":"c > 1"}]},{"id":"household","questions":[{"id":"q","type":"text","relevant":"household.group == 'x'"}]}]}`,
			"/stage not_allowed; /sections/0/questions/0/type not_allowed; /sections/0/questions/2/id duplicate; /sections/1/id reserved; /sections/0/relevant expression; /sections/0/questions/1/relevant expression; /sections/0/questions/3 cycle",
		},
		{"self", questions(`{"id":"a","type":"number","relevant":"a > 1"}`), "/sections/0/questions/0 cycle"},
		{"pair", questions(`{"id":"a","type":"number","relevant":"b > 1"},{"id":"b","type":"number","relevant":"a > 1"}`), "/sections/0/questions/0 cycle"},
		{"section", `{"sections":[{"id":"a","relevant":"q == 1","questions":[{"id":"q","type":"number"}]}]}`, "/sections/0 cycle"},
		{"group", questions(`{"id":"g","type":"group","relevant":"answered(g)","questions":[{"id":"a","type":"number"}]}`), "/sections/0/questions/0 cycle"},
		{"calculation", questions(`{"id":"a","type":"calculate","calculate":"b + 1"},{"id":"b","type":"calculate","calculate":"c + 1"},{"id":"c","type":"calculate","calculate":"a + 1"}`), "/sections/0/questions/0 cycle"},
		{"element", questions(`{"id":"r","type":"repeat","questions":[{"id":"n","type":"number"},{"id":"c","type":"calculate","calculate":"sum(r.map(x, x.c))"}]}`), "/sections/0/questions/0/questions/1 cycle"},
		{"whole elements", questions(`{"id":"r","type":"repeat","questions":[{"id":"n","type":"number","relevant":"r.exists(x, answered(x))"}]}`), "/sections/0/questions/0/questions/0 cycle"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := said(problems(t, tt.doc)); got != tt.want {
				t.Errorf("Compile()\n = %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCompileTakes(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"a constraint on itself":         questions(`{"id":"a","type":"number","constraint":"a > 1","required":"a == null"}`),
		"an element and its siblings":    questions(`{"id":"r","type":"repeat","questions":[{"id":"n","type":"number"},{"id":"c","type":"calculate","calculate":"n / sum(r.map(x, x.n))"}]}`),
		"questions called type or index": questions(`{"id":"type","type":"text"},{"id":"r","type":"repeat","questions":[{"id":"index","type":"text"},{"id":"int","type":"number","relevant":"s.type == 'x' && index == 0"}]}`),
		"a section and a question":       `{"sections":[{"id":"usage","questions":[{"id":"usage","type":"number","constraint":"usage.usage > 1"}]}]}`,
		"one name in two sections":       `{"sections":[{"id":"a","questions":[{"id":"q","type":"number","constraint":"q > 1"}]},{"id":"b","questions":[{"id":"q","type":"number","constraint":"q > a.q"}]}]}`,
		"a question in a group":          questions(`{"id":"g","type":"group","questions":[{"id":"a","type":"number"},{"id":"h","type":"group","questions":[{"id":"b","type":"number","relevant":"a > 1"}]}]},{"id":"c","type":"number","relevant":"b > 1 && g.h.b > 1"}`),
		"a group in a repeat":            questions(`{"id":"r","type":"repeat","questions":[{"id":"g","type":"group","questions":[{"id":"a","type":"number"}]},{"id":"b","type":"number","relevant":"a > 1"}]}`),
		"rows with spaces":               questions("{\"id\":\"m\",\"type\":\"matrix\",\"rows\":[\"row 1\"],\"options\":[\"x\"]},{\"id\":\"n\",\"type\":\"note\",\"relevant\":\"m.`row 1` == 'x'\"}"),
		"a default":                      questions(`{"id":"r","type":"repeat","questions":[{"id":"g","type":"geo","default":{"lat":1,"lon":2}}]},{"id":"n","type":"number","default":5}`),
		"null members":                   questions(`{"id":"a","type":"number","label":null,"required":null,"validation":{"min":null}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compile(t, doc)
		})
	}
}

func TestProblemsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ doc, says string }{
		{questions(`{"id":"a","type":"select"}`), "must be one of audio, barcode, boolean, calculate, consent, date, datetime, entity_ref, file, geo, group, "},
		{questions(`{"id":"a","type":"text","name":"` + strings.Repeat("é", 101) + `"}`), "at most 100 together"},
		{questions(`{"id":"a","type":"text","name":"` + strings.Repeat("é", 100) + ` "}`), "at most 100 together"},
		{questions(`{"id":"a","type":"text","validation":{"regex":"(?:.*a?){60}"}}`), "a text of 4000 characters. Make the repeats smaller, or set maxLength."},
		{questions(`{"id":"a","type":"number","relevant":"1 == 1 && abc > 1"}`), "no section and no question is called abc (at character 11)"},
		{questions(`{"id":"r","type":"repeat","questions":[{"id":"n","type":"number"}]},{"id":"a","type":"note","relevant":"n > 1"}`), "use a list such as r.map(x, x.n)"},
		{`{"sections":[{"id":"a","questions":[{"id":"q","type":"number"}]},{"id":"b","questions":[{"id":"q","type":"number"}]},{"id":"c","relevant":"q > 1","questions":[{"id":"x","type":"number"}]}]}`, "name its section too"},
		{questions(`{"id":"a","type":"number","relevant":"b > 1"},{"id":"b","type":"number","relevant":"a > 1"}`), "s.a → s.b → s.a"},
	} {
		got := problems(t, tt.doc)
		if len(got) != 1 || !strings.Contains(got[0].Detail, tt.says) {
			t.Errorf("Compile() = %+v, want %q", got, tt.says)
		}
	}
}
