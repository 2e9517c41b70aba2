package response

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Place is where a list of the responses of a household goes on.
type Place struct {
	Survey int64 `json:"s"`
	Round  int   `json:"r"`
	Slot   int64 `json:"k"`
}

// OfHousehold reads a page of the responses of a household in all surveys the
// caller sees, survey by survey and round by round. A page may be short; next
// is nil at the end.
func (s *Service) OfHousehold(ctx context.Context, household string, after Place, limit int) (items []Item, next *Place, err error) {
	rows, err := rowsOf(s.db.Query(ctx, selectOfHousehold, web.CallerFrom(ctx).Workspace, household, after.Survey, after.Round, after.Slot, limit+1))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows[:min(limit, len(rows))] {
		next = &Place{r.Survey, r.Round, r.Slot}
		o, err := s.openOf(ctx, r)
		if fault.KindOf(err) == fault.NotFound {
			continue // of another project
		} else if err != nil {
			return nil, nil, err
		}
		body, err := s.Show(ctx, s.db, o.Project, r, nil)
		if err != nil {
			return nil, nil, err
		}
		items = append(items, Item{body})
	}
	if len(rows) <= limit {
		next = nil
	}
	return items, next, nil
}

const selectWithFiles = `SELECT nid FROM responses WHERE ws = $1 AND household = $2 AND files > 0`

// Erase makes what a household said about its people unreadable for ever: it
// destroys the keys that seal it, in every project of the workspace, and drops
// the files of its responses, whose pieces go with media.Store.Sweep after the
// commit. It tells how many keys and files these were; a second call finds
// none. It is an erase.Eraser of area A.
//
// What stays says nothing about a person, if templates mark what does: that
// there were responses and when, answers that are not marked, metadata,
// verification, flags, counters and reasons. Reads show the record with erased
// set. Contents that clashed with a response are sealed with the same keys.
func (s *Service) Erase(ctx context.Context, tx *db.Tx, ws, household string) (int64, error) {
	n, err := s.cfg.Vault.Forget(ctx, tx, ws, household)
	if err != nil {
		return 0, err
	}
	responses, err := numbers(tx.Query(ctx, selectWithFiles, ws, household))
	if err != nil {
		return 0, err
	}
	for _, nid := range responses {
		files, err := media.Release(ctx, tx, ws, nid)
		if err != nil {
			return 0, err
		}
		n += files
	}
	return n, nil
}

func numbers(rows db.Rows, err error) ([]int64, error) {
	if err != nil {
		return nil, fmt.Errorf("list responses: %w", err)
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, fmt.Errorf("list responses: %w", err)
		}
		out = append(out, n)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list responses: %w", err)
	}
	return out, nil
}
