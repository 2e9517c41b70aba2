package app_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// chainStep is something that somebody does, and how often it is drawn. It is true when
// it was done.
type chainStep struct {
	often int
	do    func(c *chain) bool
}

// chainSteps are the steps there are.
var chainSteps = map[string]chainStep{
	"claim": {7, (*chain).stepClaim}, "whole": {3, (*chain).stepWhole}, "claim as a twin": {2, (*chain).stepClaimTwin}, "sum": {2, (*chain).stepSum}, "draft": {2, (*chain).stepDraft}, "submit a draft": {2, (*chain).stepSubmit},
	"batch": {3, (*chain).stepBatch}, "import": {1, (*chain).stepImport},
	"evaluate": {9, (*chain).stepEvaluate}, "verify": {5, (*chain).stepVerify}, "process": {2, (*chain).stepProcess}, "issue": {6, (*chain).stepIssue},
	"patch": {2, (*chain).stepPatch}, "property": {1, (*chain).stepProperty}, "transition": {3, (*chain).stepTransition}, "transfer": {2, (*chain).stepTransfer},
	"relate": {5, (*chain).stepRelate}, "unrelate": {3, (*chain).stepUnrelate}, "bind": {2, (*chain).stepBind},
	"dispute": {1, (*chain).stepDispute}, "decide": {2, (*chain).stepDecide}, "withdraw": {1, (*chain).stepWithdraw}, "credential": {3, (*chain).stepCredential}, "collection": {1, (*chain).stepCollection},
}

func (s *sequence) anybody() string { return s.pick("carl", "ann", "ann", "bob", "bob", "eve") }

// anything is a twin of the sequence.
func (s *sequence) anything() string {
	return s.pick(slices.Concat(s.claims, s.claims, s.credentials, s.credentials, s.stoves, s.homes)...)
}

func (s *sequence) subject() string {
	return s.pick(slices.Concat(s.stoves, s.stoves, s.homes, []string{s.site})...)
}

// judge is mostly the one whose oracle verifies a claim, or has issued a credential.
func (c *chain) judge(id string) string {
	if name := c.judges[id]; name != "" && !c.one(4) {
		return name
	}
	return c.anybody()
}

// open is mostly a claim that nobody has decided, and ripe one that is approved.
func (c *chain) open() string { return c.standing("pending", "flagged") }

func (c *chain) ripe() string { return c.standing("approved") }

func (c *chain) standing(status ...string) string {
	var some []string
	for _, one := range c.last.claims {
		if slices.Contains(status, one.status) {
			some = append(some, one.did)
		}
	}
	if len(some) == 0 || c.one(5) {
		some = c.claims
	}
	return c.pick(some...)
}

// byFacts reports whether the rubric for a claim asks for facts.
func (c *chain) byFacts(id string) bool {
	i := slices.IndexFunc(c.last.claims, func(one *claimNow) bool { return one.did == id })
	return i >= 0 && c.last.claims[i].kind == "fuel" && c.last.claims[i].version == "1.0.0"
}

// kind is one of claims, in whatever case.
func (s *sequence) kind() string {
	return s.pick("fuel", "fuel", "fuel", "fuel", "self", "self", "half", "two", "visits", "FUEL", "Self")
}

// period is from when to when: of 60 days that all claims of a sequence are about.
func (s *sequence) period() (from, to string) {
	first := s.rand.IntN(50)
	day := func(n int) string { return time.Date(2025, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }
	return day(first), day(first + s.rand.IntN(12))
}

// draft is the body of a claim.
func (c *chain) draft() object {
	from, to := c.period()
	out := object{"kind": c.kind(), "subject": c.subject(), "periodStart": from, "periodEnd": to, "amount": object{"value": []int{5, 50, 500, 5000}[c.rand.IntN(4)], "unit": "kg"}}
	if !c.one(8) {
		out["oracle"] = c.pick(c.oracles...)
	}
	if c.one(4) {
		out["collection"], out["subject"] = c.pick(c.collection...), c.pick(c.stoves...)
	}
	for _, end := range []string{"periodStart", "periodEnd"} {
		if c.one(20) {
			delete(out, end)
		}
	}
	return out
}

// twinDraft is a claim as a twin.
func (c *chain) twinDraft() object {
	d := c.draft()
	props := object{}
	for _, name := range []string{"kind", "periodStart", "periodEnd", "amount"} {
		if d[name] != nil {
			props[name] = d[name]
		}
	}
	roles := []object{{"role": "producedBy", "target": d["subject"]}}
	if d["oracle"] != nil {
		roles = append(roles, object{"role": "verifiedBy", "target": d["oracle"]})
	}
	return object{"type": "Claim", "protocol": "did:ixo:protocol/claim", "properties": props, "relationships": roles}
}

// claimed keeps a claim that was made, and who judges it.
func (c *chain) claimed(id string, ok bool, oracle any) bool {
	if ok && id != "" {
		c.claims = append(c.claims, id)
		if i := slices.Index(c.oracles, fmt.Sprint(oracle)); i >= 0 {
			c.judges[id] = []string{"ann", "bob"}[i]
		}
	}
	return ok
}

// verifier is the oracle of a claim's twin.
func verifier(twin object) any {
	roles, _ := twin["relationships"].([]object)
	for _, r := range roles {
		if r["role"] == "verifiedBy" {
			return r["target"]
		}
	}
	return nil
}

func (c *chain) stepClaim() bool {
	d := c.draft()
	r := c.send("carl", "POST /v1/claims", text(d))
	return c.claimed(read[issued](r).ID, done(r), d["oracle"])
}

func (c *chain) stepClaimTwin() bool {
	d := c.twinDraft()
	r := c.send("carl", "POST /v1/entities", text(d))
	return c.claimed(read[struct {
		DID string `json:"did"`
	}](r).DID, done(r), verifier(d))
}

// stepSum claims of a home, or the project, what was claimed of parts.
func (c *chain) stepSum() bool {
	d := c.draft()
	d["kind"], d["subject"], d["claims"] = "fuel", c.pick(append(c.homes, c.site)...), []string{c.pick(c.claims...)}
	if c.one(3) {
		d["claims"] = []string{c.pick(c.claims...), c.pick(c.claims...)}
	}
	d["periodStart"], d["periodEnd"] = "2025-01-01", "2025-03-31"
	delete(d, "collection")
	d["amount"] = object{"value": 5, "unit": "kg"}
	r := c.send("carl", "POST /v1/claims", text(d))
	return c.claimed(read[issued](r).ID, done(r), d["oracle"])
}

func (c *chain) stepDraft() bool {
	d := c.draft()
	delete(d, "subject")
	delete(d, "collection")
	r := c.send("carl", "POST /v1/claims", text(d))
	if done(r) {
		c.drafts = append(c.drafts, read[issued](r).ID)
	}
	return c.claimed(read[issued](r).ID, done(r), d["oracle"])
}

// stepSubmit gives a draft its subject.
func (c *chain) stepSubmit() bool {
	id := c.pick(append(c.drafts, c.pick(c.claims...))...)
	r := c.send("carl", "POST "+at(id, "relationships"), text(object{"role": "producedBy", "target": c.subject()}))
	now := c.send("carl", "POST "+at(id, "transitions"), `{"to":"active"}`)
	return done(r) || done(now)
}

// stepBatch does several things at once, one of which may be to make a credential.
func (c *chain) stepBatch() bool {
	ops := []object{
		{"op": "create", "entity": c.twinDraft()},
		{"op": "patch", "did": c.anything(), "ifMatch": "*", "patch": object{"properties": object{"amount": object{"value": 9000, "unit": "t"}}}},
		{"op": "create", "entity": object{"type": "credential", "protocol": "did:ixo:protocol/credential", "relationships": []object{{"role": "becameFrom", "target": c.pick(c.claims...)}}}},
		{"op": "relate", "did": c.pick(c.claims...), "relationship": object{"role": "becomes", "target": c.pick(c.credentials...)}},
		{"op": "transition", "did": c.anything(), "to": c.pick("active", "suspended", "deactivated")},
		{"op": "relate", "did": c.pick(c.stoves...), "relationship": object{"role": "household", "target": c.pick(c.homes...)}},
		{"op": "create", "entity": c.twinDraft()},
	}
	c.rand.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	r := c.send(c.pick("carl", "carl", c.anybody()), "POST /v1/entities:batch", text(object{"atomic": c.one(3), "operations": ops[:1+c.rand.IntN(4)]}))
	ok := false
	for i, result := range read[struct {
		Results []struct {
			DID    string `json:"did"`
			Status int    `json:"status"`
		} `json:"results"`
	}](r).Results {
		ok = ok || result.Status < 300
		if entity, _ := ops[i]["entity"].(object); result.Status == 201 && entity["type"] == "Claim" {
			c.claimed(result.DID, true, verifier(entity))
		}
	}
	return ok
}

// stepImport makes or changes claims and credentials by a file.
func (c *chain) stepImport() bool {
	rows := []object{c.twinDraft(), {"type": "credential", "protocol": "did:ixo:protocol/credential", "relationships": []object{{"role": "becameFrom", "target": c.pick(c.claims...)}}}}
	if id := c.anything(); c.one(2) {
		rows = append(rows, object{"did": id, "type": "Claim", "protocol": "did:ixo:protocol/claim", "properties": object{"amount": object{"value": 9000, "unit": "t"}}})
	}
	return c.carry(c.pick("carl", "carl", c.anybody()), c.pick("create", "upsert"), rows...)
}

// stepWhole takes a claim all the way to its credential, as far as others let it.
func (c *chain) stepWhole() bool {
	d, n := c.draft(), c.rand.IntN(2)
	d["kind"], d["oracle"], d["amount"] = c.pick("fuel", "visits"), c.oracles[n], object{"value": 50, "unit": "kg"}
	r := c.send("carl", "POST /v1/claims", text(d))
	id, judge := read[issued](r).ID, []string{"ann", "bob"}[n]
	if !c.claimed(id, done(r), d["oracle"]) {
		return false
	}
	body := object{"decision": "approved", "reason": "looked at it"}
	if d["kind"] == "fuel" {
		body = object{"facts": object{"usage": object{"value": []float64{0.5, 0.9}[c.rand.IntN(2)]}}}
	}
	c.send(judge, "POST "+c.claimAt(id)+"/evaluations", text(body))
	r = c.send(judge, "POST /v1/credentials", text(object{"claim": id}))
	if !done(r) {
		return false
	}
	made := read[issued](r).ID
	c.credentials, c.judges[made] = append(c.credentials, made), judge
	return true
}

func (c *chain) claimAt(id string) string { return "/v1/claims/" + url.PathEscape(id) }

// stepEvaluate enters facts or decides, or both.
func (c *chain) stepEvaluate() bool {
	id, body := c.open(), object{}
	if c.byFacts(id) != c.one(6) {
		body["facts"] = object{"usage": object{"value": []float64{0.5, 0.9, 2}[c.rand.IntN(3)]}, "sold": object{"value": c.one(5)}}
	}
	if body["facts"] == nil || c.one(3) {
		body["decision"], body["reason"] = c.pick("approved", "approved", "rejected", "flagged"), "looked at it"
		if c.one(3) && body["decision"] == "approved" {
			body["amount"] = []float64{3, 30, 3000}[c.rand.IntN(3)]
		}
	}
	if c.one(4) {
		body["oracle"] = c.pick(c.oracles...)
	}
	return done(c.send(c.judge(id), "POST "+c.claimAt(id)+"/evaluations", text(body)))
}

// stepVerify judges by the route of the twin.
func (c *chain) stepVerify() bool {
	id := c.pick(c.open(), c.open(), c.ripe())
	now := read[struct {
		Revision int64 `json:"revision"`
	}](c.send("carl", "GET "+at(id), ""))
	body := object{"status": c.pick("verified", "verified", "rejected", "revoked", "pending"), "reason": "looked at it", "revision": now.Revision}
	if c.one(4) {
		body["oracle"] = c.pick(c.oracles...)
	}
	return done(c.send(c.judge(id), "POST "+at(id, "verification"), text(body)))
}

func (c *chain) stepProcess() bool {
	return done(c.send(c.anybody(), "POST /v1/claims:process", ""))
}

func (c *chain) stepIssue() bool {
	id := c.ripe()
	body := object{"claim": id}
	if c.one(6) {
		body["credentialSubject"] = object{"amount": object{"value": 5000, "unit": "t"}}
	}
	if c.one(6) {
		body["issuer"] = c.pick(c.oracles...)
	}
	r := c.send(c.judge(id), "POST /v1/credentials", text(body))
	if done(r) {
		made := read[issued](r).ID
		c.credentials, c.judges[made] = append(c.credentials, made), c.judges[id]
	}
	return done(r)
}

func (c *chain) stepPatch() bool {
	change := []object{
		{"properties": object{"amount": object{"value": 9000, "unit": "t"}}},
		{"properties": object{"kind": "visits", "periodEnd": "2025-01-02"}},
		{"metadata": object{"claim": "did:x:other"}},
		{"protocol": "did:ixo:protocol/clean-cooking"},
		{"protocolVersion": "2.0.0"},
		{"type": "Credential"},
		{"properties": object{"name": "other"}},
	}[c.rand.IntN(7)]
	return done(c.send(c.anybody(), "PATCH "+at(c.anything()), text(change)))
}

func (c *chain) stepProperty() bool {
	name := c.pick("amount", "kind", "issuer", "name", "name", "name")
	var value any = "other"
	if name == "amount" {
		value = object{"value": 9000, "unit": "t"}
	}
	return done(c.send(c.pick("carl", "carl", c.anybody()), "PUT "+at(c.anything(), "properties", name), text(value)))
}

func (c *chain) stepTransition() bool {
	return done(c.send(c.anybody(), "POST "+at(c.anything(), "transitions"), `{"to":"`+c.pick("active", "suspended", "completed", "deactivated")+`","reason":"so"}`))
}

func (c *chain) stepTransfer() bool {
	return done(c.send(c.pick("carl", "carl", c.anybody()), "POST "+at(c.anything(), "transfer"), `{"controller":"did:ixo:agent/`+c.anybody()+`"}`))
}

// stepRelate makes something part of something else, since some day or ever.
func (c *chain) stepRelate() bool {
	part, whole := c.pick(c.stoves...), c.pick(append(c.homes, c.homes[0], c.site)...)
	if c.one(3) {
		part, whole = c.pick(c.homes...), c.site
	}
	body, on := object{"role": c.pick("household", "partOf", "installedIn"), "target": whole}, part
	if c.one(4) {
		body["role"], body["target"], on = c.pick("contains", "hasPart"), part, whole
	}
	if from, to := c.period(); c.one(3) {
		body["since"] = from + "T00:00:00Z"
		if c.one(2) {
			body["until"] = to + "T00:00:00Z"
		}
	}
	return done(c.send("carl", "POST "+at(on, "relationships"), text(body)))
}

// stepUnrelate ends any relationship of a twin.
func (c *chain) stepUnrelate() bool {
	id := c.pick(c.anything(), c.pick(c.stoves...), c.pick(c.stoves...))
	found := read[struct {
		Relationships []issued `json:"relationships"`
	}](c.send("carl", "GET "+at(id), "")).Relationships
	if len(found) == 0 {
		return false
	}
	return done(c.send(c.pick("carl", "carl", c.anybody()), "DELETE "+at(id, "relationships", found[c.rand.IntN(len(found))].ID), ""))
}

// stepBind says by hand what only the chain itself may say, or who verifies.
func (c *chain) stepBind() bool {
	body := []object{
		{"role": "becomes", "target": c.pick(c.credentials...)}, {"role": "producedBy", "target": c.subject()}, {"role": "verifiedBy", "target": c.pick(c.oracles...)},
	}[c.rand.IntN(3)]
	return done(c.send(c.pick("carl", "carl", c.anybody()), "POST "+at(c.pick(c.claims...), "relationships"), text(body)))
}

func (c *chain) stepDispute() bool {
	id := c.pick(c.ripe(), c.open())
	r := c.send(c.pick("eve", "eve", c.anybody()), "POST "+c.claimAt(id)+"/disputes", `{"reason":"sold"}`)
	if done(r) {
		c.disputes = append(c.disputes, [2]string{id, read[issued](r).ID})
	}
	return done(r)
}

func (c *chain) stepDecide() bool {
	if len(c.disputes) == 0 {
		return false
	}
	d := c.disputes[c.rand.IntN(len(c.disputes))]
	return done(c.send(c.pick("dan", "dan", c.anybody()), "POST "+c.claimAt(d[0])+"/disputes/"+d[1]+"/decision", `{"outcome":"`+c.pick("upheld", "dismissed")+`","reason":"heard"}`))
}

func (c *chain) stepWithdraw() bool {
	return done(c.send("carl", "POST "+c.claimAt(c.open())+"/withdraw", `{}`))
}

func (c *chain) stepCredential() bool {
	if len(c.credentials) == 0 {
		return false
	}
	id := c.pick(c.credentials...)
	return done(c.send(c.judge(id), "POST /v1/credentials/"+url.PathEscape(id)+"/"+c.pick("revoke", "suspend", "reinstate", "retire"), `{"reason":"so"}`))
}

// stepCollection stops and opens a collection for others that come.
func (c *chain) stepCollection() bool {
	id := c.pick(c.collection...)
	ok := done(c.send("carl", "POST /v1/collections/"+id+"/pause", ""))
	r := c.send("carl", "POST /v1/claims", text(object{"kind": "visits", "subject": c.pick(c.stoves...), "collection": id}))
	if done(r) {
		c.broken = fmt.Sprintf("a collection that is paused takes a claim: %s", strings.TrimSpace(r.Body.String()))
	}
	return ok && done(c.send("carl", "POST /v1/collections/"+id+"/open", ""))
}
