package client

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	CollectAddressDraft = api.CollectAddressDraft
	CollectAddress      = api.CollectAddress
)

// CollectAddress makes an address that a phone with ODK Collect uses. It holds a
// secret and is shown once; revoke its key to end it. Codes: KEY_DRAFT_INVALID,
// SCOPE_MISSING, RESTRICTION_EXCEEDED, ORIGIN_INVALID.
func (k Keys) CollectAddress(ctx context.Context, d CollectAddressDraft, opts ...Option) (*CollectAddress, error) {
	return do[CollectAddress](ctx, k.c, post("/v1/collect/addresses", d), opts)
}
