package kpt_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// batch is tests of households from one on, each three days of the same fuel.
type batch struct {
	from, n     int
	group, fuel string
	start       int // day of February
	of          func(i int) float64
	changes     []string
}

func (v *env) record(t *testing.T, b batch) {
	t.Helper()
	for i := range b.n {
		day := b.of(i)
		body := test(append([]string{
			"householdId", fmt.Sprintf(`"did:ixo:household/%d"`, b.from+i), "testGroup", `"` + b.group + `"`,
			"testPeriod", fmt.Sprintf(`{"startDate":"2024-02-%02d","endDate":"2024-02-%02d"}`, b.start, b.start+3),
			"fuelMeasurements", fmt.Sprintf(`{"fuel":%q,"total":%v,"dailyLogs":[%v,%v,%v]}`, b.fuel, 3*day, day, day, day),
		}, b.changes...)...)
		v.Must(t, "ws ann", "POST /v1/kpt", body, nil)
	}
}

func (v *env) analysis(t *testing.T, who, query string) api.KitchenTestAnalysis {
	t.Helper()
	var out api.KitchenTestAnalysis
	v.Must(t, "ws "+who, "GET /v1/kpt/analysis?projectId="+surveytest.Project+query, "", &out)
	return out
}

// two is a value around a mean whose spread in a sample of n is sd, for one part
// in four (share 4) or in two.
func two(mean, sd float64, n, share int) func(i int) float64 {
	k := float64(share - 1)
	step := sd * math.Sqrt(float64(n-1)/(float64(n)*k))
	return func(i int) float64 {
		if i%share == 0 {
			return mean + k*step
		}
		return mean - step
	}
}

func near(a *float64, b, by float64) bool { return a != nil && math.Abs(*a-b) < by }

// The public test data of Gold Standard's SMEC v4.0: 48 households with wood and
// 32 with charcoal before, 60 after. They were made with t to four digits.
func TestPublishedFigures(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.record(t, batch{0, 48, "reference", "wood", 1, two(4.5, 1.5, 48, 2), nil})
		v.record(t, batch{48, 32, "reference", "charcoal", 1, two(1.4, 1.5, 32, 4), nil})
		v.record(t, batch{80, 60, "intervention", "wood", 2, two(2, 1.2, 60, 2), nil})
		got := v.analysis(t, "auditor", "")
		ref, now := got.Groups[0], got.Groups[1]
		if !near(ref.Estimate, 4.5, 1e-9) || !near(ref.SD, 1.5, 1e-9) || *ref.N != 48 || !near(ref.DF, 47, 1e-9) || !near(ref.Precision.Relative, .0807, 5e-5) || ref.Precision.Status != "met" || !near(ref.Precision.Use, 4.5, 1e-9) {
			t.Errorf("wood before: %+v %+v", ref, ref.Precision)
		}
		if !near(now.Estimate, 2, 1e-9) || now.Precision.Status != "bound_used" || !near(now.Precision.Use, 2.25888570, 2e-6) || now.Method != "t" || !near(now.High, 2.25888570, 2e-6) {
			t.Errorf("wood after: %+v %+v", now, now.Precision)
		}
		se := math.Sqrt(1.5*1.5/48 + 1.2*1.2/60)
		if s := got.Saving; s == nil || !near(s.Estimate, 2.5, 1e-9) || !near(s.SE, se, 1e-9) || !near(s.DF, 47, 1e-9) || !near(s.Low, 2.5-1.677926722*se, 1e-7) || !near(s.Share, 2.5/4.5, 1e-9) {
			t.Errorf("saving %+v", s)
		}
		svg := v.Send(t, "ws auditor", "GET /v1/kpt/analysis?projectId="+surveytest.Project, "", "Accept", "image/svg+xml")
		if text := svg.Body.String(); svg.Header().Get("Content-Type") != "image/svg+xml" || strings.Count(text, "<circle") != 3 || !strings.Contains(text, "Wood in a day, per household") {
			t.Errorf("picture = %d %s", svg.Code, text)
		}
		coal := v.analysis(t, "auditor", "&fuel=charcoal")
		if g := coal.Groups[0]; !near(g.Precision.Relative, .3211, 5e-5) || !near(g.Precision.Use, .95041267, 1e-5) || coal.Saving != nil || len(coal.Remarks) != 1 {
			t.Errorf("charcoal: %+v %+v %v", g, g.Precision, coal.Remarks)
		}
		if per := v.analysis(t, "auditor", "&per=adult").Groups[0]; !near(per.Estimate, 4.5/2.8, 1e-9) {
			t.Errorf("per standard adult: %+v", per)
		}
	})
}

// What may not be in a figure is counted, and small groups are not shown.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		same := func(of float64) func(int) float64 { return func(i int) float64 { return of + float64(i)/8 } }
		v.record(t, batch{0, 6, "reference", "wood", 1, same(4), nil})
		v.record(t, batch{20, 4, "intervention", "wood", 2, same(2), []string{"people", ""}})
		v.record(t, batch{30, 3, "intervention", "wood", 20, same(9), nil})
		v.record(t, batch{40, 2, "intervention", "wood", 1, same(9), []string{"selection", ""}})
		v.record(t, batch{50, 1, "reference", "wood", 1, same(9), []string{"selection", `{"method":"purposive","document":"x"}`}})
		got := v.analysis(t, "auditor", "")
		if got.LeftOut != (api.KitchenTestLeftOut{Undocumented: 3, NotConcurrent: 3}) {
			t.Errorf("left out %+v", got.LeftOut)
		}
		if g := got.Groups[1]; !g.Suppressed || g.Estimate != nil || g.N != nil || g.Tests != 0 || !got.Saving.Suppressed || got.Saving.Estimate != nil || got.Groups[0].Estimate == nil {
			t.Errorf("four households: %+v %+v", g, got.Saving)
		}
		if g := v.analysis(t, "owner", "").Groups[1]; g.Suppressed || *g.N != 4 || g.Estimate == nil {
			t.Errorf("with responses:pii: %+v", g)
		}
		if got := v.analysis(t, "auditor", "&per=head"); got.LeftOut.WithoutPeople != 4 {
			t.Errorf("per head %+v", got.LeftOut)
		}
		v.record(t, batch{60, 1, "reference", "wood", 1, same(9), []string{"fuelMeasurements", `{"unit":"MJ","total":9,"dailyLogs":[3,3,3]}`}})
		v.refused(t, "ws auditor GET /v1/kpt/analysis?projectId="+surveytest.Project, "", "UNITS_MIXED")
	})
}

// Households tested before and after: the difference is that of a paired t test.
func TestPaired(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		before, after := []float64{4, 5, 6, 3, 7, 5}, []float64{2, 2.5, 3.5, 2, 3, 2}
		v.record(t, batch{0, 6, "reference", "wood", 1, func(i int) float64 { return before[i] }, nil})
		v.record(t, batch{0, 6, "intervention", "wood", 20, func(i int) float64 { return after[i] }, nil})
		v.record(t, batch{10, 3, "reference", "wood", 1, func(int) float64 { return 9 }, nil})
		got := v.analysis(t, "auditor", "&design=paired")
		var mean, squares float64
		for i := range before {
			mean += (before[i] - after[i]) / 6
		}
		for i := range before {
			squares += math.Pow(before[i]-after[i]-mean, 2)
		}
		se := math.Sqrt(squares / 5 / 6)
		if s := got.Saving; s == nil || !near(s.Estimate, mean, 1e-9) || !near(s.SE, se, 1e-9) || s.Common != 6 || !near(s.DF, 5, 1e-9) {
			t.Errorf("saving %+v, want %v ± %v", s, mean, se)
		}
		if got := v.analysis(t, "auditor", ""); got.LeftOut.NotConcurrent != 15 || got.Saving != nil || !strings.HasPrefix(got.Groups[0].NoInterval, "No test") {
			t.Errorf("at the same time: %+v", got)
		}
	})
}
