package sampling_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
)

func f(v float64) *float64 { return &v }

// The values are those of published examples and tables.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   sampling.Aim
		want float64
		up   int
	}{
		{"the documented example", sampling.Aim{Confidence: .95, Precision: .05, Expected: .8, Population: 5000}, 356.80, 357},
		{"90/10 of many", sampling.Aim{Confidence: .9, Precision: .1, Expected: .5, Population: 640000}, 270.44, 271},
		{"mean", sampling.Aim{Mean: true, Confidence: .95, Precision: .05, Expected: .8, SD: .2, Population: 5000}, 94.24, 95},
		{"absolute margin", sampling.Aim{Confidence: .95, Margin: .05, Expected: .5, Population: 5000}, 356.80, 357},
		{"mean with an absolute margin", sampling.Aim{Mean: true, Confidence: .95, Margin: .04, Expected: .8, SD: .2, Population: 5000}, 94.24, 95},
		{"mean of 1000", sampling.Aim{Mean: true, Confidence: .95, Precision: .05, Expected: .8, SD: .2, Population: 1000}, 87.70, 88},
		{"one bound", sampling.Aim{Confidence: .95, OneSided: true, Precision: .1, Expected: .5, Population: 640000}, 270.44, 271},
		{"no population", sampling.Aim{Confidence: .95, Margin: .05, Expected: .5}, 384.15, 385},
	} {
		got := sampling.Size(tt.in)
		if math.Abs(got-tt.want) > .006 || sampling.Up(got) != tt.up {
			t.Errorf("%s: Size() = %v, up to %d; want %v, %d", tt.name, got, sampling.Up(got), tt.want, tt.up)
		}
	}
}

func TestSizeTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p        float64
		n90, n95 int
	}{{.5, 264, 370}, {.6, 178, 250}, {.7, 115, 162}, {.8, 68, 96}, {.9, 30, 43}} {
		for _, one := range []struct {
			confidence float64
			want       int
		}{{.9, tt.n90}, {.95, tt.n95}} {
			if got := sampling.Up(sampling.Size(sampling.Aim{Confidence: one.confidence, Precision: .1, Expected: tt.p, Population: 10000})); got != one.want {
				t.Errorf("p %v at %v: %d, want %d", tt.p, one.confidence, got, one.want)
			}
		}
	}
	if got := sampling.Oversample(357, .15); got != 420 {
		t.Errorf("Oversample(357, .15) = %d, want 420", got)
	}
}

func TestAllocate(t *testing.T) {
	t.Parallel()
	parts := func(v ...float64) []sampling.Part {
		var out []sampling.Part
		for i := 0; i < len(v); i += 2 {
			out = append(out, sampling.Part{Population: int(v[i]), Share: v[i+1]})
		}
		return out
	}
	for _, tt := range []struct {
		name     string
		n, floor int
		in       []sampling.Part
		want     []int
	}{
		{"proportional", 420, 2, parts(3000, 3000, 2000, 2000), []int{252, 168}},
		{"neyman", 420, 2, parts(3000, 3000*.2, 2000, 2000*.25), []int{229, 191}},
		{"largest remainders", 10, 0, parts(100, 1, 100, 1, 100, 1), []int{4, 3, 3}},
		{"floor", 100, 30, parts(9000, 9000, 500, 500, 500, 500), []int{90, 30, 30}},
		{"floor of a small one", 100, 30, parts(9000, 9000, 10, 10), []int{100, 10}},
		{"more than it has", 100, 2, parts(20, 900, 500, 50, 500, 50), []int{20, 40, 40}},
		{"nobody", 10, 2, parts(0, 0, 0, 0), []int{0, 0}},
	} {
		if got := sampling.Allocate(tt.n, tt.floor, tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Allocate() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// units gives households 1 to n, each in the stratum and cluster of its number.
func units(n int, place func(i int) (stratum, cluster string)) sampling.Frame {
	return func(visit func(sampling.Unit) error) error {
		for i := 1; i <= n; i++ {
			u := sampling.Unit{Unit: fmt.Sprintf("did:ixo:household/%d", i)}
			if place != nil {
				u.Stratum, u.Cluster = place(i)
			}
			if err := visit(u); err != nil {
				return err
			}
		}
		return nil
	}
}

func names(d *sampling.Drawn, reserve bool) []string {
	var out []string
	for _, u := range d.Units {
		if u.Reserve == reserve {
			out = append(out, u.Unit.Unit)
		}
	}
	return out
}

func TestRedraw(t *testing.T) {
	t.Parallel()
	got, err := sampling.Redraw(&sampling.Plan{Strata: []api.SamplePlanStratum{{Size: 4}}, Reserve: 3}, "20240220", units(10, nil))
	if err != nil {
		t.Fatal(err)
	}
	h := "did:ixo:household/"
	if want := []string{h + "7", h + "1", h + "6", h + "5"}; !slices.Equal(names(got, false), want) {
		t.Errorf("drawn %v, want %v", names(got, false), want)
	}
	if n := len(names(got, true)); n != 3 {
		t.Errorf("%d replacements, want 3", n)
	}
	if _, err := sampling.Redraw(&sampling.Plan{Strata: []api.SamplePlanStratum{{Size: 11}}}, "x", units(10, nil)); err == nil {
		t.Error("a plan that takes more than there is was drawn")
	}
	if got, want := sampling.Join("a", "b"), sampling.Commitment("a\x1fb"); got != want {
		t.Errorf("Join = %s, want %s", got, want)
	}
}

// Over 2,000 seeds every household of 500 is drawn about as often as any other:
// the sum of squares has the distribution it has without replacement.
func TestUniform(t *testing.T) {
	t.Parallel()
	const all, n, seeds = 500, 50, 2000
	counts := map[string]int{}
	plan := &sampling.Plan{Strata: []api.SamplePlanStratum{{Size: n}}}
	for i := range seeds {
		d, err := sampling.Redraw(plan, fmt.Sprintf("seed-%d", i), units(all, nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range names(d, false) {
			counts[u]++
		}
	}
	sum, share := 0.0, float64(n)/all
	for i := 1; i <= all; i++ {
		o := float64(counts[fmt.Sprintf("did:ixo:household/%d", i)]) - seeds*share
		sum += o * o
	}
	x := sum / (seeds * share * (1 - share) * all / (all - 1))
	// Wilson and Hilferty: the cube root of a chi-square over its degrees of
	// freedom is nearly normal.
	df := float64(all - 1)
	z := (math.Cbrt(x/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df))
	if p := .5 * math.Erfc(z/math.Sqrt2); p < .001 || p > .999 {
		t.Errorf("chi-square %v on %v degrees of freedom: p %v", x, df, p)
	}
}

func TestRedrawClusters(t *testing.T) {
	t.Parallel()
	place := func(i int) (string, string) { return "", fmt.Sprintf("village-%d", i%20) }
	for _, selection := range []string{"equal", "size"} {
		plan := &sampling.Plan{Strata: []api.SamplePlanStratum{{Clusters: 5}}, Clusters: &api.SamplePlanClusters{Unit: "village", Selection: selection, PerCluster: 4}, Reserve: 2}
		d, err := sampling.Redraw(plan, "s", units(400, place))
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]int{}
		for _, u := range d.Units {
			if !u.Reserve {
				in[u.Cluster]++
			}
		}
		if len(in) != 5 || len(d.Clusters) != 5 || *d.Stages[0].Units != 20 || *d.Stages[0].Drawn != 5 {
			t.Errorf("%s: %v of %+v", selection, in, d.Stages[0])
		}
		for name, n := range in {
			if n != 4 {
				t.Errorf("%s: %d households of %s, want 4", selection, n, name)
			}
		}
	}
}

// A cluster with three times the households is drawn three times as often.
func TestClustersBySize(t *testing.T) {
	t.Parallel()
	place := func(i int) (string, string) { // 4 villages of 30, 12 of 10
		if i <= 120 {
			return "", fmt.Sprintf("large-%d", i%4)
		}
		return "", fmt.Sprintf("small-%d", i%12)
	}
	plan := &sampling.Plan{Strata: []api.SamplePlanStratum{{Clusters: 4}}, Clusters: &api.SamplePlanClusters{Selection: "size", PerCluster: 2}}
	large := 0
	const seeds = 2000
	for i := range seeds {
		d, err := sampling.Redraw(plan, fmt.Sprint(i), units(240, place))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Clusters {
			if *c.Size == 30 {
				large++
			}
		}
	}
	// 4 of 16 by size: each large one has the chance 4·30/240 = 1/2.
	if got := float64(large) / (4 * seeds); math.Abs(got-.5) > .02 {
		t.Errorf("a large cluster was drawn in %v of the draws, want 0.5", got)
	}
}

func TestDesign(t *testing.T) {
	t.Parallel()
	d := documented()
	v, err := sampling.Compute(d)
	if err != nil {
		t.Fatal(err)
	}
	p := v.Parameters
	if p.CalculatedSize != 357 || p.AdjustedSize != 420 || *v.Stratification.Strata[0].SampleSize != 252 || *v.Stratification.Strata[1].SampleSize != 168 {
		t.Errorf("sizes %+v, strata %v", p, v.Stratification.Strata)
	}
	d.Stratification.Method, d.Stratification.Strata[0].SD, d.Stratification.Strata[1].SD = "neyman", f(.2), f(.25)
	if v, err = sampling.Compute(d); err != nil || *v.Stratification.Strata[0].SampleSize != 229 || *v.Stratification.Strata[1].SampleSize != 191 {
		t.Errorf("neyman: %v, %v", v.Stratification.Strata, err)
	}
	d = documented()
	d.Stratification.Method = "perStratum"
	if v, err = sampling.Compute(d); err != nil || v.Parameters.AdjustedSize < 700 {
		t.Errorf("per stratum: %+v, %v", v, err)
	}
	d = documented()
	d.Stratification = nil
	d.DesignEffect, d.Clusters = f(1.5), &api.SampleClusters{PerCluster: f(8)}
	if v, err = sampling.Compute(d); err != nil || v.Method != "multistage" || v.Parameters.CalculatedSize != 536 {
		t.Errorf("clusters: %+v, %v", v, err)
	}
}

// What the target needs is computed whatever is drawn, and a smaller draw says which
// precision it gives.
func TestShort(t *testing.T) {
	t.Parallel()
	half := func(n float64) sampling.Draft {
		return sampling.Draft{ProjectID: "did:ixo:entity:123", Population: f(n), Confidence: f(.9), MarginOfError: f(.05), ExpectedMean: f(.5)}
	}
	for _, tt := range []struct {
		name          string
		edit          func(d *sampling.Draft)
		needed, drawn int
		exact         float64
		warning       string
	}{
		{"as computed", func(*sampling.Draft) {}, 214, 214, 213.1, ""},
		{"fixed sizes", func(d *sampling.Draft) {
			d.Stratification = &api.SampleStratification{Method: "fixed", Strata: []api.SampleStratum{{Name: "a", Population: f(500), SampleSize: f(5)}, {Name: "b", Population: f(500), SampleSize: f(5)}}}
		}, 214, 10, 213.1, "10 households are drawn, of which about 10 answer, and the target needs 214 responses: they give a margin of error of 0.26, not 0.05. To reach it draw 214, or take 0.26 for the target"},
		{"fixed sizes that are enough", func(d *sampling.Draft) {
			d.Stratification = &api.SampleStratification{Method: "fixed", Strata: []api.SampleStratum{{Name: "a", Population: f(500), SampleSize: f(107)}, {Name: "b", Population: f(500), SampleSize: f(107)}}}
		}, 214, 214, 213.1, ""},
		{"fixed sizes without a target", func(d *sampling.Draft) {
			d.MarginOfError = nil
			d.Stratification = &api.SampleStratification{Method: "fixed", Strata: []api.SampleStratum{{Name: "a", Population: f(500), SampleSize: f(5)}, {Name: "b", Population: f(500), SampleSize: f(5)}}}
		}, 10, 10, 10, ""},
		{"clusters", func(d *sampling.Draft) {
			d.DesignEffect, d.Clusters = f(2), &api.SampleClusters{Drawn: f(5), PerCluster: f(8)}
		}, 427, 40, 426.3, "40 households are drawn, of which about 40 answer, and the target needs 427 responses: they give a margin of error of 0.18"},
		{"a relative target", func(d *sampling.Draft) {
			d.MarginOfError, d.Precision, d.Clusters = nil, f(.1), &api.SampleClusters{Drawn: f(5), PerCluster: f(8)}
		}, 214, 40, 213.1, "relative precision of 0.25, not 0.1"},
		{"all, and not all answer", func(d *sampling.Draft) { d.Population, d.DropoutRate = f(40), f(.5) }, 35, 40, 34.96, "draw all and plan for less dropout"},
		{"each stratum by itself", func(d *sampling.Draft) {
			d.DropoutRate = f(.5)
			d.Stratification = &api.SampleStratification{Method: "perStratum", Strata: []api.SampleStratum{{Name: "a", Population: f(960)}, {Name: "b", Population: f(40)}}}
		}, 247, 464, 246.2, `40 households of stratum "b" are drawn, of which about 20 answer`},
	} {
		d := half(1000)
		tt.edit(&d)
		if err := sampling.Check(&d); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		v, err := sampling.Compute(d)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		p, said := v.Parameters, ""
		for _, w := range v.Warnings {
			if strings.Contains(w, "target") {
				said = w
			}
		}
		if p.CalculatedSize != tt.needed || p.DrawnSize != tt.drawn || math.Abs(p.ExactSize-tt.exact) > .1 || (said == "") != (tt.warning == "") || !strings.Contains(said, tt.warning) {
			t.Errorf("%s: %+v, %q; want %d needed (%v), %d drawn, %q", tt.name, p, said, tt.needed, tt.exact, tt.drawn, tt.warning)
		}
	}
	for _, n := range []float64{2, 50, 999} {
		a := sampling.Aim{Confidence: .9, Margin: .05, Expected: .5, Population: 1000}
		if a.Margin = sampling.Precision(a, n); math.Abs(sampling.Size(a)-n) > 1e-6 {
			t.Errorf("%v responses give %v, which needs %v", n, a.Margin, sampling.Size(a))
		}
	}
}

// documented is the example of the sampling page.
func documented() sampling.Draft {
	return sampling.Draft{
		ProjectID: "did:ixo:entity:123", Population: f(5000), Confidence: f(.95), Precision: f(.05), ExpectedMean: f(.8), ExpectedSD: f(.2), DropoutRate: f(.15),
		Stratification: &api.SampleStratification{Strata: []api.SampleStratum{{Name: "rural", Weight: f(.6)}, {Name: "urban", Weight: f(.4)}}},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(d *sampling.Draft)
		code string
	}{
		{"as documented", func(*sampling.Draft) {}, ""},
		{"95 for 0.95", func(d *sampling.Draft) { d.Confidence = f(95) }, "SAMPLING_PARAMETERS_INVALID"},
		{"surer than any sample", func(d *sampling.Draft) { d.Confidence = f(1 - 1e-16) }, "SAMPLING_PARAMETERS_INVALID"},
		{"no target", func(d *sampling.Draft) { d.Precision = nil }, "SAMPLING_PARAMETERS_INVALID"},
		{"two targets", func(d *sampling.Draft) { d.MarginOfError = f(.1) }, "SAMPLING_PARAMETERS_INVALID"},
		{"no project", func(d *sampling.Draft) { d.ProjectID = "" }, "SAMPLING_PARAMETERS_INVALID"},
		{"mean without spread", func(d *sampling.Draft) { d.ParameterType, d.ExpectedSD = "mean", nil }, "SAMPLING_PARAMETERS_INVALID"},
		{"a proportion of 1", func(d *sampling.Draft) { d.ExpectedMean = f(1) }, "SAMPLING_PARAMETERS_INVALID"},
		{"nobody is left", func(d *sampling.Draft) { d.DropoutRate = f(1) }, "SAMPLING_PARAMETERS_INVALID"},
		{"neyman without spread", func(d *sampling.Draft) { d.Stratification.Method = "neyman" }, "SAMPLING_PARAMETERS_INVALID"},
		{"weights make 0.9", func(d *sampling.Draft) { d.Stratification.Strata[1].Weight = f(.3) }, "STRATA_CONFLICT"},
		{"the same twice", func(d *sampling.Draft) { d.Stratification.Strata[1].Name = "rural" }, "STRATA_CONFLICT"},
		{"other populations", func(d *sampling.Draft) {
			d.Stratification.Strata = []api.SampleStratum{{Name: "a", Population: f(1)}, {Name: "b", Population: f(2)}}
		}, "STRATA_CONFLICT"},
		{"a comma in a stratum", func(d *sampling.Draft) { d.Stratification.Strata[0].Name = "a,b" }, "SAMPLING_PARAMETERS_INVALID"},
	} {
		d := documented()
		tt.edit(&d)
		if got := fault.CodeOf(sampling.Check(&d)); got != tt.code {
			t.Errorf("%s: Check() = %q, want %q", tt.name, got, tt.code)
		}
	}
}

// Whatever a draft that passes says, sizes are whole and fit the population.
func TestComputeHolds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		d := documented()
		d.Population, d.Precision, d.ExpectedMean = f(float64(1+r.IntN(20000))), f(.01+.9*r.Float64()), f(.02+.96*r.Float64())
		d.DropoutRate = f(.9 * r.Float64())
		if sampling.Check(&d) != nil {
			continue
		}
		v, err := sampling.Compute(d)
		if err != nil {
			continue
		}
		for _, h := range v.Stratification.Strata {
			if *h.SampleSize < 0 || *h.SampleSize > or(h.Population) {
				t.Fatalf("%v of %v are drawn", *h.SampleSize, or(h.Population))
			}
		}
	}
}

func or(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
