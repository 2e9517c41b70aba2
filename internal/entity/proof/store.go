package proof

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/edge"
)

const (
	// In the order of the index by target.
	selectSources = `SELECT nid, src FROM relationships
		WHERE mirror = $1 AND role = $2 AND removed_at IS NULL AND nid > $3 ORDER BY nid LIMIT $4`
	// The order is that of the index by source and role.
	selectCredentials = `SELECT dst FROM relationships WHERE src = $1 AND role = '` + edge.Becomes + `' AND removed_at IS NULL ORDER BY dst_did LIMIT $2`
	// A twin is the claim itself, or produces one of the claims.
	selectHeld = `SELECT 1 FROM (SELECT src, src_did FROM relationships
			WHERE mirror = $2 AND role = '` + edge.Becomes + `' AND removed_at IS NULL LIMIT 1000) AS b
		WHERE b.src = $1 OR EXISTS (SELECT 1 FROM relationships p
			WHERE p.src = $1 AND p.role = '` + edge.Produces + `' AND p.dst_did = b.src_did AND p.removed_at IS NULL) LIMIT 1`
)

// step asks for sources of the edges of a role that lead to a twin, after one.
type step struct {
	to    int64
	role  string
	after int64
	limit int
}

// source is where an edge comes from.
type source struct{ edge, src int64 }

func (s *source) columns() []any { return []any{&s.edge, &s.src} }

func sources(ctx context.Context, q db.Querier, s step) ([]source, error) {
	rows, err := q.Query(ctx, selectSources, s.to, s.role, s.after, s.limit)
	out, err := scan(rows, err, (*source).columns)
	if err != nil {
		return nil, fmt.Errorf("list who shows a credential: %w", err)
	}
	return out, nil
}

// scan reads the rows of a query, each into the columns of a T.
func scan[T any](rows db.Rows, err error, columns func(*T) []any) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var o T
		if err := rows.Scan(columns(&o)...); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// Of lists the credentials a claim has become, at most limit.
func Of(ctx context.Context, q db.Querier, claim int64, limit int) ([]int64, error) {
	rows, err := q.Query(ctx, selectCredentials, claim, limit)
	out, err := scan(rows, err, func(nid *int64) []any { return []any{nid} })
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	return out, nil
}

// Held tells whether a twin is a claim that became a credential, or produces
// one.
func Held(ctx context.Context, q db.Querier, nid, credential int64) (bool, error) {
	var one int
	err := q.QueryRow(ctx, selectHeld, nid, credential).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for a credential: %w", err)
	}
	return true, nil
}
