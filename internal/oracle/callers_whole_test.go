package oracle_test

import (
	"context"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// What somebody came with says whether they are themselves, and when it ends; who
// comes again for them, as a task does, changes neither.
func TestWholeAndEnds(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	again := func(context.Context) (web.Caller, error) { return web.Caller{}, nil }
	for name, c := range map[string]struct {
		who   oracle.Identity
		whole bool
		ends  time.Time
	}{
		"a key":                      {oracle.Identity{Key: web.Caller{Key: "k"}}, true, time.Time{}},
		"a login elsewhere":          {oracle.Identity{Again: again}, true, time.Time{}},
		"an invocation":              {oracle.Identity{Invoked: true, Delegation: &ucan.Grant{}, Expires: end}, true, time.Time{}},
		"a delegation for something": {oracle.Identity{Delegation: &ucan.Grant{}, Expires: end}, false, end},
		"a task of a delegation":     {oracle.Identity{Invoked: true, Until: end}, true, end},
		"nothing":                    {oracle.Identity{}, false, time.Time{}},
	} {
		if got, ends := c.who.Whole(), c.who.Ends(); got != c.whole || !ends.Equal(c.ends) {
			t.Errorf("%s: whole %v until %v, want %v until %v", name, got, ends, c.whole, c.ends)
		}
	}
}
