package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// What an answer of an MCP server may be: no longer than a call, and no larger than a
// model could ever read.
const (
	mcpTime  = mcp.MaxTimeout + 5*time.Second
	mcpBytes = 4 << 20
)

// buildMCP makes what calls MCP servers, and offers their tools to runs.
func (m *mind) buildMCP(ctx context.Context, tools *tool.Registry, in lookups) error {
	servers, err := mcp.Open(m.cfg.Oracle.MCPServersFile, m.cfg.Oracle.MCPProtected, auth.OperatorWorkspace)
	if err != nil {
		return fmt.Errorf("MCP_SERVERS_FILE: %w", err)
	}
	var hosts []string // the operator has named them, so they may be anywhere
	for _, s := range servers {
		if s.URL != "" {
			hosts = append(hosts, hostOf(s.URL)...)
		}
	}
	allow := m.cfg.Events.OutboundAllow
	trusted, err := m.abroad(append(hosts, allow...))
	if err != nil {
		return err
	}
	guarded, err := m.abroad(allow)
	if err != nil {
		return err
	}
	m.mcp = mcp.New(ctx, mcp.Config{
		DB: m.DB, Events: m.Events, Key: m.Key, Cursors: m.cursors, OracleDID: m.callers.DID(), Servers: servers,
		Trusted: trusted, Guarded: guarded, AsUser: in.asUser, Claims: m.callers.Claims, Log: m.log,
		Taken: func(ctx context.Context, name string) bool {
			// Without a user there are no tools of MCP servers among them.
			fixed := tools.ForRun(tool.With(ctx, tool.Context{}))
			return slices.ContainsFunc(fixed, func(t tool.Tool) bool { return t.Spec().Name == name })
		},
		Seals: func(ctx context.Context) (map[string]string, error) {
			about := tool.From(ctx)
			return m.permits.Seals(ctx, about.Talker, about.SessionID)
		},
	})
	tools.AddPerRun(m.mcp.ForRun)
	return m.serveMCP(tools, in)
}

// serveMCP makes what answers MCP clients, with the tools that conversations have.
func (m *mind) serveMCP(tools *tool.Registry, in lookups) error {
	c := mcp.EndpointConfig{Tools: tools.ForRun, Wrapped: tools.Wrapped, Source: in.source(), Public: m.cfg.Server.PublicURL, Version: m.version, Log: m.log}
	c.ReadSurvey = func(ctx context.Context, id string) ([]byte, error) {
		found, err := in.surveys.surveys.Get(ctx, id)
		return found.Raw, err
	}
	if m.cfg.Server.CORSOrigin != "*" {
		cors, err := web.NewCORS(m.cfg.Server.CORSOrigin)
		if err != nil {
			return err
		}
		c.Origin = cors.Allowed
	}
	m.assists = mcp.NewEndpoint(c)
	return nil
}

// abroad is a client for MCP servers. It follows no redirect, because requests may
// hold credentials.
func (m *mind) abroad(allow []string) (*outbound.Client, error) {
	c, err := outbound.New(outbound.Config{Allow: allow, Timeout: mcpTime, HeaderTimeout: mcpTime, MaxBytes: mcpBytes, MaxRedirects: -1})
	if err == nil {
		m.foreign = append(m.foreign, c)
	}
	return c, err
}
