package exchange

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// MayAll requires scopes besides the one of the route.
func MayAll(ctx context.Context, scopes ...string) error {
	caller := web.CallerFrom(ctx)
	for _, scope := range scopes {
		if !caller.May(scope) {
			return fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+scope+" is needed too.")
		}
	}
	return nil
}

// InBody moves the pointers of a fault from the query to the body, where an
// order has what lists take as parameters.
func InBody(err error) error { return check.Moved(err, "query/", "/") }
