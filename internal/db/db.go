// Package db is the storage foundation: one API over an embedded SQLite file
// and over PostgreSQL, with one SQL text for both.
//
// It promises that an InTx which returned nil is on disk, and that an InTx
// which returned an error stored nothing. (The one exception, a PostgreSQL
// connection lost in the middle of COMMIT, is recognised by OutcomeUnknown. No
// program can keep the promise on a disk that fails a sync and then loses
// power.) Callers on SQLite share commits: their functions run one after the
// other in the writer's goroutine and are answered after one fsync.
//
// It does not hold SQL of any area, and it does not know what is stored.
package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Dialect names the engine behind a DB.
type Dialect string

// The two engines.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Querier runs statements. Both *DB and *Tx are one, so a SQL function works
// inside and outside a transaction. Parameters are $1, $2, … on both engines.
type Querier interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
	// Send runs a statement whose result is not needed. In a transaction on
	// PostgreSQL it is sent with the next statement that has a result, or with
	// the commit: its error may come from there, and what args point at must not
	// change meanwhile. Anywhere else it is Exec.
	Send(ctx context.Context, sql string, args ...any) error
	// Query runs a statement that returns rows. The caller closes them; Collect
	// and Each do so for callers that read all of them or iterate over them.
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	// QueryRow runs a statement that returns at most one row.
	QueryRow(ctx context.Context, sql string, args ...any) Row
}

// Rows walks over a result. It belongs to one goroutine.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// Row is a result of at most one row. Scan returns sql.ErrNoRows when empty.
type Row interface {
	Scan(dest ...any) error
}

// Config says which store to open. Exactly one of Path and URL is set; the
// zero value of every other member is the sensible default.
type Config struct {
	Path       string        // SQLite file; its folder must exist
	URL        string        // PostgreSQL, postgres://user:password@host/name
	ReadURL    string        // PostgreSQL standbys that readers may use; "": none
	SessionURL string        // the same PostgreSQL for work that needs a session, when URL is that of a pooler; URL by default
	Log        *slog.Logger  // default: discards
	Migrations fs.FS         // folders sqlite and postgres; default: the embedded ones
	TxLimit    time.Duration // how long one InTx function may hold the SQLite writer; 1 s
	Busy       time.Duration // how long to wait for another process or a row lock; 5 s
	Readers    int           // SQLite read connections; 8
	Conns      int           // PostgreSQL connections; pgx's default (4, or the number of CPUs) raised to 16
	Sync       string        // SQLite: "full" (default, fsync before each answer) or "normal"
	// RequireStandby refuses writes of requests on PostgreSQL while no standby
	// confirms them.
	RequireStandby bool
	Instance       int // 1–1023: fixed number of this process inside NewNID; 0: chosen
	// Clock is the clock of this process, time.Now by default. Tests set a
	// wrong one.
	Clock func() time.Time

	closeWait time.Duration // how long Close waits for rows left open
}

// engine is what SQLite and PostgreSQL each provide.
type engine interface {
	inTx(ctx context.Context, fn func(*Tx) error) error
	start(ctx context.Context, fn func(*Tx) error) *Call
	view(ctx context.Context, fn func(Querier) error) error
	query(ctx context.Context, sql string, args []any) (Rows, error)
	queryRow(ctx context.Context, sql string, args []any) Row
	migrate(ctx context.Context, all []migration) error
	ping(ctx context.Context) error
	durability() string
	stats() Stats
	close() error
}

// DB is an open store. It is safe for use by many goroutines.
type DB struct {
	cfg     Config
	dialect Dialect
	e       engine
	nids    *nids
	clock   *clock
	member  atomic.Pointer[member] // nil before Join
}

var (
	_ Querier = (*DB)(nil)
	_ Querier = (*Tx)(nil)
)

// Open opens the store without migrating it. ctx bounds the opening only.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg = cfg.withDefaults()
	d := &DB{cfg: cfg, nids: newNIDs(cfg.Instance), clock: &clock{local: cfg.Clock}}
	switch {
	case cfg.Path != "" && cfg.URL != "":
		return nil, errors.New("open store: both a file and a URL are given")
	case cfg.Path != "":
		e, err := openLite(ctx, cfg)
		if cause := damage(err); cause != nil {
			// Not the fault that asks to try again: that would not help.
			return nil, fmt.Errorf("open store: %s is damaged or no SQLite database; restore a backup: %w", cfg.Path, cause)
		} else if err != nil {
			return nil, fmt.Errorf("open store %s: %w", cfg.Path, err)
		}
		d.dialect, d.e = SQLite, e
	case cfg.URL != "":
		e, err := openPostgres(ctx, cfg, d.nids, d.clock)
		if err != nil {
			return nil, fmt.Errorf("open PostgreSQL store: %w", err)
		}
		d.dialect, d.e, d.nids.now = Postgres, e, d.clock.now
	default:
		return nil, errors.New("open store: neither a file nor a URL is given")
	}
	return d, nil
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Migrations == nil {
		c.Migrations = embedded()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.TxLimit <= 0 {
		c.TxLimit = time.Second
	}
	if c.Busy <= 0 {
		c.Busy = 5 * time.Second
	}
	if c.closeWait <= 0 {
		c.closeWait = 5 * time.Second
	}
	if c.Readers <= 0 {
		c.Readers = 8
	}
	return c
}

// Dialect returns the engine, for the few callers who must know.
func (d *DB) Dialect() Dialect { return d.dialect }

// InTx runs fn in a transaction and stores what it did, or nothing.
//
// fn may run twice: it reads and writes only tx and locals, and sets results,
// never appends. Effects on anything else go into tx.AfterCommit. It must not
// call InTx again, nor do anything slow. On SQLite it shares its commit with
// others and runs in the writer's goroutine.
//
// When ctx ends before fn ran, InTx returns at once and nothing ran. Once fn
// has returned nil, InTx waits for the commit even if ctx ends. A panic in fn
// comes out of InTx, as a *Panic on SQLite.
func (d *DB) InTx(ctx context.Context, fn func(tx *Tx) error) error {
	return d.e.inTx(ctx, fn)
}

// View runs fn with a Querier whose statements all see the store at one moment.
// It cannot write.
func (d *DB) View(ctx context.Context, fn func(q Querier) error) error {
	return d.e.view(ctx, fn)
}

// Exec runs one statement in a transaction of its own.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	var n int64
	err := d.e.inTx(ctx, func(tx *Tx) (err error) {
		n, err = tx.Exec(ctx, sql, args...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Send runs one statement in a transaction of its own.
func (d *DB) Send(ctx context.Context, sql string, args ...any) error {
	_, err := d.Exec(ctx, sql, args...)
	return err
}

// Query reads outside any transaction. On SQLite it cannot write.
func (d *DB) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return d.e.query(ctx, sql, args)
}

// QueryRow reads at most one row outside any transaction.
func (d *DB) QueryRow(ctx context.Context, sql string, args ...any) Row {
	return d.e.queryRow(ctx, sql, args)
}

// Ping makes a real round trip to the store.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.e.ping(ctx); err != nil {
		return fmt.Errorf("ping store: %w", err)
	}
	return nil
}

// Writable stores one row durably and so proves that writing works. It needs a
// migrated store.
func Writable(ctx context.Context, d *DB) error {
	_, err := d.Exec(ctx,
		`INSERT INTO store_probe(id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
		time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("probe store: %w", err)
	}
	return nil
}

// Durability says what a nil from InTx means: "full" (on disk), or a weaker
// level in the engine's own words.
func (d *DB) Durability() string { return d.e.durability() }

// Stats returns what the store has done so far.
func (d *DB) Stats() Stats { return d.e.stats() }

// Close removes this process from the instances, waits for queued transactions and closes
// all connections. InTx after it returns the fault STORE_UNAVAILABLE.
func (d *DB) Close() error {
	d.Leave(context.Background())
	return d.e.close()
}

// errClosed is what callers of a closed store get.
func errClosed() error {
	return unavailable(errors.New("store is closed"))
}

// unavailable is the fault for a store in trouble; cause goes to the log.
func unavailable(cause error) *fault.Error {
	return fault.New(fault.Unavailable, codeUnavailable, "The store cannot be used at the moment. Try again shortly.").
		After(2 * time.Second).Wrap(cause)
}

const codeUnavailable = "STORE_UNAVAILABLE"

// oneRow is the Row over Rows.
type oneRow struct {
	rows Rows
	err  error
}

// Scan reads the row, then runs the statement to its end: an INSERT with
// RETURNING may still fail after its first row.
func (r oneRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	if err := r.rows.Close(); err != nil {
		return err
	}
	return r.rows.Err()
}
