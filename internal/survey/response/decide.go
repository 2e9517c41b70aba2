package response

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// MayJudge refuses a verifier who has collected or sent the response. The fault
// is VERIFIER_IS_COLLECTOR.
func MayJudge(verifier, collector, sender string) error {
	if verifier != "" && verifier != collector && verifier != sender {
		return nil
	}
	return OwnWork()
}

// OwnWork is the fault of deciding about one's own work.
func OwnWork() error {
	return fault.New(fault.Forbidden, "VERIFIER_IS_COLLECTOR", "A person who collected, sent or corrected a response, or who belongs to the group that collected or sent it, cannot decide about it.")
}

// NotVerifiable is the fault of a response whose status does not allow
// verification; pointer is where that was requested.
func NotVerifiable(pointer string, is Status) error {
	detail := "Required answers are missing, or there are too few answers."
	switch is {
	case Refused:
		detail = "The household did not consent."
	case Redacted:
		detail = "The answers were taken out."
	}
	return fault.New(fault.Conflict, "RESPONSE_NOT_VERIFIABLE", "A response that is "+string(is)+" cannot be verified.").
		With(fault.Field{Pointer: pointer, Code: string(is), Detail: detail})
}

// NeedsReason reports whether a decision always requires a reason.
func NeedsReason(to string) bool {
	switch to {
	case Rejected, NeedsCorrection, Disputed, Invalidated:
		return true
	}
	return false
}

// Move is a decision about a response. Package verify checks whether it is
// allowed.
type Move struct {
	To      string // state of the verification
	Judged  int64  // revision it is about
	Reviews int64  // how many have approved the response with it
	Reason  string
	Notes   string
}

// ContentEvents are the events that change the content of a response, or create
// one.
func ContentEvents() event.Filter {
	return event.Filter{"response.submitted", "response.updated", "response.redacted", "response.superseded"}
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

// MoveTx stores the decision of the caller of ctx about a response that tx
// holds (FindForUpdate): its next revision, the decision and the event. It
// returns the new row, and the changes of the survey's counters: pass those to
// Count of the survey, once in a transaction and last.
func (s *Service) MoveTx(ctx context.Context, tx *db.Tx, o *survey.Open, old *Row, m Move) (*Row, []survey.Delta, error) {
	next := *old
	s.sign(ctx, &next, m.event(), m.Reason)
	next.Stated = old.Stated
	next.VStatus, next.Verifier, next.VerifiedAt, next.Reviews, next.ImportedBy = m.To, next.Actor, next.UpdatedAt, m.Reviews, ""
	if m.To == Invalidated {
		next.Slot = old.NID // the household may be asked again
	}
	if ok, err := update(ctx, tx, old, &next); err != nil {
		return nil, nil, err
	} else if !ok {
		return nil, nil, web.Overtaken()
	}
	err := insertDecision(ctx, tx, decision{
		NID: s.db.NewNID(), Response: old.NID, From: old.VStatus, To: m.To, Verifier: next.Actor, At: next.UpdatedAt, Reason: m.Reason, Notes: m.Notes,
		Revision: next.Revision, RequestID: next.RequestID, Reviews: m.Reviews, Judged: m.Judged,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.tell(ctx, tx, &next, "response."+next.Action, movedData{o.SurveyID, old.VStatus, m.To, m.Reviews}); err != nil {
		return nil, nil, err
	}
	counted, err := s.counted(ctx, tx, o, old, &next)
	return &next, counted, err
}
