package form_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const sum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		question string // without its id
		answer   string
		want     string // canonical; "" for left out
		code     string // of the first problem, with its pointer below the question
	}{
		{`"type":"single_choice","options":["a","b"]`, `"a"`, `"a"`, ""},
		{`"type":"single_choice","options":["a","b"]`, `"\u0061"`, `"a"`, ""},
		{`"type":"single_choice","options":["a","b"]`, `["a"]`, "", " wrong_type"},
		{`"type":"single_choice","options":["a","b"]`, `"c"`, "", " not_an_option"},
		{`"type":"single_choice","options":["a","b"]`, `""`, "", " not_an_option"},
		{`"type":"single_choice","options":["a","b"]`, `1`, "", " wrong_type"},
		{`"type":"single_choice","options":["a","b"]`, `{"other":"x"}`, "", " wrong_type"},
		{`"type":"single_choice","options":["a","b"],"other":true`, `{"other":"x"}`, `{"other":"x"}`, ""},
		{`"type":"single_choice","options":["a","b"],"other":true`, `{"other":"  "}`, "", "/other required"},
		{`"type":"single_choice","options":["a","b"],"other":true`, `{"other":1}`, "", "/other wrong_type"},
		{`"type":"single_choice","options":["a","b"],"other":true`, `{"other":"x","y":1}`, "", " wrong_type"},
		{`"type":"single_choice","options":["a","b"],"dontKnow":true`, `{"noAnswer":"dont_know"}`, `{"noAnswer":"dont_know"}`, ""},
		{`"type":"single_choice","options":["a","b"],"dontKnow":true`, `{"noAnswer":"refused"}`, "", "/noAnswer not_allowed"},
		{`"type":"single_choice","options":["a","b"],"refuse":true`, `{"noAnswer":"maybe"}`, "", "/noAnswer not_allowed"},
		{`"type":"single_choice","options":["a","b"]`, `null`, "", ""},
		{`"type":"multiple_choice","options":["a","b"]`, `["a"]`, `["a"]`, ""},
		{`"type":"multiple_choice","options":["a","b"]`, `["b","a"]`, `["b","a"]`, ""},
		{`"type":"multiple_choice","options":["a","b"]`, `[]`, "", ""},
		{`"type":"multiple_choice","options":["a","b"]`, `"a"`, "", " wrong_type"},
		{`"type":"multiple_choice","options":["a","b"]`, `["a","a"]`, "", "/1 duplicate"},
		{`"type":"multiple_choice","options":["a","b"]`, `["a",null]`, "", "/1 wrong_type"},
		{`"type":"multiple_choice","options":["a","b"]`, `["a",["b"]]`, "", "/1 wrong_type"},
		{`"type":"multiple_choice","options":["a","b"]`, `["a","b","a","b","a"]`, "", "/2 duplicate"},
		{`"type":"multiple_choice","options":["a","b"]`, `["a","c"]`, "", "/1 not_an_option"},
		{`"type":"multiple_choice","options":["a","b"]`, `["a",{"other":"x"}]`, "", "/1 wrong_type"},
		{`"type":"multiple_choice","options":["a","b"],"other":true`, `["a",{"other":"x"}]`, `["a",{"other":"x"}]`, ""},
		{`"type":"multiple_choice","options":["a","b"],"other":true`, `[{"other":"x"},{"other":"y"}]`, "", "/1 duplicate"},
		{`"type":"multiple_choice","options":["a","b"],"other":true`, `[{"Other":"x"}]`, "", "/0 wrong_type"},
		{`"type":"multiple_choice","options":["a","b"],"dontKnow":true`, `{"noAnswer":"dont_know"}`, `{"noAnswer":"dont_know"}`, ""},
		{`"type":"multiple_choice","options":["a","b",{"value":"none","exclusive":true}]`, `["none"]`, `["none"]`, ""},
		{`"type":"multiple_choice","options":["a","b",{"value":"none","exclusive":true}]`, `["a","none"]`, "", " exclusive"},
		{`"type":"multiple_choice","options":["a","b","c"],"validation":{"minSelections":2}`, `["a"]`, "", " too_few"},
		{`"type":"multiple_choice","options":["a","b","c"],"validation":{"maxSelections":2}`, `["a","b","c"]`, "", " too_many"},
		{`"type":"number"`, `1.50`, `1.5`, ""},
		{`"type":"number"`, `-0`, `0`, ""},
		{`"type":"number"`, `1e21`, `1e+21`, ""},
		{`"type":"number"`, `1e-7`, `1e-7`, ""},
		{`"type":"number"`, `"5"`, "", " wrong_type"},
		{`"type":"number"`, `true`, "", " wrong_type"},
		{`"type":"number"`, `1e400`, "", " out_of_range"},
		{`"type":"number"`, `{"value":1}`, "", " wrong_type"},
		{`"type":"number","validation":{"min":1,"max":20}`, `20.0001`, "", " out_of_range"},
		{`"type":"number","validation":{"min":0,"step":0.1}`, `0.3`, `0.3`, ""},
		{`"type":"number","validation":{"min":0.1,"step":0.1}`, `123456.7`, `123456.7`, ""},
		{`"type":"number","validation":{"step":0.1}`, `0.35`, "", " step"},
		{`"type":"number","validation":{"step":0.1}`, `1e90`, "", " step"},
		{`"type":"number","validation":{"min":1,"step":2}`, `4`, "", " step"},
		{`"type":"integer"`, `5.0`, `5`, ""},
		{`"type":"integer"`, `5.5`, "", " wrong_type"},
		{`"type":"integer"`, `9007199254740993`, "", " out_of_range"},
		{`"type":"text"`, `"héllo \u00e9 \"x\""`, `"héllo é \"x\""`, ""},
		{`"type":"text"`, `""`, "", ""},
		{`"type":"text"`, `5`, "", " wrong_type"},
		{`"type":"text"`, `"a\u0000b"`, "", " invalid"},
		{`"type":"text"`, `"` + strings.Repeat("é", 4000) + `"`, `"` + strings.Repeat("é", 4000) + `"`, ""},
		{`"type":"text"`, `"` + strings.Repeat("é", 4001) + `"`, "", " too_long"},
		{`"type":"text","validation":{"maxLength":3}`, `"éééé"`, "", " too_long"},
		{`"type":"text","validation":{"regex":"a|bc"}`, `"bc"`, `"bc"`, ""},
		{`"type":"text","validation":{"regex":"a|bc"}`, `"abc"`, "", " pattern"},
		{`"type":"text","validation":{"regex":"[0-9]+"}`, `"12\n"`, "", " pattern"},
		{`"type":"barcode"`, `"SN-1"`, `"SN-1"`, ""},
		{`"type":"boolean"`, `false`, `false`, ""},
		{`"type":"boolean"`, `"true"`, "", " wrong_type"},
		{`"type":"boolean"`, `1`, "", " wrong_type"},
		{`"type":"consent"`, `true`, `true`, ""},
		{`"type":"date"`, `"2026-01-31"`, `"2026-01-31"`, ""},
		{`"type":"date"`, `"2026-02-30"`, "", " invalid"},
		{`"type":"date"`, `"2026-1-31"`, "", " invalid"},
		{`"type":"date"`, `"0000-01-01"`, "", " invalid"},
		{`"type":"date"`, `"2026-01-31T00:00:00Z"`, "", " invalid"},
		{`"type":"date"`, `20260131`, "", " wrong_type"},
		{`"type":"time"`, `"14:05"`, `"14:05"`, ""},
		{`"type":"time"`, `"14:05:30"`, `"14:05:30"`, ""},
		{`"type":"time"`, `"4:05"`, "", " invalid"},
		{`"type":"time"`, `"24:00"`, "", " invalid"},
		{`"type":"time"`, `"14:05:30.5"`, "", " invalid"},
		{`"type":"datetime"`, `"2026-01-31T14:05:00+03:00"`, `"2026-01-31T14:05:00+03:00"`, ""},
		{`"type":"datetime"`, `"2026-01-31 14:05"`, "", " invalid"},
		{`"type":"geo"`, `{"lon":36.8,"lat":-1.29}`, `{"lat":-1.29,"lon":36.8}`, ""},
		{`"type":"geo"`, `{"lat":-1.29,"lon":36.8,"altitude":null,"accuracy":4.5}`, `{"accuracy":4.5,"lat":-1.29,"lon":36.8}`, ""},
		{`"type":"geo"`, `{"lat":91,"lon":0}`, "", "/lat out_of_range"},
		{`"type":"geo"`, `{"lat":1,"lon":"0"}`, "", "/lon wrong_type"},
		{`"type":"geo"`, `{"lat":1}`, "", "/lon required"},
		{`"type":"geo"`, `{"lat":null,"lon":1}`, "", "/lat wrong_type"},
		{`"type":"geo"`, `{"lat":1,"lon":1,"accuracy":-1}`, "", "/accuracy out_of_range"},
		{`"type":"geo"`, `{"lat":1,"lon":1,"x/y":1}`, "", "/x~1y unknown"},
		{`"type":"geo"`, `[1,2]`, "", " wrong_type"},
		{`"type":"geo","refuse":true`, `{"noAnswer":"refused"}`, `{"noAnswer":"refused"}`, ""},
		{`"type":"photo"`, `"` + sum + `"`, `"` + sum + `"`, ""},
		{`"type":"photo"`, `"` + strings.ToUpper(sum) + `"`, "", " invalid"},
		{`"type":"audio"`, `"sha256:00"`, "", " invalid"},
		{`"type":"file"`, `"http://x"`, "", " invalid"},
		{`"type":"signature"`, `{"noAnswer":"refused"}`, "", "/noAnswer not_allowed"},
		{`"type":"rating"`, `5`, `5`, ""},
		{`"type":"rating"`, `6`, "", " out_of_range"},
		{`"type":"rating"`, `2.5`, "", " wrong_type"},
		{`"type":"rating","validation":{"max":10}`, `10`, `10`, ""},
		{`"type":"rank","options":["a","b","c"]`, `["c","a","b"]`, `["c","a","b"]`, ""},
		{`"type":"rank","options":["a","b","c"]`, `["c","a"]`, "", " too_few"},
		{`"type":"rank","options":["a","b","c"]`, `["c","a","a"]`, "", "/2 duplicate"},
		{`"type":"rank","options":["a","b","c"]`, `[]`, "", ""},
		{`"type":"rank","options":["a","b","c"]`, `"a"`, "", " wrong_type"},
		{`"type":"matrix","rows":["r2","r1"],"options":["a","b"]`, `{"r2":"a","r1":"b"}`, `{"r1":"b","r2":"a"}`, ""},
		{`"type":"matrix","rows":["r2","r1"],"options":["a","b"]`, `{"r2":"a","r1":null}`, `{"r2":"a"}`, ""},
		{`"type":"matrix","rows":["r2","r1"],"options":["a","b"]`, `{}`, "", ""},
		{`"type":"matrix","rows":["r2","r1"],"options":["a","b"]`, `{"r3":"a"}`, "", "/r3 unknown"},
		{`"type":"matrix","rows":["r2","r1"],"options":["a","b"]`, `{"r1":"c"}`, "", "/r1 not_an_option"},
		{`"type":"matrix","rows":["r2","r1"],"options":["a","b"]`, `{"r1":["a"]}`, "", "/r1 wrong_type"},
		{`"type":"quantity","units":["kg","bag"]`, `{"value":2.50,"unit":"kg"}`, `{"unit":"kg","value":2.5}`, ""},
		{`"type":"quantity","unit":"kg"`, `{"value":2,"unit":"kg"}`, `{"unit":"kg","value":2}`, ""},
		{`"type":"quantity","units":["kg","bag"]`, `{"value":2,"unit":"lb"}`, "", "/unit not_an_option"},
		{`"type":"quantity","units":["kg","bag"]`, `{"value":"2","unit":"kg"}`, "", "/value wrong_type"},
		{`"type":"quantity","units":["kg","bag"]`, `{"value":2}`, "", "/unit required"},
		{`"type":"quantity","units":["kg","bag"],"validation":{"min":0}`, `{"value":-2,"unit":"kg"}`, "", "/value out_of_range"},
		{`"type":"quantity","units":["kg","bag"]`, `2`, "", " wrong_type"},
		{`"type":"household_ref"`, `"did:ixo:household/123"`, `"did:ixo:household/123"`, ""},
		{`"type":"entity_ref"`, `"household 123"`, "", " invalid"},
		{`"type":"note"`, `"x"`, "", " not_allowed"},
		{`"type":"calculate","calculate":"1 + 1"`, `2`, `2`, ""},
		{`"type":"calculate","calculate":"0.1 + 0.2"`, `0.3`, `0.30000000000000004`, ""},
		{`"type":"calculate","calculate":"1 + 1"`, `3`, "2", " calculated"},
		{`"type":"calculate","calculate":"1 + 1"`, `"2"`, "2", " calculated"},
		{`"type":"calculate","calculate":"1.0 / 0.0"`, `{}`, "", " calculated"},
		{`"type":"calculate","calculate":"['a', 'b']"`, `null`, `["a","b"]`, ""},
		{`"type":"calculate","calculate":"today"`, `null`, `"2026-03-14T00:00:00Z"`, ""},
		{`"type":"calculate","calculate":"today - timestamp('2026-03-13T00:00:00Z')"`, `null`, `86400`, ""},
		{`"type":"calculate","calculate":"1 / 0"`, `null`, ``, ""},
		{`"type":"group","questions":[{"id":"a","type":"number"}]`, `{"a":1}`, `{"a":1}`, ""},
		{`"type":"group","questions":[{"id":"a","type":"number"}]`, `{}`, ``, ""},
		{`"type":"group","questions":[{"id":"a","type":"number"}]`, `[]`, ``, " wrong_type"},
		{`"type":"group","questions":[{"id":"a","type":"number"}]`, `{"b":1}`, ``, "/b unknown_question"},
		{`"type":"repeat","questions":[{"id":"a","type":"number"}]`, `[{"a":1},{},{"a":2}]`, `[{"a":1},{},{"a":2}]`, ""},
		{`"type":"repeat","questions":[{"id":"a","type":"number"}]`, `[]`, `[]`, ""},
		{`"type":"repeat","questions":[{"id":"a","type":"number"}]`, `{"a":1}`, ``, " wrong_type"},
		{`"type":"repeat","questions":[{"id":"a","type":"number"}]`, `[{"a":"1"}]`, `[{}]`, "/0/a wrong_type"},
		{`"type":"repeat","questions":[{"id":"a","type":"number"}]`, `[null]`, `[{}]`, "/0 wrong_type"},
		{`"type":"repeat","maxRepeats":1,"questions":[{"id":"a","type":"number"}]`, `[{},{},{}]`, `[{}]`, " too_many"},
	} {
		t.Run(tt.question+" "+tt.answer[:min(len(tt.answer), 60)], func(t *testing.T) {
			t.Parallel()
			r := check(compile(t, questions(`{"id":"q",`+tt.question+`}`)), `{"s":{"q":`+tt.answer+`}}`)
			code := ""
			if len(r.Wrong) > 0 {
				code = strings.TrimPrefix(r.Wrong[0].Pointer, "/responses/s/q") + " " + r.Wrong[0].Code
			}
			want := "{}"
			if tt.want != "" {
				want = `{"s":{"q":` + tt.want + `}}`
			}
			if code != tt.code || string(r.Answers) != want {
				t.Errorf("Check() = %s with %q, want %s with %q", r.Answers, code, want, tt.code)
			}
		})
	}
}

func TestLimitsOfAnswers(t *testing.T) {
	t.Parallel()
	f := compile(t, questions(`{"id":"q","type":"text"},{"id":"r","type":"repeat","questions":[{"id":"a","type":"repeat","questions":[{"id":"b","type":"number"}]}]}`))
	if r := check(f, `{"s":{"q":"`+strings.Repeat("x", 256<<10)+`"}}`); said(r.Wrong) != "/responses too_large" {
		t.Errorf("a large body: %s", said(r.Wrong))
	}
	if r := check(f, `{"s":{"r":[`+strings.Repeat("{},", 200)+`{}]}}`); said(r.Wrong) != "/responses/s/r too_many" {
		t.Errorf("201 elements: %s", said(r.Wrong))
	}
	inner := `{"a":[` + strings.Repeat("{},", 199) + `{}]},`
	r := check(f, `{"s":{"r":[`+strings.Repeat(inner, 199)+`{}]}}`)
	if len(r.Wrong) == 0 || !strings.HasPrefix(r.Wrong[0].Pointer, "/responses/s/r/") || r.Wrong[0].Code != "too_many" {
		t.Errorf("40,000 elements: %s", said(r.Wrong))
	}
	var many strings.Builder
	for i := range 500 {
		many.WriteString(`"x` + strconv.Itoa(i) + `":1,`)
	}
	if r := check(f, `{"s":{`+many.String()+`"q":"x"}}`); len(r.Wrong) != 100 {
		t.Errorf("500 problems: %d named, want 100", len(r.Wrong))
	}
	long := strings.Repeat("é", 5000)
	if r := check(f, `{"`+long+`":1}`); len(r.Wrong) != 1 || utf8.RuneCountInString(r.Wrong[0].Pointer) > 120 {
		t.Errorf("a long name: %d bytes in the pointer", len(r.Wrong[0].Pointer))
	}
}
