package openrosa

import (
	"net/http"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Gate admits callers who have the secret of an address. It checks the secret like a
// key, and ignores everything else in a request. The key of an address has one scope;
// other keys are refused, even an owner's.
type Gate struct{ Keys web.Gate }

// Admit implements web.Gate.
func (g Gate) Admit(answer http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	with := r.Clone(r.Context())
	for _, name := range []string{"Authorization", "Cookie", "X-Auth-Type", "X-Api-Key"} {
		with.Header.Del(name)
	}
	with.Header.Set("X-API-Key", r.PathValue("token"))
	c, err := g.Keys.Admit(answer, with, scope)
	if err == nil && !slices.Equal(c.Scopes, []string{Scope}) {
		// What stands in an address is seen by many. A key that opens more must not.
		return web.Caller{}, fault.New(fault.Forbidden, "NOT_AN_ADDRESS", "This is not the address of a collector: the key in it has other scopes too. Make an address with POST /v1/collect/addresses.")
	}
	return c, err
}
