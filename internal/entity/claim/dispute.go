package claim

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The outcomes of a dispute.
const (
	disputeOpen = "open"
	upheld      = "upheld"
	dismissed   = "dismissed"
)

const (
	insertDispute = `INSERT INTO claim_disputes (nid, ws, claim, at, disputer, reason, was, status) VALUES ($1, $2, $3, $4, $5, $6, $7, 'open')`
	selectDispute = `SELECT nid, at, disputer, reason, was, status, decided_at, decided_by, answer, erased FROM claim_disputes WHERE claim = $1 AND nid = $2`
	listDisputes  = `SELECT nid, at, disputer, reason, was, status, decided_at, decided_by, answer, erased FROM claim_disputes WHERE claim = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	// The claim is locked, and the dispute was still open.
	endDispute = `UPDATE claim_disputes SET status = $2, decided_at = $3, decided_by = $4, answer = $5 WHERE nid = $1`
	// Who has judged a claim, and who has disputed it.
	selectEvaluators = `SELECT DISTINCT evaluator FROM claim_evaluations WHERE claim = $1`
	selectDisputers  = `SELECT DISTINCT disputer FROM claim_disputes WHERE claim = $1`

	disputeID = "disp_"
)

// dispute is a stored one.
type dispute struct {
	nid, at, decidedAt, erased    int64
	disputer, reason, was, status string
	decidedBy, answer             string
}

func (d *dispute) scan(from db.Row) error {
	return from.Scan(&d.nid, &d.at, &d.disputer, &d.reason, &d.was, &d.status, &d.decidedAt, &d.decidedBy, &d.answer, &d.erased)
}

// view is a dispute as the API shows it.
func (d *dispute) view() *api.ClaimDispute {
	out := &api.ClaimDispute{
		ID: disputeID + strconv.FormatInt(d.nid, 10), At: time.UnixMilli(d.at).UTC(), Disputer: d.disputer, Reason: d.reason, ClaimWas: d.was, Status: d.status, DecidedBy: d.decidedBy, Decision: d.answer, ReasonErased: d.erased != 0,
	}
	if d.decidedAt != 0 {
		at := time.UnixMilli(d.decidedAt).UTC()
		out.DecidedAt = &at
	}
	return out
}

// contested is a claim whose dispute is begun or ended in a transaction.
type contested struct {
	*row
	twin  *entity.Row
	names []string // under which the caller may have acted
}

// contest locks a claim, and finds out who the caller is.
func (s *Service) contest(ctx context.Context, tx *db.Tx, id string) (*contested, error) {
	seen, err := find(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	twin, err := s.cfg.Entities.FindForUpdate(ctx, tx, seen.did)
	if err != nil {
		return nil, err
	}
	names, err := s.cfg.Entities.Names(ctx, tx)
	if err != nil {
		return nil, err
	}
	r, err := held(ctx, tx, seen.ws, seen.nid)
	return &contested{row: r, twin: twin, names: names}, err
}

// among reports whether the caller is in the result of a statement.
func (c *contested) among(rows db.Rows, err error) (bool, error) {
	all, err := db.Collect(rows, err, "look who has a part in a claim", db.Column[string])
	return slices.ContainsFunc(all, func(id string) bool { return slices.Contains(c.names, id) }), err
}

// Dispute stops all decisions about a claim, and suspends its credential, until
// somebody adjudicates. Faults: CLAIM_NOT_FOUND, CLAIM_INVALID, CLAIM_DECIDED,
// CLAIM_DISPUTED, CREDENTIAL_RETIRED.
func (s *Service) Dispute(ctx context.Context, id string, d api.ClaimDisputeDraft) (web.Reply[*api.ClaimDispute], error) {
	var wrong fault.Checks
	wrong.Require(d.Reason != "", "/reason")
	check.Optional(&wrong, "/reason", d.Reason, check.MaxReason)
	if err := wrong.Err(invalidCode, "The dispute is not valid."); err != nil {
		return once.Refuse[*api.ClaimDispute](ctx, s.cfg.Idem, err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.ClaimDispute], error) {
		var none web.Reply[*api.ClaimDispute]
		c, err := s.contest(ctx, tx, id)
		if err != nil {
			return none, err
		}
		if err := s.mayDispute(ctx, tx, c); err != nil {
			return none, err
		}
		made := dispute{
			nid: s.cfg.Ledger.NewNID(), at: s.cfg.Ledger.Now().UnixMilli(), disputer: web.CallerFrom(ctx).DID, reason: d.Reason, was: c.status, status: disputeOpen,
		}
		if _, err := tx.Exec(ctx, insertDispute, made.nid, c.ws, c.nid, made.at, made.disputer, made.reason, made.was); err != nil {
			return none, db.Wrap("insert dispute", err)
		}
		if err := s.cfg.Credentials.Suspend(ctx, tx, c.nid); err != nil {
			return none, err
		}
		if err := s.turnTo(ctx, tx, c, Disputed, d.Reason); err != nil {
			return none, err
		}
		return web.Reply[*api.ClaimDispute]{Value: made.view(), Status: http.StatusCreated, Location: address(c.did) + "/disputes"}, nil
	})
}

// mayDispute refuses to dispute a claim that has ended, and a second dispute by the same
// person: each suspends the credential.
func (s *Service) mayDispute(ctx context.Context, tx *db.Tx, c *contested) error {
	switch {
	case c.status == Disputed:
		return disputed()
	case over(c.status) && c.status != Approved || c.summed != 0:
		return decided(c.row)
	}
	rows, err := tx.Query(ctx, selectDisputers, c.nid)
	if again, err := c.among(rows, err); err != nil {
		return err
	} else if again {
		return fault.New(fault.Conflict, "CLAIM_DISPUTED", "You have disputed this claim before, and it was decided.")
	}
	if s.cfg.Ledger.Standing == nil {
		return nil
	}
	became, err := s.cfg.Ledger.Standing(ctx, tx, c.nid)
	if err != nil || became == "" {
		return err
	}
	credential, err := s.cfg.Entities.Find(ctx, tx, became)
	if err == nil && credential.Status == entity.StatusCompleted {
		err = fault.New(fault.Conflict, "CREDENTIAL_RETIRED", "The credential of this claim is retired: it has been counted and can no longer be disputed.")
	}
	return err
}

// turnTo gives a claim and its twin another status because of a dispute.
func (s *Service) turnTo(ctx context.Context, tx *db.Tx, c *contested, status, reason string) error {
	amount := c.approved
	if status == Invalidated {
		amount = 0
	}
	if err := c.settle(ctx, tx, status, amount); err != nil {
		return err
	}
	if err := s.cfg.Entities.RejudgeTx(ctx, tx, c.did, inWords(status), reason); err != nil {
		return err
	}
	typ := "claim.dispute_decided"
	if status == Disputed {
		typ = "claim.disputed"
	}
	return s.cfg.Ledger.tell(ctx, tx, typ, c.row)
}

// Adjudicate decides a dispute. If it is upheld, the claim is invalidated and its
// credential revoked for good; if it is dismissed, both are as before. Faults:
// CLAIM_NOT_FOUND, DISPUTE_NOT_FOUND, CLAIM_INVALID, DISPUTE_DECIDED,
// ADJUDICATOR_HAS_PART, VERIFIER_IS_CLAIMANT, CLAIM_DECIDED for a part of an
// approved sum.
func (s *Service) Adjudicate(ctx context.Context, id, which string, a api.ClaimAdjudication) (web.Reply[*api.ClaimDispute], error) {
	var wrong fault.Checks
	wrong.Require(a.Outcome != "", "/outcome")
	check.OneOf(&wrong, "/outcome", a.Outcome, upheld, dismissed)
	wrong.Require(a.Reason != "", "/reason")
	check.Optional(&wrong, "/reason", a.Reason, check.MaxReason)
	if err := wrong.Err(invalidCode, "The decision is not valid."); err != nil {
		return once.Refuse[*api.ClaimDispute](ctx, s.cfg.Idem, err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.ClaimDispute], error) {
		var none web.Reply[*api.ClaimDispute]
		c, err := s.contest(ctx, tx, id)
		if err != nil {
			return none, err
		}
		d, err := openDispute(ctx, tx, c.nid, which)
		if err != nil {
			return none, err
		}
		if err := s.mayAdjudicate(ctx, tx, c, a.Outcome); err != nil {
			return none, err
		}
		d.status, d.decidedAt, d.decidedBy, d.answer = a.Outcome, s.cfg.Ledger.Now().UnixMilli(), web.CallerFrom(ctx).DID, a.Reason
		if _, err := tx.Exec(ctx, endDispute, d.nid, d.status, d.decidedAt, d.decidedBy, d.answer); err != nil {
			return none, db.Wrap("decide dispute", err)
		}
		return web.Reply[*api.ClaimDispute]{Value: d.view()}, s.end(ctx, tx, c, d)
	})
}

// end carries out the decision of a dispute.
func (s *Service) end(ctx context.Context, tx *db.Tx, c *contested, d *dispute) error {
	if d.status == dismissed {
		if err := s.turnTo(ctx, tx, c, d.was, d.answer); err != nil {
			return err
		}
		if err := s.cfg.Credentials.Reinstate(ctx, tx, c.nid); err != nil {
			return err
		}
		return s.cfg.Ledger.issuesFirst(ctx, tx, c.row)
	}
	if err := leave(ctx, tx, c.row); err != nil {
		return err
	}
	if err := s.cfg.Credentials.Revoke(ctx, tx, c.nid); err != nil {
		return err
	}
	return s.turnTo(ctx, tx, c, Invalidated, d.answer)
}

// openDispute finds a dispute that is not decided.
func openDispute(ctx context.Context, tx *db.Tx, claim int64, which string) (*dispute, error) {
	nid, err := strconv.ParseInt(strings.TrimPrefix(which, disputeID), 10, 64)
	d := new(dispute)
	if err == nil {
		err = d.scan(tx.QueryRow(ctx, selectDispute, claim, nid))
	} else {
		err = sql.ErrNoRows
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fault.New(fault.NotFound, "DISPUTE_NOT_FOUND", "The claim has no dispute with this id.")
	case err != nil:
		return nil, db.Wrap("find dispute", err)
	case d.status != disputeOpen:
		return nil, fault.New(fault.Conflict, "DISPUTE_DECIDED", "The dispute was "+d.status+", which is final.")
	}
	return d, nil
}

// mayAdjudicate refuses a caller who has a part in a claim, has judged it or disputes
// it. Upholding a dispute withdraws the claim.
func (s *Service) mayAdjudicate(ctx context.Context, tx *db.Tx, c *contested, outcome string) error {
	if err := s.cfg.Entities.Independent(ctx, tx, c.twin, outcome == upheld); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, selectEvaluators, c.nid)
	judged, err := c.among(rows, err)
	if err != nil {
		return err
	}
	rows, err = tx.Query(ctx, selectDisputers, c.nid)
	disputes, err := c.among(rows, err)
	if err != nil || !judged && !disputes {
		return err
	}
	return fault.New(fault.Forbidden, "ADJUDICATOR_HAS_PART", "Callers who have evaluated the claim or dispute it cannot decide the dispute.")
}

// disputes reads the disputes of a claim numbered below before, newest first.
func (s *Service) disputes(ctx context.Context, claim, before int64, limit int) (out []*api.ClaimDispute, next int64, err error) {
	if before == 0 {
		before = 1<<63 - 1
	}
	rows, err := s.db.Query(ctx, listDisputes, claim, before, limit+1)
	all, err := db.Collect(rows, err, "list disputes", (*dispute).scan)
	if err != nil {
		return nil, 0, err
	}
	for i := range all[:min(limit, len(all))] {
		out = append(out, all[i].view())
		if len(all) > limit {
			next = all[i].nid
		}
	}
	return out, next, nil
}

const disputing = "From then on nobody can decide about the claim, and its credential is suspended at the same moment. Somebody else with claims:adjudicate decides: if the dispute is upheld, the claim is invalidated and the credential revoked; " +
	"if it is dismissed, both are as before. Each person can dispute a claim once."

// disputeRoutes adds disputes to the API.
func (s *Service) disputeRoutes(a *web.API) {
	web.Post(a, onePath+"/disputes", s.serveDispute, web.Doc{
		Summary: "Dispute a claim", Status: http.StatusCreated, Scope: "claims:write or claims:evaluate", Tag: tag, Once: true, Description: disputing,
		Example: api.ClaimDisputeDraft{Reason: "The stove was sold in January."},
		Codes:   []string{"CLAIM_NOT_FOUND", invalidCode, "CLAIM_DECIDED", "CLAIM_DISPUTED", "CREDENTIAL_RETIRED"},
	})
	web.Get(a, onePath+"/disputes", s.serveDisputes, web.Doc{Summary: "List the disputes of a claim, newest first", Scope: readScope, Tag: tag, Codes: []string{"CLAIM_NOT_FOUND"}})
	web.Post(a, onePath+"/disputes/{disputeId}/decision", s.serveAdjudicate, web.Doc{
		Summary: "Decide a dispute", Scope: "claims:adjudicate", Tag: tag, Once: true, Example: api.ClaimAdjudication{Outcome: dismissed, Reason: "The stove was seen there in March."},
		Description: "The caller must have no part in the claim, must not have evaluated it and must not dispute it.",
		Codes:       []string{"CLAIM_NOT_FOUND", "DISPUTE_NOT_FOUND", invalidCode, "DISPUTE_DECIDED", "ADJUDICATOR_HAS_PART", "VERIFIER_IS_CLAIMANT", "CLAIM_DECIDED"},
	})
}

func (s *Service) serveDispute(ctx context.Context, in *struct {
	of
	Body api.ClaimDisputeDraft
},
) (web.Reply[*api.ClaimDispute], error) {
	return s.Dispute(ctx, in.ID, in.Body)
}

func (s *Service) serveDisputes(ctx context.Context, in *struct {
	of
	web.Paging
},
) (web.Reply[web.Page[*api.ClaimDispute]], error) {
	r, err := find(ctx, s.db, in.ID)
	if err != nil {
		return web.Reply[web.Page[*api.ClaimDispute]]{}, err
	}
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.ClaimDispute, place, error) {
		items, next, err := s.disputes(ctx, r.nid, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveAdjudicate(ctx context.Context, in *struct {
	of
	Dispute string `path:"disputeId" doc:"Id of the dispute." example:"disp_7310428377145344"`
	Body    api.ClaimAdjudication
},
) (web.Reply[*api.ClaimDispute], error) {
	return s.Adjudicate(ctx, in.ID, in.Dispute, in.Body)
}
