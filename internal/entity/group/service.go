package group

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Entities, Events, Cursors and Speakers are
// needed; the zero value of everything else is the sensible default.
type Config struct {
	DB       *db.DB
	Entities *entity.Service
	Events   *event.Log
	Idem     *once.Store // keeps the answers to Idempotency-Keys; none by default
	Cursors  web.Cursors
	Speakers *Speakers // those of Entities
	Now      func() time.Time
	// Published finds the did:keys of a DID that is not held here, where others
	// publish them. Nil: such a DID has none.
	Published func(ctx context.Context, id string) ([]string, error)
	// Changed is called in the transaction in which a member is added or removed:
	// cached rights of keys must be dropped then. auth.Service.RightsChanged is
	// one.
	Changed func(tx *db.Tx)
}

// Service keeps who belongs to which group. It is safe for many goroutines.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Changed == nil {
		cfg.Changed = func(*db.Tx) {}
	}
	return &Service{cfg: cfg, db: cfg.DB}
}

// Create makes a group inside an organisation or another group, together with
// its first members. The caller needs the right to change the container, and
// every scope the group gives. Faults: GROUP_INVALID, NOT_AN_ORGANISATION,
// NOT_CONTROLLER, SCOPE_MISSING, KEY_RESTRICTED, and those of a new twin.
func (s *Service) Create(ctx context.Context, in string, d Draft) (web.Reply[Group], error) {
	if err := d.Validate(); err != nil {
		return web.Reply[Group]{}, err
	}
	if err := checkGrant(ctx, "/scopes", d.Scopes); err != nil {
		return web.Reply[Group]{}, err
	}
	home, err := s.home(ctx, s.db, in)
	if err != nil {
		return web.Reply[Group]{}, err
	}
	p, err := s.prepare(ctx, home, d)
	if err != nil {
		return web.Reply[Group]{}, err
	}
	published := map[string][]string{}
	for _, m := range d.Members {
		if published[m], err = s.publishedKeys(ctx, m); err != nil {
			return web.Reply[Group]{}, err
		}
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Group], error) {
		if _, err := s.home(ctx, tx, in); err != nil { // in its present state
			return web.Reply[Group]{}, err
		}
		r, err := s.cfg.Entities.StoreTx(ctx, tx, p)
		if err != nil {
			return web.Reply[Group]{}, err
		}
		if err := s.checkName(ctx, tx, home.NID, d.Name); err != nil {
			return web.Reply[Group]{}, err
		}
		members := tidy(d.Members)
		for _, m := range members {
			if _, err := s.join(ctx, tx, r, m, admission{published: published[m]}); err != nil {
				return web.Reply[Group]{}, err
			}
		}
		g := Group{
			DID: r.DID, Name: d.Name, PartOf: in, Scopes: tidy(d.Scopes), Status: r.Status, Members: int64(len(members)), Revision: r.Revision,
		}
		return web.Reply[Group]{Value: g, ETag: web.ETag(r.Revision), Location: "/v1/entities/" + url.PathEscape(r.DID)}, nil
	})
}

// checkName refuses a group whose name another group of the same container has.
// The group is stored already, so that nobody else makes one there at the same
// time.
func (s *Service) checkName(ctx context.Context, tx *db.Tx, home int64, name string) error {
	n, err := countNamed(ctx, tx, home, name)
	if err != nil || n < 2 {
		return err
	}
	return fault.New(fault.Invalid, "GROUP_INVALID", "The group is not valid.").
		With(fault.Field{Pointer: "/name", Code: "duplicate", Detail: "Another group has this name."})
}

// home finds the container of a new group, and checks that the caller may
// change it.
func (s *Service) home(ctx context.Context, q db.Querier, id string) (*entity.Row, error) {
	r, err := s.container(ctx, q, id)
	if err != nil {
		return nil, err
	}
	return r, s.cfg.Entities.MayUpdate(ctx, q, r)
}

// container finds an organisation or a group.
func (s *Service) container(ctx context.Context, q db.Querier, id string) (*entity.Row, error) {
	r, err := s.cfg.Entities.Find(ctx, q, id)
	if err != nil {
		return nil, err
	}
	if r.DomainType != organisation && r.DomainType != groupType {
		return nil, fault.New(fault.Unprocessable, "NOT_AN_ORGANISATION", "Groups are part of organisations and of other groups only.")
	}
	return r, nil
}

// prepare makes the twin of a group. The controllers of its container control
// it too.
func (s *Service) prepare(ctx context.Context, home *entity.Row, d Draft) (*entity.Prepared, error) {
	e, err := home.Entity()
	if err != nil {
		return nil, err
	}
	props, err := json.Marshal(map[string]any{"name": d.Name, "scopes": tidy(d.Scopes)}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode group: %w", err)
	}
	return s.cfg.Entities.Prepare(ctx, entity.Draft{
		Type: "MembershipGroup", Protocol: protocol, Controller: e.Controller, Controllers: e.Controllers, Properties: entity.Object{Value: props},
		Relationships: []entity.RelationDraft{{Role: "partOf", Target: home.DID}},
	})
}

// List returns at most limit groups that are part of an organisation or group,
// by DID, after a given one. Faults: ENTITY_NOT_FOUND, NOT_AN_ORGANISATION.
func (s *Service) List(ctx context.Context, in, after string, limit int) (groups []Group, more bool, err error) {
	err = s.db.View(ctx, func(q db.Querier) error {
		r, err := s.container(ctx, q, in)
		if err != nil {
			return err
		}
		groups, err = listGroups(ctx, q, r.NID, after, limit+1)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for i := range groups {
		groups[i].PartOf = in
	}
	if more = len(groups) > limit; more {
		groups = groups[:limit]
	}
	return groups, more, nil
}

// Members returns at most limit members of a group, by DID, after a given one.
// Faults: ENTITY_NOT_FOUND, NOT_A_GROUP.
func (s *Service) Members(ctx context.Context, id, after string, limit int) (members []Member, more bool, err error) {
	err = s.db.View(ctx, func(q db.Querier) error {
		r, err := s.group(ctx, q, id)
		if err != nil {
			return err
		}
		if members, err = listMembers(ctx, q, r.NID, after, limit+1); err != nil {
			return err
		}
		p, err := read(r.Body)
		if err != nil {
			return err
		}
		return addKeys(ctx, q, r, p.Scopes, members)
	})
	if err != nil {
		return nil, false, err
	}
	for i := range members {
		members[i].Group = id
	}
	if more = len(members) > limit; more {
		members = members[:limit]
	}
	return members, more, nil
}

// group finds a group.
func (s *Service) group(ctx context.Context, q db.Querier, id string) (*entity.Row, error) {
	r, err := s.cfg.Entities.Find(ctx, q, id)
	if err != nil {
		return nil, err
	}
	return r, checkGroup(r)
}

func checkGroup(r *entity.Row) error {
	if r.DomainType == groupType {
		return nil
	}
	return fault.New(fault.Unprocessable, "NOT_A_GROUP", "Only membership groups have members.")
}

// Of returns the groups of a member and what they give.
func (s *Service) Of(ctx context.Context, member string) (Memberships, error) {
	c := web.CallerFrom(ctx)
	if member == "" {
		member = c.DID
	}
	if err := checkDID("query/member", member); err != nil {
		return Memberships{}, err
	}
	if member != c.DID && !auth.May(c, "groups:read") {
		return Memberships{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The groups of others need the scope groups:read, which you do not have.")
	}
	var all []Membership
	err := s.db.View(ctx, func(q db.Querier) (err error) {
		who := web.Caller{Workspace: c.Workspace, DID: member}
		if member == c.DID {
			who = c
		}
		all, err = membershipsOf(ctx, q, who)
		return err
	})
	if err != nil {
		return Memberships{}, err
	}
	all = visible(c, all)
	return Memberships{Member: member, Groups: all, Scopes: given(c.Workspace, all)}, nil
}
