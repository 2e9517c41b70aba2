// Package bulk moves many twins at once: batches of operations in one request,
// and imports, exports and migrations between versions of a protocol as jobs.
//
// It promises that every operation is held to the rules of the single route,
// that an atomic batch is stored whole or not at all, that a job which is
// killed goes on where it stopped (no row is stored twice, none is lost), that
// a dry run stores nothing but its report, and that every row says what became
// of it. Files lie in the store, so that any instance can work on them, and are
// removed when they are no longer needed: they hold personal data.
//
// Jobs store in chunks of at most 50 rows, prepared before their transaction
// begins, and while others write in parts of a few milliseconds with a rest
// after each: they wait for such a part, not for a file.
package bulk

import (
	"context"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/batch"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits.
const (
	MaxImport  = 64 << 20 // bytes of a file to import
	MaxExport  = 2 << 30  // bytes of a file that is exported, before compression
	maxMapping = 4 << 10  // bytes of the mapping of an import
	ChunkRows  = batch.Rows
)

// The kinds of jobs.
const (
	kindImport  = "entity.import"
	kindExport  = "entity.export"
	kindMigrate = "entity.migrate"
)

// Config configures a Service. DB, Exchange, Entities, Protocols, Search, Events
// and Cursors are needed.
type Config struct {
	DB        *db.DB
	Exchange  *exchange.Service
	Entities  *entity.Service
	Protocols *protocol.Service
	Search    *search.Service
	Events    *event.Log
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	Cursors   web.Cursors
	Log       *slog.Logger
	Now       func() time.Time
}

// Service moves twins in bulk. It is safe for many goroutines.
type Service struct {
	cfg   Config
	db    *db.DB
	batch *batch.Service
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	if cfg.Idem == nil {
		cfg.Idem = once.Plain(cfg.DB)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg: cfg, db: cfg.DB, batch: batch.New(batch.Config{DB: cfg.DB, Entities: cfg.Entities, Idem: cfg.Idem, Now: cfg.Now})}
}

// Batch does the operations of b in their order, with the rights of the caller
// of ctx: all or none of them, or each for itself.
func (s *Service) Batch(ctx context.Context, b batch.Batch) (web.Reply[batch.Results], error) {
	return s.batch.Do(ctx, b)
}

// Handlers are what runs the jobs of this package, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{kindImport: s.runImport, kindExport: s.runExport, kindMigrate: s.runMigration}
}

// ExpireBatches removes at most limit results of batches that were kept for
// their Idempotency-Key since before a time.
func (s *Service) ExpireBatches(ctx context.Context, before time.Time, limit int) (int, error) {
	return batch.Expire(ctx, s.db, before.UnixMilli(), limit)
}
