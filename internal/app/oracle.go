package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/agui"
	"github.com/hearth-dmrv/hearth/internal/oracle/attach"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/credit"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/oracle/task"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// mind is area D.
type mind struct {
	*Core
	cfg     *config.Config
	version string
	callers *oracle.Callers
	chats   *chat.Store
	runs    *run.Manager
	agent   *agent.Agent
	sockets *socket.Hub
	oracle  *oracle.Service
	errands oracle.Errands
	tools   *tool.Registry
	permits *chat.Permits
	plugins *extend.Set
	tasks   *task.Plugin
	state   *extend.State
	kept    []*chat.Kept // of plugins that seal their values
	credits *credit.Plugin
	worked  func(values ...string) // counts the scheduled work of plugins
	llm     *outbound.Client       // nil with the built-in model
	mcp     *mcp.Service
	assists *mcp.Endpoint
	foreign []*outbound.Client  // for MCP servers and attachments
	inner   func() http.Handler // serves the requests of plugins to this server; nil until it serves
}

// Topics of the oracle: of its runs, and of its sockets.
const (
	topicRuns    = "runs."    // and a run, or a session
	topicSockets = "sockets." // and a session, or nothing
)

// runTopic is the topic of a message about a run: a word, and its subject.
func runTopic(payload string) string {
	_, rest, _ := strings.Cut(payload, " ")
	id, _, _ := strings.Cut(rest, " ")
	return topicRuns + id
}

// How long data of a run is kept: its frames as long as a client may come back
// for them, its record as long as people may ask about it.
const (
	frameLife = time.Hour
	runLife   = 30 * 24 * time.Hour
)

// The model's answers are streams: they last, they are large, and many come from
// one host.
const (
	modelHeader = 3 * time.Minute
	modelBytes  = 64 << 20
	modelConns  = 512
	spareConns  = 32 // for titles and summaries
)

// buildMind makes the services of area D, lowest first.
func (a *App) buildMind(ctx context.Context) (err error) {
	if !a.cfg.HasArea("d") {
		return nil
	}
	m, o := &mind{Core: a.Core, cfg: a.cfg, version: a.opt.Version, inner: func() http.Handler { return a.inner }}, a.cfg.Oracle
	m.callers = oracle.NewCallers(oracle.CallersConfig{
		DID: a.identity.DID, Key: publicKey(a.identity), Local: a.twins.keys, Indexer: o.BlocksyncURL, Client: a.outbound,
		AuthTTL: o.UCANAuthMaxTTL, DelegationTTL: anyIfZero(o.UCANDelegationMaxTTL), DB: a.DB, Log: a.log, Fleet: a.fleet, Invoked: o.UCANRequireInvocation,
		Keys: a.Auth.ByKey, StillKey: func(ctx context.Context, c web.Caller) error { return a.Auth.StillValid(web.WithCaller(ctx, c), false) },
	})
	self := a.identity.DID.String()
	m.chats = chat.New(chat.Config{DB: a.DB, Key: a.Key, Log: a.log, OracleName: o.Name, OracleDID: self, OracleEntityDID: self})
	a.changes.Follow(chat.Topic, bus.WholeMemory(m.chats.ForgetAll))
	m.chats.Attach(extend.Part())
	rc := run.Config{DB: a.DB, Chat: m.chats, Log: a.log, Alone: !a.cfg.Postgres(), PerCaller: o.RunsPerCaller, Lifetime: o.RunTimeout, Total: modelConns - spareConns, Release: m.release}
	if a.cfg.Postgres() {
		rc.Publish = func(ctx context.Context, payload string) { a.publish(ctx, runTopic(payload), payload) }
	}
	if m.runs, err = run.New(ctx, rc); err != nil {
		return err
	}
	asked, models, err := m.model()
	if err != nil {
		return err
	}
	m.tools = &tool.Registry{}
	if err := m.startPlugins(ctx, a.identity, a.opt.Plugins, a.lookups(m).source()); err != nil {
		return err
	}
	a.endPlugins = m.plugins.Close
	m.agent = agent.New(agent.Config{Model: m.plugins.Model(asked), Log: a.log})
	if err := m.buildMCP(ctx, m.tools, a.lookups(m)); err != nil {
		return err
	}
	files, err := m.reader()
	if err != nil {
		return err
	}
	m.sockets = m.newSockets(ctx, m.tools)
	m.permits = chat.NewPermits(chat.PermitsConfig{DB: a.DB, Chat: m.chats, Claims: m.claims(self)})
	m.oracle = oracle.New(oracle.Config{
		Callers: m.callers, Chat: m.chats, Runs: m.runs, Agent: m.agent, Models: models, Tools: m.tools, Live: m.sockets,
		Permits: m.permits,
		Files:   files,
		Name:    o.Name, Prompt: o.Prompt, Sections: m.plugins.Prompts, Before: m.plugins.Before, Settle: m.settle, Purse: m.purses(), Throttle: int(anyIfZero(o.ThrottleLimit)), ThrottleTTL: o.ThrottleTTL, Fleet: a.fleet,
		MaxBody: a.cfg.Limits.OracleMaxBodyBytes, Log: a.log, Now: a.DB.Now,
	})
	m.errands = oracle.NewErrands(m.oracle)
	m.tools.AddRoutes(func(api *web.API) { m.plugins.Routes(api, oracle.NewDoor(m.oracle)) })
	m.tools.AddRoutes(agui.New(agui.Config{
		Door: oracle.NewDoor(m.oracle), Chat: m.chats, Runs: m.runs, Permits: m.permits, MaxBody: a.cfg.Limits.OracleMaxBodyBytes, Log: a.log,
	}).Routes)
	a.mind = m
	a.ucan = m.callerByToken
	return m.measure(a.metrics)
}

// claims reports whether a token of a user is for a call of a tool of the oracle.
func (m *mind) claims(oracle string) func(ctx context.Context, user, token, name string) error {
	return func(ctx context.Context, user, token, name string) error {
		return m.callers.Claims(ctx, user, token, "tool/call", "ixo:oracle:"+oracle+":tool/"+name)
	}
}

// newSockets makes the gateway of sockets and ties it to sessions and to other
// instances.
func (m *mind) newSockets(ctx context.Context, tools *tool.Registry) *socket.Hub {
	cors, err := web.NewCORS(m.cfg.Server.CORSOrigin)
	if err != nil {
		cors = &web.CORS{} // allows nobody; the edge has refused the setting
	}
	c := socket.Config{
		Handshake: func(ctx context.Context, invocation, delegation string) (socket.Guest, error) {
			who, err := m.callers.Handshake(ctx, invocation, delegation)
			if err != nil {
				return socket.Guest{}, err
			}
			stay := m.callers.Stay(who)
			return socket.Guest{User: who.DID, Until: stay.Until, Part: !who.Whole(), Check: stay.Check}, nil
		},
		Owns: m.chats.Owns, Events: tools.Events, Origin: cors.Allowed, Log: m.log, Now: m.DB.Now,
	}
	if m.cfg.Postgres() {
		c.Publish = func(session, text string) { m.publish(ctx, topicSockets+session, text) }
	}
	hub := socket.New(ctx, c)
	m.chats.Attach(chat.Part{Deleted: func(_ context.Context, g chat.Gone) { hub.DisconnectSession(g.User, g.Session) }})
	if m.cfg.Postgres() {
		m.Bus.Subscribe(topicRuns+"*", func(msg bus.Message) { m.runs.Receive(ctx, msg.Payload, msg.Missed) })
		m.Bus.Subscribe(topicSockets+"*", func(msg bus.Message) { hub.Receive(ctx, msg.Payload, msg.Missed) })
		hub.Greet()
	}
	return hub
}

// chats are the conversations of the store. A server that does not run area D
// has them too, to erase from.
func (a *App) chats() *chat.Store {
	if a.mind != nil {
		return a.mind.chats
	}
	c := chat.New(chat.Config{DB: a.DB, Key: a.Key, Log: a.log})
	c.Attach(run.Part())
	c.Attach(extend.Part())
	return c
}

// mindErasers are what area D does to forget a person.
func mindErasers(a *App) []erase.Eraser {
	return []erase.Eraser{{Name: oracle.PartConversations, Erase: func(ctx context.Context, tx *db.Tx, ws, did string) (int64, error) {
		var state *extend.State // what it caches is dropped too
		var credits *credit.Plugin
		if a.mind != nil {
			state, credits = a.mind.state, a.mind.credits
		}
		if err := errors.Join(state.Erase(ctx, tx, ws, did), task.Erase(ctx, tx, ws, did), credits.Erase(ctx, tx, ws, did)); err != nil {
			return 0, err
		}
		return a.chats().Erase(ctx, tx, ws, did)
	}}}
}

// model is who answers: a server, or the built-in one.
func (m *mind) model() (llm.Model, *llm.Catalogue, error) {
	s := m.cfg.Model
	c := llm.Config{BaseURL: s.BaseURL, APIKey: s.APIKey.Reveal(), Default: s.Default, Fallbacks: s.Fallbacks, Offered: s.Offered, Log: m.log}
	if s.BaseURL != "" {
		guarded, err := outbound.New(outbound.Config{
			Allow: append(hostOf(s.BaseURL), m.cfg.Events.OutboundAllow...), Timeout: -1, HeaderTimeout: modelHeader,
			MaxBytes: modelBytes, MaxPerHost: modelConns, MaxRedirects: -1,
		})
		if err != nil {
			return nil, nil, err
		}
		m.llm, c.HTTP = guarded, guarded.HTTP()
	}
	return llm.New(c)
}

// reader reads attachments. Its clients have none of the operator's exceptions for
// webhooks, because users of the chat name these addresses, and the model reveals the
// content. Each homeserver has its own client, so that none can redirect to another
// that the operator has inside.
func (m *mind) reader() (*attach.Reader, error) {
	client := func(allow []string) (*outbound.Client, error) {
		c, err := outbound.New(outbound.Config{
			Allow: allow, Timeout: attach.MaxTime, HeaderTimeout: attach.MaxTime, MaxBytes: attach.MaxFile, MaxRedirects: attach.MaxRedirects,
		})
		if err == nil {
			m.foreign = append(m.foreign, c)
		}
		return c, err
	}
	web, err := client(nil)
	if err != nil {
		return nil, err
	}
	c := attach.Config{Client: web, Log: m.log}
	for _, base := range m.cfg.Oracle.Homeservers {
		home, err := client(hostOf(base))
		if err != nil {
			return nil, err
		}
		c.Homes = append(c.Homes, attach.Home{Base: base, Client: home})
	}
	return attach.New(c), nil
}

// hostOf is the host of an address, with its port: the operator has named it, so
// it may be called wherever it is.
func hostOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return []string{net.JoinHostPort(u.Hostname(), port)}
}

// anyIfZero turns the setting 0, no limit, into what the services take for it.
func anyIfZero[T time.Duration | int](n T) T {
	if n == 0 {
		return -1
	}
	return n
}

// publicKey is the key of the oracle, nil when only its DID is known.
func publicKey(id Identity) ed25519.PublicKey {
	if id.Key == nil {
		return nil
	}
	key, _ := id.Key.Public().(ed25519.PublicKey)
	return key
}

// publishedKeys are the did:keys of a DID that is not held here, from the
// indexer, if there is one.
func (a *App) publishedKeys(ctx context.Context, id string) ([]string, error) {
	if a.mind == nil {
		return nil, nil
	}
	return a.mind.callers.Published(ctx, did.DID(id))
}

// callerByToken is who calls area A or B with a UCAN, with what their groups
// give.
func (m *mind) callerByToken(r *http.Request) (web.Caller, error) {
	who, ok, err := m.callers.Principal(r)
	switch {
	case err != nil:
		return web.Caller{}, withReason(err)
	case !ok:
		return web.Caller{}, fault.New(fault.Unauthenticated, "UCAN_MISSING", "X-Auth-Type says ucan, but there is no token: Authorization: Bearer <invocation>.")
	}
	c, err := m.callerOf(r.Context(), who.DID, who.Signer)
	if err == nil {
		err = group.Signed(r.Context(), m.DB, c)
	}
	c.Again = func(ctx context.Context) (web.Caller, error) {
		if err := m.callers.Still(ctx, who); err != nil {
			return web.Caller{}, err
		}
		return m.callerOf(ctx, who.DID, who.Signer)
	}
	return c, err
}

// withReason adds to the refusal of a token why. The published clients of area D
// know it without.
func withReason(err error) error {
	var e *ucan.Error
	if fault.CodeOf(err) != "UCAN_INVALID" || !errors.As(err, &e) || e.Reason() == "" {
		return err
	}
	return fault.New(fault.Unauthenticated, "UCAN_INVALID", ucan.TextInvalid+": "+e.Reason()+".").Wrap(e)
}

// measure shows what the oracle does.
func (m *mind) measure(to *ops.Metrics) error {
	var err error
	if m.worked, err = to.Counters("oracle_plugin_work_total", "What plugins did by time, by how it ended.", "plugin", "work", "result"); err != nil || to == nil {
		return err
	}
	stat := func(read func(socket.Stats) float64) func() float64 {
		return func() float64 { return read(m.sockets.Stats()) }
	}
	return errors.Join(
		to.Gauge("oracle_runs_active", "Answers being worked on in this process.", func() float64 { return float64(m.runs.Live()) }),
		to.Gauge("oracle_sockets", "Sockets whose caller is known.", stat(func(s socket.Stats) float64 { return float64(s.Sockets) })),
		to.Gauge("oracle_calls_pending", "Calls that wait for a page.", stat(func(s socket.Stats) float64 { return float64(s.Pending) })),
		to.Counter("oracle_sockets_refused_total", "Handshakes that were refused.", stat(func(s socket.Stats) float64 { return float64(s.Refused) })),
		to.Counter("oracle_sockets_expired_total", "Sockets whose tokens ended while they were connected.", stat(func(s socket.Stats) float64 { return float64(s.Expired) })),
		to.Counter("oracle_call_timeouts_total", "Calls that no page answered in time.", stat(func(s socket.Stats) float64 { return float64(s.Timeouts) })),
	)
}

// routes enters area D into a table.
func (m *mind) routes(api *web.API) {
	if m != nil {
		m.oracle.Routes(api)
		m.sockets.Routes(api)
	}
}

// ledger enters what area D has worked on into the table of /v1.
func (m *mind) ledger(api *web.API) {
	if m != nil {
		run.NewLedger(run.LedgerConfig{DB: m.DB, Cursors: m.cursors}).Routes(api)
		m.plugins.Shown(api, m.cursors)
		m.credits.Ledger(api)
		m.mcp.Routes(api)
		m.assists.Routes(api)
	}
}

// retentions are what area D keeps for a while.
func (m *mind) retentions(config.Events) []retention {
	if m == nil {
		return nil
	}
	return []retention{
		{"frames of runs", frameLife, m.runs.Expire},
		{"runs", runLife, m.runs.ExpireRuns},
		{"used oracle tokens", time.Second, m.callers.Expire},
		{"what plugins kept for a time", time.Second, func(ctx context.Context, _ time.Time, limit int) (int, error) { return m.state.Expire(ctx, limit) }},
		{"what plugins kept unsealed", time.Second, func(ctx context.Context, _ time.Time, limit int) (int, error) { return m.sealKept(ctx, limit) }},
		{"deleted conversations", time.Second, func(ctx context.Context, _ time.Time, limit int) (int, error) { return m.chats.Sweep(ctx, limit) }},
		{"whom conversations know", time.Second, func(ctx context.Context, _ time.Time, limit int) (int, error) { return m.chats.Backfill(ctx, limit) }},
	}
}

// work is area D's background work.
func (m *mind) work() []func(context.Context) error {
	if m == nil {
		return nil
	}
	work := []func(context.Context) error{m.runs.Serve, m.mcp.Serve}
	if slices.Contains(m.plugins.Names(), m.tasks.Manifest().Name) {
		work = append(work, m.tasks.Serve)
	}
	return work
}

// drain has clients go elsewhere and runs end: they have until ctx ends, then
// they are interrupted, while the listeners still let their last frames out.
func (m *mind) drain(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.sockets.Drain()
	return m.runs.Close(ctx)
}

// close ends what remains after the listeners.
func (m *mind) close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.oracle.Close()
	err := errors.Join(m.agent.Wait(ctx), m.sockets.Shutdown(ctx), m.mcp.Close(ctx))
	for _, c := range m.foreign {
		c.Close()
	}
	if m.llm != nil {
		m.llm.Close()
	}
	return errors.Join(err, m.plugins.Close(ctx))
}
