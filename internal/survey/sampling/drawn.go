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
func (s *drawer) Units(ctx context.Context, w Which, state string, after, limit int) (items []*api.SampleUnit, next int, err error) {
	var c fault.Checks
	check.OneOf(&c, "query/state", state, drawn, "replaced", "replacement")
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, 0, err
	}
	d, err := findDraw(ctx, s.db, w)
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
	see := sightOf(ctx, false)
	for _, r := range rows {
		if len(items) == limit {
			return items, after, nil
		}
		if after = r.Place; r.State != "reserve" {
			items = append(items, r.shown(ctx, s.core, d, see))
		}
	}
	if len(rows) < examine {
		after = 0
	}
	return items, after, nil
}

// sight is how a caller knows the households of a draw.
type sight int

// Whoever may read personal data sees the unit and the household behind it. To
// all others the two never stand side by side: they would be a dictionary of the
// names in published frames and exports.
const (
	byUnit sight = iota
	byHome       // for managers of lists, in frames that name households by DID
	both
)

// sightOf is how the caller sees households that it has named by their DIDs, or
// not.
func sightOf(ctx context.Context, named bool) sight {
	c := web.CallerFrom(ctx)
	switch {
	case c.May("responses:pii"):
		return both
	case named && (c.May("surveys:write") || c.May("surveys:assign")):
		return byHome
	}
	return byUnit
}

// shown is a unit as the caller may know it. Ranks are for callers who may
// prove.
func (r *drawnRow) shown(ctx context.Context, s *core, d *drawRow, see sight) *api.SampleUnit {
	u := r.SampleUnit
	switch {
	case see == byHome:
		u.Place, u.Unit, u.Rank, u.Replaces, u.ReplacedBy, u.HouseholdID = 0, "", "", "", "", r.household
		return &u
	case see == both:
		u.HouseholdID = r.household
	case d.Units == byDID:
		names := s.cfg.Vault.Pseudonyms(web.CallerFrom(ctx).Workspace, d.project)
		for _, at := range []*string{&u.Unit, &u.Replaces, &u.ReplacedBy} {
			if *at != "" {
				*at = names.Household(*at)
			}
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
	_, d, err := s.which(ctx, Which{Design: id})
	if err != nil {
		return none, err
	}
	if d.State != drawn {
		return none, wrongState(d, drawn)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleUnit], error) {
		if _, err := tx.Exec(ctx, lockDesign, d.design); err != nil {
			return none, fmt.Errorf("lock sample design: %w", err)
		}
		d, err := findDraw(ctx, tx, Which{Draw: d.DrawID})
		if err != nil {
			return none, err
		}
		next, err := s.replaceTx(ctx, tx, d, in)
		if err != nil {
			return none, err
		}
		return web.Reply[*api.SampleUnit]{Value: next.shown(ctx, s.core, d, sightOf(ctx, in.HouseholdID != "")), Status: http.StatusCreated}, nil
	})
}

// replaceTx is Replace in its transaction. The design is locked before, so that
// no two replacements take the same household.
func (s *drawer) replaceTx(ctx context.Context, tx *db.Tx, d *drawRow, in api.SampleReplacement) (*drawnRow, error) {
	old := new(drawnRow)
	err := old.scan(tx.QueryRow(ctx, drawnUnit, d.nid, in.Unit))
	if in.HouseholdID != "" {
		err = old.scan(tx.QueryRow(ctx, drawnHome, d.nid, in.HouseholdID))
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && old.State == "reserve" { // the order of replacements is secret
		return nil, fault.New(fault.NotFound, "UNIT_NOT_DRAWN", "The household is not in the sample.")
	} else if err != nil {
		return nil, fmt.Errorf("find drawn household: %w", err)
	}
	if old.State == "replaced" {
		return nil, fault.New(fault.Conflict, "UNIT_REPLACED", "The household was already replaced.")
	}
	next := new(drawnRow)
	err = next.scan(tx.QueryRow(ctx, nextReserve, d.nid, old.cell))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.Conflict, "REPLACEMENTS_EXHAUSTED", "The draw has no replacements left in this stratum or cluster.")
	} else if err != nil {
		return nil, fmt.Errorf("find replacement: %w", err)
	}
	by, now := web.CallerFrom(ctx).DID, s.swapTime(d)
	was := old.State
	old.State, old.ReplacedBy, old.Reason, old.By, old.At = "replaced", next.Unit, in.Reason, by, now
	next.State, next.Replaces, next.Reason, next.By, next.At = "replacement", old.Unit, in.Reason, by, now
	for _, one := range []struct {
		row  *drawnRow
		from string
	}{{old, was}, {next, "reserve"}} {
		r := one.row
		n, err := tx.Exec(ctx, updateDrawn, d.nid, r.Place, one.from, r.State, r.Replaces, r.ReplacedBy, in.Reason, by, now.UnixMilli())
		if err != nil {
			return nil, fmt.Errorf("store replacement: %w", err)
		}
		if n == 0 {
			return nil, web.Overtaken()
		}
	}
	return next, s.tellReplaced(ctx, tx, d, swap{old, next})
}

// swap is a household and the one that stands in for it.
type swap struct{ old, next *drawnRow }

// tellReplaced puts a replacement on the list of the survey, and appends its
// event.
func (s *drawer) tellReplaced(ctx context.Context, tx *db.Tx, d *drawRow, x swap) error {
	old, next := x.old, x.next
	d.Replaced++
	e, err := s.swapEntry(ctx, d, x)
	if err != nil {
		return err
	}
	if ok, err := storeDraw(ctx, tx, d, drawn); err != nil {
		return err
	} else if !ok {
		return web.Overtaken()
	}
	if d.SurveyID != "" {
		home := survey.DrawnHome{Household: next.household, Stratum: next.Stratum, Cluster: next.Cluster, Replaces: old.household, Reason: next.Reason}
		if err := s.cfg.Surveys.AddDrawn(ctx, tx, d.SurveyID, []survey.DrawnHome{home}); err != nil {
			return err
		}
	}
	return s.cfg.Events.Append(ctx, tx, e)
}
