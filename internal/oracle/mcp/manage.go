package mcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
)

const (
	maxAbout = 500 // characters of a description of a server
	// lookTime is how long a caller waits for the tools of a server.
	lookTime = 10 * time.Second
)

// List returns the servers that the caller's workspace can use, by name. Fault:
// KEY_RESTRICTED.
func (s *Service) List(ctx context.Context) ([]api.MCPServer, error) {
	c, err := whole(ctx)
	if err != nil {
		return nil, err
	}
	out := []api.MCPServer{}
	for _, one := range s.operators(c.Workspace) {
		out = append(out, show(&one, nil))
	}
	rows, err := list(ctx, s.cfg.DB, c.Workspace)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if s.ofOperator(rows[i].name) {
			continue
		}
		out = append(out, s.showRow(&rows[i]))
	}
	order.Sort(out, func(a, b api.MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Get finds a server. Faults: MCP_SERVER_NOT_FOUND, KEY_RESTRICTED.
func (s *Service) Get(ctx context.Context, name string) (api.MCPServer, error) {
	all, err := s.List(ctx)
	if err != nil {
		return api.MCPServer{}, err
	}
	for _, one := range all {
		if one.Name == name {
			return one, nil
		}
	}
	return api.MCPServer{}, notFound()
}

// showRow is a server of a workspace as people see it, also one whose headers this
// server can no longer open.
func (s *Service) showRow(r *row) api.MCPServer {
	one, err := r.server(s.box.Open)
	if err != nil {
		one.Headers = map[string]string{"unreadable": ""}
	}
	return show(&one, r)
}

// show is a server as people see it; r is the row of one of a workspace.
func show(s *Server, r *row) api.MCPServer {
	out := api.MCPServer{
		Name: s.Name, Origin: s.Origin, Transport: s.transport(), TimeoutSeconds: int(s.wait() / time.Second), Protected: s.Protected,
	}
	if r == nil {
		return out
	}
	out.URL, out.Description, out.Revision = r.url, r.description, r.revision
	out.HeaderNames = slices.Sorted(maps.Keys(s.Headers))
	out.CreatedAt, out.UpdatedAt = time.UnixMilli(r.created).UTC(), time.UnixMilli(r.updated).UTC()
	return out
}

// Put stores a server of the caller's workspace and replaces any of that name. Faults:
// MCP_SERVER_INVALID, MCP_NAME_TAKEN, TOO_MANY_MCP_SERVERS, KEY_RESTRICTED.
func (s *Service) Put(ctx context.Context, name string, d api.MCPServerDraft) (out api.MCPServer, err error) {
	c, err := whole(ctx)
	if err != nil {
		return out, err
	}
	if err := s.check(name, d); err != nil {
		return out, err
	}
	if s.ofOperator(name) {
		return out, fault.New(fault.Conflict, "MCP_NAME_TAKEN", "This name belongs to a server of the operator. Choose another.")
	}
	r := &row{
		ws: c.Workspace, name: name, url: d.URL, description: d.Description, timeoutMS: int64(d.TimeoutSeconds) * 1000,
		updated: s.cfg.Now().UnixMilli(),
	}
	if len(d.Headers) > 0 {
		text, err := json.Marshal(d.Headers, json.Deterministic(true))
		if err != nil {
			return out, fmt.Errorf("seal headers: %w", err)
		}
		r.headers = s.box.Seal(r.bind(), text)
	}
	err = s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		// Otherwise two calls at once would both find room.
		if err := s.cfg.Events.TakeTurn(ctx, tx, r.ws); err != nil {
			return err
		}
		return s.store(ctx, tx, r)
	})
	if err != nil {
		return out, err
	}
	s.forget(r.ws, name)
	return s.showRow(r), nil
}

func (s *Service) store(ctx context.Context, tx *db.Tx, r *row) error {
	_, err := find(ctx, tx, r.ws, r.name)
	if fault.KindOf(err) == fault.NotFound {
		var n int
		if n, err = count(ctx, tx, r.ws); err == nil && n >= MaxServers {
			err = fault.New(fault.Conflict, "TOO_MANY_MCP_SERVERS", fmt.Sprintf("A workspace has at most %d MCP servers.", MaxServers))
		}
	}
	if err != nil {
		return err
	}
	if err := put(ctx, tx, r); err != nil {
		return err
	}
	return s.announce(ctx, tx, event.Event{Workspace: r.ws, Type: "mcp.server_set", Subject: r.name, Revision: r.revision})
}

func (s *Service) announce(ctx context.Context, tx *db.Tx, e event.Event) error {
	return s.cfg.Events.Append(ctx, tx, e)
}

// check finds everything that is wrong with a draft.
func (s *Service) check(name string, d api.MCPServerDraft) error {
	var c fault.Checks
	if !ValidName(name) {
		c.Add("path/name", "not_allowed", "This is not a valid name of a server: "+nameRule+".")
	}
	if c.Require(d.URL != "", "/url"); d.URL != "" {
		if bad := checkAddress(d.URL); bad != "" {
			c.Add("/url", "not_allowed", "The value "+bad+".")
		} else if _, err := s.cfg.Guarded.CheckURL(d.URL); err != nil {
			c.Add("/url", "not_allowed", "The server may not send requests to this address. An operator can allow it with HEARTH_OUTBOUND_ALLOW.")
		}
	}
	check.Optional(&c, "/description", d.Description, maxAbout)
	if d.TimeoutSeconds < 0 || d.TimeoutSeconds > int(MaxTimeout/time.Second) {
		c.Add("/timeoutSeconds", "out_of_range", fmt.Sprintf("The value must be from 1 to %d.", int(MaxTimeout/time.Second)))
	}
	if len(d.Headers) > maxHeaders {
		c.Add("/headers", "too_many", fmt.Sprintf("At most %d headers are accepted.", maxHeaders))
		return c.Err("MCP_SERVER_INVALID", "The MCP server is not valid.")
	}
	for _, key := range slices.Sorted(maps.Keys(d.Headers)) {
		if bad := checkHeader(key, d.Headers[key]); bad != "" {
			c.Add("/headers/"+key, "not_allowed", "The header "+bad+".")
		}
	}
	return c.Err("MCP_SERVER_INVALID", "The MCP server is not valid.")
}

// Delete removes a server of the caller's workspace with all its grants. Faults:
// MCP_SERVER_NOT_FOUND, KEY_RESTRICTED.
func (s *Service) Delete(ctx context.Context, name string) (out api.MCPServer, err error) {
	c, err := whole(ctx)
	if err != nil {
		return out, err
	}
	err = s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		r, err := find(ctx, tx, c.Workspace, name)
		if err != nil {
			return err
		}
		out = s.showRow(r)
		if err := remove(ctx, tx, c.Workspace, name); err != nil {
			return err
		}
		return s.announce(ctx, tx, event.Event{Workspace: c.Workspace, Type: "mcp.server_removed", Subject: name, Revision: r.revision})
	})
	if err == nil {
		s.forget(c.Workspace, name)
	}
	return out, err
}

// Tools returns the tools of a server, as it described them now or some minutes
// ago, by name. Faults: MCP_SERVER_NOT_FOUND, MCP_SERVER_UNREACHABLE,
// KEY_RESTRICTED.
func (s *Service) Tools(ctx context.Context, name string) ([]api.MCPTool, error) {
	c, err := whole(ctx)
	if err != nil {
		return nil, err
	}
	server, err := s.server(ctx, c.Workspace, name)
	if err != nil {
		return nil, err
	}
	found, err := s.look(ctx, c.Workspace, server)
	if err != nil {
		return nil, err
	}
	given, err := grants(ctx, s.cfg.DB, c.Workspace)
	if err != nil {
		return nil, err
	}
	out := make([]api.MCPTool, 0, len(found))
	for i := range found {
		g, ok := given[[2]string{name, found[i].original}]
		if !ok {
			g = grant{}
		}
		out = append(out, s.showTool(ctx, &server, &found[i], g))
	}
	order.Sort(out, func(a, b api.MCPTool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// look lists the tools of a server. Of a failure it says the kind and nothing that a
// server or our network said.
func (s *Service) look(ctx context.Context, ws string, server Server) ([]offer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found, err := s.linkOf(ws, server).tools(ctx, true)
	if err == nil {
		return found, nil
	}
	return nil, fault.New(fault.Unprocessable, "MCP_SERVER_UNREACHABLE", why(err)+" Try again in a minute.").Wrap(err)
}

// why says why a server cannot be used, by the kind of the failure.
func why(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var slow net.Error
	switch {
	case fault.CodeOf(err) == "OUTBOUND_REFUSED":
		return "The address of the MCP server is private, or may not be called."
	case errors.As(err, &dns):
		return "The name of the MCP server cannot be found (DNS). Check its address."
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The MCP server refuses connections. Check its port, and that it runs."
	case errors.As(err, &cert), errors.As(err, &record), errors.As(err, &alert), errors.Is(err, http.ErrSchemeMismatch):
		return "The secure connection with the MCP server (TLS) failed. Check its certificate."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "The MCP server does not answer in time."
	}
	return "The server at this address does not speak MCP, or refuses our request. Check the path of the address and the headers."
}

// showTool renders a tool for people; the zero grant means none.
func (s *Service) showTool(ctx context.Context, server *Server, o *offer, g grant) api.MCPTool {
	out := api.MCPTool{
		Name: o.name, Original: o.original, Description: o.about, Schema: o.schema, Hash: o.hash, Problem: o.problem,
		ReadOnly: slices.Contains(server.ReadOnly, o.original), Resource: Resource(s.cfg.OracleDID, server.Name, o.original),
	}
	if g.hash != "" {
		out.Grant = &api.MCPGrant{Hash: g.hash, By: g.by, At: g.at}
	}
	switch {
	case o.problem != "":
		out.State = "refused"
	case s.cfg.Taken(ctx, o.name):
		out.State = "taken"
	case server.Protected:
		out.State = "protected"
	case out.ReadOnly || g.hash == o.hash:
		out.State = "usable"
	case g.hash != "":
		out.State = "changed"
	default:
		out.State = "needs_grant"
	}
	return out
}

// Grant lets the oracle use a tool with its present description and schema: hash is what
// the caller has read. Faults: MCP_TOOL_NOT_FOUND, MCP_TOOL_CHANGED, MCP_TOOL_REFUSED,
// and those of Tools.
func (s *Service) Grant(ctx context.Context, name, shown, hash string) (out api.MCPTool, err error) {
	c, err := whole(ctx)
	if err != nil {
		return out, err
	}
	server, o, err := s.tool(ctx, c.Workspace, name, shown)
	switch {
	case err != nil:
		return out, err
	case o.problem != "":
		return out, fault.New(fault.Unprocessable, "MCP_TOOL_REFUSED", "This tool cannot be granted. "+o.problem)
	case o.hash != hash:
		return out, fault.New(fault.Conflict, "MCP_TOOL_CHANGED", "The tool has changed since you read it: its description or schema differs. Read it again, then grant it.")
	}
	g := grant{server: name, tool: o.original, hash: hash, by: c.DID, at: s.cfg.Now().UTC().Truncate(time.Millisecond)}
	err = s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		if server.Origin == Workspace { // it may be gone, or another one
			r, err := find(ctx, tx, c.Workspace, name)
			if err != nil {
				return err
			}
			if r.revision != server.revision {
				return fault.New(fault.Conflict, "MCP_TOOL_CHANGED", "The server was changed at the same moment. Read its tools again.")
			}
		}
		if err := storeGrant(ctx, tx, c.Workspace, &g); err != nil {
			return err
		}
		return s.announce(ctx, tx, event.Event{Workspace: c.Workspace, Type: "mcp.tool_granted", Subject: shown, Data: map[string]string{"hash": hash}})
	})
	return s.showTool(ctx, &server, o, g), err
}

// tool finds a tool of a server by the name models know.
func (s *Service) tool(ctx context.Context, ws, name, shown string) (Server, *offer, error) {
	server, err := s.server(ctx, ws, name)
	if err != nil {
		return server, nil, err
	}
	found, err := s.look(ctx, ws, server)
	if err != nil {
		return server, nil, err
	}
	for i := range found {
		if found[i].name == shown {
			return server, &found[i], nil
		}
	}
	return server, nil, toolNotFound()
}

func toolNotFound() error {
	return fault.New(fault.NotFound, "MCP_TOOL_NOT_FOUND", "The server has no tool of this name. GET …/tools lists what it has.")
}

// Revoke removes a grant, even when the server does not answer. Faults:
// MCP_GRANT_NOT_FOUND, MCP_SERVER_NOT_FOUND, KEY_RESTRICTED.
func (s *Service) Revoke(ctx context.Context, name, shown string) (out api.MCPGrant, err error) {
	c, err := whole(ctx)
	if err != nil {
		return out, err
	}
	err = s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		given, err := grants(ctx, tx, c.Workspace)
		if err != nil {
			return err
		}
		for _, g := range given {
			if g.server != name || ShownName(name, g.tool) != shown {
				continue
			}
			out = api.MCPGrant{Hash: g.hash, By: g.by, At: g.at}
			if _, err := removeGrant(ctx, tx, c.Workspace, name, g.tool); err != nil {
				return err
			}
			return s.announce(ctx, tx, event.Event{Workspace: c.Workspace, Type: "mcp.tool_revoked", Subject: shown})
		}
		return errNoGrant
	})
	if errors.Is(err, errNoGrant) {
		err = fault.New(fault.NotFound, "MCP_GRANT_NOT_FOUND", "This tool is not granted.")
	}
	return out, err
}

var errNoGrant = errors.New("no such grant")
