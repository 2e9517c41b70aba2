package statistics

import (
	"context"
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// factored is a round with the factors of emissions.
type factored struct {
	*Round
	per map[string]float64
}

// tally is what all households of a round count for in an indicator.
type tally struct {
	estimate.Values
	left  api.IndicatorLeftOut
	users int // households that count for more than 0
	// By how many households figures of other queries differ: those that answered a
	// question of the indicator and count for nothing, and those that use a fuel.
	beyond []int
}

// add goes over the households, of one group when that is not "".
func (r *factored) add(p *planned, fuel, group string) tally {
	n := r.Len()
	s := tally{Values: estimate.Values{Y: make([]float64, n), In: make([]bool, n)}}
	if p.statistic == ratio {
		s.X = make([]float64, n)
	}
	silent, burning := map[string]int{}, map[string]int{}
	for i := range n {
		if group != "" && r.Group(i) != group {
			continue
		}
		h := &home{
			fuel: fuel, per: r.per, given: func(role string) []answer.Row { return r.Given(i, p.at[role].Path) },
			none: func(role string) bool {
				return slices.ContainsFunc(p.at[role].Repeats, func(path []string) bool { return len(r.Given(i, path)) > 0 })
			},
		}
		v := p.value(h)
		s.take(i, v)
		if !r.Answered(i) { // it would count if others than verified ones did
			continue
		}
		s.note(v)
		for _, one := range p.roles {
			if !s.In[i] && len(h.given(one.name)) > 0 {
				silent[one.name]++
			}
		}
		if s.In[i] && p.burns {
			all, _ := h.kilos(func(fuel string) bool { return r.per[fuel] > 0 })
			for fuel := range all {
				burning[fuel]++
			}
		}
	}
	s.beyond = append(slices.Collect(maps.Values(silent)), slices.Collect(maps.Values(burning))...)
	return s
}

// take has a household count for a value.
func (s *tally) take(i int, v counted) {
	if !v.ok || v.outside || v.unit {
		return
	}
	s.Y[i], s.In[i] = v.y, true
	if s.X != nil {
		s.X[i] = v.x
	}
}

// note counts a household that has answered.
func (s *tally) note(v counted) {
	switch {
	case v.outside:
		s.left.Outside++
	case v.unit:
		s.left.Units++
	case !v.ok:
		s.left.Silent++
	case v.y > 0:
		s.users++
	}
}

// begin is an indicator without its figures.
func (p *planned) begin() api.Indicator {
	return api.Indicator{
		ID: p.id, Title: p.title, SDG: p.sdg, Unit: p.unit, Formula: p.formula, Statistic: p.statistic, Questions: p.questions, Reason: p.reason,
	}
}

// change is what savings and reductions are made of.
type change struct {
	now, all part // of adopters, or of all where the list has no groups; and of all
}

// part is a figure of some households, and whether the caller may not see it.
type part struct {
	*estimate.Figure
	tally
	hidden bool
}

// compute makes the figures of an indicator. An error means a failure that is
// not due to the data.
func (r *factored) compute(ctx context.Context, p *planned) (out api.Indicator, c change, err error) {
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
			out.Estimates = []api.SurveyEstimate{r.Shown(p.statistic, f, r.Hides(ctx, s.In, s.beyond))}
		}
		out.LeftOut = &s.left
	}
	if fault.KindOf(err) == fault.Unprocessable {
		out.Reason, out.Estimates, err = fault.As(err).Message, nil, nil
	}
	out.Computable = err == nil && out.Reason == ""
	return out, c, err
}

// fuels makes a figure for each fuel in use. A fuel that few use is hidden: with
// zeros for all others it would reveal what these use. Then another one is hidden
// too, because all fuels together minus the shown ones would give the hidden one.
func (r *factored) fuels(ctx context.Context, p *planned, out *api.Indicator) error {
	var sums []tally
	var names []string
	var users []int
	for _, o := range append(slices.Clone(p.at["fuel"].Options), answerOther) {
		s := r.add(p, o.Value, "")
		if s.users == 0 && s.left.Units == 0 {
			continue
		}
		sums, names, users = append(sums, s), append(names, o.Value), append(users, s.users)
		if out.LeftOut == nil || s.left.Units > out.LeftOut.Units {
			out.LeftOut = &s.left
		}
	}
	thin := r.Thin(ctx, users)
	for i, s := range sums {
		f, err := r.Figure(p.statistic, s.Values)
		if err != nil {
			return err
		}
		e := r.Shown(p.statistic, f, thin[i] || r.Hides(ctx, s.In, s.beyond))
		e.Option = names[i]
		out.Estimates = append(out.Estimates, e)
	}
	if len(out.Estimates) == 0 {
		out.Reason = "No household that counts named an amount of fuel."
	}
	return nil
}

// figure makes the figure of a group, or of all; nothing when none of them has
// answered.
func (r *factored) figure(ctx context.Context, p *planned, group string) (part, error) {
	s := r.add(p, "", group)
	f, err := r.Figure(p.statistic, s.Values)
	if err != nil {
		return part{tally: s}, err
	}
	return part{f, s, r.Hides(ctx, s.In, s.beyond)}, nil
}

// compare makes a saving of the groups of a survey: what those without the
// project's stove use, less what its adopters do.
func (r *factored) compare(ctx context.Context, p *planned, out *api.Indicator) (c change, err error) {
	c.all, err = r.figure(ctx, p, "")
	if out.LeftOut = &c.all.left; err != nil {
		return c, err
	}
	c.now = c.all
	var parts [2]part
	for i, group := range []string{survey.GroupComparison, survey.GroupAdopter} {
		if parts[i], err = r.figure(ctx, p, group); err != nil && fault.CodeOf(err) != "NO_ANSWERS" {
			return c, err
		}
	}
	others, adopters := parts[0], parts[1]
	if adopters.Figure != nil {
		c.now = adopters
	}
	if adopters.Figure == nil || others.Figure == nil {
		out.Reason = "The list has no comparison group, or none of that group has answered. GET /v1/projects/{did}/indicators compares with a baseline survey."
		return c, nil
	}
	// Households of no group are what all less the groups would be.
	rest := r.Thin(ctx, []int{others.N, adopters.N, c.all.N - others.N - adopters.N})
	hides := adopters.hidden || others.hidden || rest[0] || rest[1]
	for _, one := range []struct {
		group string
		part
	}{{survey.GroupComparison, others}, {survey.GroupAdopter, adopters}} {
		e := r.Shown(p.statistic, one.Figure, hides)
		e.Value = one.group
		out.Estimates = append(out.Estimates, e)
	}
	d := r.Less(others.Figure, adopters.Figure, "", hides)
	d.Value, d.Less = survey.GroupComparison, survey.GroupAdopter
	out.Difference = &d
	return c, nil
}
