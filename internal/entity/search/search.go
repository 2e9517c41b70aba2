// Package search finds twins: the list of a workspace, by its fields and by the
// properties protocols declare.
//
// It promises that a page costs the same in a store of a thousand twins and of
// a million: it is driven by an index, and looks at a bounded number of
// candidates. Conditions that no index answers are compared one by one, and
// when the bound is reached the page ends, short or empty, with a cursor at the
// last candidate looked at. It reads the store itself, so it shows every write
// that was answered. An unknown field is an error, never an empty answer.
//
// A map looks at more twins than a page, but at no more in a larger store.
//
// It does not count: the number of matching twins is unknown until all have
// been looked at.
package search

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// What one page looks at, at most.
const (
	maxCandidates = 500      // from an index
	maxRows       = 1000     // from the table: 5 ms on a slow core
	maxScanned    = 32 << 20 // bytes of records that are compared
	maxPage       = 8 << 20  // bytes of records that are given
	maxPoints     = 64       // twins with one external id; more of them make it useless as a name
	maxRuns       = 20       // values of in and or that an index is asked for
	maxItems      = 1000     // of a page
	maxExpanded   = 100      // items of a page with expand
)

// Config configures a Service. All fields except Mask are required.
type Config struct {
	DB        *db.DB
	Protocols *protocol.Service
	Cursors   web.Cursors
	Key       secret.Key // seals cursors that would tell a restricted key about twins it may not see
	Mask      *mask.Mask // what callers do not see; by default a caller who controls a twin directly sees all of it
}

// Service finds twins. It is safe for many goroutines.
type Service struct {
	cfg    Config
	cat    catalog
	mask   *mask.Mask
	budget budget
	marks  int // points of a map that are given one by one
	mapped int // twins that are looked at for a map
}

// budget is what one page looks at, at most.
type budget struct{ candidates, rows int }

// catalog is what search asks about protocols.
type catalog interface {
	Declaring(ctx context.Context, ws, property string) (found []protocol.Declared, open bool, err error)
	OfClass(ctx context.Context, ws, class string) ([]string, error)
	FindAny(ctx context.Context, ws, id, version string) (*protocol.Protocol, error)
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	if cfg.Mask == nil {
		cfg.Mask = mask.New(cfg.Protocols, nil)
	}
	return &Service{cfg: cfg, cat: cfg.Protocols, mask: cfg.Mask, budget: budget{candidates: maxCandidates, rows: maxRows}, marks: maxMarks, mapped: maxMapped}
}

// List returns a page of the twins the caller of ctx may see. q is the store,
// or a transaction. Faults: INVALID_PARAMETER, INVALID_FILTER, UNKNOWN_FIELD,
// and SCOPE_MISSING for a caller who searches by what they may not see.
func (s *Service) List(ctx context.Context, q db.Querier, query entity.Query) (entity.Found, error) {
	p, err := s.prepare(ctx, q, query)
	if err != nil {
		return entity.Found{}, err
	}
	f, err := p.run(ctx, q)
	if err != nil || p.sight.All() {
		return f, err
	}
	for _, r := range f.Rows {
		if r.Body, err = p.sight.Record(ctx, q, r.Protocol, r.Body); err != nil {
			return entity.Found{}, err
		}
	}
	return f, nil
}
