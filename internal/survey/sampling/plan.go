package sampling

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// plan computes how many to draw from strata with their populations. It fills
// in the sizes of p. clusters has their number in each stratum; nil when
// unknown.
func plan(d *Draft, p *api.SampleParameters, strata []api.SamplePlanStratum, clusters map[string]int) (*Plan, error) {
	whole := 0
	for _, h := range strata {
		whole += h.Population
	}
	p.ExactSize = 0
	target := d.Precision != nil || d.MarginOfError != nil
	if target {
		var err error
		if p.ExactSize, err = reach(aimOf(d, float64(whole)), p.DesignEffect); err != nil {
			return nil, err
		}
	}
	p.CalculatedSize = Up(p.ExactSize)
	p.AdjustedSize = Oversample(p.CalculatedSize, p.DropoutRate)
	if whole > 0 && target && p.CalculatedSize > whole {
		return nil, tooFew(fmt.Sprintf("The sample needs %d responses, but there are only %d households.", p.CalculatedSize, whole))
	}
	if whole > 0 {
		p.AdjustedSize = min(p.AdjustedSize, whole)
	}
	if err := sizes(d, p, strata); err != nil {
		return nil, err
	}
	out := &Plan{Strata: strata}
	most := 0
	for i := range strata {
		most = max(most, strata[i].Size)
	}
	out.Reserve = int(or(d.Reserve, float64(min(most, usualReserve))))
	if d.Clusters != nil {
		if err := clustered(d, out, p, clusters); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func tooFew(detail string) error {
	return fault.New(fault.Unprocessable, tooFewCode, "The population is too small for this sample.").With(fault.Field{Pointer: "/population", Code: "too_small", Detail: detail})
}

// sizes allots the sample to strata.
func sizes(d *Draft, p *api.SampleParameters, strata []api.SamplePlanStratum) error {
	if !Stratified(d) {
		strata[0].Size = p.AdjustedSize
		return nil
	}
	s := d.Stratification
	floor := int(or(s.Floor, 2))
	exact, needed := 0.0, 0
	parts := make([]Part, len(strata))
	for i, h := range strata {
		known := float64(h.Population)
		if h.Population == 0 {
			known = or(s.Strata[i].Weight, 1/float64(len(strata)))
			parts[i].Population = maxPopulation
		} else {
			parts[i].Population = h.Population
		}
		parts[i].Share = known
		switch s.Method {
		case neyman:
			parts[i].Share = known * *s.Strata[i].SD
		case perStratum:
			one := *d
			one.ExpectedMean, one.ExpectedSD = firstOf(s.Strata[i].Mean, d.ExpectedMean), firstOf(s.Strata[i].SD, d.ExpectedSD)
			n, err := reach(aimOf(&one, float64(h.Population)), p.DesignEffect)
			if err != nil {
				return err
			}
			exact, needed = exact+n, needed+Up(n)
			strata[i].Size = max(Oversample(Up(n), p.DropoutRate), floor)
			if h.Population > 0 {
				strata[i].Size = min(strata[i].Size, h.Population)
			}
		case fixed:
			strata[i].Size = int(*s.Strata[i].SampleSize)
		}
	}
	switch s.Method {
	case perStratum:
		p.AdjustedSize, p.CalculatedSize, p.ExactSize = drawnOf(strata), needed, exact
	case fixed:
		p.AdjustedSize = drawnOf(strata)
		if p.ExactSize == 0 { // without a target the given sizes apply
			p.CalculatedSize = left(p.AdjustedSize, p.DropoutRate)
			p.ExactSize = float64(p.CalculatedSize)
		}
	default:
		for i, n := range Allocate(p.AdjustedSize, floor, parts) {
			strata[i].Size = n
		}
	}
	for i, h := range strata {
		if h.Population > 0 && h.Size > h.Population {
			return tooFew(fmt.Sprintf("Stratum %s has only %d households, but %d are to be drawn.", s.Strata[i].Name, h.Population, h.Size))
		}
	}
	return nil
}

// reach is Size with a design effect. The fault names a target that no population
// is large enough for, or that cannot be computed.
func reach(a Aim, effect float64) (float64, error) {
	n := Size(a) * effect
	if n <= maxPopulation*max(effect, 1) {
		return n, nil
	}
	at := "/marginOfError"
	if a.Precision > 0 {
		at = "/precision"
	}
	return 0, fault.New(fault.Invalid, invalidCode, invalidText).With(fault.Field{
		Pointer: at, Code: "out_of_range", Detail: "No population is large enough for this, with the expected mean and spread. Choose a larger value.",
	})
}

func firstOf(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}

// clustered computes how many clusters to draw in each stratum.
func clustered(d *Draft, out *Plan, p *api.SampleParameters, have map[string]int) error {
	k := d.Clusters
	out.Clusters = &api.SamplePlanClusters{Unit: k.Unit, Selection: k.Selection, PerCluster: int(or(k.PerCluster, 0))}
	if k.Drawn != nil {
		parts := make([]Part, len(out.Strata))
		for i, h := range out.Strata {
			parts[i] = Part{Population: maxPopulation, Share: max(float64(h.Size), 1)}
			if have != nil {
				parts[i].Population = have[h.Name]
			}
		}
		for i, n := range Allocate(int(*k.Drawn), min(2, int(*k.Drawn)), parts) {
			out.Strata[i].Clusters = n
		}
	}
	for i := range out.Strata {
		h := &out.Strata[i]
		if k.Drawn == nil {
			h.Clusters = max(2, (h.Size+out.Clusters.PerCluster-1)/out.Clusters.PerCluster)
		}
		if have != nil && h.Clusters > have[h.Name] {
			return tooFew(fmt.Sprintf("Stratum %q has only %d clusters, but %d are to be drawn.", h.Name, have[h.Name], h.Clusters))
		}
		if out.Clusters.PerCluster > 0 {
			h.Size = h.Clusters * out.Clusters.PerCluster
		}
	}
	if k.PerCluster == nil {
		return nil
	}
	p.AdjustedSize = drawnOf(out.Strata)
	return nil
}

// drawnOf is how many households are drawn of strata.
func drawnOf(strata []api.SamplePlanStratum) int {
	n := 0
	for _, h := range strata {
		n += h.Size
	}
	return n
}

// left are the responses of n households after dropout.
func left(n int, dropout float64) int { return int(math.Floor(float64(n)*(1-dropout) + 1e-9)) }

// short warns where fewer households are drawn than the target needs, because the
// design fixes the number, or the population is too small, and says which
// precision they give instead.
func short(d *Draft, p *api.SampleParameters, strata []api.SamplePlanStratum) []string {
	if d.Precision == nil && d.MarginOfError == nil {
		return nil
	}
	if !Stratified(d) || d.Stratification.Method != perStratum {
		return shortOf("", aimOf(d, or(p.Population, 0)), p, drawnOf(strata))
	}
	var out []string
	for i, h := range strata {
		one, s := *d, d.Stratification.Strata[i]
		one.ExpectedMean, one.ExpectedSD = firstOf(s.Mean, d.ExpectedMean), firstOf(s.SD, d.ExpectedSD)
		out = append(out, shortOf(fmt.Sprintf(" of stratum %q", h.Name), aimOf(&one, float64(h.Population)), p, h.Size)...)
	}
	return out
}

func shortOf(of string, a Aim, p *api.SampleParameters, drawn int) []string {
	needed, got := Up(Size(a)*p.DesignEffect), left(drawn, p.DropoutRate)
	if got >= needed {
		return nil
	}
	precision, asked := Precision(a, float64(max(got, 1))/p.DesignEffect), a.Margin
	kind := "margin of error"
	if a.Precision > 0 {
		kind, asked = "relative precision", a.Precision
	}
	more := Oversample(needed, p.DropoutRate)
	what := fmt.Sprintf("draw %d", more)
	if a.Population > 0 && more > int(a.Population) {
		what = "draw all and plan for less dropout"
	}
	return []string{fmt.Sprintf("%d households%s are drawn, of which about %d answer, and the target needs %d responses: they give a %s of %.2g, not %.2g. To reach it %s, or take %.2g for the target",
		drawn, of, got, needed, kind, precision, asked, what, precision)}
}

// PlanOf computes what a design draws from a frame: its target with the
// populations of the frame. Faults: INSUFFICIENT_POPULATION, STRATA_CONFLICT
// when the frame has other strata than the design.
func PlanOf(v *Design, f *api.SampleFrame) (*Plan, *api.SampleParameters, error) {
	d := v.SampleDesignDraft
	p := v.Parameters
	n := float64(f.Population)
	p.Population, p.DropoutRate, p.DesignEffect = &n, or(d.DropoutRate, 0), or(d.DesignEffect, 1)
	have, clusters := map[string]int64{}, map[string]int{}
	for _, h := range f.Strata {
		if h.Population > 0 {
			have[h.Name], clusters[h.Name] = h.Population, h.Clusters
		}
	}
	strata := []api.SamplePlanStratum{{Population: int(f.Population)}}
	if !Stratified(&d) && have[""] != f.Population {
		return nil, nil, fault.New(fault.Conflict, conflictCode, "The frame was frozen with strata, and the design has none now. Freeze the frame again.")
	}
	if Stratified(&d) {
		strata = nil
		var bad []fault.Field
		for i, h := range d.Stratification.Strata {
			if have[h.Name] == 0 {
				bad = append(bad, fault.Field{Pointer: fmt.Sprintf("/stratification/strata/%d", i), Code: "empty", Detail: "The frame has no household in this stratum."})
			}
			strata = append(strata, api.SamplePlanStratum{Name: h.Name, Population: int(have[h.Name])})
			delete(have, h.Name)
		}
		if rest := slices.Collect(maps.Keys(have)); len(rest) > 0 {
			bad = append(bad, fault.Field{Pointer: "/stratification/strata", Code: "unknown", Detail: fmt.Sprintf("The frame has a stratum %q, which the design lacks.", slices.Min(rest))})
		}
		if len(bad) > 0 {
			return nil, nil, fault.New(fault.Conflict, conflictCode, "The strata of the frame are not those of the design.").With(bad...)
		}
	}
	out, err := plan(&d, &p, strata, clusters)
	if err == nil && out.Clusters != nil && out.Clusters.Selection == bySize {
		err = steps(out, f)
	}
	return out, &p, err
}

// steps refuses a draw of clusters by their size where one of them is longer than a
// step: it could be met twice, which would depend on the seed.
func steps(p *Plan, f *api.SampleFrame) error {
	largest := map[string]*api.SampleFrameCluster{}
	for _, h := range f.Strata {
		largest[h.Name] = h.Largest
	}
	for _, h := range p.Strata {
		if c := largest[h.Name]; c != nil && c.Population*int64(h.Clusters) > int64(h.Population) {
			return undrawable(tooLong(c.Name, c.Population, uint64(h.Population), h.Clusters))
		}
	}
	return nil
}

func undrawable(err error) error {
	return fault.New(fault.Unprocessable, tooFewCode, "The frame cannot be drawn by this plan: "+err.Error()+".")
}

func tooLong(cluster string, size int64, of uint64, clusters int) error {
	return fmt.Errorf("cluster %q has %d of %d households, more than one step of %d clusters: divide it, or draw fewer clusters", cluster, size, of, clusters)
}
