package device

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// Bounds of what is recomputed while a batch waits for its answer. Beyond them
// a job does it.
const (
	daysAtOnce   = 40
	fewReadings  = 12          // fewer, from a device that has sent within the hour, wait
	densest      = time.Minute // between two readings
	reachOfEvent = 2           // days to either side that an event is followed
	daysPerTx    = 5
	// readingsAtOnce is how many readings one transaction looks at; the next
	// one takes the other days.
	readingsAtOnce = 50_000
	devicesTaken   = 100 // that wait, in one look
)

// dayRow is what a device saw on one day of UTC in one place. Data that follows
// from readings alone is stored nowhere else; it is recomputed when they
// change.
type dayRow struct {
	device, day    int64
	part           int // counts the places of the day
	place          placement
	project        string
	readings       int64
	expected       int64 // at the sampling rate
	events         int64 // that begin in it
	cooking        int64 // ms
	contradictions int64
	spill          int64 // which of the events extend over midnight
}

// Bits of spill.
const (
	fromYesterday = 1
	intoTomorrow  = 2
)

// days maintains the figures of each day, appends the events about readings,
// and removes readings that have expired.
type days struct {
	cfg Config
	db  *db.DB

	sweep sync.Mutex
	swept int64 // the device whose old readings were looked at last
	past  int64 // the start of the readings kept by months; 0: none are
}

// keeper recomputes the days of one device in a transaction that has its lock.
type keeper struct {
	s     *days
	t     *subject
	parts []placement
	names map[string]string // project of a household or stove
	first int64             // the days before are final: their readings are gone
	look  int64             // readings that were looked at
}

// keeper makes a keeper of a device.
func (s *days) keeper(ctx context.Context, tx *db.Tx, t *subject) (*keeper, error) {
	have, err := relock(ctx, tx, t.NID)
	if err != nil {
		return nil, err
	}
	parts, err := placementsOf(ctx, tx, t.NID)
	return &keeper{s: s, t: t, parts: parts, names: map[string]string{}, first: have.trimmed}, err
}

// follow updates the days of a device after a change in its readings: at once,
// or by the job when it is too much work for a request.
func (s *days) follow(ctx context.Context, tx *db.Tx, t *subject, times []int64) error {
	if len(times) == 0 {
		return nil
	}
	var touched []int64
	for _, at := range times {
		if d := day(at); len(touched) == 0 || touched[len(touched)-1] != d {
			touched = append(touched, d)
		}
	}
	slices.Sort(touched)
	touched = slices.Compact(touched)
	if len(touched) > daysAtOnce || configurationOf(t.e).interval() < densest {
		return markDays(ctx, tx, t.NID, touched[0]-reachOfEvent, touched[len(touched)-1]+reachOfEvent)
	}
	k, err := s.keeper(ctx, tx, t)
	if err != nil {
		return err
	}
	done := map[int64]int64{}
	for _, d := range touched {
		if k.look > readingsAtOnce { // it sends more often than it says
			return markDays(ctx, tx, t.NID, d-reachOfEvent, touched[len(touched)-1]+reachOfEvent)
		}
		if err := k.around(ctx, tx, d, done); err != nil {
			return err
		}
	}
	return nil
}

// around recomputes a day, and its neighbours as far as an event extends over
// midnight, now or before.
func (k *keeper) around(ctx context.Context, tx *db.Tx, d int64, done map[int64]int64) error {
	if err := k.once(ctx, tx, d, done); err != nil {
		return err
	}
	for step, bit := range map[int64]int64{-1: fromYesterday, 1: intoTomorrow} {
		for n := range int64(reachOfEvent) {
			if done[d+n*step]&bit == 0 {
				break
			}
			if err := k.once(ctx, tx, d+(n+1)*step, done); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *keeper) once(ctx context.Context, tx *db.Tx, d int64, done map[int64]int64) error {
	if _, ok := done[d]; ok {
		return nil
	}
	spill, err := k.remake(ctx, tx, d)
	done[d] = spill
	return err
}

// remake recomputes a day and returns which events extended over midnight,
// before and now.
func (k *keeper) remake(ctx context.Context, tx *db.Tx, d int64) (int64, error) {
	if d < k.first {
		return 0, nil
	}
	spill, err := removeDays(ctx, tx, k.t.NID, d)
	if err != nil {
		return 0, err
	}
	for i, p := range k.parts {
		in, ok := p.within(d*dayMS, (d+1)*dayMS)
		if !ok {
			continue
		}
		r, err := k.count(ctx, tx, p, in)
		if err != nil {
			return 0, err
		}
		spill |= r.spill
		k.look += int64(r.readings)
		if r.readings == 0 && r.cooking == 0 {
			continue
		}
		r.device, r.day, r.part = k.t.NID, d, i
		if r.project, err = k.project(ctx, tx, p); err != nil {
			return 0, err
		}
		if err := insertDay(ctx, tx, k.t.Workspace, r); err != nil {
			return 0, err
		}
	}
	return spill, nil
}

// count looks at the readings of one place on one day.
func (k *keeper) count(ctx context.Context, q db.Querier, p, in placement) (dayRow, error) {
	rules := configurationOf(k.t.e).rules()
	r := dayRow{place: p, expected: max(1, (in.to-in.from)/rules.Interval.Milliseconds())}
	sc := newScan(rules, in.from, in.to, k.s.cfg.ScanBudget)
	sc.earlier, sc.first, sc.last = true, p.from, p.to
	sc.saw = func(x sample) {
		if x.at < in.from || x.at >= in.to {
			return
		}
		r.readings++
		if rules.contradicts(x) {
			r.contradictions++
		}
	}
	if _, _, err := walk(ctx, q, k.t.NID, sc, k.s.cfg.ScanBudget); err != nil {
		return r, err
	}
	for _, e := range sc.events {
		start, end := e.Start.UnixMilli(), e.End.UnixMilli()
		if start >= in.from {
			r.events++
		} else {
			r.spill |= fromYesterday
		}
		if end > in.to {
			r.spill |= intoTomorrow
		}
		r.cooking += max(0, min(end, in.to)-max(start, in.from))
	}
	return r, nil
}

// project is the project a day counts for: the device's own, or else that of its
// household or stove on that day.
func (k *keeper) project(ctx context.Context, q db.Querier, p placement) (string, error) {
	if k.t.Project != "" {
		return k.t.Project, nil
	}
	for _, id := range []string{p.household, p.stove} {
		if id == "" {
			continue
		}
		if _, ok := k.names[id]; !ok {
			types, err := typesOf(ctx, q, k.t.Workspace, []string{id})
			if err != nil {
				return "", err
			}
			k.names[id] = types[id].project
		}
		if k.names[id] != "" {
			return k.names[id], nil
		}
	}
	return "", nil
}

// Moved schedules the days of devices to be recomputed whose place or project may differ
// after a twin has changed: the device itself, or the past and present devices of a
// household or stove. A household with more devices than one request looks at is not
// scheduled here: its devices follow with their next readings.
func (s *days) Moved(ctx context.Context, tx *db.Tx, r *entity.Row) error {
	if r.DomainType == deviceIs {
		return markDays(ctx, tx, r.NID, firstDay, lastDay)
	}
	links, err := edgesIn(ctx, tx, r.Workspace, r.NID, place{newest, listBudget})
	if err != nil {
		return err
	}
	left, err := edgesLeft(ctx, tx, r.NID, listBudget)
	if err != nil {
		return err
	}
	for _, l := range append(links, left...) {
		if l.role == householdRole || l.role == stoveRole {
			if err := markDays(ctx, tx, l.src, firstDay, lastDay); err != nil {
				return err
			}
		}
	}
	return nil
}

// Days before the first reading and after the last.
const (
	firstDay = 0
	lastDay  = 1 << 40
)

// Catch recomputes days that wait, some in each transaction, until none does,
// and returns how many there were. A device that fails does not keep others
// waiting: its error is returned at the end.
func (s *days) Catch(ctx context.Context) (int, error) {
	n, after := 0, int64(0)
	var failed error
	for {
		waiting, err := waitingDevices(ctx, s.db, after, devicesTaken)
		if err != nil || len(waiting) == 0 || ctx.Err() != nil {
			return n, errors.Join(failed, err)
		}
		for _, device := range waiting {
			after = device
			for more := true; more; {
				err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
					more, err = s.catchSome(ctx, tx, device)
					return err
				})
				if err != nil {
					failed = errors.Join(failed, err)
					break
				}
				n++
			}
		}
	}
}

// catchSome recomputes some days of a device and reports whether more wait.
func (s *days) catchSome(ctx context.Context, tx *db.Tx, device int64) (bool, error) {
	from, to, err := lockWaiting(ctx, tx, device)
	if err != nil || to < from {
		return false, err
	}
	row, err := twinByNumber(ctx, tx, device)
	if err != nil {
		return false, err
	}
	if row == nil {
		return false, doneWaiting(ctx, tx, device, to+1, to)
	}
	e, err := row.Entity()
	if err != nil {
		return false, err
	}
	k, err := s.keeper(ctx, tx, &subject{row, e})
	if err != nil {
		return false, err
	}
	for range daysPerTx {
		// The next day that has readings, or a row that may be wrong.
		next, err := nextDay(ctx, tx, device, from)
		if err != nil {
			return false, err
		}
		if next > to {
			return false, doneWaiting(ctx, tx, device, to+1, to)
		}
		if _, err := k.remake(ctx, tx, next); err != nil {
			return false, err
		}
		if from = next + 1; k.look > readingsAtOnce {
			break
		}
	}
	return true, doneWaiting(ctx, tx, device, from, to)
}
