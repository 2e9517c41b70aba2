package claim

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// decision is what the rules for a claim yield for some facts.
type decision struct {
	rubric.Decision
	protocol, version, hash string // hash is "" when there is no rubric and people decide
}

// decide asks the rubric of a protocol about a claim. Faults: RUBRIC_INVALID,
// CLAIM_FACTS_INVALID.
func (l *Ledger) decide(p *protocol.Protocol, r *row, facts map[string]rubric.Known) (*decision, error) {
	out := &decision{Decision: rubric.Decision{Outcome: rubric.Manual, ReasonCode: rubric.NoRule}, protocol: p.DID, version: p.Version}
	rules, err := l.Protocols.Rubric(p, r.kind)
	if fault.CodeOf(err) == "RUBRIC_NOT_FOUND" {
		if len(facts) > 0 {
			return nil, fault.New(fault.Invalid, "CLAIM_FACTS_INVALID", "The facts do not fit the rubric.").
				With(fault.Field{Pointer: "/facts", Code: "unknown", Detail: "The protocol has no rubric for claims of this kind."})
		}
		return out, nil
	} else if err != nil {
		return nil, err
	}
	claim, err := r.claim()
	if err != nil {
		return nil, err
	}
	out.hash = rules.Hash()
	out.Decision, err = rules.Decide(claim, facts)
	return out, err
}

// claim is the part of a claim that rules may see.
func (r *row) claim() (rubric.Claim, error) {
	var d struct {
		Evidence []jsontext.Value `json:"evidence"`
	}
	if err := json.Unmarshal([]byte(r.body), &d); err != nil {
		return rubric.Claim{}, db.Wrap("read document", err)
	}
	out := r.bare()
	out.Evidence = len(d.Evidence)
	return out, nil
}

// bare is claim for rules that do not use evidence: the document is not read.
func (r *row) bare() rubric.Claim {
	out := rubric.Claim{Kind: r.kind, Subject: r.subjectDID, Claimant: r.claimant, Amount: r.amount, Unit: r.unit, Submitted: time.UnixMilli(r.submitted).UTC()}
	if r.starts != always {
		out.PeriodStart = time.UnixMilli(r.starts).UTC()
	}
	if r.ends != never {
		out.PeriodEnd = time.UnixMilli(r.ends).UTC().AddDate(0, 0, -1)
	}
	return out
}

// protocolOf returns the protocol whose claim types apply to a claim, in the version
// that was fixed when it was submitted.
func (l *Ledger) protocolOf(ctx context.Context, q db.Querier, r *row) (*protocol.Protocol, error) {
	return l.Protocols.FindAnyIn(ctx, q, r.ws, r.protocol, r.version)
}

// Rules implements entity.Claims.
func (l *Ledger) Rules(ctx context.Context, q db.Querier, ws string, nid int64) (id, version string, err error) {
	r, err := one(q.QueryRow(ctx, selectByNID, ws, nid))
	if err != nil || r == nil {
		return "", "", err
	}
	return r.protocol, r.version, nil
}

// bind fixes which protocol applies to a claim: that of its subject, in the version of
// the collection, or else the subject's current one. Later changes do not matter. The
// fault is CLAIM_BEFORE_INSTALLED for days before the subject was there.
func (l *Ledger) bind(ctx context.Context, q db.Querier, r *row, said *content) (*protocol.Protocol, error) {
	var body string
	if err := q.QueryRow(ctx, selectBody, r.subject, r.ws).Scan(&r.protocol, &r.version, &body); err != nil {
		return nil, db.Wrap("find subject of a claim", err)
	}
	var subject struct {
		Properties struct {
			InstalledAt any `json:"installedAt"`
			Serial      any `json:"serial"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(body), &subject); err != nil {
		return nil, db.Wrap("read subject of a claim", err)
	}
	r.serial = spellSerial(subject.Properties.Serial)
	day, _ := subject.Properties.InstalledAt.(string)
	if day = day[:min(len(day), len(time.DateOnly))]; said.PeriodStart != "" && said.PeriodStart < day {
		return nil, fault.New(fault.Conflict, "CLAIM_BEFORE_INSTALLED", "The period begins before what produces the claim was installed.").
			With(fault.Field{Pointer: "/properties/periodStart", Code: "out_of_range", Detail: "It was installed on " + day + "."})
	}
	if err := l.pin(ctx, q, r, said.Collection); err != nil {
		return nil, err
	}
	return l.protocolOf(ctx, q, r)
}

// stuck reports whether a rubric gave no result: a rule cannot be evaluated, mostly
// because a fact is missing, or none holds. In that case the rubric has not left the
// claim to people, and nobody may approve it: leaving facts out must not help a
// claimant.
func (d *decision) stuck() bool {
	return d.hash != "" && slices.Contains([]string{rubric.Undecided, rubric.NoRule, rubric.BadAmount}, d.ReasonCode)
}

// allows refuses a verdict that the rules do not give.
func (d *decision) allows(status string) error {
	given := ""
	switch d.Outcome {
	case rubric.Manual:
		if !d.stuck() || status != verdict.Verified {
			return nil
		}
	case rubric.Approved, rubric.Partial:
		given = verdict.Verified
	case rubric.Rejected:
		given = verdict.Rejected
	}
	if status == given {
		return nil
	}
	return fault.New(fault.Conflict, "RUBRIC_DECIDES", "The rubric of the protocol decides about this claim, and its decision differs from yours.").
		With(fault.Field{Pointer: "/status", Code: string(d.Outcome), Detail: "With the facts that were entered the rubric comes to " + string(d.Outcome) + " (" + d.ReasonCode + ")." + d.wanted()})
}

// wanted lists the missing facts in a sentence.
func (d *decision) wanted() string {
	if len(d.Missing) == 0 {
		return ""
	}
	return " Enter what is missing: " + strings.Join(d.Missing, ", ") + "."
}

// Judge checks a verdict against the rubric, records it as an evaluation and settles the
// claim. Faults: CLAIM_NOT_SUBMITTED, CLAIM_DECIDED, CLAIM_DISPUTED, CLAIM_LEASED,
// RUBRIC_DECIDES, RUBRIC_INVALID, and those of Submit.
func (l *Ledger) Judge(ctx context.Context, tx *db.Tx, j entity.Judgement) error {
	r, err := l.judged(ctx, tx, j)
	if err != nil {
		return err
	}
	if r == nil { // a draft of which nothing is decided
		return nil
	}
	status := j.Verdict.Status
	if status == verdict.Revoked && r.status == Approved {
		if err := l.stands(ctx, tx, r); err != nil {
			return err
		}
		if err := leave(ctx, tx, r); err != nil {
			return err
		}
		if err := r.settle(ctx, tx, Invalidated, 0); err != nil {
			return err
		}
		return l.tell(ctx, tx, "claim.evaluated", r)
	}
	switch {
	case over(r.status) || r.summed != 0:
		return decided(r)
	case r.status == Disputed:
		return disputed()
	case status != verdict.Verified && status != verdict.Rejected:
		return nil // nothing is decided
	}
	if err := free(ctx, tx, r.nid, l.Now().UnixMilli()); err != nil {
		return err
	}
	p, err := l.protocolOf(ctx, tx, r)
	if err != nil {
		return err
	}
	facts, err := r.known()
	if err != nil {
		return err
	}
	d, err := l.decide(p, r, facts)
	if err != nil {
		return err
	}
	if err := d.allows(status); err != nil {
		return err
	}
	return l.settle(ctx, tx, r, d, j)
}

// stands refuses to take back an approval whose credential is not revoked. A
// retired credential has counted for good: its days are never free again.
func (l *Ledger) stands(ctx context.Context, tx *db.Tx, r *row) error {
	if l.Standing == nil {
		return nil
	}
	did, err := l.Standing(ctx, tx, r.nid)
	if err != nil || did == "" {
		return err
	}
	return fault.New(fault.Conflict, "ACTIVE_DEPENDANTS", "The claim has become a credential. Revoke that first; one that is retired has counted, and its claim stays approved.").
		With(fault.Field{Pointer: "", Code: "needed", Detail: did + " became of this claim."})
}

// settle gives a claim the status that a verdict leads to, and records why.
func (l *Ledger) settle(ctx context.Context, tx *db.Tx, r *row, d *decision, j entity.Judgement) error {
	e := evaluation{decision: d, oracle: j.Verdict.Oracle, reason: j.Verdict.Reason, status: r.status}
	if n := len(j.Next.Approvals); n > 0 {
		e.oracle = j.Next.Approvals[n-1].Oracle
	}
	if j.Verdict.Status == verdict.Verified {
		e.amount = d.grant(r)
		if err := l.whole(ctx, tx, r); err != nil {
			return err
		}
	}
	amount := 0.0
	switch j.Next.Status {
	case verdict.Verified:
		var err error
		if amount, err = agreed(ctx, tx, r, j.Next.Approvals, e.amount); err != nil {
			return err
		}
		e.status = Approved
	case verdict.Rejected:
		e.status = Rejected
	}
	if err := l.note(ctx, tx, r, e); err != nil {
		return err
	}
	next := e.status
	if next == r.status {
		return r.settle(ctx, tx, next, 0) // a proposal of one of several reviewers is recorded with their vote
	}
	if err := r.settle(ctx, tx, next, amount); err != nil {
		return err
	}
	if err := l.issues(ctx, tx, r); err != nil {
		return err
	}
	return l.tell(ctx, tx, "claim.evaluated", r)
}

// grant is the amount an approval gives: what a rule says, what people have proposed,
// or all that was claimed.
func (d *decision) grant(r *row) float64 {
	switch {
	case d.Outcome == rubric.Partial:
		return d.Amount
	case d.Outcome == rubric.Manual && r.approved > 0:
		return min(r.approved, r.amount)
	}
	return r.amount
}

// agreed is the smallest amount among the approvals of a claim, the last one
// included: more was not agreed by all.
func agreed(ctx context.Context, tx *db.Tx, r *row, voices []twin.Approval, last float64) (float64, error) {
	for _, v := range voices[:max(0, len(voices)-1)] {
		amount := r.amount // of a voice that was given before amounts were noted
		if err := tx.QueryRow(ctx, selectVoice, r.nid, v.Oracle, v.Verifier).Scan(&amount); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, db.Wrap("find voice", err)
		}
		last = min(last, amount)
	}
	return last, nil
}

// whole refuses to approve a claim if one of its parts was invalidated or is
// disputed.
func (l *Ledger) whole(ctx context.Context, tx *db.Tx, r *row) error {
	form, err := l.form(ctx, tx, r)
	if err != nil || !form.Aggregates {
		return err
	}
	var d api.ClaimBody
	if err := json.Unmarshal([]byte(r.body), &d); err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	var left int
	if err := tx.QueryRow(ctx, countParts, r.nid).Scan(&left); err != nil {
		return db.Wrap("count summed claims", err)
	}
	if left == len(d.Claims) {
		return nil
	}
	return fault.New(fault.Conflict, "CLAIM_NOT_SUMMABLE", "A claim that this one sums is disputed, or was invalidated. If it was invalidated, reject this claim and have the rest claimed again.")
}

// leave removes a claim that is to be invalidated from its sum. It refuses while the
// sum is approved or disputed: CLAIM_DECIDED.
func leave(ctx context.Context, tx *db.Tx, r *row) error {
	if r.summed == 0 {
		return nil
	}
	sum, err := held(ctx, tx, r.ws, r.summed)
	if err != nil {
		return err
	}
	if sum != nil && (sum.status == Approved || sum.status == Disputed) {
		return fault.New(fault.Conflict, "CLAIM_DECIDED", "Another claim that sums this one is approved. Withdraw that approval first.").
			With(named(web.CallerFrom(ctx), sum, ""))
	}
	_, err = tx.Exec(ctx, sumClaim, r.nid, 0)
	r.summed = 0
	return db.Wrap("take claim out of its sum", err)
}

// judged returns the claim of a verdict; nil for an undecided draft. A claim that
// was active before claims were kept is submitted now.
func (l *Ledger) judged(ctx context.Context, tx *db.Tx, j entity.Judgement) (*row, error) {
	r, err := held(ctx, tx, j.Row.Workspace, j.Row.NID)
	if err != nil || r != nil {
		return r, err
	}
	if j.Row.Status == entity.StatusDraft {
		if s := j.Verdict.Status; s != verdict.Verified && s != verdict.Rejected {
			return nil, nil
		}
		return nil, fault.New(fault.Conflict, "CLAIM_NOT_SUBMITTED", "The claim is a draft. It must be submitted before anybody can decide about it.")
	}
	e, err := j.Row.Entity()
	if err != nil {
		return nil, err
	}
	return l.submit(ctx, tx, j.Row, e)
}

func disputed() *fault.Error {
	return fault.New(fault.Conflict, "CLAIM_DISPUTED", "The claim is disputed. A caller with claims:adjudicate decides the dispute first.")
}

func decided(r *row) error {
	detail := "The claim is " + r.status + ", which is final."
	if r.summed != 0 {
		detail = "Another claim has summed it. Decide about that claim instead."
	}
	return fault.New(fault.Conflict, "CLAIM_DECIDED", "This claim can no longer be decided.").With(fault.Field{Code: r.status, Detail: detail})
}

// evaluation is what is recorded about a decision.
type evaluation struct {
	*decision
	nid, at, automatic, erased int64
	evaluator, oracle, reason  string
	status, facts              string
	amount                     float64
}

// note stores an evaluation of a claim by the caller.
func (l *Ledger) note(ctx context.Context, tx *db.Tx, r *row, e evaluation) error {
	_, err := tx.Exec(ctx, insertEvaluation, l.NewNID(), r.ws, r.nid, l.Now().UnixMilli(), web.CallerFrom(ctx).DID, e.oracle, e.protocol, e.version, e.hash, r.facts,
		string(e.Outcome), e.ReasonCode, e.Rule, e.amount, e.status, e.reason, automatic(ctx))
	return db.Wrap("note evaluation", err)
}
