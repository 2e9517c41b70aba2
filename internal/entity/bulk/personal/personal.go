// Package personal says who may read the file of an export: one with personal
// properties of twins in it is not for everybody who reads exports.
package personal

import (
	"bytes"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Mark says who may read a file.
type Mark string

// The marks. A maker without the scope sees what is personal in its own twins,
// and so may read a file with that in it again.
const (
	None  Mark = ""      // nothing personal is in it
	Maker Mark = "maker" // who made it, and those with the scope
	Scope Mark = "scope" // those with the scope
)

// Of is the mark of a file with one record in it, which is as the caller of ctx
// sees it.
func Of(ctx context.Context, q db.Querier, p mask.Protocols, protocol string, body []byte) (Mark, error) {
	c := web.CallerFrom(ctx)
	names, err := p.Personal(ctx, q, c.Workspace, protocol)
	if err != nil {
		return None, err
	}
	rest, err := mask.Without(body, names)
	switch {
	case err != nil || bytes.Equal(rest, body): // it has none of them, or they are withheld
		return None, err
	case c.May(mask.Scope):
		return Scope, nil
	}
	return Maker, nil
}

// Keeps tells that a caller may not read a file that maker has made.
func (m Mark) Keeps(c web.Caller, maker string) bool {
	return m != None && !c.May(mask.Scope) && (m != Maker || c.DID != maker)
}
