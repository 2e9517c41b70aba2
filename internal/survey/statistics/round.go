package statistics

import (
	"context"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Round is what the households of a survey say in one round, for figures that are
// made of several questions, such as indicators. They count, are weighed and are
// hidden as those of a single question.
type Round struct {
	a *ask
	s *sheet
}

// ReadRound gathers a round with the answers to some questions, which may be in
// repeats. Of in only Round, Confidence, Tail, Interval, Cell and Verified count.
// Faults are those of Statistics.
func (s *Service) ReadRound(ctx context.Context, q db.Querier, o *survey.Open, in Query, paths [][]string) (*Round, error) {
	in = Query{Question: strings.Join(paths[0], "/"), Round: in.Round, Confidence: in.Confidence, Tail: in.Tail, Interval: in.Interval, Cell: in.Cell, Verified: in.Verified}
	if err := in.check(o); err != nil {
		return nil, err
	}
	a := &ask{o: o, in: in, of: variable{name: in.Question, id: answer.Question(o.NID, paths[0]...), column: &form.Column{Kind: &form.Kind{}}}}
	sh, err := s.read(ctx, q, a, in.Round)
	if err != nil {
		return nil, err
	}
	for _, path := range paths[1:] {
		if err := sh.fill(ctx, q, answer.Question(o.NID, path...)); err != nil {
			return nil, err
		}
	}
	return &Round{a, sh}, nil
}

// Len is the number of households in the sample.
func (r *Round) Len() int { return len(r.s.members) }

// Answered reports whether a household has a response that counts.
func (r *Round) Answered(i int) bool { return r.s.members[i].Outcome == estimate.Answered }

// Group is that of a household on the list, "" without one.
func (r *Round) Group(i int) string { return r.s.homes[i].Group }

// Given is what a household says to a question.
func (r *Round) Given(i int, path []string) []answer.Row {
	return r.s.given[answer.Question(r.a.o.NID, path...)][i]
}

// Head says what figures come from; it has none.
func (r *Round) Head() *Statistics { return r.a.head(r.s) }

// Figure is an estimate: proportion, mean or ratio.
func (r *Round) Figure(kind string, v estimate.Values) (*estimate.Figure, error) {
	return r.of(kind).compute(r.s, v)
}

func (r *Round) of(kind string) *ask {
	a := *r.a
	a.in.Statistic = kind
	return &a
}

// Hides reports whether so few households are not shown to the caller.
func (r *Round) Hides(ctx context.Context, n int) bool {
	return n < leastShown && !web.CallerFrom(ctx).May("responses:pii")
}

// Shown is a figure for the caller; hidden has nothing but what it is of.
func (r *Round) Shown(kind string, f *estimate.Figure, hidden bool) Estimate {
	return r.of(kind).shown(r.s, figure{f: f}, hidden)
}

// Less is a figure of the round less another one, of it or of another round or
// survey; why says that the other one has no interval.
func (r *Round) Less(f, less *estimate.Figure, why string, hidden bool) Difference {
	d := Difference{Confidence: r.a.in.Confidence, Suppressed: hidden}
	if r.s.why != "" {
		why = r.s.why
	}
	r.a.difference(&d, f, less, why)
	return d
}
