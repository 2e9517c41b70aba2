package event

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// expireChunk is how many events one transaction removes; other writers wait
// for it on SQLite.
const expireChunk = 100

const (
	selectNextWorkspace = `SELECT ws FROM events WHERE ws > $1 AND seq > 0 ORDER BY ws LIMIT 1`
	// The newest event is never looked at: the next number comes from it.
	selectOld = `SELECT seq, at FROM events WHERE ws = $1 AND seq > 0
		AND seq < (SELECT max(seq) FROM events WHERE ws = $1 AND seq IS NOT NULL) ORDER BY seq LIMIT $2`
	deleteUpTo = `DELETE FROM events WHERE ws = $1 AND seq > 0 AND seq <= $2`
)

// Expire removes events older than before, at most limit of them, and tells
// how many went. Call it again until that is fewer than limit. Each workspace
// loses from its oldest event up to the first that is young enough, so what is
// left has no gap, and its newest event always stays.
func (l *Log) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	removed, ws := 0, ""
	for removed < limit {
		var err error
		if ws, err = l.nextWorkspace(ctx, ws); err != nil || ws == "" {
			return removed, err
		}
		n, err := l.expire(ctx, ws, before, limit-removed)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("expire events: %w", err)
		}
	}
	return removed, nil
}

// nextWorkspace walks over the workspaces with one index probe each.
func (l *Log) nextWorkspace(ctx context.Context, after string) (string, error) {
	var ws string
	err := l.db.QueryRow(ctx, selectNextWorkspace, after).Scan(&ws)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("expire events: find workspace: %w", err)
	}
	return ws, nil
}

func (l *Log) expire(ctx context.Context, ws string, before time.Time, limit int) (int, error) {
	removed := 0
	for removed < limit {
		chunk := min(expireChunk, limit-removed)
		var n int64
		err := l.db.InTx(ctx, func(tx *db.Tx) error {
			n = 0
			cut, err := lastOld(ctx, tx, ws, before.UnixMilli(), chunk)
			if err != nil || cut == 0 {
				return err
			}
			n, err = tx.Exec(ctx, deleteUpTo, ws, cut)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += int(n)
		if n < int64(chunk) {
			break
		}
	}
	return removed, nil
}

// lastOld finds where the old events of a workspace end, 0 when none is old.
func lastOld(ctx context.Context, q db.Querier, ws string, before int64, chunk int) (int64, error) {
	rows, err := q.Query(ctx, selectOld, ws, chunk)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	cut := int64(0)
	for rows.Next() {
		seq, at := int64(0), int64(math.MaxInt64)
		if err := rows.Scan(&seq, &at); err != nil {
			return 0, err
		}
		if at >= before {
			return cut, rows.Close()
		}
		cut = seq
	}
	return cut, rows.Err()
}
