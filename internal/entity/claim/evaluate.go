package claim

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	insertEvaluation = `INSERT INTO claim_evaluations (nid, ws, claim, at, evaluator, oracle, protocol, version, rubric_hash, facts, outcome, reason_code, rule, amount, status, reason, automatic)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`
	listEvaluations = `SELECT nid, at, evaluator, oracle, protocol, version, rubric_hash, facts, outcome, reason_code, rule, amount, status, reason, automatic, erased FROM claim_evaluations
		WHERE claim = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	updateFacts = `UPDATE claims SET facts = $2, approved = $3 WHERE nid = $1`
)

// known reads the facts that were entered about a claim.
func (r *row) known() (map[string]rubric.Known, error) {
	out := map[string]rubric.Known{}
	if r.facts == "" {
		return out, nil
	}
	return out, db.Wrap("read facts", json.Unmarshal([]byte(r.facts), &out))
}

// checkEvaluation names what is wrong with an evaluation, apart from the
// rubric.
func checkEvaluation(e *api.ClaimEvaluationDraft, r *row) error {
	var c fault.Checks
	check.OneOf(&c, "/decision", e.Decision, Approved, Rejected, Flagged)
	check.Optional(&c, "/reason", e.Reason, check.MaxReason)
	if e.Oracle != "" {
		check.DID(&c, "/oracle", e.Oracle)
	}
	if e.Amount != nil && (!(*e.Amount > 0) || *e.Amount > r.amount || e.Decision != Approved) {
		c.Add("/amount", "out_of_range", "For the decision approved, the amount must be above 0 and at most the amount claimed.")
	}
	if e.Decision != "" && e.Reason == "" {
		c.Require(false, "/reason")
	}
	return c.Err(invalidCode, "The evaluation is not valid.")
}

// Evaluate enters facts about a claim and lets the rubric decide; where the rubric leaves
// the decision to people, the caller decides. Faults: CLAIM_NOT_FOUND, CLAIM_INVALID,
// CLAIM_FACTS_INVALID, RUBRIC_DECIDES, and those of a verdict.
func (s *Service) Evaluate(ctx context.Context, id string, e api.ClaimEvaluationDraft) (web.Reply[*api.ClaimEvaluation], error) {
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.ClaimEvaluation], error) {
		var none web.Reply[*api.ClaimEvaluation]
		found, err := find(ctx, tx, id)
		if err != nil {
			return none, err
		}
		twin, err := s.cfg.Entities.FindForUpdate(ctx, tx, found.did)
		if err != nil {
			return none, err
		}
		r, err := held(ctx, tx, found.ws, found.nid)
		if err != nil {
			return none, err
		}
		if err := checkEvaluation(&e, r); err != nil {
			return none, err
		}
		d, err := s.enter(ctx, tx, r, &e)
		if err != nil {
			return none, err
		}
		if err := s.conclude(ctx, tx, twin, r, concluded{d, &e}); err != nil {
			return none, err
		}
		all, _, err := s.evaluations(ctx, tx, r.nid, 0, 1)
		if err != nil || len(all) == 0 {
			return none, cmp.Or(err, decided(r))
		}
		return web.Reply[*api.ClaimEvaluation]{Value: all[0], Status: http.StatusCreated, Location: address(r.did) + "/evaluations"}, nil
	})
}

// enter adds facts to those that are known, and asks the rubric.
func (s *Service) enter(ctx context.Context, tx *db.Tx, r *row, e *api.ClaimEvaluationDraft) (*decision, error) {
	if over(r.status) || r.summed != 0 {
		return nil, decided(r)
	}
	if r.status == Disputed {
		return nil, disputed()
	}
	if err := free(ctx, tx, r.nid, s.cfg.Ledger.Now().UnixMilli()); err != nil {
		return nil, err
	}
	facts, err := r.known()
	if err != nil {
		return nil, err
	}
	for name, f := range e.Facts {
		raw, err := json.Marshal(f.Value, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		facts[name] = rubric.Known{Value: raw, Confidence: f.Confidence}
	}
	p, err := s.cfg.Ledger.protocolOf(ctx, tx, r)
	if err != nil {
		return nil, err
	}
	d, err := s.cfg.Ledger.decide(p, r, facts)
	if err != nil {
		return nil, err
	}
	if len(facts) > 0 {
		raw, err := canonical(facts)
		if err != nil {
			return nil, err
		}
		r.facts = string(raw)
	}
	if e.Amount != nil {
		r.approved = *e.Amount // the voice of this evaluation; see agreed
	}
	_, err = tx.Exec(ctx, updateFacts, r.nid, r.facts, r.approved)
	return d, db.Wrap("enter facts", err)
}

// concluded is the outcome of a rubric and the decision the caller wants.
type concluded struct {
	*decision
	draft *api.ClaimEvaluationDraft
}

// conclude turns an outcome into a verdict, or notes that there is none yet.
func (s *Service) conclude(ctx context.Context, tx *db.Tx, twin *entity.Row, r *row, c concluded) error {
	word := map[string]string{Approved: verdict.Verified, Rejected: verdict.Rejected, Flagged: verdict.Pending}[c.draft.Decision]
	status := word
	switch c.Outcome {
	case rubric.Approved, rubric.Partial:
		status = verdict.Verified
	case rubric.Rejected:
		status = verdict.Rejected
	case rubric.Flagged:
		status = verdict.Pending
	}
	if word != "" && word != status {
		return c.allows(word)
	}
	oracle, err := s.cfg.Entities.MayJudge(ctx, tx, twin, entity.Verdict{Oracle: c.draft.Oracle, Reason: c.reason()})
	if err != nil {
		return err
	}
	if status == verdict.Verified || status == verdict.Rejected {
		_, err := s.cfg.Entities.VerifyTx(ctx, tx, r.did, "", entity.Verdict{Status: status, Oracle: oracle, Reason: c.reason(), Revision: &twin.Revision})
		return err
	}
	next := r.status
	if status == verdict.Pending && r.status == Pending {
		next = Flagged
	}
	if err := s.cfg.Ledger.note(ctx, tx, r, evaluation{decision: c.decision, oracle: oracle, reason: c.draft.Reason, status: next}); err != nil || next == r.status {
		return err
	}
	if err := r.settle(ctx, tx, next, r.approved); err != nil {
		return err
	}
	return s.cfg.Ledger.tell(ctx, tx, "claim.evaluated", r)
}

// reason is the reason for the history: a person's words, or the code of the
// rule.
func (c concluded) reason() string {
	if c.draft.Reason != "" {
		return c.draft.Reason
	}
	return c.ReasonCode
}

// evaluations reads those of a claim numbered below before, newest first, and returns
// where the list continues.
func (s *Service) evaluations(ctx context.Context, q db.Querier, claim, before int64, limit int) (out []*api.ClaimEvaluation, next int64, err error) {
	if before == 0 {
		before = 1<<63 - 1
	}
	rows, err := q.Query(ctx, listEvaluations, claim, before, limit+1)
	all, err := db.Collect(rows, err, "list evaluations", (*evaluation).scan)
	if err != nil {
		return nil, 0, err
	}
	for i := range all[:min(limit, len(all))] {
		v, err := all[i].view()
		if err != nil {
			return nil, 0, err
		}
		out = append(out, v)
		if len(all) > limit {
			next = all[i].nid
		}
	}
	return out, next, nil
}

func (e *evaluation) scan(from db.Row) error {
	e.decision = &decision{}
	return from.Scan(&e.nid, &e.at, &e.evaluator, &e.oracle, &e.protocol, &e.version, &e.hash, &e.facts, &e.Outcome, &e.ReasonCode, &e.Rule, &e.amount, &e.status, &e.reason, &e.automatic, &e.erased)
}

// view renders an evaluation for the API.
func (e *evaluation) view() (*api.ClaimEvaluation, error) {
	out := &api.ClaimEvaluation{
		ID: "eval_" + strconv.FormatInt(e.nid, 10), At: time.UnixMilli(e.at).UTC(), Evaluator: e.evaluator, Oracle: e.oracle, Protocol: e.protocol, Version: e.version, RubricHash: e.hash,
		Facts: map[string]api.KnownFact{}, Outcome: string(e.Outcome), ReasonCode: e.ReasonCode, Rule: e.Rule, Amount: e.amount, Status: e.status, Reason: e.reason, Automatic: e.automatic != 0, ReasonErased: e.erased != 0,
	}
	if e.facts == "" {
		return out, nil
	}
	return out, db.Wrap("read facts", json.Unmarshal([]byte(e.facts), &out.Facts))
}

// backed reports whether a claim's amount is covered by its evaluations, newest
// first: each approval gave at least that amount.
func (r *row) backed(all []*api.ClaimEvaluation) bool {
	i := slices.IndexFunc(all, func(e *api.ClaimEvaluation) bool { return e.Status == Approved })
	return r.status != Approved || i >= 0 && r.approved <= all[i].Amount
}

// Recompute decides about a claim again, for each of its newest evaluations with the
// facts and the rubric it had, and reports where the result differs. Faults:
// CLAIM_NOT_FOUND, RUBRIC_INVALID.
func (s *Service) Recompute(ctx context.Context, id string) (*api.ClaimRecomputation, error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	all, _, err := s.evaluations(ctx, s.db, r.nid, 0, maxSummed)
	if err != nil {
		return nil, err
	}
	out := &api.ClaimRecomputation{CID: CID([]byte(r.body)), Same: CID([]byte(r.body)) == r.cid && len(all) > 0 && r.backed(all), Items: []api.RecomputedEvaluation{}}
	for _, e := range all {
		p, err := s.cfg.Ledger.Protocols.FindAny(ctx, r.ws, e.Protocol, e.Version)
		if err != nil {
			return nil, err
		}
		facts := map[string]rubric.Known{}
		for name, f := range e.Facts {
			raw, err := json.Marshal(f.Value, json.Deterministic(true))
			if err != nil {
				return nil, err
			}
			facts[name] = rubric.Known{Value: raw, Confidence: f.Confidence}
		}
		d, err := s.cfg.Ledger.decide(p, r, facts)
		if err != nil {
			return nil, err
		}
		item := api.RecomputedEvaluation{ID: e.ID, Outcome: string(d.Outcome), ReasonCode: d.ReasonCode, RubricHash: d.hash, Amount: d.Amount}
		if d.Outcome == rubric.Manual && e.Amount >= 0 && e.Amount <= r.amount {
			item.Amount = e.Amount // people chose it
		}
		item.Same = item.Outcome == e.Outcome && item.ReasonCode == e.ReasonCode && item.RubricHash == e.RubricHash && rubric.SameAmount(e.Amount, item.Amount)
		out.Same = out.Same && item.Same
		out.Items = append(out.Items, item)
	}
	return out, nil
}
