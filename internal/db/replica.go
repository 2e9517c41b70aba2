package db

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Position is a position in the log of PostgreSQL, in its own notation. A reader who
// names one sees at least what was stored before it.
type Position string

var positionForm = regexp.MustCompile(`^[0-9A-F]{1,8}/[0-9A-F]{1,8}$`)

// ParsePosition parses a position; false if the text is not one.
func ParsePosition(text string) (Position, bool) {
	return Position(text), positionForm.MatchString(text)
}

const (
	// replicaWait is how long a reader waits for a replica to reach its position.
	replicaWait = 200 * time.Millisecond
	// replicaRest is how long a replica that failed is left alone.
	replicaRest = time.Second

	hasPosition = `SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END
		>= greatest($1::text::pg_lsn, $2::text::pg_lsn)`
	position = `SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END)::text`
)

// replica is PostgreSQL for readers: one or several standbys behind one URL. The
// position is checked on the connection that is then read from. A standby is not read if
// it lacks what was stored before the last heartbeat, so that erased or revoked data
// does not remain visible on one that has fallen behind.
type replica struct {
	pool          *pgxpool.Pool
	floor         atomic.Pointer[Position] // as of the last beat
	rests         atomic.Int64             // until, by the local clock in nanoseconds
	reads, missed atomic.Int64
}

func openReplica(ctx context.Context, cfg Config) (*replica, error) {
	if cfg.ReadURL == "" {
		return nil, nil
	}
	cfg.URL = cfg.ReadURL
	pc, err := pgConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	pool, err := openPool(ctx, pc)
	return &replica{pool: pool}, err
}

// beatReplica records the position of the primary.
func beatReplica(ctx context.Context, d *DB) {
	e, ok := d.e.(*pg)
	if !ok || e.replica == nil {
		return
	}
	if at, err := PositionOf(d.Lane(ctx, Control), d); err == nil {
		e.replica.floor.Store(&at)
	}
}

func (r *replica) close() {
	if r != nil {
		r.pool.Close()
	}
}

// acquire gives a connection to a replica that has a position within replicaWait, or
// nil.
func (r *replica) acquire(ctx context.Context, at Position) *pgxpool.Conn {
	floor := r.floor.Load()
	if floor == nil || time.Now().UnixNano() < r.rests.Load() {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	c, err := r.pool.Acquire(short)
	if err != nil {
		r.fail(ctx)
		return nil
	}
	has, err := waitFor(short, c, at, *floor)
	if err != nil && short.Err() == nil {
		r.fail(ctx)
	}
	if !has {
		c.Release()
		r.missed.Add(1)
		return nil
	}
	r.reads.Add(1)
	return c
}

// fail leaves the replica alone for a moment, unless it was the reader who went.
func (r *replica) fail(ctx context.Context) {
	if ctx.Err() == nil {
		r.missed.Add(1)
		r.rests.Store(time.Now().Add(replicaRest).UnixNano())
	}
}

// waitFor asks until the server of c has two positions.
func waitFor(ctx context.Context, c *pgxpool.Conn, at, floor Position) (has bool, err error) {
	for pause := 2 * time.Millisecond; ; pause *= 2 {
		if err := c.QueryRow(ctx, hasPosition, string(at), string(floor)).Scan(&has); err != nil || has {
			return has, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		}
	}
}

// Since says that readers with a context accept the state of a position: a replica may
// then serve Look and Reader.
func Since(ctx context.Context, d *DB, at Position) context.Context {
	if !HasReplica(d) {
		return ctx
	}
	u := useOf(ctx)
	u.since = at
	return context.WithValue(ctx, useKey{}, u)
}

// SinceNow is Since with everything stored so far.
func SinceNow(ctx context.Context, d *DB) (context.Context, error) {
	if !HasReplica(d) {
		return ctx, nil
	}
	at, err := PositionOf(ctx, d)
	return Since(ctx, d, at), err
}

// Primary is q, or the store itself if q reads a replica: for rights, and for data to
// cache.
func Primary(q Querier) Querier {
	switch v := q.(type) {
	case replicaReader:
		return v.DB
	case *Tx:
		if s, ok := v.s.(pgView); ok && s.primary != nil {
			return s.primary
		}
	}
	return q
}

// ReplicaReads returns how often a replica was read, and how often the primary
// instead.
func ReplicaReads(d *DB) (reads, missed int64) {
	if e, ok := d.e.(*pg); ok && e.replica != nil {
		return e.replica.reads.Load(), e.replica.missed.Load()
	}
	return 0, 0
}

// HasReplica reports whether there are replicas to read from.
func HasReplica(d *DB) bool {
	e, ok := d.e.(*pg)
	return ok && e.replica != nil
}

// Written collects the positions of transactions. It is for one request.
type Written struct {
	mu sync.Mutex
	at Position
}

// Position is the newest collected position, "" when nothing was stored.
func (w *Written) Position() Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *Written) note(at Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at // transactions of one request follow each other
}

// Watch collects the positions of transactions with a context.
func Watch(ctx context.Context, d *DB) (context.Context, *Written) {
	w := &Written{}
	if !HasReplica(d) {
		return ctx, w
	}
	u := useOf(ctx)
	u.written = w
	return context.WithValue(ctx, useKey{}, u), w
}

// PositionOf is the position in the log after everything stored so far.
func PositionOf(ctx context.Context, d *DB) (Position, error) {
	var at string
	err := d.QueryRow(ctx, position).Scan(&at)
	return Position(at), err
}

// Look is View on a replica, if the context names a position that one has reached; else
// it is View. It is for lists, figures and histories: not for decisions about rights, nor
// for data to cache.
func Look(ctx context.Context, d *DB, fn func(q Querier) error) error {
	if e, ok := d.e.(*pg); ok {
		if c := e.fromReplica(ctx); c != nil {
			defer c.Release()
			err := e.viewOn(ctx, c, d, fn)
			if recovering(err) {
				e.replica.fail(ctx)
				return unavailable(err)
			}
			return err
		}
	}
	return d.View(ctx, fn)
}

const inOrder = `SELECT set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)`

// InOrder makes the statements that q, from View or Look, runs after this read along an
// index and stop at their limits. For a partitioned table PostgreSQL assumes that few
// rows have one key, and sorts them before it takes the first, though they may be many.
// SQLite has no partitions.
func InOrder(ctx context.Context, d *DB, q Querier) error {
	if d.dialect != Postgres {
		return nil
	}
	var sort, scan string
	return Wrap("read in order", q.QueryRow(ctx, inOrder).Scan(&sort, &scan))
}

// recovering reports a statement that a replica cancelled because what it read was
// changed meanwhile.
func recovering(err error) bool { return pgCode(err) == "40001" }

// Reader is the store, or a replica of it as in Look, for a single statement.
func Reader(ctx context.Context, d *DB) Querier {
	if e, ok := d.e.(*pg); ok && e.replica != nil && useOf(ctx).since != "" {
		return replicaReader{d, e}
	}
	return d
}

// fromReplica is a connection to a replica, nil when the primary is to be asked.
func (e *pg) fromReplica(ctx context.Context) *pgxpool.Conn {
	at := useOf(ctx).since
	if e.replica == nil || at == "" {
		return nil
	}
	return e.replica.acquire(ctx, at)
}

type replicaReader struct {
	*DB
	e *pg
}

func (r replicaReader) Exec(context.Context, string, ...any) (int64, error) { return 0, errReadOnly }

// Query asks a replica and, when that fails before its first row, the primary.
func (r replicaReader) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	c := r.e.fromReplica(ctx)
	if c == nil {
		return r.DB.Query(ctx, sql, args...)
	}
	rows, err := boundQuery(ctx, func(ctx context.Context) (pgx.Rows, error) { return c.Query(ctx, sql, args...) })
	if err == nil {
		p := &peeked{Rows: rows, conn: c}
		if p.more = rows.Next(); p.more || rows.Err() == nil {
			p.waiting = true
			return p, nil
		}
		err = errors.Join(rows.Err(), rows.Close())
	}
	c.Release()
	if ctx.Err() != nil {
		return nil, err
	}
	r.e.replica.fail(ctx)
	return r.DB.Query(ctx, sql, args...)
}

func (r replicaReader) QueryRow(ctx context.Context, sql string, args ...any) Row {
	rows, err := r.Query(ctx, sql, args...)
	return oneRow{rows: rows, err: err}
}

// peeked are rows of a replica whose first one was looked for.
type peeked struct {
	Rows
	conn          *pgxpool.Conn
	more, waiting bool
}

func (p *peeked) Next() bool {
	if p.waiting {
		p.waiting = false
		return p.more
	}
	return p.Rows.Next()
}

func (p *peeked) Close() error {
	err := p.Rows.Close()
	if p.conn != nil {
		p.conn.Release()
		p.conn = nil
	}
	return err
}
