package response

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// supersede makes room for a response that replaces another of its household
// and round, and gives what that takes from the counters. Without Deltas the
// very same response is there already.
func (s *Service) supersede(ctx context.Context, tx *db.Tx, p *Prepared) (Stored, error) {
	row := &p.row
	if r, err := find(ctx, tx, row.Workspace, row.ResponseID); err == nil {
		if r.Survey == row.Survey && r.has(row.Hash) {
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
	wrong := func(code, detail string) (Stored, error) {
		return Stored{}, fault.New(fault.Conflict, "SUPERSEDES_INVALID", "The response cannot replace the other one.").
			With(fault.Field{Pointer: "/supersedes", Code: code, Detail: detail})
	}
	switch {
	case err != nil || old.Survey != row.Survey:
		return wrong("not_found", "The survey has no response with this id.")
	case old.Household != row.Household:
		return wrong("other_household", "That response is of another household.")
	case old.Round != row.Round:
		return wrong("other_round", "That response is of another round.")
	case old.Status == Redacted:
		return wrong("redacted", "That response was taken out; it stands in nobody's way.")
	case old.VStatus == Superseded:
		return wrong("superseded", "That response was replaced already.")
	case old.VStatus == Verified && !web.CallerFrom(ctx).May("responses:verify"):
		return wrong("verified", "That response is verified; replacing it needs the scope responses:verify.")
	}
	return Stored{Deltas: []survey.Delta{old.Delta(-1)}}, s.retire(ctx, tx, p, old)
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
		return web.CheckMatch(web.ETag(0), old.Revision) // somebody was faster
	}
	err = AddDecision(ctx, tx, Decision{
		NID: s.db.NewNID(), Response: old.NID, From: old.VStatus, To: Superseded, Verifier: next.Actor, At: next.UpdatedAt,
		Reason: "replaced by " + p.row.ResponseID, Revision: next.Revision, RequestID: next.RequestID,
	})
	if err != nil {
		return err
	}
	return s.tell(ctx, tx, &next, "response.superseded", nil)
}

// sign says who makes the next revision of a row, when and why.
func (s *Service) sign(ctx context.Context, r *Row, action, reason string) {
	r.Revision++
	r.UpdatedAt = max(s.now().UnixMilli(), r.UpdatedAt)
	r.Action, r.Actor, r.RequestID, r.Reason = action, web.CallerFrom(ctx).DID, web.RequestID(ctx), reason
}
