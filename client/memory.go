package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Memory is the type of package api.
type Memory = api.Memory

// MemoryQuery asks for memories: those that contain words, the best match first,
// or all of them, the newest first.
type MemoryQuery struct {
	PageQuery
	Query string
}

// Memories reads a page of what the oracle remembers about this client's
// principal.
func (o Oracle) Memories(ctx context.Context, q MemoryQuery, opts ...Option) (*Page[Memory], error) {
	v := q.values()
	set(v, "query", q.Query)
	k := get("/memory", v)
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	return do[Page[Memory]](ctx, o.c, k, opts)
}

// Forget makes the oracle forget a memory of this client's principal.
func (o Oracle) Forget(ctx context.Context, id string, opts ...Option) error {
	k := remove("/memory/" + url.PathEscape(id))
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	_, err := do[api.Forgotten](ctx, o.c, k, opts)
	return err
}
