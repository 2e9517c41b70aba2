package verdict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxEnds limits how many producers and how many oracles of one claim are
// looked at.
const maxEnds = 100

// Bench judges the claims of a workspace for a caller.
type Bench struct {
	Protocols *protocol.Service
	Workspace string
	Caller    string   // DID
	Known     []string // DIDs under which the caller may have acted before, including its own
	As        []string // DIDs of groups and organisations as which the caller also acts
	Parts     []string // DIDs as which the caller would act under any of its known names
	Now       time.Time
	Bound     bool // at least one oracle is required, even if no protocol requires any
	// Rules is the protocol that was fixed for the claim; if none was, those of
	// its producers apply.
	Rules *protocol.Protocol
}

// Plain is the verification of a twin after a verdict, when nobody else has a
// say in it.
func (b Bench) Plain(v api.Verdict) twin.Verification {
	return twin.Verification{Status: v.Status, Verifier: b.Caller, Timestamp: b.Now.UTC().Truncate(time.Millisecond), Evidence: v.Evidence, Revision: about(v)}
}

// Weigh computes the verification of a claim after a verdict: verified once as many
// oracles agree as the producers' protocol requires, pending until then. Faults:
// VERIFIER_IS_CLAIMANT, TOO_MANY_PRODUCERS, CLAIM_TYPE_UNKNOWN, ENTITY_INVALID for a
// reason the protocol does not know, MISSING_RELATIONSHIPS, VERIFIER_NOT_ORACLE.
func (b Bench) Weigh(ctx context.Context, q db.Querier, nid int64, claim *twin.Entity, v api.Verdict) (twin.Verification, error) {
	next := b.Plain(v)
	if !decides(v) && !Vouched(claim.Verification) && !b.refused(claim.Verification) {
		return next, nil // nothing that others have said is taken back
	}
	producers, err := listProducers(ctx, q, nid, maxEnds+1)
	if err != nil {
		return next, err
	}
	earlier, err := listEarlier(ctx, q, nid, maxEnds+1)
	if err != nil {
		return next, err
	}
	// Vouching requires a look at all of them. Withdrawing a verdict is never
	// refused because of their number; otherwise adding producers would make it
	// permanent.
	if max(len(producers), len(earlier)) > maxEnds && v.Status == Verified {
		return next, fault.New(fault.Conflict, "TOO_MANY_PRODUCERS", fmt.Sprintf("A claim that more than %d twins produce, or once did, cannot be verified.", maxEnds))
	}
	back := v.Status != Verified && Vouched(claim.Verification)
	if !back || !b.vouches(claim.Verification) { // callers may always take their own verdict back
		err = b.independent(ctx, q, nid, claim, parts{producers: slices.Concat(producers, earlier), back: back})
	}
	ends := b.Bound && back && !b.vouches(claim.Verification) // an approval of others
	if err != nil || !decides(v) && !ends {
		return next, err
	}
	rule, err := b.rule(ctx, q, claim, producers, v)
	if err != nil {
		return next, err
	}
	if decides(v) && rule.Reasons != nil && !slices.Contains(rule.Reasons, v.Reason) {
		return next, relationship.Invalid("/reason", "not_allowed", "The protocol accepts these reasons: "+strings.Join(rule.Reasons, ", ")+".")
	}
	oracles, err := b.oracles(ctx, q, nid, rule)
	if err != nil {
		return next, err
	}
	if v.Status == Verified && len(oracles) == 0 {
		return next, relationship.Lacking([]string{relationship.VerifiedBy}, "A claim is verified by an oracle, and this claim names none that may verify it.")
	}
	if b.Bound {
		rule.Quorum = max(rule.Quorum, 1)
	}
	if rule.Quorum == 0 && v.Oracle == "" {
		return next, nil
	}
	oracle, err := b.speaksFor(ctx, q, oracles, claim, v.Oracle)
	if err != nil || v.Status != Verified {
		return next, err
	}
	b.count(&next, claim.Verification.Approvals, oracles, oracle)
	if next.Missing = max(0, rule.Quorum-len(next.Approvals)); next.Missing > 0 {
		next.Status = Pending
	}
	return next, nil
}

// Said reports whether the caller's last verdict about a twin, since the
// revision it names, is this one: it was sent twice.
func (b Bench) Said(ctx context.Context, q db.Querier, nid int64, v api.Verdict) (bool, error) {
	was, reason, err := findSaid(ctx, q, nid, about(v), b.Caller)
	return was != nil && Repeated(v, *was, reason), err
}

// TypeOf is the type of a claim, and where it is stated: its property kind,
// else its own type.
func TypeOf(claim *twin.Entity) (name, pointer string) {
	var said struct {
		Kind string `json:"kind"`
	}
	if !claim.Properties.IsZero() && json.Unmarshal(claim.Properties.Value, &said) == nil && said.Kind != "" {
		return said.Kind, "/properties/kind"
	}
	return claim.Type, "/type"
}

// rule merges what the protocols that apply to a claim say.
func (b Bench) rule(ctx context.Context, q db.Querier, claim *twin.Entity, producers []producer, v api.Verdict) (all protocol.ClaimRule, err error) {
	name, pointer := TypeOf(claim)
	speak := []*protocol.Protocol{b.Rules}
	if b.Rules == nil {
		speak = nil
		for _, maker := range producers {
			p, err := b.protocolOf(ctx, q, maker.nid)
			if err != nil {
				return all, err
			}
			speak = append(speak, p)
		}
	}
	for _, p := range speak {
		r, known, names := protocol.FindClaimRule(p.ClaimTypes(), name)
		if !known && len(names) > 0 && v.Status == Verified {
			return all, fault.New(fault.Conflict, "CLAIM_TYPE_UNKNOWN", "The protocol of what produces the claim does not say how claims of this type are verified. Name the type in its verification rules.").
				With(fault.Field{Pointer: pointer, Code: "unknown", Detail: "It knows these types of claims: " + strings.Join(names, ", ") + "."})
		}
		all = all.And(r)
	}
	return all, nil
}

func (b Bench) protocolOf(ctx context.Context, q db.Querier, nid int64) (*protocol.Protocol, error) {
	e, err := relationship.EndByNID(ctx, q, b.Workspace, nid)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("twin %d has gone", nid)
	}
	return b.Protocols.FindAnyIn(ctx, q, b.Workspace, e.Protocol, e.ProtocolVersion)
}

// Warm reads the protocols Weigh needs before a transaction does: inside it,
// reading them would take a second connection.
func (b Bench) Warm(ctx context.Context, q db.Querier, nid int64) error {
	producers, err := listProducers(ctx, q, nid, maxEnds)
	for _, p := range producers {
		if _, err := b.protocolOf(ctx, q, p.nid); err != nil {
			return err
		}
	}
	return err
}

// oracles returns those that verify a claim at this moment and may.
func (b Bench) oracles(ctx context.Context, q db.Querier, nid int64, rule protocol.ClaimRule) ([]*relationship.End, error) {
	nids, err := relationship.Need{Role: relationship.Verifies, Now: b.Now.UnixMilli()}.Parents(ctx, q, nid, maxEnds)
	if err != nil {
		return nil, err
	}
	var out []*relationship.End
	for _, o := range nids {
		e, err := relationship.EndByNID(ctx, q, b.Workspace, o)
		if err != nil {
			return nil, err
		}
		if e != nil && (rule.Oracles == nil || slices.Contains(rule.Oracles, e.DID)) {
			out = append(out, e)
		}
	}
	return out, nil
}

// speaksFor is the oracle for which the caller votes: the one that is named, or
// the first of its own that nobody else has voted for.
func (b Bench) speaksFor(ctx context.Context, q db.Querier, oracles []*relationship.End, claim *twin.Entity, named string) (string, error) {
	found := ""
	for _, o := range oracles {
		if named != "" && o.DID != named {
			continue
		}
		own, err := b.controls(ctx, q, o.NID)
		if err != nil {
			return "", err
		}
		if !own {
			continue
		}
		if !slices.ContainsFunc(claim.Verification.Approvals, func(a twin.Approval) bool { return a.Oracle == o.DID && !slices.Contains(b.Known, a.Verifier) }) {
			return o.DID, nil
		}
		found = o.DID
	}
	if found != "" {
		return found, nil
	}
	f := fault.New(fault.Forbidden, "VERIFIER_NOT_ORACLE", "Only a controller of an oracle that may verify the claim can decide about it.")
	if named != "" {
		return "", f.With(fault.Field{Pointer: "/oracle", Code: "not_controller", Detail: "You do not control this oracle, or it does not verify the claim."})
	}
	return "", f.With(fault.Field{Code: "not_controller", Detail: "You control none of the oracles that may verify this claim."})
}

// count adds the vote of an oracle to those that still count. Each oracle and
// each caller has one.
func (b Bench) count(next *twin.Verification, before []twin.Approval, oracles []*relationship.End, oracle string) {
	for _, a := range before {
		still := slices.ContainsFunc(oracles, func(o *relationship.End) bool { return o.DID == a.Oracle })
		if still && a.Oracle != oracle && !slices.Contains(b.Known, a.Verifier) {
			next.Approvals = append(next.Approvals, a)
		}
	}
	next.Approvals = append(next.Approvals, twin.Approval{Oracle: oracle, Verifier: b.Caller, Timestamp: next.Timestamp, Revision: next.Revision})
}

// Late is the fault of changing what produces a claim after somebody has
// vouched for it.
func Late(pointer string) error {
	return fault.New(fault.Conflict, "CLAIM_ALREADY_VERIFIED", "Somebody has vouched for the claim as it was produced. Withdraw the verdict first.").
		With(fault.Field{Pointer: pointer, Code: "verified", Detail: "The verdict was given before this change."})
}

// Kept refuses to end the relationship by which a claim became a credential:
// the claim has counted, and does until the credential is deactivated. A draft
// is no credential yet. Fault: CLAIM_ALREADY_CREDENTIAL.
func Kept(p *relationship.Relationship) error {
	if p.Row.Role != relationship.Becomes || !p.Row.Mirror {
		return nil
	}
	_, credential := p.Ends()
	if s := twin.Status(credential.Status); s == twin.StatusDraft || s == twin.StatusDeactivated {
		return nil
	}
	return fault.New(fault.Conflict, "CLAIM_ALREADY_CREDENTIAL", "The claim has become this credential. Revoke it first, or use it.").
		With(fault.Field{Code: "exists", Detail: "The credential is " + credential.Status + "; the claim is free again only when it is deactivated."})
}

// Repeats reports whether an oracle, or a caller who voted for one, counts twice
// in a verdict.
func Repeats(v twin.Verification) bool {
	seen := map[string]bool{}
	for _, a := range v.Approvals {
		if seen["o "+a.Oracle] || seen["v "+a.Verifier] {
			return true
		}
		seen["o "+a.Oracle], seen["v "+a.Verifier] = true, true
	}
	return false
}

// Approves reports whether the verdict about a claim rests on an oracle.
func Approves(v twin.Verification, oracle string) bool {
	return v.Status == Verified && slices.ContainsFunc(v.Approvals, func(a twin.Approval) bool { return a.Oracle == oracle })
}
