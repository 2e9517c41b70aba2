package search

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

const (
	selectRows = `SELECT nid, updated_at, body FROM entities WHERE nid IN ` + db.In64 + ` AND ws = $65`
	selectDIDs = `SELECT nid, updated_at, body FROM entities WHERE did IN ` + db.In64 + ` AND ws = $65`
	selectFew  = `SELECT nid, did, type, class, domain_type, protocol, project, name, status FROM entities WHERE did IN ` + db.In64 + ` AND ws = $65`

	listDown    = `SELECT nid, updated_at, body FROM entities WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listUp      = `SELECT nid, updated_at, body FROM entities WHERE ws = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	updatedDown = `SELECT nid, updated_at, body FROM entities WHERE ws = $1 AND (updated_at, nid) < ($2, $3) AND updated_at >= $4 ORDER BY updated_at DESC, nid DESC LIMIT $5`
	updatedUp   = `SELECT nid, updated_at, body FROM entities WHERE ws = $1 AND (updated_at, nid) > ($2, $3) ORDER BY updated_at, nid LIMIT $4`

	typeDown     = `SELECT nid FROM entities WHERE type_key = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	typeUp       = `SELECT nid FROM entities WHERE type_key = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	protocolDown = `SELECT nid FROM entities WHERE protocol_key = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	protocolUp   = `SELECT nid FROM entities WHERE protocol_key = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	projectDown  = `SELECT nid FROM entities WHERE project_key = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	projectUp    = `SELECT nid FROM entities WHERE project_key = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	statusDown   = `SELECT nid FROM entities WHERE status_key = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	statusUp     = `SELECT nid FROM entities WHERE status_key = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	propDown     = `SELECT nid FROM entity_props WHERE pid = $1 AND val = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	propUp       = `SELECT nid FROM entity_props WHERE pid = $1 AND val = $2 AND nid > $3 ORDER BY nid LIMIT $4`

	countType     = `SELECT count(*) FROM (SELECT nid FROM entities WHERE type_key = $1 LIMIT $2) AS found`
	countProtocol = `SELECT count(*) FROM (SELECT nid FROM entities WHERE protocol_key = $1 LIMIT $2) AS found`
	countProject  = `SELECT count(*) FROM (SELECT nid FROM entities WHERE project_key = $1 LIMIT $2) AS found`
	countStatus   = `SELECT count(*) FROM (SELECT nid FROM entities WHERE status_key = $1 LIMIT $2) AS found`
	countProp     = `SELECT count(*) FROM (SELECT nid FROM entity_props WHERE pid = $1 AND val = $2 LIMIT $3) AS found`

	sortedDown = `SELECT val, nid FROM entity_props WHERE pid = $1 AND (val, nid) < ($2, $3) AND val >= $4 ORDER BY val DESC, nid DESC LIMIT $5`
	sortedUp   = `SELECT val, nid FROM entity_props WHERE pid = $1 AND (val, nid) > ($2, $3) AND val < $4 ORDER BY val, nid LIMIT $5`

	hasProp = `SELECT nid FROM entity_props WHERE nid IN ` + db.In64 + ` AND pid = $65 AND val = $66`

	externals = `SELECT nid, scheme FROM entity_externals WHERE ws = $1 AND value = $2 ORDER BY scheme LIMIT $3`
	external  = `SELECT nid, scheme FROM entity_externals WHERE ws = $1 AND value = $2 AND scheme = $3`
)

// list reads the next n nids of a span.
func (s span) list(ctx context.Context, q db.Querier, down bool, from int64, n int) ([]int64, error) {
	rows, err := s.query(ctx, q, down, from, n)
	out := make([]int64, 0, n)
	var nid int64
	err = db.Each(rows, err, "read index", func(row db.Row) error {
		err := row.Scan(&nid)
		out = append(out, nid)
		return err
	})
	return out, err
}

func (s span) query(ctx context.Context, q db.Querier, down bool, from int64, n int) (db.Rows, error) {
	switch {
	case s.in == typeIndex && down:
		return q.Query(ctx, typeDown, s.key, from, n)
	case s.in == typeIndex:
		return q.Query(ctx, typeUp, s.key, from, n)
	case s.in == protocolIndex && down:
		return q.Query(ctx, protocolDown, s.key, from, n)
	case s.in == protocolIndex:
		return q.Query(ctx, protocolUp, s.key, from, n)
	case s.in == projectIndex && down:
		return q.Query(ctx, projectDown, s.key, from, n)
	case s.in == projectIndex:
		return q.Query(ctx, projectUp, s.key, from, n)
	case s.in == statusIndex && down:
		return q.Query(ctx, statusDown, s.key, from, n)
	case s.in == statusIndex:
		return q.Query(ctx, statusUp, s.key, from, n)
	case down:
		return q.Query(ctx, propDown, s.key, s.val, from, n)
	}
	return q.Query(ctx, propUp, s.key, s.val, from, n)
}

// count returns how many entries a span has, counting no further than most.
func (s span) count(ctx context.Context, q db.Querier, most int) (int, error) {
	var row db.Row
	switch s.in {
	case typeIndex:
		row = q.QueryRow(ctx, countType, s.key, most)
	case protocolIndex:
		row = q.QueryRow(ctx, countProtocol, s.key, most)
	case projectIndex:
		row = q.QueryRow(ctx, countProject, s.key, most)
	case statusIndex:
		row = q.QueryRow(ctx, countStatus, s.key, most)
	default:
		row = q.QueryRow(ctx, countProp, s.key, s.val, most)
	}
	var n int
	if err := row.Scan(&n); err != nil {
		return 0, fmt.Errorf("probe index: %w", err)
	}
	return n, nil
}

// scanAll reads the twins of a statement.
func scanAll(rows db.Rows, err error) ([]candidate, error) {
	return db.Collect(rows, err, "read entities", func(c *candidate, row db.Row) error {
		return row.Scan(&c.at.NID, &c.updated, &c.body)
	})
}

// fetch reads twins of a workspace by their numbers, at most db.Chunk of them.
func fetch(ctx context.Context, q db.Querier, ws string, nids []int64) ([]candidate, error) {
	return scanAll(q.Query(ctx, selectRows, db.Keys(nids, 0, ws)...))
}

// byDIDs reads twins of a workspace by their DIDs, at most db.Chunk of them.
func byDIDs(ctx context.Context, q db.Querier, ws string, ids []string) ([]candidate, error) {
	return scanAll(q.Query(ctx, selectDIDs, db.Keys(ids, "", ws)...))
}

// briefs reads what sums twins of a workspace up, by their DIDs, at most db.Chunk
// of them.
func briefs(ctx context.Context, q db.Querier, ws string, ids []string) ([]*entity.Row, error) {
	rows, err := q.Query(ctx, selectFew, db.Keys(ids, "", ws)...)
	return db.Collect(rows, err, "read entities", func(to **entity.Row, row db.Row) error {
		r := &entity.Row{Workspace: ws}
		*to = r
		return row.Scan(&r.NID, &r.DID, &r.Type, &r.Class, &r.DomainType, &r.Protocol, &r.Project, &r.Name, &r.Status)
	})
}

// having returns which of at most db.Chunk twins have a value of an indexed
// property.
func (s span) having(ctx context.Context, q db.Querier, nids []int64, into map[int64]bool) error {
	rows, err := q.Query(ctx, hasProp, db.Keys(nids, 0, s.key, s.val)...)
	var nid int64
	return db.Each(rows, err, "probe property", func(row db.Row) error {
		err := row.Scan(&nid)
		into[nid] = true
		return err
	})
}

// find returns the numbers of twins with an external id, no more than most.
func (p points) find(ctx context.Context, q db.Querier, ws string, most int) ([]int64, error) {
	var rows db.Rows
	var err error
	if len(p.schemes) > 0 {
		rows, err = q.Query(ctx, external, ws, p.external, p.schemes[0])
	} else {
		rows, err = q.Query(ctx, externals, ws, p.external, most)
	}
	return db.Collect(rows, err, "find external id", func(nid *int64, row db.Row) error {
		var scheme string
		return row.Scan(nid, &scheme)
	})
}

// sorted reads the next n entries of a property in its order.
func (o order) sorted(ctx context.Context, q db.Querier, from entity.Place, n int) ([]entity.Place, error) {
	var rows db.Rows
	var err error
	if o.down {
		rows, err = q.Query(ctx, sortedDown, o.pid, from.Val, from.NID, o.from, n)
	} else {
		rows, err = q.Query(ctx, sortedUp, o.pid, from.Val, from.NID, o.to, n)
	}
	out := make([]entity.Place, 0, n)
	var at entity.Place
	err = db.Each(rows, err, "read property index", func(row db.Row) error {
		err := row.Scan(&at.Val, &at.NID)
		out = append(out, at)
		return err
	})
	return out, err
}

// table reads the next n twins of a workspace in the order of their creation
// or their last change.
func (p *plan) table(ctx context.Context, q db.Querier, from entity.Place, n int) ([]candidate, error) {
	switch {
	case p.order.by == byUpdated && p.order.down:
		return scanAll(q.Query(ctx, updatedDown, p.ws, from.At, from.NID, p.since, n))
	case p.order.by == byUpdated:
		return scanAll(q.Query(ctx, updatedUp, p.ws, from.At, from.NID, n))
	case p.order.down:
		return scanAll(q.Query(ctx, listDown, p.ws, from.NID, n))
	}
	return scanAll(q.Query(ctx, listUp, p.ws, from.NID, n))
}
