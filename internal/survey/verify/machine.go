package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// moves are the states to which a decision may move a response. A response that
// needs correction becomes pending when it is corrected; that, and being
// superseded, is not a decision and happens in package response, from every
// open state.
var moves = map[string][]string{
	response.Pending:         {response.InReview, response.NeedsCorrection, response.Flagged, response.Verified, response.Rejected},
	response.InReview:        {response.Pending, response.NeedsCorrection, response.Flagged, response.Verified, response.Rejected},
	response.NeedsCorrection: {response.Rejected}, // when none comes
	response.Flagged:         {response.InReview, response.NeedsCorrection, response.Verified, response.Rejected},
	response.Verified:        {response.Disputed, response.Invalidated},
	response.Rejected:        {response.Pending, response.Disputed},
	response.Disputed:        {response.Verified, response.Rejected, response.Invalidated},
	response.Superseded:      {},
	response.Invalidated:     {},
}

// States are the states of a verification, in the order they usually come.
func States() []string {
	return []string{
		response.Pending, response.InReview, response.NeedsCorrection, response.Flagged, response.Verified, response.Rejected, response.Disputed,
		response.Invalidated, response.Superseded,
	}
}

// needsReason reports whether a move must say why. From is "" when it is not
// known yet.
func needsReason(from, to string) bool {
	return response.NeedsReason(to) || from == response.Rejected
}

// decide says what a decision of a verifier, under all its names, makes of a
// response, or why it cannot be made. reviewers is how many must approve. Faults:
// VERIFIER_IS_COLLECTOR, RESPONSE_NOT_VERIFIABLE, STATE_TRANSITION_INVALID,
// SECOND_REVIEWER_REQUIRED, VERIFICATION_INVALID.
func decide(r *response.Row, d Draft, verifier []string, reviewers int) (response.Move, error) {
	m := response.Move{To: d.Status, Reason: d.Reason, Notes: d.Notes}
	for _, name := range verifier {
		if err := response.MayJudge(name, r.Collector, r.Sender); err != nil {
			return m, err
		}
	}
	switch {
	case r.Status == response.Redacted:
		return m, response.NotVerifiable("/status", r.Status)
	case r.VStatus == d.Status && slices.Contains(verifier, r.Verifier):
		return m, cannot(r.VStatus, fmt.Sprintf("You already made this response %s, with another reason or other notes.", d.Status))
	case !slices.Contains(moves[r.VStatus], d.Status):
		return m, cannot(r.VStatus, fmt.Sprintf("A response that is %s cannot become %s.", r.VStatus, d.Status))
	case strings.TrimSpace(d.Reason) == "" && needsReason(r.VStatus, d.Status):
		return m, fault.New(fault.Invalid, invalidCode, "The decision is not valid.").
			With(fault.Field{Pointer: "/reason", Code: "required", Detail: fmt.Sprintf("A response that is %s needs a reason to become %s.", r.VStatus, d.Status)})
	case d.Status != response.Verified:
		return m, nil // whatever was approved before is open again
	case r.Status != response.Complete:
		return m, response.NotVerifiable("/status", r.Status)
	}
	return approve(r, m, verifier, reviewers)
}

// approve counts an approval. The one that approved before is the verifier of
// the row: any other decision in between has taken the count back to 0.
func approve(r *response.Row, m response.Move, verifier []string, reviewers int) (response.Move, error) {
	if r.Reviews > 0 && slices.Contains(verifier, r.Verifier) {
		return m, fault.New(fault.Conflict, "SECOND_REVIEWER_REQUIRED", "You approved this response. Another verifier must approve it too.")
	}
	if m.Reviews = r.Reviews + 1; m.Reviews >= int64(reviewers) {
		return m, nil
	}
	if m.To = response.InReview; r.VStatus == response.Disputed {
		m.To = response.Disputed // until the dispute is settled
	}
	return m, nil
}

// cannot says why a move is not made, and where the response may go.
func cannot(from, why string) error {
	way := "Its state can no longer change."
	switch allowed := moves[from]; {
	case from == response.NeedsCorrection:
		way = "A correction makes it pending; a decision can make it " + strings.Join(allowed, " or ") + "."
	case len(allowed) > 0:
		way = "Allowed: " + strings.Join(allowed, ", ") + "."
	}
	return fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", why).
		With(fault.Field{Pointer: "/status", Code: "transition_invalid", Detail: way})
}
