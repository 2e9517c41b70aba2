package statistics

import (
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// basis is how the households of a survey came to be in it.
type basis struct {
	name     string
	why      string // figures have no interval
	enrolled bool   // there is no list: the households are those that answered
}

// chance reports whether the sample has intervals.
func (b *basis) chance() bool { return b.why == "" }

// basisOf judges a list. Households somebody added to a drawn list by hand are
// not part of the sample.
func basisOf(o *survey.Open, list []survey.Sampled) (basis, []survey.Sampled) {
	s := o.Sampling
	if s.Method == "census" {
		b := basis{name: "census", enrolled: len(list) == 0}
		if b.enrolled && s.Population == nil && len(s.Strata) == 0 {
			b.why = "The survey has neither a list of households nor their number, so that nobody knows who is missing."
		}
		return b, list
	}
	var drawn []survey.Sampled
	name := survey.SourceDrawn
	for _, h := range list {
		if h.Source == survey.SourceListed {
			continue
		}
		if h.Source == survey.SourceElsewhere {
			name = survey.SourceElsewhere
		}
		drawn = append(drawn, h)
	}
	switch {
	case !o.Probability:
		return basis{name: "nonprobability", why: "The households were not chosen by chance (" + s.Method + ").", enrolled: len(list) == 0}, list
	case len(drawn) > 0:
		return basis{name: name}, drawn
	case len(list) == 0:
		return basis{name: "open", why: "The survey has no list: households came as they answered, and were not drawn.", enrolled: true}, nil
	}
	return basis{name: survey.SourceListed, why: "The list was made by hand: nothing shows that the households were drawn by chance. Draw it here, or record the draw in sampling.drawnElsewhere."}, list
}

// plan is how the sample was drawn.
func (sh *sheet) plan(a *ask) *estimate.Plan {
	if !sh.chance() {
		return &estimate.Plan{}
	}
	s := a.o.Sampling
	p := &estimate.Plan{
		Clustered: s.Method == "cluster" || s.Method == "multistage", BySize: s.ClusterSelection == "size", WideCells: a.in.Cell == "stratum",
	}
	counts := map[string]float64{}
	for _, h := range sh.homes {
		counts[h.Stratum]++
	}
	for _, one := range s.Strata {
		p.Strata = append(p.Strata, estimate.Stratum{Name: one.Name, Population: value(one.Population)})
	}
	if len(p.Strata) == 0 {
		p.Strata = []estimate.Stratum{{Population: value(s.Population)}}
	}
	for i := range p.Strata {
		h := &p.Strata[i]
		if h.Population == 0 && s.Method == "census" && !sh.enrolled {
			h.Population = counts[h.Name] // the list is the population
		}
		if len(s.Stages) == 0 || !p.Clustered {
			continue
		}
		first := s.Stages[0]
		if len(p.Strata) == 1 {
			h.Clusters = value(first.Units)
		}
		for _, of := range first.Strata {
			if of.Name == h.Name {
				h.Clusters = value(of.Units)
			}
		}
	}
	if p.Clustered {
		p.Clusters = sh.clusters(a)
	}
	return p
}

// clusters are those of the sample with their sizes, in the strata of their
// households.
func (sh *sheet) clusters(a *ask) []estimate.Cluster {
	sizes := map[string]float64{}
	for _, c := range a.o.Sampling.Clusters {
		sizes[c.Name] = value(c.Size)
	}
	var out []estimate.Cluster
	seen := map[[2]string]bool{}
	for _, h := range sh.homes {
		if k := [2]string{h.Stratum, h.Cluster}; !seen[k] {
			seen[k] = true
			out = append(out, estimate.Cluster{Stratum: h.Stratum, Name: h.Cluster, Size: sizes[h.Cluster]})
		}
	}
	return out
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
