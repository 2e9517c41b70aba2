package sampling

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// plan is what a draw takes of strata with their populations. It fills in the
// sizes of p. clusters tells how many each stratum has; nil when nobody knows.
func plan(d *Draft, p *api.SampleParameters, strata []api.SamplePlanStratum, clusters map[string]int) (*Plan, error) {
	whole := 0
	for _, h := range strata {
		whole += h.Population
	}
	p.ExactSize = 0
	target := d.Precision != nil || d.MarginOfError != nil
	if target {
		p.ExactSize = Size(aimOf(d, float64(whole))) * p.DesignEffect
	}
	p.CalculatedSize = Up(p.ExactSize)
	p.AdjustedSize = Oversample(p.CalculatedSize, p.DropoutRate)
	if whole > 0 && target && p.CalculatedSize > whole {
		return nil, tooFew(fmt.Sprintf("%d responses are needed, and there are %d households.", p.CalculatedSize, whole))
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
			n := Up(Size(aimOf(&one, float64(h.Population))) * p.DesignEffect)
			strata[i].Size = max(Oversample(n, p.DropoutRate), floor)
		case fixed:
			strata[i].Size = int(*s.Strata[i].SampleSize)
		}
	}
	switch s.Method {
	case perStratum, fixed:
		p.CalculatedSize, p.AdjustedSize, p.ExactSize = 0, 0, 0
		for i := range strata {
			if strata[i].Population > 0 && s.Method == perStratum {
				strata[i].Size = min(strata[i].Size, strata[i].Population)
			}
			p.AdjustedSize += strata[i].Size
		}
		p.CalculatedSize = int(math.Floor(float64(p.AdjustedSize)*(1-p.DropoutRate) + 1e-9))
		p.ExactSize = float64(p.CalculatedSize)
	default:
		for i, n := range Allocate(p.AdjustedSize, floor, parts) {
			strata[i].Size = n
		}
	}
	for i, h := range strata {
		if h.Population > 0 && h.Size > h.Population {
			return tooFew(fmt.Sprintf("Stratum %s has %d households, %d are to be drawn.", s.Strata[i].Name, h.Population, h.Size))
		}
	}
	return nil
}

func firstOf(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}

// clustered tells how many clusters each stratum gives.
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
			return tooFew(fmt.Sprintf("Stratum %q has %d clusters, %d are to be drawn.", h.Name, have[h.Name], h.Clusters))
		}
		if out.Clusters.PerCluster > 0 {
			h.Size = h.Clusters * out.Clusters.PerCluster
		}
	}
	if k.PerCluster == nil {
		return nil
	}
	p.AdjustedSize = 0
	for _, h := range out.Strata {
		p.AdjustedSize += h.Size
	}
	return nil
}

// PlanOf is what a draw takes of a frame by a design: its target with the
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
			bad = append(bad, fault.Field{Pointer: "/stratification/strata", Code: "unknown", Detail: fmt.Sprintf("The frame has a stratum %q, the design has not.", slices.Min(rest))})
		}
		if len(bad) > 0 {
			return nil, nil, fault.New(fault.Conflict, conflictCode, "The strata of the frame are not those of the design.").With(bad...)
		}
	}
	out, err := plan(&d, &p, strata, clusters)
	return out, &p, err
}
