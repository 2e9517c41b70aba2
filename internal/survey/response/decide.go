package response

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const insertReviewed = `INSERT INTO response_decisions (nid, response, from_st, to_st, verifier, at, reason, notes, imported, revision, request, reviews)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11)`

// Move is what somebody decides about a response. Whether it may be decided is
// for package verify to say.
type Move struct {
	To      string // state of the verification
	Reviews int64  // how many have approved the response with it
	Reason  string
	Notes   string
}

// event names what a decision is called in events and in the history.
func (m Move) event() string {
	switch m.To {
	case Verified, Rejected:
		return m.To
	}
	return "verification_changed"
}

// movedData is what the event of a decision says about it.
type movedData struct {
	Survey  string `json:"surveyId"`
	From    string `json:"from"`
	To      string `json:"to"`
	Reviews int64  `json:"reviews,omitzero"`
}

// MoveTx stores what the caller of ctx decides about a response that tx holds
// (FindForUpdate): its next revision, the decision and the event. It gives the
// new row, and what the counters of the survey change by: hand those to Count
// of the survey, once in a transaction and last.
func (s *Service) MoveTx(ctx context.Context, tx *db.Tx, o *survey.Open, old *Row, m Move) (*Row, []survey.Delta, error) {
	next := *old
	s.sign(ctx, &next, m.event(), m.Reason)
	next.VStatus, next.Verifier, next.VerifiedAt, next.Reviews = m.To, next.Actor, next.UpdatedAt, m.Reviews
	if m.To == Invalidated {
		next.Slot = old.NID // the household may be asked again
	}
	if ok, err := update(ctx, tx, old, &next); err != nil {
		return nil, nil, err
	} else if !ok {
		return nil, nil, web.CheckMatch(web.ETag(0), old.Revision) // somebody was faster
	}
	_, err := tx.Exec(ctx, insertReviewed, s.db.NewNID(), old.NID, old.VStatus, m.To, next.Actor, next.UpdatedAt, m.Reason, m.Notes,
		next.Revision, next.RequestID, m.Reviews)
	if err != nil {
		return nil, nil, fmt.Errorf("insert decision: %w", err)
	}
	if err := s.tell(ctx, tx, &next, "response."+next.Action, movedData{o.SurveyID, old.VStatus, m.To, m.Reviews}); err != nil {
		return nil, nil, err
	}
	return &next, []survey.Delta{old.Delta(-1), next.Delta(1)}, nil
}
