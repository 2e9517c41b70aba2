package graph

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectVersions = `SELECT protocol, protocol_version FROM entities WHERE ws = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	// The chain needs the hash of the previous revision.
	selectAudited = `SELECT e.nid, e.did, e.type, e.class, e.domain_type, e.protocol, e.protocol_version, e.project, e.status, e.revision,
			e.rev_hash, h.hash, e.body
		FROM entities e LEFT JOIN entity_history h ON h.nid = e.nid AND h.revision = e.revision - 1
		WHERE e.ws = $1 AND e.nid > $2 ORDER BY e.nid LIMIT $3`
	countHistory = `SELECT nid, count(*), min(revision), max(revision) FROM entity_history WHERE nid IN (` + hundred + `) GROUP BY nid`
	// Edges of the domain model to twins, and edges by which twins name a
	// parent themselves: one that is not held here and confirmed, or their project. $103 is
	// the moment at which they hold or do not.
	holdsNow  = `CASE WHEN (r.since IS NULL OR r.since <= $103) AND (r.until IS NULL OR r.until > $103) THEN 1 ELSE 0 END`
	parentsOf = `SELECT r.mirror, r.src, r.role, coalesce(p.status, ''), ` + holdsNow + ` FROM relationships r LEFT JOIN entities p ON p.nid = r.src
		WHERE r.mirror IN (` + hundred + `) AND r.removed_at IS NULL AND r.ws = $101 LIMIT $102`
	namedBy = `SELECT r.src, r.dst, r.role, coalesce(p.status, ''), ` + holdsNow + ` FROM relationships r LEFT JOIN entities p ON p.nid = r.dst
		WHERE r.src IN (` + hundred + `) AND r.role IN ('implementedBy', 'generatedBy', 'partOf', 'project') AND r.removed_at IS NULL AND r.unconfirmed = 0 AND r.ws = $101
		LIMIT $102`

	becameOf = `SELECT r.src FROM relationships r JOIN entities c ON c.nid = r.dst
		WHERE r.src IN (` + hundred + `) AND r.role = 'becomes' AND r.removed_at IS NULL AND r.ws = $101 AND c.status <> 'deactivated' LIMIT $102`

	bodiesOf = `SELECT nid, body FROM entities WHERE nid IN (` + hundred + `) AND ws = $101`

	// The twin an edge names may be held here all the same.
	namedDomain  = `(SELECT h.domain_type FROM entities h WHERE h.did = r.dst_did AND h.ws = r.ws AND r.dst = 0)`
	auditOut     = `r.dst, r.dst_did, r.role, r.ws, coalesce(r.mirror, 0), coalesce(e.ws, ''), coalesce(e.did, ''), coalesce(e.domain_type, ` + namedDomain + `, '')`
	auditIn      = `r.src, r.src_did, r.role, r.ws, coalesce(r.mirror, 0), coalesce(e.ws, ''), coalesce(e.did, ''), coalesce(e.domain_type, '')`
	auditOutOne  = `SELECT r.nid, ` + auditOut + ` FROM relationships r LEFT JOIN entities e ON e.nid = r.dst WHERE r.src = $1 AND r.removed_at IS NULL AND r.nid > $2 ORDER BY r.nid LIMIT $3`
	auditInOne   = `SELECT r.nid, ` + auditIn + ` FROM relationships r LEFT JOIN entities e ON e.nid = r.src WHERE r.dst = $1 AND r.removed_at IS NULL AND r.nid > $2 ORDER BY r.nid LIMIT $3`
	auditOutMany = `SELECT r.src, r.nid, ` + auditOut + ` FROM relationships r LEFT JOIN entities e ON e.nid = r.dst WHERE r.src IN (` + hundred + `) AND r.removed_at IS NULL LIMIT $101`
	auditInMany  = `SELECT r.dst, r.nid, ` + auditIn + ` FROM relationships r LEFT JOIN entities e ON e.nid = r.src WHERE r.dst IN (` + hundred + `) AND r.removed_at IS NULL LIMIT $101`

	twinByNID = `SELECT did, domain_type, project, status FROM entities WHERE nid = $1 AND ws = $2`

	// The rows that should be there and are not.
	missingProps = `WITH want (pid, val, nid) AS (VALUES (CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS BIGINT)),
			($4, $5, $6), ($7, $8, $9), ($10, $11, $12), ($13, $14, $15), ($16, $17, $18), ($19, $20, $21), ($22, $23, $24),
			($25, $26, $27), ($28, $29, $30), ($31, $32, $33), ($34, $35, $36), ($37, $38, $39), ($40, $41, $42), ($43, $44, $45), ($46, $47, $48))
		SELECT w.pid, w.nid FROM want w WHERE NOT EXISTS (SELECT 1 FROM entity_props p WHERE p.pid = w.pid AND p.val = w.val AND p.nid = w.nid)`
	propsTogether = 16 // places of missingProps
)

// eachRow reads all rows of a statement into dest and calls fn for each.
func eachRow(rows db.Rows, err error, fn func() error, dest ...any) error {
	return db.Each(rows, err, "audit", func(row db.Row) error {
		if err := row.Scan(dest...); err != nil {
			return err
		}
		return fn()
	})
}

// versionsAfter reads the protocols of the next twins of a workspace.
func versionsAfter(ctx context.Context, q db.Querier, ws string, nid int64, limit int) ([]version, error) {
	var all []version
	var v version
	rows, err := q.Query(ctx, selectVersions, ws, nid, limit)
	err = eachRow(rows, err, func() error {
		all = append(all, v)
		return nil
	}, &v.protocol, &v.version)
	return all, err
}

// joined is an edge as the audit reads it from one of its ends.
type joined struct {
	way                        Direction
	near, nid, far             int64
	farDID, role, ws           string
	mirror                     int64
	heldWS, heldDID, farDomain string // of the twin at the far end; "" without one. A twin that is only named has a domain
}

// joinsOf reads edges of one twin, oldest first.
func joinsOf(ctx context.Context, q db.Querier, p page, nid int64) ([]joined, error) {
	if p.way == In {
		rows, err := q.Query(ctx, auditInOne, nid, p.after, p.limit)
		return scanJoined(rows, err, joined{way: In, near: nid})
	}
	rows, err := q.Query(ctx, auditOutOne, nid, p.after, p.limit)
	return scanJoined(rows, err, joined{way: Out, near: nid})
}

// joinsOfMany reads edges of up to chunk twins, in no order.
func joinsOfMany(ctx context.Context, q db.Querier, p page, nids []int64) ([]joined, error) {
	if p.way == In {
		rows, err := q.Query(ctx, auditInMany, places(nids, p.limit)...)
		return scanJoined(rows, err, joined{way: In})
	}
	rows, err := q.Query(ctx, auditOutMany, places(nids, p.limit)...)
	return scanJoined(rows, err, joined{way: Out})
}

func scanJoined(rows db.Rows, err error, pattern joined) ([]joined, error) {
	var all []joined
	j := pattern
	dest := []any{&j.near, &j.nid, &j.far, &j.farDID, &j.role, &j.ws, &j.mirror, &j.heldWS, &j.heldDID, &j.farDomain}
	if pattern.near != 0 {
		dest = dest[1:]
	}
	err = eachRow(rows, err, func() error {
		all = append(all, j)
		return nil
	}, dest...)
	return all, err
}

// absentProps finds which of up to propsTogether rows the property index lacks.
func absentProps(ctx context.Context, q db.Querier, want []prop, note func(pid, nid int64)) error {
	args := make([]any, 0, 3*propsTogether)
	for i := range propsTogether {
		p := want[min(i, len(want)-1)] // unused parameters repeat the last
		args = append(args, p.pid, p.val, p.nid)
	}
	var pid, nid int64
	rows, err := q.Query(ctx, missingProps, args...)
	return eachRow(rows, err, func() error {
		note(pid, nid)
		return nil
	}, &pid, &nid)
}
