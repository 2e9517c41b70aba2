package event

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectNextWorkspace = `SELECT ws FROM events WHERE ws > $1 AND seq > 0 ORDER BY ws LIMIT 1`
	// The newest event is never looked at: the next number comes from it.
	selectOld = `SELECT seq, at FROM events WHERE ws = $1 AND seq > 0
		AND seq < (SELECT max(seq) FROM events WHERE ws = $1 AND seq IS NOT NULL) ORDER BY seq LIMIT $2`
	deleteUpTo = `DELETE FROM events WHERE ws = $1 AND seq > 0 AND seq <= $2`
)

// sweep is how far Expire has walked over the workspaces.
type sweep struct {
	mu     sync.Mutex
	at     string    // "" begins anew
	before time.Time // which events go one by one
}

// Expire removes events older than before, at most limit of them and all of one
// workspace, and returns how many. Calling it until it removes none visits every
// workspace once. Each workspace loses its oldest events up to the first that is young
// enough, so the rest has no gap, and its newest event always stays. On PostgreSQL it
// drops whole quarters, when they are over, and removes single events only from before
// quarters were kept.
func (l *Log) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	l.sweep.mu.Lock()
	defer l.sweep.mu.Unlock()
	if l.sweep.at == "" {
		var gone bool
		var err error
		if gone, l.sweep.before, err = dropParts(ctx, l.db, before); err != nil || gone {
			return 1, err
		}
	}
	for {
		if ws := l.sweep.at; ws != "" {
			n, err := l.expire(ctx, ws, min(before.UnixMilli(), l.sweep.before.UnixMilli()), limit)
			if err != nil {
				return 0, fmt.Errorf("expire events: %w", err)
			}
			if n > 0 {
				return n, nil // there may be more of it
			}
		}
		var err error
		if l.sweep.at, err = l.nextWorkspace(ctx, l.sweep.at); err != nil || l.sweep.at == "" {
			return 0, err
		}
	}
}

// nextWorkspace walks over the workspaces with one index probe each.
func (l *Log) nextWorkspace(ctx context.Context, after string) (string, error) {
	var ws string
	err := l.db.QueryRow(ctx, selectNextWorkspace, after).Scan(&ws)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	} else if err != nil {
		return after, fmt.Errorf("expire events: find workspace: %w", err)
	}
	return ws, nil
}

// expire removes one chunk. Most workspaces have nothing old most of the time:
// the writer is asked for only when a look has found something.
func (l *Log) expire(ctx context.Context, ws string, before int64, limit int) (int, error) {
	if cut, err := lastOld(ctx, l.db, ws, before, 1); err != nil || cut == 0 {
		return 0, err
	}
	var n int64
	err := l.db.InTx(ctx, func(tx *db.Tx) error {
		n = 0
		cut, err := lastOld(ctx, tx, ws, before, limit)
		if err != nil || cut == 0 {
			return err
		}
		n, err = tx.Exec(ctx, deleteUpTo, ws, cut)
		return err
	})
	return int(n), err
}

// lastOld finds where the old events of a workspace end, 0 when none is old.
func lastOld(ctx context.Context, q db.Querier, ws string, before int64, chunk int) (int64, error) {
	rows, err := q.Query(ctx, selectOld, ws, chunk)
	cut := int64(0)
	err = db.Each(rows, err, "find old events", func(row db.Row) error {
		seq, at := int64(0), int64(math.MaxInt64)
		if err := row.Scan(&seq, &at); err != nil {
			return err
		}
		if at >= before {
			return db.ErrStop
		}
		cut = seq
		return nil
	})
	return cut, err
}
