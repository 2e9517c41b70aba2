package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Nouns of package api.
type (
	OracleRun    = api.OracleRun
	OracleTokens = api.OracleTokens
	OracleStep   = api.OracleStep
)

// Oracle reads what the oracle has worked on. To talk to it, see docs/clients.md.
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
