package crossref

import (
	"context"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// conclude computes the result from the pairs.
func (r *runner) conclude(ctx context.Context) error {
	v := &r.result
	v.Asked = r.Draft
	var pairs []Pair
	for _, h := range r.homes {
		c := &v.Households
		c.Answered++
		switch {
		case h.paired:
			c.Paired++
			c.Days += h.days
			if r.Measure != fuel {
				c.MissingDays += int(h.window.to-h.window.from) + 1 - h.days
			}
			pairs = append(pairs, Pair{h.said, h.measured})
		case h.otherUnit:
			c.OtherUnit++
		case h.seen:
			c.TooFewDays++
		default:
			c.Unmeasured++
		}
		if h.mismatch {
			v.Mismatches++
		}
	}
	said, err := r.saidByAll(ctx)
	if err != nil {
		return err
	}
	if r.Measure == use {
		r.agreement(tableOf(pairs), said)
	} else {
		r.difference(pairs, said)
	}
	r.hawthorne()
	return nil
}

// number is a value as JSON has it: nothing where it is not known.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// saidByAll is the mean of the answers of all households that count, with the
// weights of the sample if there are any.
func (r *runner) saidByAll(ctx context.Context) (api.CrossAdjusted, error) {
	weights := map[int64]float64{}
	if r.s.cfg.Weigh != nil {
		rounds, err := r.s.cfg.Weigh(ctx, r.o, []int{r.Round}, r.s.cfg.Now())
		if err != nil {
			return api.CrossAdjusted{}, err
		}
		weights = r.weights(rounds[0])
	}
	var sum, all float64
	out := api.CrossAdjusted{Weighted: len(weights) > 0}
	for _, h := range r.homes {
		w := 1.0
		if out.Weighted {
			w = weights[h.nid]
		}
		sum, all = sum+w*h.said, all+w
	}
	out.Said = sum / all
	return out, nil
}

// weights returns the weights of a round's responses; none if the sample has none.
func (r *runner) weights(of survey.WeighedRound) map[int64]float64 {
	out := map[int64]float64{}
	for _, h := range of.Homes {
		if h.Response != 0 {
			out[h.Response] = h.Weight
		}
	}
	if r.result.Lineage.Weights = of.Basis; of.Why != "" {
		r.result.Lineage.Weights = of.Why
	}
	return out
}

// agreement is the result of use.
func (r *runner) agreement(t Table, said api.CrossAdjusted) {
	v := &r.result
	a := &api.CrossAgreement{
		N: t.N(), Both: &t.Both, SaidOnly: &t.SaidOnly, MeasuredOnly: &t.MeasuredOnly, Neither: &t.Neither,
		Agreement: number(t.Agreement()), OverReport: number(t.OverReport()), UnderReport: number(t.UnderReport()),
	}
	v.Agreement = a
	switch k, ok := t.Kappa(); {
	case ok:
		low, high := k.Interval()
		a.Kappa, a.KappaSE, a.KappaLow, a.KappaHigh = number(k.Value), number(k.SE), number(low), number(high)
	case t.N() < leastPairs:
		a.NoKappa = fmt.Sprintf("There are only %d pairs: with fewer than %d, kappa means nothing.", t.N(), leastPairs)
	default:
		a.NoKappa = "All households say and do the same, so chance alone would give this agreement."
	}
	said.Value = t.Adjusted(said.Said)
	said.Formula = "said × (1 − overReport) + (1 − said) × underReport"
	r.adjust(said)
}

// adjust stores the corrected figure of the survey, if there are enough pairs
// for it.
func (r *runner) adjust(a api.CrossAdjusted) {
	if math.IsNaN(a.Value) || math.IsNaN(a.Said) {
		r.result.NoAdjusted = "The pairs do not show how far the answers are right: some answers have no pair."
		return
	}
	r.result.Adjusted = &a
}

// difference is the result of amounts.
func (r *runner) difference(pairs []Pair, said api.CrossAdjusted) {
	d := differencesOf(pairs)
	out := &api.CrossDifference{N: d.N, Unit: r.unit()}
	if r.result.Difference = out; d.N == 0 {
		r.result.NoAdjusted = "There are no pairs."
		return
	}
	out.Said, out.Measured, out.Bias, out.SD = number(d.Said), number(d.Measured), number(d.Bias), number(d.SD)
	out.Low, out.High, out.OverReport = number(d.Low), number(d.High), number(over(pairs, *r.Tolerance))
	said.Value = max(0, said.Said-d.Bias)
	said.Formula = "max(0, said − bias)"
	r.adjust(said)
}

// hawthorne compares days with and without a kitchen test.
func (r *runner) hawthorne() {
	var watched, alone float64
	out := &api.CrossHawthorne{}
	for _, h := range r.homes {
		if h.watched.days > 0 && h.alone.days > 0 {
			out.Households++
			watched, alone = watched+h.watched.perDay(), alone+h.alone.perDay()
		}
	}
	switch n := float64(out.Households); {
	case r.result.Lineage.Tests == 0:
		r.result.NoHawthorne = "No household that answered has a kitchen test."
	case out.Households == 0:
		r.result.NoHawthorne = fmt.Sprintf("No household has measured days both during a kitchen test and in the %d days before or after it.", around)
	default:
		out.Observed, out.Unobserved = number(watched/n), number(alone/n)
		if out.Index = number(Hawthorne(alone/n, watched/n)); out.Index == nil {
			r.result.NoHawthorne = "Nothing was cooked during the kitchen tests."
		}
		r.result.Hawthorne = out
	}
}

// leastShown is the number of households below which a figure is not shown to
// callers who may not read what single households say.
const leastShown = 5

// shown is a stored result for the caller of ctx.
func (s *Service) shown(ctx context.Context, o *survey.Open, r *row) (*Result, error) {
	v := &Result{}
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		return nil, fmt.Errorf("read cross-reference: %w", err)
	}
	self := path(o.SurveyID) + "/" + nameOf(r.nid)
	v.ID, v.SurveyID, v.CreatedAt = nameOf(r.nid), o.SurveyID, timeOf(r.at)
	v.CreatedBy = s.cfg.Responses.Sight(ctx, o).Person(r.actor)
	v.Links = api.CrossLinks{Self: self, Pairs: self + "/pairs", Survey: "/v1/surveys/" + o.SurveyID}
	if !web.CallerFrom(ctx).May(privacy.PII) {
		suppress(v)
	}
	return v, nil
}

// suppress takes out the figures of few households, and those that would give
// them away.
func suppress(v *Result) {
	few := v.Households.Paired < leastShown
	hide := few
	if a := v.Agreement; a != nil {
		said, not := *a.Both+*a.SaidOnly, *a.MeasuredOnly+*a.Neither
		hide = few || said > 0 && said < leastShown || not > 0 && not < leastShown
		if hide {
			*a = api.CrossAgreement{N: a.N, Agreement: a.Agreement, NoKappa: a.NoKappa}
		}
		if few {
			a.Agreement = nil
		}
	}
	if d := v.Difference; d != nil && few {
		*d = api.CrossDifference{N: d.N, Unit: d.Unit}
	}
	if hide {
		v.Adjusted, v.Suppressed = nil, true
	}
	if few {
		v.Mismatches = 0
	}
	if h := v.Hawthorne; h != nil && h.Households < leastShown {
		*h, v.Suppressed = api.CrossHawthorne{Households: h.Households}, true
	}
}
