package survey

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// ActsFor lists the other DIDs under which the caller of ctx is known, and those
// of the groups it belongs to: their work counts as the caller's own. nil lists
// none.
type ActsFor func(ctx context.Context) ([]string, error)

// Selves returns all DIDs the caller of ctx acts as, including its own.
func (f ActsFor) Selves(ctx context.Context) ([]string, error) {
	own := []string{web.CallerFrom(ctx).DID}
	if f == nil {
		return own, nil
	}
	more, err := f(ctx)
	return append(own, more...), err
}

// Made reports whether one of some DIDs is the caller of ctx, or one it acts for.
func (f ActsFor) Made(ctx context.Context, dids ...string) (bool, error) {
	own, err := f.Selves(ctx)
	return slices.ContainsFunc(dids, func(d string) bool { return slices.Contains(own, d) }), err
}
