package sampling

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// Nouns of package api, by their names here.
type (
	Draft  = api.SampleDesignDraft
	Design = api.SampleDesign
)

// Words of the API.
const (
	mean         = "mean"
	proportion   = "proportion"
	neyman       = "neyman"
	perStratum   = "perStratum"
	fixed        = "fixed"
	bySize       = "size"
	byDID        = "did"
	byPseudonym  = "pseudonym"
	invalidCode  = "SAMPLING_PARAMETERS_INVALID"
	invalidText  = "The sample design is not valid."
	tooFewCode   = "INSUFFICIENT_POPULATION"
	conflictCode = "STRATA_CONFLICT"
)

const (
	maxPopulation = 1e9
	maxAmount     = 1e100 // of a measured value, as in answers
	maxReserve    = 10_000
	usualReserve  = 1000
)

var designName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// or is the value of v, or otherwise when it is nil.
func or(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}

// between notes a value outside low to high.
func between(c *fault.Checks, at string, v *float64, low, high float64) {
	if v != nil && !(*v >= low && *v <= high) {
		c.Add(at, "out_of_range", fmt.Sprintf("The value must be %v to %v.", low, high))
	}
}

// inside notes a value that is not above 0 and below high.
func inside(c *fault.Checks, at string, v *float64, high float64) {
	if v != nil && !(*v > 0 && *v < high) {
		c.Add(at, "out_of_range", fmt.Sprintf("The value must be above 0 and below %v.", high))
	}
}

func whole(c *fault.Checks, at string, v *float64, low, high float64) {
	if v != nil && (*v != math.Trunc(*v) || *v < low || *v > high) {
		c.Add(at, "out_of_range", fmt.Sprintf("The value must be a whole number from %.0f to %.0f.", low, high))
	}
}

// Check names everything that is wrong with a draft. Faults:
// SAMPLING_PARAMETERS_INVALID, STRATA_CONFLICT, INSUFFICIENT_POPULATION.
func Check(d *Draft) error {
	var c fault.Checks
	if d.DesignID != "" && !designName.MatchString(d.DesignID) {
		c.Add("/designId", "invalid", "The id may have letters, digits, dot, dash and underscore, at most 100, and begins with a letter or digit.")
	}
	check.Short(&c, "/name", d.Name, survey.MaxName)
	c.Require(d.ProjectID != "", "/projectId")
	if d.ProjectID != "" {
		survey.CheckDID(&c, "/projectId", d.ProjectID)
	}
	check.Short(&c, "/surveyId", d.SurveyID, survey.MaxName)
	check.OneOf(&c, "/parameterType", d.ParameterType, proportion, mean)
	check.OneOf(&c, "/tail", d.Tail, "two", "one")
	check.OneOf(&c, "/units", d.Units, byPseudonym, byDID)
	checkTarget(&c, d)
	between(&c, "/dropoutRate", d.DropoutRate, 0, 0.9)
	between(&c, "/erCoverage", d.ERCoverage, 0, 1)
	between(&c, "/designEffect", d.DesignEffect, 0.1, 100)
	whole(&c, "/population", d.Population, 1, maxPopulation)
	whole(&c, "/reserve", d.Reserve, 0, maxReserve)
	survey.CheckTotals(&c, "/totals", d.Totals)
	checkClusters(&c, d.Clusters)
	checkStrata(&c, d)
	if err := survey.Limited(c.Err(invalidCode, invalidText)); err != nil {
		return err
	}
	return checkSums(d)
}

// maxConfidence is as sure as a sample can be: nearer to 1 no size is enough.
const maxConfidence = 0.9999

func checkTarget(c *fault.Checks, d *Draft) {
	c.Require(d.Confidence != nil, "/confidence")
	if v := d.Confidence; v != nil && !(*v > 0.5 && *v <= maxConfidence) {
		detail := "The value must be above 0.5 and at most 0.9999."
		if *v > 1 && *v < 100 {
			detail += fmt.Sprintf(" Give %v %% as %v.", *v, math.Round(*v*1e4)/1e6)
		}
		c.Add("/confidence", "out_of_range", detail)
	}
	fixedSizes := d.Stratification != nil && d.Stratification.Method == fixed
	switch {
	case d.Precision != nil && d.MarginOfError != nil:
		c.Add("/marginOfError", "one_of", "Give precision, which is relative, or marginOfError, which is absolute.")
	case d.Precision == nil && d.MarginOfError == nil && !fixedSizes:
		c.Add("/precision", "required", "Give precision, which is relative, or marginOfError, which is absolute.")
	}
	inside(c, "/precision", d.Precision, 1)
	most := 1.0
	if d.ParameterType == mean {
		most = maxAmount
		c.Require(d.ExpectedMean != nil || d.Precision == nil, "/expectedMean")
		c.Require(d.ExpectedSD != nil, "/expectedSD")
		if v := d.ExpectedMean; v != nil && *v == 0 {
			c.Add("/expectedMean", "out_of_range", "The mean must not be 0.")
		}
	} else {
		inside(c, "/expectedMean", d.ExpectedMean, 1)
	}
	inside(c, "/marginOfError", d.MarginOfError, most)
	inside(c, "/expectedSD", d.ExpectedSD, maxAmount)
}

func checkClusters(c *fault.Checks, k *api.SampleClusters) {
	if k == nil {
		return
	}
	check.Short(c, "/clusters/unit", k.Unit, 100)
	check.OneOf(c, "/clusters/selection", k.Selection, "equal", bySize)
	whole(c, "/clusters/perCluster", k.PerCluster, 1, 10_000)
	whole(c, "/clusters/drawn", k.Drawn, 1, 10_000)
	if k.PerCluster == nil && k.Drawn == nil {
		c.Add("/clusters/drawn", "required", "Give the number of clusters to draw, or of households in each.")
	}
}

// Stratified reports whether a draft divides the population.
func Stratified(d *Draft) bool {
	s := d.Stratification
	return s != nil && (s.Enabled == nil || *s.Enabled) && len(s.Strata) > 0
}

func checkStrata(c *fault.Checks, d *Draft) {
	s := d.Stratification
	if s == nil || s.Enabled != nil && !*s.Enabled {
		return
	}
	const at = "/stratification"
	check.OneOf(c, at+"/method", s.Method, "proportional", neyman, perStratum, fixed)
	whole(c, at+"/floor", s.Floor, 1, 100_000)
	c.Require(len(s.Strata) > 0, at+"/strata")
	if len(s.Strata) > survey.MaxStrata {
		c.Add(at+"/strata", "too_many", fmt.Sprintf("There may be at most %d strata.", survey.MaxStrata))
		return
	}
	for i, h := range s.Strata {
		here := fmt.Sprintf("%s/strata/%d", at, i)
		c.Require(h.Name != "", here+"/name")
		if !plainCell(h.Name) || len(h.Name) > 100 {
			c.Add(here+"/name", "invalid", "A name has at most 100 characters, and no comma, quote or control character.")
		}
		between(c, here+"/weight", h.Weight, 0, 1)
		whole(c, here+"/population", h.Population, 1, maxPopulation)
		if s.Method == fixed {
			c.Require(h.SampleSize != nil, here+"/sampleSize")
			whole(c, here+"/sampleSize", h.SampleSize, 1, maxPopulation)
		} else if h.SampleSize != nil {
			c.Add(here+"/sampleSize", "read_only", "The server computes it, unless the method is fixed.")
		}
		if h.Clusters != nil {
			c.Add(here+"/clusters", "read_only", "The server sets this member; leave it out.")
		}
		c.Require(s.Method != neyman || h.SD != nil, here+"/sd")
		inside(c, here+"/sd", h.SD, maxAmount)
		if d.ParameterType != mean {
			inside(c, here+"/mean", h.Mean, 1)
		}
	}
}

// checkSums refuses strata that contradict each other or the population.
func checkSums(d *Draft) error {
	if !Stratified(d) {
		return nil
	}
	seen := map[string]bool{}
	var bad []fault.Field
	populations, weights, said, weighed := 0.0, 0.0, 0, 0
	for i, h := range d.Stratification.Strata {
		if seen[h.Name] {
			bad = append(bad, fault.Field{Pointer: fmt.Sprintf("/stratification/strata/%d/name", i), Code: "duplicate", Detail: "Another stratum has this name."})
		}
		seen[h.Name] = true
		if h.Population != nil {
			said, populations = said+1, populations+*h.Population
		}
		if h.Weight != nil {
			weighed, weights = weighed+1, weights+*h.Weight
		}
	}
	at := "/stratification/strata"
	n := len(d.Stratification.Strata)
	if weighed == n && math.Abs(weights-1) > 1e-6 {
		bad = append(bad, fault.Field{Pointer: at, Code: "wrong_sum", Detail: fmt.Sprintf("The weights of the strata add up to %v; they must add up to 1.", math.Round(weights*1e6)/1e6)})
	}
	if said == n && d.Population != nil && populations != *d.Population {
		bad = append(bad, fault.Field{Pointer: at, Code: "wrong_sum", Detail: fmt.Sprintf("The populations of the strata add up to %v, but the whole has %v.", populations, *d.Population)})
	}
	if said > 0 && said < n || weighed > 0 && weighed < n {
		bad = append(bad, fault.Field{Pointer: at, Code: "incomplete", Detail: "Give the population of every stratum, or the weight of every stratum."})
	}
	if len(bad) > 0 {
		return fault.New(fault.Conflict, conflictCode, "The strata contradict each other or the population.").With(bad...)
	}
	return nil
}

// populationOf is how many there are by a draft; 0 when it does not say.
func populationOf(d *Draft) float64 {
	if d.Population != nil {
		return *d.Population
	}
	sum := 0.0
	if Stratified(d) {
		for _, h := range d.Stratification.Strata {
			if h.Population == nil {
				return 0
			}
			sum += *h.Population
		}
	}
	return sum
}

// strataOf are the populations of strata, by name; weights share out the
// whole by largest remainders.
func strataOf(d *Draft) []api.SamplePlanStratum {
	whole := int(populationOf(d))
	if !Stratified(d) {
		return []api.SamplePlanStratum{{Population: whole}}
	}
	out := make([]api.SamplePlanStratum, len(d.Stratification.Strata))
	parts := make([]Part, len(out))
	for i, h := range d.Stratification.Strata {
		out[i] = api.SamplePlanStratum{Name: h.Name, Population: int(or(h.Population, 0))}
		parts[i] = Part{Population: whole, Share: or(h.Weight, 1/float64(len(parts)))}
	}
	if d.Stratification.Strata[0].Population == nil {
		for i, n := range Allocate(whole, 0, parts) {
			out[i].Population = n
		}
	}
	return out
}

func aimOf(d *Draft, population float64) Aim {
	a := Aim{
		Mean: d.ParameterType == mean, Confidence: *d.Confidence, OneSided: d.Tail == "one", Precision: or(d.Precision, 0), Margin: or(d.MarginOfError, 0),
		Expected: or(d.ExpectedMean, 0.5), SD: or(d.ExpectedSD, 0), Population: population,
	}
	return a
}

// Compute fills in the consequences of a draft that has passed Check: the sizes
// and the allocation to strata. If clusters are used, frame holds their number
// in each stratum, by name. The fault is INSUFFICIENT_POPULATION.
func Compute(d Draft) (*Design, error) {
	v := &Design{SampleDesignDraft: d, Method: methodOf(&d), Verification: api.SampleVerification{Status: "pending"}}
	defaults(&v.SampleDesignDraft)
	p := &v.Parameters
	*p = api.SampleParameters{
		ParameterType: v.ParameterType, Confidence: *d.Confidence, Precision: d.Precision, MarginOfError: d.MarginOfError, Tail: v.Tail,
		DropoutRate: or(d.DropoutRate, 0), DesignEffect: or(d.DesignEffect, 1), ERCoverage: d.ERCoverage,
	}
	if n := populationOf(&d); n > 0 {
		p.Population = &n
	}
	plan, err := plan(&v.SampleDesignDraft, p, strataOf(&d), nil)
	if err != nil {
		return nil, err
	}
	for i, h := range plan.Strata {
		p.DrawnSize += h.Size
		if Stratified(&d) {
			one := &v.Stratification.Strata[i]
			size, population, clusters := float64(h.Size), float64(h.Population), float64(h.Clusters)
			one.SampleSize = &size
			if h.Population > 0 {
				one.Population = &population
			}
			if h.Clusters > 0 {
				one.Clusters = &clusters
			}
		}
	}
	if p.Population == nil {
		v.Warnings = append(v.Warnings, "no population is given: the sizes are those of a very large one until there is a frame")
	}
	if v.Clusters != nil && d.DesignEffect == nil {
		v.Warnings = append(v.Warnings, "households of one cluster are alike: without a design effect the sample may be too small")
	}
	v.Warnings = append(v.Warnings, short(&v.SampleDesignDraft, p, plan.Strata)...)
	return v, nil
}

func defaults(d *Draft) {
	if d.ParameterType == "" {
		d.ParameterType = proportion
	}
	if d.Tail == "" {
		d.Tail = "two"
	}
	if d.Units == "" {
		d.Units = byPseudonym
	}
	if s := d.Stratification; s != nil {
		one := *s
		one.Strata = slices.Clone(s.Strata)
		if one.Method == "" {
			one.Method = "proportional"
		}
		d.Stratification = &one
	}
	if k := d.Clusters; k != nil {
		one := *k
		if one.Unit == "" {
			one.Unit = "village"
		}
		if one.Selection == "" {
			one.Selection = "equal"
		}
		d.Clusters = &one
	}
}

func methodOf(d *Draft) string {
	switch {
	case d.Clusters != nil && d.Clusters.PerCluster != nil:
		return "multistage"
	case d.Clusters != nil:
		return "cluster"
	case Stratified(d):
		return "stratified"
	}
	return "simple_random"
}
