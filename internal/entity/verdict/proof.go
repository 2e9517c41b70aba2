package verdict

import (
	"context"
	"math"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// Credential is the domain type of twins that others show.
const Credential = "credential"

// together is how many records one transaction updates. A job updates the
// others.
const together = 100

// Item is a credential in the form in which others show it.
func Item(e *twin.Entity) twin.Credential {
	c := twin.Credential{ID: e.DID, Type: e.Type, Issuer: e.CreatedBy, Status: Status(e.Status, e.Verification.Status)}
	var said struct {
		Issuer string `json:"issuer"`
	}
	if !e.Properties.IsZero() && json.Unmarshal(e.Properties.Value, &said) == nil {
		if did.Valid(said.Issuer) {
			c.Issuer = said.Issuer
		}
	}
	return c
}

// NoteBecame notes the credentials that claims become by the relationships of a
// new twin.
func NoteBecame(e *twin.Entity, plans []*relationship.Relationship) {
	for _, p := range plans {
		if p.Row.Role == relationship.Becomes && p.Row.Mirror && p.Back {
			c := Item(e)
			p.Became = &c
		}
	}
}

// Status is the status that others show for a credential with a status and a
// verification.
func Status(status twin.Status, verification string) string {
	if verification == "revoked" || verification == "expired" {
		return verification
	}
	return string(status)
}

// Changed reports whether a revision of a twin changes what others show of it.
func Changed(before, e *twin.Entity) bool {
	return e.DomainType == Credential && Item(before) != Item(e)
}

// Show makes a record show a credential, or not, depending on held. It returns
// false when the record does not change. A draft is no credential yet, and an
// ended twin gets no new ones.
func Show(e *twin.Entity, c twin.Credential, held bool) bool {
	i := slices.IndexFunc(e.VerifiableCredential, func(o twin.Credential) bool { return o.ID == c.ID })
	switch {
	case i >= 0 && !held:
		e.VerifiableCredential = slices.Delete(slices.Clone(e.VerifiableCredential), i, i+1)
	case i >= 0 && e.VerifiableCredential[i] == c:
		return false
	case i >= 0:
		e.VerifiableCredential = slices.Clone(e.VerifiableCredential)
		e.VerifiableCredential[i] = c
	case !held || c.Status == string(twin.StatusDraft) || e.Status == twin.StatusDeactivated:
		return false
	case len(e.VerifiableCredential) < twin.MaxCredentials:
		e.VerifiableCredential = append(slices.Clone(e.VerifiableCredential), c)
	case e.MoreCredentials:
		return false
	default:
		e.MoreCredentials = true
	}
	return true
}

// Place is where a walk over the twins that show a credential continues. The
// zero value is the beginning.
type Place struct {
	Edge     int64 `json:"edge,omitzero"`     // to the last claim
	Claim    int64 `json:"claim,omitzero"`    // that one, while what produces it is not all done
	Producer int64 `json:"producer,omitzero"` // edge of the last that produces it
}

// above is the place of a walk over the producers of one claim only.
func above(claim int64) Place { return Place{Edge: math.MaxInt64, Claim: claim} }

// holders lists at most limit twins that may show a credential, from a place on:
// each claim it became of, and then the producers of that one. They are sorted,
// without duplicates. next is where the list continues, zero at its end.
func holders(ctx context.Context, q db.Querier, credential int64, p Place, limit int) (nids []int64, next Place, err error) {
	for n := 0; ; {
		if p.Claim != 0 {
			some, err := sources(ctx, q, step{p.Claim, relationship.Produces, p.Producer, limit - n})
			if err != nil {
				return nil, p, err
			}
			for _, s := range some {
				nids, p.Producer, n = append(nids, s.src), s.edge, n+1
			}
			if n == limit {
				break
			}
			p.Claim, p.Producer = 0, 0
		}
		var claims []source
		if p.Edge != math.MaxInt64 { // else above has said that there is one claim
			if claims, err = sources(ctx, q, step{credential, relationship.Becomes, p.Edge, 1}); err != nil {
				return nil, p, err
			}
		}
		if len(claims) == 0 {
			p = Place{}
			break
		}
		p = Place{Edge: claims[0].edge, Claim: claims[0].src}
		if nids, n = append(nids, p.Claim), n+1; n == limit {
			break
		}
	}
	slices.Sort(nids)
	return slices.Compact(nids), p, nil
}
