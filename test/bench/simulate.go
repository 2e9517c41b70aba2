package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of a dry run: how many times the CPU of the bound it may take, and how many
// claims it decides in a second of CPU at least.
const (
	simulateBar     = 3.0
	simulateRateBar = 2000.0
	simulatedClaims = 100_000
)

// triedRule is a rule of the rubric that is tried, as the protocol has it and as the
// bound compiles it.
type triedRule struct {
	ID     string         `json:"id"`
	Stage  string         `json:"stage"`
	When   string         `json:"when"`
	Then   map[string]any `json:"then"`
	amount string
}

func rule(id, stage, when, outcome, amount string) triedRule {
	then := map[string]any{"outcome": outcome, "reasonCode": strings.ToUpper(id)}
	if amount != "" {
		then["amount"] = amount
	}
	return triedRule{id, stage, when, then, amount}
}

// triedRules are those that are shipped for saved fuel, which approve in full from a
// share of days on.
func triedRules(full string) []triedRule {
	return []triedRule{
		rule("found", "veto", "facts.found == false", "rejected", ""),
		rule("unused", "veto", "facts.usageRate != null && facts.usageRate == 0.0", "rejected", ""),
		rule("agree", "conflict", "facts.sourcesAgree == false", "flagged", ""),
		rule("period", "manual_review", "claim.periodStart == null || claim.periodEnd == null || claim.periodEnd > claim.submitted", "manual_review_required", ""),
		rule("usage", "manual_review", "facts.usageRate == null", "manual_review_required", ""),
		rule("odd", "manual_review", "facts.usageRate < 0.0 || facts.usageRate > 1.0", "manual_review_required", ""),
		rule("imprecise", "manual_review", "facts.precisionMet == false", "manual_review_required", ""),
		rule("some", "partial", "facts.usageRate > 0.0 && facts.usageRate < "+full, "partial_success", "claim.amount * facts.usageRate"),
		rule("rest", "approval", "true", "approved", ""),
	}
}

// verificationOf is what a claim type, or a request for a dry run, says of the rules.
func verificationOf(full string) map[string]any {
	return map[string]any{"rubric": triedRules(full), "facts": []map[string]any{
		{"id": "found", "type": "boolean"}, {"id": "usageRate", "type": "number", "confidence": 0.9}, {"id": "sourcesAgree", "type": "boolean"}, {"id": "precisionMet", "type": "boolean"},
	}}
}

// copyEvaluations and copyClaims multiply the one claim there is, and its evaluation.
// One in ten was approved in full, the others in part, each as the rubric says.
const (
	copyClaims = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO claims (nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, collection, starts, ends, amount, unit, status, approved, submitted_at, document, facts, protocol, version)
	SELECT nid + n.i, ws, did || n.i, cid || n.i, project, type, kind, subject, subject_did, claimant, collection, starts, ends, amount, unit, status, approved, submitted_at, document,
		replace(facts, '"value":0.85', '"value":' || ((n.i % 100 + 1) / 100.0)), protocol, version
	FROM claims, n WHERE kind = 'fuel-saved'`
	copyEvaluations = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO claim_evaluations (nid, ws, claim, at, evaluator, oracle, protocol, version, rubric_hash, facts, outcome, reason_code, rule, amount, status, reason, automatic)
	SELECT nid + n.i, ws, claim + n.i, at, evaluator, oracle, protocol, version, rubric_hash, replace(facts, '"value":0.85', '"value":' || ((n.i % 100 + 1) / 100.0)),
		CASE WHEN n.i % 100 + 1 < 80 THEN 'partial_success' ELSE outcome END, reason_code, rule, CASE WHEN n.i % 100 + 1 < 80 THEN amount * ((n.i % 100 + 1) / 100.0) ELSE amount END, status, reason, automatic
	FROM claim_evaluations, n`
)

// simulations compares a dry run of a rubric over past claims, asked for over the API and
// made by a job, with reading the same rows and running the compiled rules, and no more.
// The CPU of the run is all that the server takes from the request to the end of the job.
func (b *bench) simulations(ctx context.Context) error {
	n := simulatedClaims
	if b.quick {
		n = 2000
	}
	dir, err := b.seedClaims(ctx, n)
	if err != nil {
		return err
	}
	var p pairs
	for range min(b.rounds, 5) {
		bound, err := bareSimulation(ctx, dir, n)
		if err != nil {
			return err
		}
		ours, err := b.simulation(ctx, dir, n)
		if err != nil {
			return err
		}
		p.ours, p.bound = append(p.ours, ours), append(p.bound, bound)
	}
	b.times("dry run", fmt.Sprintf("a dry run of %d claims", n), p, simulateBar)
	rate := float64(n) / medianOf(p.ours, sample.cpuSeconds)
	fmt.Printf("%.0f claims in a second of CPU   bar %.0f %s\n", rate, simulateRateBar, b.verdict("claims of a dry run", rate >= simulateRateBar))
	return nil
}

// seedClaims fills a folder with claims that were decided.
func (b *bench) seedClaims(ctx context.Context, n int) (string, error) {
	s, err := b.start()
	if err != nil {
		return "", err
	}
	k, err := openCourt(ctx, s, verificationOf("0.8"))
	if err == nil {
		_, err = k.approved(ctx, 0)
		k.close()
	}
	if err := errors.Join(err, s.Stop(stopLimit)); err != nil {
		return "", err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(s.Dir, "hearth.db"), Sync: "normal", TxLimit: time.Hour}) // nobody waits for these rows
	if err != nil {
		return "", err
	}
	for _, sql := range []string{copyEvaluations, copyClaims} {
		if _, err = d.Exec(ctx, sql, n-1); err != nil {
			break
		}
	}
	return s.Dir, errors.Join(err, d.Close())
}

// simulation starts a server on a folder and makes it try a stricter rubric.
func (b *bench) simulation(ctx context.Context, dir string, n int) (out sample, err error) {
	s, err := server.Start(server.Options{Binary: b.binary, Dir: dir})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	c := s.Client(1)
	defer c.Close()
	body, err := json.Marshal(map[string]any{"kind": "fuel-saved", "verification": verificationOf("0.9")})
	if err != nil {
		return out, err
	}
	var j struct {
		ID string `json:"id"`
	}
	start := time.Now()
	out.ops = n
	out.cpu, err = cpuOf(s, func() error {
		a, err := post(ctx, c, "/v1/claims:simulate", string(body))
		if err != nil {
			return err
		}
		return errors.Join(a.JSON(&j), awaitJob(ctx, c, "/v1/jobs/"+j.ID))
	})
	out.took = time.Since(start)
	if err != nil {
		return out, err
	}
	return out, simulatedAll(ctx, c, j.ID, n)
}

// simulatedAll checks that a dry run has seen all claims, and what would change.
func simulatedAll(ctx context.Context, c *server.Client, id string, n int) error {
	a, err := c.Do(ctx, "GET", "/v1/claim-simulations/"+id, nil)
	if err != nil {
		return err
	}
	var got api.ClaimSimulation
	if err := a.JSON(&got); err != nil {
		return err
	}
	if want := n / 10; got.Counts.Claims != int64(n) || got.Counts.Changed < int64(want-1) || got.Counts.Changed > int64(want+1) {
		return fmt.Errorf("the dry run says %+v, want %d claims of which %d change", got.Counts, n, want)
	}
	return nil
}

// pastClaims are the rows that a dry run needs.
const pastClaims = `SELECT c.amount, c.starts, c.ends, c.submitted_at, c.facts, e.outcome, e.amount FROM claims c
	JOIN claim_evaluations e ON e.nid = (SELECT MAX(n.nid) FROM claim_evaluations n WHERE n.claim = c.nid) WHERE c.ws = $1 AND c.kind = 'fuel-saved' ORDER BY c.nid`

// bareSimulation reads the claims of a folder and runs the compiled rules about each.
func bareSimulation(ctx context.Context, dir string, n int) (out sample, err error) {
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(dir, "hearth.db")})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	rules, err := compileBare()
	if err != nil {
		return out, err
	}
	return measure(n, func() error {
		seen, changed := 0, 0
		rows, err := d.Query(ctx, pastClaims, "default")
		err = db.Each(rows, err, "read claims", func(row db.Row) error {
			differs, err := rules.differs(row)
			seen++
			if differs {
				changed++
			}
			return err
		})
		if err == nil && (seen != n || changed < n/10-1 || changed > n/10+1) {
			err = fmt.Errorf("%d of %d claims change, want %d of %d", changed, seen, n/10, n)
		}
		return err
	})
}

// bareRules are the compiled rules, and the shapes of what they read.
type bareRules struct {
	claim, facts *cel.Shape
	when, amount []*cel.Program
	outcomes     []string
}

func compileBare() (*bareRules, error) {
	r := &bareRules{claim: cel.NewShape("claim"), facts: cel.NewShape("facts")}
	r.claim.Add("amount", cel.Number)
	for _, name := range []string{"periodStart", "periodEnd", "submitted"} {
		r.claim.Add(name, cel.Any)
	}
	r.facts.Add("found", cel.Boolean)
	r.facts.Add("usageRate", cel.Number)
	r.facts.Add("sourcesAgree", cel.Boolean)
	r.facts.Add("precisionMet", cel.Boolean)
	env, err := cel.NewEnv([]*cel.Shape{r.claim, r.facts}, []cel.Variable{{Name: "claim", Type: cel.RecordOf(r.claim)}, {Name: "facts", Type: cel.RecordOf(r.facts)}})
	if err != nil {
		return nil, err
	}
	names := func(name string) (cel.Ref, error) { return cel.Ref{Var: name}, nil }
	for _, each := range triedRules("0.9") {
		when, err := env.Compile(each.When, names, cel.Condition)
		if err != nil {
			return nil, err
		}
		var amount *cel.Program
		if each.amount != "" {
			if amount, err = env.Compile(each.amount, names, cel.Result); err != nil {
				return nil, err
			}
		}
		outcome, _ := each.Then["outcome"].(string)
		r.when, r.amount, r.outcomes = append(r.when, when), append(r.amount, amount), append(r.outcomes, outcome)
	}
	return r, nil
}

// differs reads a claim and reports whether the rules decide differently from the past
// decision.
func (r *bareRules) differs(row db.Row) (bool, error) {
	var amount, wasAmount float64
	var starts, ends, submitted int64
	var facts, was string
	if err := row.Scan(&amount, &starts, &ends, &submitted, &facts, &was, &wasAmount); err != nil {
		return false, err
	}
	var f struct {
		Found, SourcesAgree, PrecisionMet struct{ Value *bool }
		UsageRate                         struct{ Value float64 }
	}
	if err := json.Unmarshal([]byte(facts), &f, json.MatchCaseInsensitiveNames(true)); err != nil {
		return false, err
	}
	vars := bareVars{
		&cel.Record{Shape: r.claim, Members: bareMembers{
			cel.NumberValue(amount), cel.InstantValue(time.UnixMilli(starts)), cel.InstantValue(time.UnixMilli(ends)), cel.InstantValue(time.UnixMilli(submitted)),
		}},
		&cel.Record{Shape: r.facts, Members: bareMembers{orNull(f.Found.Value), cel.NumberValue(f.UsageRate.Value), orNull(f.SourcesAgree.Value), orNull(f.PrecisionMet.Value)}},
	}
	for i, when := range r.when {
		held, _, err := when.Holds(vars)
		if err != nil {
			return false, err
		}
		if !held {
			continue
		}
		if r.amount[i] != nil {
			v, _, err := r.amount[i].Eval(vars)
			if err != nil {
				return false, err
			}
			amount, _ = v.Value().(float64)
		}
		return r.outcomes[i] != was || amount != wasAmount, nil
	}
	return true, nil
}

func orNull(b *bool) cel.Value {
	if b == nil {
		return cel.Null
	}
	return cel.BooleanValue(*b)
}

// bareMembers are the values of a record by their places.
type bareMembers []cel.Value

// Member returns the value at a place.
func (m bareMembers) Member(i int) cel.Value { return m[i] }

// Answered reports whether there are values.
func (m bareMembers) Answered() bool { return len(m) > 0 }

// bareVars holds the two records that a rule reads.
type bareVars struct{ claim, facts *cel.Record }

// Parent returns nil.
func (v bareVars) Parent() cel.Vars { return nil }

// ResolveName returns a record by its name.
func (v bareVars) ResolveName(name string) (any, bool) {
	if name == "claim" {
		return v.claim, true
	}
	return v.facts, name == "facts"
}
