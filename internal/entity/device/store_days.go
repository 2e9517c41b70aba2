package device

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

const (
	insertDayRow = `INSERT INTO device_days (device, day, part, ws, project_key, household, stove, readings, expected, events, cooking, contradictions, spill)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	selectSpill = `SELECT spill FROM device_days WHERE device = $1 AND day = $2`
	deleteDay   = `DELETE FROM device_days WHERE device = $1 AND day = $2`
	selectUsage = `SELECT day, device, part, household, stove, readings, expected, events, cooking, contradictions FROM device_days
		WHERE project_key = $1 AND (day, device, part) > ($2, $3, $4) AND day <= $5 ORDER BY day, device, part LIMIT $6`

	updateWaiting = `UPDATE device_status SET dirty_from = CASE WHEN dirty_from < $2 THEN dirty_from ELSE $2 END,
			dirty_to = CASE WHEN dirty_to > $3 THEN dirty_to ELSE $3 END WHERE device = $1`
	selectWaiting = `SELECT device FROM device_status WHERE dirty_from IS NOT NULL AND device > $1 ORDER BY device LIMIT $2`
	// An update that changes nothing serves as the lock.
	takeWaiting = `UPDATE device_status SET dirty_to = dirty_to WHERE device = $1 AND dirty_from IS NOT NULL RETURNING dirty_from, dirty_to`
	stepWaiting = `UPDATE device_status SET dirty_from = $2, dirty_to = $3 WHERE device = $1`

	selectNextReading = `SELECT at FROM device_readings WHERE device = $1 AND at >= $2 ORDER BY at LIMIT 1`
	selectNextDay     = `SELECT day FROM device_days WHERE device = $1 AND day >= $2 ORDER BY day LIMIT 1`
	selectTwin        = `SELECT ` + twinColumns + ` FROM entities WHERE nid = $1`
)

func insertDay(ctx context.Context, tx *db.Tx, ws string, r dayRow) error {
	var project any
	if r.project != "" {
		project = entity.Key(ws, "project", r.project)
	}
	_, err := tx.Exec(ctx, insertDayRow, r.device, r.day, r.part, ws, project, r.place.household, r.place.stove,
		r.readings, r.expected, r.events, r.cooking, r.contradictions, r.spill)
	return db.Wrap("store day", err)
}

// removeDays removes the rows of a day and returns which events extended over
// midnight.
func removeDays(ctx context.Context, tx *db.Tx, device, d int64) (spill int64, err error) {
	rows, err := tx.Query(ctx, selectSpill, device, d)
	err = db.Each(rows, err, "read day", func(row db.Row) error {
		var one int64
		err := row.Scan(&one)
		spill |= one
		return err
	})
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, deleteDay, device, d)
	return spill, db.Wrap("remove day", err)
}

// markDays notes days of a device to recompute. A device that never sent
// anything has none.
func markDays(ctx context.Context, tx *db.Tx, device, from, to int64) error {
	_, err := tx.Exec(ctx, updateWaiting, device, from, to)
	return db.Wrap("mark days", err)
}

func waitingDevices(ctx context.Context, q db.Querier, after int64, limit int) ([]int64, error) {
	rows, err := q.Query(ctx, selectWaiting, after, limit)
	return db.Collect(rows, err, "list waiting devices", db.Column[int64])
}

// lockWaiting locks a device and returns which of its days wait; from is after
// to when none do.
func lockWaiting(ctx context.Context, tx *db.Tx, device int64) (from, to int64, err error) {
	err = tx.QueryRow(ctx, takeWaiting, device).Scan(&from, &to)
	if errors.Is(err, sql.ErrNoRows) {
		return 1, 0, nil
	}
	return from, to, db.Wrap("take waiting days", err)
}

// doneWaiting notes that only days from a number on still wait.
func doneWaiting(ctx context.Context, tx *db.Tx, device, from, to int64) error {
	var first, last any
	if from <= to {
		first, last = from, to
	}
	_, err := tx.Exec(ctx, stepWaiting, device, first, last)
	return db.Wrap("note remade days", err)
}

// nextDay is the first day from a number on that has readings, or rows.
func nextDay(ctx context.Context, q db.Querier, device, from int64) (int64, error) {
	next := int64(lastDay + 1)
	reading, err := oneTime(q.QueryRow(ctx, selectNextReading, device, from*dayMS))
	if err != nil {
		return 0, err
	}
	if reading != 0 {
		// A device may report about the day before.
		next = max(from, day(reading)-1)
	}
	kept, err := oneTime(q.QueryRow(ctx, selectNextDay, device, from))
	if err != nil {
		return 0, err
	}
	if kept != 0 {
		next = min(next, kept)
	}
	return next, nil
}

// twinByNumber reads a twin; nil when there is none.
func twinByNumber(ctx context.Context, q db.Querier, nid int64) (*entity.Row, error) {
	r, err := scanTwin(q.QueryRow(ctx, selectTwin, nid))
	return db.Found(r, err, "find device")
}

// usageMark is where a list of days continues.
type usageMark struct {
	Day    int64 `json:"day"`
	Device int64 `json:"device"`
	Part   int   `json:"part"`
	To     int64 `json:"to"`
}

// listUsage reads days of a project by its key. The caller checks the workspace
// of the devices.
func listUsage(ctx context.Context, q db.Querier, project int64, m usageMark, limit int) ([]dayRow, error) {
	rows, err := q.Query(ctx, selectUsage, project, m.Day, m.Device, m.Part, m.To, limit)
	return db.Collect(rows, err, "list usage", func(r *dayRow, row db.Row) error {
		return row.Scan(&r.day, &r.device, &r.part, &r.place.household, &r.place.stove, &r.readings, &r.expected, &r.events, &r.cooking, &r.contradictions)
	})
}
