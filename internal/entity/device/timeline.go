package device

import (
	"context"
	"math"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	daysOfDevice = `SELECT day, device, part, readings, events, cooking FROM device_days
		WHERE device = $1 AND day <= $2 AND (day, device, part) < ($2, $3, $4) ORDER BY day DESC, part DESC LIMIT $5`
	daysAtHome = `SELECT day, device, part, readings, events, cooking FROM device_days
		WHERE ws = $1 AND household = $2 AND household <> '' AND device <> $6 AND (day, device, part) < ($3, $4, $5) ORDER BY day DESC, device DESC, part DESC LIMIT $7`
	daysAtStove = `SELECT day, device, part, readings, events, cooking FROM device_days
		WHERE ws = $1 AND stove = $2 AND stove <> '' AND device <> $6 AND household <> stove AND (day, device, part) < ($3, $4, $5)
		ORDER BY day DESC, device DESC, part DESC LIMIT $7`
)

// Own returns, by day, how many readings a twin that is a device has.
func (s *days) Own(ctx context.Context, l web.Look) ([]web.Happening, error) {
	b := belowDay(l.Below)
	rows, err := db.Reader(ctx, s.db).Query(ctx, daysOfDevice, l.NID, b.At, b.Key, b.Sub, l.Limit)
	return s.happenings(ctx, rows, err)
}

// AtHome returns, by day, how many readings the devices in a household have.
func (s *days) AtHome(ctx context.Context, l web.Look) ([]web.Happening, error) {
	b := belowDay(l.Below)
	rows, err := db.Reader(ctx, s.db).Query(ctx, daysAtHome, web.CallerFrom(ctx).Workspace, l.DID, b.At, b.Key, b.Sub, l.NID, l.Limit)
	return s.happenings(ctx, rows, err)
}

// AtStove returns, by day, how many readings the devices at a stove have.
func (s *days) AtStove(ctx context.Context, l web.Look) ([]web.Happening, error) {
	b := belowDay(l.Below)
	rows, err := db.Reader(ctx, s.db).Query(ctx, daysAtStove, web.CallerFrom(ctx).Workspace, l.DID, b.At, b.Key, b.Sub, l.NID, l.Limit)
	return s.happenings(ctx, rows, err)
}

// belowDay converts a mark to days: those that begin before it.
func belowDay(m web.Mark) web.Mark {
	if m.At%dayMS != 0 { // the day itself began before
		return web.Mark{At: m.At/dayMS + 1, Key: math.MinInt64, Sub: math.MinInt64}
	}
	return web.Mark{At: m.At / dayMS, Key: m.Key, Sub: m.Sub}
}

// happenings renders days. Days of devices in projects that the caller's key does not
// cover are hidden.
func (s *days) happenings(ctx context.Context, rows db.Rows, err error) ([]web.Happening, error) {
	c := web.CallerFrom(ctx)
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
		if h.Hidden = t == nil || !c.Sees(t.Project); h.Hidden {
			continue
		}
		h.Kind, h.ID, h.Other, h.Readings, h.Events = "day", moment(d.day*dayMS).Format(time.DateOnly), t.DID, d.readings, d.events
		h.CookingMinutes = round(float64(d.cooking)/60_000, 100)
		h.Link = "/v1/devices/" + escape(t.DID) + "/readings?from=" + h.ID + "&to=" + h.ID
	}
	return out, nil
}
