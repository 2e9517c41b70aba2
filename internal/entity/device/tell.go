package device

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
)

// quiet is the minimum time between two events about the readings of a device.
// Otherwise devices that send every reading in a separate request would fill
// the event log.
const quiet = time.Hour

// added is the data of the event about new readings.
type added struct {
	Count int64     `json:"count"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
}

// gapped is the data of the event about the gaps they made.
type gapped struct {
	Count   int64 `json:"count"`
	Missing int64 `json:"missing"`
	Gaps    []Gap `json:"gaps"` // the first ten of the last batch
}

// add adds a batch to what the log has not recorded yet. times are sorted.
func (s *standing) add(count int, times []int64, gaps []Gap) {
	if s.count == 0 {
		s.from, s.to = times[0], times[len(times)-1]
	}
	s.count += int64(count)
	s.from, s.to = min(s.from, times[0]), max(s.to, times[len(times)-1])
	s.gaps += int64(len(gaps))
	for _, g := range gaps {
		s.missing += g.Missing
	}
}

// hushed reports whether there was an event about the device within the hour.
func (s *standing) hushed(now time.Time) bool {
	return now.UnixMilli()-s.told < quiet.Milliseconds()
}

// tell appends the events about readings, or postpones them: the first at once,
// those of the following hour when it is over.
func (s *days) tell(ctx context.Context, tx *db.Tx, t *entity.Row, have standing, gaps []Gap) error {
	now := s.cfg.Now()
	if have.hushed(now) {
		return putTold(ctx, tx, t.NID, have)
	}
	err := s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: t.Workspace, Type: "device.readings_added", Subject: t.DID, At: now, Data: added{have.count, moment(have.from), moment(have.to)},
	})
	if err == nil && have.gaps > 0 {
		err = s.cfg.Events.Append(ctx, tx, event.Event{
			Workspace: t.Workspace, Type: "device.reading_gap", Subject: t.DID, At: now,
			Data: gapped{have.gaps, have.missing, append([]Gap{}, gaps[:min(len(gaps), gapsInEvent)]...)},
		})
	}
	if err != nil {
		return err
	}
	return putTold(ctx, tx, t.NID, standing{told: now.UnixMilli()})
}

const selectUntold = `SELECT device FROM device_status WHERE pend_count > 0 AND told_at <= $3 AND device > $1 ORDER BY device LIMIT $2`

// Tell appends the events that have waited for their hour, and returns how many
// devices they are about.
func (s *days) Tell(ctx context.Context) (int, error) {
	n, after := 0, int64(0)
	for {
		rows, err := s.db.Query(ctx, selectUntold, after, devicesTaken, s.cfg.Now().Add(-quiet).UnixMilli())
		waiting, err := db.Collect(rows, err, "list untold devices", db.Column[int64])
		if err != nil || len(waiting) == 0 {
			return n, err
		}
		for _, device := range waiting {
			after = device
			err := s.db.InTx(ctx, func(tx *db.Tx) error {
				have, err := relock(ctx, tx, device)
				if err != nil || have.count == 0 {
					return err
				}
				t, err := twinByNumber(ctx, tx, device)
				if err != nil || t == nil {
					return err
				}
				return s.tell(ctx, tx, t, have, nil)
			})
			if err != nil {
				return n, err
			}
			n++
		}
	}
}
