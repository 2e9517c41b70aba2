package kpt

import (
	"context"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxTests is how many tests one analysis reads.
const maxTests = 20_000

// leastShown is the number of households below which a figure is not shown to
// callers who may not read what single households used.
const leastShown = 5

// Query selects figures.
type Query struct {
	Project    string  `query:"projectId" doc:"DID of the project; required unless the key is limited to one." example:"did:ixo:entity:123"`
	Fuel       string  `query:"fuel" doc:"wood by default." example:"wood"`
	Per        string  `query:"per" enum:"household,head,adult" doc:"household by default; adult is a standard adult."`
	Design     string  `query:"design" enum:"concurrent,paired" doc:"concurrent (the default): tests of both groups at the same time. paired: households tested in both groups, one after the other."`
	From       string  `query:"from" doc:"Tests that began on this day or later." example:"2024-02-01"`
	To         string  `query:"to" doc:"Tests that began on this day or earlier."`
	Confidence float64 `query:"confidence" doc:"Above 0.5 and below 1; 0.9 by default."`
	Tail       string  `query:"tail" enum:"two,one" doc:"one: each bound alone has the confidence."`
	Precision  float64 `query:"precision" doc:"The target for relative precision, above 0 and below 1; 0.1 by default, as in 90/10."`
}

// check refuses what cannot be meant, and fills in defaults.
func (q *Query) check(c web.Caller) (period, error) {
	var w fault.Checks
	if q.Project == "" && len(c.Projects) == 1 {
		q.Project = c.Projects[0]
	}
	w.Require(q.Project != "", "query/projectId")
	if q.Project != "" && !c.Sees(q.Project) {
		w.Add("query/projectId", "not_found", "The key is limited to other projects.")
	}
	for _, one := range []struct {
		to    *string
		other string
	}{{&q.Fuel, "wood"}, {&q.Per, "household"}, {&q.Design, "concurrent"}, {&q.Tail, "two"}} {
		if *one.to == "" {
			*one.to = one.other
		}
	}
	check.OneOf(&w, "query/per", q.Per, "household", "head", "adult")
	check.OneOf(&w, "query/design", q.Design, "concurrent", "paired")
	check.OneOf(&w, "query/tail", q.Tail, "two", "one")
	if q.Confidence == 0 {
		q.Confidence = 0.9
	}
	if q.Precision == 0 {
		q.Precision = 0.1
	}
	if !(q.Confidence > 0.5 && q.Confidence < 1) {
		w.Add("query/confidence", "out_of_range", "The value must be above 0.5 and below 1.")
	}
	if !(q.Precision > 0 && q.Precision < 1) {
		w.Add("query/precision", "out_of_range", "The value must be above 0 and below 1.")
	}
	p := period{0, math.MaxInt32}
	for _, one := range []struct {
		at, text string
		to       *int64
	}{{"query/from", q.From, &p.start}, {"query/to", q.To, &p.end}} {
		if day, ok := dayOf(one.text); ok {
			*one.to = day
		} else if one.text != "" {
			w.Add(one.at, "invalid", "The value must be a day such as 2024-02-01.")
		}
	}
	return p, w.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

func (q *Query) level() estimate.Level {
	return estimate.Level{Confidence: q.Confidence, OneTail: q.Tail == "one"}
}

// Analyse computes what the tests of a project show. Faults: INVALID_PARAMETER,
// KPT_TOO_MANY, UNITS_MIXED.
func (s *Service) Analyse(ctx context.Context, in Query) (*Analysis, error) {
	c := web.CallerFrom(ctx)
	p, err := in.check(c)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, selectMeasured, c.Workspace, in.Project, in.Fuel, p.start, p.end, maxTests+1)
	tests, err := db.Collect(rows, err, "read kitchen tests", func(m *measured, row db.Row) error { return m.scan(row) })
	if err != nil {
		return nil, err
	}
	if len(tests) > maxTests {
		return nil, fault.New(fault.Unprocessable, "KPT_TOO_MANY", "One analysis reads at most 20,000 tests. Ask for a shorter period.")
	}
	return analyse(in, tests, c.May(privacy.PII))
}

// formulas say how the fuel of a household and day comes about.
var formulas = map[string]string{
	"household": "fuel = Σ total / Σ days of the tests of a household; mean over households",
	"head":      "fuel = Σ total / Σ (days × people) of the tests of a household; mean over households",
	"adult":     "fuel = Σ total / Σ (days × standard adults) of the tests of a household, with 0.5 for a child, 0.8 for a woman, 1 for a man and 0.8 for one from 60 years; mean over households",
}

// analyse makes the figures of tests; all says that small groups are shown.
func analyse(in Query, tests []measured, all bool) (*Analysis, error) {
	out := &Analysis{
		ProjectID: in.Project, Fuel: in.Fuel, Per: in.Per, From: in.From, To: in.To, Confidence: in.Confidence, Tail: in.Tail, Target: in.Precision,
		Formula: formulas[in.Per] + "; t interval", Groups: []api.KitchenTestGroup{},
	}
	left, err := admitted(in, tests, out)
	if err != nil {
		return nil, err
	}
	groups := map[string]*group{reference: newGroup(reference), intervention: newGroup(intervention)}
	for _, m := range left {
		groups[m.grp].add(m, in.Per)
	}
	if in.Design == "paired" {
		pair(groups[reference], groups[intervention])
		out.Remarks = append(out.Remarks, "The groups were tested one after the other: the season, and all else that changed between the tests, is part of the difference.")
	}
	for _, g := range []*group{groups[reference], groups[intervention]} {
		one, err := g.show(in, all)
		if err != nil {
			return nil, err
		}
		out.Groups = append(out.Groups, one)
	}
	out.Saving = saving(in, groups[reference], groups[intervention], all)
	return out, nil
}

// admitted are the tests that may be in figures, and counts the others. The fault
// is UNITS_MIXED.
func admitted(in Query, tests []measured, out *Analysis) ([]measured, error) {
	var some []measured
	for _, m := range tests {
		switch {
		case m.documented == 0:
			out.LeftOut.Undocumented++
			continue
		case in.Per != "household" && m.heads == 0:
			out.LeftOut.WithoutPeople++
			continue
		case out.Unit != "" && out.Unit != m.unit:
			return nil, fault.New(fault.Unprocessable, "UNITS_MIXED", "The tests are in different units, which cannot be compared. Correct them.")
		}
		out.Unit = m.unit
		some = append(some, m)
	}
	both := map[string][]period{}
	for _, m := range some {
		both[m.grp] = append(both[m.grp], m.period)
	}
	if in.Design == "paired" {
		return some, nil
	}
	if len(both) < 2 {
		if len(some) > 0 {
			out.Remarks = append(out.Remarks, "Only one group was tested: there is nothing to compare its fuel with.")
		}
		return some, nil
	}
	other := map[string]covered{reference: cover(both[intervention]), intervention: cover(both[reference])}
	some = slices.DeleteFunc(some, func(m measured) bool {
		alone := !other[m.grp].meets(m.period)
		if alone {
			out.LeftOut.NotConcurrent++
		}
		return alone
	})
	return some, nil
}

// covered are the times in which a household was tested: disjoint periods in
// order.
type covered []period

// cover joins periods, which come in the order of their first days.
func cover(list []period) covered {
	var out covered
	for _, p := range list {
		if n := len(out); n > 0 && p.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, p.end)
			continue
		}
		out = append(out, p)
	}
	return out
}

func (c covered) meets(p period) bool {
	i, _ := slices.BinarySearchFunc(c, p.start, func(o period, day int64) int {
		if o.end <= day {
			return -1
		}
		return 1
	})
	return i < len(c) && c[i].overlaps(p)
}

// group is the households of one group.
type group struct {
	name  string
	tests int
	span  period
	order []string
	fuel  map[string]*use

	figure *estimate.Figure
}

// use is the fuel of a household, and over what.
type use struct {
	total, over float64
	tests       int
	span        period
}

func newGroup(name string) *group { return &group{name: name, fuel: map[string]*use{}} }

func (g *group) add(m measured, per string) {
	over := float64(m.days)
	switch per {
	case "head":
		over *= m.heads
	case "adult":
		over *= m.adults
	}
	u := g.fuel[m.household]
	if u == nil {
		u = &use{span: m.period}
		g.fuel[m.household], g.order = u, append(g.order, m.household)
	}
	u.total, u.over, u.tests = u.total+m.total, u.over+over, u.tests+1
	u.span = period{min(u.span.start, m.start), max(u.span.end, m.end)}
}

// pair leaves the households that are in both groups.
func pair(a, b *group) {
	only := func(g, o *group) []string {
		return slices.DeleteFunc(slices.Clone(g.order), func(id string) bool { return o.fuel[id] == nil })
	}
	a.order, b.order = only(a, b), only(b, a)
}

// count fills in when the group was tested, and how often.
func (g *group) count() {
	for i, id := range g.order {
		u := g.fuel[id]
		if i == 0 {
			g.span = u.span
		}
		g.tests += u.tests
		g.span = period{min(g.span.start, u.span.start), max(g.span.end, u.span.end)}
	}
}

// estimate computes the figure of the group; nil with fewer than two households.
func (g *group) estimate() (*estimate.Figure, error) {
	if len(g.order) < 2 {
		return nil, nil
	}
	members, v := make([]estimate.Member, len(g.order)), estimate.Values{Y: make([]float64, len(g.order))}
	for i, id := range g.order {
		members[i] = estimate.Member{ID: id, Outcome: estimate.Answered}
		v.Y[i] = g.fuel[id].total / g.fuel[id].over
	}
	d, err := (&estimate.Plan{Strata: []estimate.Stratum{{}}}).Weigh(members)
	if err != nil {
		return nil, err
	}
	return d.Mean(v)
}

const tooFew = "One household alone shows no spread."

// show is the figure of the group for the caller.
func (g *group) show(in Query, all bool) (api.KitchenTestGroup, error) {
	g.count()
	n := len(g.order)
	out := api.KitchenTestGroup{Group: g.name, SurveyEstimate: api.SurveyEstimate{Confidence: in.Confidence}}
	if n < leastShown && n > 0 && !all {
		out.Suppressed = true
		return out, nil
	}
	out.N, out.Tests = &n, g.tests
	if n == 0 {
		out.NoInterval = "No test counts."
		return out, nil
	}
	out.Start, out.End = dayText(g.span.start), dayText(g.span.end)
	f, err := g.estimate()
	if err != nil {
		return out, err
	}
	if g.figure = f; f == nil {
		u := g.fuel[g.order[0]]
		value := u.total / u.over
		out.Estimate, out.NoInterval = &value, tooFew
		return out, nil
	}
	sd := f.SE * math.Sqrt(float64(n))
	out.Estimate, out.SE, out.DF, out.SD, out.Unweighted = &f.Value, &f.SE, &f.DF, &sd, &f.Unweighted
	ci, ok := f.Interval("", in.level())
	if !ok {
		out.NoInterval = tooFew
		return out, nil
	}
	out.Low, out.High, out.Method = &ci.Low, &ci.High, ci.Method
	out.Precision = g.precision(in, f)
	return out, nil
}

// precision applies the precision target to a figure. One that misses it is
// replaced by its conservative bound: the lower one of the fuel used before, the
// upper one of the fuel used now.
func (g *group) precision(in Query, f *estimate.Figure) *api.SurveyPrecision {
	t := estimate.Target{Level: in.level(), Relative: in.Precision, Bound: estimate.Lower}
	if g.name == intervention {
		t.Bound = estimate.Upper
	}
	p, ok := f.Precision(t)
	if !ok {
		return nil
	}
	out := &api.SurveyPrecision{Confidence: in.Confidence, Absolute: p.Absolute, Low: p.Low, High: p.High, Target: &in.Precision, Status: p.Status, Relative: number(p.Relative), Use: number(p.Use)}
	return out
}

// number is a value as JSON has it: nothing where it is not known.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// saving is the figure of the reference group less that of the intervention
// group; households in both go together in its variance.
func saving(in Query, ref, now *group, all bool) *api.KitchenTestSaving {
	few := func(g *group) bool { return len(g.order) < leastShown && len(g.order) > 0 && !all }
	if len(ref.order) == 0 || len(now.order) == 0 {
		return nil
	}
	out := &api.KitchenTestSaving{SurveyDifference: api.SurveyDifference{Value: reference, Less: intervention, Confidence: in.Confidence}}
	if out.Suppressed = few(ref) || few(now); out.Suppressed {
		return out
	}
	if ref.figure == nil || now.figure == nil {
		out.NoInterval = tooFew
		return out
	}
	c := ref.figure.Minus(now.figure)
	out.Estimate, out.SE, out.DF, out.Common, out.T, out.P = &c.Value, number(c.SE), &c.DF, c.Common, number(c.T), number(c.P)
	if ref.figure.Value > 0 {
		out.Share = number(c.Value / ref.figure.Value)
	}
	if ci, ok := c.Interval(in.level()); ok {
		out.Low, out.High = &ci.Low, &ci.High
	} else {
		out.NoInterval = tooFew
	}
	return out
}
