package client

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
)

// UserPreferences is the type of package api.
type UserPreferences = api.UserPreferences

const preferencesPath = "/user-preferences"

// Preferences reads how this client's principal wants the oracle to talk; nil when
// that was never set.
func (o Oracle) Preferences(ctx context.Context, opts ...Option) (*UserPreferences, error) {
	return o.preferences(ctx, get(preferencesPath, nil), opts)
}

// SetPreferences sets how this client's principal wants the oracle to talk, and
// replaces earlier preferences. Empty preferences remove them.
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
