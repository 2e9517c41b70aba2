package claim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The columns of a claim, in the order scan reads them.
const (
	selectByDID = `SELECT c.nid, c.ws, c.did, c.cid, c.project, c.type, c.kind, c.subject, c.subject_did, c.claimant, c.starts, c.ends, c.amount, c.unit, c.status, c.approved, c.summed, c.submitted_at, c.document, c.facts, c.protocol, c.version, c.collection, c.due
		FROM entities e JOIN claims c ON c.nid = e.nid WHERE e.did = $2 AND e.ws = $1`
	selectByCID = `SELECT nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, summed, submitted_at, document, facts, protocol, version, collection, due
		FROM claims WHERE ws = $1 AND cid = $2`
	selectByNID = `SELECT nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, summed, submitted_at, document, facts, protocol, version, collection, due
		FROM claims WHERE ws = $1 AND nid = $2`
	lockByNIDPostgres = selectByNID + ` FOR UPDATE`
	listAll           = `SELECT nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, summed, submitted_at, document, facts, protocol, version, collection, due
		FROM claims WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listStatus = `SELECT nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, summed, submitted_at, document, facts, protocol, version, collection, due
		FROM claims WHERE ws = $1 AND status = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listSubject = `SELECT nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, summed, submitted_at, document, facts, protocol, version, collection, due
		FROM claims WHERE ws = $1 AND subject = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listCollection = `SELECT nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, summed, submitted_at, document, facts, protocol, version, collection, due
		FROM claims WHERE ws = $1 AND collection = $4 AND collection <> 0 AND nid < $2 ORDER BY nid DESC LIMIT $3`

	insertClaim = `INSERT INTO claims (nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, dedupe, status, submitted_at, document, protocol, version, collection, due, serial)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`
	// Whether another workspace has a claim for the same serial number and
	// days.
	selectElsewhere = `SELECT 1 FROM claims c JOIN claims o ON o.kind = c.kind AND o.serial = c.serial AND o.serial <> '' AND o.ends > c.starts AND o.starts < c.ends AND o.ws <> c.ws
		AND o.status IN ('pending', 'flagged', 'disputed', 'approved') WHERE c.nid = $1 LIMIT 1`
	updateStatus  = `UPDATE claims SET status = $2, approved = $3 WHERE nid = $1`
	updateProject = `UPDATE claims SET project = $2 WHERE nid = $1`
	freeClaim     = `UPDATE claims SET dedupe = NULL WHERE nid = $1`
	freeCover     = `DELETE FROM claim_cover WHERE claim = $1`
	freeSummed    = `UPDATE claims SET summed = 0 WHERE summed = $1 AND summed <> 0`
	countParts    = `SELECT count(*) FROM claims WHERE summed = $1 AND summed <> 0 AND status <> 'disputed'`
	selectVoice   = `SELECT amount FROM claim_evaluations WHERE claim = $1 AND oracle = $2 AND evaluator = $3 AND amount > 0 ORDER BY nid DESC LIMIT 1`
	sumClaim      = `UPDATE claims SET summed = $2 WHERE nid = $1`

	selectSubject = `SELECT src, src_did FROM relationships WHERE mirror = $1 AND role = 'produces' AND removed_at IS NULL LIMIT 2`
	takeTurn      = `INSERT INTO claim_kinds (ws, kind, changes) VALUES ($1, '*', 1) ON CONFLICT (ws, kind) DO UPDATE SET changes = claim_kinds.changes + 1`
	selectSame    = `SELECT did, project FROM claims WHERE ws = $1 AND kind = $2 AND dedupe = $3`
	insertCover   = `INSERT INTO claim_cover (ws, kind, node, ends, claim, starts, own) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`
	// What was claimed for a twin or below it, of all kinds, in a period, or for the
	// twin as a whole; then the same for one kind.
	selectBelow      = `SELECT claim, kind, starts, ends FROM claim_cover WHERE node = $1 AND ends > $2 AND starts < $3 AND own >= $4 ORDER BY kind LIMIT $5`
	selectCoveredAny = `SELECT DISTINCT claim FROM claim_cover WHERE node = $1 AND ends > $2 AND starts < $3 AND own >= $4 LIMIT $5`
	selectCovered    = `SELECT DISTINCT claim FROM claim_cover WHERE ws = $1 AND kind = $2 AND node = $3 AND ends > $4 AND starts < $5 AND own >= $6 LIMIT $7`
	selectBody       = `SELECT protocol, protocol_version, body FROM entities WHERE nid = $1 AND ws = $2`
)

// row is a stored claim.
type row struct {
	nid, subject                             int64
	ws, did, cid, project, typ, kind         string
	subjectDID, claimant, unit, status, body string
	facts                                    string // canonical JSON
	protocol, version                        string // of the claim types that apply to it, fixed when it was submitted
	starts, ends, submitted, summed          int64
	collection                               int64 // 0 for none
	due                                      int64 // ms from which the engine looks at it; 0 for never
	amount, approved                         float64
	serial                                   string // of its subject, only while it is submitted
}

func (r *row) scan(from db.Row) error {
	return from.Scan(&r.nid, &r.ws, &r.did, &r.cid, &r.project, &r.typ, &r.kind, &r.subject, &r.subjectDID, &r.claimant, &r.starts, &r.ends, &r.amount, &r.unit,
		&r.status, &r.approved, &r.summed, &r.submitted, &r.body, &r.facts, &r.protocol, &r.version, &r.collection, &r.due)
}

// one reads a claim; nil when there is none.
func one(from db.Row) (*row, error) {
	r := new(row)
	return db.Found(r, r.scan(from), "find claim")
}

// elsewhere reports whether another workspace has a live claim of this kind for the
// same serial number and days. Nobody learns which one.
func (r *row) elsewhere(ctx context.Context, q db.Querier) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectElsewhere, r.nid), "look for the serial number elsewhere")
}

// spellSerial normalises a serial number: it drops what people write in
// different ways.
func spellSerial(v any) string {
	s, _ := v.(string)
	return strings.ToLower(strings.Join(strings.Fields(s), ""))
}

// sees reports whether a caller can see what belongs to a project.
func sees(c web.Caller, project string) bool {
	return len(c.Projects) == 0 || project != "" && slices.Contains(c.Projects, project)
}

// find reads a claim the caller sees, by DID or CID. The fault is CLAIM_NOT_FOUND.
func find(ctx context.Context, q db.Querier, id string) (*row, error) {
	c := web.CallerFrom(ctx)
	var at db.Row
	if strings.HasPrefix(id, "did:") {
		at = q.QueryRow(ctx, selectByDID, c.Workspace, id)
	} else {
		at = q.QueryRow(ctx, selectByCID, c.Workspace, id)
	}
	r, err := one(at)
	if err == nil && (r == nil || !sees(c, r.project)) {
		return nil, notFound()
	}
	return r, err
}

// held reads the claim of a twin and locks it until tx ends; nil when there is none.
func held(ctx context.Context, tx *db.Tx, ws string, nid int64) (*row, error) {
	if tx.Dialect() == db.Postgres {
		return one(tx.QueryRow(ctx, lockByNIDPostgres, ws, nid))
	}
	return one(tx.QueryRow(ctx, selectByNID, ws, nid))
}

// settle gives a claim a status. A final one other than approved frees what the
// claim covered.
func (r *row) settle(ctx context.Context, tx *db.Tx, status string, approved float64) error {
	if _, err := tx.Exec(ctx, updateStatus, r.nid, status, approved); err != nil {
		return db.Wrap("settle claim", err)
	}
	r.status, r.approved = status, approved
	if _, err := tx.Exec(ctx, dropLease, r.nid); err != nil { // the lease, if any, has served its purpose
		return db.Wrap("end lease", err)
	}
	if !over(status) || status == Approved {
		return nil
	}
	if _, err := tx.Exec(ctx, freeClaim, r.nid); err != nil {
		return db.Wrap("free key", err)
	}
	if _, err := tx.Exec(ctx, freeCover, r.nid); err != nil {
		return db.Wrap("free period", err)
	}
	_, err := tx.Exec(ctx, freeSummed, r.nid)
	return db.Wrap("free summed claims", err)
}

// over reports whether a status is final.
func over(status string) bool {
	return slices.Contains([]string{Approved, Rejected, Invalidated, Withdrawn}, status)
}

// view renders a claim for the API.
func (r *row) view(whole bool) (*api.Claim, error) {
	var d api.ClaimBody
	if err := json.Unmarshal([]byte(r.body), &d); err != nil {
		return nil, db.Wrap("read document", err)
	}
	c := &api.Claim{
		ID: r.did, CID: r.cid, Type: r.typ, Kind: r.kind, Subject: r.subjectDID, PeriodStart: d.PeriodStart, PeriodEnd: d.PeriodEnd, Amount: d.Amount,
		Claimant: r.claimant, Project: r.project, Status: r.status, Verification: inWords(r.status), Submitted: time.UnixMilli(r.submitted).UTC(),
		Links: api.ClaimLinks{Self: address(r.did), Entity: twin.Address(r.did)},
	}
	if r.status == Approved && d.Amount != nil {
		c.Approved = &api.ClaimAmount{Value: r.approved, Unit: r.unit}
	}
	if r.collection != 0 {
		c.Collection = collectionName(r.collection)
	}
	if whole {
		c.Document = &d
	}
	return c, nil
}
