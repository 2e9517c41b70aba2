package response

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// supersede makes room for a response that replaces another of its household
// and round, and returns what to subtract from the counters. No Deltas mean
// that the very same response is stored already.
func (s *Service) supersede(ctx context.Context, tx *db.Tx, p *Prepared) (Stored, error) {
	row := &p.row
	if r, err := find(ctx, tx, row.Workspace, row.ResponseID); err == nil {
		if r.isAgain(ctx, row) {
			return Stored{Row: r}, nil
		}
		return Stored{Row: r}, s.conflict(ctx, tx, p, r)
	} else if fault.CodeOf(err) != "RESPONSE_NOT_FOUND" {
		return Stored{}, err
	}
	old, err := findForUpdate(ctx, tx, s.db.Dialect(), row.Workspace, p.draft.Supersedes)
	if err != nil && fault.CodeOf(err) != "RESPONSE_NOT_FOUND" {
		return Stored{}, err
	}
	if err != nil || old.Survey != row.Survey {
		return Stored{}, notReplaced("not_found", "The survey has no response with this id.")
	}
	if err := MayChange(ctx, old); err != nil {
		return Stored{}, err
	}
	if err := old.yields(ctx, row); err != nil {
		if !old.Knows(ctx) {
			err = notReplaced("not_replaceable", "That response is not a response of this household in this round that can be replaced.")
		}
		return Stored{}, err
	}
	gone := old.Delta(-1)
	gone.Lengths = old.length(-1)
	return Stored{Deltas: []survey.Delta{gone}}, s.retire(ctx, tx, p, old)
}

// yields says why a response cannot be replaced by another; nil when it can.
// Callers who may not know the household get no details: by trying one
// household after the other they would learn which it is.
func (r *Row) yields(ctx context.Context, to *Row) error {
	switch {
	case r.Household != to.Household:
		return notReplaced("other_household", "That response is of another household.")
	case r.Round != to.Round:
		return notReplaced("other_round", "That response is of another round.")
	case r.Status == Redacted:
		return notReplaced("redacted", "That response was taken out; a new response does not need to replace it.")
	case r.VStatus == Superseded:
		return notReplaced("superseded", "That response was already replaced.")
	case r.VStatus == Verified && !web.CallerFrom(ctx).May("responses:verify"):
		return notReplaced("verified", "That response is verified; replacing it needs the scope responses:verify.")
	}
	return nil
}

func notReplaced(code, detail string) error {
	return fault.New(fault.Conflict, "SUPERSEDES_INVALID", "The response cannot replace the other one.").
		With(fault.Field{Pointer: "/supersedes", Code: code, Detail: detail})
}

// duplicate refuses a second response of the household in the round. Callers
// who may not know the household are not told which is the first.
func (r *Row) duplicate(ctx context.Context) error {
	if !r.Knows(ctx) {
		return Duplicate(nil)
	}
	return Duplicate(&Existing{ResponseID: r.ResponseID, Href: Path(r.ResponseID)})
}

// retire ends a response in favour of the one that is prepared.
func (s *Service) retire(ctx context.Context, tx *db.Tx, p *Prepared, old *Row) error {
	head, err := old.Head()
	if err != nil {
		return err
	}
	head.SupersededBy = p.row.ResponseID
	body, err := web.Encode(head)
	if err != nil {
		return err
	}
	next := *old
	next.Body, next.Slot, next.VStatus = body, old.NID, Superseded
	s.sign(ctx, &next, "superseded", "")
	if ok, err := update(ctx, tx, old, &next); err != nil {
		return err
	} else if !ok {
		return web.Overtaken()
	}
	err = insertDecision(ctx, tx, decision{
		NID: s.db.NewNID(), Response: old.NID, From: old.VStatus, To: Superseded, Verifier: next.Actor, At: next.UpdatedAt,
		Reason: "replaced by " + p.row.ResponseID, Revision: next.Revision, RequestID: next.RequestID,
	})
	if err != nil {
		return err
	}
	return s.tell(ctx, tx, &next, "response.superseded", nil)
}

// sign says who makes the next revision of a row, when and why. It is one that
// changes the content, unless its maker says otherwise.
func (s *Service) sign(ctx context.Context, r *Row, action, reason string) {
	r.Revision++
	r.Stated = r.Revision
	r.UpdatedAt = max(s.now().UnixMilli(), r.UpdatedAt)
	r.Action, r.Actor, r.RequestID, r.Reason = action, web.CallerFrom(ctx).DID, web.RequestID(ctx), reason
}
