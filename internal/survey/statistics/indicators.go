package statistics

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// answerOther is the option of answers in other words.
var answerOther = form.Option{Value: answer.Other}

// Limits of one request.
const (
	maxRounds  = 6   // of which inclusion is shown
	maxSurveys = 5   // of a project, in a period
	maxLooked  = 100 // surveys of a project that are looked at
)

// IndicatorQuery says how to compute figures.
type IndicatorQuery struct {
	Round      int
	Confidence float64
	Verified   bool
	FNRB       float64
}

// Indicators says what surveys show about the aims of a programme: use of the
// stove, stacking, fuel, and the consequences for the Sustainable Development
// Goals 1, 3, 5, 7 and 13. Each indicator is one value in a table: its sources,
// its formula and the value of a household. The questions are found in the
// template by their marks or ids, and a Service computes the figures. An indicator
// that cannot be computed is listed nevertheless, with the reason.
type Indicators struct {
	figures *Service
}

// NewIndicators makes Indicators from a Service.
func NewIndicators(figures *Service) *Indicators { return &Indicators{figures} }

// round gathers a round with the answers to some questions.
func (s *Indicators) round(ctx context.Context, q db.Querier, o *survey.Open, in IndicatorQuery, paths [][]string) (*Round, error) {
	return s.figures.readRound(ctx, q, o, Query{Round: in.Round, Confidence: in.Confidence, Verified: in.Verified}, paths)
}

func (in *IndicatorQuery) check() error {
	var c fault.Checks
	if in.FNRB == 0 {
		in.FNRB = emission.UsualNRB()
	}
	if !(in.FNRB > 0 && in.FNRB <= 1) {
		c.Add("query/fnrb", "out_of_range", "The value must be above 0 and at most 1.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// Survey returns the indicators of a round; the open one by default. Faults:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND, INVALID_PARAMETER, ANSWERS_PENDING.
func (s *Indicators) Survey(ctx context.Context, id string, in IndicatorQuery) (*api.SurveyIndicators, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	o, err := s.figures.surveys.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	if in.Round == 0 {
		in.Round = o.Round
	}
	if in.Round < 0 || in.Round > o.Round {
		return nil, fault.New(fault.NotFound, "ROUND_NOT_FOUND", "The survey has no such round.")
	}
	var got *result
	err = s.figures.db.View(ctx, func(q db.Querier) error {
		var err error
		if got, err = s.of(ctx, q, o, in); err == nil {
			got.Inclusion, err = s.inclusion(ctx, q, o, in)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &got.SurveyIndicators, nil
}

// result is the indicators of a round, and what savings are made of.
type result struct {
	api.SurveyIndicators
	plan    []planned
	r       *factored
	changes map[string]change
}

// of computes all indicators of a round.
func (s *Indicators) of(ctx context.Context, q db.Querier, o *survey.Open, in IndicatorQuery) (*result, error) {
	out := &result{changes: map[string]change{}}
	out.Source = api.IndicatorSource{
		SurveyID: o.SurveyID, Round: in.Round, Stage: o.Stage, TemplateID: o.TemplateID, TemplateVersion: o.TemplateVersion, Revision: o.Revision,
	}
	if d := o.Sampling.DesignID; d != nil {
		out.Source.DesignID = *d
	}
	out.plan = plan(o.Form)
	reason, err := s.read(ctx, q, o, in, out)
	if err != nil {
		return nil, err
	}
	for i := range out.plan {
		p := &out.plan[i]
		if reason != "" && p.reason == "" {
			p.reason = reason
		}
		one, c, err := out.r.compute(ctx, p)
		if err != nil {
			return nil, err
		}
		if p.id == "sdg13" {
			one.Formula = emissions(in.FNRB)
		}
		out.changes[p.id] = c
		out.Indicators = append(out.Indicators, one)
	}
	return out, nil
}

// read gathers what the indicators need; reason says why nothing can be computed.
func (s *Indicators) read(ctx context.Context, q db.Querier, o *survey.Open, in IndicatorQuery, out *result) (reason string, err error) {
	questions := paths(out.plan)
	if len(questions) == 0 {
		return "", nil
	}
	r, err := s.round(ctx, q, o, in, questions)
	if fault.KindOf(err) == fault.Unprocessable {
		return fault.As(err).Message, nil
	} else if err != nil {
		return "", err
	}
	head := r.Head()
	out.r = &factored{r, factors(in.FNRB)}
	out.Basis, out.NoInterval, out.Counted, out.Remarks = head.Basis, head.NoInterval, &head.Counted, head.Remarks
	return "", nil
}

// inclusion looks at whom the last rounds were about, newest first.
func (s *Indicators) inclusion(ctx context.Context, q db.Querier, o *survey.Open, in IndicatorQuery) ([]api.IndicatorInclusion, error) {
	columns := o.Form.Columns()
	var found []criterion
	var at [][]string
	for _, c := range criteria {
		if col, _ := find(columns, "inclusion", c.role, true); col != nil && !closed(col) {
			found, at = append(found, c), append(at, col.Path)
		}
	}
	out := []api.IndicatorInclusion{}
	if len(at) == 0 {
		return out, nil
	}
	for round := o.Round; round > 0 && round > o.Round-maxRounds; round-- {
		in.Round = round
		one := api.IndicatorInclusion{Round: round, Criteria: []api.IndicatorCriterion{}}
		r, err := s.round(ctx, q, o, in, at)
		if fault.KindOf(err) == fault.Unprocessable {
			one.Reason = fault.As(err).Message
			out = append(out, one)
			continue
		} else if err != nil {
			return nil, err
		}
		if err := include(ctx, r, found, at, &one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// include fills in the figures of a round.
func include(ctx context.Context, r *Round, found []criterion, at [][]string, out *api.IndicatorInclusion) error {
	n := r.Head().Counted
	if out.Answered, out.Ineligible = n.Answered, n.Ineligible; n.Answered+n.Ineligible > 0 {
		share := float64(n.Answered) / float64(n.Answered+n.Ineligible)
		out.Eligible = &share
	}
	for k, c := range found {
		v := estimate.Values{Y: make([]float64, r.Len()), In: make([]bool, r.Len())}
		for i := range r.Len() {
			if rows := r.Given(i, at[k]); len(rows) > 0 {
				v.In[i] = true
				if rows[0].Code == c.met {
					v.Y[i] = 1
				}
			}
		}
		f, err := r.Figure(proportion, v)
		if fault.CodeOf(err) == "NO_ANSWERS" {
			continue
		} else if err != nil {
			return err
		}
		one := api.IndicatorCriterion{ID: c.id, Question: strings.Join(at[k], "/"), Met: c.met, SurveyEstimate: r.Shown(proportion, f, r.Hides(ctx, v.In, nil))}
		one.Option = c.met
		out.Criteria = append(out.Criteria, one)
	}
	return nil
}

// Period is the range of days to consider for a project; "" is open.
type Period struct{ From, To string }

func (p Period) check() (from, to time.Time, err error) {
	var c fault.Checks
	for _, one := range []struct {
		at, text string
		to       *time.Time
	}{{"query/from", p.From, &from}, {"query/to", p.To, &to}} {
		if one.text == "" {
			continue
		}
		t, err := time.Parse(time.DateOnly, one.text)
		if *one.to = t; err != nil {
			c.Add(one.at, "invalid", "The value must be a day such as 2024-02-01.")
		}
	}
	if !to.IsZero() {
		check.Span(&c, "query/to", from, to)
		to = to.AddDate(0, 0, 1)
	}
	return from, to, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// Project returns the indicators of the surveys of a project in a period.
// Faults: PROJECT_NOT_FOUND, INVALID_PARAMETER, ANSWERS_PENDING.
func (s *Indicators) Project(ctx context.Context, did string, p Period, in IndicatorQuery) (*api.ProjectIndicators, error) {
	from, to, err := p.check()
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return nil, err
	}
	list, more, err := s.figures.surveys.List(ctx, survey.Filter{Project: did}, 0, maxLooked)
	if err != nil {
		return nil, err
	}
	// A key limited to one project gets the list of that project, whichever was
	// asked for.
	list = slices.DeleteFunc(list, func(v *survey.Survey) bool { return v.ProjectID != did })
	if len(list) == 0 {
		return nil, fault.New(fault.NotFound, "PROJECT_NOT_FOUND", "This server has no survey of this project.")
	}
	out := &api.ProjectIndicators{ProjectID: did, From: p.From, To: p.To, Indicators: []api.Indicator{}, Surveys: []api.SurveyIndicators{}}
	chosen, base := choose(list, from, to)
	if more != 0 {
		out.Remarks = append(out.Remarks, "Only the 100 newest surveys of the project were considered.")
	}
	if len(chosen) > maxSurveys {
		chosen = chosen[:maxSurveys]
		out.Remarks = append(out.Remarks, "More than 5 surveys fall into the period: only the newest are in the figures. Ask for a shorter period.")
	}
	err = s.figures.db.View(ctx, func(q db.Querier) error {
		results, baseline, err := s.all(ctx, q, in, chosen, base)
		if err != nil {
			return err
		}
		out.Surveys = []api.SurveyIndicators{}
		for _, r := range results {
			out.Surveys = append(out.Surveys, r.SurveyIndicators)
		}
		out.Indicators = join(results, baseline)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// turn is a round of a survey.
type turn struct {
	id    string
	round int
}

// choose finds the newest round in the period of each survey, newest first, and
// the newest baseline before the end of it.
func choose(list []*survey.Survey, from, to time.Time) (chosen []turn, base *turn) {
	for _, v := range list {
		for i := len(v.Rounds) - 1; i >= 0; i-- {
			start, end := span(v, v.Rounds[i])
			if !to.IsZero() && !start.Before(to) {
				continue
			}
			t := turn{v.SurveyID, v.Rounds[i].Round}
			if v.Stage == "baseline" && base == nil {
				base = &t
			}
			if end.IsZero() || !end.Before(from) {
				chosen = append(chosen, t)
			}
			break
		}
	}
	return chosen, base
}

// span is when a round was open; without an end it still is.
func span(v *survey.Survey, r survey.Round) (start, end time.Time) {
	start, end = r.Opened, r.Closed
	if end.IsZero() {
		end = v.Closed
	}
	w := r.Window
	if w == nil {
		w = v.Window
	}
	if w != nil {
		if !w.Start.IsZero() {
			start = w.Start
		}
		if !w.End.IsZero() {
			end = w.End
		}
	}
	return start, end
}

// all computes the rounds, and the baseline unless it is one of them.
func (s *Indicators) all(ctx context.Context, q db.Querier, in IndicatorQuery, chosen []turn, base *turn) (results []*result, baseline *result, err error) {
	one := func(t turn) (*result, error) {
		o, err := s.figures.surveys.Open(ctx, t.id)
		if err != nil {
			return nil, err
		}
		in.Round = t.round
		return s.of(ctx, q, o, in)
	}
	for _, t := range chosen {
		r, err := one(t)
		if err != nil {
			return nil, nil, err
		}
		if results = append(results, r); base != nil && *base == t {
			baseline = r
		}
	}
	if base != nil && baseline == nil {
		baseline, err = one(*base)
	}
	return results, baseline, err
}

// join is each indicator of the newest survey that has it.
func join(results []*result, base *result) []api.Indicator {
	out := make([]api.Indicator, 0, len(definitions))
	for i := range definitions {
		d := &definitions[i]
		best := (&planned{definition: d, questions: []api.IndicatorQuestion{}, reason: "No survey of the period has the questions it needs."}).begin()
		for _, r := range results {
			one := r.Indicators[i]
			if d.change && !one.Computable {
				since(d, &one, r, base)
			}
			if one.Sources == nil {
				one.Sources = []api.IndicatorSource{r.Source}
			}
			if best.Sources == nil {
				best = one
			}
			if one.Computable {
				best = one
				break
			}
		}
		out = append(out, best)
	}
	return out
}

// since computes a saving from two surveys: the baseline minus the present
// value.
func since(d *definition, out *api.Indicator, now, base *result) {
	if base == nil || base == now || now.Source.Stage == "baseline" {
		return
	}
	was, is := base.changes[d.id].all, now.changes[d.id].now
	if was.Figure == nil || is.Figure == nil {
		return
	}
	hides := was.hidden || is.hidden
	before, after := base.r.Shown(d.statistic, was.Figure, hides), now.r.Shown(d.statistic, is.Figure, hides)
	before.Value, after.Value = base.Source.SurveyID, now.Source.SurveyID
	diff := base.r.Less(was.Figure, is.Figure, now.NoInterval, hides)
	diff.Value, diff.Less = base.Source.SurveyID, now.Source.SurveyID
	out.Estimates, out.Difference, out.Reason, out.Computable = []api.SurveyEstimate{before, after}, &diff, "", true
	out.Sources = []api.IndicatorSource{base.Source, now.Source}
}
