package device

import (
	"context"
	"database/sql"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// perLook is how many twins one statement looks for. Unused parameters match
// nothing.
const (
	perLook = 50
	nobody  = -1
)

const (
	fifty = `$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
		$27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51`
	twinColumns = `nid, ws, did, type, domain_type, project, status, revision, body`

	selectOfProtocol = `SELECT ` + twinColumns + ` FROM entities
		WHERE protocol_key = $1 AND nid < $2 AND ws = $3 AND protocol = $4 ORDER BY nid DESC LIMIT $5`
	selectOfType = `SELECT ` + twinColumns + ` FROM entities
		WHERE type_key = $1 AND nid < $2 AND ws = $3 AND type = $4 ORDER BY nid DESC LIMIT $5`
	selectTwins  = `SELECT ` + twinColumns + ` FROM entities WHERE nid IN (` + fifty + `) AND ws = $1`
	selectTypes  = `SELECT did, type, project FROM entities WHERE did IN (` + fifty + `) AND ws = $1`
	selectSerial = `SELECT ` + twinColumns + ` FROM entities WHERE ws = $1 AND nid = (
			SELECT nid FROM entity_externals WHERE ws = $1 AND value = $2 AND scheme = 'serial')`
	// Relationships of one role are few among all relationships of a household,
	// but there is no guarantee: the caller bounds what is looked at and picks
	// the role.
	selectEdgesIn  = `SELECT nid, src, role, since, until, removed_at FROM relationships WHERE dst = $1 AND removed_at IS NULL AND ws = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	selectEdgesOut = `SELECT nid, src, role, since, until, removed_at FROM relationships
		WHERE ws = $1 AND dst_did = $2 AND dst = 0 AND removed_at IS NULL AND nid < $3 ORDER BY nid DESC LIMIT $4`
	// Households that a device has left, held here or not.
	selectEdgesPast = `SELECT nid, src, role, since, until, removed_at FROM relationships
		WHERE ws = $1 AND dst_did = $2 AND removed_at IS NOT NULL AND role = 'household' AND nid < $3 ORDER BY nid DESC LIMIT $4`
	selectEdgesLeft = `SELECT nid, src, role, since, until, removed_at FROM relationships WHERE dst = $1 AND removed_at IS NOT NULL LIMIT $2`
)

func scanTwin(row db.Row) (*entity.Row, error) {
	var r entity.Row
	var body string
	if err := row.Scan(&r.NID, &r.Workspace, &r.DID, &r.Type, &r.DomainType, &r.Project, &r.Status, &r.Revision, &body); err != nil {
		return nil, err
	}
	r.Body = twin.Body(body)
	return &r, nil
}

// scanTwins reads the rows of a query and passes on its error.
func scanTwins(rows db.Rows, err error) ([]*entity.Row, error) {
	return db.Collect(rows, err, "list twins", func(to **entity.Row, row db.Row) (err error) {
		*to, err = scanTwin(row)
		return err
	})
}

// ofProtocol lists twins of a protocol, newest first.
func ofProtocol(ctx context.Context, q db.Querier, ws, protocol string, p place) ([]*entity.Row, error) {
	return scanTwins(q.Query(ctx, selectOfProtocol, entity.Key(ws, "protocol", protocol), p.below, ws, protocol, p.limit))
}

// ofType lists twins of a type, newest first.
func ofType(ctx context.Context, q db.Querier, ws, typ string, p place) ([]*entity.Row, error) {
	return scanTwins(q.Query(ctx, selectOfType, entity.Key(ws, "type", typ), p.below, ws, typ, p.limit))
}

// place is a piece of a list that runs from the newest back.
type place struct {
	below int64
	limit int
}

// twins reads up to perLook twins by number, in any order.
func twins(ctx context.Context, q db.Querier, ws string, nids []int64) ([]*entity.Row, error) {
	args := []any{ws}
	for i := range perLook {
		nid := int64(nobody)
		if i < len(nids) {
			nid = nids[i]
		}
		args = append(args, nid)
	}
	return scanTwins(q.Query(ctx, selectTwins, args...))
}

// typed is the type of a twin that is held here, and its project.
type typed struct{ typ, project string }

// typesOf reads the types of up to perLook twins.
func typesOf(ctx context.Context, q db.Querier, ws string, dids []string) (map[string]typed, error) {
	args := []any{ws}
	for i := range perLook {
		id := ""
		if i < len(dids) {
			id = dids[i]
		}
		args = append(args, id)
	}
	rows, err := q.Query(ctx, selectTypes, args...)
	return db.Map(rows, err, "read types", func(id *string, t *typed, row db.Row) error {
		return row.Scan(id, &t.typ, &t.project)
	})
}

// bySerial finds the twin with a serial number; nil when there is none.
func bySerial(ctx context.Context, q db.Querier, ws, serial string) (*entity.Row, error) {
	r, err := scanTwin(q.QueryRow(ctx, selectSerial, ws, serial))
	return db.Found(r, err, "find serial")
}

// link is a relationship to a household.
type link struct {
	nid, src              int64
	role                  string
	since, until, removed sql.NullInt64
}

// touches reports whether a relationship may have held in a range, judging by
// the relationship alone.
func (l link) touches(from, to int64) bool {
	return !(l.since.Valid && l.since.Int64 >= to || l.until.Valid && l.until.Int64 <= from || l.removed.Valid && l.removed.Int64 <= from)
}

// edgesIn lists relationships to a twin that is held here, newest first.
func edgesIn(ctx context.Context, q db.Querier, ws string, dst int64, p place) ([]link, error) {
	return scanLinks(q.Query(ctx, selectEdgesIn, dst, ws, p.below, p.limit))
}

// edgesOut lists relationships to a DID that was not held here when they were made.
func edgesOut(ctx context.Context, q db.Querier, ws, did string, p place) ([]link, error) {
	return scanLinks(q.Query(ctx, selectEdgesOut, ws, did, p.below, p.limit))
}

// edgesPast lists relationships to a DID that were removed.
func edgesPast(ctx context.Context, q db.Querier, ws, did string, p place) ([]link, error) {
	return scanLinks(q.Query(ctx, selectEdgesPast, ws, did, p.below, p.limit))
}

// edgesLeft lists relationships to a twin that were removed.
func edgesLeft(ctx context.Context, q db.Querier, dst int64, limit int) ([]link, error) {
	return scanLinks(q.Query(ctx, selectEdgesLeft, dst, limit))
}

func scanLinks(rows db.Rows, err error) ([]link, error) {
	return db.Collect(rows, err, "list edges", func(l *link, row db.Row) error {
		return row.Scan(&l.nid, &l.src, &l.role, &l.since, &l.until, &l.removed)
	})
}
