package report_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/html"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

const template = `{"templateId":"use","title":"Use","validations":{"completionThreshold":0.05},"sections":[
	{"id":"consent","questions":[{"id":"agree","type":"consent"}]},
	{"id":"home","title":"The <b>home</b>","questions":[
		{"id":"kind","type":"single_choice","label":"Which </style><script>alert(1)</script> fuel?","options":[{"value":"wood","label":"<i>Wood</i>"},{"value":"gas","label":"Gas"}]},
		{"id":"fuel","type":"number","label":"Fuel in a week","unit":"kg"},{"id":"never","type":"integer","label":"Nobody was asked"},
		{"id":"name","type":"text","pii":"direct"}]}]}`

// newEnv has a survey of 20 households, of which two of the group b answer.
func newEnv(t *testing.T) *surveytest.Env {
	t.Helper()
	v, _ := newLarge(t, false)
	return v
}

// newLarge is newEnv with a survey that is too large for a request, if large, and
// the jobs that make its report.
func newLarge(t *testing.T, large bool) (*surveytest.Env, *job.Service) {
	t.Helper()
	d := dbtest.SQLite(t)
	v := surveytest.New(t, d)
	jobs := job.New(job.Config{DB: d, Cursors: eventtest.Cursors()})
	figures := statistics.New(statistics.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses})
	reports := report.New(report.Config{
		Surveys: v.Surveys, DB: d, Jobs: jobs,
		Make: func(ctx context.Context, o *survey.Open, question string, in report.Ask, job string) error {
			return figures.Make(ctx, o.SurveyID, statistics.Query{Question: question, Round: in.Round, Verified: in.Verified}, job)
		},
		Questions: func(o *survey.Open, language string) (out []report.Question) {
			for _, q := range statistics.Questions(o, language) {
				out = append(out, report.Question{Name: q.Question, Section: q.Section})
			}
			return out
		},
		Figures: func(ctx context.Context, o *survey.Open, question string, in report.Ask) (*api.SurveyStatistics, report.Names, error) {
			q := statistics.Query{Question: question, Round: in.Round, Verified: in.Verified}
			names := statistics.Named(o, &api.SurveyStatistics{Question: question}, in.Language)
			if in.Job != "" {
				s, err := figures.MadeOf(ctx, o.SurveyID, q, in.Job)
				return s, names, err
			}
			if large {
				return nil, names, fault.New(fault.Unprocessable, "STATISTICS_TOO_LARGE", "Too many.")
			}
			s, err := figures.Statistics(ctx, o.SurveyID, q)
			return s, statistics.Named(o, &api.SurveyStatistics{Question: question}, in.Language), err
		},
		Proof: func(context.Context, string, string) (report.Proof, error) { return report.Proof{}, nil },
	})
	reports.Routes(v.API)
	runner, err := jobs.NewRunner(job.RunnerConfig{Handlers: reports.Handlers()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); runner.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	v.Must(t, "ws owner", "POST /v1/templates", template, nil)
	v.Must(t, "ws owner", "POST /v1/templates/use/publish", `{}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":"s","name":"Use & <fuel>","type":"MonitoringSurvey","projectId":%q,"templateId":"use","modes":["phone"],"window":{"start":"2024-01-01T00:00:00Z"},"collectors":["did:key:ann"],
		"sampling":{"method":"stratified","size":20,"confidence":0.9,"precision":0.1,"strata":[{"name":"a","population":100},{"name":"b","population":300}],
		"drawnElsewhere":{"method":"R survey 4.1","by":"did:ixo:org/1","at":"2026-01-02T00:00:00Z","documentHash":"abababababababababababababababababababababababababababababababab"}}}`, surveytest.Project), nil)
	var list []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"householdId":"did:ixo:household/%d","stratum":%q}`, i, []string{"a", "b"}[i%2]))
	}
	v.Must(t, "ws owner", "POST /v1/surveys/s/households", `{"items":[`+strings.Join(list, ",")+`]}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys/s/activate", `{"reason":"test"}`, nil)
	for i := range 18 {
		v.Must(t, "ws ann", "POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2026-03-02T09:00:00Z","mode":"phone",
			"responses":{"consent":{"agree":true},"home":{"kind":%q,"fuel":%d,"name":"Mary Mwangi"}}}`, i, i, []string{"wood", "gas"}[i%3%2], i), nil)
	}
	return v, jobs
}

// TestLargeReport has a job make the figures of a report: the report is read by its
// address, by nobody else, and without those of a response that was taken out.
func TestLargeReport(t *testing.T) {
	t.Parallel()
	v, _ := newLarge(t, true)
	ask := func(who, path string) *httptest.ResponseRecorder { return v.Send(t, who, "GET "+path, "") }
	w := ask("ws owner", "/v1/surveys/s/report?questions=home/fuel,home/never")
	var j job.Job
	if err := json.Unmarshal(w.Body.Bytes(), &j); err != nil || w.Code != 202 || w.Header().Get("Location") != "/v1/jobs/"+j.ID || w.Header().Get("Refresh") != "2; url="+j.Links.About {
		t.Fatalf("a large report = %d %v %s", w.Code, w.Header(), w.Body)
	}
	if again := ask("ws owner", "/v1/surveys/s/report?questions=home/fuel,home/never"); !strings.Contains(again.Body.String(), j.ID) {
		t.Errorf("the same report is another job: %s", again.Body)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for w = ask("ws owner", j.Links.About); w.Code == 202; w = ask("ws owner", j.Links.About) {
		<-tick.C
	}
	names, text := elements(t, w.Body.String())
	if w.Code != 200 || names["svg"] != 2 || !strings.Contains(text, "18 of 20 households answered") || !strings.Contains(text, "The job made no figure") {
		t.Fatalf("the report of the job = %d %v %s", w.Code, names, text)
	}
	for _, tt := range []struct {
		who, path string
		status    int
	}{
		{"other owner", j.Links.About, 404},
		{"ws stranger", j.Links.About, 404},
		{"ws auditor", j.Links.About, 404},
		{"ws owner", "/v1/surveys/s/report?job=x", 404},
	} {
		if w := ask(tt.who, tt.path); w.Code != tt.status {
			t.Errorf("%s as %s = %d %s", tt.path, tt.who, w.Code, w.Body)
		}
	}
}

// elements are the names of the elements of a page with the values of some of
// their attributes.
func elements(t *testing.T, page string) (names map[string]int, text string) {
	t.Helper()
	names = map[string]int{}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	english, other := map[*html.Node]bool{}, !strings.Contains(page, `<html lang="en">`) // what is said to be, on a page in another language
	for n := range root.Descendants() {
		english[n] = english[n.Parent] || other && slices.Contains(n.Attr, html.Attribute{Key: "lang", Val: "en"})
		switch n.Type {
		case html.ElementNode:
			names[n.Data]++
			for _, a := range n.Attr {
				if a.Key == "style" || a.Key == "src" || a.Key == "href" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		case html.TextNode:
			if n.Parent.Data != "style" && !english[n] {
				text += n.Data + " "
			}
		}
	}
	return names, strings.Join(strings.Fields(text), " ")
}

func TestReport(t *testing.T) {
	t.Parallel()
	v := newEnv(t)
	w := v.Send(t, "ws owner", "GET /v1/surveys/s/report", "")
	names, text := elements(t, w.Body.String())
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || names["script"]+names["link"]+names["img"]+names["iframe"] > 0 || names["svg"] != 3 || names["i"] > 0 {
		t.Fatalf("%d %v %v", w.Code, w.Header(), names)
	}
	for _, want := range []string{
		"Use & <fuel>", "The <b>home</b>", "Which </style><script>alert(1)</script> fuel?", "<i>Wood</i>", "90 % intervals (Wilson)", "Fuel in a week", "18 of 20 households answered",
		"drawn elsewhere; the draw was not verified here", "abababab", "Response rate 90.0 %", "No figure: ", "(NO_ANSWERS)", "R survey 4.1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q: %s", want, text)
		}
	}
	if strings.Contains(text, "Mwangi") || strings.Contains(text, "household/") {
		t.Errorf("the report names somebody: %s", text)
	}
	policy := w.Header().Get("Content-Security-Policy")
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(w.Body.String())
	if len(style) != 2 || !strings.Contains(policy, "default-src 'none'; style-src "+report.Source(style[1])+";") || strings.Contains(policy, "unsafe") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("policy %s", policy)
	}
	if _, text := elements(t, v.Send(t, "ws owner", "GET /v1/surveys/s/report?questions=home/fuel&verified=true", "").Body.String()); strings.Contains(text, "Nobody was asked") || !strings.Contains(text, "Only verified") {
		t.Errorf("one question: %s", text)
	}
	if _, text := elements(t, v.Send(t, "ws auditor", "GET /v1/surveys/s/report", "").Body.String()); !strings.Contains(text, "fewer than 5 households are not shown") {
		t.Errorf("for an auditor: %s", text)
	}
}

// TestKiswahili: no English word is left on the page, beside the words of the survey
// and what is said to be English.
func TestKiswahili(t *testing.T) {
	t.Parallel()
	v := newEnv(t)
	page := v.Send(t, "ws auditor", "GET /v1/surveys/s/report?language=sw-KE&verified=true", "").Body.String()
	page += v.Send(t, "ws auditor", "GET /v1/surveys/s/report?language=sw-KE", "").Body.String()
	_, text := elements(t, page)
	if !strings.Contains(page, `<html lang="sw">`) || strings.Count(text, "Mpango wa sampuli") != 2 || !strings.Contains(text, "2026-01-02") {
		t.Fatalf("the page is not in Kiswahili: %s", text)
	}
	for _, own := range []string{"Use & <fuel>", "The <b>home</b>", "Which </style><script>alert(1)</script> fuel?", "<i>Wood</i>", "Fuel in a week", "Nobody was asked", "R survey 4.1"} {
		text = strings.ReplaceAll(text, own, "")
	}
	english := regexp.MustCompile(`(?i)\b(the|of|to|by|in|and|not|all|is|are|was|households?|rounds?|survey|sample|drawn|size|method|mean|interval|verified|figures?)\b`)
	if found := english.FindAllStringIndex(text, -1); found != nil {
		for _, at := range found {
			t.Errorf("%q is English, in %q", text[at[0]:at[1]], text[max(0, at[0]-30):min(len(text), at[1]+30)])
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := newEnv(t)
	for _, tt := range []struct {
		who, path string
		status    int
		want      string
	}{
		{"ws owner", "s/report?questions=home/name", 400, "query/questions"},
		{"ws owner", "s/report?questions=home/kind,home/x", 400, "home/x"},
		{"ws owner", "s/report?round=3", 404, "ROUND_NOT_FOUND"},
		{"ws owner", "s/report?colour=red", 400, "query/colour"},
		{"ws owner", "s/report?questions=" + strings.Repeat("home/kind,", 61), 422, "REPORT_TOO_LARGE"},
		{"ws owner", "x/report", 404, "SURVEY_NOT_FOUND"},
		{"other owner", "s/report", 404, "SURVEY_NOT_FOUND"},
		{"ws stranger", "s/report", 404, "SURVEY_NOT_FOUND"},
		{"ws reader", "s/report", 403, "SCOPE_MISSING"},
	} {
		if w := v.Send(t, tt.who, "GET /v1/surveys/"+tt.path, ""); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s as %s = %d %s, want %d %s", tt.path, tt.who, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
