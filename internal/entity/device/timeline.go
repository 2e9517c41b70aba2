package device

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The days of the device that a twin is, of those in a household, and of those at a
// stove. A device may be its own stove, hence UNION.
const selectTimeline = `SELECT day, device, part, readings, events, cooking FROM (
		SELECT * FROM (SELECT day, device, part, readings, events, cooking FROM device_days
			WHERE device = $1 AND day <= $4 AND (day, device, part) < ($4, $5, $6) ORDER BY day DESC, part DESC LIMIT $7) AS own
		UNION
		SELECT * FROM (SELECT day, device, part, readings, events, cooking FROM device_days
			WHERE ws = $2 AND household = $3 AND household <> '' AND (day, device, part) < ($4, $5, $6) ORDER BY day DESC, device DESC, part DESC LIMIT $7) AS home
		UNION
		SELECT * FROM (SELECT day, device, part, readings, events, cooking FROM device_days
			WHERE ws = $2 AND stove = $3 AND stove <> '' AND (day, device, part) < ($4, $5, $6) ORDER BY day DESC, device DESC, part DESC LIMIT $7) AS stoves
	) AS t ORDER BY day DESC, device DESC, part DESC LIMIT $7`

// Timeline tells how many readings a device has by day; for a household or a stove,
// those of the devices that were there.
func (s *days) Timeline(ctx context.Context, l web.Look) ([]web.Happening, error) {
	c := web.CallerFrom(ctx)
	below, key, sub := l.Below.At/dayMS, l.Below.Key, l.Below.Sub
	if l.Below.At%dayMS != 0 { // the day itself began before
		below, key, sub = below+1, math.MinInt64, math.MinInt64
	}
	rows, err := s.db.Query(ctx, selectTimeline, l.NID, c.Workspace, l.DID, below, key, sub, l.Limit)
	found, err := db.Collect(rows, err, "list days of a time line", func(r *dayRow, row db.Row) error {
		return row.Scan(&r.day, &r.device, &r.part, &r.readings, &r.events, &r.cooking)
	})
	if err != nil {
		return nil, err
	}
	devices, err := s.known(ctx, c, found)
	if err != nil {
		return nil, err
	}
	out := make([]web.Happening, len(found))
	for i, d := range found {
		h := &out[i]
		h.Mark = web.Mark{At: d.day * dayMS, Key: d.device, Sub: int64(d.part)}
		t := devices[d.device]
		if h.Hidden = t == nil || len(c.Projects) > 0 && !slices.Contains(c.Projects, t.Project); h.Hidden {
			continue
		}
		h.Kind, h.ID, h.Other, h.Readings, h.Events = "day", moment(d.day*dayMS).Format(time.DateOnly), t.DID, d.readings, d.events
		h.CookingMinutes = round(float64(d.cooking)/60_000, 100)
		h.Link = "/v1/devices/" + escape(t.DID) + "/readings?from=" + h.ID + "&to=" + h.ID
	}
	return out, nil
}
