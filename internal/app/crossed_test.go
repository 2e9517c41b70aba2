package app_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// village is six households of a project, five of them with a monitor on the stove.
type village struct {
	*show
	project, controller string // DIDs: the controller is whoever runs the test
	homes               []string
	today               time.Time
}

const measuredHomes = 5

// TestCrossReference holds answers against readings and kitchen tests on a whole
// server: figures come of it, and flags on the responses that do not agree.
func TestCrossReference(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		v := &village{show: newShow(t, 1, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) }), today: time.Now().UTC().Truncate(24 * time.Hour)}
		v.settle(t)
		v.ask(t)
		for i, used := range []bool{true, true, true, false, true, true} { // the fourth says too little, the fifth too much, the sixth has no monitor
			v.answers(t, i, used)
		}
		v.weigh(t)
		v.runs(t, func() {
			first := v.cross(t)
			v.checkFigures(t, first)
			v.checkFlags(t, first)
			again := v.cross(t)
			if again.ID == first.ID || again.Lineage.AnswersHash != first.Lineage.AnswersHash || again.Lineage.ReadingsHash != first.Lineage.ReadingsHash {
				t.Errorf("a second run has %+v, want another result of the same data as %+v", again.Lineage, first.Lineage)
			}
			v.checkFlags(t, again)
			v.checkHours(t)
			v.monitor(t, measuredHomes)
			if now := v.cross(t).Households; now.Paired != 6 || now.Unmeasured != 0 {
				t.Errorf("with readings that came a moment ago: %+v, want 6 pairs", now)
			}
		})
	})
}

// settle makes the twins, and has the monitors send what they measured in ten days.
func (v *village) settle(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	p, err := v.api.Entities.Create(ctx, client.EntityDraft{Type: "Project", Protocol: "did:ixo:protocol/project", Properties: client.Object{"name": "Kitui", "country": "Kenya"}})
	if err != nil {
		t.Fatal(err)
	}
	v.project, v.controller = p.DID, p.Controller
	size, yes := int64(4), true
	for i := range measuredHomes + 1 {
		h, err := v.api.Households.Create(ctx, client.HouseholdDraft{Name: fmt.Sprint("Home ", i), Size: &size, Consent: &yes, Project: v.project, Location: client.Object{"district": "Kitui"}})
		if err != nil {
			t.Fatal(err)
		}
		v.homes = append(v.homes, h.DID)
		if i < measuredHomes {
			v.monitor(t, i)
		}
	}
}

// monitor puts a stove with a monitor into a household: cold in the fifth, and with
// two meals a day in the others, but for the first, which cooks four while it is
// watched.
func (v *village) monitor(t *testing.T, i int) {
	t.Helper()
	since := v.today.AddDate(0, 0, -20)
	stove, err := v.api.Entities.Create(t.Context(), client.EntityDraft{
		Type: "CleanCookingDevice", Protocol: "did:ixo:protocol/clean-cooking", Properties: client.Object{"fuel_type": "wood", "efficiency": 35, "serial": fmt.Sprint("S", i), "model": "J1", "installedAt": since.Format(time.DateOnly)},
		Relationships: []client.RelationshipDraft{{Role: "household", Target: v.homes[i], Since: since}, {Role: "project", Target: v.project, Since: since}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := v.api.Devices.Create(t.Context(), client.DeviceDraft{
		Type: "StoveUseMonitor", HouseholdID: v.homes[i], StoveID: stove.DID, Project: v.project, Serial: fmt.Sprint("M", i),
		Configuration: &client.DeviceConfiguration{SamplingRate: 3600, TemperatureThreshold: 60, TransmissionMode: "batch"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Reading
	for hour := range 24 * 10 {
		at := v.today.AddDate(0, 0, -10).Add(time.Duration(hour) * time.Hour)
		heat := 20.0
		if h := at.Hour(); i != measuredHomes-1 && (h == 6 || h == 18 || i == 0 && v.watched(at) && (h == 10 || h == 14)) {
			heat = 150
		}
		all = append(all, client.Reading{Timestamp: at, Temperature: &heat})
	}
	for few := range slices.Chunk(all, 10) { // whose days are made later
		if _, err := v.api.Devices.Add(t.Context(), d.DID, client.ReadingBatch{Readings: few}); err != nil {
			t.Fatal(err)
		}
	}
}

// watched reports whether a kitchen test goes on.
func (v *village) watched(at time.Time) bool {
	return !at.Before(v.today.AddDate(0, 0, -6)) && at.Before(v.today.AddDate(0, 0, -2))
}

// ask opens a survey of all households.
func (v *village) ask(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	_, err := v.api.Templates.Create(ctx, client.TemplateDraft{TemplateID: "watch", Title: "Use", Sections: []client.TemplateSection{
		{ID: "consent", Questions: []client.TemplateQuestion{{ID: "agree", Type: "consent"}}},
		{ID: "usage", Questions: []client.TemplateQuestion{{ID: "used_last_7_days", Type: "boolean"}, {ID: "hours_last_day", Type: "number"}}},
	}})
	if err == nil {
		_, err = v.api.Templates.Publish(ctx, "watch", client.TemplateMove{})
	}
	draft := client.SurveyDraft{SurveyID: "watch", Type: "MonitoringSurvey", ProjectID: v.project}
	draft.TemplateID, draft.Sampling = "watch", &client.SurveySampling{Method: "census"}
	draft.Modes, draft.Collectors = []string{"visit"}, []client.Collector{{DID: v.controller}}
	draft.Window = &client.SurveyWindow{Start: v.today.AddDate(0, 0, -20), End: v.today.AddDate(0, 0, 20)}
	if err == nil {
		_, err = v.api.Surveys.Create(ctx, draft)
	}
	if err == nil {
		_, err = v.api.Surveys.Activate(ctx, "watch", "test")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// answers sends the interview of a household, of today.
func (v *village) answers(t *testing.T, i int, used bool) {
	t.Helper()
	use := map[string]any{"used_last_7_days": used}
	if used {
		use["hours_last_day"] = 2
	}
	_, err := v.api.Responses.SubmitTo(t.Context(), "watch", client.ResponseDraft{
		ResponseID: fmt.Sprintf("01a1ed84-0000-8000-8000-00000000000%d", i), HouseholdID: v.homes[i], Timestamp: v.today, Mode: "visit",
		Responses: client.Answers{"consent": {"agree": true}, "usage": use},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// weigh records the kitchen test of the first household.
func (v *village) weigh(t *testing.T) {
	t.Helper()
	_, err := v.api.KitchenTests.Record(t.Context(), client.KitchenTestDraft{
		ID: "kpt-1", ProjectID: v.project, HouseholdID: v.homes[0], TestGroup: "intervention", FuelMeasurements: client.KitchenTestFuel{Total: 8, DailyLogs: []float64{2, 2, 2, 2}},
		TestPeriod: client.KitchenTestPeriod{StartDate: v.today.AddDate(0, 0, -6).Format(time.DateOnly), EndDate: v.today.AddDate(0, 0, -3).Format(time.DateOnly)},
		Selection:  &client.KitchenTestChoice{Method: "simple_random", Document: "by lot"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cross runs a cross-reference and reads its result, the newest of the list.
func (v *village) cross(t *testing.T) client.CrossReference {
	t.Helper()
	j, err := v.api.Quality.CrossReference(t.Context(), "watch", client.CrossReferenceDraft{Question: "usage/used_last_7_days"})
	v.wait(t, j, err)
	return v.newest(t)
}

func (v *village) newest(t *testing.T) client.CrossReference {
	t.Helper()
	page, err := v.api.Quality.CrossReferencePage(t.Context(), "watch", client.PageQuery{Limit: 1})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("cross-references = %+v, %v", page, err)
	}
	return page.Items[0]
}

// checkFigures wants what the formulas give for the six households.
func (v *village) checkFigures(t *testing.T, r client.CrossReference) {
	t.Helper()
	h, a := r.Households, r.Agreement
	if h.Answered != 6 || h.Paired != measuredHomes || h.Unmeasured != 1 || h.MissingDays != 0 {
		t.Fatalf("households = %+v", h)
	}
	if a == nil || *a.Both != 3 || *a.SaidOnly != 1 || *a.MeasuredOnly != 1 || *a.Neither != 0 || a.Kappa != nil || a.NoKappa == "" {
		t.Fatalf("agreement = %+v", a)
	}
	for name, pair := range map[string][2]float64{
		"agreement": {*a.Agreement, 0.6}, "over-report": {*a.OverReport, 0.25}, "under-report": {*a.UnderReport, 1},
		"said": {r.Adjusted.Said, 5.0 / 6}, "adjusted": {r.Adjusted.Value, 5.0/6*0.75 + 1.0/6},
		"observed": {*r.Hawthorne.Observed, 4}, "unobserved": {*r.Hawthorne.Unobserved, 2}, "hawthorne": {*r.Hawthorne.Index, 0.5},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, pair[0], pair[1])
		}
	}
	if r.Mismatches != 2 || r.Lineage.Tests != 1 || r.Hawthorne.Households != 1 {
		t.Errorf("%d mismatches, %d tests, %+v", r.Mismatches, r.Lineage.Tests, r.Hawthorne)
	}
}

// checkFlags wants the two responses flagged that do not agree, and no other.
func (v *village) checkFlags(t *testing.T, r client.CrossReference) {
	t.Helper()
	var flagged, paired []string
	for f, err := range v.api.Quality.Flags(t.Context(), "watch", client.FlagQuery{Rule: "sensor_mismatch"}) {
		if err != nil {
			t.Fatal(err)
		}
		flagged = append(flagged, f.ResponseID[len(f.ResponseID)-1:])
	}
	slices.Sort(flagged)
	if !slices.Equal(flagged, []string{"3", "4"}) {
		t.Errorf("flagged = %v, want the fourth and the fifth", flagged)
	}
	for p, err := range v.api.Quality.CrossPairs(t.Context(), "watch", r.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Mismatch {
			paired = append(paired, p.HouseholdID)
		}
	}
	if !slices.Equal(paired, v.homes[3:5]) {
		t.Errorf("pairs that do not agree = %v, want %v", paired, v.homes[3:5])
	}
}

// checkHours holds hours that were said against those that were measured; the flags
// of the other question stay.
func (v *village) checkHours(t *testing.T) {
	t.Helper()
	j, err := v.api.Quality.CrossReference(t.Context(), "watch", client.CrossReferenceDraft{Question: "usage/hours_last_day", Days: 2})
	v.wait(t, j, err)
	r := v.newest(t)
	d := r.Difference
	if d == nil || d.N != 4 || d.Unit != "hours/day" || math.Abs(*d.Said-2) > 1e-9 || math.Abs(*d.Bias-(*d.Said-*d.Measured)) > 1e-9 || *d.Low >= *d.Bias || *d.High <= *d.Bias {
		t.Errorf("hours = %+v", d)
	}
	rules := map[string]int{}
	for f, err := range v.api.Quality.Flags(t.Context(), "watch", client.FlagQuery{Rule: "sensor_mismatch"}) {
		if err != nil {
			t.Fatal(err)
		}
		rules[f.Question]++
	}
	if rules["/responses/usage/used_last_7_days"] != 2 {
		t.Errorf("flags by question = %v, want the two of use to stay", rules)
	}
}
