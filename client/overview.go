package client

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Name  = api.Name
	Names = api.Names

	Counts       = api.Counts
	SearchHit    = api.SearchHit
	SearchResult = api.SearchResult

	Timeline     = api.Timeline
	TimelineItem = api.TimelineItem
)

// Counts reads how much there is of everything the key may read. Code:
// KEY_RESTRICTED.
func (c *Client) Counts(ctx context.Context, opts ...Option) (*Counts, error) {
	return do[Counts](ctx, c, get("/v1/counts", nil), opts)
}

// Search finds records that begin with a text, or have it as their DID, at most
// five of each kind.
func (c *Client) Search(ctx context.Context, text string, opts ...Option) (*SearchResult, error) {
	return do[SearchResult](ctx, c, get("/v1/search", url.Values{"q": {text}}), opts)
}

// Names reads the names of DIDs, at most 100 of them, as far as the key may
// know them.
func (c *Client) Names(ctx context.Context, dids []string, opts ...Option) (*Names, error) {
	v := url.Values{}
	set(v, "did", strings.Join(dids, ","))
	return do[Names](ctx, c, get("/v1/names", v), opts)
}

// TimelineQuery selects a page of a time line; all of it is optional.
type TimelineQuery struct {
	Before time.Time // only what happened earlier
	PageQuery
}

// Timeline reads a page of what happened to a twin across the areas, newest first, as
// far as the key may know. Code: ENTITY_NOT_FOUND.
func (e Entities) Timeline(ctx context.Context, did string, q TimelineQuery, opts ...Option) (*Timeline, error) {
	v := q.values()
	if !q.Before.IsZero() {
		v.Set("before", q.Before.UTC().Format(time.RFC3339Nano))
	}
	return do[Timeline](ctx, e.c, get(entityPath(did)+"/timeline", v), opts)
}
