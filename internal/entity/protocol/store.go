package protocol

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	countProtocols = `SELECT count(*) FROM (SELECT 1 FROM protocols WHERE ws = $1 LIMIT $2) AS n`
	insertProtocol = `INSERT INTO protocols (ws, did, nid, version, class, domain, open, versions, updated_at)
		VALUES ($1, $2, $3, $4, '', '', $5, 1, $6) ON CONFLICT (ws, did) DO NOTHING`
	lockProtocol = `UPDATE protocols SET updated_at = $3 WHERE ws = $1 AND did = $2
		RETURNING version, class, domain, open, versions`
	updateProtocol = `UPDATE protocols SET version = $3, class = $4, domain = $5, open = $6, versions = $7 WHERE ws = $1 AND did = $2`
	selectPage     = `SELECT p.nid, v.status, v.body FROM protocols p
			JOIN protocol_versions v ON v.ws = p.ws AND v.did = p.did AND v.version = p.version
		WHERE p.ws = $1 AND p.nid > $2 ORDER BY p.nid LIMIT $3`
	insertVersion = `INSERT INTO protocol_versions (ws, did, version, status, revision, created_at, updated_at, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (ws, did, version) DO NOTHING`
	updateVersion = `UPDATE protocol_versions SET status = $4, revision = revision + 1, updated_at = $5, body = $6
		WHERE ws = $1 AND did = $2 AND version = $3 AND revision = $7`
	selectVersion  = `SELECT status, revision, body FROM protocol_versions WHERE ws = $1 AND did = $2 AND version = $3`
	selectSteps    = `SELECT version, status FROM protocol_versions WHERE ws = $1 AND did = $2`
	upsertProperty = `INSERT INTO protocol_properties (ws, property, did, kind, indexed, opens) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (ws, property, did) DO UPDATE SET
			kind = CASE WHEN protocol_properties.kind = excluded.kind THEN excluded.kind
				WHEN protocol_properties.kind IN ('integer', 'number') AND excluded.kind IN ('integer', 'number') THEN 'number'
				ELSE 'mixed' END,
			indexed = protocol_properties.indexed AND excluded.indexed,
			opens = protocol_properties.opens + excluded.opens`
	selectDeclaring = `SELECT d.did, d.kind, d.indexed, d.opens, p.open FROM protocol_properties d
			JOIN protocols p ON p.ws = d.ws AND p.did = d.did
		WHERE d.ws = $1 AND d.property = $2 ORDER BY d.did`
	selectOpen    = `SELECT count(*) FROM (SELECT 1 FROM protocols WHERE ws = $1 AND open > 0 LIMIT 1) AS n`
	selectOfClass = `SELECT did FROM protocols WHERE ws = $1 AND class = $2`
	selectDIDs    = `SELECT did FROM protocols WHERE ws = $1`
	deleteDraft   = `DELETE FROM protocol_versions WHERE ws = $1 AND did = $2 AND version = $3 AND revision = $4 AND status = 'draft'`
	deleteOne     = `DELETE FROM protocols WHERE ws = $1 AND did = $2`
)

// head is the row of a protocol.
type head struct {
	version, class, domain string
	open                   int // versions that allow undeclared properties
	versions               int
}

// lock reads the row of a protocol and makes others who change it wait. The
// fault is PROTOCOL_NOT_FOUND.
func lock(ctx context.Context, tx *db.Tx, ws, did string, now int64) (head, error) {
	var h head
	err := tx.QueryRow(ctx, lockProtocol, ws, did, now).Scan(&h.version, &h.class, &h.domain, &h.open, &h.versions)
	return db.Need(h, err, "lock protocol", notFound())
}

func (h head) save(ctx context.Context, tx *db.Tx, ws, did string) error {
	_, err := tx.Exec(ctx, updateProtocol, ws, did, h.version, h.class, h.domain, h.open, h.versions)
	return db.Wrap("update protocol", err)
}

func count(ctx context.Context, q db.Querier, ws string, most int) (n int, err error) {
	if err = q.QueryRow(ctx, countProtocols, ws, most).Scan(&n); err != nil {
		return 0, fmt.Errorf("count protocols: %w", err)
	}
	return n, nil
}

// edition is a version to be stored, rendered.
type edition struct {
	ws   string
	r    *Record
	body []byte
}

// insert stores a protocol with its first version; false when there is one of
// this DID.
func insert(ctx context.Context, tx *db.Tx, nid int64, e edition) (bool, error) {
	n, err := tx.Exec(ctx, insertProtocol, e.ws, e.r.DID, nid, e.r.Version, 0, e.r.Created.UnixMilli())
	if err != nil {
		return false, fmt.Errorf("insert protocol: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return addVersion(ctx, tx, e)
}

// addVersion stores a version; false when there is one of this number.
func addVersion(ctx context.Context, tx *db.Tx, e edition) (bool, error) {
	r := e.r
	n, err := tx.Exec(ctx, insertVersion, e.ws, r.DID, r.Version, string(r.Status), r.Revision, r.Created.UnixMilli(), r.Updated.UnixMilli(), string(e.body))
	return n > 0, db.Wrap("insert protocol version", err)
}

// update stores a version over the previous revision; false when that is no
// longer the newest.
func update(ctx context.Context, tx *db.Tx, e edition) (bool, error) {
	r := e.r
	n, err := tx.Exec(ctx, updateVersion, e.ws, r.DID, r.Version, string(r.Status), r.Updated.UnixMilli(), string(e.body), r.Revision-1)
	return n > 0, db.Wrap("update protocol version", err)
}

// removeDraft removes a version unless it has changed since it was read; then
// it returns false.
func removeDraft(ctx context.Context, tx *db.Tx, ws string, r *Record) (bool, error) {
	n, err := tx.Exec(ctx, deleteDraft, ws, r.DID, r.Version, r.Revision)
	return n > 0, db.Wrap("delete protocol version", err)
}

// remove removes a protocol that has no version left.
func remove(ctx context.Context, tx *db.Tx, ws, did string) error {
	_, err := tx.Exec(ctx, deleteOne, ws, did)
	return db.Wrap("delete protocol", err)
}

// find reads a version. The fault is PROTOCOL_NOT_FOUND.
func find(ctx context.Context, q db.Querier, ws, did, version string) (*Record, []byte, error) {
	var status, body string
	var revision int64
	err := q.QueryRow(ctx, selectVersion, ws, did, version).Scan(&status, &revision, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, notFound()
	} else if err != nil {
		return nil, nil, fmt.Errorf("find protocol: %w", err)
	}
	var r Record
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return nil, nil, fmt.Errorf("read protocol %s: %w", version, err)
	}
	return &r, []byte(body), nil
}

// steps lists the versions of a protocol; none when there is no protocol.
func steps(ctx context.Context, q db.Querier, ws, did string) ([]step, error) {
	rows, err := q.Query(ctx, selectSteps, ws, did)
	return db.Collect(rows, err, "list versions", func(s *step, row db.Row) error {
		return row.Scan(&s.version, &s.status)
	})
}

// shown is a line of the list.
type shown struct {
	nid    int64
	status Status
	body   []byte
}

func list(ctx context.Context, q db.Querier, ws string, after int64, limit int) ([]shown, error) {
	rows, err := q.Query(ctx, selectPage, ws, after, limit)
	return db.Collect(rows, err, "list protocols", func(s *shown, row db.Row) error {
		return row.Scan(&s.nid, &s.status, &s.body)
	})
}

// declare enters the properties of a published version for filters.
func declare(ctx context.Context, tx *db.Tx, ws string, p *Protocol) error {
	indexed := map[string]bool{}
	for _, ix := range p.indexed {
		indexed[ix.Name] = true
	}
	for _, name := range p.Names() {
		if _, err := tx.Exec(ctx, upsertProperty, ws, name, p.DID, p.set.Properties[name].Kind, indexed[name], p.opens()); err != nil {
			return fmt.Errorf("declare property: %w", err)
		}
	}
	return nil
}

// opens is 1 for a version that allows undeclared properties.
func (p *Protocol) opens() int {
	if p.set.Open {
		return 1
	}
	return 0
}

func declaring(ctx context.Context, q db.Querier, ws, property string) ([]Declared, error) {
	rows, err := q.Query(ctx, selectDeclaring, ws, property)
	return db.Collect(rows, err, "list declared properties", func(d *Declared, row db.Row) error {
		var here, all int // open versions
		err := row.Scan(&d.Protocol, &d.Kind, &d.Indexed, &here, &all)
		d.Indexed = d.Indexed && here == all
		return err
	})
}

func someOpen(ctx context.Context, q db.Querier, ws string) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectOpen, ws).Scan(&n); err != nil {
		return false, fmt.Errorf("look for open protocols: %w", err)
	}
	return n > 0, nil
}

func ofClass(ctx context.Context, q db.Querier, ws, class string) ([]string, error) {
	rows, err := q.Query(ctx, selectOfClass, ws, class)
	return db.Collect(rows, err, "list protocols", db.Column[string])
}

// allDIDs lists the protocols of a workspace, at most maxProtocols.
func allDIDs(ctx context.Context, q db.Querier, ws string) ([]string, error) {
	rows, err := q.Query(ctx, selectDIDs, ws)
	return db.Collect(rows, err, "list protocols", db.Column[string])
}
