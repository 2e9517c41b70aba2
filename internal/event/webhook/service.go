package webhook

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// oldSecretLife is how long a secret still signs after it was replaced.
const oldSecretLife = 24 * time.Hour

// concurrency is the default limit on concurrent attempts.
const concurrency = 64

// Connections is how many connections to one host a Client must allow, so that
// no attempt or ping waits for one that a silent receiver keeps.
const Connections = concurrency + pingsAll

// Client sends requests. The guarded outbound client is one.
type Client interface {
	Do(*http.Request) (*http.Response, error)
	// CheckURL refuses addresses Do would not send to, as far as the text of
	// the URL shows it.
	CheckURL(raw string) (*url.URL, error)
}

// Config configures a Service. DB, Events, Key, Cursors and Client are needed;
// the zero value of everything else is the sensible default.
type Config struct {
	DB      *db.DB
	Events  *event.Log
	Key     secret.Key // seals the secrets
	Cursors web.Cursors
	Client  Client
	Idem    *once.Store // keeps the answers to Idempotency-Keys; none by default
	Log     *slog.Logger
	Now     func() time.Time
	Chance  func() float64 // 0 to 1, for the backoff
	Source  string         // of the CloudEvents, before ":" and the workspace; "urn:hearth"

	Timeout     time.Duration // of one attempt; 10 s
	MaxAttempts int           // before a delivery is dead; 12
	PerHook     int           // attempts of one webhook at once; 4
	Concurrency int           // attempts in all at once; 64
	PerSpace    int           // attempts of one workspace at once; a quarter of all
	PerHost     int           // attempts at one host at once; all but a quarter
	Sweep       time.Duration // between looks at all webhooks; 60 s

	// Follows reports whether this process, of several, follows the log for a webhook,
	// and Turns is a number that changes with the answers; nil: it follows for all.
	Follows func(id string) bool
	Turns   func() int64
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Now = db.Clock(c.DB, c.Now)
	if c.Chance == nil {
		c.Chance = rand.Float64
	}
	c.Idem = cmp.Or(c.Idem, once.Plain(c.DB))
	if c.Source == "" {
		c.Source = "urn:hearth"
	}
	c.Timeout = positive(c.Timeout, 10*time.Second)
	c.MaxAttempts = positive(c.MaxAttempts, 12)
	c.PerHook = positive(c.PerHook, 4)
	c.Concurrency = positive(c.Concurrency, concurrency)
	c.PerSpace = positive(c.PerSpace, max(c.Concurrency/4, 1))
	c.PerHost = positive(c.PerHost, c.Concurrency-c.Concurrency/4)
	c.Sweep = positive(c.Sweep, time.Minute)
	if c.Follows == nil {
		c.Follows = func(string) bool { return true }
	}
	return c
}

// moment is the present time in its stored form.
func (c Config) moment() time.Time { return c.Now().UTC().Truncate(time.Millisecond) }

func positive[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Service is the use cases of webhooks and, with Run, their dispatcher.
type Service struct {
	dispatcher
	cfg    Config
	db     *db.DB
	events *event.Log
	pings  *pings
}

// New makes a service over a migrated store.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	d := dispatcher{
		sender: &sender{key: cfg.Key, client: cfg.Client, log: cfg.Log, now: cfg.Now, timeout: cfg.Timeout},
		cfg:    cfg, db: cfg.DB, events: cfg.Events, crew: newCrew(),
		slots: newSlots(limits{all: cfg.Concurrency, perSpace: cfg.PerSpace, perHost: cfg.PerHost}),
	}
	return &Service{dispatcher: d, cfg: cfg, db: cfg.DB, events: cfg.Events, pings: newPings()}
}

// may checks the right to make a webhook, whose maker reads all events except
// those that need a scope. A webhook has no scopes and reads as an unknown
// caller.
func may(ctx context.Context) (string, error) {
	ws, err := event.WholeWorkspace(ctx)
	if err != nil {
		return "", err
	}
	if !web.CallerFrom(ctx).May("events:read") {
		return "", fault.New(fault.Forbidden, "SCOPE_MISSING", "A webhook sends events: the scope events:read is needed too.")
	}
	return ws, nil
}

// Create makes a webhook, which sends events from now on.
func (s *Service) Create(ctx context.Context, d Draft) (web.Reply[WithSecret], error) {
	var none web.Reply[WithSecret]
	ws, err := may(ctx)
	if err != nil {
		return none, err
	}
	if err := d.Validate(s.cfg.Client); err != nil {
		return none, err
	}
	held, err := s.events.Range(ctx, ws)
	if err != nil {
		return none, err
	}
	if d.Secret == "" {
		d.Secret = newSecret()
	}
	now := s.cfg.moment()
	h := &hook{nid: s.db.NewNID(), ws: ws, seen: held.Newest, Webhook: Webhook{
		ID: db.NewID(), URL: d.URL, Events: d.Events, Filter: d.Filter, Description: d.Description,
		Active: d.Active == nil || *d.Active, Revision: 1, CreatedAt: now, UpdatedAt: now,
	}}
	h.secret = s.seal(h, d.Secret)
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[WithSecret], error) {
		// Otherwise two calls at once would both find room.
		if err := s.events.TakeTurn(ctx, tx, ws); err != nil {
			return none, err
		}
		n, err := count(ctx, tx, ws, Max)
		if err != nil {
			return none, err
		}
		if n >= Max {
			return none, fault.New(fault.Conflict, "TOO_MANY_WEBHOOKS", fmt.Sprintf("A workspace has at most %d webhooks.", Max))
		}
		if err := insert(ctx, tx, h); err != nil {
			return none, err
		}
		r := web.Reply[WithSecret]{Value: WithSecret{h.Webhook, d.Secret}, Status: http.StatusCreated, ETag: web.ETag(1), Location: "/v1/webhooks/" + h.ID}
		return r, announce(ctx, tx, s.events, h, "webhook.created")
	})
}

// Get reads a webhook.
func (s *Service) Get(ctx context.Context, id string) (*Webhook, error) {
	ws, err := event.WholeWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	h, err := find(ctx, s.db, ws, id)
	if err != nil {
		return nil, err
	}
	return &h.Webhook, nil
}

// Update applies a merge patch. ifMatch names the revision it was made for. A
// webhook that is switched on begins at the end of the log; replay sends what
// it has missed. Changed types and filters apply to what was not looked at yet:
// the next event, or all that waited while the filter was unusable.
func (s *Service) Update(ctx context.Context, id, ifMatch string, patch []byte) (*Webhook, error) {
	ws, err := may(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.passOver(ctx, ws, id); err != nil {
		return nil, err
	}
	held, err := s.events.Range(ctx, ws)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, id, ifMatch, func(tx *db.Tx, h *hook) (string, error) {
		was := h.Active
		if err := h.apply(patch, s.cfg.Client); err != nil {
			return "", err
		}
		if h.Active {
			h.DisabledReason = ""
		}
		if h.Active && !was {
			return "webhook.updated", jump(ctx, tx, h, held.Newest)
		}
		return "webhook.updated", nil
	})
}

func (h *hook) apply(patch []byte, client Client) error {
	was := settings{h.URL, h.Events, h.Filter, h.Description, h.Active}
	doc, err := json.Marshal(was)
	if err != nil {
		return fmt.Errorf("encode webhook: %w", err)
	}
	merged, err := web.MergePatch(doc, patch)
	if err != nil {
		return err
	}
	var set settings
	if err := web.DecodeStrict(merged, &set, false); err != nil {
		return err
	}
	var c fault.Checks
	set.check(&c, client, was)
	if err := c.Err("WEBHOOK_INVALID", "The webhook is not valid."); err != nil {
		return err
	}
	h.URL, h.Events, h.Filter, h.Description, h.Active = set.URL, set.Events, set.Filter, set.Description, set.Active
	h.compile()
	return nil
}

// Delete removes a webhook at once; its deliveries are removed in the
// background.
func (s *Service) Delete(ctx context.Context, id, ifMatch string) (*Webhook, error) {
	return s.change(ctx, id, ifMatch, func(_ *db.Tx, h *hook) (string, error) {
		h.Active = false
		return "webhook.deleted", nil
	})
}

// change reads a webhook, lets f alter it and stores it with the event f
// names.
func (s *Service) change(ctx context.Context, id, ifMatch string, f func(*db.Tx, *hook) (string, error)) (*Webhook, error) {
	ws, err := event.WholeWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	var h *hook
	err = s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		if h, err = find(ctx, tx, ws, id); err != nil {
			return err
		}
		if err := web.CheckMatch(ifMatch, h.Revision); err != nil {
			return err
		}
		kind, err := f(tx, h)
		if err != nil {
			return err
		}
		h.UpdatedAt = s.cfg.moment()
		if err := update(ctx, tx, h, kind == "webhook.deleted"); err != nil {
			return err
		}
		return announce(ctx, tx, s.events, h, kind)
	})
	if err != nil {
		return nil, err
	}
	return &h.Webhook, nil
}

// Rotate gives a webhook a new secret. For a day messages are signed with the
// old one too.
func (s *Service) Rotate(ctx context.Context, id string) (web.Reply[WithSecret], error) {
	var none web.Reply[WithSecret]
	ws, err := may(ctx)
	if err != nil {
		return none, err
	}
	fresh := newSecret()
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[WithSecret], error) {
		h, err := find(ctx, tx, ws, id)
		if err != nil {
			return none, err
		}
		h.UpdatedAt = s.cfg.moment()
		h.oldSecret, h.oldUntil = h.secret, h.UpdatedAt.Add(oldSecretLife)
		h.secret = s.seal(h, fresh)
		if err := update(ctx, tx, h, false); err != nil {
			return none, err
		}
		r := web.Reply[WithSecret]{Value: WithSecret{h.Webhook, fresh}, ETag: web.ETag(h.Revision)}
		return r, announce(ctx, tx, s.events, h, "webhook.secret_rotated")
	})
}

// announce appends the event of a change.
func announce(ctx context.Context, tx *db.Tx, log *event.Log, h *hook, kind string) error {
	return log.Append(ctx, tx, event.Event{Workspace: h.ws, Type: kind, Subject: h.ID, Revision: h.Revision})
}
