package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Scopes.
const (
	ScopeUse   = "oracle:tools" // to have tools of MCP servers called
	scopeRead  = "oracle:read"
	scopeWrite = "oracle:write"
)

const (
	// MaxServers limits the servers of a workspace.
	MaxServers = 20
	maxGrants  = 10_000
	maxLinks   = 256              // with servers of workspaces, at once
	idleTime   = 10 * time.Minute // after which such a link is closed
)

// Client sends requests and guards their targets. The outbound client is one.
type Client interface {
	HTTP() *http.Client
	// CheckURL refuses addresses that HTTP would not send to, as far as the text of the
	// URL shows it.
	CheckURL(raw string) (*url.URL, error)
}

// Config configures a Service. All but Servers, Log and Now is needed.
type Config struct {
	DB        *db.DB
	Events    *event.Log
	Key       secret.Key
	Cursors   web.Cursors
	OracleDID string
	Servers   []Server // of the operator
	Trusted   Client   // reaches the addresses of the operator
	Guarded   Client   // reaches those of workspaces

	// AsUser returns a context with the rights of the user of the run, who needs a
	// scope.
	AsUser func(ctx context.Context, scope string) (context.Context, error)
	// Claims returns nil if a token that a user has sent for this run invokes an ability
	// on a resource.
	Claims func(ctx context.Context, user, token, can, with string) error
	// Taken reports whether a tool of the server or of a plugin has a name.
	Taken func(ctx context.Context, name string) bool
	// Seals returns the seals of tools at the time the user of a run granted them for its
	// conversation, by name. Nil: users grant nothing.
	Seals func(ctx context.Context) (map[string]string, error)

	Log *slog.Logger     // nil: silent
	Now func() time.Time // nil: the clock
}

// Service knows the MCP servers. It is safe for concurrent use.
type Service struct {
	cfg  Config
	box  secret.Box
	life func() context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	links map[string]*link
}

// New makes a Service whose connections end with ctx, or with Close.
func New(ctx context.Context, c Config) *Service {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Now = db.Clock(c.DB, c.Now)
	ctx, end := context.WithCancel(ctx)
	return &Service{cfg: c, box: c.Key.Box("mcp server headers"), life: func() context.Context { return ctx }, end: end, links: map[string]*link{}}
}

// Serve connects with the servers of the operator, so that no run waits for them, and
// closes unused connections, until ctx ends.
func (s *Service) Serve(ctx context.Context) error {
	for i := range s.cfg.Servers {
		s.linkOf("", s.cfg.Servers[i]).refresh()
	}
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.sweep(idleTime)
		case <-ctx.Done():
			return nil
		}
	}
}

// Close ends all connections and programs. It waits for them until ctx ends.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	for _, l := range s.links {
		l.close()
	}
	clear(s.links)
	s.mu.Unlock()
	s.end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.work.Wait()
	}()
	return await(ctx, done)
}

// linkOf is the connection with a server; ws is its workspace if it is a
// workspace's own.
func (s *Service) linkOf(ws string, server Server) *link {
	open, key := program(s.cfg.Log), "\n"+server.Name
	switch {
	case server.Origin == Workspace:
		open, key = address(s.cfg.Guarded.HTTP()), ws+"\n"+server.Name+"\n"+strconv.FormatInt(server.revision, 10)
	case server.URL != "":
		open = address(s.cfg.Trusted.HTTP())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.links[key]; l != nil {
		return l
	}
	if len(s.links) >= maxLinks+len(s.cfg.Servers) {
		s.makeRoom()
	}
	l := s.newLink(server, open)
	s.links[key] = l
	return l
}

// makeRoom closes the link with a server of a workspace that was not used for the
// longest time. s.mu is held.
func (s *Service) makeRoom() {
	var oldest string
	var at time.Time
	for key, l := range s.links {
		if used := l.lastUsed(); l.server.Origin == Workspace && (oldest == "" || used.Before(at)) {
			oldest, at = key, used
		}
	}
	if oldest != "" {
		s.links[oldest].close()
		delete(s.links, oldest)
	}
}

// sweep closes unused links with servers of workspaces.
func (s *Service) sweep(age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.cfg.Now().Add(-age)
	for key, l := range s.links {
		if l.server.Origin == Workspace && l.idle(before) {
			l.close()
			delete(s.links, key)
		}
	}
}

// forget closes the links with a server of a workspace that was changed or removed.
// Other instances find out by its revision.
func (s *Service) forget(ws, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.links {
		if l.server.Origin == Workspace && l.server.Name == name && key == ws+"\n"+name+"\n"+strconv.FormatInt(l.server.revision, 10) {
			l.close()
			delete(s.links, key)
		}
	}
}

// operators are the servers of the operator that a workspace may use.
func (s *Service) operators(ws string) []Server {
	return slices.DeleteFunc(slices.Clone(s.cfg.Servers), func(one Server) bool { return !one.serves(ws) })
}

// ofOperator reports whether the operator has a server of this name, for whomever.
func (s *Service) ofOperator(name string) bool {
	return slices.ContainsFunc(s.cfg.Servers, func(one Server) bool { return one.Name == name })
}

// known are the servers a workspace can use. One of the operator wins over one of the
// workspace with the same name.
func (s *Service) known(ctx context.Context, ws string) ([]Server, error) {
	out := s.operators(ws)
	rows, err := list(ctx, s.cfg.DB, ws)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if s.ofOperator(rows[i].name) {
			continue
		}
		one, err := rows[i].server(s.box.Open)
		if err != nil {
			s.cfg.Log.WarnContext(ctx, "MCP server left out", "gateway", rows[i].name, "err", err.Error())
			continue
		}
		out = append(out, one)
	}
	return out, nil
}

// server finds one that a workspace can use. Fault: MCP_SERVER_NOT_FOUND.
func (s *Service) server(ctx context.Context, ws, name string) (Server, error) {
	for _, one := range s.operators(ws) {
		if one.Name == name {
			return one, nil
		}
	}
	if s.ofOperator(name) {
		return Server{}, notFound()
	}
	r, err := find(ctx, s.cfg.DB, ws, name)
	if err != nil {
		return Server{}, err
	}
	return r.server(s.box.Open)
}

// whole is the workspace of a caller who sees all of it. An MCP server belongs to no
// project, so a key that is limited to projects has none.
func whole(ctx context.Context) (web.Caller, error) {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return c, fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; MCP servers belong to the whole workspace.")
	}
	return c, nil
}
