package statistics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// figure is an estimate of an option in a part of the households.
type figure struct {
	option, value string
	whole         bool // of all households
	f             *estimate.Figure
	partly        bool // a part of it is hidden
}

// answer makes the figures of a query.
func (a *ask) answer(ctx context.Context, now, before *sheet) (*Statistics, error) {
	figures, err := a.figures(now)
	if err != nil {
		return nil, err
	}
	out := a.head(now)
	hidden := a.hidden(ctx, figures)
	for i, f := range figures {
		out.Estimates = append(out.Estimates, a.shown(now, f, hidden[i]))
	}
	switch {
	case before != nil:
		earlier, err := a.figures(before)
		if err != nil {
			return nil, err
		}
		a.sinceThen(out, rounds{now, before, figures, earlier}, hidden, a.hidden(ctx, earlier))
	case a.in.Compare != "":
		if err := a.between(out, now, figures, hidden); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// head says what the figures come from.
func (a *ask) head(sh *sheet) *Statistics {
	in := a.in
	out := &Statistics{
		SurveyID: a.o.SurveyID, Round: in.Round, Question: in.Question, Statistic: in.Statistic, Per: in.Per, Q: in.Q, By: in.By, Adjust: in.Adjust,
		Confidence: in.Confidence, Tail: "two", Basis: sh.name, NoInterval: sh.why, Estimates: []Estimate{},
	}
	if in.Tail != "" {
		out.Tail = in.Tail
	}
	c := &out.Counted
	c.Words = sh.tally.Words(in.Verified)
	c.Sample, c.OffList = len(sh.members), sh.tally[response.OffList]
	first, answered := 0, 0
	for i, m := range sh.members {
		own := sh.homes[i].Replaces == ""
		if !own {
			c.Replacements++
		}
		switch m.Outcome {
		case estimate.Answered:
			c.Answered++
			if own {
				first, answered = first+1, answered+1
			}
		case estimate.Ineligible:
			c.Ineligible++
		default:
			c.Missing++
			if own {
				first++
			}
		}
	}
	if first > 0 && !sh.enrolled {
		rate := float64(answered) / float64(first)
		c.ResponseRate = &rate
	}
	a.remark(out, sh)
	return out
}

func (a *ask) remark(out *Statistics, sh *sheet) {
	add := func(text string, when bool) {
		if when {
			out.Remarks = append(out.Remarks, text)
		}
	}
	s := a.o.Sampling
	out.SoleSeed = s.Draw != nil && s.Draw.SoleSeed
	add("The draw was made elsewhere and was not proven here.", sh.name == "drawnElsewhere")
	add("One party alone has named the seed of the draw.", out.SoleSeed)
	add("Figures are not weighted.", !sh.chance())
	add("The systematic draw is treated as a simple random one.", s.Method == "systematic" && sh.chance())
	add("Households that said nothing are made up for by the others, as if they were missing by chance.", sh.chance() && out.Counted.Missing > 0)
	add("A household counts as one that answered the question when an option is chosen.", a.of.column.Kind.Several)
}

// figures are those of a round: of every option in all households, and in each
// part of them.
func (a *ask) figures(sh *sheet) ([]figure, error) {
	if err := a.oneUnit(sh); err != nil {
		return nil, err
	}
	options := a.options
	if len(options) == 0 {
		options = []string{""}
	}
	var out []figure
	for _, option := range options {
		v := a.variables(sh, option)
		whole, err := a.compute(sh, v)
		if err != nil {
			return nil, err
		}
		out = append(out, figure{option, "", true, whole, false})
		if a.by == nil {
			continue
		}
		of := sh.values(*a.by)
		for _, part := range parts(of) {
			in := v
			in.In = make([]bool, len(of))
			for i := range of {
				in.In[i] = v.In[i] && of[i] == part
			}
			f, err := a.compute(sh, in)
			if fault.CodeOf(err) == "NO_ANSWERS" {
				continue
			} else if err != nil {
				return nil, err
			}
			out = append(out, figure{option, part, false, f, false})
		}
	}
	return out, nil
}

// parts are the values that are known, in order.
func parts(of []string) []string {
	out := slices.Sorted(slices.Values(of))
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(v string) bool { return v == "" })
}

// oneUnit refuses amounts in different units.
func (a *ask) oneUnit(sh *sheet) error {
	for _, v := range []*variable{&a.of, a.per} {
		if v == nil || !v.column.Kind.Units {
			continue
		}
		units := map[string]bool{}
		for _, rows := range sh.given[v.id] {
			units[rows[0].Code] = true
		}
		if len(units) > 1 {
			return fault.New(fault.Unprocessable, "UNITS_MIXED", "The answers are in different units, which cannot be added.")
		}
	}
	return nil
}

// variables are what the members say, as numbers.
func (a *ask) variables(sh *sheet, option string) estimate.Values {
	n := len(sh.members)
	v := estimate.Values{Y: make([]float64, n), In: make([]bool, n)}
	if a.per != nil {
		v.X = make([]float64, n)
	}
	number, err := strconv.ParseFloat(option, 64)
	coded := err != nil || a.of.coded()
	for i := range n {
		rows := sh.given[a.of.id][i]
		if len(rows) == 0 {
			continue
		}
		v.In[i] = true
		switch {
		case option == "":
			v.Y[i] = rows[0].Num
		case !coded && rows[0].Num == number:
			v.Y[i] = 1
		}
		for _, r := range rows {
			if coded && option != "" && r.Code == option {
				v.Y[i] = 1
			}
		}
		if a.per != nil {
			per := sh.given[a.per.id][i]
			if v.In[i] = len(per) > 0; v.In[i] {
				v.X[i] = per[0].Num
			}
		}
	}
	return v
}

func (a *ask) compute(sh *sheet, v estimate.Values) (*estimate.Figure, error) {
	switch a.in.Statistic {
	case proportion:
		return sh.design.Proportion(v)
	case total:
		return sh.design.Total(v)
	case ratio:
		return sh.design.Ratio(v)
	case quantile:
		return sh.design.Quantile(v, a.in.Q, a.in.level())
	}
	return sh.design.Mean(v)
}

// hidden says which figures the caller may not see.
func (a *ask) hidden(ctx context.Context, figures []figure) []bool {
	out := make([]bool, len(figures))
	if web.CallerFrom(ctx).May("responses:pii") {
		return out
	}
	for from := 0; from < len(figures); {
		to := from + 1
		for to < len(figures) && !figures[to].whole {
			to++
		}
		counts := make([]int, 0, to-from)
		for _, f := range figures[from+1 : to] {
			counts = append(counts, f.f.N)
		}
		// The households that have no value of by are a part that is not shown.
		rest := figures[from].f.N
		for _, n := range counts {
			rest -= n
		}
		if a.by != nil {
			counts = append(counts, rest)
		}
		parts := estimate.Suppress(counts, leastShown)
		copy(out[from+1:to], parts)
		// Two sums of the same households with two sets of weights would be two
		// equations for what is hidden.
		figures[from].partly = slices.Contains(parts, true)
		out[from] = figures[from].f.N < leastShown
		from = to
	}
	return out
}

// number is a value as JSON has it: nothing where it is not known.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

const tooFew = "Too few households for an interval."

// shown is a figure for the caller.
func (a *ask) shown(sh *sheet, one figure, hidden bool) Estimate {
	out := Estimate{Option: one.option, Value: one.value, Confidence: a.in.Confidence, Suppressed: hidden}
	if hidden {
		return out
	}
	f, l := one.f, a.in.level()
	out.Estimate, out.N = number(f.Value), &f.N
	if !one.partly {
		out.Unweighted = number(f.Unweighted)
	}
	if !sh.chance() {
		out.NoInterval = sh.why
		return out
	}
	out.SE, out.DF, out.Kish, out.EffectiveN = number(f.SE), number(f.DF), number(f.Kish), number(f.EffectiveN(l))
	if sh.design.Known() {
		out.Population = number(f.Population)
	}
	if f.Deff > 0 {
		out.Deff = number(f.Deff)
	}
	ci, ok := f.Interval(a.in.Interval, l)
	if !ok {
		out.NoInterval = tooFew
		return out
	}
	out.Low, out.High, out.Method = number(ci.Low), number(ci.High), ci.Method
	if a.in.Interval == estimate.Logit && ci.Method != estimate.Logit {
		out.NoInterval = "All say the same, of which a logit has no interval: it is that of Korn and Graubard."
	}
	out.Precision = a.precision(f)
	return out
}

// precision is the decision about a figure, at the level of the target.
func (a *ask) precision(f *estimate.Figure) *Precision {
	s := a.o.Sampling
	t := estimate.Target{Level: a.in.level(), Bound: a.in.Bound, Interval: a.in.Interval}
	kind := s.ParameterType
	if kind == "" {
		kind = proportion
	}
	out := &Precision{}
	if kind == a.in.Statistic {
		t.Relative, t.Absolute = value(s.Precision), value(s.MarginOfError)
		out.Target, out.Margin = s.Precision, s.MarginOfError
		if s.Confidence != nil && t.Relative+t.Absolute > 0 {
			t.Confidence = *s.Confidence
		}
	}
	p, ok := f.Precision(t)
	if !ok {
		return nil
	}
	out.Confidence, out.Relative, out.Absolute, out.Low, out.High = t.Confidence, number(p.Relative), p.Absolute, p.Low, p.High
	if out.Status = p.Status; out.Status != "" {
		out.Use = number(p.Use)
	}
	return out
}

// between compares two values of by.
func (a *ask) between(out *Statistics, sh *sheet, figures []figure, hidden []bool) error {
	first, second, _ := a.in.values()
	for _, option := range a.optionsOf(figures) {
		at := func(value string) int {
			return slices.IndexFunc(figures, func(f figure) bool { return !f.whole && f.option == option && f.value == value })
		}
		i, j := at(first), at(second)
		if i < 0 || j < 0 {
			return fault.New(fault.Unprocessable, "NO_ANSWERS", fmt.Sprintf("No household that counts has the value %q or %q.", first, second))
		}
		d := Difference{Option: option, Value: first, Less: second, Confidence: a.in.Confidence, Suppressed: hidden[i] || hidden[j]}
		a.difference(&d, figures[i].f, figures[j].f, sh.why)
		out.Differences = append(out.Differences, d)
	}
	return nil
}

func (a *ask) optionsOf(figures []figure) []string {
	var out []string
	for _, f := range figures {
		if f.whole {
			out = append(out, f.option)
		}
	}
	return out
}

// rounds are the figures of two rounds.
type rounds struct {
	now, before      *sheet
	figures, earlier []figure
}

// sinceThen compares figures with those of another round.
func (a *ask) sinceThen(out *Statistics, r rounds, hidden, hiddenThen []bool) {
	why := r.now.why
	if why == "" {
		why = r.before.why
	}
	for i, f := range r.figures {
		j := slices.IndexFunc(r.earlier, func(e figure) bool { return e.option == f.option && e.value == f.value && e.whole == f.whole })
		if j < 0 {
			continue
		}
		d := Difference{
			Option: f.option, Value: fmt.Sprintf("round:%d", a.in.Round), Less: a.in.Compare, Confidence: a.in.Confidence, Suppressed: hidden[i] || hiddenThen[j],
		}
		if f.value != "" {
			d.Value = f.value + ", " + d.Value
		}
		a.difference(&d, f.f, r.earlier[j].f, why)
		out.Differences = append(out.Differences, d)
	}
}

// difference fills in one figure less another.
func (a *ask) difference(d *Difference, f, less *estimate.Figure, why string) {
	if d.Suppressed {
		return
	}
	c := f.Minus(less)
	d.Estimate, d.Common = number(c.Value), c.Common
	if why != "" {
		d.NoInterval = why
		return
	}
	d.SE, d.DF, d.T, d.P = number(c.SE), number(c.DF), number(c.T), number(c.P)
	ci, ok := c.Interval(a.in.level())
	if !ok {
		d.NoInterval = tooFew
		return
	}
	d.Low, d.High = number(ci.Low), number(ci.High)
}
