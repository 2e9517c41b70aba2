package statistics

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Basis is the data behind the figures of a round, with pseudonyms in place of
// households. Anybody who has it can recompute every figure without a server: see
// Again.
type Basis struct {
	SurveyID    string           `json:"surveyId"`
	Round       int              `json:"round"`
	Probability bool             `json:"probability"`
	Sections    []string         `json:"sections,omitzero"`
	Template    *form.Template   `json:"template"`
	Sampling    *survey.Sampling `json:"sampling"`
	Kind        string           `json:"basis"`
	NoInterval  string           `json:"noInterval,omitzero"`
	Enrolled    bool             `json:"enrolled,omitzero"`
	Tally       response.Tally   `json:"tally"`
	Homes       []BasisHome      `json:"homes"`
	Questions   []BasisQuestion  `json:"questions"`

	opened *survey.Open
}

// BasisHome is a household of the sample.
type BasisHome struct {
	Name     string           `json:"name"`
	Stratum  string           `json:"stratum,omitzero"`
	Group    string           `json:"group,omitzero"`
	Cluster  string           `json:"cluster,omitzero"`
	Source   string           `json:"source,omitzero"`
	Replaces string           `json:"replaces,omitzero"`
	Class    response.Class   `json:"class"`
	Outcome  estimate.Outcome `json:"outcome"`
	Doubted  bool             `json:"doubted,omitzero"`
}

// BasisQuestion is a question: the answer of each household, in the order of the homes,
// and its figures, or why it has none.
type BasisQuestion struct {
	Question string             `json:"question"`
	Has      []bool             `json:"has"`
	Numbers  []float64          `json:"numbers"`
	Codes    []string           `json:"codes"`
	More     map[int32][]string `json:"more,omitzero"` // further options, by place
	Units    []string           `json:"units,omitzero"`
	Figures  *Statistics        `json:"figures,omitzero"`
	Why      string             `json:"why,omitzero"`
}

// maxBasis is how many households and responses a basis has.
const maxBasis = 200_000

// Basis reads the data behind the figures of a survey's open round, and makes the
// figures. names makes the pseudonyms of households. The faults are those of
// Statistics.
func (s *Service) Basis(ctx context.Context, surveyID string, names func(string) string) (*Basis, error) {
	o, err := s.surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, err
	}
	out := &Basis{SurveyID: o.SurveyID, Round: o.Round, Probability: o.Probability, Sections: o.Sections, Template: o.Form.Template(), Sampling: o.Sampling}
	var sh *sheet
	err = s.db.View(ctx, func(q db.Querier) error {
		for _, one := range Questions(o, "") {
			a, err := plainAsk(o, one.Question)
			if err != nil {
				return err
			}
			r := &reading{most: maxBasis}
			if sh != nil {
				err = sh.fill(ctx, q, a.of, r)
			} else {
				sh, err = s.read(ctx, q, a, o.Round, r)
			}
			if sh != nil && fault.KindOf(err) == fault.Unprocessable && fault.CodeOf(err) != errLarge.Code {
				err = nil // Again says why there are no figures
			}
			if err != nil {
				return err
			}
			out.take(sh, a, names)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.sort()
	for i := range out.Questions {
		if out.Questions[i].Figures, err = out.Again(i); err != nil {
			out.Questions[i].Why = err.Error()
		}
	}
	return out, nil
}

// plainAsk asks about a question as everybody does who says nothing else.
func plainAsk(o *survey.Open, question string) (*ask, error) {
	in := Query{Question: question, Round: o.Round}
	if err := in.check(o); err != nil {
		return nil, err
	}
	return newAsk(o, in)
}

// take adds a question, and with the first the households.
func (b *Basis) take(sh *sheet, a *ask, names func(string) string) {
	if b.Homes == nil {
		b.Kind, b.NoInterval, b.Enrolled, b.Tally, b.Homes = sh.name, sh.why, sh.enrolled, sh.tally, []BasisHome{}
		for i, h := range sh.homes {
			home := BasisHome{
				Name: names(h.HouseholdID), Stratum: h.Stratum, Group: h.Group, Cluster: h.Cluster, Source: h.Source, Class: sh.classes[i], Outcome: sh.members[i].Outcome, Doubted: sh.doubted[i],
			}
			if h.Replaces != "" {
				home.Replaces = names(h.Replaces)
			}
			b.Homes = append(b.Homes, home)
		}
	}
	g := sh.given[a.of.id]
	q := BasisQuestion{Question: a.in.Question, Has: g.has, Numbers: g.num, Codes: g.code, More: g.more}
	for unit := range g.codes {
		q.Units = append(q.Units, unit)
	}
	slices.Sort(q.Units)
	b.Questions = append(b.Questions, q)
}

// sort orders the households by pseudonym, because any other order would reveal
// something.
func (b *Basis) sort() {
	order := make([]int, len(b.Homes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(b.Homes[x].Name, b.Homes[y].Name) })
	b.Homes = arranged(b.Homes, order)
	for i := range b.Questions {
		q := &b.Questions[i]
		q.Has, q.Numbers, q.Codes = arranged(q.Has, order), arranged(q.Numbers, order), arranged(q.Codes, order)
		more := map[int32][]string{}
		for to, from := range order {
			if some := q.More[int32(from)]; len(some) > 0 {
				more[int32(to)] = some
			}
		}
		q.More = more
	}
}

func arranged[T any](of []T, order []int) []T {
	out := make([]T, len(order))
	for to, from := range order {
		out[to] = of[from]
	}
	return out
}

// Again recomputes the figures of one of the questions from the basis.
func (b *Basis) Again(i int) (*Statistics, error) {
	o, err := b.open()
	if err != nil {
		return nil, err
	}
	q := &b.Questions[i]
	a, err := plainAsk(o, q.Question)
	if err != nil {
		return nil, err
	}
	n := len(b.Homes)
	if len(q.Has) != n || len(q.Numbers) != n || len(q.Codes) != n {
		return nil, fault.New(fault.Invalid, "BASIS_INVALID", "The answers do not match the households.")
	}
	sh := &sheet{basis: basis{b.Kind, b.NoInterval, b.Enrolled}, tally: b.Tally, given: map[int64]*given{}}
	for _, h := range b.Homes {
		sh.homes = append(sh.homes, survey.Sampled{HouseholdID: h.Name, Stratum: h.Stratum, Group: h.Group, Cluster: h.Cluster, Source: h.Source, Replaces: h.Replaces})
		sh.members = append(sh.members, estimate.Member{ID: h.Name, Stratum: h.Stratum, Cluster: h.Cluster, Outcome: h.Outcome})
		sh.classes, sh.doubted = append(sh.classes, h.Class), append(sh.doubted, h.Doubted)
	}
	g := &given{has: q.Has, num: q.Numbers, code: q.Codes, more: q.More, codes: map[string]string{}}
	for _, unit := range q.Units {
		g.codes[unit] = unit
	}
	sh.given[a.of.id] = g
	if err := sh.weigh(a); err != nil {
		return nil, err
	}
	return a.answer(sh, nil)
}

// open is the survey as far as figures ask for it.
func (b *Basis) open() (*survey.Open, error) {
	if b.opened != nil {
		return b.opened, nil
	}
	if b.Template == nil || b.Sampling == nil {
		return nil, fault.New(fault.Invalid, "BASIS_INVALID", "The basis lacks the template or the sampling.")
	}
	whole, err := form.Compile(b.Template)
	if err != nil {
		return nil, err
	}
	f, err := whole.Select(b.Sections)
	if err != nil {
		return nil, err
	}
	b.opened = &survey.Open{SurveyID: b.SurveyID, Round: b.Round, Probability: b.Probability, Sampling: b.Sampling, Form: f}
	return b.opened, nil
}
