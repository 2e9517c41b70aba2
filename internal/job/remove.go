package job

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectMade = `SELECT nid, id, kind, created_by, request_id FROM jobs WHERE ws = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	deleteMade = `DELETE FROM jobs WHERE nid = $1 AND status NOT IN ('queued', 'running')`
)

// Made describes a job by its origin.
type Made struct {
	ID, Kind, By, Request string

	nid int64
}

// madePage is how many jobs are looked at together.
const madePage = 200

// Find lists the jobs of a workspace that is selects.
func (s *Service) Find(ctx context.Context, ws string, is func(Made) bool) ([]Made, error) {
	var out []Made
	for after := int64(0); ; {
		rows, err := s.cfg.DB.Query(ctx, selectMade, ws, after, madePage)
		some, err := db.Collect(rows, err, "list jobs", func(m *Made, row db.Row) error {
			return row.Scan(&m.nid, &m.ID, &m.Kind, &m.By, &m.Request)
		})
		if err != nil || len(some) == 0 {
			return out, err
		}
		for _, m := range some {
			after = m.nid
			if is(m) {
				out = append(out, m)
			}
		}
	}
}

// Remove removes a job that has ended, as if it had never existed. One that has
// not ended stays.
func (s *Service) Remove(ctx context.Context, m Made) error {
	_, err := s.cfg.DB.Exec(ctx, deleteMade, m.nid)
	return db.Wrap("remove job", err)
}
