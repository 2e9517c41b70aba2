package estimate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// golden are the figures of R that are judged. R fits its logit rows in steps
// that end at 1e-8; those of xlogit are the same intervals in closed form.
func golden(t *testing.T) map[string]float64 {
	t.Helper()
	tb := readTable(t, "golden.csv")
	out, values := map[string]float64{}, tb.numbers(t, "value")
	for i, name := range tb.texts("name") {
		if !strings.Contains(name, ".likelihood.") && !strings.Contains(name, ".asin.") && !strings.Contains(name, ".logit.") {
			out[name] = values[i]
		}
	}
	return out
}

func TestFiguresOfR(t *testing.T) {
	t.Parallel()
	got := map[string]float64{}
	stratifiedFigures(t, got)
	clusterFigures(t, got)
	want := golden(t)
	if len(want) != 43 {
		t.Errorf("%d figures to compare with, want 43", len(want))
	}
	for name, v := range want {
		g, ok := got[name]
		if !ok {
			t.Errorf("%s is not computed", name)
		}
		near(t, name, g, v, 1e-9)
	}
}

func stratifiedFigures(t *testing.T, got map[string]float64) {
	t.Helper()
	tb, d := stratified(t)
	fig := must[*estimate.Figure](t)
	uses, fuel, size, group := tb.numbers(t, "uses"), tb.numbers(t, "fuel"), tb.numbers(t, "size"), tb.texts("group")

	p := fig(d.Proportion(estimate.Values{Y: uses}))
	got["uses.mean"], got["uses.se"], got["uses.deff"] = p.Value, p.SE, p.Deff
	got["unweighted.uses"], got["kish.deff.w"], got["degf"] = p.Unweighted, p.Kish, p.DF
	for name, kind := range map[string]string{"beta": estimate.KornGraubard, "mean": estimate.Wald, "xlogit": estimate.Logit} {
		ci := interval(t, p, kind, two95)
		got["uses.ci."+name+".low"], got["uses.ci."+name+".high"] = ci.Low, ci.High
	}

	mean := fig(d.Mean(estimate.Values{Y: fuel}))
	ci := interval(t, mean, "", two95)
	got["fuel.mean"], got["fuel.se"], got["fuel.ci.t.low"], got["fuel.ci.t.high"] = mean.Value, mean.SE, ci.Low, ci.High
	total := fig(d.Total(estimate.Values{Y: fuel}))
	got["fuel.total"], got["fuel.total.se"] = total.Value, total.SE
	ratio := fig(d.Ratio(estimate.Values{Y: fuel, X: size}))
	got["fuel.per.head"], got["fuel.per.head.se"] = ratio.Value, ratio.SE
	got["fuel.median"] = fig(d.Quantile(estimate.Values{Y: fuel}, 0.5, two95)).Value
	got["fuel.p90"] = fig(d.Quantile(estimate.Values{Y: fuel}, 0.9, two95)).Value

	parts := map[string]*estimate.Figure{}
	for _, g := range []string{"adopter", "comparison"} {
		f := fig(d.Mean(estimate.Values{Y: fuel, In: is(group, g)}))
		u := fig(d.Proportion(estimate.Values{Y: uses, In: is(group, g)}))
		got["fuel."+g+".mean"], got["fuel."+g+".se"] = f.Value, f.SE
		got["uses."+g+".mean"], got["uses."+g+".se"] = u.Value, u.SE
		parts[g] = f
	}
	diff := parts["comparison"].Minus(parts["adopter"])
	got["fuel.diff"], got["fuel.diff.t"], got["fuel.diff.p"] = diff.Value, diff.T, diff.P

	fitted, err := d.Calibrate([]estimate.Margin{{By: "group", Of: group, Totals: map[string]float64{"adopter": 3100, "comparison": 1900}}})
	if err != nil {
		t.Fatal(err)
	}
	ps := fig(fitted.Mean(estimate.Values{Y: fuel}))
	got["ps.fuel.mean"], got["ps.fuel.se"] = ps.Value, ps.SE
}

func clusterFigures(t *testing.T, got map[string]float64) {
	t.Helper()
	tb, d := villages(t)
	fig := must[*estimate.Figure](t)
	p := fig(d.Proportion(estimate.Values{Y: tb.numbers(t, "uses")}))
	got["cl.uses.mean"], got["cl.uses.se"], got["cl.uses.deff"], got["cl.degf"] = p.Value, p.SE, p.Deff, p.DF
	f := fig(d.Mean(estimate.Values{Y: tb.numbers(t, "fuel")}))
	ci := interval(t, f, "", two95)
	got["cl.fuel.mean"], got["cl.fuel.se"], got["cl.fuel.ci.low"], got["cl.fuel.ci.high"] = f.Value, f.SE, ci.Low, ci.High
}

func TestWilson(t *testing.T) {
	t.Parallel()
	fig := must[*estimate.Figure](t)
	tb, d := stratified(t)
	uses := fig(d.Proportion(estimate.Values{Y: tb.numbers(t, "uses")}))
	tb, d = villages(t)
	cl := fig(d.Proportion(estimate.Values{Y: tb.numbers(t, "uses")}))
	for _, tt := range []struct {
		name            string
		f               *estimate.Figure
		n               int
		effective       float64
		low, high       float64
		withinEffective float64
	}{
		{"strata", uses, 263, 323.45, .779371064299, .862133274344, 2e-5},
		{"clusters", cl, 192, 108.25, .500670925849, .682551324925, 5e-5},
	} {
		ci := interval(t, tt.f, "", two95)
		if tt.f.N != tt.n || ci.Method != estimate.Wilson {
			t.Errorf("%s: n %d by %s", tt.name, tt.f.N, ci.Method)
		}
		near(t, tt.name+" low", ci.Low, tt.low, 1e-11)
		near(t, tt.name+" high", ci.High, tt.high, 1e-11)
		near(t, tt.name+" effective n", tt.f.EffectiveN(two95), tt.effective, tt.withinEffective)
	}
}

// counted is a sample of strata in which a number of the households says yes.
func counted(t *testing.T, strata ...[3]float64) *estimate.Figure {
	t.Helper()
	var p estimate.Plan
	var members []estimate.Member
	var y []float64
	for i, s := range strata {
		name := string(rune('a' + i))
		p.Strata = append(p.Strata, estimate.Stratum{Name: name, Population: s[0]})
		for j := range int(s[1]) {
			members = append(members, estimate.Member{Stratum: name, Outcome: estimate.Answered})
			y = append(y, 0)
			if float64(j) < math.Round(s[1]*s[2]) {
				y[len(y)-1] = 1
			}
		}
	}
	d, err := p.Weigh(members)
	if err != nil {
		t.Fatal(err)
	}
	return must[*estimate.Figure](t)(d.Proportion(estimate.Values{Y: y}))
}

func TestPrecisionOfProportions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		f         *estimate.Figure
		p, se     float64
		low, high float64
		deff      float64
		digit     float64
	}{
		{"simple", counted(t, [3]float64{5000, 420, .8}), .8, .018703, .7633, .8367, 1, .5e-4},
		// 252 × .85 and 168 × .70 are no whole numbers: the nearest ones.
		{"strata", counted(t, [3]float64{3000, 252, .85}, [3]float64{2000, 168, .70}), .79, .018756, .7532, .8268, .97, 8e-4},
	} {
		got, ok := tt.f.Precision(estimate.Target{Level: two95, Relative: 0.1})
		if !ok || got.Status != estimate.PrecisionMet || got.Use != tt.f.Value {
			t.Errorf("%s: decision %+v", tt.name, got)
		}
		for _, c := range []struct{ got, want, by float64 }{
			{tt.f.Value, tt.p, tt.digit}, {tt.f.SE, tt.se, tt.digit / 50}, {got.Low, tt.low, tt.digit}, {got.High, tt.high, tt.digit}, {tt.f.Deff, tt.deff, .01},
		} {
			if math.Abs(c.got-c.want) > c.by {
				t.Errorf("%s: %v, want %v", tt.name, c.got, c.want)
			}
		}
	}
	simple, _ := counted(t, [3]float64{5000, 420, .8}).Precision(estimate.Target{Level: two95})
	if r := math.Round(simple.Relative*1e4) / 1e4; r != .0458 || simple.Status != "" {
		t.Errorf("relative precision %v (%q), want .0458 and no status", r, simple.Status)
	}
}

// with is a sample from a large population with this mean and standard
// deviation.
func with(t *testing.T, n int, mean, sd float64) *estimate.Figure {
	t.Helper()
	by := sd * math.Sqrt(float64(n-1)/float64(n))
	members, y := make([]estimate.Member, n), make([]float64, n)
	for i := range y {
		members[i].Outcome = estimate.Answered
		y[i] = mean + by*float64(2*(i%2)-1)
	}
	d, err := (&estimate.Plan{}).Weigh(members)
	if err != nil {
		t.Fatal(err)
	}
	return must[*estimate.Figure](t)(d.Mean(estimate.Values{Y: y}))
}

// The figures are the public test data of Gold Standard's SMEC v4.0, which
// rounds the quantiles of t to four digits.
func TestBoundsOfMethodology(t *testing.T) {
	t.Parallel()
	l := estimate.Level{Confidence: 0.9}
	for _, tt := range []struct {
		name     string
		f        *estimate.Figure
		bound    string
		limit    float64
		relative float64
		status   string
		use      float64
	}{
		{"wood", with(t, 48, 4.5, 1.5), estimate.Lower, 0, .0807, estimate.PrecisionMet, 4.5},
		{"charcoal", with(t, 32, 1.4, 1.5), estimate.Lower, 0, .3211, estimate.BoundUsed, .95041267},
		{"charcoal, missed by far", with(t, 32, 1.4, 1.5), estimate.Lower, .15, .3211, estimate.PrecisionNotMet, math.NaN()},
		{"activity", with(t, 60, 2.0, 1.2), estimate.Upper, 0, .1294, estimate.BoundUsed, 2.25888570},
		{"no policy", with(t, 60, 2.0, 1.2), "", 0, .1294, estimate.PrecisionNotMet, math.NaN()},
	} {
		got, ok := tt.f.Precision(estimate.Target{Level: l, Relative: .1, Bound: tt.bound, Limit: tt.limit})
		same := math.Abs(got.Use-tt.use) < 1e-5 || math.IsNaN(got.Use) && math.IsNaN(tt.use)
		if !ok || got.Status != tt.status || !same || math.Abs(got.Relative-tt.relative) > 5e-5 {
			t.Errorf("%s: %+v, want %v %s %v", tt.name, got, tt.relative, tt.status, tt.use)
		}
	}
	// One-sided at 95 % is two-sided at 90 %.
	f := with(t, 32, 1.4, 1.5)
	one, two := interval(t, f, "", estimate.Level{Confidence: .95, OneTail: true}), interval(t, f, "", l)
	near(t, "one tail", one.Low, two.Low, 1e-15)
}
