package console

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const selectCounts = `SELECT kind, part, state, CAST(sum(n) AS BIGINT) FROM counts WHERE ws = $1 GROUP BY kind, part, state ORDER BY kind, part, state`

func (s *Overview) serveCounts(ctx context.Context, _ *struct{}) (api.Counts, error) {
	return s.Counts(ctx)
}

// Counts returns how much there is of everything the caller of ctx may read. It
// reads a row for each type, kind and status, however many records there are. The
// fault is KEY_RESTRICTED.
func (s *Overview) Counts(ctx context.Context) (api.Counts, error) {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return api.Counts{}, fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; counts cover the whole workspace.")
	}
	var out api.Counts
	parts := map[string]map[string]map[string]int64{}
	for kind, part := range map[string]struct {
		scope string
		to    *map[string]map[string]int64
	}{"entity": {"entities:read", &out.Twins}, "response": {"responses:read", &out.Responses}, "job": {"jobs:read", &out.Jobs}} {
		if c.May(part.scope) {
			*part.to = map[string]map[string]int64{}
			parts[kind] = *part.to
		}
	}
	rows, err := s.cfg.DB.Query(ctx, selectCounts, c.Workspace)
	err = db.Each(rows, err, "read counters", func(row db.Row) error {
		var kind, part, state string
		var n int64
		if err := row.Scan(&kind, &part, &state, &n); err != nil {
			return err
		}
		if all := parts[kind]; all != nil && n != 0 {
			if all[part] == nil {
				all[part] = map[string]int64{}
			}
			all[part][state] = n
		}
		return nil
	})
	return out, err
}
