package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	maxTries     = 8                // of a transaction PostgreSQL asks to repeat
	stmtTimeout  = 60 * time.Second // of one statement, on the server
	defaultConns = 16
)

// pg is the PostgreSQL engine.
type pg struct {
	cfg      Config
	pools    pools
	gates    rowGates
	level    string
	counters counters
	slot     *slot
	own      *pgx.ConnConfig // for work that needs its own session
	standbys standbys
	replica  *replica                                   // nil: there is none
	onChange func(context.Context, *Tx, []Change) error // nil: not set
}

func openPostgres(ctx context.Context, cfg Config, n *nids, c *clock) (*pg, error) {
	pc, err := pgConfig(cfg)
	if err != nil {
		return nil, err
	}
	e := &pg{cfg: cfg}
	e.standbys.must = cfg.RequireStandby
	if e.pools, err = openPools(ctx, pc); err != nil {
		return nil, err
	}
	if e.replica, err = openReplica(ctx, cfg); err != nil {
		e.pools.close()
		return nil, err
	}
	if e.level, err = pgDurability(ctx, e.pools[Request], c); err != nil {
		e.pools.close()
		return nil, mapPg(ctx, err)
	}
	if e.lookForStandbys(ctx); e.standbys.must && e.standbys.n.Load() == standbyUnknown {
		e.pools.close()
		return nil, errors.New("a standby is required, and this user of the database may not know of it: GRANT pg_read_all_stats to it")
	}
	if cfg.SessionURL != "" { // locks of a session would go with a pooler's
		sc := cfg
		sc.URL = cfg.SessionURL
		if pc, err = pgConfig(sc); err != nil {
			e.pools.close()
			return nil, err
		}
	}
	e.own = pc.ConnConfig
	if cfg.Instance == 0 {
		e.slot = startSlot(ctx, cfg, pc.ConnConfig, n)
	}
	return e, nil
}

// pgConfig adds our limits to what the URL says; the URL wins.
func pgConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, errors.New("the URL is not a PostgreSQL URL") // pgx's text may hold the password
	}
	if cfg.Conns > 0 {
		pc.MaxConns = int32(min(cfg.Conns, 10_000))
	} else if !strings.Contains(cfg.URL, "pool_max_conns") {
		pc.MaxConns = max(pc.MaxConns, defaultConns)
	}
	set := func(name, value string) {
		if _, given := pc.ConnConfig.RuntimeParams[name]; !given {
			pc.ConnConfig.RuntimeParams[name] = value
		}
	}
	set("application_name", "hearth")
	set("timezone", "UTC")
	set("lock_timeout", strconv.FormatInt(cfg.Busy.Milliseconds(), 10))
	set("statement_timeout", strconv.FormatInt(stmtTimeout.Milliseconds(), 10))
	set("idle_in_transaction_session_timeout", strconv.FormatInt(2*stmtTimeout.Milliseconds(), 10))
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = max(cfg.Busy, 5*time.Second)
	}
	// A context that ends in mid-statement asks the server to stop it. By
	// default pgx closes the connection, and a crowd of leaving clients would
	// empty the pool.
	pc.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelWait}
	}
	return pc, nil
}

// pgDurability asks what a commit means there, and what time it is.
func pgDurability(ctx context.Context, pool *pgxpool.Pool, c *clock) (string, error) {
	var sync, fsync string
	var at int64
	// Connected first: the time of the answer is to be that of the way alone.
	if err := pool.Ping(ctx); err != nil {
		return "", err
	}
	asked := c.local()
	err := pool.QueryRow(ctx, `SELECT current_setting('synchronous_commit', true), coalesce(current_setting('fsync', true), 'on'),
		floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`).Scan(&sync, &fsync, &at)
	if err == nil {
		c.heard(time.UnixMilli(at), asked, c.local())
	}
	switch {
	case err != nil:
		return "", err
	case fsync != "on":
		return "fsync off", nil
	case sync == "off":
		return "synchronous_commit off", nil
	}
	return "full", nil
}

// inTx runs fn on one connection, again when the server asks for it.
func (e *pg) inTx(ctx context.Context, fn func(*Tx) error) error {
	u := useOf(ctx)
	if err := e.standbys.refuses(u.lane); err != nil {
		return err
	}
	most := u.purse.open(limitsOf(u.lane).whole)
	defer u.purse.close()
	until := time.Now().Add(most)
	leave, err := e.gates.enter(ctx, u, most)
	if err != nil {
		return err
	}
	defer leave()
	for try := 1; ; try++ {
		after, err := e.once(ctx, until, fn)
		if err == nil {
			for _, f := range after { // the connection is free again
				f()
			}
			return nil
		}
		if try == maxTries || !repeatable(err) || time.Now().After(until) {
			return mapPg(ctx, err)
		}
		e.counters.retries.Add(1)
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(try) * int64(5*time.Millisecond))))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// repeatable is true for errors after which the same transaction may succeed:
// serialisation failure, deadlock, and a plan made before a migration.
func repeatable(err error) bool {
	switch pgCode(err) {
	case "40001", "40P01":
		return !OutcomeUnknown(err)
	case "0A000":
		return strings.Contains(err.Error(), "cached plan")
	}
	return false
}

// once is one try. Only waiting for a connection can be cancelled: statements
// check ctx first and then run to their end, bounded by the server's timeouts,
// as they do on SQLite.
func (e *pg) once(ctx context.Context, until time.Time, fn func(*Tx) error) ([]func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.counters.waits.Add(1)
	c, err := e.pools.acquire(ctx, time.Until(until))
	e.counters.waits.Add(-1)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	session, err := newPgSession(ctx, c.Conn(), until)
	if err != nil {
		return nil, lostConn(ctx, err)
	}
	defer session.close()
	tx := newTx(session)
	defer tx.end(errTxOver) // also after a panic, or runtime.Goexit
	if err := fn(tx); err != nil {
		return nil, err
	}
	if err := e.tellChanges(session.ctx, tx); err != nil {
		return nil, err
	}
	if _, failed := tx.end(errTxOver); failed != nil {
		return nil, failed
	}
	return tx.after, e.commit(session)
}

func (e *pg) commit(s *pgSession) error {
	start := time.Now()
	u := useOf(s.ctx)
	err := e.commitAsking(s, e.standbys.guards(u.lane), u.written)
	if err == nil {
		e.counters.commit(1, time.Since(start))
		return nil
	}
	e.counters.failures.Add(1)
	if code := pgCode(err); code == "" && pgLost(err) || strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P") {
		return unavailable(fmt.Errorf("%w: %w", errUnknown, err))
	}
	return err
}

// lostConn is the fault for a connection that could not be had.
func lostConn(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return unavailable(err)
}

// view is a read-only snapshot on one connection.
func (e *pg) view(ctx context.Context, fn func(Querier) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := useOf(ctx)
	c, err := e.pools.acquire(ctx, u.purse.open(limitsOf(u.lane).acquire))
	u.purse.close()
	if err != nil {
		return err
	}
	defer c.Release()
	return e.viewOn(ctx, c, nil, fn)
}

// viewOn is a read-only snapshot on a connection, of a replica of primary unless that is
// nil.
func (e *pg) viewOn(ctx context.Context, c *pgxpool.Conn, primary *DB, fn func(Querier) error) error {
	begin, err := newBound(ctx)
	if err != nil {
		return err
	}
	ptx, err := c.BeginTx(begin.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	begin.rest()
	late := begin.late(ctx, err)
	begin.close()
	if late != nil {
		return late
	} else if err != nil {
		return mapPg(ctx, err)
	}
	tx := newTx(pgView{ptx, primary})
	defer func() {
		tx.end(errTxOver)
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingLimit)
		defer cancel()
		ptx.Rollback(short)
	}()
	return mapPg(ctx, fn(tx))
}

func (e *pg) query(ctx context.Context, sql string, args []any) (Rows, error) {
	pool := e.pools[useOf(ctx).lane]
	return boundQuery(ctx, func(ctx context.Context) (pgx.Rows, error) { return pool.Query(ctx, sql, args...) })
}

func (e *pg) queryRow(ctx context.Context, sql string, args []any) Row {
	r, err := e.query(ctx, sql, args)
	return oneRow{rows: r, err: err}
}

func (e *pg) ping(ctx context.Context) error {
	return e.queryRow(ctx, `SELECT 1`, nil).Scan(new(int64))
}

func (e *pg) durability() string { return e.level }

func (e *pg) stats() Stats {
	s := e.counters.stats()
	for _, pool := range e.pools[Request:] {
		p := pool.Stat()
		s.Conns, s.ConnsBusy = s.Conns+int64(p.TotalConns()), s.ConnsBusy+int64(p.AcquiredConns())
	}
	return s
}

func (e *pg) close() error {
	e.slot.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.replica.close()
		e.pools.close() // waits for every connection in use
	}()
	select {
	case <-done:
		return nil
	case <-time.After(e.cfg.closeWait):
		return errLeft
	}
}
