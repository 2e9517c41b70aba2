package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const erasuresPath = "/v1/erasures"

// Erasures take people out of the store.
type Erasures struct{ c *Client }

// Erasure is the certificate of an erasure.
type Erasure struct {
	ID       string           `json:"id"`
	Subject  string           `json:"subject"` // DID
	ErasedAt time.Time        `json:"erasedAt"`
	By       string           `json:"by"`
	Reason   string           `json:"reason"`
	With     []string         `json:"with"`   // DIDs of twins that were made for it and went with it
	Counts   map[string]int64 `json:"counts"` // how many things were erased
	Bytes    ErasedBytes      `json:"bytes"`  // whether the bytes of what was erased are still stored; Get it again until the state is gone or released
	Stays    []string         `json:"stays"`  // what is kept, as sentences; nil in certificates of earlier versions
}

// ErasedBytes says whether the bytes of what was erased are still stored.
type ErasedBytes struct {
	State string    `json:"state"` // pending, gone, or released: PostgreSQL overwrites them when it needs the space
	At    time.Time `json:"at"`    // zero while they are pending
}

// ErasureDraft is the type of package api.
type ErasureDraft = api.ErasureDraft

// Create erases a person or a household for good. Asking again gives the same
// certificate, so it is retried when the server could not finish. Codes:
// ENTITY_NOT_FOUND, NOT_PERSONAL, ERASURE_INVALID.
func (e Erasures) Create(ctx context.Context, d ErasureDraft, opts ...Option) (*Erasure, error) {
	k := post(erasuresPath, d)
	k.keyed, k.safe = false, true
	return do[Erasure](ctx, e.c, k, opts)
}

// Get reads the certificate of an erasure. Code: ERASURE_NOT_FOUND.
func (e Erasures) Get(ctx context.Context, id string, opts ...Option) (*Erasure, error) {
	return do[Erasure](ctx, e.c, get(erasuresPath+"/"+url.PathEscape(id), nil), opts)
}

// Page reads one page of the erasures, oldest first.
func (e Erasures) Page(ctx context.Context, q PageQuery, opts ...Option) (*Page[Erasure], error) {
	return page[Erasure](ctx, e.c, erasuresPath, q.values(), opts)
}

// List walks over the erasures, oldest first. An error ends it.
func (e Erasures) List(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Erasure, error] {
	return pages[Erasure](ctx, e.c, erasuresPath, q.values(), opts)
}
