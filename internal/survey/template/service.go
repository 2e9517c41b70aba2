package template

import (
	"cmp"
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
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
	Lease   *cache.Lease // where other instances change templates too
	// Since returns when a workspace began, from which the first review of a
	// bundled template counts. Without it that review is never due.
	Since func(ctx context.Context, q db.Querier, ws string) (time.Time, error)
	// XForm writes a version as an XForm; without it the route does not exist.
	XForm func(f *form.Form, version int) ([]byte, error)
}

func (c Config) withDefaults() Config {
	c.Idem = cmp.Or(c.Idem, once.Plain(c.DB))
	c.Now = db.Clock(c.DB, c.Now)
	if c.Since == nil {
		c.Since = func(context.Context, db.Querier, string) (time.Time, error) { return time.Time{}, nil }
	}
	return c
}

// Service is the use cases of templates.
type Service struct {
	cfg    Config
	db     *db.DB
	events *event.Log
	cache  *cache.Cache[cacheKey, *entry]
}

// New makes a service over a migrated store.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	return &Service{cfg: cfg, db: cfg.DB, events: cfg.Events, cache: cache.New[cacheKey](cache.Config[*entry]{Topic: Topic, Lease: cfg.Lease, Limit: maxCached, Weigh: (*entry).weight})}
}

// Flush drops the cache, because changes by other instances may have been
// missed.
func (s *Service) Flush() { s.cache.Flush() }

// Forget drops the cache of one workspace, because another instance has changed
// a template there.
func (s *Service) Forget(ws string) { s.cache.Drop(ws) }

func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// Topic is the topic under which other processes learn of changes to templates.
const Topic = "templates"

// record appends the event of a change and makes the change known once it is
// stored.
func (s *Service) record(ctx context.Context, tx *db.Tx, ws, kind string, v *Version) error {
	tx.AfterCommit(func() { s.cache.Drop(ws) })
	tx.Changed(Topic, ws)
	return s.events.Append(ctx, tx, event.Event{
		Workspace: ws, Type: kind, Subject: v.TemplateID, Revision: v.Revision, Data: map[string]int{"version": v.Version},
	})
}

// writer is the workspace of a caller who may change templates: they rule all
// projects, so a key for some does not do.
func writer(ctx context.Context) (string, error) {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return "", fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; templates are for the whole workspace.")
	}
	return c.Workspace, nil
}

func notFound() error {
	return fault.New(fault.NotFound, "TEMPLATE_NOT_FOUND", "No template has this identifier.")
}

func noVersion() error {
	return fault.New(fault.NotFound, "TEMPLATE_VERSION_NOT_FOUND", "The template has no such version.")
}

func exists() error {
	return fault.New(fault.Conflict, "TEMPLATE_EXISTS", "Another template already has this identifier.").
		With(fault.Field{Pointer: "/templateId", Code: "exists", Detail: "Use a different identifier, or change the existing template: with PUT, or by importing with mode=update and If-Match."})
}

func comesWithUs() error {
	return fault.New(fault.Conflict, "TEMPLATE_EXISTS", "A template with this identifier is part of the program. It cannot be replaced or changed: send yours with another templateId, such as one that names your programme.").
		With(fault.Field{Pointer: "/templateId", Code: "exists", Detail: "Use another identifier."})
}

func published() error {
	return fault.New(fault.Conflict, "TEMPLATE_PUBLISHED", "A published version cannot change. Open a draft of the next one with PUT /v1/templates/{templateId}.")
}

func changed() error {
	return fault.New(fault.Conflict, "TEMPLATE_CHANGED", "The template was changed at the same moment. Read it again.")
}

// ship refuses changes of a shipped template.
func (s *Service) ship(id string) error {
	if shipped().find(id, 0) != nil {
		return fault.New(fault.Conflict, "TEMPLATE_PUBLISHED", "A shipped template cannot change. Make one of your own with POST /v1/templates/{templateId}/clone.")
	}
	return nil
}
