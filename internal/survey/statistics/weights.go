package statistics

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Weigh gives the households of rounds the default weights of figures, with the
// responses as they were at a time. A round without weights says why.
func (s *Service) Weigh(ctx context.Context, o *survey.Open, rounds []int, at time.Time) (out []survey.WeighedRound, err error) {
	err = s.db.View(ctx, func(q db.Querier) error {
		out = nil
		for left, i := inJob, 0; i < len(rounds); i++ {
			list, err := s.surveys.Sampled(ctx, q, o, rounds[i], left+1)
			if err != nil {
				return err
			}
			w := survey.WeighedRound{Round: rounds[i], Why: fmt.Sprintf("Weights are given for at most %d households, of all rounds together.", inJob)}
			if len(list) <= left {
				each := func(hear func(*response.Standing) error) error { return response.EachStandingAt(ctx, q, o, at, hear) }
				if w, err = weighRound(o, list, each, rounds[i]); err != nil {
					return err
				}
				left -= len(list)
			}
			out = append(out, w)
		}
		return nil
	})
	return out, err
}

// weighRound weighs the sample of one round.
func weighRound(o *survey.Open, list []survey.Sampled, each func(func(*response.Standing) error) error, round int) (survey.WeighedRound, error) {
	a := &ask{o: o}
	sh := newSheet(a, list)
	said := newSaid(a, sh, round)
	err := each(func(r *response.Standing) error {
		if r.Typed != response.Rowless {
			r.Typed = response.Typed // weights need no rows
		}
		return said.hear(r)
	})
	if err != nil {
		return survey.WeighedRound{}, err
	}
	said.settle()
	w := survey.WeighedRound{Round: round, Basis: sh.name, Why: sh.why, Words: sh.tally.Words(false)}
	if !sh.chance() {
		return w, nil
	}
	if err := sh.weigh(a); fault.As(err) != nil {
		w.Why = fault.As(err).Message
		return w, nil
	} else if err != nil {
		return w, err
	}
	w.Homes = make([]survey.Weighed, len(sh.homes))
	for i, h := range sh.homes {
		w.Homes[i] = survey.Weighed{Sampled: h, Class: string(sh.classes[i]), Weight: sh.design.Weight(i)}
	}
	for nid, i := range sh.at {
		w.Homes[i].Response = nid
	}
	sh.stages(a, w.Homes)
	return w, nil
}

// stages says how many units there are to draw from. Clusters drawn by their size
// count as drawn with replacement, from any number.
func (sh *sheet) stages(a *ask, homes []survey.Weighed) {
	p := sh.plan(a)
	units, sizes := map[string]float64{}, map[[2]string]float64{}
	for _, h := range p.Strata {
		if units[h.Name] = h.Population; p.Clustered {
			units[h.Name] = h.Clusters
		}
	}
	for _, c := range p.Clusters {
		sizes[[2]string{c.Stratum, c.Name}] = c.Size
	}
	for i := range homes {
		h := &homes[i]
		n := units[h.Stratum]
		switch {
		case !p.Clustered:
			h.FPC[0] = n
		case !p.BySize && n > 0:
			h.FPC = [2]float64{n, sizes[[2]string{h.Stratum, h.Cluster}]}
		}
	}
}
