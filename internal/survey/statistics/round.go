package statistics

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Round is the answers of households in one round, for figures from several
// questions, such as indicators. They count, are weighted and are hidden like
// those of a single question.
type Round struct {
	a    *ask
	s    *sheet
	rows map[int64]map[int32][]answer.Row // by question and household
}

// readRound gathers a round with the answers to some questions, which may be in
// repeats. Of in only Round, Confidence, Tail, Interval, Cell and Verified count.
// Faults are those of Statistics.
func (s *Service) readRound(ctx context.Context, q db.Querier, o *survey.Open, in Query, paths [][]string) (*Round, error) {
	in = Query{Question: strings.Join(paths[0], "/"), Round: in.Round, Confidence: in.Confidence, Tail: in.Tail, Interval: in.Interval, Cell: in.Cell, Verified: in.Verified}
	if err := in.check(o); err != nil {
		return nil, err
	}
	a := &ask{o: o, in: in, of: variable{name: in.Question, id: answer.Question(o.NID, paths[0]...), column: &form.Column{Kind: &form.Kind{}}}}
	sh, err := s.read(ctx, q, a, in.Round, &reading{most: s.most})
	if err != nil {
		return nil, err
	}
	r := &Round{a, sh, map[int64]map[int32][]answer.Row{}}
	for _, path := range paths {
		if err := r.fill(ctx, q, answer.Question(o.NID, path...), 20*s.most); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// fill reads every answer to a question, all elements of repeats too.
func (r *Round) fill(ctx context.Context, q db.Querier, id int64, limit int) error {
	rows, n := map[int32][]answer.Row{}, 0
	r.rows[id] = rows
	return answer.Each(ctx, q, id, limit+1, func(row *answer.Given) error {
		if n++; n > limit {
			return errLarge
		}
		if i, ok := r.s.at[row.NID]; ok {
			rows[i] = append(rows[i], row.Row)
		}
		return nil
	})
}

// Len is the number of households in the sample.
func (r *Round) Len() int { return len(r.s.members) }

// Answered reports whether a household has a response that counts.
func (r *Round) Answered(i int) bool { return r.s.members[i].Outcome == estimate.Answered }

// Group is the group of a listed household, "" without one.
func (r *Round) Group(i int) string { return r.s.homes[i].Group }

// Given returns the answer of a household to a question.
func (r *Round) Given(i int, path []string) []answer.Row {
	return r.rows[answer.Question(r.a.o.NID, path...)][int32(i)]
}

// Head describes the basis of figures; it contains none.
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

// Hides reports whether the caller may not see a figure of some households: there
// are too few of them, or few that are not verified yet, or beyond contains the
// size of another figure that has 1 to 4 households more or fewer.
func (r *Round) Hides(ctx context.Context, in []bool, beyond []int) bool {
	if web.CallerFrom(ctx).May("responses:pii") {
		return false
	}
	n, unverified := 0, 0
	for i, m := range r.s.members {
		switch {
		case in[i] && m.Outcome == estimate.Answered:
			n++
		case in[i] && r.s.doubted[i]:
			unverified++
		}
	}
	return n < leastShown || few(unverified) || slices.ContainsFunc(beyond, few)
}

// Thin reports which parts of a whole the caller may not see, by the number of
// households in each.
func (r *Round) Thin(ctx context.Context, counts []int) []bool {
	if web.CallerFrom(ctx).May("responses:pii") {
		return make([]bool, len(counts))
	}
	return estimate.Suppress(counts, make([]bool, len(counts)), leastShown)
}

// Shown renders a figure for the caller; a hidden one says only what it is
// about.
func (r *Round) Shown(kind string, f *estimate.Figure, hidden bool) Estimate {
	return r.of(kind).shown(r.s, figure{f: f}, sight{hidden: hidden})
}

// Less is a figure of the round minus another one, of it or of another round or
// survey; why says why the other one has no interval.
func (r *Round) Less(f, less *estimate.Figure, why string, hidden bool) Difference {
	d := Difference{Confidence: r.a.in.Confidence, Suppressed: hidden}
	if r.s.why != "" {
		why = r.s.why
	}
	r.a.difference(&d, f, less, why)
	return d
}
