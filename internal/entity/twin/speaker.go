package twin

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// Keys returns the did:keys a twin is also known as: a caller who signs with
// one of them speaks for it.
func (e *Entity) Keys() []string {
	var out []string
	for _, name := range e.AlsoKnownAs {
		if _, err := did.DID(name).Ed25519(); err == nil && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
