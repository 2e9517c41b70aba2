package bulk

import (
	"bytes"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// audience is who may read the file of an export: one with personal properties
// of twins in it is not for everybody who reads exports.
type audience string

// The audiences. A maker without the scope sees what is personal in their own
// twins, and so may read a file that contains it again.
const (
	forAll   audience = ""      // nothing personal is in it
	forMaker audience = "maker" // the caller who made it, and those with the scope
	forScope audience = "scope" // those with the scope
)

// audienceOf is who may read a file with one record in it, which is as the
// caller of ctx sees it.
func audienceOf(ctx context.Context, q db.Querier, p mask.Protocols, protocol string, body []byte) (audience, error) {
	c := web.CallerFrom(ctx)
	names, err := p.Personal(ctx, q, c.Workspace, protocol)
	if err != nil {
		return forAll, err
	}
	rest, err := privacy.Without(body, names)
	switch {
	case err != nil || bytes.Equal(rest, body): // it has none of them, or they are withheld
		return forAll, err
	case c.May(mask.Scope):
		return forScope, nil
	}
	return forMaker, nil
}

// excludes reports whether a caller may not read a file that maker has made.
func (a audience) excludes(c web.Caller, maker string) bool {
	return a != forAll && !c.May(mask.Scope) && (a != forMaker || c.DID != maker)
}
