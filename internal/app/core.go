package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Core is the store and the services over it, without listeners. The command
// line uses one too, even while a server uses the same store.
type Core struct {
	DB       *db.DB
	Key      secret.Key
	Bus      bus.Bus
	Auth     *auth.Service
	Events   *event.Log
	Webhooks *webhook.Service
	Jobs     *job.Service
	Idem     *once.Store

	changes  *bus.Changes // of what processes keep in memory
	fleet    *web.Fleet   // counts for limits with other servers; nil on SQLite
	outbound *outbound.Client
	hooks    *outbound.Client                        // of webhooks alone: silent receivers hold up nothing else at their host
	ucan     func(*http.Request) (web.Caller, error) // nil without area D
	cursors  web.Cursors
	log      *slog.Logger
}

// StoreConfig is the configuration of the store that cfg names.
func StoreConfig(cfg *config.Config, log *slog.Logger) db.Config {
	c := db.Config{Log: log, Sync: cfg.Data.SQLiteSynchronous}
	if cfg.Postgres() {
		c.URL, c.ReadURL, c.RequireStandby = cfg.Data.DatabaseURL.Reveal(), cfg.Data.ReadURL.Reveal(), cfg.Data.RequireStandby
		c.SessionURL = cfg.Data.BusURL.Reveal()
	} else {
		c.Path = filepath.Join(cfg.Data.Dir, "hearth.db")
	}
	return c
}

// OpenCore opens the store, brings its schema up to date and builds the
// services. ctx is the lifetime of what they start.
func OpenCore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Core, error) {
	if err := os.MkdirAll(cfg.Data.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	key, err := serverKey(cfg)
	if err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, StoreConfig(cfg, log))
	if err != nil {
		return nil, err
	}
	c := &Core{DB: d, Key: key, log: log, cursors: web.Cursors{Key: key.Derive("cursor")}}
	if err := d.Migrate(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := auth.ProveKey(ctx, d, key); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.build(ctx, cfg); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// serverKey is the configured key, or the one in the data folder.
func serverKey(cfg *config.Config) (secret.Key, error) {
	if text := cfg.Auth.ServerKey.Reveal(); text != "" {
		return secret.Parse(text)
	}
	k, _, err := secret.Load(filepath.Join(cfg.Data.Dir, "server.key"))
	return k, err
}

// build makes the services, lowest first, and ties them together: none of
// them knows another.
func (c *Core) build(ctx context.Context, cfg *config.Config) error {
	var err error
	if c.Bus, err = openBus(ctx, cfg, c.Key, c.log); err != nil {
		return err
	}
	c.changes = bus.NewChanges(ctx, bus.ChangesConfig{
		DB: c.DB, Bus: c.Bus, Log: c.log, Self: func() string { return c.DB.Self().ID }, Silent: c.DB.Silent,
		Live: func(ctx context.Context) ([]string, error) { return live(ctx, c.DB) },
	})
	if cfg.Postgres() {
		c.fleet = web.NewFleet(web.FleetConfig{
			Key: c.Key.Derive("limits"), Servers: func() int { return db.Servers(c.DB) }, Publish: func(m string) { c.publish(ctx, topicLimits, m) },
		})
	}
	c.Idem = once.New(once.Config{DB: c.DB, Key: c.Key})
	c.Events = event.New(event.Config{
		DB: c.DB, Cursors: c.cursors, Log: c.log, StillAllowed: c.stillAllowed, Rights: event.Filter{"key.*", "member.*"}, Veil: collectors(),
		Publish: func(workspace string) { c.publish(ctx, topicEvents+workspace, "") },
		Leads:   func() bool { return db.Leads(c.DB) },
		Reads:   func(workspace string) { c.publish(ctx, topicReads+workspace, "") }, Numbered: func(workspace string) { c.publish(ctx, topicNumbered+workspace, "") },
	})
	c.Auth = auth.New(auth.Config{
		DB: c.DB, Log: c.log, Record: c.record, Idem: c.Idem, Cursors: c.cursors, Groups: group.ScopesOf, Given: group.GivenTo, Talks: chat.Talks,
		UCAN: c.byToken, Stamp: stampFile(cfg), Lease: c.changes.Lease(), Fleet: c.fleet, KeyLimit: unlimited(cfg.Limits.RateLimit), PublicURL: cfg.Server.PublicURL,
	})
	c.Jobs = job.New(job.Config{
		DB: c.DB, Cursors: c.cursors, Log: c.log, Record: c.record,
		Publish: func(id string) { c.publish(ctx, topicJobs, id) },
	})
	out := outbound.Config{Allow: cfg.Events.OutboundAllow, Timeout: cfg.Events.WebhookTimeout, MaxRedirects: -1}
	if c.outbound, err = outbound.New(out); err != nil {
		return err
	}
	out.MaxPerHost = webhook.Connections
	if c.hooks, err = outbound.New(out); err != nil {
		return err
	}
	hooks := webhook.Config{
		DB: c.DB, Events: c.Events, Key: c.Key, Cursors: c.cursors, Log: c.log, Client: c.hooks, Idem: c.Idem,
		Timeout: cfg.Events.WebhookTimeout, MaxAttempts: cfg.Events.WebhookMaxAttempts, Source: eventSource(c.Key),
	}
	if cfg.Postgres() {
		hooks.Follows, hooks.Turns = func(id string) bool { return db.Cares(c.DB, "webhook "+id) }, func() int64 { return db.CrewTurns(c.DB) }
	}
	c.Webhooks = webhook.New(hooks)
	c.changes.Follow(auth.Topic, bus.WholeMemory(c.Auth.Flush))
	c.listen()
	return nil
}

// live names the instances that a change has to reach.
func live(ctx context.Context, d *db.DB) ([]string, error) {
	all, err := d.Instances(ctx)
	var ids []string
	for _, one := range all {
		if one.Silent < bus.CountedFor {
			ids = append(ids, one.ID)
		}
	}
	return ids, err
}

// eventSource names this server in events that leave it, so that those of two
// servers never have the same source and id. All instances on one store have one
// key.
func eventSource(k secret.Key) string {
	return fmt.Sprintf("urn:hearth:%x", k.Derive("event source")[:8])
}

// collectors are the events that would reveal who is behind the pseudonym of a
// collector or sender. A person who decides about a response is shown by DID,
// and has neither collected nor sent it.
func collectors() event.Veil {
	return event.Veil{
		Scope: privacy.PII, Types: event.Filter{"response.*", "kpt.*", "survey.outcome_set", "survey.contacts_disclosed"},
		Open: event.Filter{"response.verified", "response.rejected", "response.verification_changed"},
	}
}

// Topics of the bus.
const (
	topicEvents   = "events."   // and a workspace: it has new events
	topicReads    = "reads."    // and a workspace: its events are being read
	topicNumbered = "numbered." // and a workspace: its new events have numbers
	topicJobs     = "jobs"      // there is work, or a job was cancelled
	topicLimits   = "limits"    // what callers have spent
)

// openBus is NATS where there are servers of it, PostgreSQL's own channel when that
// is the store, else in-process.
func openBus(ctx context.Context, cfg *config.Config, key secret.Key, log *slog.Logger) (bus.Bus, error) {
	d := cfg.Data
	switch {
	case !cfg.Postgres():
		return bus.New(), nil
	case d.NATSURL != "":
		return bus.NewNATS(ctx, bus.NATSConfig{
			URL: d.NATSURL.Reveal(), Credentials: d.NATSCredentials, CA: d.NATSCA, Space: fmt.Sprintf("%x", key.Derive("bus")[:8]), Log: log,
		})
	}
	return bus.NewPostgres(ctx, cmp.Or(d.BusURL, d.DatabaseURL).Reveal(), log)
}

// listen ties what other instances say to the services here.
func (c *Core) listen() {
	if c.fleet != nil {
		for topic, hear := range map[string]func(string){topicReads: c.Events.HasReaders, topicNumbered: c.Events.HasNumbers} {
			c.Bus.Subscribe(topic+"*", func(m bus.Message) {
				if !m.Missed {
					hear(m.Which())
				}
			})
		}
		c.Bus.Subscribe(topicLimits, func(m bus.Message) {
			if m.Missed {
				c.fleet.Missed()
				return
			}
			c.fleet.Hear(m.Payload)
		})
	}
	c.Bus.Subscribe(topicEvents+"*", func(m bus.Message) {
		if m.Missed {
			c.Events.WakeAll()
			return
		}
		c.Events.Wake(m.Which())
	})
	c.Bus.Subscribe(topicJobs, func(m bus.Message) {
		if m.Payload == "" {
			c.Jobs.Wake()
			return
		}
		c.Jobs.CancelHere(m.Payload)
	})
}

// publish tells other instances something that they would find out later
// anyway. It never blocks.
func (c *Core) publish(ctx context.Context, topic, payload string) {
	if err := c.Bus.Publish(ctx, topic, payload); err != nil {
		c.log.WarnContext(ctx, "bus", "topic", topic, "err", err.Error())
	}
}

// record appends an event for the services below the event log.
func (c *Core) record(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
	return c.Events.Append(ctx, tx, event.Event{Type: typ, Subject: subject, Revision: revision})
}

// byToken finds who calls with a UCAN. Area D, which knows, is made after the
// keys.
func (c *Core) byToken(r *http.Request) (web.Caller, error) {
	if c.ucan == nil {
		return web.Caller{}, fault.New(fault.Unauthenticated, "UCAN_NOT_ACCEPTED", "UCAN invocations are not accepted here. Send an API key.")
	}
	return c.ucan(r)
}

// stillAllowed ends a stream with the key or the token of its caller. The log is
// made before the service that knows.
func (c *Core) stillAllowed(ctx context.Context, anew bool) error {
	return c.Auth.StillValid(ctx, anew)
}

// stampFile is how a change of keys by the command line reaches the server;
// with PostgreSQL the bus does that.
func stampFile(cfg *config.Config) string {
	if cfg.Postgres() {
		return ""
	}
	return filepath.Join(cfg.Data.Dir, "keys.stamp")
}

// unlimited turns the setting 0, no limit, into an unreachable limit.
func unlimited(n int) int {
	if n == 0 {
		return 1 << 30
	}
	return n
}

// Close closes what was opened, last first, even of a half-built core.
func (c *Core) Close() error {
	for _, client := range []*outbound.Client{c.outbound, c.hooks} {
		if client != nil {
			client.Close()
		}
	}
	if c.Bus != nil {
		c.Bus.Close()
	}
	return c.DB.Close()
}
