package crossref_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/crossref"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

const template = `{"templateId":"use","title":"Use","validations":{"completionThreshold":0.05},"sections":[
	{"id":"consent","questions":[{"id":"agree","type":"consent"}]},
	{"id":"home","questions":[
		{"id":"uses","type":"boolean"},{"id":"hours","type":"number"},{"id":"wood","type":"quantity","units":["kg","bundle"]},
		{"id":"often","type":"single_choice","options":["daily","weekly","never"]},{"id":"name","type":"text","pii":"direct"},
		{"id":"said","type":"text"},{"id":"people","type":"repeat","questions":[{"id":"age","type":"integer"}]}]}]}`

// interviewed is when all interviews are: the 7 days before it are 23 February to
// 1 March.
var interviewed = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

type env struct {
	*surveytest.Env
	s     *crossref.Service
	jobs  *job.Service
	days  []crossref.Day
	tests []crossref.Test
	off   []string
	read  func() // called when days are read
}

func newEnv(t *testing.T, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d), jobs: job.New(job.Config{DB: d, Cursors: eventtest.Cursors()})}
	v.s = crossref.New(crossref.Config{
		DB: d, Surveys: v.Surveys, Responses: v.Responses, Jobs: v.jobs, Idem: v.Idem, Cursors: eventtest.Cursors(),
		Weigh: statistics.New(statistics.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses}).Weigh,
		Days: func(_ context.Context, project, from, to string, visit func(crossref.Day) error) error {
			if v.read != nil {
				v.read()
			}
			slices.SortStableFunc(v.days, func(a, b crossref.Day) int { return strings.Compare(a.Date, b.Date) })
			for _, d := range v.days {
				if project != surveytest.Project || d.Date < from || d.Date > to {
					continue
				}
				if err := visit(d); err != nil {
					return err
				}
			}
			return nil
		},
		Tests: func(_ context.Context, _ string, visit func(crossref.Test) error) error {
			for _, one := range v.tests {
				if err := visit(one); err != nil {
					return err
				}
			}
			return nil
		},
		Settings: func(context.Context, *survey.Open) (flag.Settings, error) { return flag.Settings{Off: v.off}, nil },
	})
	v.s.Routes(v.API)
	for _, one := range [][2]string{
		{"POST /v1/templates", template},
		{"POST /v1/templates/use/publish", `{}`},
		{"POST /v1/surveys", `{"surveyId":"s","type":"MonitoringSurvey","projectId":"` + surveytest.Project + `","templateId":"use","sampling":{"method":"census"},"modes":["phone"],
			"window":{"start":"2024-01-01T00:00:00Z"},"collectors":["did:key:ann"]}`},
		{"POST /v1/surveys/s/activate", `{"reason":"test"}`},
	} {
		v.Must(t, "ws owner", one[0], one[1], nil)
	}
	return v
}

func house(n int) string { return fmt.Sprintf("did:ixo:household/%d", n) }

// says sends the answers of a household.
func (v *env) says(t *testing.T, n int, answers map[string]any) {
	t.Helper()
	v.Submit(t, "ws", "s", surveytest.Interview{ID: fmt.Sprintf("r%d", n), Household: n, At: interviewed, Answers: map[string]map[string]any{"consent": {"agree": true}, "home": answers}})
}

// saw adds days of a sensor up to the day before the interviews.
func (v *env) saw(n, days int, each crossref.Day) {
	for i := days; i >= 1; i-- {
		d := each
		d.Date, d.Device, d.Household = interviewed.AddDate(0, 0, -i).Format(time.DateOnly), fmt.Sprintf("did:x:device/%d", n), house(n)
		if d.Completeness == 0 {
			d.Completeness, d.Readings = 1, 288
		}
		v.days = append(v.days, d)
	}
}

// work runs the jobs until the test ends.
func (v *env) work(t *testing.T) {
	t.Helper()
	runner, err := v.jobs.NewRunner(job.RunnerConfig{Handlers: v.s.Handlers(), Workers: 1, Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// await waits for the end of a job.
func (v *env) await(t *testing.T, id string) job.Job {
	t.Helper()
	late := time.After(2 * time.Minute)
	for {
		j, err := v.jobs.Get(surveytest.As(t.Context(), "ws", "owner"), id)
		if err != nil {
			t.Fatal(err)
		}
		if j.Status.Final() {
			return j
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			t.Fatalf("job %s does not end: %+v", id, j)
		}
	}
}

// cross makes a cross-reference and reads it.
func (v *env) cross(t *testing.T, draft string) api.CrossReference {
	t.Helper()
	var j job.Job
	v.Must(t, "ws supervisor", "POST /v1/surveys/s/cross-reference", draft, &j)
	if j = v.await(t, j.ID); j.Status != job.Succeeded {
		t.Fatalf("job = %+v", j)
	}
	var page struct {
		Items []api.CrossReference `json:"items"`
	}
	v.Must(t, "ws owner", "GET /v1/surveys/s/cross-reference?limit=1", "", &page)
	if len(page.Items) != 1 {
		t.Fatal("there is no result")
	}
	return page.Items[0]
}

// flagged lists the responses with a flag of the check.
func (v *env) flagged(t *testing.T, n int) string {
	t.Helper()
	var out []string
	for i := range n {
		var r struct {
			Flags []api.ResponseFlag `json:"flags"`
		}
		v.Must(t, "ws owner", fmt.Sprintf("GET /v1/responses/r%d", i), "", &r)
		for _, f := range r.Flags {
			if f.Rule == flag.SensorMismatch {
				out = append(out, fmt.Sprintf("r%d %s", i, f.Question))
			}
		}
	}
	return strings.Join(out, ", ")
}

// pairs reads the pairs of a result as a role.
func (v *env) pairs(t *testing.T, role string, r api.CrossReference) []api.CrossPair {
	t.Helper()
	var page struct {
		Items []api.CrossPair `json:"items"`
	}
	v.Must(t, "ws "+role, "GET "+r.Links.Pairs, "", &page)
	return page.Items
}

func near(p *float64, want float64) bool { return p != nil && math.Abs(*p-want) < 1e-9 }

// golden has 100 households that agree as in the reference: kappa is 0.7.
func (v *env) golden(t *testing.T) {
	t.Helper()
	for i := range 100 {
		used, cooked := i < 45, i < 40 || i >= 45 && i < 55
		v.says(t, i, map[string]any{"uses": used})
		v.saw(i, 7, crossref.Day{Events: map[bool]int64{true: 2}[cooked]})
	}
}

func TestUseAgainstSensors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.golden(t)
		v.work(t)
		r := v.cross(t, `{"question":"home/uses"}`)
		a := r.Agreement
		if a == nil || a.N != 100 || *a.Both != 40 || *a.SaidOnly != 5 || *a.MeasuredOnly != 10 || *a.Neither != 45 || !near(a.Kappa, .7) || !near(a.Agreement, .85) ||
			!near(a.OverReport, 5./45) || !near(a.UnderReport, 10./55) {
			t.Errorf("agreement = %+v", a)
		}
		if r.Adjusted == nil || math.Abs(r.Adjusted.Said-.45) > 1e-9 || math.Abs(r.Adjusted.Value-.5) > 1e-9 || r.Adjusted.Weighted {
			t.Errorf("adjusted = %+v", r.Adjusted)
		}
		if h := r.Households; h.Answered != 100 || h.Paired != 100 || h.Days != 700 || h.MissingDays != 0 || r.Mismatches != 15 {
			t.Errorf("households = %+v, %d mismatches", h, r.Mismatches)
		}
		if l := r.Lineage; l.From != "2026-02-23" || l.To != "2026-03-01" || l.DayRows != 700 || len(l.ReadingsHash) != 64 || len(l.AnswersHash) != 64 || l.TemplateID != "use" {
			t.Errorf("lineage = %+v", l)
		}
		if r.Asked.Measure != "use" || r.Asked.Days != 7 || r.Asked.MinDays != 4 || r.NoHawthorne == "" || r.CreatedBy != "did:key:supervisor" {
			t.Errorf("result = %+v", r)
		}
		if got := v.flagged(t, 100); strings.Count(got, "/responses/home/uses") != 15 || !strings.Contains(got, "r44 ") || strings.Contains(got, "r39 ") {
			t.Errorf("flagged: %s", got)
		}
		first := v.pairs(t, "reader", r)
		if len(first) != 50 && len(first) != 100 || !strings.HasPrefix(first[0].HouseholdID, "hh_") || first[0].Said != 1 || first[0].Measured != 1 || first[0].Days != 7 {
			t.Errorf("%d pairs, the first %+v", len(first), first[0])
		}
		// The same again has the same hashes, and leaves nothing behind.
		again := v.cross(t, `{"question":"home/uses"}`)
		if again.Lineage != r.Lineage || again.ID == r.ID || len(v.pairs(t, "reader", r)) != 0 {
			t.Errorf("again: %+v, was %+v; %d pairs of the earlier one", again.Lineage, r.Lineage, len(v.pairs(t, "reader", r)))
		}
		var page struct {
			Items []api.CrossReference `json:"items"`
		}
		v.Must(t, "ws auditor", "GET /v1/surveys/s/cross-reference", "", &page)
		if len(page.Items) != 2 || page.Items[1].ID != r.ID || !strings.HasPrefix(page.Items[1].CreatedBy, "pe_") {
			t.Errorf("results = %+v", page.Items)
		}
	})
}

// A run takes away the flags of earlier runs of its question, and no others.
func TestOwnFlagsOnly(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i := range 6 {
			v.says(t, i, map[string]any{"uses": true, "hours": 3, "often": "never"})
			v.saw(i, 7, crossref.Day{})
		}
		v.work(t)
		v.cross(t, `{"question":"home/uses"}`)
		v.cross(t, `{"question":"home/hours"}`)
		v.cross(t, `{"question":"home/often","use":["daily","weekly"]}`)
		all := v.flagged(t, 6)
		if strings.Count(all, "home/uses") != 6 || strings.Count(all, "home/hours") != 6 || strings.Contains(all, "home/often") {
			t.Errorf("flagged: %s", all)
		}
		for i := range v.days {
			v.days[i].Events = 1
		}
		v.cross(t, `{"question":"home/uses"}`)
		if got := v.flagged(t, 6); strings.Contains(got, "home/uses") || strings.Count(got, "home/hours") != 6 {
			t.Errorf("flagged after the stoves were used: %s", got)
		}
		v.off = []string{flag.SensorMismatch}
		if r := v.cross(t, `{"question":"home/hours"}`); r.Mismatches != 6 || v.flagged(t, 6) != "" {
			t.Errorf("a check that is off flags %s", v.flagged(t, 6))
		}
	})
}

func TestAmountsAgainstSensors(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i, one := range []struct{ said, minutes float64 }{{4, 120}, {3, 120}, {6, 180}, {2, 120}, {2.5, 120}} {
			v.says(t, i, map[string]any{"hours": one.said * 7})
			v.saw(i, 7, crossref.Day{Minutes: one.minutes / 2})
			v.saw(i, 7, crossref.Day{Minutes: one.minutes / 2}) // another device
		}
		v.says(t, 5, map[string]any{"hours": 7})
		v.says(t, 6, map[string]any{"hours": 7})
		v.saw(6, 3, crossref.Day{Minutes: 60})
		v.saw(6, 7, crossref.Day{Minutes: 60, Completeness: .4, Readings: 100})
		v.work(t)
		r := v.cross(t, `{"question":"home/hours","per":"week"}`)
		x := r.Difference
		if x == nil || x.N != 5 || x.Unit != "hours/day" || !near(x.Bias, 1.3) || !near(x.Said, 3.5) || !near(x.Measured, 2.2) || !near(x.OverReport, .4) || r.Agreement != nil {
			t.Errorf("difference = %+v", x)
		}
		if sd := math.Sqrt((.49 + .09 + 2.89 + 1.69 + .64) / 4); !near(x.SD, sd) || !near(x.Low, 1.3-1.959963984540054*sd) || !near(x.High, 1.3+1.959963984540054*sd) {
			t.Errorf("limits of agreement = %+v", x)
		}
		if h := r.Households; h.Answered != 7 || h.Unmeasured != 1 || h.TooFewDays != 1 || h.Days != 35 {
			t.Errorf("households = %+v", h)
		}
		if r.Adjusted == nil || math.Abs(r.Adjusted.Value-(19.5/7-1.3)) > 1e-9 {
			t.Errorf("adjusted = %+v", r.Adjusted)
		}
		if got := v.flagged(t, 7); got != "r0 /responses/home/hours, r2 /responses/home/hours" {
			t.Errorf("flagged: %s", got)
		}
		for query, want := range map[string]string{"": "5 households: 4 say more than was measured, 0 less, 1 the same", "&picture=differences": "Mean of the two"} {
			if svg := v.drawn(t, "ws owner", r, query); strings.Count(svg, "<circle") != 5 || !strings.Contains(svg, want) {
				t.Errorf("picture %s: %s", query, svg)
			}
		}
		for _, query := range []string{"?format=png", "?format=svg&width=9", "?format=svg&picture=pie"} {
			if w := v.Send(t, "ws owner", "GET "+r.Links.Self+query, ""); w.Code != 400 || !strings.Contains(w.Body.String(), "INVALID_PARAMETER") {
				t.Errorf("%s = %d %s", query, w.Code, w.Body)
			}
		}
	})
}

// drawn is the picture of a result.
func (v *env) drawn(t *testing.T, who string, r api.CrossReference, query string) string {
	t.Helper()
	w := v.Send(t, who, "GET "+r.Links.Self+"?format=svg"+query, "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "image/svg+xml" {
		t.Fatalf("picture = %d %s %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return w.Body.String()
}

func TestKitchenTests(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i := range 5 {
			unit := "kg"
			if i == 4 {
				unit = "bundle"
			}
			v.says(t, i, map[string]any{"wood": map[string]any{"value": 28, "unit": unit}})
			v.tests = append(v.tests, crossref.Test{ID: fmt.Sprintf("k%d", i), Household: house(i), Start: "2026-02-23", End: "2026-02-26", Fuel: "wood", Unit: "kg", PerDay: 2 + float64(i), Days: 4})
			v.saw(i, 40, crossref.Day{Events: 2})
		}
		for i := range v.days {
			if v.days[i].Date >= "2026-02-23" && v.days[i].Date <= "2026-02-26" {
				v.days[i].Events = 4
			}
		}
		v.work(t)
		r := v.cross(t, `{"question":"home/wood","measure":"fuel","per":"week"}`)
		if x := r.Difference; x == nil || x.N != 4 || !near(x.Bias, 4-3.5) || r.Households.OtherUnit != 1 || r.Lineage.Tests != 5 {
			t.Errorf("difference = %+v of %+v", r.Difference, r.Households)
		}
		if h := r.Hawthorne; h == nil || h.Households != 5 || !near(h.Index, .5) || !near(h.Observed, 4) || !near(h.Unobserved, 2) {
			t.Errorf("Hawthorne = %+v", h)
		}
		if got := v.flagged(t, 5); got != "r0 /responses/home/wood" {
			t.Errorf("flagged: %s", got)
		}
		if r := v.cross(t, `{"question":"home/wood","measure":"fuel","per":"week","kptIds":["k1"]}`); r.Difference.N != 1 || r.Difference.SD != nil {
			t.Errorf("one test: %+v", r.Difference)
		}
	})
}
