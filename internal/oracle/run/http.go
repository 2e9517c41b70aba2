package run

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds the runs of the oracle to a.
func (s *Ledger) Routes(a *web.API) {
	web.Get(a, "/v1/oracle/runs", s.serveList, web.Doc{
		Summary: "List runs of the oracle, newest first", Tag: "oracle", Scope: web.Signed,
		Description: "A run is the work on one message: steps, duration, tokens, cost if the model's server reports it, how it ended and who asked. Kept for 30 days, " +
			"and as long as its conversation. You see your own; with `all=true`, which needs `oracle:read`, those of the workspace, without what was said or in which conversation.",
		Codes: []string{"INVALID_PARAMETER", "SCOPE_MISSING", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/oracle/runs/{id}", s.serveGet, web.Doc{
		Summary: "Read a run of the oracle", Tag: "oracle", Scope: web.Signed,
		Description: "Your own, or with `oracle:read` one of the workspace. `GET /runs/{runId}` joins your own run while it works.",
		Codes:       []string{"RUN_NOT_FOUND"},
	})
}

type listIn struct {
	web.Paging
	Session string `query:"session" doc:"Only those of one conversation of yours."`
	All     bool   `query:"all" doc:"All runs of the workspace."`
}

func (s *Ledger) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[api.OracleRun]], error) {
	q := Query{Session: in.Session, All: in.All && in.Session == ""}
	var err error
	if q.Limit, err = in.Begin(ctx, s.cfg.Cursors, &q.Before); err != nil {
		return web.Reply[web.Page[api.OracleRun]]{}, err
	}
	items, next, err := s.List(ctx, q)
	if err != nil {
		return web.Reply[web.Page[api.OracleRun]]{}, err
	}
	if next == 0 {
		return web.PageOf(ctx, s.cfg.Cursors, q.Limit, items, nil)
	}
	return web.PageOf(ctx, s.cfg.Cursors, q.Limit, items, next)
}

func (s *Ledger) serveGet(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the run."`
},
) (api.OracleRun, error) {
	return s.Get(ctx, in.ID)
}
