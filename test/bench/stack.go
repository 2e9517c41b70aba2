package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/test/server"
)

// rowDraft is the body of the one-row write.
type rowDraft struct {
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"`
}

// rowStack is the foundation alone: the edge, a key, strict JSON, InTx with
// one row, a JSON answer. It is the cost of a small write before an area adds
// its rows, indexes and event.
func rowStack(ctx context.Context, path string) (http.Handler, error) {
	log := slog.New(slog.DiscardHandler)
	d, err := db.Open(ctx, db.Config{Path: path, Log: log})
	if err != nil {
		return nil, err
	}
	if err := d.Migrate(ctx); err != nil {
		return nil, err
	}
	if _, err := d.Exec(ctx, createRows); err != nil {
		return nil, err
	}
	keys := auth.New(auth.Config{DB: d, Log: log, KeyLimit: 1 << 30})
	if _, err := keys.Bootstrap(ctx, server.OwnerKey); err != nil {
		return nil, err
	}
	api := web.NewAPI(web.APIConfig{Name: "bench", Errors: web.Problem, Gate: keys, Log: log, Shed: web.NewShedder(web.ShedConfig{})})
	web.Post(api, "/v1/rows", func(ctx context.Context, in *struct{ Body rowDraft }) (web.Reply[rowDraft], error) {
		id := db.NewID()
		_, err := d.Exec(ctx, insertRow, id, in.Body.Name)
		return web.Reply[rowDraft]{Value: in.Body, Location: "/v1/rows/" + id}, err
	}, web.Doc{Summary: "Store a row", Status: http.StatusCreated, Scope: "bench:write"})
	return edge(log, api)
}

// edge wraps an API in the same handlers as the server does.
func edge(log *slog.Logger, api *web.API) (http.Handler, error) {
	cors, err := web.NewCORS("*")
	if err != nil {
		return nil, err
	}
	proxies, err := web.NewProxies(false, nil)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	api.Mount(mux)
	h := cors.Middleware(mux)
	h = web.Pace{}.Middleware(h)
	h = web.SecureHeaders(h)
	h = web.Observe(log, web.Problem, nil, h)
	h = proxies.Middleware(h)
	return web.WithRequestIDs(h), nil
}
