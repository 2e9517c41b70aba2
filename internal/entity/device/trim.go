package device

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	// One device after the other, reading only its oldest reading.
	selectSenders = `SELECT device FROM device_status WHERE device > $1 ORDER BY device LIMIT $2`
	deleteOldest  = `DELETE FROM device_readings WHERE device = $1 AND at < $2 AND at < $3`
	selectNth     = `SELECT at FROM device_readings WHERE device = $1 AND at < $2 ORDER BY at LIMIT 1 OFFSET $3`
	selectOpen    = `SELECT device FROM device_status WHERE trimmed < $1 ORDER BY trimmed, device LIMIT $2`
	updateTrimmed = `UPDATE device_status SET trimmed = $2 WHERE device = $1 AND trimmed < $2`
)

// Expire removes readings of whole days before a moment, whose figures are kept, at most
// limit and all of one device, and returns how many it removed. Calling it until it
// removes none visits every device once. Days that wait to be recomputed keep their
// readings. Readings of the last days before the cut stay, as far as an event extends
// over midnight: otherwise the first day that can be recomputed would count it again. On
// PostgreSQL it drops whole months, when they are over, and removes single readings only
// from before months were kept.
func (s *days) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	s.sweep.Lock()
	defer s.sweep.Unlock()
	cut := day(before.UnixMilli())
	if s.swept == 0 {
		if gone, err := s.dropMonths(ctx, cut); err != nil || gone {
			return 1, err
		}
	}
	if s.past != 0 {
		cut = min(cut, day(s.past)+reachOfEvent)
	}
	for {
		devices, err := s.senders(ctx, s.swept, devicesTaken)
		if err != nil {
			return 0, err
		}
		if len(devices) == 0 {
			s.swept = 0
			return 0, nil
		}
		for _, device := range devices {
			oldest, err := oneTime(s.db.QueryRow(ctx, selectOldest, device))
			if err != nil {
				return 0, err
			}
			if oldest != 0 && oldest < (cut-reachOfEvent)*dayMS {
				n, err := s.trim(ctx, device, cut, limit)
				if err != nil || n > 0 {
					return n, err // there may be more of it
				}
			}
			s.swept = device
		}
	}
}

// months describes the partition of readings by months.
func (s *days) months() db.Parts {
	return db.Parts{DB: s.db, Table: "device_readings", By: "at", Key: "device, at"}
}

// MakeMonths partitions the readings by months from now on, and makes the partitions
// ahead.
func (s *days) MakeMonths(ctx context.Context) error { return s.months().Make(ctx) }

// dropMonths removes the months whose last day is final for every device, or becomes so,
// and reports whether there were any. A device with days that wait to be recomputed keeps
// all.
func (s *days) dropMonths(ctx context.Context, cut int64) (bool, error) {
	end, past, err := s.months().Until(ctx, (cut-reachOfEvent)*dayMS)
	s.past = past
	if err != nil || end == 0 {
		return false, err
	}
	final := day(end) + reachOfEvent
	for {
		devices, err := open(ctx, s.db, final, devicesTaken)
		if err != nil {
			return false, err
		}
		for _, device := range devices {
			if waits, err := s.finalise(ctx, device, final); err != nil || waits {
				return false, err
			}
		}
		if len(devices) == 0 {
			break
		}
	}
	return s.months().Drop(ctx, end, func(q db.Querier) (bool, error) {
		devices, err := open(ctx, q, final, 1)
		return len(devices) > 0, err
	})
}

// open lists devices whose days before a number are not final.
func open(ctx context.Context, q db.Querier, final int64, limit int) ([]int64, error) {
	rows, err := q.Query(ctx, selectOpen, final, limit)
	return db.Collect(rows, err, "list devices", db.Column[int64])
}

// finalise makes the days of a device before a number final, unless some of them wait to
// be recomputed.
func (s *days) finalise(ctx context.Context, device, final int64) (waits bool, err error) {
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		waits = false
		if _, err := relock(ctx, tx, device); err != nil {
			return err
		}
		from, to, err := lockWaiting(ctx, tx, device)
		if waits = from <= to && from < final; err != nil || waits {
			return err
		}
		_, err = tx.Exec(ctx, updateTrimmed, device, final)
		return db.Wrap("trim readings", err)
	})
	return waits, err
}

func (s *days) senders(ctx context.Context, after int64, limit int) ([]int64, error) {
	rows, err := s.db.Query(ctx, selectSenders, after, limit)
	return db.Collect(rows, err, "list devices", db.Column[int64])
}

// trim removes the oldest readings of a device. Its days from the first one up to
// the cut become final.
func (s *days) trim(ctx context.Context, device, cut int64, limit int) (int, error) {
	var n int64
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		n = 0
		if _, err := relock(ctx, tx, device); err != nil {
			return err
		}
		if from, to, err := lockWaiting(ctx, tx, device); err != nil || from <= to && from < cut {
			return err
		}
		if _, err := tx.Exec(ctx, updateTrimmed, device, cut); err != nil {
			return fmt.Errorf("trim readings: %w", err)
		}
		until := (cut - reachOfEvent) * dayMS
		end, err := oneTime(tx.QueryRow(ctx, selectNth, device, until, limit))
		if err != nil {
			return err
		}
		if end == 0 {
			end = until
		}
		n, err = tx.Exec(ctx, deleteOldest, device, until, end)
		return db.Wrap("trim readings", err)
	})
	return int(n), err
}

// since leaves out the readings of final days, because their figures cannot be
// recomputed. It does not change p.
func (p *parcel) since(first int64) *parcel {
	if first == 0 {
		return p
	}
	out := *p
	out.rows, out.refused = nil, append([]refusal{}, p.refused...)
	for _, r := range p.rows {
		if r.at >= first*dayMS {
			out.rows = append(out.rows, r)
			continue
		}
		out.refused = append(out.refused, refusal{r.index, []fault.Field{{
			Pointer: readingAt(r.index) + "/timestamp", Code: "out_of_range", Detail: "Readings before " + moment(first*dayMS).Format(time.DateOnly) + " are no longer kept, only the figures of their days.",
		}}})
	}
	return &out
}
