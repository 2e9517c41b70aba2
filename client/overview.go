package client

import (
	"context"
	"net/url"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
)

// Nouns of package api.
type (
	Name  = api.Name
	Names = api.Names

	Counts       = api.Counts
	SearchHit    = api.SearchHit
	SearchResult = api.SearchResult
)

// Counts tells how much of everything the key may read there is. Code:
// KEY_RESTRICTED.
func (c *Client) Counts(ctx context.Context, opts ...Option) (*Counts, error) {
	return do[Counts](ctx, c, get("/v1/counts", nil), opts)
}

// Search finds what begins with a text, or has it as its DID, at most five of each
// kind.
func (c *Client) Search(ctx context.Context, text string, opts ...Option) (*SearchResult, error) {
	return do[SearchResult](ctx, c, get("/v1/search", url.Values{"q": {text}}), opts)
}

// Names tells what DIDs are called, at most 100 of them, as far as the key may
// know.
func (c *Client) Names(ctx context.Context, dids []string, opts ...Option) (*Names, error) {
	v := url.Values{}
	set(v, "did", strings.Join(dids, ","))
	return do[Names](ctx, c, get("/v1/names", v), opts)
}
