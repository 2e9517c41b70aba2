package statistics

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// sheet is a round of a survey: its sample, and what the households in it say
// to the questions that are asked for.
type sheet struct {
	basis
	homes   []survey.Sampled
	members []estimate.Member
	classes []response.Class // of the members
	doubted []bool           // members that count only if unverified responses do
	tally   response.Tally
	at      map[int64]int32 // members by response
	given   map[int64]*given
	design  *estimate.Design
	modes   []string // of the members, where they are asked for
}

// reading limits how much is read, and reports progress.
type reading struct {
	most int
	step func(rows int64) // nil: no progress is reported
	rows int64
}

var errLarge = fault.New(fault.Unprocessable, "STATISTICS_TOO_LARGE", "The survey has too many responses or households for one request. GET /v1/surveys/{surveyId}/statistics has a job make its figures.")

// row counts one of the households or responses, of which n were read so far.
func (r *reading) row(n int) error {
	if n > r.most {
		return errLarge
	}
	if r.rows++; r.step != nil && r.rows%10_000 == 0 {
		r.step(r.rows)
	}
	return nil
}

// read gathers a round.
func (s *Service) read(ctx context.Context, q db.Querier, a *ask, round int, r *reading) (*sheet, error) {
	var list []survey.Sampled
	err := survey.EachSampled(ctx, q, a.o, survey.Listed{Round: round, Limit: r.most + 1}, func(h *survey.Sampled) error {
		list = append(list, *h)
		return r.row(len(list))
	})
	if err != nil {
		return nil, err
	}
	sh := newSheet(a, list)
	said := newSaid(a, sh, round)
	n := 0
	err = response.EachStanding(ctx, q, a.o, r.most+1, func(one *response.Standing) error {
		n++
		if err := r.row(n); err != nil {
			return err
		}
		return said.hear(one)
	})
	if err != nil {
		return nil, err
	}
	said.settle()
	for _, one := range a.asked() {
		if err := sh.fill(ctx, q, one, r); err != nil {
			return nil, err
		}
	}
	if a.by != nil && a.by.name == byMode {
		sh.modes = make([]string, len(sh.members))
		err := response.EachMode(ctx, q, a.o, r.most+1, func(nid int64, mode string) error {
			if i, ok := sh.at[nid]; ok {
				sh.modes[i] = mode
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sh, a.advise(sh.weigh(a))
}

func newSheet(a *ask, list []survey.Sampled) *sheet {
	sh := &sheet{tally: response.Tally{}, given: map[int64]*given{}}
	sh.basis, sh.homes = basisOf(a.o, list)
	return sh
}

// advise says what to send instead, where the sample is too small for weights.
func (a *ask) advise(err error) error {
	if a.in.Verified && fault.CodeOf(err) == "SAMPLE_EMPTY" {
		return fault.New(fault.Unprocessable, "SAMPLE_EMPTY", "No response of the sample is verified yet. Omit verified, or verify some responses.")
	}
	f := fault.As(err)
	if f == nil {
		return err
	}
	cells, ok := f.Members.(estimate.Joins)
	if !ok || cells.Join == "" {
		return err
	}
	// Cells that are joined already stay joined.
	for _, group := range a.groups {
		if !strings.Contains(","+strings.ReplaceAll(cells.Join, "|", ",")+",", ","+strings.Join(group, ",")+",") {
			cells.Join += "|" + strings.Join(group, ",")
		}
	}
	f = f.Showing(cells)
	f.Message += " Send join=" + cells.Join
	if cells.Cells[0].Cluster != "" && a.in.Cell == "" {
		f.Message += ", or cell=stratum"
	}
	f.Message += "."
	return f
}

// said is which response of each household says most about it, the newest of
// several.
type said struct {
	a     *ask
	sh    *sheet
	round int
	at    map[string]int32 // homes
	best  []classed        // of the homes
	off   map[string]classed
}

// classed is a response and how its household counts by it.
type classed struct {
	nid     int64
	class   response.Class
	doubted bool // it would count if others than verified ones did
}

func newSaid(a *ask, sh *sheet, round int) *said {
	s := &said{a: a, sh: sh, round: round, at: make(map[string]int32, len(sh.homes)), best: make([]classed, len(sh.homes)), off: map[string]classed{}}
	if sh.enrolled {
		sh.homes = nil
	}
	for i, h := range sh.homes {
		s.at[h.HouseholdID] = int32(i)
	}
	return s
}

// hear adds a response; they come in order of arrival.
func (s *said) hear(r *response.Standing) error {
	if r.Round != s.round {
		return nil
	}
	k := classed{nid: r.NID, class: r.Class(s.a.in.Verified)}
	k.doubted = k.class == response.ClassUnverified
	if k.class.Answers() && r.Typed != response.Typed {
		return fault.New(fault.Unavailable, "ANSWERS_PENDING", "The answers of earlier responses are being prepared. Try again later.").After(time.Minute)
	}
	i, ok := s.at[r.Household]
	if !ok && s.sh.enrolled {
		i, ok = int32(len(s.best)), true
		s.at[r.Household], s.best = i, append(s.best, classed{})
		s.sh.homes = append(s.sh.homes, survey.Sampled{HouseholdID: r.Household})
	}
	switch {
	case !ok:
		if old, heard := s.off[r.Household]; !heard || k.class.Stronger(old.class) {
			s.off[r.Household] = k
		}
	case s.best[i].nid == 0 || k.class.Stronger(s.best[i].class):
		s.best[i] = k
		if s.sh.enrolled {
			s.sh.homes[i].Stratum, s.sh.homes[i].Group = r.Stratum, r.Group
		}
	}
	return nil
}

// settle says what became of each household of the sample.
func (s *said) settle() {
	sh := s.sh
	if sh.enrolled {
		s.enrol()
	}
	s.dropSurplus()
	if sh.name == census && sh.chance() {
		sh.why = sh.missing(s.a.o.Sampling)
	}
	sh.members, sh.doubted = make([]estimate.Member, len(sh.homes)), make([]bool, len(sh.homes))
	sh.at, sh.classes = make(map[int64]int32, len(sh.homes)), make([]response.Class, len(sh.homes))
	for i, h := range sh.homes {
		m, k := &sh.members[i], s.best[i]
		*m = estimate.Member{ID: h.HouseholdID, Stratum: s.a.joined(h.Stratum), Cluster: s.a.joined(h.Cluster)}
		if k.nid == 0 || k.class == response.Replaced {
			k.class = response.Unit{Outcome: h.Outcome}.Class(s.a.in.Verified)
		} else {
			sh.at[k.nid] = int32(i)
		}
		switch k.class {
		case response.Counted:
			m.Outcome = estimate.Answered
		case response.Ineligible:
			m.Outcome = estimate.Ineligible
		}
		sh.doubted[i] = k.doubted
		sh.tally[k.class]++
		sh.classes[i] = k.class
	}
	for _, k := range s.off {
		if k.class.Answers() {
			sh.tally[response.OffList]++
		}
	}
}

// dropSurplus takes replacements out of the sample whose place is filled.
func (s *said) dropSurplus() {
	sh := s.sh
	if !slices.ContainsFunc(sh.homes, func(h survey.Sampled) bool { return h.Replaces != "" }) {
		return
	}
	surplus := response.InSurplus(sh.homes, func(id string) response.Class { return s.best[s.at[id]].class })
	homes, best := sh.homes[:0], s.best[:0]
	for i, h := range sh.homes {
		if surplus[h.HouseholdID] {
			sh.tally[response.Surplus]++
			continue
		}
		homes, best = append(homes, h), append(best, s.best[i])
	}
	sh.homes, s.best = homes, best
}

// enrol keeps the households whose response counts, or will once it is verified,
// in the order these came: without a list they are the sample.
func (s *said) enrol() {
	var order []int
	for i, k := range s.best {
		if k.class.Answers() || k.doubted {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(s.best[a].nid, s.best[b].nid) })
	homes, best := make([]survey.Sampled, len(order)), make([]classed, len(order))
	for i, from := range order {
		homes[i], best[i] = s.sh.homes[from], s.best[from]
	}
	s.sh.homes, s.best = homes, best
}

// given is the members' answers to a question: one row for each, and further
// rows for those who have chosen several options.
type given struct {
	has   []bool
	num   []float64
	code  []string
	more  map[int32][]string // codes
	codes map[string]string  // all that occur
}

func newGiven(members int) *given {
	return &given{
		has: make([]bool, members), num: make([]float64, members), code: make([]string, members), more: map[int32][]string{}, codes: map[string]string{},
	}
}

// chose reports whether a member has chosen an option.
func (g *given) chose(i int, option string) bool {
	return g.has[i] && (g.code[i] == option || len(g.more) > 0 && slices.Contains(g.more[int32(i)], option))
}

// fill reads what the members say to a question.
func (sh *sheet) fill(ctx context.Context, q db.Querier, v variable, r *reading) error {
	if sh.given[v.id] != nil {
		return nil
	}
	// Several options of one response are several rows, as are the elements of a
	// repeat.
	limit := 20 * r.most
	g, n := newGiven(len(sh.members)), 0
	counts := make([]int32, len(sh.members)) // of the elements of a repeat
	err := answer.Each(ctx, q, v.id, limit+1, func(row *answer.Given) error {
		if n++; n > limit {
			return errLarge
		}
		i, ok := sh.at[row.NID]
		if !ok {
			return nil
		}
		code, known := g.codes[row.Code]
		if !known {
			g.codes[row.Code], code = row.Code, row.Code
		}
		if v.repeat == "" && g.has[i] {
			g.more[i] = append(g.more[i], code)
			return nil
		}
		if v.repeat == "" || v.option == "" || v.option == code {
			counts[i]++
		}
		g.has[i], g.code[i] = true, code
		g.num[i] += row.Num
		return r.row(0)
	})
	g.gather(v.repeat, counts)
	sh.given[v.id] = g
	return err
}

// gather makes one number of the elements of a repeat. A household whose repeat
// is empty has none of them; only a mean it has not.
func (g *given) gather(repeat string, counts []int32) {
	for i, n := range counts {
		switch {
		case repeat == repeatCount:
			g.has[i], g.num[i] = true, float64(n)
		case repeat == repeatSum:
			g.has[i] = true
		case repeat == repeatMean && n > 0:
			g.num[i] /= float64(n)
		}
	}
}

// weigh makes the design, fitted to known totals where that is wanted.
func (sh *sheet) weigh(a *ask) error {
	plan := sh.plan(a)
	members := sh.members
	if !sh.chance() {
		members = make([]estimate.Member, len(sh.members))
		for i, m := range sh.members {
			members[i] = estimate.Member{ID: m.ID, Outcome: m.Outcome}
		}
	}
	d, err := plan.Weigh(members)
	if err != nil {
		return err
	}
	sh.design = d
	if a.in.Adjust == "" || a.in.Adjust == adjustNone {
		return nil
	}
	var margins []estimate.Margin
	for i, t := range a.totals {
		margins = append(margins, a.margin(t, sh.values(a.margins[i])))
	}
	sh.design, err = d.Calibrate(margins)
	return err
}

// values is the value of something for each member; "" where none is known.
func (sh *sheet) values(v variable) []string {
	out := make([]string, len(sh.homes))
	for i := range sh.homes {
		out[i] = sh.value(v, i)
	}
	return out
}

func (sh *sheet) value(v variable, i int) string {
	switch v.name {
	case "group":
		return sh.homes[i].Group
	case "stratum":
		return sh.homes[i].Stratum
	case byMode:
		return sh.modes[i]
	}
	return sh.given[v.id].code[i]
}
