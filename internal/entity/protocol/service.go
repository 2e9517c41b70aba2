package protocol

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Events and Cursors are needed; the zero
// value of everything else is the sensible default.
type Config struct {
	DB      *db.DB
	Events  *event.Log
	Idem    *once.Store // keeps the answers to Idempotency-Keys; none by default
	Cursors web.Cursors
	Now     func() time.Time
	NewDID  func() did.DID
	Log     *slog.Logger
	Lease   *cache.Lease // where other instances change protocols too
	// Taken reports whether something else in a workspace has a DID, for
	// example a twin. It may be nil.
	Taken func(ctx context.Context, q db.Querier, ws, did string) (bool, error)
}

func (c Config) withDefaults() Config {
	c.Idem = cmp.Or(c.Idem, once.Plain(c.DB))
	c.Now = db.Clock(c.DB, c.Now)
	if c.NewDID == nil {
		c.NewDID = did.NewEntity
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Taken == nil {
		c.Taken = func(context.Context, db.Querier, string, string) (bool, error) { return false, nil }
	}
	return c
}

// Service is the use cases of protocols.
type Service struct {
	finder
	cfg     Config
	events  *event.Log
	rubrics rubrics
}

// finder caches compiled protocols until they change, and has the bundled ones.
type finder struct {
	db        *db.DB
	protocols *cache.Cache[cacheKey, *Protocol]
	answers   *cache.Cache[question, *answer]
}

// New makes a service over a migrated store.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	return &Service{finder: finder{cfg.DB, newProtocols(cfg.Lease), newAnswers(cfg.Lease)}, cfg: cfg, events: cfg.Events}
}

// Flush drops all that is cached: what other instances have changed may have
// been missed.
func (fd *finder) Flush() {
	fd.protocols.Flush()
	fd.answers.Flush()
}

// Forget drops the cache of one workspace, because another instance has changed
// a protocol there.
func (fd *finder) Forget(ws string) {
	fd.protocols.Drop(ws)
	fd.answers.Drop(ws)
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// Topic is the topic under which other processes learn of changes to protocols.
const Topic = "protocols"

// changed makes a change known once it is stored.
func (s *Service) changed(tx *db.Tx, ws string) {
	tx.AfterCommit(func() { s.Forget(ws) })
	tx.Changed(Topic, ws)
}
