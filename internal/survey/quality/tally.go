package quality

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// teller makes a Tally.
type teller struct {
	out  Tally
	all  lengths
	by   map[string]*work
	full bool
}

type work struct {
	CollectorReport
	lengths
}

// lengths holds how long interviews took.
type lengths struct {
	sample Sample
	sum    float64
}

const lengthSample = 256

func (l *lengths) add(nid int64, seconds float64) {
	if seconds > 0 {
		l.sample.Size, l.sum = lengthSample, l.sum+seconds
		l.sample.Add(nid, seconds)
	}
}

func (l *lengths) report() api.QualityDurations {
	d := api.QualityDurations{Interviews: l.sample.Count()}
	if d.Interviews > 0 {
		d.MedianSeconds, d.MeanSeconds = Round(Median(l.sample.Values())), Round(l.sum/float64(d.Interviews))
	}
	return d
}

func newTeller() *teller {
	return &teller{by: map[string]*work{}, out: Tally{Flags: map[string]int64{}}}
}

// collector gives the record of one, nil for one too many.
func (t *teller) collector(name string) *work {
	w := t.by[name]
	if w != nil {
		return w
	}
	if len(t.by) == 2*maxCollectors {
		t.full = true
		return nil
	}
	w = &work{CollectorReport: CollectorReport{Collector: name, Flags: map[string]int64{}}}
	t.by[name] = w
	return w
}

// add counts a response.
func (t *teller) add(r *response.Row) {
	var head struct {
		Seconds float64 `json:"durationSec"`
		Consent *bool   `json:"consent"`
	}
	_ = json.Unmarshal(r.Body, &head) // missing members are not counted
	one := t.collector(r.Collector)
	if one == nil {
		one = &work{} // one too many: in the sums only
	}
	one.Interviews++
	t.out.Responses++
	switch r.Status {
	case response.Complete:
		one.Complete++
		t.out.Complete++
	case response.Partial:
		one.Partial++
		t.out.Partial++
	}
	if head.Consent != nil && !*head.Consent {
		one.Refusals++
		t.out.Refusals++
	}
	if r.Flags > 0 {
		one.Flagged++
		t.out.Flagged++
	}
	switch r.VStatus {
	case response.Verified:
		one.Verified++
	case response.Rejected:
		one.Rejected++
	}
	one.lengths.add(r.NID, head.Seconds)
	t.all.add(r.NID, head.Seconds)
}

// flag counts a flag.
func (t *teller) flag(f *flagRow) {
	t.out.Flags[f.rule]++
	if one := t.by[f.collector]; one != nil {
		one.Flags[f.rule]++
	}
}

func (t *teller) report() *Tally {
	out := t.out
	out.Duration, out.Collectors = t.all.report(), []CollectorReport{}
	if out.Responses > 0 {
		out.FlaggedShare = Round(float64(out.Flagged) / float64(out.Responses))
	}
	all := slices.Collect(maps.Values(t.by))
	slices.SortFunc(all, func(a, b *work) int {
		return cmp.Or(cmp.Compare(b.Interviews, a.Interviews), cmp.Compare(a.Collector, b.Collector))
	})
	if out.MoreCollectors = t.full || len(all) > maxCollectors; len(all) > maxCollectors {
		all = all[:maxCollectors]
	}
	for _, w := range all {
		w.Duration = w.lengths.report()
		out.Collectors = append(out.Collectors, w.CollectorReport)
	}
	order.Sort(out.Collectors, func(a, b CollectorReport) int { return cmp.Compare(a.Collector, b.Collector) })
	return &out
}

// scope is the part of a survey that is looked at.
type scope struct {
	o     *survey.Open
	round int
	until int64 // newest response
}

// counts reports whether a response is one of them.
func (p scope) counts(r *response.Row) bool {
	return r.Round == p.round && counts(r.Status, r.VStatus)
}

const pageRows = 100

// each reads the responses of a part in the order they came.
func (s *Service) each(ctx context.Context, p scope, f func(r *response.Row) error) error {
	for after := int64(0); ; {
		rows, err := response.After(ctx, s.db, p.o, after, pageRows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.NID > p.until {
				return nil
			}
			after = r.NID
			if p.counts(r) {
				if err := f(r); err != nil {
					return err
				}
			}
		}
		if len(rows) < pageRows {
			return nil
		}
	}
}

// tally counts the responses of a part and their flags.
func (s *Service) tally(ctx context.Context, p scope) (*Tally, error) {
	t := newTeller()
	err := s.each(ctx, p, func(r *response.Row) error {
		t.add(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	at := flagSpot{}
	for {
		page, err := listFlags(ctx, s.db, p.o.NID, at, flagPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			f := &page[i]
			if at = f.spot(); f.round == p.round && f.response <= p.until && f.counts() {
				t.flag(f)
			}
		}
		if len(page) < flagPage {
			return t.report(), nil
		}
	}
}
