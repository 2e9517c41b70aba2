package proof

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	// In the order of the index by target.
	selectSources = `SELECT nid, src FROM relationships
		WHERE mirror = $1 AND role = $2 AND removed_at IS NULL AND nid > $3 ORDER BY nid LIMIT $4`
	// The order is that of the index by source and role.
	selectCredentials = `SELECT dst FROM relationships WHERE src = $1 AND role = 'becomes' AND removed_at IS NULL ORDER BY dst_did LIMIT $2`
	// A twin is the claim itself, or produces one of the claims.
	selectHeld = `SELECT 1 FROM (SELECT src, src_did FROM relationships
			WHERE mirror = $2 AND role = 'becomes' AND removed_at IS NULL LIMIT 1000) AS b
		WHERE b.src = $1 OR EXISTS (SELECT 1 FROM relationships p
			WHERE p.src = $1 AND p.role = 'produces' AND p.dst_did = b.src_did AND p.removed_at IS NULL) LIMIT 1`
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

func sources(ctx context.Context, q db.Querier, s step) ([]source, error) {
	rows, err := q.Query(ctx, selectSources, s.to, s.role, s.after, s.limit)
	if err != nil {
		return nil, fmt.Errorf("list who shows a credential: %w", err)
	}
	defer rows.Close()
	var out []source
	for rows.Next() {
		var o source
		if err := rows.Scan(&o.edge, &o.src); err != nil {
			return nil, fmt.Errorf("list who shows a credential: %w", err)
		}
		out = append(out, o)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("list who shows a credential: %w", err)
	}
	return out, nil
}

// Of lists the credentials a claim has become, at most limit.
func Of(ctx context.Context, q db.Querier, claim int64, limit int) ([]int64, error) {
	rows, err := q.Query(ctx, selectCredentials, claim, limit)
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var nid int64
		if err := rows.Scan(&nid); err != nil {
			return nil, fmt.Errorf("list credentials: %w", err)
		}
		out = append(out, nid)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
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
