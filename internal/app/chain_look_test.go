package app_test

import (
	"context"
	"database/sql"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// ledgerNow is what the tables say of a sequence at one moment.
type ledgerNow struct {
	claims      []*claimNow
	credentials []*credentialNow
	edges       []edge
	twins       map[int64]twinNow
}

// claimNow is a row of a claim, with its evaluations in their order.
type claimNow struct {
	nid, subject, summed                              int64
	starts, ends                                      int64
	did, kind, claimant, status, cid, document, facts string
	protocol, version, unit                           string
	amount, approved                                  float64
	evaluations                                       []evaluationNow
	body                                              claimSays
}

// claimSays is what is looked at of the document of a claim.
type claimSays struct {
	Kind        string    `json:"kind"`
	Subject     string    `json:"subject"`
	PeriodStart string    `json:"periodStart"`
	PeriodEnd   string    `json:"periodEnd"`
	Amount      *quantity `json:"amount"`
}

type quantity struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

type evaluationNow struct {
	claim, automatic                                  int64
	evaluator, oracle, version, facts, outcome, state string
	amount                                            float64
}

type credentialNow struct {
	nid, claim         int64
	did, issuer, state string
	document           string
	salt               []byte
}

type twinNow struct {
	did, domain, body string
}

// edge says that one twin is part of another, from when to when.
type edge struct {
	part, whole int64
	days
}

// days are from when to when, in ms, the end excluded.
type days struct{ from, to int64 }

func (d days) within(o days) days { return days{max(d.from, o.from), min(d.to, o.to)} }

func (d days) some() bool { return d.from < d.to }

const (
	lookClaims = `SELECT nid, subject, summed, starts, ends, did, kind, claimant, status, cid, document, facts, protocol, version, unit, amount, approved FROM claims WHERE ws = 'default' AND nid >= $1 ORDER BY nid`
	lookJudged = `SELECT claim, automatic, evaluator, oracle, version, facts, outcome, status, amount FROM claim_evaluations WHERE ws = 'default' AND nid >= $1 ORDER BY nid`
	lookIssued = `SELECT c.nid, c.claim, c.did, o.did, c.state, c.document, c.salt FROM credentials c JOIN entities o ON o.nid = c.issuer WHERE c.ws = 'default' AND c.nid >= $1 ORDER BY c.nid`
	lookTwins  = `SELECT nid, did, domain_type, body FROM entities WHERE ws = 'default' AND nid >= $1`
	lookParts  = `SELECT src, dst, role, since, until, removed_at FROM relationships WHERE ws = 'default' AND nid >= $1 AND unconfirmed = 0
		AND role IN ('household', 'partOf', 'installedIn', 'project', 'contains', 'hasPart')`
)

// look reads all that the sequence has made.
func (c *chain) look(ctx context.Context) (*ledgerNow, error) {
	out := &ledgerNow{twins: map[int64]twinNow{}}
	return out, c.b.DB.View(ctx, func(q db.Querier) error {
		*out = ledgerNow{twins: map[int64]twinNow{}}
		if err := c.lookAtClaims(ctx, q, out); err != nil {
			return err
		}
		rows, err := q.Query(ctx, lookIssued, c.mark)
		if out.credentials, err = db.Collect(rows, err, "credentials", func(p **credentialNow, from db.Row) error {
			*p = new(credentialNow)
			n := *p
			return from.Scan(&n.nid, &n.claim, &n.did, &n.issuer, &n.state, &n.document, &n.salt)
		}); err != nil {
			return err
		}
		rows, err = q.Query(ctx, lookTwins, c.mark)
		if err := db.Each(rows, err, "twins", func(from db.Row) error {
			var nid int64
			var t twinNow
			err := from.Scan(&nid, &t.did, &t.domain, &t.body)
			out.twins[nid] = t
			return err
		}); err != nil {
			return err
		}
		rows, err = q.Query(ctx, lookParts, c.mark)
		out.edges, err = db.Collect(rows, err, "parts", (*edge).scan)
		return err
	})
}

func (c *chain) lookAtClaims(ctx context.Context, q db.Querier, out *ledgerNow) error {
	byNumber := map[int64]*claimNow{}
	rows, err := q.Query(ctx, lookClaims, c.mark)
	out.claims, err = db.Collect(rows, err, "claims", func(p **claimNow, from db.Row) error {
		*p = new(claimNow)
		n := *p
		if err := from.Scan(&n.nid, &n.subject, &n.summed, &n.starts, &n.ends, &n.did, &n.kind, &n.claimant, &n.status, &n.cid, &n.document, &n.facts, &n.protocol, &n.version, &n.unit, &n.amount, &n.approved); err != nil {
			return err
		}
		byNumber[n.nid] = n
		return json.Unmarshal([]byte(n.document), &n.body)
	})
	if err != nil {
		return err
	}
	rows, err = q.Query(ctx, lookJudged, c.mark)
	return db.Each(rows, err, "evaluations", func(from db.Row) error {
		var e evaluationNow
		if err := from.Scan(&e.claim, &e.automatic, &e.evaluator, &e.oracle, &e.version, &e.facts, &e.outcome, &e.state, &e.amount); err != nil {
			return err
		}
		if n := byNumber[e.claim]; n != nil {
			n.evaluations = append(n.evaluations, e)
		}
		return nil
	})
}

// scan reads a relationship as that of a part to its whole. One that has ended was there
// until then; one that does not say since when, ever.
func (e *edge) scan(from db.Row) error {
	var role string
	var since, until, removed sql.NullInt64
	if err := from.Scan(&e.part, &e.whole, &role, &since, &until, &removed); err != nil {
		return err
	}
	if role == "contains" || role == "hasPart" {
		e.part, e.whole = e.whole, e.part
	}
	e.days = days{math.MinInt64, math.MaxInt64}
	if since.Valid {
		e.from = since.Int64
	}
	for _, end := range []sql.NullInt64{until, removed} {
		if end.Valid {
			e.to = min(e.to, end.Int64)
		}
	}
	return nil
}
