package sampling

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// listOf are the households of a part of a draw that the survey asks.
func listOf(part []Selected, homes map[int64]string) []survey.DrawnHome {
	var out []survey.DrawnHome
	for _, u := range part {
		if !u.Reserve {
			out = append(out, survey.DrawnHome{Household: homes[u.Index], Stratum: u.Stratum, Cluster: u.Cluster})
		}
	}
	return out
}

// Units reads a page of the households of a draw after a place. Replacements that
// were not used are never in it. Faults: DESIGN_NOT_FOUND, SAMPLE_DRAW_NOT_FOUND.
func (s *drawer) Units(ctx context.Context, id, state string, after, limit int) (items []*api.SampleUnit, next int, err error) {
	var c fault.Checks
	check.OneOf(&c, "query/state", state, drawn, "replaced", "replacement")
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, 0, err
	}
	_, d, err := s.newest(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if d.State != drawn {
		return nil, 0, nil
	}
	examine := max(limit+1, maxExamined)
	var rows []*drawnRow
	if state != "" {
		rows, err = scanDrawn(s.db.Query(ctx, listState, d.nid, state, after, examine))
	} else {
		rows, err = scanDrawn(s.db.Query(ctx, listDrawn, d.nid, after, examine))
	}
	if err != nil {
		return nil, 0, err
	}
	know := knows(ctx)
	for _, r := range rows {
		if len(items) == limit {
			return items, after, nil
		}
		if after = r.Place; r.State != "reserve" {
			items = append(items, r.shown(ctx, s.core, d, know))
		}
	}
	if len(rows) < examine {
		after = 0
	}
	return items, after, nil
}

// knows reports whether the caller may know which household a unit is.
func knows(ctx context.Context) bool {
	c := web.CallerFrom(ctx)
	return c.May("responses:pii") || c.May("surveys:write") || c.May("surveys:assign")
}

// shown is a unit as the caller may know it: ranks are for those who may prove,
// DIDs for those who may know households.
func (r *drawnRow) shown(ctx context.Context, s *core, d *drawRow, know bool) *api.SampleUnit {
	u := r.SampleUnit
	if know {
		u.HouseholdID = r.household
	} else if d.Units == byDID {
		names := s.cfg.Vault.Pseudonyms(web.CallerFrom(ctx).Workspace, d.project)
		u.Unit = names.Household(u.Unit)
		if u.Replaces != "" {
			u.Replaces = names.Household(u.Replaces)
		}
	}
	if mayProve(ctx, byPseudonym) != nil {
		u.Rank, u.Reason, u.By = "", "", ""
	}
	return &u
}

// Replace gives the next household of the same stratum or cluster in place of a
// drawn one, in the order that the draw has fixed. Nobody sees it before its
// reason is stored. Faults: DESIGN_NOT_FOUND, SAMPLE_DRAW_NOT_FOUND,
// SAMPLE_DRAW_STATE_INVALID, SAMPLE_DRAW_INVALID, UNIT_NOT_DRAWN,
// UNIT_REPLACED, REPLACEMENTS_EXHAUSTED.
func (s *drawer) Replace(ctx context.Context, id string, in api.SampleReplacement) (web.Reply[*api.SampleUnit], error) {
	var none web.Reply[*api.SampleUnit]
	var c fault.Checks
	check.Reason(&c, "/reason", in.Reason, true)
	if (in.HouseholdID == "") == (in.Unit == "") {
		c.Add("/householdId", "one_of", "Name either householdId or unit.")
	}
	if err := c.Err(badDraw, "The replacement is not valid."); err != nil {
		return none, err
	}
	r, d, err := s.newest(ctx, id)
	if err != nil {
		return none, err
	}
	if d.State != drawn {
		return none, wrongState(d, drawn)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleUnit], error) {
		d, err := findDraw(ctx, tx, r.nid)
		if err != nil {
			return none, err
		}
		next, err := s.replaceTx(ctx, tx, r, d, in)
		if err != nil {
			return none, err
		}
		return web.Reply[*api.SampleUnit]{Value: next.shown(ctx, s.core, d, knows(ctx)), Status: http.StatusCreated}, nil
	})
}

// replaceTx is Replace in its transaction. The design is locked first, so that
// no two replacements take the same household.
func (s *drawer) replaceTx(ctx context.Context, tx *db.Tx, r *designRow, d *drawRow, in api.SampleReplacement) (*drawnRow, error) {
	if _, err := tx.Exec(ctx, lockDesign, r.nid); err != nil {
		return nil, fmt.Errorf("lock sample design: %w", err)
	}
	old := new(drawnRow)
	err := old.scan(tx.QueryRow(ctx, drawnUnit, d.nid, in.Unit))
	if in.HouseholdID != "" {
		err = old.scan(tx.QueryRow(ctx, drawnHome, d.nid, in.HouseholdID))
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && old.State == "reserve" { // who comes next is nobody's to find out
		return nil, fault.New(fault.NotFound, "UNIT_NOT_DRAWN", "The household is not in the sample.")
	} else if err != nil {
		return nil, fmt.Errorf("find drawn household: %w", err)
	}
	if old.State == "replaced" {
		return nil, fault.New(fault.Conflict, "UNIT_REPLACED", "The household was replaced already.")
	}
	next := new(drawnRow)
	err = next.scan(tx.QueryRow(ctx, nextReserve, d.nid, old.cell))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.Conflict, "REPLACEMENTS_EXHAUSTED", "The draw has no replacement left in this stratum or cluster.")
	} else if err != nil {
		return nil, fmt.Errorf("find replacement: %w", err)
	}
	by, now := web.CallerFrom(ctx).DID, s.now()
	was := old.State
	old.State = "replaced"
	next.State, next.Replaces, next.Reason, next.By, next.At = "replacement", old.Unit, in.Reason, by, now
	for _, one := range []struct {
		row      *drawnRow
		from     string
		replaces string
	}{{old, was, old.Replaces}, {next, "reserve", old.Unit}} {
		n, err := tx.Exec(ctx, updateDrawn, d.nid, one.row.Place, one.from, one.row.State, one.replaces, in.Reason, by, now.UnixMilli())
		if err != nil {
			return nil, fmt.Errorf("store replacement: %w", err)
		}
		if n == 0 {
			return nil, web.Overtaken()
		}
	}
	return next, s.tellReplaced(ctx, tx, r, d, swap{old, next})
}

// swap is a household and the one that stands in for it.
type swap struct{ old, next *drawnRow }

// tellReplaced puts a replacement on the list of the survey, and tells of it.
func (s *drawer) tellReplaced(ctx context.Context, tx *db.Tx, r *designRow, d *drawRow, x swap) error {
	old, next := x.old, x.next
	d.Replaced++
	if ok, err := storeDraw(ctx, tx, d, drawn); err != nil {
		return err
	} else if !ok {
		return web.Overtaken()
	}
	if d.SurveyID != "" {
		home := survey.DrawnHome{Household: next.household, Stratum: next.Stratum, Cluster: next.Cluster, Replaces: old.household}
		if err := s.cfg.Surveys.AddDrawn(ctx, tx, d.SurveyID, []survey.DrawnHome{home}); err != nil {
			return err
		}
	}
	return s.record(ctx, tx, "sampling.replaced", &r.Design, map[string]any{"drawId": d.DrawID, "place": next.Place, "replaces": old.Place})
}
