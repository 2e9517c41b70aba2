// Package indicator says what surveys tell about the aims of a programme: use of
// the stove, stacking, fuel, and what follows for the Sustainable Development
// Goals 1, 3, 5, 7 and 13. Each indicator is one value in a table: what it is made
// of, its formula and what a household counts for. The questions are found in the
// template by their marks or ids, and the figures are those of package statistics,
// with the same weights, intervals and rules of what counts and what is hidden.
//
// What cannot be computed is listed all the same, with the reason.
package indicator

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/campaign"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// Answers are what the households of a survey say in a round.
type Answers interface {
	Len() int
	Answered(i int) bool
	Group(i int) string
	Given(i int, path []string) []answer.Row
}

// Figures are estimates of them, and what the caller may see of these.
type Figures interface {
	Head() *api.SurveyStatistics
	Figure(kind string, v estimate.Values) (*estimate.Figure, error)
	Hides(ctx context.Context, n int) bool
	Shown(kind string, f *estimate.Figure, hidden bool) api.SurveyEstimate
	Less(f, less *estimate.Figure, why string, hidden bool) api.SurveyDifference
}

// Round is a round of a survey. Package statistics has it.
type Round interface {
	Answers
	Figures
}

// reading is a round with the factors of emissions.
type reading struct {
	Round
	per map[string]float64
}

// sum is what all households of a round count for in an indicator.
type sum struct {
	estimate.Values
	left  api.IndicatorLeftOut
	users int // households that count for more than 0
}

// add goes over the households, of one group when that is not "".
func (r *reading) add(p *planned, fuel, group string) sum {
	n := r.Len()
	s := sum{Values: estimate.Values{Y: make([]float64, n), In: make([]bool, n)}}
	if p.statistic == ratio {
		s.X = make([]float64, n)
	}
	for i := range n {
		if !r.Answered(i) || group != "" && r.Group(i) != group {
			continue
		}
		h := &home{fuel: fuel, per: r.per, given: func(role string) []answer.Row { return r.Given(i, p.at[role].Path) }}
		switch v := p.value(h); {
		case v.outside:
			s.left.Outside++
		case v.unit:
			s.left.Units++
		case !v.ok:
			s.left.Silent++
		default:
			s.Y[i], s.In[i] = v.y, true
			if s.X != nil {
				s.X[i] = v.x
			}
			if v.y > 0 {
				s.users++
			}
		}
	}
	return s
}

// begin is an indicator without its figures.
func (p *planned) begin() api.Indicator {
	return api.Indicator{
		ID: p.id, Title: p.title, SDG: p.sdg, Unit: p.unit, Formula: p.formula, Statistic: p.statistic, Questions: p.questions, Reason: p.reason,
	}
}

// change is what savings and reductions are made of.
type change struct {
	now *estimate.Figure // of adopters, or of all where the list has no groups
	all *estimate.Figure
}

// compute makes the figures of an indicator. An error is one that is no fault of
// the data.
func (r *reading) compute(ctx context.Context, p *planned) (out api.Indicator, c change, err error) {
	if out = p.begin(); p.reason != "" {
		return out, c, nil
	}
	switch {
	case p.fuels:
		err = r.fuels(ctx, p, &out)
	case p.change:
		c, err = r.compare(ctx, p, &out)
	default:
		s := r.add(p, "", "")
		var f *estimate.Figure
		if f, err = r.Figure(p.statistic, s.Values); err == nil {
			out.Estimates = []api.SurveyEstimate{r.Shown(p.statistic, f, r.Hides(ctx, f.N))}
		}
		out.LeftOut = &s.left
	}
	if fault.KindOf(err) == fault.Unprocessable {
		out.Reason, out.Estimates, err = fault.As(err).Message, nil, nil
	}
	out.Computable = err == nil && out.Reason == ""
	return out, c, err
}

// fuels makes a figure for each fuel that somebody uses. One that few use is
// hidden: with zeros for all others it would tell what these use.
func (r *reading) fuels(ctx context.Context, p *planned, out *api.Indicator) error {
	for _, o := range append(slices.Clone(p.at["fuel"].Options), answerOther) {
		s := r.add(p, o.Value, "")
		if s.users == 0 && s.left.Units == 0 {
			continue
		}
		f, err := r.Figure(p.statistic, s.Values)
		if err != nil {
			return err
		}
		e := r.Shown(p.statistic, f, r.Hides(ctx, min(f.N, s.users)))
		e.Option = o.Value
		out.Estimates = append(out.Estimates, e)
		if out.LeftOut == nil || s.left.Units > out.LeftOut.Units {
			out.LeftOut = &s.left
		}
	}
	if len(out.Estimates) == 0 {
		out.Reason = "No household that counts has named an amount of fuel."
	}
	return nil
}

// compare makes a saving of the groups of a survey: what those without the
// project's stove use, less what its adopters do.
func (r *reading) compare(ctx context.Context, p *planned, out *api.Indicator) (c change, err error) {
	whole := r.add(p, "", "")
	out.LeftOut = &whole.left
	if c.all, err = r.Figure(p.statistic, whole.Values); err != nil {
		return c, err
	}
	c.now = c.all
	figure := func(group string) (*estimate.Figure, error) {
		f, err := r.Figure(p.statistic, r.add(p, "", group).Values)
		if fault.CodeOf(err) == "NO_ANSWERS" {
			return nil, nil
		}
		return f, err
	}
	adopters, err := figure(campaign.GroupAdopter)
	if err != nil {
		return c, err
	}
	if adopters != nil {
		c.now = adopters
	}
	others, err := figure(campaign.GroupComparison)
	if err != nil {
		return c, err
	}
	if adopters == nil || others == nil {
		out.Reason = "The list has no comparison group, or nobody of it has answered. GET /v1/projects/{did}/indicators compares with a baseline survey."
		return c, nil
	}
	hides := r.Hides(ctx, adopters.N) || r.Hides(ctx, others.N)
	for _, one := range []struct {
		group string
		f     *estimate.Figure
	}{{campaign.GroupComparison, others}, {campaign.GroupAdopter, adopters}} {
		e := r.Shown(p.statistic, one.f, hides)
		e.Value = one.group
		out.Estimates = append(out.Estimates, e)
	}
	d := r.Less(others, adopters, "", hides)
	d.Value, d.Less = campaign.GroupComparison, campaign.GroupAdopter
	out.Difference = &d
	return c, nil
}
