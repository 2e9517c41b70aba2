package device

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Bounds of what one request looks at.
const (
	scanBudget = 100_000 // readings
	backBudget = 20_000  // readings before a range; more only if they are far more frequent than configured
	pastBudget = 5_000   // readings before a range in which events that extend into it are looked for
)

// mark is where a list over time continues, and where it ends.
type mark struct {
	At int64 `json:"at"`
	To int64 `json:"to"`
}

// Readings lists readings of a device from a moment on, oldest first. next is
// the moment to continue from, 0 at the end.
func (s *Service) Readings(ctx context.Context, id string, m mark, limit int) (items []Reading, next int64, err error) {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return nil, 0, err
	}
	rows, err := listRows(ctx, s.db, span{t.NID, m.At, m.To, limit + 1})
	if err != nil {
		return nil, 0, err
	}
	if len(rows) > limit {
		next, rows = rows[limit].at, rows[:limit]
	}
	rules := configurationOf(t.e).rules()
	for _, r := range rows {
		reading, err := r.reading()
		if err != nil {
			return nil, 0, err
		}
		reading.Contradiction = rules.contradicts(r.sample())
		items = append(items, reading)
	}
	return items, next, nil
}

// Ask replaces the rules of a device for one request; nil keeps them.
type Ask struct {
	Threshold   *float64
	MinDuration *time.Duration
}

func (a Ask) apply(r Rules) Rules {
	if a.Threshold != nil {
		r.Threshold = *a.Threshold
	}
	if a.MinDuration != nil {
		r.MinDuration = *a.MinDuration
	}
	return r
}

// Events derives the cooking events of a device that begin in a range. It looks
// at a bounded number of readings; next is the moment to continue from, 0 at
// the end.
func (s *Service) Events(ctx context.Context, id string, m mark, limit int, a Ask) (events []CookingEvent, next int64, err error) {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return nil, 0, err
	}
	sc := newScan(a.apply(configurationOf(t.e).rules()), m.At, m.To, limit)
	err = db.Look(ctx, s.db, func(q db.Querier) error {
		_, next, err = walk(ctx, q, t.NID, sc, s.cfg.ScanBudget)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if next >= m.To {
		next = 0
	}
	return sc.events, next, nil
}

// walk feeds the readings of a device to a scan, at most budget of them. It
// returns how many there were, and where to continue, 0 at the end.
func walk(ctx context.Context, q db.Querier, device int64, sc *scan, budget int) (looked int, next int64, err error) {
	back, err := samplesBack(ctx, q, sc.back(device))
	if err != nil {
		return 0, 0, err
	}
	for _, x := range back {
		sc.add(x)
	}
	more, last := true, sc.from
	looked, err = eachSample(ctx, q, span{device, sc.from, min(sc.to+maxFollow.Milliseconds(), sc.last), budget}, func(x sample) bool {
		last = x.at
		sc.see(x)
		if x.speaks() {
			sc.add(x)
			more = sc.wants(x.at) // a reading that says nothing may come before one that tells of an event in the range
		}
		return more
	})
	switch {
	case err != nil:
		return looked, 0, err
	case len(sc.events) == sc.limit:
		return looked, sc.after(), nil
	case more && looked == budget:
		return looked, sc.pause(last), nil
	case more:
		sc.rest()
	}
	return looked, 0, nil
}

// back is the part before the range that a scan begins with: enough to decide
// whether an event that is under way began earlier, or a day, to judge such
// events whole.
func (s *scan) back(device int64) span {
	if s.earlier {
		return span{device, max(s.first, s.from-max(s.d.rules.lookBack(), maxFollow.Milliseconds())), s.from, pastBudget}
	}
	return span{device, max(s.first, s.from-s.d.rules.lookBack()), s.from, backBudget}
}

// Gaps lists the gaps of a device that touch a range. m.At is the reading to
// begin after, 0 on the first page; next the one to continue after, 0 at the
// end.
func (s *Service) Gaps(ctx context.Context, id string, m mark, from int64, limit int) (gaps []Gap, next int64, err error) {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return nil, 0, err
	}
	g := &gapWalk{interval: configurationOf(t.e).interval(), prev: m.At, to: m.To, limit: limit}
	err = db.Look(ctx, s.db, func(q db.Querier) error {
		if m.At == 0 {
			if g.prev, err = before(ctx, q, t.NID, from); err != nil {
				return err
			}
		}
		first := max(from, g.prev+1)
		looked, err := eachTime(ctx, q, span{t.NID, first, latest(), s.cfg.ScanBudget}, g.add)
		if err == nil && !g.done {
			next = g.rest(looked == s.cfg.ScanBudget, s.cfg.Now().UnixMilli())
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if len(g.gaps) == limit && g.prev < m.To {
		next = g.prev
	}
	return g.gaps, next, nil
}

// latest is after every reading there can be.
func latest() int64 { return 1 << 62 }

// gapWalk gathers the gaps between times that come in order.
type gapWalk struct {
	interval time.Duration
	prev, to int64 // prev is 0 before the first reading of all
	limit    int
	gaps     []Gap
	done     bool // no more times are wanted
}

func (g *gapWalk) add(at int64) bool {
	if g.prev != 0 {
		if gap, ok := gapBetween(g.interval, g.prev, at); ok && g.prev < g.to {
			g.gaps = append(g.gaps, gap)
		}
	}
	g.prev = at
	g.done = at >= g.to || len(g.gaps) == g.limit
	return !g.done
}

// rest ends the walk before the end of the range: there were no more readings,
// or enough was looked at. It returns where to continue.
func (g *gapWalk) rest(paused bool, now int64) int64 {
	if paused {
		return g.prev
	}
	if gap, ok := gapBetween(g.interval, g.prev, now); ok && g.prev != 0 && g.prev < g.to {
		gap.Open = true
		g.gaps = append(g.gaps, gap)
		g.prev = g.to
	}
	return 0
}

// Status reports the health of a device.
func (s *Service) Status(ctx context.Context, id string) (*Status, error) {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return nil, err
	}
	clock := s.cfg.Now()
	out, now := &Status{DeviceID: t.DID, StoveID: target(t.e, stoveRole, clock)}, clock.UnixMilli()
	interval := configurationOf(t.e).interval()
	err = db.Look(ctx, s.db, func(q db.Querier) error {
		st, err := findStatus(ctx, q, t.NID)
		if err != nil {
			return err
		}
		out.Battery, out.Signal, out.LastSync, out.LastReceivedAt = st.battery, st.signal, known(st.lastSync), known(st.received)
		oldest, newest, err := ends(ctx, q, t.NID)
		if err != nil || oldest == 0 {
			return err
		}
		out.LastReadingAt = moment(newest)
		if out.Completeness.LastDay, err = complete(ctx, q, span{t.NID, max(oldest, now-dayMS), now, s.cfg.ScanBudget}, interval); err != nil {
			return err
		}
		out.Completeness.LastMonth, err = complete(ctx, q, span{t.NID, max(oldest, now-30*dayMS), now, s.cfg.ScanBudget}, interval)
		return err
	})
	return out, err
}

func known(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return moment(ms)
}

// complete is the completeness of a span, of its newest part when it holds
// more than its limit.
func complete(ctx context.Context, q db.Querier, sp span, interval time.Duration) (*float64, error) {
	n, first, err := count(ctx, q, sp)
	if err != nil {
		return nil, err
	}
	if n == sp.limit {
		sp.from = first
	}
	share := completeness(interval, n, sp.from, sp.to)
	return &share, nil
}
