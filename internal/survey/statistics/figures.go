package statistics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// figure is an estimate of an option in a part of the households.
type figure struct {
	option, value string
	whole         bool // of all households
	f             *estimate.Figure
	// beyond holds how many more households other queries have in the same
	// figure: the difference would reveal their answers.
	beyond []int
	thin   bool        // a part of all households is small
	edges  *[2]float64 // of a quantile: what the fifth smallest and the fifth largest have said
}

// answer makes the figures of a query.
func (a *ask) answer(now, before *sheet) (*Statistics, error) {
	figures, err := a.figures(now)
	if err != nil {
		return nil, err
	}
	out := a.head(now)
	seen := a.conceal(figures)
	for i, f := range figures {
		out.Estimates = append(out.Estimates, a.shown(now, f, seen[i]))
	}
	switch {
	case before != nil:
		earlier, err := a.figures(before)
		if err != nil {
			return nil, err
		}
		a.sinceThen(out, rounds{now, before, figures, earlier}, seen, a.conceal(earlier))
	case a.in.Compare != "":
		if err := a.between(out, now, figures, seen); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// head says what the figures come from.
func (a *ask) head(sh *sheet) *Statistics {
	in := a.in
	out := &Statistics{
		SurveyID: a.o.SurveyID, Round: in.Round, Question: in.Question, Statistic: in.Statistic, Per: in.Per, Q: in.Q, Repeat: in.Repeat, By: in.By, Adjust: in.Adjust, Join: in.Join,
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
	add("The draw was made elsewhere and was not verified here.", sh.name == "drawnElsewhere")
	add("Only one party named the seed of the draw.", out.SoleSeed)
	add("Figures are not weighted.", !sh.chance())
	add("These cells were joined: "+a.in.Join+".", a.in.Join != "" && sh.chance())
	add("The systematic draw is treated as a simple random one.", s.Method == "systematic" && sh.chance())
	add("Other households make up for those that did not answer, as if these were missing by chance.", sh.chance() && out.Counted.Missing > 0)
	add("A household counts as having answered the question when it chose an option.", a.of.column.Kind.Several)
}

// figures returns the figures of a round: for every option, in all households and
// in each part of them.
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
		out = append(out, a.figure(sh, v, figure{option: option, whole: true, f: whole}))
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
			one := a.figure(sh, in, figure{option: option, value: part, f: f})
			one.beyond = append(one.beyond, a.apart(sh, v.In, in.In)...)
			out = append(out, one)
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
		if len(sh.given[v.id].codes) > 1 {
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
	of := sh.given[a.of.id]
	for i := range n {
		if v.In[i] = of.has[i]; !v.In[i] {
			continue
		}
		switch {
		case option == "":
			v.Y[i] = of.num[i]
		case coded && of.chose(i, option), !coded && of.num[i] == number:
			v.Y[i] = 1
		}
		if a.per != nil {
			per := sh.given[a.per.id]
			v.In[i], v.X[i] = per.has[i], per.num[i]
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

// number is a value as JSON has it: nothing where it is not known.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// whole is a sum of weights as a person expects it: a count, where it is one but
// for the last digits.
func whole(sum float64) float64 {
	if n := math.Round(sum); math.Abs(sum-n) <= 1e-9*math.Abs(n) {
		return n
	}
	return sum
}

const tooFew = "Too few households for an interval."

// shown is a figure for the caller.
func (a *ask) shown(sh *sheet, one figure, seen sight) Estimate {
	out := Estimate{Option: one.option, Value: one.value, Confidence: a.in.Confidence, Suppressed: seen.hidden}
	if seen.hidden {
		return out
	}
	f, l := one.f, a.in.level()
	out.Estimate, out.N = number(f.Value), &f.N
	if !seen.partly {
		out.Unweighted = number(f.Unweighted)
	}
	if !sh.chance() {
		out.NoInterval = sh.why
		return out
	}
	out.SE, out.DF, out.Kish, out.EffectiveN = number(f.SE), number(f.DF), number(f.Kish), number(f.EffectiveN(l))
	if sh.design.Known() {
		out.Population = number(whole(f.Population))
	}
	if f.Deff > 0 {
		out.Deff = number(f.Deff)
	}
	ci, ok := f.Interval(a.in.Interval, l)
	if ok && !one.covers(ci.Low, ci.High) {
		ok, out.SE = false, nil // the bounds are what single households have said
	}
	if !ok {
		out.NoInterval = tooFew
		return out
	}
	out.Low, out.High, out.Method = number(ci.Low), number(ci.High), ci.Method
	if a.in.Interval == estimate.Logit && ci.Method != estimate.Logit {
		out.NoInterval = "All answers are the same, and a logit has no interval then: the interval is that of Korn and Graubard."
	}
	out.Precision = a.precision(f)
	return out
}

// target is what the sampling aims at, and for which kind of figure.
func (a *ask) target() (t estimate.Target, kind string, given bool) {
	s := a.o.Sampling
	t = estimate.Target{Level: a.in.level(), Bound: a.policy(), Interval: a.in.Interval, Limit: value(s.MissLimit)}
	t.Relative, t.Absolute = value(s.Precision), value(s.MarginOfError)
	given = t.Relative+t.Absolute > 0
	if given {
		t.OneTail = s.Tail == "one"
	}
	if given && s.Confidence != nil {
		t.Confidence = *s.Confidence
	}
	return t, cmp.Or(s.ParameterType, proportion), given
}

// policy is which bound stands in for a figure that misses the target.
func (a *ask) policy() string { return cmp.Or(a.in.Bound, a.o.Sampling.OnMiss, "none") }

// precision is the decision about a figure, at the level of the target.
func (a *ask) precision(f *estimate.Figure) *Precision {
	t, kind, given := a.target()
	out := &Precision{}
	switch {
	case given && kind != a.in.Statistic:
		out.Status = "parameter_mismatch"
		out.Why = fmt.Sprintf("The target of the survey is for a %s, but this figure is a %s.", kind, a.in.Statistic)
		t = estimate.Target{Level: a.in.level()}
	case given:
		out.Target, out.Margin, out.Policy = a.o.Sampling.Precision, a.o.Sampling.MarginOfError, t.Bound
	}
	p, ok := f.Precision(t)
	if !ok {
		return nil
	}
	out.Confidence, out.Relative, out.Absolute, out.Low, out.High = t.Confidence, number(p.Relative), p.Absolute, p.Low, p.High
	if p.Status == "" {
		return out
	}
	out.Status, out.Use = p.Status, number(p.Use)
	switch far := t.Limit > 0 && !(p.Relative <= t.Limit); {
	case p.Status == estimate.BoundUsed:
		out.Why = "The target is missed: the " + t.Bound + " bound replaces the figure."
	case p.Status == estimate.PrecisionNotMet && far:
		out.Why = fmt.Sprintf("The target is missed by more than the limit of %v: no bound replaces the figure.", t.Limit)
	case p.Status == estimate.PrecisionNotMet:
		out.Why = "The target is missed, and no bound replaces the figure."
	}
	return out
}

// checkBound refuses a bound that the methodology does not have, or that is for
// another kind of figure.
func (a *ask) checkBound(c *fault.Checks) {
	const at = "query/bound"
	_, kind, given := a.target()
	switch s := a.o.Sampling; {
	case a.in.Bound == "":
	case s.OnMiss != "" && s.OnMiss != a.in.Bound:
		c.Add(at, "mismatch", fmt.Sprintf("The sampling of the survey has onMiss %s, not %s.", s.OnMiss, a.in.Bound))
	case given && kind != a.in.Statistic:
		c.Add(at, "mismatch", fmt.Sprintf("The target of the survey is for a %s, but this figure is a %s.", kind, a.in.Statistic))
	}
}

// between compares two values of by.
func (a *ask) between(out *Statistics, sh *sheet, figures []figure, seen []sight) error {
	first, second, _ := a.in.values()
	for _, option := range a.optionsOf(figures) {
		at := func(value string) int {
			return slices.IndexFunc(figures, func(f figure) bool { return !f.whole && f.option == option && f.value == value })
		}
		i, j := at(first), at(second)
		if i < 0 || j < 0 {
			return a.noValue(figures, first, second)
		}
		d := Difference{Option: option, Value: first, Less: second, Confidence: a.in.Confidence, Suppressed: seen[i].hidden || seen[j].hidden}
		a.difference(&d, figures[i].f, figures[j].f, sh.why)
		out.Differences = append(out.Differences, d)
	}
	return nil
}

// noValue says which values of by exist. Values that only a few households have
// are not named.
func (a *ask) noValue(figures []figure, first, second string) error {
	var names []string
	for _, f := range figures {
		if !f.whole && f.option == figures[0].option && (a.whole || f.f.N >= leastShown) {
			names = append(names, f.value)
		}
	}
	var missing []string
	for _, value := range []string{first, second} {
		if !slices.Contains(names, value) {
			missing = append(missing, strconv.Quote(value))
		}
	}
	if len(missing) == 0 { // one has no answer to an option that others chose
		missing = []string{strconv.Quote(first), strconv.Quote(second)}
	}
	detail := "No household that counts has the value " + strings.Join(missing, " or ") + "."
	if len(names) > 0 {
		detail += " The values are: " + strings.Join(names, ", ") + "."
	}
	return fault.New(fault.Unprocessable, "NO_ANSWERS", detail).With(fault.Field{Pointer: "query/compare", Code: "unknown", Detail: detail})
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
func (a *ask) sinceThen(out *Statistics, r rounds, seen, then []sight) {
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
			Option: f.option, Value: fmt.Sprintf("round:%d", a.in.Round), Less: a.in.Compare, Confidence: a.in.Confidence, Suppressed: seen[i].hidden || then[j].hidden,
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
