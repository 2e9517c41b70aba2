package survey

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Templates, Events and Cursors are needed;
// the zero value of everything else is the sensible default.
type Config struct {
	DB        *db.DB
	Templates Templates
	Events    *event.Log
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	Cursors   web.Cursors
	Vault     *vault.Vault // names households for callers who may not know them
	Now       func() time.Time
	// Project reports whether a DID is held here, and whether it is a project.
	// Without it nothing is held.
	Project func(ctx context.Context, q db.Querier, ws, did string) (held, isProject bool, err error)
	// Design returns the target that a survey which names a sample design must
	// agree with; nil when the project has no such design. Without it there are no
	// designs.
	Design func(ctx context.Context, q db.Querier, project, id string) (*Target, error)
	// Methodology returns the target of surveys for a methodology that is the DID of
	// a protocol; nil when it has none. The fault names the fields of the survey
	// that are wrong. Without it there are no targets.
	Methodology func(ctx context.Context, ws string, m api.SurveyMethodology) (*Target, error)
	// CheckList checks an entity list: its protocol, its filter, and the properties
	// that forms read from it or save to it. It may be nil.
	CheckList func(ctx context.Context, project string, l EntityList, properties []string) error
	// Contact returns how to reach a household whose twin the caller may see,
	// personal properties aside; nil when that is unknown. It may be nil.
	Contact func(ctx context.Context, q db.Querier, household string) (*Contact, error)
	// Channels are the modes in which other systems ask households: ussd, web, chat.
	Channels []string
	// Asks returns the modes in which this server itself asks the households of
	// a workspace: ussd, chat. Without it there are none.
	Asks func(ws string) []string
	// StrictRefs refuses projects that are not held here.
	StrictRefs bool
	Lease      *cache.Lease // where other instances change campaigns too
}

func (c Config) withDefaults() Config {
	c.Idem = cmp.Or(c.Idem, once.Plain(c.DB))
	c.Now = db.Clock(c.DB, c.Now)
	if c.Asks == nil {
		c.Asks = func(string) []string { return nil }
	}
	if c.Vault == nil {
		c.Vault = vault.New(vault.Config{})
	}
	if c.Project == nil {
		c.Project = func(context.Context, db.Querier, string, string) (bool, bool, error) { return false, false, nil }
	}
	if c.Methodology == nil {
		c.Methodology = func(context.Context, string, api.SurveyMethodology) (*Target, error) { return nil, nil }
	}
	if c.Design == nil {
		c.Design = func(context.Context, db.Querier, string, string) (*Target, error) { return nil, nil }
	}
	if c.Contact == nil {
		c.Contact = func(context.Context, db.Querier, string) (*Contact, error) { return nil, nil }
	}
	return c
}

// Service is the use cases of campaigns.
type Service struct {
	lists
	cfg    Config
	db     *db.DB
	events *event.Log
}

// lists are the households of campaigns.
type lists struct {
	*opened
	*counters
	events *event.Log
	idem   *once.Store
	vault  *vault.Vault
	// contact returns how to reach a household, nil when that is unknown
	contact func(ctx context.Context, q db.Querier, household string) (*Contact, error)
}

// opened caches compiled campaigns until they change.
type opened struct {
	db        *db.DB
	templates Templates
	cache     *cache.Cache[string, *Open] // by id
	clock     func() time.Time
	shared    bool // with other instances, which change campaigns too
	channels  []string
}

// counters are sums over the households and responses of a campaign.
type counters struct {
	clock func() time.Time
	paces paces
}

// New makes a service over a migrated store.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	op := &opened{db: cfg.DB, templates: cfg.Templates, clock: cfg.Now, shared: cfg.Lease != nil, channels: cfg.Channels}
	op.cache = cache.New[string](cache.Config[*Open]{
		Topic: Topic, Lease: cfg.Lease, Limit: maxCached, Weigh: func(o *Open) int { return o.weight }, Older: func(next, kept *Open) bool { return next.Revision < kept.Revision },
	})
	c := &counters{clock: op.now}
	return &Service{lists: lists{op, c, cfg.Events, cfg.Idem, cfg.Vault, cfg.Contact}, cfg: cfg, db: cfg.DB, events: cfg.Events}
}

// Flush drops all that is cached: what other instances have changed may have
// been missed.
func (op *opened) Flush() { op.cache.Flush() }

// Forget drops the cached campaigns of one workspace, because another instance
// has changed one.
func (op *opened) Forget(ws string) { op.cache.Drop(ws) }

func (op *opened) now() time.Time { return op.clock().UTC().Truncate(time.Millisecond) }

// Topic is the topic under which other processes learn of changes to campaigns.
const Topic = "surveys"

// changed makes a change known once it is stored.
func (op *opened) changed(tx *db.Tx, ws string) {
	tx.AfterCommit(func() { op.cache.Drop(ws) })
	tx.Changed(Topic, ws)
}

// newID is the id of a campaign that its maker has not named.
func newID(nid int64) string { return "srv_" + strconv.FormatInt(nid, 10) }

func notFound() error {
	return fault.New(fault.NotFound, "SURVEY_NOT_FOUND", "No survey has this id.")
}
