package claim

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Ledger keeps submitted claims for the registry of twins: it implements
// entity.Claims.
type Ledger struct {
	Protocols *protocol.Service
	Events    *event.Log
	NewNID    func() int64 // numbers evaluations
	Now       func() time.Time
	// Issue arranges that IssueApproved is called for a claim when tx is done, where
	// the claim type says that approval issues the credential.
	Issue func(ctx context.Context, tx *db.Tx, claim string) error
	// Standing returns the DID of a claim's credential unless it is revoked; "" for
	// none.
	Standing func(ctx context.Context, q db.Querier, claim int64) (string, error)
}

// Submit fixes what a claim says. Faults: CLAIM_INVALID, CLAIM_SUBJECTS_MANY, CLAIM_BEFORE_INSTALLED,
// CLAIM_DUPLICATE, CLAIM_OVERLAPS, CLAIM_NOT_SUMMABLE, CLAIM_DISPUTED, CLAIM_COVERS_TOO_MUCH,
// COLLECTION_NOT_FOUND, COLLECTION_MISMATCH, COLLECTION_NOT_OPEN, COLLECTION_NOT_STARTED,
// COLLECTION_ENDED, COLLECTION_QUOTA_REACHED.
func (l *Ledger) Submit(ctx context.Context, tx *db.Tx, r *entity.Row, e *entity.Entity) error {
	_, err := l.submit(ctx, tx, r, e)
	return err
}

func (l *Ledger) submit(ctx context.Context, tx *db.Tx, r *entity.Row, e *entity.Entity) (*row, error) {
	out, said, err := l.draw(ctx, tx, r, e)
	if err != nil {
		return nil, err
	}
	form, err := l.form(ctx, tx, out)
	if err != nil {
		return nil, err
	}
	var key any
	if len(form.Unique) > 0 {
		if key, err = keyOf(e, form.Unique); err != nil {
			return nil, err
		}
	}
	upper, err := beside(ctx, tx, node{nid: out.subject, period: period{out.starts, out.ends}}) // before the turn: those who have it wait for none of these
	if err != nil {
		return nil, err
	}
	if err := turn(ctx, tx, out.ws); err != nil {
		return nil, err
	}
	if err := unique(ctx, tx, out, key); err != nil {
		return nil, err
	}
	if err := cover(ctx, tx, out, upper, summands(form, said)); err != nil {
		return nil, err
	}
	if err := l.enlist(ctx, tx, out); err != nil {
		return nil, err
	}
	due := int64(0)
	if form.Mode == protocol.ModeAuto || form.Mode == protocol.ModeHybrid {
		due = out.submitted
	}
	_, err = tx.Exec(ctx, insertClaim, out.nid, out.ws, out.did, out.cid, out.project, out.typ, out.kind, out.subject, out.subjectDID, out.claimant, out.starts, out.ends,
		out.amount, out.unit, key, out.status, out.submitted, out.body, out.protocol, out.version, out.collection, due, out.serial)
	if err != nil {
		return nil, db.Wrap("insert claim", err)
	}
	return out, l.tell(ctx, tx, "claim.submitted", out)
}

// turn makes the claims of a workspace wait for each other: two of them may meet at
// a household that neither names.
func turn(ctx context.Context, tx *db.Tx, ws string) error {
	_, err := tx.Exec(ctx, takeTurn, ws)
	return db.Wrap("take turn", err)
}

// summands are the claims that a claim sums, where its type allows it.
func summands(form protocol.ClaimForm, said *content) []string {
	if !form.Aggregates {
		return nil
	}
	return said.Claims
}

// draw makes the row of a claim with its document.
func (l *Ledger) draw(ctx context.Context, tx *db.Tx, r *entity.Row, e *entity.Entity) (*row, *content, error) {
	said := read(e)
	starts, ends, err := said.span()
	if err != nil {
		return nil, nil, err
	}
	out := &row{
		nid: r.NID, ws: r.Workspace, did: r.DID, project: r.Project, typ: r.Type, claimant: e.Owner, status: Pending, starts: starts, ends: ends,
		submitted: l.Now().UnixMilli(),
	}
	out.kind, _ = verdict.TypeOf(e)
	if err := checkWords(out.kind, said.Amount); err != nil {
		return nil, nil, err
	}
	if a := said.Amount; a != nil {
		out.amount, out.unit = a.Value, a.Unit
	}
	rows, err := tx.Query(ctx, selectSubject, r.NID)
	subjects, err := db.Collect(rows, err, "find subject", func(s *relationship.End, from db.Row) error { return from.Scan(&s.NID, &s.DID) })
	if err != nil {
		return nil, nil, err
	}
	if len(subjects) != 1 {
		return nil, nil, fault.New(fault.Conflict, "CLAIM_SUBJECTS_MANY", "A claim has exactly one subject: the twin that produces it.").
			With(fault.Field{Pointer: "/relationships", Code: "not_one", Detail: "Keep one relationship producedBy."})
	}
	out.subject, out.subjectDID = subjects[0].NID, subjects[0].DID
	p, err := l.bind(ctx, tx, out, &said)
	if err != nil {
		return nil, nil, err
	}
	out.kind = protocol.SpellClaimType(p.ClaimTypes(), out.kind)
	doc, err := canonical(api.ClaimBody{
		ID: out.did, Type: out.typ, Kind: out.kind, Subject: out.subjectDID, PeriodStart: said.PeriodStart, PeriodEnd: said.PeriodEnd, Amount: said.Amount,
		Evidence: said.Evidence, Claims: said.Claims, Data: said.data(), Collection: said.Collection, Protocol: out.protocol, Version: out.version, Claimant: out.claimant, Date: time.UnixMilli(out.submitted).UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	if err != nil {
		return nil, nil, err
	}
	out.cid, out.body = CID(doc), string(doc)
	return out, &said, nil
}

// form is what the protocol of the subject says about claims of a kind. The fault is
// CLAIM_TYPE_UNKNOWN when it names types but not this one.
func (l *Ledger) form(ctx context.Context, tx *db.Tx, r *row) (protocol.ClaimForm, error) {
	p, err := l.protocolOf(ctx, tx, r)
	if err != nil {
		return protocol.ClaimForm{}, err
	}
	if _, known, names := protocol.FindClaimRule(p.ClaimTypes(), r.kind); !known && len(names) > 0 {
		return protocol.ClaimForm{}, fault.New(fault.Conflict, "CLAIM_TYPE_UNKNOWN", "The protocol of what produces the claim knows no claims of this type.").
			With(fault.Field{Pointer: "/properties/kind", Code: "unknown", Detail: "It knows these types of claims: " + strings.Join(names, ", ") + "."})
	}
	return protocol.FindClaimForm(p.ClaimTypes(), r.kind), nil
}

// Follow records another project or status of a submitted claim. An approved or
// disputed one cannot be withdrawn: CLAIM_DECIDED.
func (l *Ledger) Follow(ctx context.Context, tx *db.Tx, old, next *entity.Row) error {
	if next.DomainType != "claim" {
		return l.handed(ctx, tx, next)
	}
	r, err := held(ctx, tx, next.Workspace, next.NID)
	if err != nil || r == nil {
		return err
	}
	if r.project != next.Project {
		if _, err := tx.Exec(ctx, updateProject, r.nid, next.Project); err != nil {
			return db.Wrap("move claim", err)
		}
	}
	if old.Status == next.Status || next.Status != entity.StatusDeactivated {
		return nil
	}
	switch {
	case r.status == Approved || r.status == Disputed || r.summed != 0:
		return fault.New(fault.Conflict, "CLAIM_DECIDED", "The claim is approved, disputed or summed by another one, and can no longer be withdrawn.")
	case over(r.status):
		return nil
	}
	if err := r.settle(ctx, tx, Withdrawn, 0); err != nil {
		return err
	}
	return l.tell(ctx, tx, "claim.withdrawn", r)
}

// tell appends an event about a claim.
func (l *Ledger) tell(ctx context.Context, tx *db.Tx, typ string, r *row) error {
	return l.Events.Append(ctx, tx, event.Event{
		Workspace: r.ws, Type: typ, Subject: r.did, Data: map[string]any{"cid": r.cid, "kind": r.kind, "subject": r.subjectDID, "status": r.status},
	})
}

// unique refuses a claim whose key another claim has.
func unique(ctx context.Context, tx *db.Tx, r *row, key any) error {
	if key == nil {
		return nil
	}
	var other row
	if err := tx.QueryRow(ctx, selectSame, r.ws, r.kind, key).Scan(&other.did, &other.project); errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return db.Wrap("look for the same claim", err)
	}
	return fault.New(fault.Conflict, "CLAIM_DUPLICATE", "The same was claimed already.").With(named(web.CallerFrom(ctx), &other, "/properties"))
}

// named is a field that names another claim to callers who see it.
func named(c web.Caller, other *row, at string) fault.Field {
	detail := "A claim that you do not see is in the way."
	if sees(c, other.project) {
		detail = "The claim " + other.did + " is in the way. It must be withdrawn, rejected or invalidated first."
	}
	return fault.Field{Pointer: at, Code: "claimed", Detail: detail}
}
