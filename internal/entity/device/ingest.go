package device

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	maxGapsShown = 100
	gapsInEvent  = 10
)

// Add stores the good readings of a batch and names the others; when none is
// good the fault is READINGS_INVALID. When a different reading is stored
// already for the same time, nothing is stored; with skip such readings are
// left out and named instead.
//
// Callers that may change twins (entities:write), the device itself, and its
// controllers may add readings.
func (s *Service) Add(ctx context.Context, id string, b Batch, skip bool) (web.Reply[Outcome], error) {
	var none web.Reply[Outcome]
	now := s.cfg.Now()
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return none, err
	}
	if err := maySend(ctx, t); err != nil {
		return none, err
	}
	p, err := b.check(now)
	if err := check.Together(b.names(t, now), err); err != nil {
		return none, err
	}
	st := &storing{s: s, t: t, p: p, skip: skip, now: now, rules: configurationOf(t.e).rules()}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Outcome], error) {
		out, err := st.run(ctx, tx)
		return web.Reply[Outcome]{Value: out, Status: http.StatusOK}, err
	})
}

// maySend refuses callers who may not send readings of a device.
func maySend(ctx context.Context, t *subject) error {
	if c := web.CallerFrom(ctx); !c.May("entities:write") && !controls(c, t.e) {
		return fault.New(fault.Forbidden, "NOT_CONTROLLER", "Only the device, its controllers and callers who may change twins can send its readings.")
	}
	return nil
}

// refused completes the fault of a batch that is not read with everything else
// that can be seen to be wrong. Members that are missing in the readings of
// misfit are not known.
func (s *Service) refused(ctx context.Context, id string, b Batch, misfit error) error {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return err
	}
	now := s.cfg.Now()
	_, err = b.check(now)
	more := fault.As(check.Together(b.names(t, now), err))
	if more == nil {
		return misfit
	}
	why := fault.As(misfit).Fields
	more.Fields = slices.DeleteFunc(slices.Clone(more.Fields), func(f fault.Field) bool {
		return slices.ContainsFunc(why, func(w fault.Field) bool { return strings.HasPrefix(w.Pointer, f.Pointer+"/") })
	})
	return check.Together(misfit, more)
}

// names checks that the batch belongs to this device, because a mix-up of two
// devices would not be noticed afterwards.
func (b Batch) names(t *subject, now time.Time) error {
	var c fault.Checks
	if b.DeviceID != "" && b.DeviceID != t.DID {
		c.Add("/deviceId", "mismatch", "This is not the device in the path.")
	}
	if stove := target(t.e, stoveRole, now); b.StoveID != "" && b.StoveID != stove {
		c.Add("/stoveId", "mismatch", "The device is registered for "+cmp.Or(stove, "none")+" as its stove.")
	}
	return invalid(c)
}

// storing is a batch on its way into the store. run may run twice, so it
// changes nothing here.
type storing struct {
	s     *Service
	t     *subject
	p     *parcel
	skip  bool
	file  bool // it is part of a file
	now   time.Time
	rules Rules
}

// outcome is what is known about a batch before any of it is stored.
func (p *parcel) outcome() Outcome {
	out := Outcome{Duplicates: p.repeats, Conflicts: []Conflict{}, Refused: []Refusal{}, RefusedCount: len(p.refused)}
	for _, r := range p.refused[:min(len(p.refused), maxNamed)] {
		one := Refusal{Index: r.index}
		for _, f := range r.fields {
			one.Errors = append(one.Errors, api.Field{Pointer: f.Pointer, Code: f.Code, Detail: f.Detail})
		}
		out.Refused = append(out.Refused, one)
	}
	return out
}

// contradictions counts the readings in which the device's report disagrees with
// its temperature.
func (st *storing) contradictions(p *parcel) int {
	n := 0
	for _, r := range p.rows {
		if st.rules.contradicts(r.sample()) {
			n++
		}
	}
	return n
}

func (st *storing) run(ctx context.Context, tx *db.Tx) (Outcome, error) {
	have, err := lock(ctx, tx, st.t.NID, st.now.UnixMilli())
	if err != nil {
		return Outcome{}, err
	}
	// It may have been deactivated between the look at it and the lock.
	if ok, err := alive(ctx, tx, st.t.Workspace, st.t.NID); err != nil {
		return Outcome{}, err
	} else if !ok {
		return Outcome{}, deactivated()
	}
	p := st.p.since(have.trimmed)
	if len(p.rows) == 0 && len(st.p.rows) > 0 {
		if st.file {
			return p.outcome(), nil // other parts of it may be good
		}
		return Outcome{}, p.nothing()
	}
	out := p.outcome()
	out.Contradictions = st.contradictions(p)
	oldest, newest, err := ends(ctx, tx, st.t.NID)
	if err != nil {
		return out, err
	}
	if err := st.insert(ctx, tx, p, &out); err != nil {
		return out, err
	}
	if p.status != nil {
		if err := putStatus(ctx, tx, st.t.NID, p.status); err != nil {
			return out, err
		}
	}
	times := make([]int64, len(p.rows))
	for i, r := range p.rows {
		times[i] = r.at
	}
	gaps := st.complete(&out, times, oldest, newest)
	if out.Accepted == 0 {
		return out, nil
	}
	if len(times) < fewReadings && have.hushed(st.now) {
		err = markDays(ctx, tx, st.t.NID, day(times[0])-reachOfEvent, day(times[len(times)-1])+reachOfEvent)
	} else {
		err = st.s.follow(ctx, tx, st.t, times)
	}
	if err != nil {
		return out, err
	}
	have.add(out.Accepted, times, gaps)
	return out, st.s.tell(ctx, tx, st.t.Row, have, gaps)
}

func deactivated() error {
	return fault.New(fault.Conflict, "DEVICE_DEACTIVATED", "The device is deactivated and takes no more readings.")
}

// insert stores the rows of the parcel, some in each statement. Readings that
// were corrected or withdrawn since they were first sent do not come back.
func (st *storing) insert(ctx context.Context, tx *db.Tx, p *parcel, out *Outcome) error {
	changed, err := wasChanged(ctx, tx, st.t.NID)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(p.rows, perStatement) {
		if changed {
			past, err := findPast(ctx, tx, st.t.NID, part)
			if err != nil {
				return err
			}
			sent := len(part)
			part = slices.DeleteFunc(slices.Clone(part), func(r row) bool { return slices.ContainsFunc(past[r.at], r.same) })
			if out.Duplicates += sent - len(part); len(part) == 0 {
				continue
			}
		}
		n, err := insertRows(ctx, tx, st.t.NID, part)
		if err != nil {
			return err
		}
		out.Accepted += n
		if n == len(part) {
			continue
		}
		conflicts, err := st.compare(ctx, tx, part)
		if err != nil {
			return err
		}
		out.Duplicates += len(part) - n - len(conflicts)
		out.Conflicts = append(out.Conflicts, conflicts...)
	}
	if len(out.Conflicts) > 0 && !st.skip {
		return conflict(out.Conflicts)
	}
	return nil
}

// compare finds the rows for whose time a different reading is stored.
func (st *storing) compare(ctx context.Context, tx *db.Tx, part []row) ([]Conflict, error) {
	stored, err := findRows(ctx, tx, st.t.NID, part)
	if err != nil {
		return nil, err
	}
	var out []Conflict
	for _, r := range part {
		if have := stored[r.at]; !r.same(have) {
			shown, err := have.reading()
			if err != nil {
				return nil, err
			}
			out = append(out, Conflict{Index: r.index, Timestamp: moment(r.at), Stored: shown})
		}
	}
	return out, nil
}

// conflict names the readings that clash, the first hundred of them, with what
// is stored.
func conflict(all []Conflict) error {
	f := fault.New(fault.Conflict, "DEVICE_DATA_CONFLICT",
		fmt.Sprintf("%d readings clash with others that are stored for the same time. Nothing was stored.", len(all)))
	for _, c := range all[:min(len(all), maxNamed)] {
		have := "other values"
		if c.Stored.Temperature != nil {
			have = fmt.Sprintf("%v °C", *c.Stored.Temperature)
		}
		f = f.With(fault.Field{
			Pointer: fmt.Sprintf("/readings/%d", c.Index), Code: "conflict",
			Detail: fmt.Sprintf("For %s the device has a reading with %s.", c.Timestamp.Format(web.TimeFormat), have),
		})
	}
	return f
}

// complete fills in the figures about the readings of a device, which had some
// from oldest to newest before, and returns the gaps that the batch has made.
func (st *storing) complete(out *Outcome, times []int64, oldest, newest int64) []Gap {
	last := newest
	if len(times) > 0 {
		last = max(last, times[len(times)-1])
	}
	if last != 0 {
		out.LastReadingAt = moment(last)
	}
	out.Gaps = []Gap{}
	if out.Accepted == 0 {
		return nil
	}
	gaps := newGaps(st.rules.Interval, times, oldest, newest)
	out.Gaps = append(out.Gaps, gaps[:min(len(gaps), maxGapsShown)]...)
	out.MoreGaps = len(gaps) > maxGapsShown
	return gaps
}
