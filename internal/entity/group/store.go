package group

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// insert adds a member; false when it is one already.
func insert(ctx context.Context, tx *db.Tx, ws string, grp int64, m *Member) (bool, error) {
	n, err := tx.Exec(ctx,
		`INSERT INTO group_members(ws, member, grp, added_at, added_by) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		ws, m.Member, grp, m.AddedAt.UnixMilli(), m.AddedBy)
	return n > 0, db.Wrap("insert member", err)
}

// find fills in the rest of a member; false when it is not one.
func find(ctx context.Context, q db.Querier, r *entity.Row, m *Member) (bool, error) {
	var at int64
	err := q.QueryRow(ctx, `SELECT added_at, added_by FROM group_members WHERE ws = $1 AND member = $2 AND grp = $3`, r.Workspace, m.Member, r.NID).
		Scan(&at, &m.AddedBy)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("find member: %w", err)
	}
	m.AddedAt, m.Keys = time.UnixMilli(at).UTC(), ownKey(m.Member)
	p, err := read(r.Body)
	if err != nil {
		return false, err
	}
	one := []Member{*m}
	if err := addKeys(ctx, q, r, p.Scopes, one); err != nil {
		return false, err
	}
	*m = one[0]
	return true, nil
}

// remove takes a member out; false when it was none.
func remove(ctx context.Context, tx *db.Tx, ws, member string, grp int64) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM group_members WHERE ws = $1 AND member = $2 AND grp = $3`, ws, member, grp)
	return n > 0, db.Wrap("remove member", err)
}

// tally identifies a stored count.
type tally struct{ ws, kind, did string }

func membersOf(ws, group string) tally { return tally{ws, "group", group} }
func groupsOf(ws, member string) tally { return tally{ws, "member", member} }

const bumpCount = `INSERT INTO group_counts(ws, kind, did, n) VALUES ($1, $2, $3, $4)
	ON CONFLICT (ws, kind, did) DO UPDATE SET n = group_counts.n + excluded.n RETURNING n`

// bump changes a count and returns it. The row is also the lock for changes of
// members: always the group's first, then the member's.
func bump(ctx context.Context, tx *db.Tx, t tally, by int64) (int64, error) {
	var n int64
	if err := tx.QueryRow(ctx, bumpCount, t.ws, t.kind, t.did, by).Scan(&n); err != nil {
		return 0, fmt.Errorf("count members: %w", err)
	}
	return n, nil
}

const dropCount = `DELETE FROM group_counts WHERE ws = $1 AND kind = $2 AND did = $3 AND n <= 0`

// unbump takes one off a count. A count of 0 is removed, with its name.
func unbump(ctx context.Context, tx *db.Tx, t tally) error {
	if n, err := bump(ctx, tx, t, -1); err != nil || n > 0 {
		return err
	}
	_, err := tx.Exec(ctx, dropCount, t.ws, t.kind, t.did)
	return db.Wrap("count members", err)
}

const listMembersSQL = `SELECT member, added_at, added_by FROM group_members WHERE grp = $1 AND member > $2 ORDER BY member LIMIT $3`

func listMembers(ctx context.Context, q db.Querier, grp int64, after string, limit int) ([]Member, error) {
	rows, err := q.Query(ctx, listMembersSQL, grp, after, limit)
	return db.Collect(rows, err, "list members", func(m *Member, row db.Row) error {
		var at int64
		err := row.Scan(&m.Member, &at, &m.AddedBy)
		m.AddedAt, m.Keys = time.UnixMilli(at).UTC(), ownKey(m.Member)
		return err
	})
}

const countNamedSQL = `SELECT count(*) FROM (SELECT e.nid FROM relationships r JOIN entities e ON e.nid = r.dst
	WHERE r.src = $1 AND r.role = 'contains' AND r.removed_at IS NULL AND e.domain_type = 'group' AND e.status <> 'deactivated' AND e.name = $2 LIMIT 2) AS n`

// countNamed counts the groups of a name that are part of an organisation or a
// group and in use; 2 means two or more. The store keeps only the beginning of
// a name: a longer one is not found.
func countNamed(ctx context.Context, q db.Querier, home int64, name string) (n int, err error) {
	if err := q.QueryRow(ctx, countNamedSQL, home, name).Scan(&n); err != nil {
		return 0, fmt.Errorf("count groups: %w", err)
	}
	return n, nil
}

const listGroupsSQL = `SELECT e.did, e.status, e.revision, e.body,
		coalesce((SELECT n FROM group_counts WHERE ws = e.ws AND kind = 'group' AND did = e.did), 0)
	FROM relationships r JOIN entities e ON e.nid = r.dst
	WHERE r.src = $1 AND r.role = 'contains' AND r.removed_at IS NULL AND r.dst_did > $2 AND e.domain_type = 'group'
	ORDER BY r.dst_did LIMIT $3`

func listGroups(ctx context.Context, q db.Querier, parent int64, after string, limit int) ([]Group, error) {
	rows, err := q.Query(ctx, listGroupsSQL, parent, after, limit)
	return db.Collect(rows, err, "list groups", func(g *Group, row db.Row) error {
		var body string
		if err := row.Scan(&g.DID, &g.Status, &g.Revision, &body, &g.Members); err != nil {
			return err
		}
		p, err := read([]byte(body))
		g.Name, g.Scopes = p.Name, p.Scopes
		return err
	})
}

const listMembershipsSQL = `SELECT e.nid, e.did, e.project, e.status, e.body, m.added_at, m.added_by
	FROM group_members m JOIN entities e ON e.nid = m.grp
	WHERE m.ws = $1 AND m.member = $2 ORDER BY m.grp LIMIT $3`

func listMemberships(ctx context.Context, q db.Querier, ws, member string) ([]Membership, error) {
	rows, err := q.Query(ctx, listMembershipsSQL, ws, member, maxGroups)
	return db.Collect(rows, err, "list memberships", func(m *Membership, row db.Row) error {
		var body string
		var at int64
		if err := row.Scan(&m.nid, &m.Group, &m.project, &m.Status, &body, &at, &m.AddedBy); err != nil {
			return err
		}
		m.AddedAt = time.UnixMilli(at).UTC()
		p, err := read([]byte(body))
		m.Name, m.Scopes = p.Name, p.Scopes
		return err
	})
}

// properties are the members' rights in a group's record.
type properties struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
}

// read takes the properties from a record. A scope that this version does not
// know gives nothing.
func read(body []byte) (properties, error) {
	var r struct {
		Properties properties `json:"properties"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return properties{}, fmt.Errorf("read group: %w", err)
	}
	p := r.Properties
	p.Scopes = slices.DeleteFunc(tidy(p.Scopes), func(s string) bool { return !auth.KnownScope(s) })
	return p, nil
}

// parent is the container of a group.
type parent struct {
	nid    int64
	did    string
	kind   string
	status entity.Status
}

const findParentSQL = `SELECT e.nid, e.did, e.domain_type, e.status FROM relationships r JOIN entities e ON e.nid = r.src
	WHERE r.mirror = $1 AND r.removed_at IS NULL AND r.role = 'contains' AND e.domain_type IN ('group', 'organisation')
		AND (r.since IS NULL OR r.since <= $2) AND (r.until IS NULL OR r.until > $2)
	ORDER BY r.nid LIMIT 1`

// findParent returns nil when the group has no container that is held here.
func findParent(ctx context.Context, q db.Querier, nid int64) (*parent, error) {
	var p parent
	err := q.QueryRow(ctx, findParentSQL, nid, time.Now().UnixMilli()).Scan(&p.nid, &p.did, &p.kind, &p.status)
	return db.Found(&p, err, "find what a group is part of")
}
