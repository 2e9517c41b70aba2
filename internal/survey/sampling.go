package survey

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Sampling is how the households of a campaign are chosen.
type Sampling struct {
	Method               string               `json:"method" enum:"census,simple_random,systematic,stratified,cluster,multistage,quota,convenience" example:"stratified"`
	Size                 *float64             `json:"size,omitzero" doc:"How many households, from 1 to the population; not needed for a census, and taken from the design where designId names one." example:"100"`
	Confidence           *float64             `json:"confidence,omitzero" doc:"Confidence level as a fraction, above 0.5 and below 1." example:"0.95"`
	MarginOfError        *float64             `json:"marginOfError,omitzero" doc:"The target as an absolute margin, above 0 and below 1." example:"0.1"`
	Precision            *float64             `json:"precision,omitzero" doc:"The target as a relative precision, above 0 and below 1." example:"0.1"`
	ParameterType        string               `json:"parameterType,omitzero" enum:"proportion,mean" doc:"What is estimated; proportion by default."`
	Tail                 string               `json:"tail,omitzero" enum:"two,one" doc:"one: only one bound of a figure matters, and the target applies to it; two by default. A methodology or design that names a tail sets it."`
	OnMiss               string               `json:"onMiss,omitzero" enum:"none,lower,upper" doc:"Which bound replaces a figure that misses the target; a methodology whose protocol names one sets it."`
	MissLimit            *float64             `json:"missLimit,omitzero" doc:"The relative precision beyond which no bound replaces the figure, above 0 and below 1."`
	Population           *float64             `json:"population,omitzero" doc:"Number of households to choose from."`
	PopulationHash       string               `json:"populationHash,omitzero" doc:"Hash of the frozen list of the population."`
	Enrolment            string               `json:"enrolment,omitzero" enum:"list,open" doc:"open: households enrol by answering, and none need be uploaded; list by default."`
	Strata               []api.SurveyStratum  `json:"strata" required:"false" doc:"At most 200."`
	DesignID             *string              `json:"designId" required:"false" doc:"The sample design; null until there is one."`
	ClusterSelection     string               `json:"clusterSelection,omitzero" enum:"equal,size" doc:"How clusters were drawn: each with the same chance, or by their size; equal by default."`
	Stages               []api.SamplingStage  `json:"stages,omitzero" doc:"Number of units and of drawn units, first stage first; at most 2 stages, clusters and households."`
	Clusters             []api.SurveyCluster  `json:"clusters,omitzero" doc:"At most 10,000. Not in lists of surveys."`
	Totals               []api.SurveyTotal    `json:"totals,omitzero" doc:"Known totals of the whole population; at most 20."`
	DrawnElsewhere       *api.SurveyElsewhere `json:"drawnElsewhere,omitzero" doc:"The list was drawn with another tool or in an earlier year. Households uploaded before the survey starts are marked drawnElsewhere: figures carry intervals, and say that the draw was not verified here."`
	Draw                 *api.SurveyDraw      `json:"draw,omitzero" doc:"The draw that made the list; made by the server."`
	ImpliedMarginOfError *float64             `json:"impliedMarginOfError,omitzero" doc:"The precision that the size gives for a proportion of one half in a simple random sample of the population, or of a large one when the population is not given; when strata have populations, in a stratified sample with their sizes, or in proportion. Computed by the server."`
	Warnings             []string             `json:"warnings,omitzero" doc:"Warnings; made by the server."`
}

// SchemaName is the name that clients know it by.
func (Sampling) SchemaName() string { return "PlanSampling" }

const (
	methodCensus     = "census"
	methodStratified = "stratified"
	methodCluster    = "cluster"
	methodMultistage = "multistage"
	enrolmentOpen    = "open"
	noStrata         = "strata required before activation"
)

// methods are the ways to sample; true for those that give every household a
// known chance.
var methods = []struct {
	name        string
	probability bool
}{
	{methodCensus, true},
	{"simple_random", true},
	{"systematic", true},
	{methodStratified, true},
	{methodCluster, true},
	{methodMultistage, true},
	{"quota", false},
	{"convenience", false},
}

// Stratified reports whether strata are required.
func (s *Sampling) Stratified() bool { return s.Method == methodStratified }

// Enrols reports whether households need not be listed: a census, or open
// enrolment.
func (s *Sampling) Enrols() bool { return s.Method == methodCensus || s.Enrolment == enrolmentOpen }

// Probability reports whether every household has a known chance of selection.
func (s *Sampling) Probability() bool { return probability(s.Method) }

func probability(method string) bool {
	for _, m := range methods {
		if m.name == method {
			return m.probability
		}
	}
	return false
}

func methodNames() []string {
	var out []string
	for _, m := range methods {
		out = append(out, m.name)
	}
	return out
}

// check notes all that is wrong.
func (s *Sampling) check(c *fault.Checks) {
	const at = "/sampling"
	if s == nil {
		c.Require(false, at)
		return
	}
	required(c, at+"/method", s.Method, methodNames())
	check.OneOf(c, at+"/parameterType", s.ParameterType, "proportion", "mean")
	check.OneOf(c, at+"/tail", s.Tail, "two", "one")
	check.OneOf(c, at+"/onMiss", s.OnMiss, "none", "lower", "upper")
	check.OneOf(c, at+"/enrolment", s.Enrolment, "list", enrolmentOpen)
	designed := s.DesignID != nil && *s.DesignID != ""
	c.Require(s.Size != nil || s.Method == methodCensus || designed, at+"/size")
	whole(c, at+"/size", s.Size)
	whole(c, at+"/population", s.Population)
	if s.Size != nil && s.Population != nil && *s.Population >= 1 && *s.Size > *s.Population {
		c.Add(at+"/size", "out_of_range", "The size must not be above the population.")
	}
	s.checkFractions(c, at)
	check.Short(c, at+"/populationHash", s.PopulationHash, MaxName)
	if s.DesignID != nil {
		check.Short(c, at+"/designId", *s.DesignID, MaxName)
	}
	if s.ImpliedMarginOfError != nil {
		readOnly(c, at+"/impliedMarginOfError")
	}
	if s.Warnings != nil {
		readOnly(c, at+"/warnings")
	}
	if s.Draw != nil {
		readOnly(c, at+"/draw")
	}
	s.checkStrata(c, at+"/strata")
	s.checkParts(c, at)
}

func (s *Sampling) checkFractions(c *fault.Checks, at string) {
	if v := s.Confidence; v != nil && !(*v > 0.5 && *v < 1) {
		detail := "The value must be above 0.5 and below 1."
		if *v > 1 && *v < 100 {
			detail += fmt.Sprintf(" Give %v %% as %v.", *v, math.Round(*v*1e4)/1e6)
		}
		c.Add(at+"/confidence", "out_of_range", detail)
	}
	for _, one := range []struct {
		name string
		v    *float64
	}{{"marginOfError", s.MarginOfError}, {"precision", s.Precision}, {"missLimit", s.MissLimit}} {
		if v := one.v; v != nil && !(*v > 0 && *v < 1) {
			c.Add(at+"/"+one.name, "out_of_range", "The value must be above 0 and below 1.")
		}
	}
}

func (s *Sampling) checkStrata(c *fault.Checks, at string) {
	if len(s.Strata) > MaxStrata {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d strata.", MaxStrata))
		return
	}
	seen := map[string]bool{}
	var sizes, populations, weights total
	for i, one := range s.Strata {
		here := fmt.Sprintf("%s/%d", at, i)
		if seen[one.Name] && one.Name != "" {
			c.Add(here+"/name", "duplicate", "Another stratum has this name.")
		}
		seen[one.Name] = true
		checkStratum(&one, c, here)
		sizes.add(one.Size)
		populations.add(one.Population)
		weights.add(one.Weight)
	}
	if s.Size != nil && sizes.wrong(*s.Size, 0) {
		c.Add(at, "wrong_sum", fmt.Sprintf("The sizes of the strata add up to %v, but the sample has %v.", sizes.sum, *s.Size))
	}
	if s.Population != nil && populations.wrong(*s.Population, 0) {
		c.Add(at, "wrong_sum", fmt.Sprintf("The populations of the strata add up to %v, but the whole has %v.", populations.sum, *s.Population))
	}
	if weights.wrong(1, 1e-6) {
		c.Add(at, "wrong_sum", fmt.Sprintf("The weights of the strata add up to %v; they must add up to 1.", math.Round(weights.sum*1e6)/1e6))
	}
}

func checkStratum(one *api.SurveyStratum, c *fault.Checks, at string) {
	c.Require(one.Name != "", at+"/name")
	check.Short(c, at+"/name", one.Name, maxStratum)
	whole(c, at+"/population", one.Population)
	whole(c, at+"/size", one.Size)
	if one.Size != nil && one.Population != nil && *one.Population >= 1 && *one.Size > *one.Population {
		c.Add(at+"/size", "out_of_range", "The size must not be above the population of the stratum.")
	}
	if w := one.Weight; w != nil && !(*w >= 0 && *w <= 1) {
		c.Add(at+"/weight", "out_of_range", "The value must be 0 to 1.")
	}
}

// total adds up the populations of strata, where they are stated.
type total struct {
	sum        float64
	said, mute bool
}

func (t *total) add(v *float64) {
	if v == nil {
		t.mute = true
		return
	}
	t.sum, t.said = t.sum+*v, true
}

// wrong reports whether the sum cannot make whole: it is more, or all have said
// theirs and it is less.
func (t *total) wrong(whole, by float64) bool {
	return t.said && (t.sum > whole+by || !t.mute && t.sum < whole-by)
}

// Complete returns the sampling as the record shows it, with defaults and the
// server's additions. s has passed check and is not changed.
func (s *Sampling) Complete() *Sampling {
	out := *s
	if out.ParameterType == "" {
		out.ParameterType = "proportion"
	}
	if out.Strata = slices.Clone(s.Strata); out.Strata == nil {
		out.Strata = []api.SurveyStratum{}
	}
	out.ImpliedMarginOfError, out.Warnings = nil, []string{}
	if s.Method == methodStratified && len(s.Strata) == 0 {
		out.Warnings = append(out.Warnings, noStrata)
	}
	out.Warnings = append(out.Warnings, s.contradicting()...)
	switch {
	case !probability(s.Method):
		out.Warnings = append(out.Warnings, "not a probability sample: no confidence interval is reported")
	case s.Method == methodCensus:
	case s.Confidence == nil:
		out.Warnings = append(out.Warnings, "no confidence level is given")
	case out.ParameterType == "proportion":
		m := s.margin()
		out.ImpliedMarginOfError = &m
		out.Warnings = append(out.Warnings, s.misses(m)...)
	}
	return &out
}

// contradicting names known totals of which there are more or fewer households than the
// population.
func (s *Sampling) contradicting() []string {
	var out []string
	for _, t := range s.Totals {
		var all float64
		for _, v := range t.Values {
			all += v
		}
		if s.Population != nil && math.Abs(all-*s.Population) > 1e-6*all {
			out = append(out, fmt.Sprintf("the totals of %s add up to %v households, but the population is %v: correct one of them", t.By, all, *s.Population))
		}
	}
	return out
}

// misses says what a margin of error is too large for. A design has computed the
// size for its target by the value it expects, which is not one half.
func (s *Sampling) misses(margin float64) []string {
	var out []string
	designed := s.DesignID != nil && *s.DesignID != ""
	if !designed && s.MarginOfError != nil && margin > *s.MarginOfError {
		out = append(out, fmt.Sprintf("the size gives a margin of error of %v, more than the %v aimed at", margin, *s.MarginOfError))
	}
	// Of a proportion of one half the margin is twice as large a share.
	if relative := math.Round(2e4*margin) / 1e4; !designed && s.Precision != nil && relative > *s.Precision {
		out = append(out, fmt.Sprintf("the size gives a relative precision of %v for a proportion of one half, not the %v aimed at", relative, *s.Precision))
	}
	if s.Method == methodCluster || s.Method == methodMultistage {
		out = append(out, "households of one cluster are alike: the margin of error will be larger than that of a simple random sample")
	}
	return out
}

// Draft returns the sampling as its maker sent it.
func (s *Sampling) Draft() *Sampling {
	if s == nil {
		return nil
	}
	out := *s
	out.ImpliedMarginOfError, out.Warnings, out.Draw = nil, nil, nil
	return &out
}

// Has reports whether a stratum may be used.
func (s *Sampling) Has(stratum string) bool {
	return len(s.Strata) == 0 || slices.ContainsFunc(s.Strata, func(one api.SurveyStratum) bool { return one.Name == stratum })
}

func whole(c *fault.Checks, pointer string, v *float64) {
	if v != nil && (!(*v >= 1 && *v <= maxSize) || *v != math.Trunc(*v)) {
		c.Add(pointer, "out_of_range", "The value must be a whole number from 1 to 1,000,000,000.")
	}
}

// required notes a value that is missing or not allowed.
func required(c *fault.Checks, at, value string, allowed []string) {
	if value == "" {
		c.Add(at, "required", "This member is required. It is one of "+strings.Join(allowed, ", ")+".")
	}
	check.OneOf(c, at, value, allowed...)
}

// CheckReason refuses a reason that is too long, or required and missing. The
// fault is INVALID_PARAMETER.
func CheckReason(pointer, reason string, needed bool) error {
	var c fault.Checks
	check.Short(&c, pointer, reason, check.MaxReason)
	c.Require(!needed || reason != "", pointer)
	return c.Err("INVALID_PARAMETER", "The reason is not valid.")
}

func readOnly(c *fault.Checks, pointer string) {
	c.Add(pointer, "read_only", "The server sets this member; leave it out.")
}
