package openrosa

import (
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Gate lets in whoever has the secret of an address: it is asked as if it had come
// as a key, and nothing else that a request carries counts.
type Gate struct{ Keys web.Gate }

// Admit implements web.Gate.
func (g Gate) Admit(answer http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	with := r.Clone(r.Context())
	for _, name := range []string{"Authorization", "Cookie", "X-Auth-Type", "X-Api-Key"} {
		with.Header.Del(name)
	}
	with.Header.Set("X-API-Key", r.PathValue("token"))
	return g.Keys.Admit(answer, with, scope)
}
