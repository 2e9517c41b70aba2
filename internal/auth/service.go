package auth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	memory "github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Recorder appends an event in the transaction of its change. Workspace and
// actor are those of the caller in ctx.
type Recorder func(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error

// Config configures a Service. Only DB is needed; the server also gives
// Record, Idem, Cursors, and Stamp or Lease.
type Config struct {
	DB      *db.DB
	Log     *slog.Logger // discards by default
	Record  Recorder     // nothing is recorded by default
	Idem    *once.Store  // keeps the answers to Idempotency-Keys; none by default
	Cursors web.Cursors  // signs places in lists; needed by the list routes

	// Stamp is a file beside the database that grows by a byte with every
	// change of a key, so that other processes on the same folder notice it.
	Stamp string
	// Lease says whether cached keys may be used, where other instances change
	// them too; nil where there are none.
	Lease *memory.Lease
	// Groups returns the scopes that the groups of a caller give it, with the key
	// it has signed with, if any. Keys with the role member have exactly what
	// their principal has; none by default.
	Groups func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	// Given is Groups including what suspended groups may give again: deciding
	// about a member requires that too. Groups by default.
	Given func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	// Talks reports whether a principal of a workspace has conversations, which its
	// keys open; none has by default.
	Talks func(ctx context.Context, q db.Querier, workspace, principal string) (bool, error)
	// UCAN finds the caller of a request with X-Auth-Type: ucan. Its scopes are
	// those of the caller's groups.
	UCAN func(r *http.Request) (web.Caller, error)

	// PublicURL is the public address of this server, for links of invitations;
	// unknown by default.
	PublicURL string

	KeyLimit     int           // requests a minute and key; 6,000
	FailureLimit int           // wrong keys a minute and address; 20
	Fleet        *web.Fleet    // counts requests and wrong keys at all servers; nil: at this one
	CacheSize    int           // keys kept in memory; 10,000
	CacheAge     time.Duration // until a key in memory is looked up again; 1 minute, and one with rights of groups after a second

	Now   func() time.Time // the clock of the store by default
	NewID func() string    // db.NewID by default
}

// Service keeps workspaces, principals and keys, and is the gate of the API.
// It is safe for concurrent use.
type Service struct {
	gate
	*usage
	cfg Config
	db  *db.DB
	log *slog.Logger
}

// New makes a Service.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	used := &usage{db: cfg.DB, log: cfg.Log, last: map[string]int64{}}
	return &Service{
		gate: gate{
			rights: rights{groups: cfg.Groups, now: cfg.Now}, db: cfg.DB, ucan: cfg.UCAN, used: used,
			cache: newCache(cfg.CacheSize, cfg.CacheAge, cfg.Lease), stamp: stamp{path: cfg.Stamp},
			requests: web.NewLimiter(web.LimiterConfig{PerMinute: cfg.KeyLimit, Now: cfg.Now, Fleet: cfg.Fleet, Name: "keys"}),
			failures: newFailures(cfg),
		},
		usage: used, cfg: cfg, db: cfg.DB, log: cfg.Log,
	}
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Record == nil {
		c.Record = func(context.Context, *db.Tx, string, string, int64) error { return nil }
	}
	c.Idem = cmp.Or(c.Idem, once.Plain(c.DB))
	if c.Groups == nil {
		c.Groups = func(context.Context, db.Querier, web.Caller) ([]string, error) { return nil, nil }
	}
	if c.Given == nil {
		c.Given = c.Groups
	}
	if c.Talks == nil {
		c.Talks = func(context.Context, db.Querier, string, string) (bool, error) { return false, nil }
	}
	if c.KeyLimit <= 0 {
		c.KeyLimit = 6000
	}
	if c.FailureLimit <= 0 {
		c.FailureLimit = 20
	}
	if c.CacheSize <= 0 {
		c.CacheSize = 10_000
	}
	if c.CacheAge <= 0 {
		c.CacheAge = time.Minute
	}
	c.Now = db.Clock(c.DB, c.Now)
	if c.NewID == nil {
		c.NewID = db.NewID
	}
	return c
}

// inTx runs a step in a transaction of its own.
func inTx[T any](ctx context.Context, store *db.DB, step func(tx *db.Tx) (T, error)) (T, error) {
	var out, none T
	err := store.InTx(ctx, func(tx *db.Tx) (err error) {
		out, err = step(tx)
		return err
	})
	if err != nil {
		return none, err
	}
	return out, nil
}

// record appends an event and makes every cache forget its data once the change
// is stored.
func (s *Service) record(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
	s.RightsChanged(tx)
	return s.cfg.Record(ctx, tx, typ, subject, revision)
}

// Topic is the topic under which other processes learn of changes to keys and
// groups.
const Topic = "keys"

// RightsChanged drops the caches, here and in other processes, before tx is
// answered: it changes a key, or the scopes or members of a group.
func (s *Service) RightsChanged(tx *db.Tx) {
	tx.AfterCommit(func() { announce(s) })
	tx.Changed(Topic, "")
}

// announce drops the cache, and notifies processes on the same data folder.
func announce(s *Service) {
	s.cache.flush()
	if err := s.stamp.touch(); err != nil {
		// The change is stored; other processes see it when CacheAge is over.
		s.log.Error("key change not announced", "err", err.Error())
	}
}

// Flush drops the cache, because another instance has changed a key or a group,
// or may have.
func (s *Service) Flush() { s.cache.flush() }
