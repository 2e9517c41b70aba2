package claim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	listDue   = `SELECT ws, nid, did, project FROM claims WHERE due <> 0 AND status = 'pending' AND due <= $1 ORDER BY due, nid LIMIT $2`
	listDueOf = `SELECT ws, nid, did, project FROM claims WHERE ws = $3 AND due <> 0 AND status = 'pending' AND due <= $1 ORDER BY due, nid LIMIT $2`
	updateDue = `UPDATE claims SET due = $2 WHERE nid = $1 AND due <> 0`

	maxProcessed = 100            // claims that one request processes
	putOff       = 24 * time.Hour // until a claim that could not be evaluated yet is looked at again
)

// Engine evaluates the claims of types whose mode is auto or hybrid. It acts for the
// oracle that verifies a claim, as a controller of it who has consented, whom the
// record names, and by the same rules: never a controller's own claim, and no result
// that the rubric does not give. It enters no facts.
type Engine struct{ s *Service }

// NewEngine makes the Engine of the claims of a Service.
func NewEngine(s *Service) *Engine { return &Engine{s} }

type engineKey struct{}

// automatic is 1 where the engine evaluates, else 0.
func automatic(ctx context.Context) int64 {
	if ctx.Value(engineKey{}) != nil {
		return 1
	}
	return 0
}

// Process evaluates claims of the caller's workspace that are due, the longest due
// first.
func (e *Engine) Process(ctx context.Context, limit int) (*api.ProcessedClaims, error) {
	c := web.CallerFrom(ctx)
	rows, err := e.s.db.Query(ctx, listDueOf, e.now(), maxLooked, c.Workspace)
	all, err := db.Collect(rows, err, "list due claims", scanDue)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r row) bool { return !sees(c, r.project) })
	out := &api.ProcessedClaims{Items: []api.ProcessedClaim{}, More: len(all) > limit}
	for i := range all[:min(limit, len(all))] {
		done, err := e.one(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		if done != nil {
			out.Items = append(out.Items, *done)
		}
	}
	return out, nil
}

// Run evaluates the claims that are due in all workspaces, and returns how many it has
// looked at.
func (e *Engine) Run(ctx context.Context) (n int64, err error) {
	for {
		rows, err := e.s.db.Query(ctx, listDue, e.now(), chunk)
		all, err := db.Collect(rows, err, "list due claims", scanDue)
		if err != nil {
			return n, err
		}
		for i := range all {
			if _, err := e.one(ctx, &all[i]); err != nil {
				return n, err
			}
			n++
		}
		if len(all) < chunk {
			return n, nil
		}
	}
}

func (e *Engine) now() int64 { return e.s.cfg.Ledger.Now().UnixMilli() }

func scanDue(r *row, from db.Row) error { return from.Scan(&r.ws, &r.nid, &r.did, &r.project) }

// one evaluates a claim, or says why not; nil when another process was faster. An
// obstacle is not a failure: the claim then waits for people, or is put off.
func (e *Engine) one(ctx context.Context, seen *row) (out *api.ProcessedClaim, err error) {
	ctx = context.WithValue(web.WithCaller(ctx, web.Caller{Workspace: seen.ws}), engineKey{}, true)
	var done *api.ProcessedClaim // only after success: a transaction that was given up may still be at it
	err = e.s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		done, err = e.evaluate(ctx, tx, seen)
		return err
	})
	if err == nil {
		return done, nil
	}
	f := fault.As(err)
	if f == nil || f.Kind == fault.Internal {
		return nil, err
	}
	out = &api.ProcessedClaim{Claim: seen.did, Status: Pending, ReasonCode: f.Code, Words: "The claim was not evaluated: " + f.Message + " The server tries again in a day, unless somebody evaluates it first."}
	return out, e.s.db.InTx(ctx, func(tx *db.Tx) error { return e.delay(ctx, tx, seen) })
}

// delay postpones a due claim.
func (e *Engine) delay(ctx context.Context, tx *db.Tx, r *row) error {
	_, err := tx.Exec(ctx, updateDue, r.nid, e.now()+putOff.Milliseconds())
	return db.Wrap("put claim off", err)
}

// evaluate locks a claim and evaluates it, unless it is no longer due.
func (e *Engine) evaluate(ctx context.Context, tx *db.Tx, seen *row) (*api.ProcessedClaim, error) {
	twin, err := e.s.cfg.Entities.FindForUpdate(ctx, tx, seen.did)
	if err != nil {
		return nil, err
	}
	r, err := held(ctx, tx, seen.ws, seen.nid)
	if err != nil || r == nil || r.due == 0 || r.due > e.now() || r.status != Pending {
		return nil, err
	}
	if r.summed != 0 { // its sum is evaluated instead
		return nil, e.delay(ctx, tx, r)
	}
	p, err := e.s.cfg.Ledger.protocolOf(ctx, tx, r)
	if err != nil {
		return nil, err
	}
	facts, err := r.known()
	if err != nil {
		return nil, err
	}
	d, err := e.s.cfg.Ledger.decide(p, r, facts)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, updateDue, r.nid, 0); err != nil {
		return nil, db.Wrap("take claim off", err)
	}
	as, err := e.spokesman(ctx, tx, r, p)
	if err != nil {
		return nil, err
	}
	why, err := e.conclude(ctx, tx, twin, deciding{row: r, decision: d, spokesman: as, writers: p.Writers(), mode: protocol.FindClaimForm(p.ClaimTypes(), r.kind).Mode})
	if err != nil {
		return nil, err
	}
	now, err := held(ctx, tx, r.ws, r.nid)
	if err != nil {
		return nil, err
	}
	return &api.ProcessedClaim{Claim: r.did, Kind: r.kind, Status: now.status, Outcome: string(d.Outcome), ReasonCode: d.ReasonCode, Words: strings.TrimSpace(e.s.cfg.Ledger.words(now, p, d.Decision, d.grant(now)) + " " + why)}, nil
}

// spokesman is the controller for whom the engine acts.
type spokesman struct {
	oracle      string
	controllers []string // DIDs
	speaker     string   // the first of them who has agreed to be spoken for; "" when nobody has
	group       bool     // a group is among the controllers, and its members have not consented
	unable      bool     // one of them may not evaluate claims, or no longer
}

// spokesman finds the first active oracle that verifies a claim and whose controller
// allows it. The fault is MISSING_RELATIONSHIPS.
func (e *Engine) spokesman(ctx context.Context, tx *db.Tx, r *row, p *protocol.Protocol) (*spokesman, error) {
	rule, _, _ := protocol.FindClaimRule(p.ClaimTypes(), r.kind)
	nids, err := relationship.Need{Role: relationship.Verifies, Now: e.now()}.Parents(ctx, tx, r.nid, maxSummed)
	if err != nil {
		return nil, err
	}
	for _, nid := range nids {
		end, err := relationship.EndByNID(ctx, tx, r.ws, nid)
		if err != nil {
			return nil, err
		}
		if end == nil || !slices.Contains(rule.Oracles, end.DID) {
			continue // anybody may make an oracle: those that the claim type names are trusted
		}
		found, err := e.s.cfg.Entities.Find(ctx, tx, end.DID)
		if err != nil {
			return nil, err
		}
		oracle, err := found.Entity()
		if err != nil {
			return nil, err
		}
		if oracle.Status == entity.StatusActive {
			return e.staff(ctx, tx, nid, oracle)
		}
	}
	return nil, relationship.Lacking([]string{relationship.VerifiedBy}, "No active oracle verifies the claim that its claim type names.")
}

// staff lists who controls an oracle, and finds who has consented.
func (e *Engine) staff(ctx context.Context, tx *db.Tx, nid int64, oracle *entity.Entity) (*spokesman, error) {
	agreed, err := consents(ctx, tx, nid)
	if err != nil {
		return nil, err
	}
	out := &spokesman{oracle: oracle.DID}
	for _, id := range append([]string{oracle.Controller}, oracle.Controllers...) {
		if id == "" || id == oracle.DID || slices.Contains(out.controllers, id) {
			continue
		}
		twin, err := e.s.cfg.Entities.Find(ctx, tx, id)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return nil, err
		}
		out.group = out.group || err == nil && slices.Contains([]string{"group", "organisation"}, twin.DomainType)
		out.controllers = append(out.controllers, id)
		able, err := e.able(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		out.unable = out.unable || !able
		if out.speaker == "" && slices.ContainsFunc(agreed, func(c consent) bool { return c.principal == id }) {
			out.speaker = id
		}
	}
	return out, nil
}

// able reports whether a principal may evaluate claims at this moment.
func (e *Engine) able(ctx context.Context, q db.Querier, id string) (bool, error) {
	if e.s.cfg.Rights == nil {
		return true, nil
	}
	ws := web.CallerFrom(ctx).Workspace
	scopes, err := e.s.cfg.Rights(ctx, q, ws, id)
	return web.Caller{Workspace: ws, Scopes: scopes}.May("claims:evaluate"), err
}

// deciding is a claim that the engine decides about.
type deciding struct {
	*row
	*decision
	*spokesman
	mode    string
	writers []string // of the rules
}

// conclude does what a rubric says about a claim, as far as the mode lets the engine;
// else it records what the rubric said and says why people decide.
func (e *Engine) conclude(ctx context.Context, tx *db.Tx, twin *entity.Row, d deciding) (why string, err error) {
	approves := d.Outcome == rubric.Approved || d.Outcome == rubric.Partial
	switch {
	case d.Outcome == rubric.Manual:
		why = "People decide."
	case len(d.controllers) == 0 || d.group:
		why = "The oracle is controlled by a group, or by nobody: people decide."
	case d.unable:
		why = "A controller of the oracle may not evaluate claims now: people decide."
	case d.speaker == "":
		why = "No controller of the oracle has agreed that the server evaluates in their name: people decide."
	case approves && d.mode != protocol.ModeAuto:
		why = "The mode of the claim type is hybrid: people approve."
	}
	if why == "" {
		if why, err = e.partial(ctx, tx, twin, d); err != nil {
			return "", err
		}
	}
	if why == "" {
		c := concluded{d.decision, &api.ClaimEvaluationDraft{Oracle: d.oracle}}
		return "", e.s.conclude(as(ctx, d.speaker), tx, twin, d.row, c)
	}
	amount := 0.0
	if approves {
		amount = d.Amount // proposed; the claim stays pending
	}
	return why, e.s.cfg.Ledger.note(as(ctx, d.speaker), tx, d.row, evaluation{decision: d.decision, oracle: d.oracle, reason: why, status: d.status, amount: amount})
}

// partial returns a principal who has a part in a claim as well as in the decision about
// it: a controller of the oracle, or an author or publisher of the rules; "" for none.
func (e *Engine) partial(ctx context.Context, tx *db.Tx, twin *entity.Row, d deciding) (why string, err error) {
	for _, id := range d.controllers {
		_, err := e.s.cfg.Entities.MayJudge(as(ctx, id), tx, twin, entity.Verdict{Oracle: d.oracle, Reason: d.ReasonCode})
		if fault.CodeOf(err) == "VERIFIER_IS_CLAIMANT" {
			return "A controller of the oracle has a part in the claim: somebody else must decide.", nil
		} else if err != nil {
			return "", err
		}
	}
	for _, id := range d.writers {
		err := e.s.cfg.Entities.Independent(as(ctx, id), tx, twin, false)
		if fault.CodeOf(err) == "VERIFIER_IS_CLAIMANT" {
			return "A person who wrote or published the rules of the protocol has a part in the claim: people decide.", nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}

// as is a context in which the engine acts for a controller of an oracle.
func as(ctx context.Context, controller string) context.Context {
	return web.WithCaller(ctx, web.Speaking(web.CallerFrom(ctx).Workspace, controller))
}

// words describes the result of a claim's rubric, from the record.
func (l *Ledger) words(r *row, p *protocol.Protocol, d rubric.Decision, amount float64) string {
	out := "No rubric covers claims of this kind."
	switch rules, err := l.Protocols.Rubric(p, r.kind); {
	case err != nil:
	case d.Rule == "":
		out = "No rule of the rubric decides (" + d.ReasonCode + ")."
	default:
		rule, _ := rules.Rule(d.Rule)
		out = strings.TrimSpace(fmt.Sprintf("The rule %s (stage %s) of the rubric came to %s: %s. %s", d.Rule, rule.Stage, d.Outcome, d.ReasonCode, rule.Text))
	}
	if len(d.Missing) > 0 {
		out += " Nobody has entered these facts, or not with enough confidence: " + strings.Join(d.Missing, ", ") + "."
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch {
	case r.status == Approved:
		out += fmt.Sprintf(" %s of %s %s are approved.", number(r.approved), number(r.amount), r.unit)
	case (d.Outcome == rubric.Approved || d.Outcome == rubric.Partial) && r.status == Pending:
		out += fmt.Sprintf(" It would approve %s of %s %s.", number(amount), number(r.amount), r.unit)
	}
	return out
}

// Explain describes in words what became of a claim, from the record. The fault
// is CLAIM_NOT_FOUND.
func (e *Engine) Explain(ctx context.Context, id string) (*api.ClaimExplanation, error) {
	r, err := find(ctx, e.s.db, id)
	if err != nil {
		return nil, err
	}
	out := &api.ClaimExplanation{Claim: r.did, Status: r.status, Words: "Nobody has evaluated the claim; it is " + r.status + "."}
	all, _, err := e.s.evaluations(ctx, e.s.db, r.nid, 0, 1)
	if err != nil || len(all) == 0 {
		return out, err
	}
	newest := all[0]
	p, err := e.s.cfg.Ledger.Protocols.FindAny(ctx, r.ws, newest.Protocol, newest.Version)
	if err != nil {
		return nil, err
	}
	d := rubric.Decision{Outcome: rubric.Outcome(newest.Outcome), ReasonCode: newest.ReasonCode, Rule: newest.Rule}
	out.Evaluation, out.Words = newest, e.s.cfg.Ledger.words(r, p, d, newest.Amount)
	if newest.Outcome == string(rubric.Manual) && newest.Status != Pending && newest.Reason != "" {
		out.Words += " People decided: " + newest.Reason + "."
	} else if newest.Automatic && newest.Status == Pending && newest.Reason != "" {
		out.Words += " " + newest.Reason
	}
	out.Words += " The claim is " + r.status + "."
	return out, nil
}
