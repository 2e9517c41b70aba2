package history

import (
	"context"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The newest revision is the row of the twin, the others are in the history.
const (
	selectNow     = `SELECT updated_at, revision, rev_action, rev_actor, rev_reason FROM entities WHERE nid = $1 AND (updated_at, revision) < ($2, $3)`
	selectEarlier = `SELECT at, revision, action, actor, reason FROM entity_history WHERE nid = $1 AND (at, revision) < ($2, $3) ORDER BY at DESC, revision DESC LIMIT $4`
)

// Now returns the happenings of the newest revision of a twin, Earlier those of the
// revisions before. Revisions that added or removed a relationship keep their place,
// and are shown as that relationship.
func (s *Service) Now(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := s.cfg.DB.Query(ctx, selectNow, l.NID, l.Below.At, l.Below.Key)
	return happenings(rows, err, l)
}

// Earlier: see Now.
func (s *Service) Earlier(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := s.cfg.DB.Query(ctx, selectEarlier, l.NID, l.Below.At, l.Below.Key, l.Limit)
	return happenings(rows, err, l)
}

func happenings(rows db.Rows, err error, l web.Look) ([]web.Happening, error) {
	return db.Collect(rows, err, "list revisions of a time line", func(h *web.Happening, row db.Row) error {
		err := row.Scan(&h.Mark.At, &h.Mark.Key, &h.Kind, &h.Actor, &h.Reason)
		h.ID = strconv.FormatInt(h.Mark.Key, 10)
		h.Link = twin.Address(l.DID) + "/history/" + h.ID
		h.Hidden = h.Kind == "relate" || h.Kind == "unrelate"
		return err
	})
}
