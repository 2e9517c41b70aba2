package mcp

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	grantsPath = "/v1/oracle/mcp-servers/{name}/grants/{tool}"
	serverPath = "/v1/oracle/mcp-servers/{name}"
)

// Routes adds the MCP servers of workspaces to a.
func (s *Service) Routes(a *web.API) {
	const tag = "oracle"
	web.Get(a, "/v1/oracle/mcp-servers", s.serveList, web.Doc{
		Summary: "List the MCP servers whose tools the oracle can use, by name", Tag: tag, Scope: scopeRead,
		Description: "Those that the operator set up for this workspace, and those of the workspace itself. Callers with `oracle:tools` can use their tools in a conversation.",
		Codes:       []string{"KEY_RESTRICTED"},
	})
	web.Get(a, serverPath, s.serveGet, web.Doc{
		Summary: "Read an MCP server", Tag: tag, Scope: scopeRead, Codes: []string{"MCP_SERVER_NOT_FOUND", "KEY_RESTRICTED"},
	})
	web.Put(a, serverPath, s.servePut, web.Doc{
		Summary: "Make or replace an MCP server of the workspace", Tag: tag, Scope: scopeWrite,
		Description: "Hearth reaches it over streamable HTTP, never in a private network unless the operator allows it. Its tools are treated as having side effects, whatever the server declares: " +
			"each must be granted before it is called. The body replaces the whole server, including its headers.",
		Example: api.MCPServerDraft{URL: "https://weather.example.org/mcp", Description: "Forecasts for the field teams", Headers: map[string]string{"Authorization": "Bearer 0123"}},
		Codes:   []string{"MCP_SERVER_INVALID", "MCP_NAME_TAKEN", "TOO_MANY_MCP_SERVERS", "KEY_RESTRICTED"},
	})
	web.Delete(a, serverPath, s.serveDelete, web.Doc{
		Summary: "Remove an MCP server of the workspace, with its grants", Tag: tag, Scope: scopeWrite,
		Codes: []string{"MCP_SERVER_NOT_FOUND", "KEY_RESTRICTED"},
	})
	web.Get(a, serverPath+"/tools", s.serveTools, web.Doc{
		Summary: "List the tools of an MCP server, by name", Tag: tag, Scope: scopeRead,
		Description: "As the server described them at most five minutes ago. A model will read the description: read it before you grant the tool.",
		Codes:       []string{"MCP_SERVER_NOT_FOUND", "MCP_SERVER_UNREACHABLE", "KEY_RESTRICTED"},
	})
	web.Put(a, grantsPath, s.serveGrant, web.Doc{
		Summary: "Grant a tool of an MCP server", Tag: tag, Scope: scopeWrite,
		Description: "From then on the oracle calls it for everybody in the workspace with `oracle:tools`, as long as the server, its description and its schema match `hash`.",
		Example:     api.MCPGrantDraft{Hash: "4f1c0e9d2b7a86f35e0d1c2b3a495867"},
		Codes:       []string{"MCP_TOOL_NOT_FOUND", "MCP_TOOL_CHANGED", "MCP_TOOL_REFUSED", "MCP_SERVER_NOT_FOUND", "MCP_SERVER_UNREACHABLE", "KEY_RESTRICTED"},
	})
	web.Delete(a, grantsPath, s.serveRevoke, web.Doc{
		Summary: "Take back the grant of a tool", Tag: tag, Scope: scopeWrite, Codes: []string{"MCP_GRANT_NOT_FOUND", "KEY_RESTRICTED"},
	})
}

type oneServer struct {
	Name string `path:"name" doc:"Name of the server." example:"weather"`
}

type oneTool struct {
	Name string `path:"name" doc:"Name of the server." example:"weather"`
	Tool string `path:"tool" doc:"Name of the tool as models know it." example:"weather__forecast"`
}

func (s *Service) serveList(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.MCPServer]], error) {
	all, err := s.List(ctx)
	if err != nil {
		return web.Reply[web.Page[api.MCPServer]]{}, err
	}
	return pageOf(ctx, s.cfg.Cursors, in.Paging, all, func(one api.MCPServer) string { return one.Name })
}

// pageOf is a page of a short list that is sorted by name.
func pageOf[T any](ctx context.Context, cs web.Cursors, p web.Paging, all []T, name func(T) string) (web.Reply[web.Page[T]], error) {
	var after string
	limit, err := p.Begin(ctx, cs, &after)
	if err != nil {
		return web.Reply[web.Page[T]]{}, err
	}
	items := []T{}
	for _, one := range all {
		if after != "" && name(one) <= after {
			continue
		}
		if len(items) == limit {
			return web.PageOf(ctx, cs, limit, items, name(items[limit-1]))
		}
		items = append(items, one)
	}
	return web.PageOf(ctx, cs, limit, items, nil)
}

func (s *Service) serveGet(ctx context.Context, in *oneServer) (api.MCPServer, error) {
	return s.Get(ctx, in.Name)
}

func (s *Service) servePut(ctx context.Context, in *struct {
	oneServer
	Body api.MCPServerDraft
},
) (api.MCPServer, error) {
	return s.Put(ctx, in.Name, in.Body)
}

func (s *Service) serveDelete(ctx context.Context, in *oneServer) (api.MCPServer, error) {
	return s.Delete(ctx, in.Name)
}

func (s *Service) serveTools(ctx context.Context, in *struct {
	oneServer
	web.Paging
},
) (web.Reply[web.Page[api.MCPTool]], error) {
	all, err := s.Tools(ctx, in.Name)
	if err != nil {
		return web.Reply[web.Page[api.MCPTool]]{}, err
	}
	return pageOf(ctx, s.cfg.Cursors, in.Paging, all, func(one api.MCPTool) string { return one.Name })
}

func (s *Service) serveGrant(ctx context.Context, in *struct {
	oneTool
	Body api.MCPGrantDraft
},
) (api.MCPTool, error) {
	return s.Grant(ctx, in.Name, in.Tool, in.Body.Hash)
}

func (s *Service) serveRevoke(ctx context.Context, in *oneTool) (api.MCPGrant, error) {
	return s.Revoke(ctx, in.Name, in.Tool)
}
