package estimate_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// members makes households from words such as "a/v1 3+2-1?": in stratum a and
// cluster v1 three that answered, two that did not and one not eligible.
func members(spec ...string) []estimate.Member {
	var out []estimate.Member
	for _, s := range spec {
		place, counts, _ := strings.Cut(s, " ")
		stratum, cluster, _ := strings.Cut(place, "/")
		var yes, no, not int
		if _, err := fmt.Sscanf(counts, "%d+%d-%d?", &yes, &no, &not); err != nil {
			panic(err)
		}
		for i, n := range []int{yes, no, not} {
			for range n {
				o := []estimate.Outcome{estimate.Answered, estimate.Missing, estimate.Ineligible}[i]
				out = append(out, estimate.Member{ID: fmt.Sprint(place, len(out)), Stratum: stratum, Cluster: cluster, Outcome: o})
			}
		}
	}
	return out
}

func TestFaultsOfDesigns(t *testing.T) {
	t.Parallel()
	strata := []estimate.Stratum{{Name: "a", Population: 100}, {Name: "b", Population: 50}, {Name: "c", Population: 70}}
	clusters := []estimate.Cluster{{Stratum: "a", Name: "v1", Size: 10}, {Stratum: "a", Name: "v2", Size: 20}, {Stratum: "a", Name: "v3", Size: 1}}
	two := estimate.Plan{Strata: []estimate.Stratum{{Name: "a", Clusters: 9}}, Clusters: clusters, Clustered: true}
	sized := estimate.Plan{Strata: []estimate.Stratum{{Name: "a"}}, Clusters: clusters, Clustered: true, BySize: true}
	wide := two
	wide.WideCells = true
	for _, tt := range []struct {
		name    string
		plan    estimate.Plan
		members []estimate.Member
		code    string
		cells   []estimate.Join
	}{
		{"no member", estimate.Plan{}, nil, "SAMPLE_EMPTY", nil},
		{"no answer", estimate.Plan{}, members(" 0+4-0?"), "SAMPLE_EMPTY", nil},
		{"one stratum without answers", estimate.Plan{Strata: strata}, members("a 5+0-0?", "b 0+3-0?", "c 4+0-0?"), "CELL_EMPTY", []estimate.Join{{Stratum: "b", With: "c"}}},
		{"a stratum nobody was drawn in", estimate.Plan{Strata: strata}, members("a 5+0-0?", "b 3+0-0?"), "CELL_EMPTY", []estimate.Join{{Stratum: "c", With: "b"}}},
		{"one unit", estimate.Plan{Strata: strata}, members("a 5+0-0?", "b 1+1-0?", "c 2+0-0?"), "CELL_TOO_SMALL", []estimate.Join{{Stratum: "b", N: 1, With: "c"}}},
		{"no population", estimate.Plan{Strata: []estimate.Stratum{{Name: "a"}, {Name: "b", Population: 4}}}, members("a 5+0-0?", "b 3+0-0?"), "POPULATION_UNKNOWN", nil},
		{"no such stratum", estimate.Plan{Strata: strata}, members("a 5+0-0?", "b 3+0-0?", "c 2+0-0?", "x 3+0-0?"), "POPULATION_UNKNOWN", nil},
		{"more than there are", estimate.Plan{Strata: []estimate.Stratum{{Name: "a", Population: 3}}}, members("a 4+0-0?"), "POPULATION_TOO_SMALL", nil},
		{"a cluster without answers", two, members("a/v1 3+0-0?", "a/v2 0+3-0?"), "CELL_EMPTY", []estimate.Join{{Stratum: "a", Cluster: "v2", With: "v1"}}},
		{"made up for by the stratum", wide, members("a/v1 3+0-0?", "a/v2 0+3-0?", "a/v3 1+0-0?"), "", nil},
		{"one household of a cluster", two, members("a/v1 3+0-0?", "a/v2 1+2-0?"), "CELL_TOO_SMALL", []estimate.Join{{Stratum: "a", Cluster: "v2", N: 1, With: "v1"}}},
		{"a cluster of one", two, members("a/v1 3+0-0?", "a/v3 1+0-0?"), "", nil},
		{"one cluster", two, members("a/v1 3+0-0?"), "CELL_TOO_SMALL", []estimate.Join{{Stratum: "a", N: 1}}},
		{"one household of a sample without strata", estimate.Plan{Strata: []estimate.Stratum{{Population: 100}}}, members(" 1+2-0?"), "CELL_TOO_SMALL", []estimate.Join{{N: 1}}},
		{"no size", two, members("a/v1 3+0-0?", "a/v9 3+0-0?"), "POPULATION_UNKNOWN", nil},
		{"by size without a population", sized, members("a/v1 3+0-0?", "a/v2 3+0-0?"), "POPULATION_UNKNOWN", nil},
		{"fine", estimate.Plan{Strata: strata}, members("a 5+0-0?", "b 3+0-0?", "c 1+1-1?"), "", nil},
	} {
		_, err := tt.plan.Weigh(tt.members)
		if fault.CodeOf(err) != tt.code || tt.code == "" && err != nil {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
			continue
		}
		if tt.cells == nil {
			continue
		}
		if alone := tt.code == "CELL_TOO_SMALL" && tt.cells[0].With == ""; alone != strings.Contains(err.Error(), "there is no other cell to join it with") {
			t.Errorf("%s: %v", tt.name, err)
		}
		got, _ := fault.As(err).Members.(estimate.Joins)
		if !slices.Equal(got.Cells, tt.cells) {
			t.Errorf("%s: cells %+v, want %+v", tt.name, got.Cells, tt.cells)
		}
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	clusters := []estimate.Cluster{{Name: "v1", Size: 10}, {Name: "v2", Size: 30}}
	for _, tt := range []struct {
		name string
		plan estimate.Plan
		spec []string
		want []float64 // of the first member of each part
	}{
		{"stratum", estimate.Plan{Strata: []estimate.Stratum{{Name: "a", Population: 60}}}, []string{"a 3+2-1?"}, []float64{15}},
		{"no population", estimate.Plan{}, []string{" 3+2-0?"}, []float64{1}},
		{"clusters", estimate.Plan{Strata: []estimate.Stratum{{Clusters: 10}}, Clusters: clusters, Clustered: true}, []string{"/v1 2+2-0?", "/v2 3+1-0?"}, []float64{25, 50}},
		{"made up for by the stratum", estimate.Plan{Strata: []estimate.Stratum{{Clusters: 10}}, Clusters: clusters, Clustered: true, WideCells: true}, []string{"/v1 2+2-0?", "/v2 3+1-0?"}, []float64{12.5 * 200 / 137.5, 37.5 * 200 / 137.5}},
		{"by size", estimate.Plan{Strata: []estimate.Stratum{{Population: 400}}, Clusters: clusters, Clustered: true, BySize: true}, []string{"/v1 4+0-0?", "/v2 4+0-0?"}, []float64{50, 50}},
	} {
		all := members(tt.spec...)
		d := must[*estimate.Design](t)(tt.plan.Weigh(all))
		for i, spec := range tt.spec {
			place, _, _ := strings.Cut(spec, " ")
			first := slices.IndexFunc(all, func(m estimate.Member) bool { return m.Stratum+"/"+m.Cluster == place || m.Stratum == place })
			near(t, tt.name, d.Weight(first), tt.want[i], 1e-14)
		}
		for i, m := range all {
			if m.Outcome == estimate.Missing && d.Weight(i) != 0 {
				t.Errorf("%s: who says nothing has the weight %v", tt.name, d.Weight(i))
			}
		}
	}
}

// A household that is not eligible keeps its weight, and is part of no figure.
func TestIneligible(t *testing.T) {
	t.Parallel()
	p := estimate.Plan{Strata: []estimate.Stratum{{Population: 100}}}
	d := must[*estimate.Design](t)(p.Weigh(members(" 6+0-4?")))
	f := must[*estimate.Figure](t)(d.Total(estimate.Values{Y: []float64{1, 1, 1, 0, 0, 0, 9, 9, 9, 9}}))
	if f.N != 6 || f.Population != 60 || f.Value != 30 {
		t.Errorf("n %d of %v, total %v; want 6 of 60, 30", f.N, f.Population, f.Value)
	}
	// The variance is that of a total over all ten, with zeros.
	near(t, "se", f.SE, math.Sqrt(0.9*10/9*(3*49+7*9)), 1e-12)
}

func TestEdges(t *testing.T) {
	t.Parallel()
	fig := must[*estimate.Figure](t)
	same := counted(t, [3]float64{5000, 50, 1})
	ci := interval(t, same, "", two95)
	if ci.High != 1 || !(ci.Low > .92 && ci.Low < .93) || same.EffectiveN(two95) != 50 {
		t.Errorf("all say yes: %+v of effectively %v", ci, same.EffectiveN(two95))
	}
	for n := range 60 { // rounding must not leave 1e-17
		n := float64(n + 5)
		if no, all := interval(t, counted(t, [3]float64{5000, n, 0}), "", two95), interval(t, counted(t, [3]float64{5000, n, 1}), "", two95); no.Low != 0 || all.High != 1 {
			t.Errorf("none, and all, of %v: from %v, to %v", n, no.Low, all.High)
		}
	}
	if kg := interval(t, same, estimate.Logit, two95); kg.Method != estimate.KornGraubard || math.Abs(kg.Low-math.Pow(.025, 1./50)) > 1e-14 {
		t.Errorf("a logit of 1: %+v", kg)
	}
	if c := same.Minus(same); c.Value != 0 || c.SE != 0 || !math.IsNaN(c.T) || !math.IsNaN(c.P) {
		t.Errorf("a figure less itself: %+v", c)
	}
	none := counted(t, [3]float64{5000, 30, 0})
	if p, ok := none.Precision(estimate.Target{Level: two95, Relative: .1, Bound: estimate.Upper}); !ok || p.Status != estimate.BoundUsed || p.Use != interval(t, none, "", two95).High || !(p.Use > .05 && p.Use < 1) {
		t.Errorf("the upper bound of nobody: %+v", p)
	}
	// A sample without variance proves no precision.
	for name, tt := range map[string]struct {
		f      *estimate.Figure
		status string
	}{
		"two of a thousand say yes":  {counted(t, [3]float64{1000, 2, 1}), estimate.BoundUsed},
		"strata that say the same":   {counted(t, [3]float64{500, 2, 1}, [3]float64{500, 2, 0}), estimate.BoundUsed},
		"five hundred say yes":       {counted(t, [3]float64{100_000, 500, 1}), estimate.PrecisionMet},
		"all of fifty, who say half": {counted(t, [3]float64{50, 50, .5}), estimate.PrecisionMet},
	} {
		p, ok := tt.f.Precision(estimate.Target{Level: two95, Relative: .1, Bound: estimate.Lower})
		ci := interval(t, tt.f, "", two95)
		if far := max(tt.f.Value-ci.Low, ci.High-tt.f.Value); !ok || p.Status != tt.status || p.Absolute != far || p.Low != ci.Low || p.High != ci.High {
			t.Errorf("%s: %+v, of %+v", name, p, ci)
		}
		if tt.status == estimate.BoundUsed && p.Use != ci.Low {
			t.Errorf("%s: use %v", name, p.Use)
		}
	}
	if whole := interval(t, counted(t, [3]float64{50, 50, .4}), "", two95); whole != (estimate.Interval{Low: .4, High: .4, Method: estimate.Exact}) {
		t.Errorf("a census: %+v", whole)
	}
	// Strata that each say the same do not show that the population does.
	if ci = interval(t, counted(t, [3]float64{500, 20, 1}, [3]float64{500, 20, 0}), "", two95); !(ci.Low < .36 && ci.High > .64) {
		t.Errorf("strata at one: %+v", ci)
	}
	d := must[*estimate.Design](t)((&estimate.Plan{}).Weigh(members(" 4+0-0?")))
	y := []float64{1, 2, 3, 4}
	// A bound below 0 says that nothing is known; numbers beyond all measure have no precision.
	if p, ok := fig(d.Mean(estimate.Values{Y: []float64{0, 0, 0, 10}})).Precision(estimate.Target{Level: two95, Relative: .1, Bound: estimate.Lower}); !ok || p.Status != estimate.PrecisionNotMet || !math.IsNaN(p.Use) {
		t.Errorf("the lower bound of mostly nothing: %+v", p)
	}
	if p, ok := fig(d.Mean(estimate.Values{Y: []float64{0, 1, 2, 1e200}})).Precision(estimate.Target{Level: two95}); ok {
		t.Errorf("an absurd number: %+v", p)
	}
	if _, ok := fig(d.Mean(estimate.Values{Y: y, In: []bool{true, false, false, false}})).Interval("", two95); ok {
		t.Error("one household has an interval")
	}
	if _, ok := fig(d.Quantile(estimate.Values{Y: y}, .5, two95)).Interval("", two95); ok {
		t.Error("the median of four has an interval")
	}
	for code, err := range map[string]error{
		"POPULATION_UNKNOWN": second(d.Total(estimate.Values{Y: y})),
		"NO_ANSWERS":         second(d.Mean(estimate.Values{Y: y, In: make([]bool, 4)})),
		"RATIO_OF_NOTHING":   second(d.Ratio(estimate.Values{Y: y, X: make([]float64, 4)})),
	} {
		if fault.CodeOf(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestFaultsOfTotals(t *testing.T) {
	t.Parallel()
	d := must[*estimate.Design](t)((&estimate.Plan{}).Weigh(members(" 4+1-0?")))
	sex, age := []string{"f", "f", "m", "m", "?"}, []string{"y", "y", "o", "o", "?"}
	for _, tt := range []struct {
		name string
		in   []estimate.Margin
		code string
	}{
		{"a value without a total", []estimate.Margin{{"sex", sex, map[string]float64{"f": 10}}}, "TOTALS_INVALID"},
		{"a total without a value", []estimate.Margin{{"sex", sex, map[string]float64{"f": 10, "m": 5, "x": 3}}}, "CELL_EMPTY"},
		{"other sums", []estimate.Margin{{"sex", sex, map[string]float64{"f": 10, "m": 5}}, {"age", age, map[string]float64{"y": 10, "o": 6}}}, "TOTALS_INVALID"},
		{"together only", []estimate.Margin{{"sex", sex, map[string]float64{"f": 10, "m": 5}}, {"age", age, map[string]float64{"y": 9, "o": 6}}}, "WEIGHTS_DO_NOT_FIT"},
		{"fine", []estimate.Margin{{"sex", sex, map[string]float64{"f": 10, "m": 5}}, {"age", age, map[string]float64{"y": 10, "o": 5}}}, ""},
	} {
		if _, err := d.Calibrate(tt.in); fault.CodeOf(err) != tt.code || tt.code == "" && err != nil {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
}

func TestSuppress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		counts []int
		want   string
	}{
		{[]int{10, 20, 30}, "..."},
		{[]int{10, 3, 30}, "xx."},
		{[]int{10, 4, 3, 30}, ".xx."},
		{[]int{10, 1, 1, 30}, "xxx."},
		{[]int{0, 3, 30}, ".xx"},
		{[]int{3}, "x"},
		{nil, ""},
	} {
		got := ""
		for _, h := range estimate.Suppress(tt.counts, make([]bool, len(tt.counts)), 5) {
			got += map[bool]string{true: "x", false: "."}[h]
		}
		if got != tt.want {
			t.Errorf("Suppress(%v) = %s, want %s", tt.counts, got, tt.want)
		}
	}
}

// rounds makes two rounds of the same stratum, c of whose n households are in
// both, and the figures of a variable in each.
func rounds(t *testing.T, n, c int, population float64) (a, b *estimate.Figure) {
	t.Helper()
	p := estimate.Plan{Strata: []estimate.Stratum{{Population: population}}}
	out := make([]*estimate.Figure, 2)
	for r := range out {
		all := members(fmt.Sprintf(" %d+0-0?", n))
		y := make([]float64, n)
		for i := range all {
			k := i + r*(n-c)
			all[i].ID = fmt.Sprint(k)
			y[i] = float64(k*k%17) + float64(r)*float64(k%3)
		}
		out[r] = must[*estimate.Figure](t)(must[*estimate.Design](t)(p.Weigh(all)).Mean(estimate.Values{Y: y}))
	}
	return out[0], out[1]
}

func TestChangeBetweenRounds(t *testing.T) {
	t.Parallel()
	// The same households in both: the change is the mean of their changes.
	a, b := rounds(t, 60, 60, 600)
	sum, squares := 0.0, 0.0
	for k := range 60 {
		sum, squares = sum+float64(k%3), squares+float64(k%3*(k%3))
	}
	c := b.Minus(a)
	near(t, "change", c.Value, sum/60, 1e-12)
	near(t, "its error", c.SE, math.Sqrt(0.9*(squares-sum*sum/60)/59/60), 1e-12)
	if c.Common != 60 || c.DF != 59 {
		t.Errorf("%d in both on %v df, want 60 on 59", c.Common, c.DF)
	}
	// None in both: the variances add up.
	a, b = rounds(t, 60, 0, 600)
	c = b.Minus(a)
	near(t, "apart", c.SE, math.Hypot(a.SE, b.SE), 1e-15)
	// Some in both: less than apart, more than the same.
	a, b = rounds(t, 60, 30, 1e6)
	if c = b.Minus(a); c.Common != 30 || !(c.SE < math.Hypot(a.SE, b.SE)) {
		t.Errorf("30 in both: se %v of %v apart", c.SE, math.Hypot(a.SE, b.SE))
	}
}
