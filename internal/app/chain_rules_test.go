package app_test

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
)

// counts holds that there are no credentials but those that were issued.
func (n *ledgerNow) counts(*ledgerNow) string {
	issued := map[int64]bool{}
	for _, c := range n.credentials {
		issued[c.nid] = true
	}
	for nid, t := range n.twins {
		if t.domain == "credential" && !issued[nid] {
			return fmt.Sprintf("the credential %s was issued by nobody: %s", t.did, t.body)
		}
	}
	return ""
}

// claimsStand holds that a twin says what its claim says.
func (n *ledgerNow) claimsStand(*ledgerNow) string {
	for _, c := range n.claims {
		if got := claim.CID([]byte(c.document)); got != c.cid {
			return fmt.Sprintf("the claim %s has the CID %s, and its document %s", c.did, c.cid, got)
		}
		var twin struct {
			Properties claimSays `json:"properties"`
		}
		if err := json.Unmarshal([]byte(n.twins[c.nid].body), &twin); err != nil {
			return fmt.Sprintf("the claim %s has no twin: %v", c.did, err)
		}
		p := twin.Properties
		if p.PeriodStart != c.body.PeriodStart || p.PeriodEnd != c.body.PeriodEnd || text(p.Amount) != text(c.body.Amount) || !strings.EqualFold(p.Kind, c.body.Kind) {
			return fmt.Sprintf("the claim %s says %s, and its twin %s", c.did, c.document, n.twins[c.nid].body)
		}
		if c.body.Amount != nil && (c.amount != c.body.Amount.Value || c.unit != c.body.Amount.Unit) || c.kind != c.body.Kind {
			return fmt.Sprintf("the claim %s is kept as %v %s of %s, and says %s", c.did, c.amount, c.unit, c.kind, c.document)
		}
	}
	return ""
}

// expected is what the rubrics of chainTypes come to, in words of this test. manual: people
// decide.
func (c *claimNow) expected(facts map[string]struct{ Value any }) (outcome string, amount float64) {
	switch c.kind {
	case "self", "half":
		switch {
		case c.amount > 1000:
			return "rejected", 0
		case c.amount > 100:
			return "manual", 0
		case c.amount > 10:
			return "some", 10
		}
		return "all", c.amount
	case "fuel":
		if c.version == "2.0.0" {
			return "all", c.amount
		}
		usage, known := facts["usage"].Value.(float64)
		switch {
		case facts["sold"].Value == true:
			return "rejected", 0
		case !known:
			return "flagged", 0
		case usage > 1:
			return "manual", 0
		case usage < 0.8:
			return "some", c.amount * usage
		}
		return "all", c.amount
	}
	return "manual", 0
}

// approvalsAreGiven holds that each approved claim was approved by somebody of an oracle
// that is not the claimant's, for an amount the rubric gives, and each rejected one
// rejected so.
func (n *ledgerNow) approvalsAreGiven(*ledgerNow) string {
	for _, c := range n.claims {
		if c.status != "approved" && c.status != "rejected" {
			continue
		}
		i := slices.IndexFunc(c.evaluations, func(e evaluationNow) bool { return e.state == c.status })
		if i < 0 {
			return fmt.Sprintf("the claim %s is %s, and nobody has evaluated it", c.did, c.status)
		}
		last := c.evaluations[i]
		facts := map[string]struct{ Value any }{}
		if last.facts != "" && json.Unmarshal([]byte(last.facts), &facts, json.MatchCaseInsensitiveNames(true)) != nil {
			return fmt.Sprintf("the claim %s was evaluated with %s", c.did, last.facts)
		}
		outcome, amount := c.expected(facts)
		wrong := ""
		switch {
		case last.facts != c.facts:
			wrong = "the facts are " + c.facts + " now"
		case last.evaluator == c.claimant:
			wrong = "the claimant has judged"
		case c.status == "rejected" && outcome != "rejected" && outcome != "manual":
			wrong = "the rubric comes to " + outcome
		case c.status == "approved":
			wrong = c.approvedAs(outcome, amount)
		}
		if wrong == "" && (outcome == "manual" || c.kind == "half" && c.status == "approved") && last.automatic != 0 {
			wrong = "nobody of flesh and blood has decided"
		}
		if wrong == "" && last.automatic != 0 && c.version == "2.0.0" && c.claimant == "did:ixo:agent/carl" {
			wrong = "the claimant has written the rules"
		}
		if wrong != "" {
			return fmt.Sprintf("the claim %s of %v %s is %s for %v by %+v: %s", c.did, c.amount, c.kind, c.status, c.approved, last, wrong)
		}
	}
	return ""
}

// approvedAs says what is wrong with an approval that the rubric comes to an outcome for.
func (c *claimNow) approvedAs(outcome string, amount float64) string {
	voices := map[string]float64{}
	for _, e := range c.evaluations {
		if e.amount > 0 && e.automatic == 0 && (e.state == "pending" || e.state == "flagged" || e.state == "approved") {
			voices[e.oracle] = e.amount
		}
	}
	switch outcome {
	case "all", "some":
		if math.Abs(c.approved-amount) > 1e-9 {
			return fmt.Sprintf("the rubric gives %v", amount)
		}
	case "manual":
		if !(c.approved > 0 && c.approved <= c.amount) {
			return "people approve more than nothing and no more than was claimed"
		}
		if c.kind == "two" && len(voices) < 2 {
			return fmt.Sprintf("two oracles decide, and these have: %v", voices)
		}
		for oracle, v := range voices {
			if c.kind == "two" && c.approved > v {
				return fmt.Sprintf("the oracle %s has approved %v alone", oracle, v)
			}
		}
	default:
		return "the rubric comes to " + outcome
	}
	return ""
}

// signed is what is looked at of a document.
type signed struct {
	Issuer  string `json:"issuer"`
	Subject struct {
		claimSays
	} `json:"credentialSubject"`
	Evidence []struct {
		Type   string `json:"type"`
		Digest string `json:"digestMultibase"`
	} `json:"evidence"`
}

// credentialsSayTheSame holds each credential to its claim and to what was signed first.
func (c *chain) credentialsSayTheSame(n *ledgerNow) string {
	claims, live := map[int64]*claimNow{}, map[int64]string{}
	for _, one := range n.claims {
		if claims[one.nid] = one; c.moved(one.did, one.document) {
			return fmt.Sprintf("the claim %s says something else than when it was submitted: %s", one.did, one.document)
		}
	}
	for _, one := range n.credentials {
		if one.claim < c.mark { // that of a sequence before, issued by a job
			continue
		}
		of := claims[one.claim]
		if of == nil {
			return fmt.Sprintf("the credential %s has no claim", one.did)
		}
		if one.state != credential.Revoked {
			if live[of.nid] != "" {
				return fmt.Sprintf("the claim %s has become %s and %s", of.did, live[of.nid], one.did)
			}
			live[of.nid] = one.did
			if of.status != "approved" && (of.status != "disputed" || one.state != credential.Suspended) || of.summed != 0 {
				return fmt.Sprintf("the credential %s is %s, and its claim %s (summed by %d)", one.did, one.state, of.status, of.summed)
			}
		}
		fresh := c.documents[one.did] == ""
		if c.moved(one.did, one.document) {
			return fmt.Sprintf("the credential %s was signed again: %s", one.did, one.document)
		}
		if wrong := c.agrees(n, one, of); wrong != "" {
			return wrong
		}
		if fresh && c.verified(one.did) != (one.state == credential.Active || one.state == credential.Retired) {
			return fmt.Sprintf("the credential %s is %s, and its verification says something else", one.did, one.state)
		}
		if fresh && !slices.Contains(c.credentials, one.did) { // one that an approval has issued
			c.credentials = append(c.credentials, one.did)
		}
	}
	return ""
}

// moved keeps what was signed or submitted, and reports whether it is something else now.
func (c *chain) moved(id, document string) bool {
	was, known := c.documents[id]
	c.documents[id] = document
	return known && was != document
}

// verified reports whether a credential verifies.
func (c *chain) verified(id string) bool {
	sent := c.sent
	r := c.send("eve", "POST /v1/credentials/"+id+"/verify", "")
	c.sent = sent
	return read[struct {
		Verified bool `json:"verified"`
	}](r).Verified
}

// agrees holds what was signed, and the twin, to the claim and its evaluation.
func (c *chain) agrees(n *ledgerNow, one *credentialNow, of *claimNow) string {
	var doc signed
	var twin struct {
		Properties struct {
			Kind   string    `json:"kind"`
			Issuer string    `json:"issuer"`
			Amount *quantity `json:"amount"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(one.document), &doc); err != nil {
		return fmt.Sprintf("the credential %s: %v", one.did, err)
	}
	if err := json.Unmarshal([]byte(n.twins[one.nid].body), &twin); err != nil {
		return fmt.Sprintf("the credential %s: %v", one.did, err)
	}
	i := slices.IndexFunc(of.evaluations, func(e evaluationNow) bool { return e.state == "approved" })
	if i < 0 {
		return fmt.Sprintf("the credential %s is of a claim that nobody has approved", one.did)
	}
	s, p := doc.Subject, twin.Properties
	bound := len(doc.Evidence) > 0 && doc.Evidence[0].Digest == credential.Digest(credential.SaltOf(one.salt, "ClaimDigest"), []byte(of.document))
	switch {
	case s.Kind != of.kind || s.PeriodStart != of.body.PeriodStart || s.PeriodEnd != of.body.PeriodEnd || s.Amount == nil || s.Amount.Unit != of.unit || strings.Contains(one.document, of.body.Subject):
	case s.Amount.Value != of.approved && (of.status == "approved" || of.status == "disputed"):
	case s.Amount.Value > of.amount || !bound:
	case one.issuer != of.evaluations[i].oracle || p.Issuer != one.issuer || p.Kind != of.kind || text(p.Amount) != text(s.Amount):
	default:
		return ""
	}
	return fmt.Sprintf("the credential %s by %s says %s, its twin %s, and the claim %s, approved for %v by %+v (bound to it: %v)", one.did, one.issuer, one.document, n.twins[one.nid].body, of.document, of.approved, of.evaluations[i], bound)
}

// nothingTwice holds that of two claims of a kind that count none is about what the other
// is about, in the days that both have.
func (n *ledgerNow) nothingTwice(*ledgerNow) string {
	counts := func(c *claimNow) bool {
		return slices.Contains([]string{"pending", "flagged", "disputed", "approved"}, c.status)
	}
	for i, a := range n.claims {
		for _, b := range n.claims[:i] {
			both := days{a.starts, a.ends}.within(days{b.starts, b.ends})
			if !counts(a) || !counts(b) || !strings.EqualFold(a.kind, b.kind) || !both.some() || n.sums(a, b) || n.sums(b, a) {
				continue
			}
			if at := n.shared(a.subject, b.subject, both); at != 0 {
				return fmt.Sprintf("the claims %s (%s) and %s (%s) are both of %s", b.did, b.document, a.did, a.document, n.twins[at].did)
			}
		}
	}
	return ""
}

// sums reports whether a claim is one that another sums, or that this sums.
func (n *ledgerNow) sums(whole, part *claimNow) bool {
	for hops := 0; part != nil && part.summed != 0 && hops < len(n.claims); hops++ {
		if part.summed == whole.nid {
			return true
		}
		i := slices.IndexFunc(n.claims, func(c *claimNow) bool { return c.nid == part.summed })
		if i < 0 {
			return false
		}
		part = n.claims[i]
	}
	return false
}

// shared finds a twin that is part of two, or one of them, on the same day.
func (n *ledgerNow) shared(a, b int64, in days) int64 {
	below, other := n.below(a, in), n.below(b, in)
	for nid, when := range below {
		for _, d := range when {
			for _, o := range other[nid] {
				if d.within(o).some() {
					return nid
				}
			}
		}
	}
	return 0
}

// below lists what a twin consists of, with the days of each.
func (n *ledgerNow) below(nid int64, in days) map[int64][]days {
	out := map[int64][]days{nid: {in}}
	for again := true; again; {
		again = false
		for _, e := range n.edges {
			for _, d := range out[e.whole] {
				if d = d.within(e.days); d.some() && !slices.Contains(out[e.part], d) {
					out[e.part], again = append(out[e.part], d), true
				}
			}
		}
	}
	return out
}

// collectionsCount holds what collections say about their claims to the claims, now and
// then.
func (c *chain) collectionsCount(*ledgerNow) string {
	if !c.one(8) {
		return ""
	}
	id := c.pick(c.collection...)
	said := read[struct {
		Counts map[string]int `json:"counts"`
	}](c.send("carl", "GET /v1/collections/"+id, "")).Counts
	for _, status := range []string{"pending", "flagged", "disputed", "approved", "rejected", "invalidated", "withdrawn"} {
		var n int
		if err := c.b.DB.QueryRow(c.t.Context(), `SELECT count(*) FROM claims WHERE ws = 'default' AND collection = $1 AND status = $2`, strings.TrimPrefix(id, "col_"), status).Scan(&n); err != nil || n != said[status] {
			return fmt.Sprintf("the collection %s has %d claims that are %s (%v), and counts %v", id, n, status, err, said)
		}
	}
	return ""
}
