package graph

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service.
type Config struct {
	DB        *db.DB
	Protocols *protocol.Service
	Cursors   web.Cursors
	Now       func() time.Time // the clock of the store by default
	Mask      *mask.Mask       // what callers do not see; that of Protocols by default
}

// Service answers questions about the graph. It is safe for many goroutines.
type Service struct {
	cfg    Config
	looked int // edges a walk looks at, at most
	audit  auditBounds
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Mask == nil {
		cfg.Mask = mask.New(cfg.Protocols, nil)
	}
	return &Service{cfg: cfg, looked: maxLooked, audit: auditBounds{edges: maxAuditEdges, together: maxTogether}}
}

// reader reads for the caller of a request.
func (s *Service) reader(ctx context.Context, q db.Querier, f Filter) *reader {
	return &reader{q: q, caller: web.CallerFrom(ctx), sight: s.cfg.Mask.See(ctx), filter: f, left: s.looked}
}
