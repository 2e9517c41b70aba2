// Package bulk moves many twins at once: batches of operations in one request,
// and imports, exports and migrations between versions of a protocol as jobs.
//
// It promises that every operation obeys the rules of the single route, that an
// atomic batch is stored whole or not at all, that a killed job resumes where
// it stopped (no row is stored twice, none is lost), that a dry run stores
// nothing but its report, and that the report says what became of every row.
// Files are in the store, so that any instance can work on them, and are
// removed when they are no longer needed: they hold personal data.
//
// Jobs store in chunks of at most 50 rows, prepared before their transaction
// begins; while others write, in parts of a few milliseconds with a pause after
// each. Other writers wait for such a part, not for a file.
package bulk

import (
	"cmp"
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
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
	Search    lister
	Events    *event.Log
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	Cursors   web.Cursors
	Now       func() time.Time
}

// lister gives the twins of a query page by page, and records with some of
// their fields only. Package search has it.
type lister interface {
	List(ctx context.Context, q db.Querier, query entity.Query) (entity.Found, error)
	Fields(ctx context.Context, r *entity.Row, body []byte, fields string) ([]byte, error)
}

// Service moves twins in bulk. It is safe for many goroutines.
type Service struct {
	batches
	cfg     Config
	db      *db.DB
	glances *glances
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{batches: batches{cfg.DB, cfg.Entities, cfg.Idem, cfg.Now}, cfg: cfg, db: cfg.DB, glances: newGlances()}
}

// Handlers returns the jobs of this package, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{kindImport: s.runImport, kindExport: s.runExport, kindMigrate: s.runMigration}
}
