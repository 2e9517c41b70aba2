// Package part serves what can be read and changed of a twin alone, each at an
// address of its own: relationships, services, properties, controllers, and
// the steps of its life. It also takes twins in the words of domain
// registration.
//
// It keeps nothing and has no rules: twins change through package entity only.
package part

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag        = "entities"
	readScope  = web.Scope("entities:read")
	writeScope = web.Scope("entities:write")
)

const aboutControl = "Only controllers of the entity may change it; who speaks for a DID that has rights of its own (its did:keys in alsoKnownAs, its controllers) only itself, or a caller who has every scope it has. If-Match names the revision you have read; * takes whatever there is."

// Config configures a Service. All of it is needed.
type Config struct {
	DB        *db.DB
	Entities  *entity.Service
	Protocols *protocol.Service
	Cursors   web.Cursors
}

// Service serves the parts of twins.
type Service struct {
	cfg      Config
	db       *db.DB
	entities *entity.Service
}

// New makes a Service.
func New(cfg Config) *Service { return &Service{cfg: cfg, db: cfg.DB, entities: cfg.Entities} }

// Routes adds the parts of twins to a.
func (s *Service) Routes(a *web.API) {
	s.stepRoutes(a)
	s.relationRoutes(a)
	s.serviceRoutes(a)
	s.propertyRoutes(a)
	s.controllerRoutes(a)
	s.domainRoutes(a)
}

type one struct {
	DID string `path:"did" doc:"DID of the entity; slashes may be written as they are or as %2F." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

// changing is what routes that change a twin share.
type changing struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; * for any."`
	Reason  string `query:"reason" doc:"Why, for the history; one line of at most 1,000 characters."`
}

// codes are those of every change.
func codes(more ...string) []string {
	return append(more, "NOT_CONTROLLER", "PRINCIPAL_PROTECTED", "ENTITY_INVALID", "ENTITY_DEACTIVATED", "STALE_REVISION", "PRECONDITION_REQUIRED")
}

// read gives a twin and its record.
func (s *Service) read(ctx context.Context, id string) (*entity.Row, *entity.Entity, error) {
	r, err := s.entities.Find(ctx, s.db, id)
	if err != nil {
		return nil, nil, err
	}
	e, err := r.Entity()
	return r, e, err
}

// edit changes a record by a function, in a transaction of its own.
func (s *Service) edit(ctx context.Context, in changing, fn func(*entity.Entity) error) (*entity.Row, error) {
	return s.entities.Patch(ctx, in.DID, in.IfMatch, entity.Change{Edit: fn, Reason: in.Reason})
}

// edited is edit with the record as the answer.
func (s *Service) edited(ctx context.Context, in changing, fn func(*entity.Entity) error) (web.Reply[*entity.Entity], error) {
	r, err := s.edit(ctx, in, fn)
	if err != nil {
		return web.Reply[*entity.Entity]{}, err
	}
	return s.entities.Answer(ctx, s.db, r)
}

func invalid(pointer, code, detail string) error {
	return fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}
