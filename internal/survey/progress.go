package survey

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/plan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Tally is how far a part of a round has come.
type Tally struct {
	Target      int64 `json:"target,omitzero" doc:"How many are wanted, where that was said."`
	Drawn       int64 `json:"drawn" doc:"Households on the list."`
	Contacted   int64 `json:"contacted" doc:"Households somebody was reached at: those that answered or refused, too."`
	Completed   int64 `json:"completed" doc:"Complete responses."`
	Partial     int64 `json:"partial" doc:"Responses that are not complete."`
	Verified    int64 `json:"verified"`
	Rejected    int64 `json:"rejected"`
	Flagged     int64 `json:"flagged"`
	Refused     int64 `json:"refused" doc:"Households that refused, to somebody who noted it or in a response."`
	Unreachable int64 `json:"unreachable"`
}

// Progress is how far a round has come.
type Progress struct {
	Tally
	ByStratum map[string]Tally `json:"byStratum"`
	ByGroup   map[string]Tally `json:"byGroup"`
	Warnings  []string         `json:"warnings,omitzero" doc:"What to look at: a sample that is larger than the list of households."`
}

// CellTally is one stratum and group.
type CellTally struct {
	Stratum string `json:"stratum"`
	Group   string `json:"group"`
	Tally
}

// Report is the progress of a round in all detail.
type Report struct {
	SurveyID string `json:"surveyId"`
	Status   Status `json:"status"`
	Round    int    `json:"round"`
	Progress
	Cells []CellTally `json:"cells" doc:"By stratum and group together."`
}

func (c *cell) tally() Tally {
	return Tally{
		Drawn: c.listed, Contacted: c.contacted + c.refused + c.completed + c.partial, Completed: c.completed, Partial: c.partial,
		Verified: c.verified, Rejected: c.rejected, Flagged: c.flagged, Refused: c.refused, Unreachable: c.unreachable,
	}
}

func (t *Tally) add(o Tally) {
	t.Drawn, t.Contacted, t.Completed, t.Partial = t.Drawn+o.Drawn, t.Contacted+o.Contacted, t.Completed+o.Completed, t.Partial+o.Partial
	t.Verified, t.Rejected, t.Flagged = t.Verified+o.Verified, t.Rejected+o.Rejected, t.Flagged+o.Flagged
	t.Refused, t.Unreachable = t.Refused+o.Refused, t.Unreachable+o.Unreachable
}

// progressOf sums the counters of a round.
func progressOf(ctx context.Context, q db.Querier, nid int64, v *Survey, round int) (*Progress, []CellTally, error) {
	list, err := cells(ctx, q, nid, 0)
	if err != nil {
		return nil, nil, err
	}
	more, err := cells(ctx, q, nid, round)
	if err != nil {
		return nil, nil, err
	}
	p := &Progress{ByStratum: map[string]Tally{}, ByGroup: map[string]Tally{}}
	var order []CellTally
	at := map[[2]string]int{}
	for _, c := range append(list, more...) {
		key := [2]string{c.stratum, c.group}
		i, ok := at[key]
		if !ok {
			i = len(order)
			at[key], order = i, append(order, CellTally{Stratum: c.stratum, Group: c.group})
		}
		order[i].add(c.tally())
	}
	for _, c := range order {
		p.add(c.Tally)
		if c.Stratum != "" {
			sum := p.ByStratum[c.Stratum]
			sum.add(c.Tally)
			p.ByStratum[c.Stratum] = sum
		}
		if c.Group != "" {
			sum := p.ByGroup[c.Group]
			sum.add(c.Tally)
			p.ByGroup[c.Group] = sum
		}
	}
	p.aim(v.Sampling)
	return p, order, nil
}

// aim fills in what is wanted, and warns where the list has too few.
func (p *Progress) aim(s *plan.Sampling) {
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
	for _, one := range s.Strata {
		sum := p.ByStratum[one.Name]
		if one.Size != nil {
			sum.Target = int64(*one.Size)
		}
		p.ByStratum[one.Name] = sum
		if listed && sum.Target > sum.Drawn {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the size of the stratum %s is larger than its part of the list: %d and %d", one.Name, sum.Target, sum.Drawn))
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

// Progress tells how far a round has come, the open one for 0. Faults:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (s *Service) Progress(ctx context.Context, id string, round int) (*Report, error) {
	r, v, err := s.read(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	if round == 0 {
		round = v.Round
	}
	if round < 0 || round > v.Round {
		return nil, fault.New(fault.NotFound, "ROUND_NOT_FOUND", fmt.Sprintf("The survey has %d rounds.", v.Round))
	}
	out := &Report{SurveyID: v.SurveyID, Status: v.Status, Round: round, Cells: []CellTally{}}
	err = s.db.View(ctx, func(q db.Querier) error {
		p, order, err := progressOf(ctx, q, r.NID, v, round)
		if err != nil {
			return err
		}
		out.Progress = *p
		out.Cells = append([]CellTally{}, order...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
