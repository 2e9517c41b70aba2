package verdict

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

const (
	// In the order of the index by target.
	selectSources = `SELECT nid, src FROM relationships
		WHERE mirror = $1 AND role = $2 AND removed_at IS NULL AND nid > $3 ORDER BY nid LIMIT $4`
	// The order is that of the index by source and role.
	selectCredentials = `SELECT dst FROM relationships WHERE src = $1 AND role = '` + relationship.Becomes + `' AND removed_at IS NULL ORDER BY dst_did LIMIT $2`
	// A twin is the claim itself, or produces one of the claims.
	selectHeld = `SELECT 1 FROM (SELECT src, src_did FROM relationships
			WHERE mirror = $2 AND role = '` + relationship.Becomes + `' AND removed_at IS NULL LIMIT 1000) AS b
		WHERE b.src = $1 OR EXISTS (SELECT 1 FROM relationships p
			WHERE p.src = $1 AND p.role = '` + relationship.Produces + `' AND p.dst_did = b.src_did AND p.removed_at IS NULL) LIMIT 1`
)

// step asks for sources of the relationships of a role that lead to a twin, after one.
type step struct {
	to    int64
	role  string
	after int64
	limit int
}

// source is where a relationship comes from.
type source struct{ edge, src int64 }

func sources(ctx context.Context, q db.Querier, s step) ([]source, error) {
	rows, err := q.Query(ctx, selectSources, s.to, s.role, s.after, s.limit)
	return db.Collect(rows, err, "list twins that show a credential", func(s *source, row db.Row) error {
		return row.Scan(&s.edge, &s.src)
	})
}

// credentialsOf lists the credentials a claim has become, at most limit.
func credentialsOf(ctx context.Context, q db.Querier, claim int64, limit int) ([]int64, error) {
	rows, err := q.Query(ctx, selectCredentials, claim, limit)
	return db.Collect(rows, err, "list credentials", db.Column[int64])
}

// holds reports whether a twin is a claim that became a credential, or produces
// one.
func holds(ctx context.Context, q db.Querier, nid, credential int64) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectHeld, nid, credential), "look for a credential")
}
