package account

import (
	"context"
	"hash/fnv"
	"math"
	"net/url"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// People of a household that are looked at: far more than live in one.
const selectRegistered = `SELECT created_at, customer_id, did FROM ussd_accounts WHERE household_did = $1 AND ws = $2 LIMIT 100`

const selectPerson = `SELECT created_at, customer_id, did FROM ussd_accounts WHERE did = $1 AND ws = $2`

// Registered returns when the people of a household registered.
func (s *Service) Registered(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := s.db.Query(ctx, selectRegistered, l.DID, web.CallerFrom(ctx).Workspace)
	return happenings(rows, err, l)
}

// Joined returns when a person registered.
func (s *Service) Joined(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := s.db.Query(ctx, selectPerson, l.DID, web.CallerFrom(ctx).Workspace)
	return happenings(rows, err, l)
}

// happenings are those below the mark, the newest first. The key of one is a hash of
// its id: it is all the same which of two at one moment comes first.
func happenings(rows db.Rows, err error, l web.Look) ([]web.Happening, error) {
	all, err := db.Collect(rows, err, "list registrations of a time line", func(h *web.Happening, row db.Row) error {
		err := row.Scan(&h.Mark.At, &h.ID, &h.Other)
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(h.ID)) // it cannot fail
		h.Mark.Key = int64(sum.Sum64() & math.MaxInt64)
		h.Kind, h.Link = "registered", accountsPath+"/"+url.PathEscape(h.ID)
		return err
	})
	return web.Below(all, l), err
}
