package history

import (
	"context"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The newest revision is the row of the twin, the others are in the history.
const selectTimeline = `SELECT at, revision, action, actor, reason FROM (
		SELECT updated_at AS at, revision, rev_action AS action, rev_actor AS actor, rev_reason AS reason FROM entities WHERE nid = $1
		UNION ALL
		SELECT * FROM (SELECT at, revision, action, actor, reason FROM entity_history
			WHERE nid = $1 AND (at, revision) < ($2, $3) ORDER BY at DESC, revision DESC LIMIT $4) AS earlier
	) AS t WHERE (at, revision) < ($2, $3) ORDER BY at DESC, revision DESC LIMIT $4`

// Timeline tells of the revisions of a twin. Those by which a relationship was added
// or removed keep their place, and are told of as the relationship.
func (s *Service) Timeline(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := s.cfg.DB.Query(ctx, selectTimeline, l.NID, l.Below.At, l.Below.Key, l.Limit)
	return db.Collect(rows, err, "list revisions of a time line", func(h *web.Happening, row db.Row) error {
		err := row.Scan(&h.Mark.At, &h.Mark.Key, &h.Kind, &h.Actor, &h.Reason)
		h.ID = strconv.FormatInt(h.Mark.Key, 10)
		h.Link = twin.Address(l.DID) + "/history/" + h.ID
		h.Hidden = h.Kind == "relate" || h.Kind == "unrelate"
		return err
	})
}
