package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// row is a server of a workspace as stored.
type row struct {
	ws, name, url, description string
	headers                    []byte // sealed JSON; nil for none
	timeoutMS, revision        int64
	created, updated           int64
}

const (
	columns    = `SELECT ws, name, url, description, headers, timeout_ms, revision, created_at, updated_at FROM mcp_servers WHERE `
	selectRow  = columns + `ws = $1 AND name = $2`
	selectRows = columns + `ws = $1 ORDER BY name LIMIT $2`
	anyRow     = `SELECT ws FROM mcp_servers ORDER BY ws, name LIMIT 1`
	countRows  = `SELECT count(*) FROM (SELECT 1 FROM mcp_servers WHERE ws = $1 LIMIT $2) AS n`
	putRow     = `INSERT INTO mcp_servers (ws, name, url, description, headers, timeout_ms, revision, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7)
		ON CONFLICT (ws, name) DO UPDATE SET url = excluded.url, description = excluded.description, headers = excluded.headers,
			timeout_ms = excluded.timeout_ms, revision = mcp_servers.revision + 1, updated_at = excluded.updated_at
		RETURNING revision, created_at`
	deleteRow   = `DELETE FROM mcp_servers WHERE ws = $1 AND name = $2`
	selectGrant = `SELECT server, tool, hash, granted_by, granted_at FROM mcp_grants WHERE ws = $1 AND server = $2 AND tool = $3`
	listGrants  = `SELECT server, tool, hash, granted_by, granted_at FROM mcp_grants WHERE ws = $1 LIMIT $2`
	putGrant    = `INSERT INTO mcp_grants (ws, server, tool, hash, granted_by, granted_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (ws, server, tool) DO UPDATE SET hash = excluded.hash, granted_by = excluded.granted_by, granted_at = excluded.granted_at`
	deleteGrant  = `DELETE FROM mcp_grants WHERE ws = $1 AND server = $2 AND tool = $3`
	deleteGrants = `DELETE FROM mcp_grants WHERE ws = $1 AND server = $2`
)

func (r *row) fields() []any {
	return []any{&r.ws, &r.name, &r.url, &r.description, &r.headers, &r.timeoutMS, &r.revision, &r.created, &r.updated}
}

// anyServers reports whether any workspace has servers of its own.
func anyServers(ctx context.Context, q db.Querier) (bool, error) {
	return db.Exists(q.QueryRow(ctx, anyRow), "find MCP servers")
}

func find(ctx context.Context, q db.Querier, ws, name string) (*row, error) {
	r := &row{}
	err := q.QueryRow(ctx, selectRow, ws, name).Scan(r.fields()...)
	return db.Need(r, err, "find MCP server", notFound())
}

func notFound() error {
	return fault.New(fault.NotFound, "MCP_SERVER_NOT_FOUND", "No MCP server has this name.")
}

func list(ctx context.Context, q db.Querier, ws string) ([]row, error) {
	rows, err := q.Query(ctx, selectRows, ws, MaxServers)
	return db.Collect(rows, err, "list MCP servers", func(r *row, from db.Row) error { return from.Scan(r.fields()...) })
}

func count(ctx context.Context, q db.Querier, ws string) (n int, err error) {
	if err := q.QueryRow(ctx, countRows, ws, MaxServers).Scan(&n); err != nil {
		return 0, fmt.Errorf("count MCP servers: %w", err)
	}
	return n, nil
}

// put stores r, replaces any server of its name, and sets what the store
// decides.
func put(ctx context.Context, tx *db.Tx, r *row) error {
	err := tx.QueryRow(ctx, putRow, r.ws, r.name, r.url, r.description, r.headers, r.timeoutMS, r.updated).Scan(&r.revision, &r.created)
	return db.Wrap("store MCP server", err)
}

// remove takes a server away with all that was granted of it.
func remove(ctx context.Context, tx *db.Tx, ws, name string) error {
	if _, err := tx.Exec(ctx, deleteRow, ws, name); err != nil {
		return fmt.Errorf("remove MCP server: %w", err)
	}
	_, err := tx.Exec(ctx, deleteGrants, ws, name)
	return db.Wrap("remove grants", err)
}

// grant is a tool that the oracle may use.
type grant struct {
	server, tool, hash, by string
	at                     time.Time
}

func scanGrant(g *grant, from db.Row) error {
	var at int64
	err := from.Scan(&g.server, &g.tool, &g.hash, &g.by, &at)
	g.at = time.UnixMilli(at).UTC()
	return err
}

// findGrant reads the grant of a tool, nil when there is none.
func findGrant(ctx context.Context, q db.Querier, ws, server, original string) (*grant, error) {
	g := &grant{}
	err := scanGrant(g, q.QueryRow(ctx, selectGrant, ws, server, original))
	return db.Found(g, err, "find grant")
}

// grants returns the grants of a workspace by server and tool.
func grants(ctx context.Context, q db.Querier, ws string) (map[[2]string]grant, error) {
	rows, err := q.Query(ctx, listGrants, ws, maxGrants)
	found, err := db.Collect(rows, err, "list grants", scanGrant)
	out := make(map[[2]string]grant, len(found))
	for _, g := range found {
		out[[2]string{g.server, g.tool}] = g
	}
	return out, err
}

func storeGrant(ctx context.Context, tx *db.Tx, ws string, g *grant) error {
	_, err := tx.Exec(ctx, putGrant, ws, g.server, g.tool, g.hash, g.by, g.at.UnixMilli())
	return db.Wrap("store grant", err)
}

func removeGrant(ctx context.Context, tx *db.Tx, ws, server, original string) (bool, error) {
	n, err := tx.Exec(ctx, deleteGrant, ws, server, original)
	return n > 0, db.Wrap("remove grant", err)
}

// server is a stored one with its headers, which open reads.
func (r *row) server(open func(bind string, sealed []byte) ([]byte, error)) (Server, error) {
	s := Server{Name: r.name, Origin: Workspace, URL: r.url, Timeout: time.Duration(r.timeoutMS) * time.Millisecond, revision: r.revision}
	if r.headers == nil {
		return s, nil
	}
	text, err := open(r.bind(), r.headers)
	if err != nil {
		return s, fmt.Errorf("open the headers of an MCP server: %w", err)
	}
	if err := json.Unmarshal(text, &s.Headers); err != nil {
		return s, errors.New("read the headers of an MCP server") // without their values
	}
	return s, nil
}

// bind is what the sealed headers belong to: moved to another server or another
// address they do not open.
func (r *row) bind() string { return r.ws + "\n" + r.name + "\n" + r.url }
