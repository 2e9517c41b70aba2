package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	OracleRun    = api.OracleRun
	OracleTokens = api.OracleTokens
	OracleStep   = api.OracleStep

	OraclePlugin  = api.OraclePlugin
	PluginTool    = api.PluginTool
	PluginAgent   = api.PluginAgent
	PluginRoute   = api.PluginRoute
	PluginSetting = api.PluginSetting

	MCPServer      = api.MCPServer
	MCPServerDraft = api.MCPServerDraft
	MCPTool        = api.MCPTool
	MCPGrant       = api.MCPGrant
	MCPGrantDraft  = api.MCPGrantDraft
)

// Oracle reads the oracle's work. To talk to it, see docs/clients.md.
type Oracle struct{ c *Client }

// RunQuery says which runs to list.
type RunQuery struct {
	PageQuery
	Session string // of one conversation of this client's key
	All     bool   // of everybody in the workspace, which needs oracle:read
}

const runsPath = "/v1/oracle/runs"

// Runs walks over runs, newest first, page by page. An error ends it. Codes:
// SCOPE_MISSING, KEY_RESTRICTED.
func (o Oracle) Runs(ctx context.Context, q RunQuery, opts ...Option) iter.Seq2[OracleRun, error] {
	v := q.values()
	set(v, "session", q.Session)
	if q.All {
		v.Set("all", "true")
	}
	return pages[OracleRun](ctx, o.c, runsPath, v, opts)
}

// Run reads a run. Code: RUN_NOT_FOUND.
func (o Oracle) Run(ctx context.Context, id string, opts ...Option) (*OracleRun, error) {
	return do[OracleRun](ctx, o.c, get(runsPath+"/"+url.PathEscape(id), nil), opts)
}

// Plugins walks over the plugins of the oracle, by name. An error ends it. Code:
// SCOPE_MISSING.
func (o Oracle) Plugins(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[OraclePlugin, error] {
	return pages[OraclePlugin](ctx, o.c, "/v1/oracle/plugins", q.values(), opts)
}

const mcpPath = "/v1/oracle/mcp-servers"

func mcpServerPath(name string) string { return mcpPath + "/" + url.PathEscape(name) }

func mcpGrantPath(server, tool string) string {
	return mcpServerPath(server) + "/grants/" + url.PathEscape(tool)
}

// MCPServers walks over the MCP servers whose tools the oracle can use, by name. An
// error ends it. Code: KEY_RESTRICTED.
func (o Oracle) MCPServers(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[MCPServer, error] {
	return pages[MCPServer](ctx, o.c, mcpPath, q.values(), opts)
}

// MCPServer reads an MCP server. Code: MCP_SERVER_NOT_FOUND.
func (o Oracle) MCPServer(ctx context.Context, name string, opts ...Option) (*MCPServer, error) {
	return do[MCPServer](ctx, o.c, get(mcpServerPath(name), nil), opts)
}

// PutMCPServer makes or replaces an MCP server of the workspace. Codes:
// MCP_SERVER_INVALID, MCP_NAME_TAKEN, TOO_MANY_MCP_SERVERS.
func (o Oracle) PutMCPServer(ctx context.Context, name string, d MCPServerDraft, opts ...Option) (*MCPServer, error) {
	return do[MCPServer](ctx, o.c, put(mcpServerPath(name), d), opts)
}

// DeleteMCPServer removes an MCP server of the workspace, with what was granted of it.
// Code: MCP_SERVER_NOT_FOUND.
func (o Oracle) DeleteMCPServer(ctx context.Context, name string, opts ...Option) (*MCPServer, error) {
	return do[MCPServer](ctx, o.c, remove(mcpServerPath(name)), opts)
}

// MCPTools walks over the tools of an MCP server, by name. An error ends it. Codes:
// MCP_SERVER_NOT_FOUND, MCP_SERVER_UNREACHABLE.
func (o Oracle) MCPTools(ctx context.Context, server string, q PageQuery, opts ...Option) iter.Seq2[MCPTool, error] {
	return pages[MCPTool](ctx, o.c, mcpServerPath(server)+"/tools", q.values(), opts)
}

// GrantMCPTool lets the oracle use a tool exactly as it was read; hash is that of the
// MCPTool. Codes: MCP_TOOL_CHANGED, MCP_TOOL_NOT_FOUND, MCP_TOOL_REFUSED.
func (o Oracle) GrantMCPTool(ctx context.Context, server, tool, hash string, opts ...Option) (*MCPTool, error) {
	return do[MCPTool](ctx, o.c, put(mcpGrantPath(server, tool), MCPGrantDraft{Hash: hash}), opts)
}

// RevokeMCPTool withdraws the grant of a tool. Code: MCP_GRANT_NOT_FOUND.
func (o Oracle) RevokeMCPTool(ctx context.Context, server, tool string, opts ...Option) (*MCPGrant, error) {
	return do[MCPGrant](ctx, o.c, remove(mcpGrantPath(server, tool)), opts)
}
