package estimate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// sample is a sample in two stages that R reads too.
type sample struct {
	plan        estimate.Plan
	bySize      estimate.Plan // the same villages, drawn by their size
	members     []estimate.Member
	y, x, yes   []float64
	group, tier []string
	csv         strings.Builder
}

func twoStages() *sample {
	s := &sample{}
	s.plan.Clustered = true
	s.csv.WriteString("stratum,cluster,id,K,M,w,y,x,yes,group,tier\n")
	r := rand.New(rand.NewPCG(42, 1))
	for h, stratum := range []string{"s1", "s2", "s3"} {
		k := float64(30 + 10*h)
		drawn := 6 + h
		s.plan.Strata = append(s.plan.Strata, estimate.Stratum{Name: stratum, Clusters: k, Population: 1500 + 100*k})
		for c := range drawn {
			s.village(r, estimate.Cluster{Stratum: stratum, Name: fmt.Sprintf("%s-v%d", stratum, c), Size: float64(20 + r.IntN(50))}, k, float64(drawn))
		}
	}
	s.bySize = s.plan
	s.bySize.BySize = true
	return s
}

// village adds the households of a cluster, one of k, some of which are drawn.
func (s *sample) village(r *rand.Rand, c estimate.Cluster, k, drawn float64) {
	s.plan.Clusters = append(s.plan.Clusters, c)
	n := 4 + r.IntN(5)
	level := r.Float64()
	for i := range n {
		id := fmt.Sprintf("%s-%d", c.Name, i)
		y, x, yes := 2+level+r.NormFloat64(), float64(1+r.IntN(8)), 0.0
		if r.Float64() < .3+.5*level {
			yes = 1
		}
		group, tier := []string{"a", "b"}[r.IntN(2)], []string{"low", "mid", "top"}[r.IntN(3)]
		s.members = append(s.members, estimate.Member{ID: id, Stratum: c.Stratum, Cluster: c.Name, Outcome: estimate.Answered})
		s.y, s.x, s.yes = append(s.y, y), append(s.x, x), append(s.yes, yes)
		s.group, s.tier = append(s.group, group), append(s.tier, tier)
		w := (1500 + 100*k) / (drawn * float64(n))
		fmt.Fprintf(&s.csv, "%s,%s,%s,%v,%v,%.17g,%.17g,%v,%v,%s,%s\n", c.Stratum, c.Name, id, k, c.Size, w, y, x, yes, group, tier)
	}
}

// figures are those of compare.R, by the same names.
func (s *sample) figures(t *testing.T) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	show := func(name string, values ...float64) {
		for i, v := range values {
			got[fmt.Sprintf("%s.%d", name, i+1)] = v
		}
	}
	fig, des := must[*estimate.Figure](t), must[*estimate.Design](t)
	d := des(s.plan.Weigh(s.members))
	y, inA := estimate.Values{Y: s.y}, is(s.group, "a")
	m := fig(d.Mean(y))
	ci := interval(t, m, "", two95)
	show("mean", m.Value, m.SE, m.Deff, ci.Low, ci.High, m.DF)
	total, ratio := fig(d.Total(y)), fig(d.Ratio(estimate.Values{Y: s.y, X: s.x}))
	show("total", total.Value, total.SE)
	show("ratio", ratio.Value, ratio.SE)
	a, b := fig(d.Mean(estimate.Values{Y: s.y, In: inA})), fig(d.Mean(estimate.Values{Y: s.y, In: is(s.group, "b")}))
	show("by", a.Value, b.Value, a.SE, b.SE)
	p := fig(d.Proportion(estimate.Values{Y: s.yes, In: inA}))
	show("domain", p.Value, p.SE, p.Deff, p.DF)
	for name, kind := range map[string]string{"beta": estimate.KornGraubard, "xlogit": estimate.Logit, "mean": estimate.Wald} {
		ci := interval(t, p, kind, two95)
		if name == "mean" {
			name = "wald"
		}
		show(name, ci.Low, ci.High)
	}
	c := b.Minus(a)
	show("test", c.Value, c.T, c.P, c.DF)
	var values, lows, highs, errs []float64
	for _, q := range []float64{.25, .5, .9} {
		f := fig(d.Quantile(y, q, two95))
		ci := interval(t, f, "", two95)
		values, lows, highs, errs = append(values, f.Value), append(lows, ci.Low), append(highs, ci.High), append(errs, f.SE)
	}
	show("quantile", append(append(append(values, lows...), highs...), errs...)...)
	s.fitted(t, d, show)
	w := fig(des(s.bySize.Weigh(s.members)).Mean(y))
	show("bySize", w.Value, w.SE)
	return got
}

func (s *sample) fitted(t *testing.T, d *estimate.Design, show func(string, ...float64)) {
	t.Helper()
	fig, des := must[*estimate.Figure](t), must[*estimate.Design](t)
	group := estimate.Margin{By: "group", Of: s.group, Totals: map[string]float64{"a": 5000, "b": 4000}}
	tier := estimate.Margin{By: "tier", Of: s.tier, Totals: map[string]float64{"low": 4500, "mid": 3000, "top": 1500}}
	in := make([]bool, len(s.members))
	for i, m := range s.members {
		in[i] = m.Stratum == "s2"
	}
	post := des(d.Calibrate([]estimate.Margin{group}))
	pm, pd := fig(post.Mean(estimate.Values{Y: s.y})), fig(post.Proportion(estimate.Values{Y: s.yes, In: in}))
	show("post", pm.Value, pm.SE)
	show("postDomain", pd.Value, pd.SE)
	raked := des(d.Calibrate([]estimate.Margin{group, tier}))
	km, kt := fig(raked.Mean(estimate.Values{Y: s.y})), fig(raked.Total(estimate.Values{Y: s.yes}))
	show("raking", km.Value, km.SE, kt.Value, kt.SE)
}

// TestAgainstR compares with R itself, where it is installed: Debian has it as
// r-cran-survey.
func TestAgainstR(t *testing.T) {
	t.Parallel()
	rscript := surveytest.R(t)
	s := twoStages()
	file := filepath.Join(t.TempDir(), "sample.csv")
	if err := os.WriteFile(file, []byte(s.csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), rscript, filepath.Join("testdata", "compare.R"), file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := s.figures(t)
	lines := strings.Fields(string(out))
	if len(lines) != len(got) {
		t.Errorf("%d figures of R, %d of ours", len(lines), len(got))
	}
	for _, line := range lines {
		name, text, _ := strings.Cut(line, ",")
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name, got[name], want, 1e-9)
	}
}
