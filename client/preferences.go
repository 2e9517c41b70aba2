package client

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
)

// UserPreferences is a noun of package api.
type UserPreferences = api.UserPreferences

const preferencesPath = "/user-preferences"

// Preferences reads how this client's principal wants the oracle to talk; nil when
// that was never said.
func (o Oracle) Preferences(ctx context.Context, opts ...Option) (*UserPreferences, error) {
	return o.preferences(ctx, get(preferencesPath, nil), opts)
}

// SetPreferences says how this client's principal wants the oracle to talk, in place
// of what was said before. Nothing at all takes everything back.
func (o Oracle) SetPreferences(ctx context.Context, p UserPreferences, opts ...Option) (*UserPreferences, error) {
	return o.preferences(ctx, put(preferencesPath, p), opts)
}

func (o Oracle) preferences(ctx context.Context, k call, opts []Option) (*UserPreferences, error) {
	// The oracle reads a key in this header only: a bearer is a UCAN there.
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	found, err := do[*UserPreferences](ctx, o.c, k, opts)
	if err != nil {
		return nil, err
	}
	return *found, nil
}
