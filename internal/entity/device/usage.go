package device

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Usage lists what the devices of a project saw, by day and device; a twin that is not a
// project has none. It reads the stored days, not readings. next is where to continue,
// nil at the end.
func (s *days) Usage(ctx context.Context, project string, m usageMark, limit int) (items []Usage, next *usageMark, err error) {
	c := web.CallerFrom(ctx)
	row, err := s.cfg.Entities.Find(ctx, s.db, project)
	if err != nil {
		return nil, nil, err
	}
	found, err := listUsage(ctx, s.db, entity.Key(row.Workspace, "project", row.DID), m, limit+1)
	if err != nil {
		return nil, nil, err
	}
	if len(found) > limit {
		found = found[:limit]
		last := found[limit-1]
		next = &usageMark{last.day, last.device, last.part, m.To}
	}
	devices, err := s.known(ctx, c, found)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range found {
		if t := devices[d.device]; t != nil {
			items = append(items, d.shown(t))
		}
	}
	return items, next, nil
}

// FleetQuery asks for a page of the days of a project, both bounds included;
// zero days mean the last 30.
type FleetQuery struct {
	Project  string
	From, To time.Time
	After    string // where the page before ended
	Limit    int
}

// Fleet is Usage for callers within the program. next is "" at the end.
func (s *days) Fleet(ctx context.Context, q FleetQuery) (items []Usage, next string, err error) {
	if q.To.IsZero() {
		q.To = s.cfg.Now()
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(0, 0, -30)
	}
	m := usageMark{Day: day(q.From.UnixMilli()), Device: -1, To: day(q.To.UnixMilli())}
	if q.After != "" {
		if err := json.Unmarshal([]byte(q.After), &m); err != nil {
			return nil, "", fmt.Errorf("read where to go on: %w", err)
		}
	}
	items, more, err := s.Usage(ctx, q.Project, m, q.Limit)
	if err != nil || more == nil {
		return items, "", err
	}
	text, err := json.Marshal(*more)
	return items, string(text), err
}

// known reads the devices of days that the caller may know.
func (s *days) known(ctx context.Context, c web.Caller, list []dayRow) (map[int64]*entity.Row, error) {
	seen := map[int64]bool{}
	var nids []int64
	for _, d := range list {
		if !seen[d.device] {
			seen[d.device] = true
			nids = append(nids, d.device)
		}
	}
	out := map[int64]*entity.Row{}
	for len(nids) > 0 {
		part := nids[:min(perLook, len(nids))]
		nids = nids[len(part):]
		rows, err := twins(ctx, s.db, c.Workspace, part)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			// A caller who may read the project may know what counts for it.
			e, err := r.Entity()
			if err != nil {
				return nil, err
			}
			if sees(c, e) {
				out[r.NID] = r
			}
		}
	}
	return out, nil
}

func (d dayRow) shown(t *entity.Row) Usage {
	return Usage{
		Day: moment(d.day * dayMS).Format(time.DateOnly), DeviceID: t.DID, StoveID: d.place.stove, HouseholdID: d.place.household,
		Readings: d.readings, Completeness: round(min(1, float64(d.readings)/float64(d.expected)), 1000),
		Events: d.events, CookingMinutes: round(float64(d.cooking)/60_000, 100), Contradictions: d.contradictions,
	}
}

// serveUsage answers with the days of a project.
func (s *days) serveUsage(ctx context.Context, in *struct {
	DID string `path:"did" doc:"DID of the project."`
	month
	web.Paging
},
) (web.Reply[web.Page[Usage]], error) {
	var none web.Reply[web.Page[Usage]]
	var c fault.Checks
	from, to := in.bounds(&c, s.cfg.Now())
	in.Size(&c)
	if err := wrong(c); err != nil {
		return none, err
	}
	m := usageMark{Day: day(from), Device: -1, To: day(to - 1)}
	return web.List(ctx, s.cfg.Cursors, in.Paging, &m, func(limit int) ([]Usage, *usageMark, error) {
		return s.Usage(ctx, in.DID, m, limit)
	})
}
