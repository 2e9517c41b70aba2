package event

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	numberChunk  = 2000 // events numbered in one transaction
	numberRounds = 16   // transactions one reader makes; the next continues
)

const (
	selectFresh = `SELECT 1 FROM events WHERE ws = $1 AND seq IS NULL LIMIT 1`
	// An update that changes nothing locks the counter and makes it when it
	// is not there, in one statement.
	lockCounter = `INSERT INTO event_counters (ws, last) VALUES ($1, 0)
		ON CONFLICT (ws) DO UPDATE SET last = event_counters.last RETURNING last`
	numberFresh = `UPDATE events SET seq = n.seq FROM (
			SELECT f.id AS id, CAST($2 AS BIGINT) + row_number() OVER (ORDER BY f.id) AS seq
			FROM (SELECT id FROM events WHERE ws = $1 AND seq IS NULL ORDER BY id LIMIT $3) AS f
		) AS n WHERE events.id = n.id`
	raiseCounter = `UPDATE event_counters SET last = last + CAST($2 AS BIGINT) WHERE ws = $1`
)

// number numbers the committed events of ws that have no number. On SQLite the
// insert has done so. Every reader calls it first, and finds that another process
// has done it where there are several: a caller sees its own writes, and the numbers
// have no gap because only one transaction at a time looks at committed events.
func (l *Log) number(ctx context.Context, ws string) error {
	if l.db.Dialect() == db.SQLite {
		return nil
	}
	l.lead.reads(ws)
	return numberNew(ctx, l, ws)
}

// numberNew is number for callers that do not read.
func numberNew(ctx context.Context, l *Log, ws string) error {
	for range numberRounds {
		fresh, err := l.hasFresh(ctx, ws)
		if err != nil || !fresh {
			return err
		}
		if _, err := l.numberOnce(ctx, ws); err != nil {
			return fmt.Errorf("number events: %w", err)
		}
	}
	return nil
}

func (l *Log) hasFresh(ctx context.Context, ws string) (bool, error) {
	return db.Exists(l.db.QueryRow(ctx, selectFresh, ws), "look for new events")
}

// numberAll is number for callers that must know that every event committed
// before has a number, however many there are.
func (l *Log) numberAll(ctx context.Context, ws string) error {
	if l.db.Dialect() == db.SQLite {
		return nil
	}
	for n := int64(numberChunk); n == numberChunk; {
		var err error
		if n, err = l.numberOnce(ctx, ws); err != nil {
			return fmt.Errorf("number events: %w", err)
		}
	}
	return nil
}

// numberOnce numbers up to one chunk, and returns how many. READ COMMITTED matters: the
// statement after the lock sees everything the previous holder has numbered.
func (l *Log) numberOnce(ctx context.Context, ws string) (n int64, err error) {
	gate := l.gates.of(ws)
	select {
	case gate <- struct{}{}:
		defer func() { <-gate }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	// A crowd of readers woken together waits at the gate, not with a
	// connection each; all but the first find nothing left to do.
	if fresh, err := l.hasFresh(ctx, ws); err != nil || !fresh {
		return 0, err
	}
	err = l.db.InTx(ctx, func(tx *db.Tx) error {
		var last int64
		if err := tx.QueryRow(ctx, lockCounter, ws).Scan(&last); err != nil {
			return err
		}
		if n, err = tx.Exec(ctx, numberFresh, ws, last, numberChunk); err != nil || n == 0 {
			return err
		}
		_, err = tx.Exec(ctx, raiseCounter, ws, n)
		return err
	})
	return n, err
}

// TakeTurn makes the transactions that call it for one workspace wait for each
// other until they have ended, for rules about all rows of a workspace. On
// SQLite they do so anyway. tx then reads the state that the previous one has
// left.
func (l *Log) TakeTurn(ctx context.Context, tx *db.Tx, ws string) error {
	if l.db.Dialect() == db.SQLite {
		return nil
	}
	var last int64
	if err := tx.QueryRow(ctx, lockCounter, ws).Scan(&last); err != nil {
		return fmt.Errorf("take turn: %w", err)
	}
	return nil
}

// gates let one goroutine of this process number a workspace at a time. A few
// workspaces share a gate; that costs a wait, never an answer.
type gates struct {
	seed maphash.Seed
	list [64]chan struct{}
}

func newGates() *gates {
	g := &gates{seed: maphash.MakeSeed()}
	for i := range g.list {
		g.list[i] = make(chan struct{}, 1)
	}
	return g
}

func (g *gates) of(ws string) chan struct{} {
	return g.list[maphash.String(g.seed, ws)%uint64(len(g.list))]
}
