package statistics

import (
	"fmt"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// census is the method, and the basis, of surveys of all households.
const census = "census"

// basis is how the households of a survey came to be in it.
type basis struct {
	name     string
	why      string // figures have no interval
	enrolled bool   // there is no list: the households are those that answered
}

// chance reports whether the sample has intervals.
func (b *basis) chance() bool { return b.why == "" }

// basisOf checks what a list allows. Households added to a drawn list by hand
// are not part of the sample.
func basisOf(o *survey.Open, list []survey.Sampled) (basis, []survey.Sampled) {
	s := o.Sampling
	if s.Method == census {
		b := basis{name: census, enrolled: len(list) == 0}
		if b.enrolled && s.Population == nil && len(s.Strata) == 0 {
			b.why = "The survey has neither a list of households nor their number, so nothing shows which are missing."
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

// missing says why a census is not one: there are more households than it lists. Those
// were not left out by chance, so no other household represents them.
func (sh *sheet) missing(s *survey.Sampling) string {
	counts := map[string]float64{}
	for _, h := range sh.homes {
		counts[h.Stratum]++
	}
	known, all, in := float64(len(sh.homes)), value(s.Population), ""
	for _, one := range s.Strata {
		if n := value(one.Population); counts[one.Name] < n {
			known, all, in = counts[one.Name], n, " of stratum "+one.Name
			break
		}
	}
	switch {
	case known >= all:
		return ""
	case sh.enrolled:
		return fmt.Sprintf("The survey covers all %v households%s, and %v have answered without a list: they were not chosen by chance. List all households, or draw a sample.", all, in, known)
	}
	return fmt.Sprintf("The survey covers all %v households%s, but its list has %v: the others were not left out by chance. List all households, correct the population, or draw a sample.", all, in, known)
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
	strata := s.Strata
	if len(strata) == 0 {
		strata = []api.SurveyStratum{{Population: s.Population}}
	}
	for _, one := range strata {
		h := estimate.Stratum{Name: one.Name, Population: value(one.Population)}
		if h.Population == 0 && s.Method == census && !sh.enrolled {
			h.Population = counts[h.Name] // the list is the population
		}
		if p.Clustered && len(s.Stages) > 0 {
			h.Clusters = firstStage(s.Stages[0], h.Name, len(strata))
		}
		p.Strata = a.merge(p.Strata, h)
	}
	if p.Clustered {
		p.Clusters = sh.clusters(a)
	}
	return p
}

// firstStage is how many clusters a stratum has, one of so many strata.
func firstStage(first api.SamplingStage, name string, strata int) float64 {
	for _, of := range first.Strata {
		if of.Name == name {
			return value(of.Units)
		}
	}
	if strata == 1 {
		return value(first.Units)
	}
	return 0
}

// merge adds a stratum to others, or to the one that it is joined with. What is
// not known of one is not known of both.
func (a *ask) merge(strata []estimate.Stratum, h estimate.Stratum) []estimate.Stratum {
	h.Name = a.joined(h.Name)
	for i := range strata {
		if one := &strata[i]; one.Name == h.Name {
			one.Population, one.Clusters = sum(one.Population, h.Population), sum(one.Clusters, h.Clusters)
			return strata
		}
	}
	return append(strata, h)
}

func sum(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a + b
}

// clusters returns the clusters of the sample with their sizes, in the strata of
// their households.
func (sh *sheet) clusters(a *ask) []estimate.Cluster {
	sizes := map[string]float64{}
	for _, c := range a.o.Sampling.Clusters {
		sizes[c.Name] = value(c.Size)
	}
	var out []estimate.Cluster
	type key struct{ stratum, cluster string }
	seen, at := map[key]bool{}, map[key]int{}
	for i, h := range sh.homes {
		k := key{h.Stratum, h.Cluster}
		if seen[k] {
			continue
		}
		seen[k] = true
		size, m := sizes[h.Cluster], &sh.members[i]
		k = key{m.Stratum, m.Cluster}
		if j, ok := at[k]; ok {
			out[j].Size, out[j].Of = sum(out[j].Size, size), out[j].Of+1
			continue
		}
		at[k] = len(out)
		out = append(out, estimate.Cluster{Stratum: m.Stratum, Name: m.Cluster, Size: size, Of: 1})
	}
	return out
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
