package statistics

import (
	"context"
	"slices"
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
	tally   response.Tally
	at      map[int64]int // members by response
	given   map[int64]map[int][]answer.Row
	design  *estimate.Design
}

// read gathers a round.
func (s *Service) read(ctx context.Context, q db.Querier, a *ask, round int) (*sheet, error) {
	list, err := s.surveys.Sampled(ctx, q, a.o, round, maxResponses+1)
	if err != nil {
		return nil, err
	}
	all, err := s.responses.Standings(ctx, q, a.o, maxResponses+1)
	if err != nil {
		return nil, err
	}
	if len(list) > maxResponses || len(all) > maxResponses {
		return nil, fault.New(fault.Unprocessable, "STATISTICS_TOO_LARGE", "Figures are given for at most 20,000 responses and households. Export the responses, which carry their strata and clusters.")
	}
	sh, err := newSheet(a, list, all, round)
	if err != nil {
		return nil, err
	}
	sh.given = map[int64]map[int][]answer.Row{}
	for _, one := range a.asked() {
		if err := sh.fill(ctx, q, one.id); err != nil {
			return nil, err
		}
	}
	return sh, sh.weigh(a)
}

// newSheet says what became of each household of the sample.
func newSheet(a *ask, list []survey.Sampled, all []response.Standing, round int) (*sheet, error) {
	said, err := strongest(a, all, round)
	if err != nil {
		return nil, err
	}
	sh := &sheet{at: map[int64]int{}, tally: response.Tally{}}
	sh.basis, sh.homes = basisOf(a.o, list)
	if sh.enrolled {
		sh.homes = nil
		for _, r := range all {
			if k := said[r.Household]; k.NID == r.NID && k.class.Answers() {
				sh.homes = append(sh.homes, survey.Sampled{HouseholdID: r.Household, Stratum: r.Stratum, Group: r.Group})
			}
		}
	}
	sh.dropSurplus(said)
	for i, h := range sh.homes {
		m := estimate.Member{ID: h.HouseholdID, Stratum: h.Stratum, Cluster: h.Cluster}
		k, ok := said[h.HouseholdID]
		if !ok || k.class == response.Replaced {
			k.class = response.Unit{Outcome: h.Outcome}.Class(a.in.Verified)
		} else {
			sh.at[k.NID] = i
		}
		switch k.class {
		case response.Counted:
			m.Outcome = estimate.Answered
		case response.Ineligible:
			m.Outcome = estimate.Ineligible
		}
		sh.tally[k.class]++
		delete(said, h.HouseholdID)
		sh.members, sh.classes = append(sh.members, m), append(sh.classes, k.class)
	}
	for _, k := range said {
		if k.class.Answers() {
			sh.tally[response.OffList]++
		}
	}
	return sh, nil
}

// dropSurplus takes replacements out of the sample whose place is filled.
func (sh *sheet) dropSurplus(said map[string]classed) {
	surplus := response.InSurplus(sh.homes, func(id string) response.Class { return said[id].class })
	sh.homes = slices.DeleteFunc(sh.homes, func(h survey.Sampled) bool { return surplus[h.HouseholdID] })
	for id := range surplus {
		sh.tally[response.Surplus]++
		delete(said, id)
	}
}

// classed is a response and how its household counts by it.
type classed struct {
	response.Standing
	class response.Class
}

// strongest is the response of each household in a round that says most about
// it, the newest of several.
func strongest(a *ask, all []response.Standing, round int) (map[string]classed, error) {
	out := map[string]classed{}
	for _, r := range all {
		if r.Round != round {
			continue
		}
		k := classed{r, r.Class(a.in.Verified)}
		if k.class.Answers() && r.Typed != response.Typed {
			return nil, fault.New(fault.Unavailable, "ANSWERS_PENDING", "The answers of earlier responses are being prepared. Try again later.").After(time.Minute)
		}
		if old, ok := out[r.Household]; !ok || k.class.Stronger(old.class) {
			out[r.Household] = k
		}
	}
	return out, nil
}

// fill reads what the members say to a question.
func (sh *sheet) fill(ctx context.Context, q db.Querier, id int64) error {
	// Several options of one response are several rows.
	const limit = 20 * maxResponses
	rows, err := answer.List(ctx, q, id, limit+1)
	if err != nil {
		return err
	}
	if len(rows) > limit {
		return fault.New(fault.Unprocessable, "STATISTICS_TOO_LARGE", "The question has more answers than one request reads.")
	}
	given := make(map[int][]answer.Row, len(sh.at))
	for _, r := range rows {
		if i, ok := sh.at[r.NID]; ok {
			given[i] = append(given[i], r.Row)
		}
	}
	sh.given[id] = given
	return nil
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
		margins = append(margins, estimate.Margin{By: t.By, Of: sh.values(a.margins[i]), Totals: t.Values})
	}
	sh.design, err = d.Calibrate(margins)
	return err
}

// values is the value of something for each member; "" where none is known.
func (sh *sheet) values(v variable) []string {
	out := make([]string, len(sh.homes))
	for i, h := range sh.homes {
		switch v.name {
		case "group":
			out[i] = h.Group
		case "stratum":
			out[i] = h.Stratum
		default:
			if rows := sh.given[v.id][i]; len(rows) > 0 {
				out[i] = rows[0].Code
			}
		}
	}
	return out
}
