package survey_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

func quoted(n int) string { return `"` + strings.Repeat("x", n) + `"` }

// list is a JSON array of n elements.
func list(n int, one func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = one(i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// Whoever leaves the method out reads which there are.
func TestMethodsAreTold(t *testing.T) {
	t.Parallel()
	var d survey.Draft
	if err := json.Unmarshal([]byte(with(t, "sampling.method", "")), &d); err != nil {
		t.Fatal(err)
	}
	f := fault.As(d.Validate())
	if f == nil || !strings.Contains(f.Fields[0].Detail, "census, simple_random") {
		t.Errorf("without a method = %+v, want the methods", f)
	}
}

func TestDraftRules(t *testing.T) {
	t.Parallel()
	collector := func(i int) string { return fmt.Sprintf(`"did:ixo:agent/%d"`, i) }
	for _, tt := range []struct{ name, draft, want string }{
		{"documented", documented, ""},
		{"nothing", `{}`, "/type required, /projectId required, /template required, /sampling required"},
		{"unknown type", with(t, "type", `"Survey"`), "/type not_allowed"},
		{"type in other letters", with(t, "type", `"baselineSurvey"`), "/type not_allowed"},
		{"follow-up", with(t, "type", `"FollowUpSurvey"`), ""},
		{"follow-up as one word", with(t, "type", `"FollowupSurvey"`, "stage", `"follow-up"`), ""},
		{"follow-up with a dash", with(t, "type", `"Follow-upSurvey"`), ""},
		{"stage of another type", with(t, "stage", `"monitoring"`), "/stage conflict"},
		{"unknown stage", with(t, "stage", `"end"`), "/stage not_allowed"},
		{"project is no DID", with(t, "projectId", `"project 1"`), "/projectId invalid"},
		{"id with a slash", with(t, "surveyId", `"a/b"`), "/surveyId invalid"},
		{"id that begins with a dot", with(t, "surveyId", `".a"`), "/surveyId invalid"},
		{"id of 100", with(t, "surveyId", quoted(100)), ""},
		{"id of 101", with(t, "surveyId", quoted(101)), "/surveyId invalid"},
		{"no flag", with(t, "template", `{}`), "/template nothing_selected"},
		{"all flags false", with(t, "template", `{"eligibilityCriteria":false,"stovePerceptions":false}`), "/template nothing_selected"},
		{"flags and sections", with(t, "sections", `["consent"]`), "/sections conflict"},
		{"template and no flags", with(t, "template", "", "templateId", `"mine"`), ""},
		{"sections twice", with(t, "template", "", "templateId", `"mine"`, "sections", `["a","a"]`), "/sections/1 duplicate"},
		{"template version", with(t, "templateVersion", `-1`), "/templateVersion out_of_range"},

		{"size 0", with(t, "sampling.size", "0"), "/sampling/size out_of_range"},
		{"size below 0", with(t, "sampling.size", "-5"), "/sampling/size out_of_range"},
		{"half a household", with(t, "sampling.size", "10.5"), "/sampling/size out_of_range"},
		{"size as a decimal", with(t, "sampling.size", "100.0"), ""},
		{"huge size", with(t, "sampling.size", "1e300"), "/sampling/size out_of_range"},
		{"no size", with(t, "sampling.size", ""), "/sampling/size required"},
		{"census without a size", with(t, "sampling.size", "", "sampling.method", `"census"`), ""},
		{"more than there are", with(t, "sampling.population", "99"), "/sampling/size out_of_range"},
		{"as many as there are", with(t, "sampling.population", "100"), ""},
		{"population 0", with(t, "sampling.population", "0"), "/sampling/population out_of_range"},
		{"confidence 95", with(t, "sampling.confidence", "95"), "/sampling/confidence out_of_range"},
		{"confidence 1", with(t, "sampling.confidence", "1"), "/sampling/confidence out_of_range"},
		{"confidence 0.5", with(t, "sampling.confidence", "0.5"), "/sampling/confidence out_of_range"},
		{"confidence just above", with(t, "sampling.confidence", "0.51"), ""},
		{"no confidence", with(t, "sampling.confidence", ""), ""},
		{"unknown method", with(t, "sampling.method", `"random"`), "/sampling/method not_allowed"},
		{"no method", with(t, "sampling.method", ""), "/sampling/method required"},
		{"margin 0", with(t, "sampling.marginOfError", "0"), "/sampling/marginOfError out_of_range"},
		{"precision 10", with(t, "sampling.precision", "10"), "/sampling/precision out_of_range"},
		{"parameter", with(t, "sampling.parameterType", `"median"`), "/sampling/parameterType not_allowed"},
		{"enrolment", with(t, "sampling.enrolment", `"closed"`), "/sampling/enrolment not_allowed"},
		{"margin of the server", with(t, "sampling.impliedMarginOfError", "0.1", "sampling.warnings", `[]`), "/sampling/impliedMarginOfError read_only, /sampling/warnings read_only"},
		{"stratum without a name", with(t, "sampling.strata", `[{"size":1}]`), "/sampling/strata/0/name required, /sampling/strata wrong_sum"},
		{"stratum twice", with(t, "sampling.strata", `[{"name":"a"},{"name":"a"}]`), "/sampling/strata/1/name duplicate"},
		{"sizes of strata", with(t, "sampling.strata", `[{"name":"a","size":60},{"name":"b","size":41}]`), "/sampling/strata wrong_sum"},
		{"sizes that fit", with(t, "sampling.strata", `[{"name":"a","size":60},{"name":"b","size":40}]`), ""},
		{"weights", with(t, "sampling.strata", `[{"name":"a","weight":0.6},{"name":"b","weight":0.6}]`), "/sampling/strata wrong_sum"},
		{"weights that leave some out", with(t, "sampling.strata", `[{"name":"a","weight":0.1},{"name":"b","weight":0.2}]`), "/sampling/strata wrong_sum"},
		{"weights in thirds", with(t, "sampling.strata", `[{"name":"a","weight":0.3333333},{"name":"b","weight":0.3333333},{"name":"c","weight":0.3333333}]`), ""},
		{"a weight that is not known", with(t, "sampling.strata", `[{"name":"a","weight":0.4},{"name":"b"}]`), ""},
		{"more in a stratum than there are", with(t, "sampling.strata", `[{"name":"a","population":30,"size":60},{"name":"b","population":400,"size":40}]`), "/sampling/strata/0/size out_of_range"},
		{"more in strata than in all", with(t, "sampling.population", "400", "sampling.strata", `[{"name":"a","population":30},{"name":"b","population":400}]`), "/sampling/strata wrong_sum"},
		{"strata that are the whole", with(t, "sampling.population", "430", "sampling.strata", `[{"name":"a","population":30},{"name":"b","population":400}]`), ""},
		{"a stratum that is not known", with(t, "sampling.population", "430", "sampling.strata", `[{"name":"a","population":30},{"name":"b"}]`), ""},
		{"weight below 0", with(t, "sampling.strata", `[{"name":"a","weight":-0.1},{"name":"b"}]`), "/sampling/strata/0/weight out_of_range"},
		{"200 strata", with(t, "sampling.strata", list(200, func(i int) string { return fmt.Sprintf(`{"name":"%d"}`, i) })), ""},
		{"201 strata", with(t, "sampling.strata", list(201, func(i int) string { return fmt.Sprintf(`{"name":"%d"}`, i) })), "/sampling/strata too_many"},

		{"modes", with(t, "modes", `["visit","phone","browser","collect","ussd","web","chat","import"]`), ""},
		{"unknown mode", with(t, "modes", `["visit","fax"]`), "/modes/1 not_allowed"},
		{"mode twice", with(t, "modes", `["visit","visit"]`), "/modes/1 duplicate"},
		{"collectors", with(t, "collectors", `["did:ixo:agent/1",{"did":"did:ixo:agent/2","name":"A","training":{"completedAt":"2026-01-01T00:00:00Z","note":"n"}}]`), ""},
		{"collector twice", with(t, "collectors", `["did:ixo:agent/1",{"did":"did:ixo:agent/1"}]`), "/collectors/1/did duplicate"},
		{"collector without a DID", with(t, "collectors", `[{"name":"A"}]`), "/collectors/0/did required"},
		{"collector who is no DID", with(t, "collectors", `["A"]`), "/collectors/0/did invalid"},
		{"500 collectors", with(t, "collectors", list(500, collector)), ""},
		{"501 collectors", with(t, "collectors", list(501, collector)), "/collectors too_many"},
		{"languages", with(t, "languages", `["en","sw-KE","English"]`), "/languages/2 invalid"},
		{"instructions", with(t, "instructions", `{"en":"Ask","sw":"Uliza"}`), ""},
		{"instructions in no language", with(t, "instructions", `{"English":"Ask"}`), "/instructions invalid"},
		{"long instructions", with(t, "instructions", quoted(4001)), "/instructions too_long"},
		{"window", with(t, "window", `{"start":"2026-02-01T00:00:00Z","end":"2026-01-01T00:00:00Z"}`), "/window/end out_of_range"},
		{"window of another age", with(t, "window", `{"start":"0026-02-01T00:00:00Z"}`), "/window/start out_of_range"},
		{"recurrence", with(t, "recurrence", `{"every":0,"unit":"moon"}`), "/recurrence/every out_of_range, /recurrence/unit not_allowed"},
		{"eligibility without a text", with(t, "eligibility", `{"expression":""}`), "/eligibility/expression required"},
		{"long eligibility", with(t, "eligibility", `{"expression":`+quoted(2001)+`}`), "/eligibility/expression too_long"},
		{
			"policy", with(t, "verificationPolicy", `{"mode":"guess","minReviewers":3,"autoRules":["Not a rule"]}`),
			"/verificationPolicy/mode not_allowed, /verificationPolicy/minReviewers out_of_range, /verificationPolicy/autoRules/0 not_allowed",
		},
		{"two reviewers and none", with(t, "verificationPolicy", `{"mode":"auto","minReviewers":2}`), "/verificationPolicy/minReviewers conflict"},
		{"assignments", with(t, "assignments", `[{"collector":"did:ixo:agent/1","strata":["a"],"areas":["x"],"load":3,"households":["did:ixo:household/1"]}]`), ""},
		{"assignment to nobody", with(t, "assignments", `[{"load":-1}]`), "/assignments/0/collector required, /assignments/0/load out_of_range"},
		{"assignment of a stratum that is none", with(t, "sampling.strata", `[{"name":"a"}]`, "assignments", `[{"collector":"did:x:y","strata":["b"]}]`), "/assignments/0/strata/0 unknown"},
		{"household assigned twice", with(t, "assignments", `[{"collector":"did:x:y","households":["did:x:h"]},{"collector":"did:x:z","households":["did:x:h"]}]`), "/assignments/1/households/0 duplicate"},
		{"many households", with(t, "assignments", `[{"collector":"did:x:y","households":`+list(1001, func(i int) string { return fmt.Sprintf(`"did:x:%d"`, i) })+`}]`), "/assignments/0/households too_many"},
		{"metadata", with(t, "metadata", `[1]`), "/metadata invalid"},
		{"much metadata", with(t, "metadata", `{"a":`+quoted(16<<10)+`}`), "/metadata invalid"},
		{"long name", with(t, "name", quoted(201)), "/name too_long"},
		{
			"everything at once", `{"type":"X","projectId":"y","template":{},"sampling":{"method":"guess","size":0,"confidence":95},"modes":["fax"]}`,
			"/type not_allowed, /projectId invalid, /template nothing_selected, /sampling/method not_allowed, /sampling/size out_of_range, /sampling/confidence out_of_range, /modes/0 not_allowed",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := draft(t, tt.draft)
			err := d.Validate()
			if got := codes(err); got != tt.want {
				t.Errorf("Validate() = %s, want %s", got, tt.want)
			}
			if err != nil && fault.CodeOf(err) != "SURVEY_CONFIGURATION_INVALID" {
				t.Errorf("Validate() code = %s", fault.CodeOf(err))
			}
		})
	}
}

// However much is wrong, the answer is bounded.
func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	d := draft(t, with(t, "collectors", list(500, func(int) string { return `"x"` })))
	if n := strings.Count(codes(d.Validate()), ",") + 1; n != 100 {
		t.Errorf("%d problems named, want 100", n)
	}
}

func TestConfidenceHint(t *testing.T) {
	t.Parallel()
	d := draft(t, with(t, "sampling.confidence", "95"))
	f := fault.As(d.Validate())
	if f == nil || !strings.Contains(f.Fields[0].Detail, "0.95") {
		t.Errorf("Validate() = %+v, want a hint at 0.95", f)
	}
}

// Completing leaves the draft as it is, and gives the same when done again.
func TestSamplingComplete(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sampling, margin, warnings string }{
		{`{"method":"stratified","size":100,"confidence":0.95}`, "0.098", "strata required before activation"},
		{`{"method":"stratified","size":100,"confidence":0.95,"strata":[{"name":"a"}]}`, "0.098", ""},
		{`{"method":"simple_random","size":385,"confidence":0.95,"marginOfError":0.05}`, "0.0499", ""},
		{`{"method":"simple_random","size":384,"confidence":0.95,"marginOfError":0.05}`, "0.05", ""},
		{`{"method":"simple_random","size":100,"confidence":0.9,"marginOfError":0.05}`, "0.0822", "the size gives a margin of error of 0.0822, more than the 0.05 aimed at"},
		{`{"method":"simple_random","size":357,"confidence":0.95,"marginOfError":0.05,"population":5000}`, "0.05", ""},
		{`{"method":"simple_random","size":30,"confidence":0.9,"precision":0.1}`, "0.1502", "the size gives a relative precision of 0.3004 for a proportion of one half, not the 0.1 aimed at"},
		{`{"method":"simple_random","size":271,"confidence":0.9,"precision":0.1,"population":640000}`, "0.0499", ""},
		{`{"method":"cluster","size":100,"confidence":0.95}`, "0.098", "households of one cluster are alike: the margin of error will be larger than that of a simple random sample"},
		{`{"method":"cluster","size":100}`, "", "no confidence level is given"},
		{`{"method":"census"}`, "", ""},
		{`{"method":"convenience","size":5,"confidence":0.9}`, "", "not a probability sample: no confidence interval is reported"},
	} {
		var s survey.Sampling
		if err := json.Unmarshal([]byte(tt.sampling), &s); err != nil {
			t.Fatal(err)
		}
		done := s.Complete()
		margin := ""
		if done.ImpliedMarginOfError != nil {
			margin = fmt.Sprint(*done.ImpliedMarginOfError)
		}
		if got := strings.Join(done.Warnings, "; "); got != tt.warnings || margin != tt.margin {
			t.Errorf("%s: margin %s, warnings %s", tt.sampling, margin, got)
		}
		if s.Warnings != nil || s.ImpliedMarginOfError != nil {
			t.Errorf("%s: the draft has changed", tt.sampling)
		}
		if again := done.Draft().Complete(); fmt.Sprintf("%+v", *again.Draft()) == "" || len(again.Warnings) != len(done.Warnings) {
			t.Errorf("%s: again %+v", tt.sampling, again)
		}
	}
}

// Rules share households by load, each household for ever the same, and a new
// collector takes from the others without moving what stays.
func TestDuties(t *testing.T) {
	t.Parallel()
	rules := []survey.Assignment{{Collector: "a", Load: 3}, {Collector: "b"}, {Collector: "c", Strata: []string{"rural"}, Areas: []string{"x"}}, {Collector: "d", Households: []string{"h7"}}}
	before, after := survey.NewDuties(rules[:2]), survey.NewDuties(append([]survey.Assignment{{Collector: "new"}}, rules[:2]...))
	got, moved := map[string]int{}, 0
	for i := range 4000 {
		h := fmt.Sprint("h", i)
		who, now := before.Of(h, "", ""), after.Of(h, "", "")
		if got[who]++; who != before.Of(h, "", "") {
			t.Fatalf("%s goes to two", h)
		}
		if now != who {
			if moved++; now != "new" {
				t.Fatalf("%s moved from %s to %s", h, who, now)
			}
		}
	}
	if got["a"] < 2850 || got["a"] > 3150 || moved < 680 || moved > 920 {
		t.Errorf("shares = %v, want 3000 and 1000; %d moved, want 800", got, moved)
	}
	all := survey.NewDuties(rules[2:])
	for _, tt := range []struct{ household, stratum, area, want string }{
		{"h7", "rural", "x", "d"}, {"h1", "rural", "x", "c"}, {"h1", "rural", "y", ""}, {"h1", "urban", "x", ""},
	} {
		if got := all.Of(tt.household, tt.stratum, tt.area); got != tt.want {
			t.Errorf("Of(%s, %s, %s) = %q, want %q", tt.household, tt.stratum, tt.area, got, tt.want)
		}
	}
	if !all.Gives("d") || !all.Gives("c") || all.Gives("a") {
		t.Error("Gives() does not fit")
	}
}
