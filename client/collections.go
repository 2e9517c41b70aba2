package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Collections calls the routes of collections, to which claims are submitted.
type Collections struct{ c *Client }

// Types of package api.
type (
	Collection      = api.Collection
	CollectionDraft = api.CollectionDraft
)

const collectionsPath = "/v1/collections"

func collectionPath(id string) string { return collectionsPath + "/" + url.PathEscape(id) }

// Create makes a collection. Codes: COLLECTION_INVALID, PROTOCOL_NOT_FOUND,
// PROTOCOL_NOT_PUBLISHED, PROTOCOL_VERSION_RETIRED.
func (s Collections) Create(ctx context.Context, d CollectionDraft, opts ...Option) (*Collection, error) {
	return do[Collection](ctx, s.c, post(collectionsPath, d), opts)
}

// Get reads a collection with its counts. Code: COLLECTION_NOT_FOUND.
func (s Collections) Get(ctx context.Context, id string, opts ...Option) (*Collection, error) {
	return do[Collection](ctx, s.c, get(collectionPath(id), nil), opts)
}

// List walks over collections, newest first, of one project if it is given.
func (s Collections) List(ctx context.Context, project string, opts ...Option) iter.Seq2[Collection, error] {
	v := url.Values{}
	set(v, "projectId", project)
	return pages[Collection](ctx, s.c, collectionsPath, v, opts)
}

// Update changes a collection by a merge patch; it needs the option IfRevision or
// IfMatch. Codes: COLLECTION_INVALID, COLLECTION_CLOSED, COLLECTION_QUOTA_BELOW_COUNT,
// STALE_REVISION.
func (s Collections) Update(ctx context.Context, id string, changes map[string]any, opts ...Option) (*Collection, error) {
	return do[Collection](ctx, s.c, merge(collectionPath(id), changes), opts)
}

// Open lets a paused collection accept claims again. Code: COLLECTION_CLOSED.
func (s Collections) Open(ctx context.Context, id string, opts ...Option) (*Collection, error) {
	return do[Collection](ctx, s.c, post(collectionPath(id)+"/open", nil), opts)
}

// Pause stops a collection from accepting claims until it is opened. Code:
// COLLECTION_CLOSED.
func (s Collections) Pause(ctx context.Context, id string, opts ...Option) (*Collection, error) {
	return do[Collection](ctx, s.c, post(collectionPath(id)+"/pause", nil), opts)
}

// Close ends a collection: it accepts no more claims.
func (s Collections) Close(ctx context.Context, id string, opts ...Option) (*Collection, error) {
	return do[Collection](ctx, s.c, post(collectionPath(id)+"/close", nil), opts)
}
