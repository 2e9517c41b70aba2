package survey

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func checkNext(n NextRound) error {
	var c fault.Checks
	check.Short(&c, "/name", n.Name, MaxName)
	check.Short(&c, "/reason", n.Reason, check.MaxReason)
	CheckWindow(n.Window, &c, "/window")
	return Invalid(&c)
}

// OpenRound ends the open round of a running campaign and opens the next.
// ifMatch may be empty. Faults: SURVEY_NOT_FOUND, STATE_TRANSITION_INVALID,
// TOO_MANY_ROUNDS, and those of web.CheckMatch.
func (s *Service) OpenRound(ctx context.Context, id, ifMatch string, n NextRound) (web.Reply[*Survey], error) {
	var none web.Reply[*Survey]
	if err := checkNext(n); err != nil {
		return none, err
	}
	return again(func() (web.Reply[*Survey], error) {
		r, v, err := read(ctx, s.db, id)
		if err == nil && ifMatch != "" {
			err = web.CheckMatch(ifMatch, r.Revision)
		}
		if err == nil && v.Status != StatusActive && v.Status != StatusPaused {
			err = fault.New(fault.Conflict, transitionCode, "Only an active or paused survey has a next round.").With(wrongStatus(v.Status))
		}
		if err == nil && v.Round >= maxRounds {
			err = fault.New(fault.Conflict, "TOO_MANY_ROUNDS", fmt.Sprintf("A survey has at most %d rounds.", maxRounds))
		}
		if err != nil {
			return once.Refuse[*Survey](ctx, s.cfg.Idem, err)
		}
		v.Rounds = slices.Clone(v.Rounds)
		v.Rounds[len(v.Rounds)-1].Closed = s.now()
		v.Round++
		v.Rounds = append(v.Rounds, Round{Round: v.Round, Name: n.Name, Opened: s.now(), OpenedBy: web.CallerFrom(ctx).DID, Window: n.Window})
		body, err := s.next(ctx, r, v)
		if err != nil {
			return none, err
		}
		return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Survey], error) {
			reply, err := s.storeTx(ctx, tx, r, v, step{change: change{"round opened", n.Reason}, event: "survey.updated", body: body})
			reply.Status, reply.Location = http.StatusCreated, "/v1/surveys/"+v.SurveyID+"/rounds"
			return reply, err
		})
	})
}
