package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Lane is a kind of use of PostgreSQL. It determines how long callers wait for it, and
// which connections they share.
type Lane int

// The lanes. Whoever says nothing works in the background: commands and jobs, whose
// statements may take a minute.
const (
	Background Lane = iota
	Request         // a client waits for an answer
	Handset         // a caller on a handset waits: connections of their own
	Control         // beats, leases and probes: connections of their own
	lanes
)

// limits are how long a lane waits for the store. A request that meets a dead link
// has its answer within 15 seconds: after the sum a statement that is cancelled may take a
// second to end, and a reader one more to be undone.
type limits struct {
	acquire time.Duration // for a connection of a transaction
	whole   time.Duration // for a transaction with its repetitions
	read    time.Duration // for the rows of a reader to begin, and to continue
	sum     time.Duration // of all these of one request; 0: any
}

func limitsOf(l Lane) limits {
	switch l {
	case Request:
		return limits{4 * time.Second, 13 * time.Second, 9 * time.Second, 13 * time.Second}
	case Handset:
		return limits{time.Second, 2200 * time.Millisecond, 1500 * time.Millisecond, 0}
	case Control:
		return limits{2 * time.Second, 5 * time.Second, 3 * time.Second, 0}
	}
	return limits{30 * time.Second, 2 * time.Minute, stmtTimeout + 5*time.Second, 0}
}

// ownConns is how many connections handsets and control each have besides the
// others.
const ownConns = 4

// use is what a context says about the use of the store.
type use struct {
	lane    Lane
	row     string
	inside  *atomic.Bool // whether a transaction for the row is under way; nil without one
	since   Position     // what a reader must see; "": everything
	written *Written     // nil: not collected
	purse   *purse       // nil: any
}

type useKey struct{}

func useOf(ctx context.Context) use {
	u, _ := ctx.Value(useKey{}).(use)
	return u
}

// Lane sets the use of the store with a context; limits on a whole use count from now.
// On SQLite it has no effect.
func (d *DB) Lane(ctx context.Context, l Lane) context.Context {
	if d == nil || d.dialect == SQLite {
		return ctx
	}
	u := useOf(ctx)
	u.lane, u.purse = l, newPurse(limitsOf(l).sum)
	return context.WithValue(ctx, useKey{}, u)
}

// Row says which row transactions with a context will lock, by any name. Of those for
// one row a few wait at the database, each with a connection; the others wait here, so
// that one busy row does not take up the connections of all. On SQLite transactions
// wait in one line anyway.
func (d *DB) Row(ctx context.Context, name string) context.Context {
	if d == nil || d.dialect == SQLite {
		return ctx
	}
	u := useOf(ctx)
	u.row, u.inside = name, &atomic.Bool{}
	return context.WithValue(ctx, useKey{}, u)
}

// pools are the connections, by lane.
type pools [lanes]*pgxpool.Pool

// openPools makes the pools. None connects before it is used.
func openPools(ctx context.Context, pc *pgxpool.Config) (p pools, err error) {
	number := numberConns()
	for _, l := range []Lane{Request, Handset, Control} {
		c := pc.Copy()
		c.AfterConnect = number
		if l != Request {
			c.MaxConns, c.MinConns, c.MinIdleConns = ownConns, 0, 0
		}
		if p[l], err = openPool(ctx, c); err != nil {
			p.close()
			return p, err
		}
	}
	p[Background] = p[Request]
	return p, nil
}

// Connections are numbered, so that each has its own rows of counters: rows stay
// locked until a transaction ends, and nothing should wait for a counter. Triggers
// read the number from the setting. Two servers may use the same ones; that costs a
// wait.
const (
	shardSetting = "hearth.shard"
	shards       = 64
)

// aloneSetting marks a connection on which a statement without BEGIN behaves as
// after beginWrite.
const aloneSetting = "hearth.alone"

func numberConns() func(context.Context, *pgx.Conn) error {
	var last atomic.Int64
	last.Store(rand.Int64N(shards))
	return func(ctx context.Context, c *pgx.Conn) error {
		n := last.Add(1) % shards
		c.PgConn().CustomData()[shardSetting] = int(n)
		var isolation string
		err := c.QueryRow(ctx, `SELECT current_setting('default_transaction_isolation') FROM set_config('`+shardSetting+`', $1, false)`,
			strconv.FormatInt(n, 10)).Scan(&isolation)
		c.PgConn().CustomData()[aloneSetting] = isolation == "read committed"
		return err
	}
}

// Shard is the row of a counter that this transaction adds to. Others seldom want
// the same one: each connection has its own.
func (t *Tx) Shard() int {
	if s, ok := t.s.(*pgSession); ok {
		n, _ := s.conn.PgConn().CustomData()[shardSetting].(int)
		return n
	}
	return 0
}

// openPool makes a pool that looks at connections which have rested. When one does
// not answer, the others that rest have most likely gone the same way: all are
// dropped at once, not each by another caller's wait.
func openPool(ctx context.Context, c *pgxpool.Config) (*pgxpool.Pool, error) {
	var pool *pgxpool.Pool
	made := make(chan struct{})
	c.ShouldPing = func(ctx context.Context, rested pgxpool.ShouldPingParams) bool {
		if rested.IdleDuration < time.Second {
			return false
		}
		short, cancel := context.WithTimeout(ctx, pingLimit)
		defer cancel()
		if err := rested.Conn.Ping(short); err == nil {
			return false
		}
		<-made
		pool.Reset()
		return true // it is closed, and found so
	}
	c.PingTimeout = pingLimit
	pool, err := pgxpool.NewWithConfig(ctx, c)
	close(made)
	return pool, err
}

const (
	pingLimit = time.Second
	// cancelWait is how long a statement that was cancelled may take to end before its
	// connection is given up.
	cancelWait = time.Second
)

func (p *pools) close() {
	for _, pool := range p[Request:] {
		if pool != nil {
			pool.Close()
		}
	}
}

// acquire waits for a connection of the lane of ctx, at most so long.
func (p *pools) acquire(ctx context.Context, most time.Duration) (*pgxpool.Conn, error) {
	l := useOf(ctx).lane
	if most <= 0 {
		return nil, unavailable(errSpent)
	}
	short, cancel := context.WithTimeout(ctx, min(most, limitsOf(l).acquire))
	defer cancel()
	c, err := p[l].Acquire(short)
	if err != nil {
		return nil, lostConn(ctx, err)
	}
	return c, nil
}

// bound is a context that ends when the store takes too long, counting only the time
// somebody waits for it: a reader that is slow to ask for the next row does not
// count against the store.
type bound struct {
	ctx   context.Context //nolint:containedctx // of the statement, which outlives the call
	end   context.CancelFunc
	timer *time.Timer
	limit time.Duration
	purse *purse
}

// newBound begins a wait, unless all that may be waited has been.
func newBound(ctx context.Context) (*bound, error) {
	u := useOf(ctx)
	b := &bound{limit: limitsOf(u.lane).read, purse: u.purse}
	most := b.purse.open(b.limit)
	if most <= 0 {
		b.purse.close()
		return nil, unavailable(errSpent)
	}
	b.ctx, b.end = context.WithCancel(ctx)
	b.timer = time.AfterFunc(most, b.end)
	return b, nil
}

func (b *bound) wait() { b.timer.Reset(max(0, b.purse.open(b.limit))) }

func (b *bound) rest() {
	b.timer.Stop()
	b.purse.close()
}

// close ends it, after the last rest.
func (b *bound) close() { b.end() }

// late is the fault of a statement that the bound has ended, nil when it has not: when
// ctx has ended too, that is the reason.
func (b *bound) late(ctx context.Context, err error) error {
	if err == nil || b.ctx.Err() == nil || ctx.Err() != nil {
		return nil
	}
	return unavailable(errors.Join(errors.New("the store did not answer in time"), err))
}

// boundQuery runs a statement that gives rows within the limits of the lane of ctx.
func boundQuery(ctx context.Context, run func(context.Context) (pgx.Rows, error)) (Rows, error) {
	b, err := newBound(ctx)
	if err != nil {
		return nil, err
	}
	r, err := run(b.ctx)
	b.rest()
	if err != nil {
		late := b.late(ctx, err)
		b.close()
		if late != nil {
			return nil, late
		}
		return nil, mapPg(ctx, err)
	}
	return &boundRows{pgRows{ctx: ctx, Rows: r}, b}, nil
}

// boundRows are rows that the store must continue to deliver.
type boundRows struct {
	pgRows
	b *bound
}

func (r *boundRows) Next() bool {
	r.b.wait()
	defer r.b.rest()
	return r.Rows.Next()
}

func (r *boundRows) Close() error {
	r.b.wait()
	r.Rows.Close()
	r.b.rest()
	err := r.Err()
	r.b.close()
	return err
}

func (r *boundRows) Err() error {
	if late := r.b.late(r.ctx, r.Rows.Err()); late != nil {
		return late
	}
	return r.pgRows.Err()
}

// atRow is how many transactions for one row have a connection: the one that holds it
// and four that wait.
const atRow = 5

// rowGates admits only a few transactions for one row at a time.
type rowGates struct {
	mu sync.Mutex
	of map[string]*rowGate
}

type rowGate struct {
	places chan struct{}
	users  int // that are in it or wait
}

// enter waits for a place at a row, at most so long, and gives what leaves it.
func (g *rowGates) enter(ctx context.Context, u use, most time.Duration) (leave func(), err error) {
	// Whoever is inside has its place: a second transaction within the first would wait for it.
	if u.row == "" || !u.inside.CompareAndSwap(false, true) {
		return func() {}, nil
	}
	out, err := g.take(ctx, u, min(most, limitsOf(u.lane).acquire))
	if err != nil {
		u.inside.Store(false)
		return nil, err
	}
	return func() { out(); u.inside.Store(false) }, nil
}

func (g *rowGates) take(ctx context.Context, u use, most time.Duration) (leave func(), err error) {
	g.mu.Lock()
	if g.of == nil {
		g.of = map[string]*rowGate{}
	}
	gate := g.of[u.row]
	if gate == nil {
		gate = &rowGate{places: make(chan struct{}, atRow)}
		g.of[u.row] = gate
	}
	gate.users++
	g.mu.Unlock()
	gone := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if gate.users--; gate.users == 0 {
			delete(g.of, u.row)
		}
	}
	leave = func() {
		<-gate.places
		gone()
	}
	select { // mostly there is room
	case gate.places <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case gate.places <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	case <-timer.C:
		gone()
		return nil, errBusyRow(nil)
	}
}

// errBusyRow is the fault for a row that others change for too long.
func errBusyRow(cause error) error {
	return fault.New(fault.Unavailable, "STORE_BUSY", "Another change of the same data is still going on. Try again shortly.").
		After(time.Second).Wrap(cause)
}
