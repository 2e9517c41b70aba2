package form_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Neither the questions of a template nor the answers to them can make a regex
// take long.
func TestRegexesAreBounded(t *testing.T) {
	t.Parallel()
	var big, dear, answers []string
	for i := range 50 {
		big = append(big, fmt.Sprintf(`{"id":"q%d","type":"text","validation":{"regex":%q}}`, i, strings.Repeat(".{0,1000}", 55)))
		dear = append(dear, fmt.Sprintf(`{"id":"q%d","type":"text","validation":{"regex":"(?:.*.?){19}"}}`, i))
		answers = append(answers, fmt.Sprintf(`"q%d":%q`, i, strings.Repeat("a", 4000)))
	}
	start := time.Now()
	if got := problems(t, questions(strings.Join(big, ","))); len(got) != 50 || got[0].Code != "too_complex" {
		t.Errorf("Compile() = %s, want 50 times too_complex", said(got))
	}
	f := compile(t, questions(strings.Join(dear, ",")))
	if f.Weight() == 0 || f.Weight() > 64<<10 {
		t.Errorf("Weight() = %d, want that of one pattern", f.Weight())
	}
	if r := check(f, `{"s":{`+strings.Join(answers, ",")+`}}`); said(r.Wrong) != "/responses too_costly" {
		t.Errorf("Check() = %s, want too_costly", said(r.Wrong))
	}
	if r := check(f, `{"s":{`+strings.Join(answers[:5], ",")+`}}`); !r.OK() || r.Answered != 5 {
		t.Errorf("Check() of 5 = %s", said(r.Wrong))
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// The bound is no burden for what questionnaires ask.
func TestRegexesOfQuestionnaires(t *testing.T) {
	t.Parallel()
	for _, regex := range []string{
		`\\+?[0-9]{7,15}`, `[\\p{L} '-]{2,60}`, `[A-Z]{2}-[0-9]{4,8}(/[A-Z])?`, `[^@\\s]+@[^@\\s]+\\.[a-z]{2,}`, `.{1,255}`, `(?i)[a-z0-9 .,;:!?-]{0,200}`,
		`[0-9]{8}-[0-9]{4}-[0-9]{4}`, `(25[0-5]|2[0-4]\\d|1?\\d?\\d)(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}`, `(\\w+ ?){1,10}`,
	} {
		f := compile(t, questions(`{"id":"r","type":"repeat","questions":[{"id":"a","type":"text","validation":{"regex":"`+regex+`"}}]}`))
		elements := strings.TrimSuffix(strings.Repeat(`{"a":"Amina wa Kibera 254"},`, 200), ",")
		for _, w := range check(f, `{"s":{"r":[`+elements+`]}}`).Wrong {
			if w.Code != "pattern" {
				t.Errorf("Check() with %s = %s", regex, said([]fault.Field{w}))
			}
		}
	}
}

// Personal answers do not rub off on what is calculated from the others of
// their repeat.
func TestPrivateByMember(t *testing.T) {
	t.Parallel()
	f := compile(t, questions(`{"id":"people","type":"repeat","questions":[{"id":"name","type":"text","pii":"direct"},{"id":"age","type":"integer"}]},
		{"id":"adults","type":"calculate","calculate":"size(people.filter(p, p.age >= 18))"},
		{"id":"oldest","type":"calculate","calculate":"people.filter(p, p.age >= 18).map(p, p.age)"},
		{"id":"named","type":"calculate","calculate":"people.filter(p, answered(p)).size()"},
		{"id":"juma","type":"calculate","calculate":"size(people.filter(p, p.name == 'Juma'))"},
		{"id":"names","type":"calculate","calculate":"people.filter(p, p.age >= 18).map(p, p.name)"},
		{"id":"first","type":"calculate","calculate":"answered(people[0])"}`))
	want := map[string]form.PII{"adults": "", "oldest": "", "named": form.PIIIndirect, "juma": form.PIIIndirect, "names": form.PIIIndirect, "first": form.PIIIndirect}
	for _, c := range f.Columns() {
		if mark, ok := want[c.Path[1]]; ok && c.PII != mark {
			t.Errorf("%s is marked %q, want %q", c.Path[1], c.PII, mark)
		}
	}
}
