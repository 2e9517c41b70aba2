package auth

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const selectNamed = `SELECT did, name FROM principals WHERE workspace = $1 AND name_key >= $2 AND name_key < $3 ORDER BY name_key, did LIMIT $4`

// Starting finds principals whose name begins with a text, ignoring case; no
// more than limit, and none for a caller who may not list the keys.
func (s *Service) Starting(ctx context.Context, text string, limit int) ([]api.SearchHit, error) {
	c := web.CallerFrom(ctx)
	if !s.mayList(c) {
		return nil, nil
	}
	from, to := db.Prefix(text)
	rows, err := s.db.Query(ctx, selectNamed, c.Workspace, from, to, limit)
	return db.Collect(rows, err, "search keys", func(h *api.SearchHit, row db.Row) error {
		h.Kind, h.Match, h.Link = "key", "name", keysPath
		return row.Scan(&h.ID, &h.Name)
	})
}

// mayList reports whether a caller may know which keys there are.
func (s *Service) mayList(c web.Caller) bool { return c.May("keys:read") && len(c.Projects) == 0 }

const selectNames = `SELECT did, name FROM principals WHERE did IN ` + db.In64 + ` AND workspace = $65`

// Names returns the names of the principals among some DIDs. A caller who may not
// list the keys gets no name but its own, and does not learn that there are
// others.
func (s *Service) Names(ctx context.Context, ids []string) ([]api.Name, error) {
	c := web.CallerFrom(ctx)
	var out []api.Name
	for some := range slices.Chunk(ids, db.Chunk) {
		rows, err := s.db.Query(ctx, selectNames, db.Keys(some, "", c.Workspace)...)
		found, err := db.Collect(rows, err, "read names of principals", func(n *api.Name, row db.Row) error {
			n.Kind = "key"
			return row.Scan(&n.DID, &n.Name)
		})
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			if n.DID == c.DID || s.mayList(c) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}
