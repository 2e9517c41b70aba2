package demo

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

func claimStages() []stage {
	return []stage{{"claims", false, func(l *loader, ctx context.Context) error { return newClaimant(l).claims(ctx) }}}
}

// claimant makes the claims of a load.
type claimant struct {
	*loader
	interviews map[int][]string // responses to the monitoring, by household
}

func newClaimant(l *loader) claimant {
	all := campaigns()
	c := slices.IndexFunc(all, func(c campaign) bool { return c.id == monitoring })
	out := claimant{l, map[int][]string{}}
	for _, v := range l.visits(&all[c]) {
		out.interviews[v.home] = append(out.interviews[v.home], l.responseID(&v))
	}
	return out
}

// oracleID is the external id of the oracle that decides about claims.
const oracleID = "demo-oracle"

// oracleProtocol is the protocol of oracles.
const oracleProtocol = "did:ixo:protocol/oracle"

// The claims are of these days, counted back from that of the load, and their interviews
// of this survey.
const (
	claimedFrom = 40
	claimedTo   = 11
	monitoring  = "demo-monitoring"
)

// claimCase is a claim: what is known about the stove, and the outcome of the
// claim.
type claimCase struct {
	facts    map[string]any
	becomes  string // the status that is wanted
	then     string // a step of its credential: issue, suspend or retire
	withdraw bool
	revoke   bool // the approval is taken back
}

// claimCases are one for each status a claim can have, and states of credentials.
func claimCases() []claimCase {
	used := func(rate float64) map[string]any {
		return map[string]any{"found": true, "usageRate": rate, "sourcesAgree": true, "precisionMet": true}
	}
	return []claimCase{
		{facts: used(0.94), becomes: "approved", then: "issue"},
		{facts: used(0.91), becomes: "approved", then: "issue"},
		{facts: used(0.41), becomes: "approved", then: "retire"},
		{facts: used(0.88), becomes: "approved", then: "suspend"},
		{facts: map[string]any{"found": true, "usageRate": 0.8, "sourcesAgree": false}, becomes: "flagged"},
		{facts: map[string]any{"found": false}, becomes: "rejected"},
		{becomes: "pending"},
		{becomes: "withdrawn", withdraw: true},
		{facts: used(0.9), becomes: "invalidated", revoke: true},
	}
}

// claims has the owner of the stoves claim what they saved, and a verifier decide by the
// rubric of the stoves' protocol.
func (l claimant) claims(ctx context.Context) error {
	l.counts.Claims, l.counts.Credentials = 0, 0
	err := l.entity(ctx, oracleID, client.EntityDraft{
		Type: "Oracle", Protocol: oracleProtocol, ExternalIDs: known(oracleID), Controller: l.dids[verifierID(0)],
		Properties: client.Object{"name": "Savanna Verification oracle"}, Metadata: client.Object{"name": "Savanna Verification oracle"},
	})
	if err != nil {
		return err
	}
	verifier, err := l.as(ctx, verifierID(0))
	if err != nil {
		return err
	}
	cases := claimCases()
	for i, home := range l.claimed(len(cases)) {
		if err := l.claim(ctx, verifier, i, home, cases[i]); err != nil {
			return err
		}
	}
	return nil
}

// claimed chooses the households whose stoves are claimed about: those that were drawn
// for the monitoring and interviewed, and whose stoves are measured, before all others.
// Their chain of evidence is whole.
func (l claimant) claimed(n int) []int {
	var whole, others []int
	for i := range l.homes {
		if i < l.size(monitors) && len(l.interviews[i]) > 0 {
			whole = append(whole, i)
		} else {
			others = append(others, i)
		}
	}
	all := append(whole, others...)
	return all[:min(n, len(all))]
}

// claim lets the owner claim what the stove of a household saved, and brings
// about the outcome of the claim.
func (l claimant) claim(ctx context.Context, verifier *client.Client, i, home int, c claimCase) error {
	h := &l.homes[home]
	amount := round(h.monthly*0.38, 1)
	made, err := l.owner.Claims.Submit(ctx, client.ClaimDraft{
		Kind: "fuel-saved", Subject: l.dids[h.stove()], Oracle: l.dids[oracleID], PeriodStart: l.day(claimedFrom).Format(time.DateOnly), PeriodEnd: l.day(claimedTo).Format(time.DateOnly),
		Amount: &client.ClaimAmount{Value: amount, Unit: "kg"}, Evidence: l.evidence(home),
	}, l.once("claim/%d", i))
	if err != nil {
		return err
	}
	l.counts.Claims++
	if c.withdraw {
		_, err := l.owner.Claims.Withdraw(ctx, made.ID, "The period was wrong.", l.once("withdraw/%d", i))
		return err
	}
	if c.facts == nil {
		return nil
	}
	facts := map[string]client.KnownFact{}
	for name, v := range c.facts {
		facts[name] = client.KnownFact{Value: v}
	}
	if _, err := verifier.Claims.Evaluate(ctx, made.ID, client.ClaimEvaluationDraft{Facts: facts}, l.once("evaluate/%d", i)); err != nil && !isCode(err, "CLAIM_DECIDED") {
		return err
	}
	if c.revoke {
		return l.takeBack(ctx, verifier, made.ID)
	}
	if c.then == "" {
		return nil
	}
	return l.certify(ctx, verifier, i, made.ID, c.then)
}

// evidence is what a claim about the stove of a household rests on: the stove, what its
// monitor has measured, and the interview of the monitoring, where there was one. The
// server adds in which state each is.
func (l claimant) evidence(home int) []any {
	h, n := &l.homes[home], l.size(days)
	out := []any{map[string]any{"type": "entity", "id": l.dids[h.stove()]}}
	if home < l.size(monitors) {
		out = append(out, map[string]any{
			"type": "readings", "id": l.dids[h.monitor()],
			"from": l.day(min(claimedFrom, n)).Format(time.RFC3339), "to": l.day(min(claimedTo, n) - 1).Format(time.RFC3339),
		})
	}
	for _, id := range l.interviews[home] {
		out = append(out, map[string]any{"type": "response", "id": id})
	}
	return out
}

// takeBack takes an approval back.
func (l claimant) takeBack(ctx context.Context, verifier *client.Client, claim string) error {
	e, err := l.owner.Entities.Get(ctx, claim)
	if err != nil {
		return err
	}
	_, err = verifier.Entities.Verify(ctx, claim, client.Verdict{Status: "revoked", Reason: "The stove had been counted elsewhere.", Revision: &e.Revision}, client.IfMatch("*"))
	if isCode(err, "VERDICT_UNCHANGED") {
		return nil
	}
	return err
}

// certify makes the credential of an approved claim, and takes it to its state.
func (l claimant) certify(ctx context.Context, verifier *client.Client, i int, claim, then string) error {
	made, err := verifier.Claims.Issue(ctx, client.CredentialRequest{Claim: claim}, l.once("issue/%d", i))
	if err != nil {
		return err
	}
	l.counts.Credentials++
	switch then {
	case "suspend":
		_, err = verifier.Credentials.Suspend(ctx, made.ID, "The readings are looked at again.", l.once("suspend/%d", i))
	case "retire":
		_, err = verifier.Credentials.Retire(ctx, made.ID, "Counted in the yearly report.", l.once("retire/%d", i))
	}
	return err
}
