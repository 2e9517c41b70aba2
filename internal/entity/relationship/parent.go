package relationship

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// A project needs an organisation, an asset a project and a credential a claim,
// as long as they are active. The parent must be a twin that is not
// deactivated, or one that is not held here and was confirmed, and the
// relationship must hold. The first statements find such a parent, by
// relationships to the twin and by relationships it has made itself. The others
// list the active twins whose only parent is the given one, in the order of an
// index. Most relationships of a large parent lead to deactivated twins: $3 is
// their key in the index of statuses, which is dense where rows are not. The
// range keeps SQLite from reading the row instead.
const (
	selectParent = `SELECT p.nid FROM relationships o JOIN entities p ON p.nid = o.src
		WHERE o.mirror = $1 AND o.role = $2 AND o.removed_at IS NULL AND p.status <> 'deactivated'` + holdsO3 + ` LIMIT $4`
	selectNamedParent = `SELECT o.dst FROM relationships o LEFT JOIN entities p ON p.nid = o.dst
		WHERE o.src = $1 AND o.role = $2 AND o.removed_at IS NULL AND o.unconfirmed = 0 AND (p.status IS NULL OR p.status <> 'deactivated')` + holdsO3 + `
		ORDER BY o.dst_did LIMIT 1`

	selectProjectsOf = `SELECT c.did, c.project FROM relationships r JOIN entities c ON c.nid = r.dst
		WHERE r.src = $1 AND r.role = 'implements' AND r.removed_at IS NULL` + holdsR4 + `
			AND NOT EXISTS (SELECT 1 FROM entities g WHERE g.status_key = $3 AND g.nid BETWEEN r.dst AND r.dst)
			AND c.status = 'active' AND c.domain_type = 'project'
			AND NOT EXISTS (SELECT 1 FROM relationships o JOIN entities p ON p.nid = o.src
				WHERE o.mirror = c.nid AND o.role = 'implements' AND o.removed_at IS NULL AND o.src <> $1 AND p.status <> 'deactivated'` + holdsO4 + `)
			AND NOT EXISTS (SELECT 1 FROM relationships o WHERE o.src = c.nid AND o.role = 'implementedBy' AND o.removed_at IS NULL AND o.unconfirmed = 0` + holdsO4 + `)
		ORDER BY r.dst_did LIMIT $2`
	selectAssetsOf = `SELECT c.did, c.project FROM relationships r JOIN entities c ON c.nid = r.dst
		WHERE r.src = $1 AND r.role = 'generates' AND r.removed_at IS NULL` + holdsR4 + `
			AND NOT EXISTS (SELECT 1 FROM entities g WHERE g.status_key = $3 AND g.nid BETWEEN r.dst AND r.dst)
			AND c.status = 'active' AND c.domain_type = 'asset'` + noOtherProject + `
		ORDER BY r.dst_did LIMIT $2`
	selectAssetsNaming = `SELECT c.did, c.project FROM relationships r JOIN entities c ON c.nid = r.src
		WHERE r.dst = $1 AND r.role = 'project' AND r.removed_at IS NULL` + holdsR4 + `
			AND NOT EXISTS (SELECT 1 FROM entities g WHERE g.status_key = $3 AND g.nid BETWEEN r.src AND r.src)
			AND c.status = 'active' AND c.domain_type = 'asset'` + noOtherProject + `
		ORDER BY r.nid LIMIT $2`
	selectCredentialsOf = `SELECT c.did, c.project FROM relationships r JOIN entities c ON c.nid = r.dst
		WHERE r.src = $1 AND r.role = 'becomes' AND r.removed_at IS NULL` + holdsR4 + `
			AND NOT EXISTS (SELECT 1 FROM entities g WHERE g.status_key = $3 AND g.nid BETWEEN r.dst AND r.dst)
			AND c.status = 'active'
		ORDER BY r.dst_did LIMIT $2`
	// The active twins that show a relationship to one under a role of their
	// protocol, and those for which a relationship of the domain model from it
	// fills a role.
	selectNamers = `SELECT r.nid, c.nid, c.did, c.project, c.protocol, c.protocol_version, r.role FROM relationships r JOIN entities c ON c.nid = r.src
		WHERE r.dst = $1 AND r.removed_at IS NULL AND r.source = 'protocol'` + holdsR4 + `
			AND NOT EXISTS (SELECT 1 FROM entities g WHERE g.status_key = $3 AND g.nid BETWEEN r.src AND r.src)
			AND c.status = 'active' AND r.nid > $5
		ORDER BY r.nid LIMIT $2`
	selectNamed = `SELECT r.nid, c.nid, c.did, c.project, c.protocol, c.protocol_version, r.role FROM relationships r JOIN entities c ON c.nid = r.dst
		WHERE r.src = $1 AND r.removed_at IS NULL AND r.mirror IS NOT NULL` + holdsR4 + `
			AND NOT EXISTS (SELECT 1 FROM entities g WHERE g.status_key = $3 AND g.nid BETWEEN r.dst AND r.dst)
			AND c.status = 'active' AND r.nid > $5
		ORDER BY r.nid LIMIT $2`
	// The twins at the other end of the relationships of a role that are not
	// deactivated; 0 for those not held here and confirmed.
	selectTargets = `SELECT o.dst FROM relationships o LEFT JOIN entities p ON p.nid = o.dst
		WHERE o.src = $1 AND o.role = $2 AND o.removed_at IS NULL AND o.unconfirmed = 0 AND (p.status IS NULL OR p.status <> 'deactivated')` + holdsO3 + `
		ORDER BY o.dst_did LIMIT $4`

	// The times of the relationship are ignored: it may come to hold, or its
	// credential may have counted. Few credentials of one claim are
	// deactivated.
	selectOtherCredential = `SELECT c.did, c.project FROM relationships r JOIN entities c ON c.nid = r.dst
		WHERE r.src = $1 AND r.role = 'becomes' AND r.removed_at IS NULL AND r.dst <> $2 AND c.status <> 'deactivated'
		ORDER BY r.dst_did LIMIT 1`
	noOtherProject = `
			AND NOT EXISTS (SELECT 1 FROM relationships o JOIN entities p ON p.nid = o.src
				WHERE o.mirror = c.nid AND o.role = 'generates' AND o.removed_at IS NULL AND o.src <> $1 AND p.status <> 'deactivated'` + holdsO4 + `)
			AND NOT EXISTS (SELECT 1 FROM relationships o LEFT JOIN entities p ON p.nid = o.dst
				WHERE o.src = c.nid AND o.role IN ('generatedBy', 'project') AND o.removed_at IS NULL AND o.unconfirmed = 0 AND o.dst <> $1
					AND (p.status IS NULL OR p.status <> 'deactivated')` + holdsO4 + `)`
)

// Dependant is a twin that needs another one.
type Dependant struct{ DID, Project string }

// Search says how to look for dependants.
type Search struct {
	Gone  int64 // status key of deactivated twins
	Now   int64 // ms; relationships that do not hold then do not count
	Limit int

	// For Namers: list only later relationships, and those for which
	// relationships from the twin fill a role.
	After int64
	From  bool
}

// Dependants lists active twins that cannot do without a twin of a domain type:
// the projects that no other organisation implements, the assets of no other
// project, the credentials of a claim.
func Dependants(ctx context.Context, q db.Querier, p *End, s Search) ([]Dependant, error) {
	args := []any{p.NID, s.Limit, s.Gone, s.Now}
	switch p.DomainType {
	case "organisation":
		rows, err := q.Query(ctx, selectProjectsOf, args...)
		return scanDependants(rows, err)
	case "project":
		rows, err := q.Query(ctx, selectAssetsOf, args...)
		all, err := scanDependants(rows, err)
		if err != nil || len(all) > 0 {
			return all, err
		}
		rows, err = q.Query(ctx, selectAssetsNaming, args...)
		return scanDependants(rows, err)
	case "claim":
		rows, err := q.Query(ctx, selectCredentialsOf, args...)
		return scanDependants(rows, err)
	}
	return nil, nil
}

// Namer is an active twin that shows a relationship to another one.
type Namer struct {
	Edge, NID int64
	Dependant
	Protocol, Version string
	Role              string // as it is stored
}

// Namers lists active twins that show a current relationship to a twin: by a
// role of their protocol or, with From, by a relationship of the domain model
// from the twin.
func Namers(ctx context.Context, q db.Querier, nid int64, s Search) ([]Namer, error) {
	args := []any{nid, s.Limit, s.Gone, s.Now, s.After}
	var rows db.Rows
	var err error
	if s.From {
		rows, err = q.Query(ctx, selectNamed, args...)
	} else {
		rows, err = q.Query(ctx, selectNamers, args...)
	}
	return db.Collect(rows, err, "list dependants", func(n *Namer, row db.Row) error {
		return row.Scan(&n.Edge, &n.NID, &n.DID, &n.Project, &n.Protocol, &n.Version, &n.Role)
	})
}

// otherCredential finds a credential of a claim, other than a given one, that
// is not deactivated; nil when there is none.
func otherCredential(ctx context.Context, q db.Querier, claim, besides int64) (*Dependant, error) {
	rows, err := q.Query(ctx, selectOtherCredential, claim, besides)
	all, err := scanDependants(rows, err)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func scanDependants(rows db.Rows, err error) ([]Dependant, error) {
	return db.Collect(rows, err, "list dependants", func(d *Dependant, row db.Row) error {
		return row.Scan(&d.DID, &d.Project)
	})
}

// Need describes the parent to look for: one by a relationship of a role to the
// twin, or by a relationship the twin has made itself under one of some words.
type Need struct {
	Role  string
	Words []string
	Now   int64 // ms; the relationship must hold at this time
}

// Parent finds a parent of a twin that is not deactivated. nid is 0 for a
// confirmed parent that is not held here.
func (n Need) Parent(ctx context.Context, q db.Querier, child int64) (nid int64, found bool, err error) {
	all, err := n.Parents(ctx, q, child, 1)
	if err != nil || len(all) > 0 {
		return append(all, 0)[0], err == nil, err
	}
	for _, w := range n.Words {
		err = q.QueryRow(ctx, selectNamedParent, child, w, n.Now).Scan(&nid)
		if !errors.Is(err, sql.ErrNoRows) {
			return nid, err == nil, db.Wrap("look for a parent", err)
		}
	}
	return 0, false, nil
}

// Parents lists at most limit parents of a twin that are not deactivated, by
// relationships of the role.
func (n Need) Parents(ctx context.Context, q db.Querier, child int64, limit int) ([]int64, error) {
	return scanNIDs(q.Query(ctx, selectParent, child, n.Role, n.Now, limit))
}

// Targets lists at most limit twins that fill a role of a twin and are not
// deactivated: by relationships it has made under each of the words, and by
// relationships of the role to it. Each confirmed one that is not held here is
// a 0.
func (n Need) Targets(ctx context.Context, q db.Querier, child int64, limit int) ([]int64, error) {
	var all []int64
	for _, w := range n.Words {
		some, err := scanNIDs(q.Query(ctx, selectTargets, child, w, n.Now, limit))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if n.Role == "" || len(all) >= limit {
		return all, nil
	}
	some, err := n.Parents(ctx, q, child, limit)
	return append(all, some...), err
}
