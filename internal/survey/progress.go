package survey

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func (c *cell) tally() Tally {
	return Tally{
		Drawn: c.listed, Contacted: c.contacted + c.refused + c.completed + c.partial, Completed: c.completed, Partial: c.partial,
		Verified: c.verified, Rejected: c.rejected, Flagged: c.flagged, Refused: c.refused, Unreachable: c.unreachable, Ineligible: c.ineligible,
	}
}

func addTally(t *Tally, o Tally) {
	t.Drawn, t.Contacted, t.Completed, t.Partial = t.Drawn+o.Drawn, t.Contacted+o.Contacted, t.Completed+o.Completed, t.Partial+o.Partial
	t.Verified, t.Rejected, t.Flagged = t.Verified+o.Verified, t.Rejected+o.Rejected, t.Flagged+o.Flagged
	t.Refused, t.Unreachable, t.Ineligible = t.Refused+o.Refused, t.Unreachable+o.Unreachable, t.Ineligible+o.Ineligible
}

// progressOf sums the counters of a round.
func progressOf(ctx context.Context, q db.Querier, nid int64, v *Survey, round int) (*Progress, []api.SurveyCell, error) {
	list, err := cells(ctx, q, nid, 0)
	if err != nil {
		return nil, nil, err
	}
	more, err := cells(ctx, q, nid, round)
	if err != nil {
		return nil, nil, err
	}
	p := &Progress{ByStratum: map[string]Tally{}, ByGroup: map[string]Tally{}}
	var order []api.SurveyCell
	at := map[[2]string]int{}
	for _, c := range append(list, more...) {
		key := [2]string{c.stratum, c.group}
		i, ok := at[key]
		if !ok {
			i = len(order)
			at[key], order = i, append(order, api.SurveyCell{Stratum: c.stratum, Group: c.group})
		}
		addTally(&order[i].SurveyTally, c.tally())
	}
	for _, c := range order {
		addTally(&p.SurveyTally, c.SurveyTally)
		if c.Stratum != "" {
			sum := p.ByStratum[c.Stratum]
			addTally(&sum, c.SurveyTally)
			p.ByStratum[c.Stratum] = sum
		}
		if c.Group != "" {
			sum := p.ByGroup[c.Group]
			addTally(&sum, c.SurveyTally)
			p.ByGroup[c.Group] = sum
		}
	}
	aim(p, v.Sampling)
	return p, order, nil
}

// aim fills in the targets, and warns where the list has too few households, or
// more than exist.
func aim(p *Progress, s *Sampling) {
	if s == nil {
		return
	}
	listed := p.Drawn > 0 && s.Enrolment != "open" // then others may join
	if s.Size != nil {
		p.Target = int64(*s.Size)
	}
	if listed && p.Target > p.Drawn {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the size is larger than the list of households: %d and %d", p.Target, p.Drawn))
	}
	if s.Population != nil && p.Drawn > int64(*s.Population) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the list of households is larger than the population: %d and %d. Correct sampling.population, or take households off the list; otherwise there are no figures once more households answer than the population has", p.Drawn, int64(*s.Population)))
	}
	for _, one := range s.Strata {
		sum := p.ByStratum[one.Name]
		if one.Size != nil {
			sum.Target = int64(*one.Size)
		}
		p.ByStratum[one.Name] = sum
		if listed && sum.Target > sum.Drawn {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the size of the stratum %s is larger than its part of the list: %d and %d", one.Name, sum.Target, sum.Drawn))
		}
		if one.Population != nil && sum.Drawn > int64(*one.Population) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the list of the stratum %s is larger than its population: %d and %d. Correct the population, or take households off the list", one.Name, sum.Drawn, int64(*one.Population)))
		}
	}
}

// show is a stored record with the progress of its open round.
func show(ctx context.Context, q db.Querier, nid int64, v *Survey, body []byte) ([]byte, error) {
	p, _, err := progressOf(ctx, q, nid, v, v.Round)
	if err != nil {
		return nil, err
	}
	return splice(body, p)
}

// splice puts progress at the end of a record.
func splice(body []byte, p *Progress) ([]byte, error) {
	text, err := web.Encode(p)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{bytes.TrimSuffix(body, []byte("}")), []byte(`,"progress":`), text, []byte("}")}, nil), nil
}

// Progress returns the progress of a round, the open one for 0. Faults:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (s *Service) Progress(ctx context.Context, id string, round int) (*Report, error) {
	r, v, err := read(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	if round == 0 {
		round = v.Round
	}
	if round < 0 || round > v.Round {
		return nil, fault.New(fault.NotFound, "ROUND_NOT_FOUND", fmt.Sprintf("The survey has %d rounds.", v.Round))
	}
	out := &Report{SurveyID: v.SurveyID, Status: string(v.Status), Round: round, Cells: []api.SurveyCell{}}
	err = s.db.View(ctx, func(q db.Querier) error {
		p, order, err := progressOf(ctx, q, r.NID, v, round)
		if err != nil {
			return err
		}
		out.SurveyProgress = *p
		out.Cells = append([]api.SurveyCell{}, order...)
		out.Days, err = days(ctx, q, r.NID, round)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
