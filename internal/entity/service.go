package entity

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Protocols, Events and Cursors are needed;
// the zero value of everything else is the sensible default.
type Config struct {
	DB        *db.DB
	Protocols *protocol.Service
	Events    *event.Log
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	// Jobs join the edges that have waited for a new twin, past the first
	// hundred. Without it those stay as they are.
	Jobs    *job.Service
	Cursors web.Cursors
	Log     *slog.Logger
	Now     func() time.Time
	NewDID  func() did.DID

	Relayer    string // DID of this server, for relayerNode
	StrictRefs bool   // refuse references to twins that are not held here

	// ControlsAs names as whom a caller may act besides itself: the DIDs of
	// its groups whose scopes cover entities:write, and of their
	// organisations. Without it callers act as themselves only.
	ControlsAs func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	// KnownAs lists the DIDs as which a caller may have acted before, itself and
	// with keys of others: nobody judges their own work under another name. By
	// default its own alone.
	KnownAs func(ctx context.Context, q db.Querier, c web.Caller) (own, others []string, err error)
	// Speakers looks after the keys that speak for twins. Without it they are
	// a list like any other.
	Speakers Speakers
	// GroupChanged is called after a commit that changed a group, an
	// organisation, or an edge between them. It must not block.
	GroupChanged func()
	// At reads an earlier revision of a twin, by number or by time. Without
	// it the parameter at is refused; the two below likewise.
	At func(ctx context.Context, q db.Querier, r *Row, at string) (body []byte, revision int64, err error)
	// Fields keeps only some members of a record.
	Fields func(ctx context.Context, r *Row, body []byte, fields string) ([]byte, error)
	// Expand adds what a record points to.
	Expand func(ctx context.Context, q db.Querier, r *Row, body []byte, expand string) ([]byte, error)
}

func (c Config) withDefaults() Config {
	if c.Idem == nil {
		c.Idem = once.Plain(c.DB)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewDID == nil {
		c.NewDID = did.NewEntity
	}
	if c.KnownAs == nil {
		c.KnownAs = func(_ context.Context, _ db.Querier, c web.Caller) ([]string, []string, error) {
			return []string{c.DID}, nil, nil
		}
	}
	if c.ControlsAs == nil {
		c.ControlsAs = func(context.Context, db.Querier, web.Caller) ([]string, error) { return nil, nil }
	}
	return c
}

// Service is the registry of twins. It is safe for many goroutines.
type Service struct {
	cfg     Config
	db      *db.DB
	records *records
	mask    *mask.Mask
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	return &Service{cfg: cfg, db: cfg.DB, records: newRecords(cfg.DB), mask: mask.New(cfg.Protocols, cfg.ControlsAs)}
}

// Find reads a twin of the caller's workspace and projects. Any other is as
// missing as one that never was: ENTITY_NOT_FOUND.
func (s *Service) Find(ctx context.Context, q db.Querier, id string) (*Row, error) {
	caller := web.CallerFrom(ctx)
	r, err := find(ctx, q, caller.Workspace, id)
	return visible(caller, r, err)
}

// Read gives the record of a twin as the caller may see it, and its revision.
// The fault is ENTITY_NOT_FOUND.
func (s *Service) Read(ctx context.Context, id string) ([]byte, int64, error) {
	r, err := s.read(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	body, err := s.mask.Record(ctx, s.db, r.protocol, r.body)
	return body, r.revision, err
}

// See is how the caller of ctx sees twins: every record that leaves the server
// goes through it.
func (s *Service) See(ctx context.Context) *mask.Sight { return s.mask.See(ctx) }

// Answer is the record of a twin as it is sent to the caller of ctx.
func (s *Service) Answer(ctx context.Context, q db.Querier, r *Row) (web.Reply[*Entity], error) {
	body, err := s.mask.Record(ctx, q, r.Protocol, r.Body)
	return web.Reply[*Entity]{Raw: body, ETag: web.ETag(r.Revision)}, err
}

// read is Find for those who want nothing but the record.
func (s *Service) read(ctx context.Context, id string) (cached, error) {
	caller := web.CallerFrom(ctx)
	name := recordName{caller.Workspace, id}
	found, evicted, ok := s.records.get(name)
	if !ok {
		r, err := find(ctx, s.db, caller.Workspace, id)
		if err != nil {
			return cached{}, err
		}
		found = r.cached()
		s.records.put(name, found, evicted)
	}
	if !inside(caller, found.project) {
		return cached{}, notFound()
	}
	return found, nil
}

// FindForUpdate is Find for a twin that tx is about to change: until tx ends
// nobody else changes it.
func (s *Service) FindForUpdate(ctx context.Context, tx *db.Tx, id string) (*Row, error) {
	caller := web.CallerFrom(ctx)
	r, err := findForUpdate(ctx, tx, s.db.Dialect(), caller.Workspace, id)
	return visible(caller, r, err)
}

// Made reports whether the DID of a twin was made here, so that it is nobody
// else's. The maker of the twin may have chosen any other.
func (s *Service) Made(ctx context.Context, q db.Querier, r *Row) (bool, error) {
	chosen, err := findChosen(ctx, q, r.NID)
	return !chosen, err
}

func visible(c web.Caller, r *Row, err error) (*Row, error) {
	if err == nil && !inside(c, r.Project) {
		return nil, notFound()
	}
	return r, err
}

// MayUpdate is nil when the caller controls the twin, as itself or through a
// group, else the fault NOT_CONTROLLER. That the caller has the scope
// entities:write is the route's matter.
func (s *Service) MayUpdate(ctx context.Context, q db.Querier, r *Row) error {
	controllers, err := twin.ControllersOf(r.Body)
	if err != nil {
		return err
	}
	caller := web.CallerFrom(ctx)
	if caller.DID != "" && slices.Contains(controllers, caller.DID) {
		return nil
	}
	as, err := s.cfg.ControlsAs(ctx, q, caller)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(as, func(d string) bool { return slices.Contains(controllers, d) }) {
		return nil
	}
	return fault.New(fault.Forbidden, "NOT_CONTROLLER", "Only a controller of the entity may change it. controllers lists them; a caller with entities:transfer can hand it over: POST /v1/entities/{did}/transfer.")
}

// Brief is a twin in a few words, for graphs and expanded links.
type Brief struct {
	DID        string `json:"did"`
	Type       string `json:"type"`
	Class      string `json:"class"`
	DomainType string `json:"domainType"`
	Status     Status `json:"status"`
	Name       string `json:"name,omitzero" doc:"The beginning of its name: properties.name, else metadata.name; where that is personal, only with the scope entities:pii."`
}

// Summary is a twin in a few words.
func Summary(r *Row) Brief {
	return Brief{DID: r.DID, Type: r.Type, Class: r.Class, DomainType: r.DomainType, Status: r.Status, Name: r.Name}
}
