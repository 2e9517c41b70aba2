package device

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Bounds of a correction.
const (
	maxCorrected = 1000 // readings
	maxReason    = 1000 // characters
)

// CorrectionDraft says which readings of a device are wrong, and why.
type CorrectionDraft struct {
	Reason   string         `json:"reason" doc:"Why, for the history: one line of at most 1,000 characters." example:"The sensor hung beside the stove."`
	Readings []ReadingDraft `json:"readings,omitzero" doc:"What is right. Each replaces the reading of the same time."`
	Withdraw *WithdrawDraft `json:"withdraw,omitzero" doc:"Readings that are removed without replacement."`
}

// WithdrawDraft is a range of readings to withdraw.
type WithdrawDraft struct {
	From string `json:"from" doc:"Time of the first reading that is removed (RFC 3339)." example:"2024-02-20T08:00:00Z"`
	To   string `json:"to" doc:"End of the range, not included." example:"2024-02-20T10:00:00Z"`
}

// fix is a checked correction.
type fix struct {
	reason   string
	rows     []row // in the order of time
	from, to int64 // what is withdrawn; 0 to 0 is nothing
}

// check reads a correction. It is stored whole or not at all, because its
// sender reads the answer.
func (d CorrectionDraft) check(now time.Time) (fix, error) {
	var c fault.Checks
	c.Require(d.Reason != "", "/reason")
	check.Short(&c, "/reason", d.Reason, maxReason)
	if len(d.Readings) == 0 && d.Withdraw == nil {
		c.Add("", "required", "A correction has readings, withdraw, or both.")
	}
	if len(d.Readings) > maxCorrected {
		c.Add("/readings", "too_many", "A correction has at most 1000 readings.")
		return fix{}, notCorrect(c)
	}
	f := fix{reason: d.Reason}
	p := &parcel{}
	for i, x := range d.Readings {
		r := x.check(&c, readingAt(i), now)
		r.index = i
		p.rows = append(p.rows, r)
	}
	p.sort()
	for _, r := range p.refused {
		c.Add(r.fields[0].Pointer, r.fields[0].Code, r.fields[0].Detail)
	}
	f.rows = p.rows
	if w := d.Withdraw; w != nil {
		c.Require(w.From != "", "/withdraw/from")
		c.Require(w.To != "", "/withdraw/to")
		f.from, f.to = checkTime(&c, "/withdraw/from", w.From, now), checkTime(&c, "/withdraw/to", w.To, now)
		if w.From != "" && w.To != "" && f.to <= f.from {
			c.Add("/withdraw/to", "out_of_range", "The end must be after the beginning.")
		}
		for _, r := range f.rows {
			if r.at >= f.from && r.at < f.to {
				c.Add(readingAt(r.index), "conflict", "The reading is in the range that is withdrawn.")
			}
		}
	}
	return f, notCorrect(c)
}

func notCorrect(c fault.Checks) error {
	return c.Err("CORRECTION_INVALID", "The correction is not valid. Nothing was changed.")
}

// Correct replaces and withdraws readings. The old values stay in the history,
// and everything derived from readings is updated. Sending the same correction
// again changes nothing. Faults: CORRECTION_INVALID, also for a time that never
// had a reading; ENTITY_NOT_FOUND, DEVICE_DEACTIVATED.
func (s *Service) Correct(ctx context.Context, id string, d CorrectionDraft) (web.Reply[CorrectionOutcome], error) {
	var none web.Reply[CorrectionOutcome]
	now := s.cfg.Now()
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return none, err
	}
	f, err := d.check(now)
	if err != nil {
		return none, err
	}
	cr := &correcting{s: s, t: t, f: f, now: now.UnixMilli(), actor: web.CallerFrom(ctx).DID}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[CorrectionOutcome], error) {
		out, err := cr.run(ctx, tx)
		return web.Reply[CorrectionOutcome]{Value: out, Status: http.StatusOK}, err
	})
}

// correcting is a correction on its way into the store. run may run twice, so it
// changes nothing here.
type correcting struct {
	s     *Service
	t     *subject
	f     fix
	now   int64
	actor string
}

func (cr *correcting) run(ctx context.Context, tx *db.Tx) (CorrectionOutcome, error) {
	var out CorrectionOutcome
	have, err := relock(ctx, tx, cr.t.NID)
	if err != nil {
		return out, err
	}
	if ok, err := alive(ctx, tx, cr.t.Workspace, cr.t.NID); err != nil {
		return out, err
	} else if !ok {
		return out, deactivated()
	}
	var touched []int64
	c := cr.f.past(have.trimmed)
	for part := range slices.Chunk(cr.f.rows, perStatement) {
		some, err := cr.replace(ctx, tx, part, &c)
		if err != nil {
			return out, err
		}
		touched = append(touched, some...)
		out.Corrected += len(some)
		out.Unchanged += len(part) - len(some)
	}
	if err := notCorrect(c); err != nil {
		return out, err
	}
	gone, err := cr.withdraw(ctx, tx)
	if err != nil {
		return out, err
	}
	out.Withdrawn = len(gone)
	if touched = append(touched, gone...); len(touched) == 0 {
		return out, nil
	}
	slices.Sort(touched)
	if err := cr.s.follow(ctx, tx, cr.t, touched); err != nil {
		return out, err
	}
	return out, cr.s.cfg.Events.Append(ctx, tx, event.Event{Type: "device.readings_corrected", Subject: cr.t.DID, Data: corrected{
		out.Corrected, out.Withdrawn, moment(touched[0]), moment(touched[len(touched)-1]),
	}})
}

// past names the parts of a correction that are before the days that are kept:
// readings of those days are gone, and their figures are final.
func (f fix) past(first int64) (c fault.Checks) {
	const gone = "The readings of this time are no longer kept, and the figures of their days are final."
	if len(f.rows) > 0 && f.rows[0].at < first*dayMS {
		c.Add("/readings", "out_of_range", gone)
	}
	if f.to > 0 && f.from < first*dayMS {
		c.Add("/withdraw/from", "out_of_range", gone)
	}
	return c
}

// corrected is what the event log keeps about a correction.
type corrected struct {
	Corrected int       `json:"corrected"`
	Withdrawn int       `json:"withdrawn"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
}

// replace replaces readings and returns the times that have changed. A
// withdrawn reading may come back.
func (cr *correcting) replace(ctx context.Context, tx *db.Tx, part []row, c *fault.Checks) ([]int64, error) {
	stored, err := findRows(ctx, tx, cr.t.NID, part)
	if err != nil {
		return nil, err
	}
	past, err := findPast(ctx, tx, cr.t.NID, part)
	if err != nil {
		return nil, err
	}
	var touched []int64
	for _, r := range part {
		have, ok := stored[r.at]
		switch {
		case !ok && len(past[r.at]) == 0:
			c.Add(readingAt(r.index), "not_found", "The device has no reading for this time. Send new ones to /readings.")
			continue
		case ok && r.same(have):
			continue
		case ok:
			err = updateRow(ctx, tx, cr.t.NID, r)
		default:
			_, err = insertRows(ctx, tx, cr.t.NID, []row{r})
		}
		if err == nil {
			err = cr.note(ctx, tx, change{at: r.at, was: have, had: ok})
		}
		if err != nil {
			return nil, err
		}
		touched = append(touched, r.at)
	}
	return touched, nil
}

// withdraw removes the readings of the range and returns their times.
func (cr *correcting) withdraw(ctx context.Context, tx *db.Tx) ([]int64, error) {
	if cr.f.from == cr.f.to {
		return nil, nil
	}
	rows, err := listRows(ctx, tx, span{cr.t.NID, cr.f.from, cr.f.to, maxCorrected + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) > maxCorrected {
		var c fault.Checks
		c.Add("/withdraw/to", "too_many", "The range holds more than 1000 readings. Withdraw them in several steps.")
		return nil, notCorrect(c)
	}
	var gone []int64
	for _, r := range rows {
		if err := removeRow(ctx, tx, cr.t.NID, r.at); err != nil {
			return nil, err
		}
		if err := cr.note(ctx, tx, change{at: r.at, was: r, had: true, gone: true}); err != nil {
			return nil, err
		}
		gone = append(gone, r.at)
	}
	return gone, nil
}

// note stores the earlier value for a time before it changes.
func (cr *correcting) note(ctx context.Context, tx *db.Tx, c change) error {
	c.device, c.nid, c.actor, c.reason, c.changed = cr.t.NID, cr.s.db.NewNID(), cr.actor, cr.f.reason, cr.now
	return insertChange(ctx, tx, c)
}

// Corrections lists what was changed in the readings of a device, in the order of
// their times. next is where to continue, nil at the end.
func (s *Service) Corrections(ctx context.Context, id string, from changeMark, limit int) (items []Correction, next *changeMark, err error) {
	t, err := s.find(ctx, s.db, id, deviceIs)
	if err != nil {
		return nil, nil, err
	}
	all, err := listChanges(ctx, s.db, t.NID, from, limit+1)
	if err != nil {
		return nil, nil, err
	}
	if len(all) > limit {
		all = all[:limit]
		next = &changeMark{all[limit-1].at, all[limit-1].nid}
	}
	for _, c := range all {
		one := Correction{Timestamp: moment(c.at), Withdrawn: c.gone, Reason: c.reason, By: c.actor, Time: moment(c.changed)}
		if c.had {
			was, err := c.was.reading()
			if err != nil {
				return nil, nil, err
			}
			one.Was = &was
		}
		items = append(items, one)
	}
	return items, next, nil
}

// change is a reading before it was corrected or withdrawn.
type change struct {
	device, at, nid int64
	was             row
	had             bool // there was a reading; false for one that comes back
	gone            bool
	actor, reason   string
	changed         int64
}

// changeMark is where a list of changes continues: after one change of a
// reading.
type changeMark struct {
	At  int64 `json:"at"`
	NID int64 `json:"nid"`
}

const (
	updateReading = `UPDATE device_readings SET temperature = $3, data = $4 WHERE device = $1 AND at = $2`
	deleteReading = `DELETE FROM device_readings WHERE device = $1 AND at = $2`
	insertChanged = `INSERT INTO device_reading_changes (device, at, nid, temperature, data, had, gone, actor, reason, changed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	selectChanges = `SELECT at, nid, temperature, data, had, gone, actor, reason, changed_at FROM device_reading_changes
		WHERE device = $1 AND (at, nid) > ($2, $3) ORDER BY at, nid LIMIT $4`
	selectPast = `SELECT at, temperature, data FROM device_reading_changes WHERE device = $1 AND had <> 0 AND at IN (
		$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`
	selectChanged = `SELECT 1 FROM device_reading_changes WHERE device = $1 ORDER BY at, nid LIMIT 1`
)

func updateRow(ctx context.Context, tx *db.Tx, device int64, r row) error {
	_, err := tx.Exec(ctx, updateReading, device, r.at, temperature(r.temp), r.data)
	return db.Wrap("correct reading", err)
}

func removeRow(ctx context.Context, tx *db.Tx, device, at int64) error {
	_, err := tx.Exec(ctx, deleteReading, device, at)
	return db.Wrap("withdraw reading", err)
}

func insertChange(ctx context.Context, tx *db.Tx, c change) error {
	_, err := tx.Exec(ctx, insertChanged, c.device, c.at, c.nid, temperature(c.was.temp), c.was.data, db.Bit(c.had), db.Bit(c.gone), c.actor, c.reason, c.changed)
	return db.Wrap("note correction", err)
}

func listChanges(ctx context.Context, q db.Querier, device int64, after changeMark, limit int) ([]change, error) {
	rows, err := q.Query(ctx, selectChanges, device, after.At, after.NID, limit)
	return db.Collect(rows, err, "list corrections", func(c *change, row db.Row) error {
		var had, gone int64
		err := row.Scan(&c.at, &c.nid, &c.was.temp, &c.was.data, &had, &gone, &c.actor, &c.reason, &c.changed)
		c.was.at, c.had, c.gone = c.at, had != 0, gone != 0
		return err
	})
}

// wasChanged reports whether any reading of a device was ever corrected or
// withdrawn.
func wasChanged(ctx context.Context, q db.Querier, device int64) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectChanged, device), "look for corrections")
}

// findPast reads what was stored before for the times of at most perStatement
// readings.
func findPast(ctx context.Context, q db.Querier, device int64, rows []row) (map[int64][]row, error) {
	args := make([]any, 1, 1+perStatement)
	args[0] = device
	for i := range perStatement {
		args = append(args, rows[min(i, len(rows)-1)].at)
	}
	found, err := q.Query(ctx, selectPast, args...)
	out := map[int64][]row{}
	err = db.Each(found, err, "find corrected readings", func(from db.Row) error {
		var r row
		if err := from.Scan(&r.at, &r.temp, &r.data); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		out[r.at] = append(out[r.at], r)
		return nil
	})
	return out, err
}

// corrections serves the routes of corrections.
type corrections struct{ *Service }

func (s corrections) serveCorrect(ctx context.Context, in *struct {
	one
	Body CorrectionDraft
},
) (web.Reply[CorrectionOutcome], error) {
	return s.Correct(ctx, in.DID, in.Body)
}

func (s corrections) serveCorrections(ctx context.Context, in *struct {
	one
	web.Paging
},
) (web.Reply[web.Page[Correction]], error) {
	var from changeMark
	return web.List(ctx, s.cfg.Cursors, in.Paging, &from, func(limit int) ([]Correction, *changeMark, error) {
		return s.Corrections(ctx, in.DID, from, limit)
	})
}
