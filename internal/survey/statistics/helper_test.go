package statistics_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

const template = `{"templateId":"use","title":"Use","validations":{"completionThreshold":0.05},"sections":[
	{"id":"consent","questions":[{"id":"agree","type":"consent"}]},
	{"id":"home","questions":[
		{"id":"uses","type":"boolean"},{"id":"fuel","type":"number"},{"id":"size","type":"integer"},
		{"id":"kind","type":"single_choice","options":["wood","gas"]},{"id":"fuels","type":"multiple_choice","options":["wood","gas"]},
		{"id":"name","type":"text","pii":"direct"},{"id":"said","type":"text"},
		{"id":"since","type":"date"},
		{"id":"people","type":"repeat","questions":[{"id":"age","type":"integer"},{"id":"cooks","type":"boolean"}]}]}]}`

type env struct {
	*surveytest.Env
	figures *statistics.Service
	jobs    *job.Service
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d), jobs: job.New(job.Config{DB: d, Cursors: eventtest.Cursors()})}
	v.figures = statistics.New(statistics.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses, Jobs: v.jobs})
	v.figures.Routes(v.API)
	v.jobs.Routes(v.API)
	v.Must(t, "ws owner", "POST /v1/templates", template, nil)
	v.Must(t, "ws owner", "POST /v1/templates/use/publish", `{}`, nil)
	return v
}

// home is a household of a survey.
type home struct {
	ID      string `json:"householdId"`
	Stratum string `json:"stratum,omitzero"`
	Group   string `json:"group,omitzero"`
	Cluster string `json:"cluster,omitzero"`

	answers map[string]any // nil: it said nothing
}

const elsewhere = `"drawnElsewhere":{"method":"R survey 4.1","by":"did:ixo:org/1","at":"2026-01-02T00:00:00Z","documentHash":"abababababababababababababababababababababababababababababababab"}`

// start makes an active survey with its list.
func (v *env) start(t testing.TB, id, sampling string, homes []home) {
	t.Helper()
	v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":%q,"type":"MonitoringSurvey","projectId":%q,"templateId":"use","sampling":%s,"modes":["phone"],
		"window":{"start":"2024-01-01T00:00:00Z"},"collectors":["did:key:ann"],"eligibility":{"expression":"home.size != 99"}}`, id, surveytest.Project, sampling), nil)
	if len(homes) > 0 {
		text, err := json.Marshal(map[string]any{"items": homes})
		if err != nil {
			t.Fatal(err)
		}
		v.Must(t, "ws owner", "POST /v1/surveys/"+id+"/households", string(text), nil)
	}
	v.Must(t, "ws owner", "POST /v1/surveys/"+id+"/activate", `{"reason":"test"}`, nil)
}

// ask sends what the households say in a round.
func (v *env) ask(t testing.TB, id string, round int, homes []home) {
	t.Helper()
	for i, h := range homes {
		if h.answers == nil {
			continue
		}
		text, err := json.Marshal(map[string]any{
			"responseId": fmt.Sprintf("%s-%d-%d", id, round, i), "householdId": h.ID, "timestamp": "2026-03-02T09:00:00Z", "mode": "phone",
			"responses": map[string]any{"consent": map[string]any{"agree": true}, "home": h.answers},
		})
		if err != nil {
			t.Fatal(err)
		}
		v.Must(t, "ws ann", "POST /v1/surveys/"+id+"/responses", string(text), nil)
	}
}

// get reads figures: "question=home/fuel&by=group".
func (v *env) get(t testing.TB, role, id, query string) api.SurveyStatistics {
	t.Helper()
	var out api.SurveyStatistics
	v.Must(t, "ws "+role, "GET /v1/surveys/"+id+"/statistics?"+query, "", &out)
	return out
}

// of is the figure of a value of by, or of all.
func of(t testing.TB, s api.SurveyStatistics, value string) api.SurveyEstimate {
	t.Helper()
	for _, e := range s.Estimates {
		if e.Value == value {
			return e
		}
	}
	t.Fatalf("no figure of %q in %+v", value, s)
	return api.SurveyEstimate{}
}

// lines reads a file of the golden data of package estimate.
func lines(t testing.TB, name string) []map[string]string {
	t.Helper()
	f, err := os.Open("../estimate/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, row := range all[1:] {
		one := map[string]string{}
		for i, name := range all[0] {
			one[name] = row[i]
		}
		out = append(out, one)
	}
	return out
}

func float(t testing.TB, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func query(pairs ...string) string {
	v := url.Values{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		v.Set(name, value)
	}
	return v.Encode()
}
