package survey

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const selectAllActive = `SELECT survey_id FROM surveys WHERE ws = $1 AND status = 'active' ORDER BY template_id, nid LIMIT $2`

// Generation identifies the state of a workspace's campaigns, so that data read
// before a change can be told from data read after it.
func (op *opened) Generation(ws string) uint64 { return op.cache.Begin(ws) }

// Visits reports whether the caller collects for a campaign: it is named as a
// collector, or is to visit some of its households.
func (l *lists) Visits(ctx context.Context, o *Open) (bool, error) {
	self := web.CallerFrom(ctx).DID
	if o.Collectors[self] || o.duties.Gives(self) {
		return true, nil
	}
	if self == "" || !o.Assigned || o.StrictCollectors {
		return false, nil
	}
	rows, err := scanHouseholds(l.db.Query(ctx, selectNamed, o.NID, self, "", 1))
	return len(rows) > 0, err
}

// Visited are the active campaigns that the caller collects for. At most limit
// active ones of the workspace are looked at.
func (l *lists) Visited(ctx context.Context, limit int) ([]*Open, error) {
	return l.active(ctx, limit, func(o *Open) (bool, error) { return l.Visits(ctx, o) })
}

// Asked are the active campaigns of a mode. At most limit active ones of the
// workspace are looked at.
func (l *lists) Asked(ctx context.Context, mode string, limit int) ([]*Open, error) {
	return l.active(ctx, limit, func(o *Open) (bool, error) { return slices.Contains(o.Modes, mode), nil })
}

func (l *lists) active(ctx context.Context, limit int, is func(*Open) (bool, error)) (out []*Open, _ error) {
	rows, err := l.db.Query(ctx, selectAllActive, web.CallerFrom(ctx).Workspace, limit)
	ids, err := db.Collect(rows, err, "list active surveys", db.Column[string])
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		o, err := l.Open(ctx, id)
		if fault.KindOf(err) == fault.NotFound {
			continue // of another project, or deleted meanwhile
		} else if err != nil {
			return nil, err
		}
		ok, err := is(o)
		if err != nil {
			return nil, err
		}
		if ok && o.Active() {
			out = append(out, o)
		}
	}
	return out, nil
}

// ToVisit returns the households that the caller is to visit, at most limit, with
// how to reach them, which is noted in the audit log. If none are assigned, it
// returns all listed ones, by their DIDs.
func (l *lists) ToVisit(ctx context.Context, o *Open, limit int) ([]*Household, error) {
	f := HouseholdFilter{}
	if o.Assigned {
		f = HouseholdFilter{Collector: web.CallerFrom(ctx).DID, Contact: true}
	}
	var out []*Household
	for at := (&spot{}); at != nil && len(out) < limit; {
		page, next, err := l.Households(ctx, o.SurveyID, f, *at, limit-len(out))
		if err != nil {
			return nil, err
		}
		out, at = append(out, page...), next
	}
	return out, nil
}

// MayVisit reports whether the caller may interview a household: it is assigned
// to the caller, or to nobody. The fault is NOT_COLLECTOR.
func (l *lists) MayVisit(ctx context.Context, o *Open, household string) error {
	h, err := l.Household(ctx, l.db, o, household)
	if err != nil || h == nil {
		return err
	}
	if to := o.Collector(h); to != "" && to != web.CallerFrom(ctx).DID {
		return fault.New(fault.Forbidden, "NOT_COLLECTOR", "Somebody else is to visit this household. Ask the manager of the survey to assign it to you, then send again.")
	}
	return nil
}
