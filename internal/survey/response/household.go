package response

import (
	"context"
	"math"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Place is where a list of the responses of a household continues.
type Place struct {
	Survey int64 `json:"s"`
	Round  int   `json:"r"`
	Slot   int64 `json:"k"`
}

// OfHousehold reads a page of the responses of a household in all surveys in
// which the caller sees and knows it, survey by survey and round by round. A
// page may be short; next is nil at the end.
func (s *Service) OfHousehold(ctx context.Context, household string, after Place, limit int) (items []Item, next *Place, err error) {
	rows, err := rowsOf(db.Reader(ctx, s.db).Query(ctx, selectOfHousehold, web.CallerFrom(ctx).Workspace, household, after.Survey, after.Round, after.Slot, limit+1))
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
		if !r.Knows(ctx) {
			continue // it would reveal the pseudonym of the household
		}
		body, err := s.show(ctx, s.db, o.Project, r, r)
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

const selectStanding = selectRow + ` FROM responses WHERE ws = $1 AND vstatus = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`

// Standing reads a page of the responses in one state of verification in all
// surveys the caller sees, newest first. A page may be short; next is 0 at the
// end. The fault is INVALID_PARAMETER.
func (s *Service) Standing(ctx context.Context, state string, before int64, limit int) (items []Item, next int64, err error) {
	var c fault.Checks
	check.OneOf(&c, "query/verification", state, Pending, InReview, Verified, Rejected, NeedsCorrection, Flagged, Disputed, Invalidated, Superseded)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := rowsOf(db.Reader(ctx, s.db).Query(ctx, selectStanding, web.CallerFrom(ctx).Workspace, state, before, limit+1))
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows[:min(limit, len(rows))] {
		next = r.NID
		o, err := s.openOf(ctx, r)
		if fault.KindOf(err) == fault.NotFound {
			continue // of another project
		} else if err != nil {
			return nil, 0, err
		}
		seen, err := r.veil(ctx, s.Sight(ctx, o), o.Form)
		if err != nil {
			return nil, 0, err
		}
		body, err := s.show(ctx, s.db, o.Project, r, seen)
		if err != nil {
			return nil, 0, err
		}
		items = append(items, Item{body})
	}
	if len(rows) <= limit {
		next = 0
	}
	return items, next, nil
}

// NamesOf lists the ids and references of the responses of a household, by
// which copies of them are found.
func (s *Service) NamesOf(ctx context.Context, ws, household string) ([]string, error) {
	rows, err := db.Reader(ctx, s.db).Query(ctx, selectNames, ws, household)
	var out []string
	err = db.Each(rows, err, "list responses", func(row db.Row) error {
		var nid int64
		var id string
		err := row.Scan(&nid, &id)
		out = append(out, id, privacy.RecordName(nid))
		return err
	})
	return out, err
}

// Erase makes what a household said about its people unreadable for ever: it
// destroys the keys that seal it, in every project of the workspace, removes
// what the senders added, devices, reasons and notes from its responses and
// their history, and drops the files, whose pieces media.Store.Sweep removes
// after the commit. It returns how many keys, responses and files these were; a
// second call finds none. It is an erase.Eraser of area A.
//
// The rest says nothing about a person, provided that templates mark what does:
// that there were responses and when, answers that are not marked, who decided
// what and when, flags and counters. Reads show the record with erased set.
// Contents that wait for a decision are sealed with the same keys.
func (s *Service) Erase(ctx context.Context, tx *db.Tx, ws, household string) (int64, error) {
	if err := vault.BeginErasure(ctx, tx, s.db.Dialect(), ws, household); err != nil {
		return 0, err
	}
	n, err := s.cfg.Vault.Forget(ctx, tx, ws, household)
	if err != nil {
		return 0, err
	}
	all, blanked, err := blankHousehold(ctx, tx, ws, household)
	if err != nil {
		return 0, err
	}
	n += blanked
	for _, r := range all {
		if r.Files == 0 {
			continue
		}
		files, err := media.Release(ctx, tx, ws, r.NID)
		if err != nil {
			return 0, err
		}
		n += files
	}
	return n, nil
}
