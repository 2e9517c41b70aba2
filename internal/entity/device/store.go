package device

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	// A transaction that adds readings locks the row of the device, so batches
	// of one device are stored one after the other.
	lockDevice = `INSERT INTO device_status (device, battery, signal, last_sync, received_at) VALUES ($1, NULL, '', 0, $2)
		ON CONFLICT (device) DO UPDATE SET received_at = excluded.received_at
		RETURNING told_at, pend_count, pend_from, pend_to, pend_gaps, pend_missing, trimmed`
	// The same lock for transactions that change existing readings.
	lockQuietly = `UPDATE device_status SET last_sync = last_sync WHERE device = $1
		RETURNING told_at, pend_count, pend_from, pend_to, pend_gaps, pend_missing, trimmed`
	updateTold = `UPDATE device_status SET told_at = $2, pend_count = $3, pend_from = $4, pend_to = $5, pend_gaps = $6, pend_missing = $7 WHERE device = $1`
	// An older status never replaces a newer one.
	updateStatus = `UPDATE device_status SET battery = coalesce($2, battery), signal = CASE WHEN $3 = '' THEN signal ELSE $3 END, last_sync = $4
		WHERE device = $1 AND last_sync <= $4`
	selectStatus = `SELECT battery, signal, last_sync, received_at FROM device_status WHERE device = $1`
	selectAlive  = `SELECT 1 FROM entities WHERE nid = $1 AND ws = $2 AND status <> 'deactivated'`
)

// standing is the state of a device beside its readings: what the event log has
// not recorded yet, and from which day on readings are kept.
type standing struct {
	told          int64 // when the last event was appended
	count         int64 // readings not in an event yet
	from, to      int64 // their times
	gaps, missing int64 // gaps they have made
	trimmed       int64 // day before which readings were removed
}

// lock makes this transaction the only one that changes readings of a device, for
// an incoming batch.
func lock(ctx context.Context, tx *db.Tx, device, now int64) (standing, error) {
	return scanStanding(tx.QueryRow(ctx, lockDevice, device, now))
}

// relock is lock for changes that do not come from the device. A device that
// never sent anything has nothing to lock.
func relock(ctx context.Context, tx *db.Tx, device int64) (standing, error) {
	s, err := scanStanding(tx.QueryRow(ctx, lockQuietly, device))
	if errors.Is(err, sql.ErrNoRows) {
		return standing{}, nil
	}
	return s, err
}

func scanStanding(row db.Row) (s standing, err error) {
	return s, db.Wrap("lock device", row.Scan(&s.told, &s.count, &s.from, &s.to, &s.gaps, &s.missing, &s.trimmed))
}

func putTold(ctx context.Context, tx *db.Tx, device int64, s standing) error {
	_, err := tx.Exec(ctx, updateTold, device, s.told, s.count, s.from, s.to, s.gaps, s.missing)
	return db.Wrap("note what was told", err)
}

// alive reports whether the twin of a device can still take readings.
func alive(ctx context.Context, q db.Querier, ws string, device int64) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectAlive, device, ws), "find device")
}

func putStatus(ctx context.Context, q db.Querier, device int64, s *status) error {
	_, err := q.Exec(ctx, updateStatus, device, temperature(s.battery), s.signal, s.lastSync)
	return db.Wrap("store status", err)
}

func findStatus(ctx context.Context, q db.Querier, device int64) (status, error) {
	var s status
	err := q.QueryRow(ctx, selectStatus, device).Scan(&s.battery, &s.signal, &s.lastSync, &s.received)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, fmt.Errorf("find status: %w", err)
	}
	return s, nil
}

const (
	selectOldest = `SELECT at FROM device_readings WHERE device = $1 ORDER BY at LIMIT 1`
	selectNewest = `SELECT at FROM device_readings WHERE device = $1 ORDER BY at DESC LIMIT 1`
	selectBefore = `SELECT at FROM device_readings WHERE device = $1 AND at < $2 ORDER BY at DESC LIMIT 1`
)

// ends returns the times of the oldest and the newest reading, 0 without any.
func ends(ctx context.Context, q db.Querier, device int64) (oldest, newest int64, err error) {
	if oldest, err = oneTime(q.QueryRow(ctx, selectOldest, device)); err != nil || oldest == 0 {
		return 0, 0, err
	}
	newest, err = oneTime(q.QueryRow(ctx, selectNewest, device))
	return oldest, newest, err
}

// before returns the time of the last reading before a moment, 0 without any.
func before(ctx context.Context, q db.Querier, device, at int64) (int64, error) {
	return oneTime(q.QueryRow(ctx, selectBefore, device, at))
}

func oneTime(r db.Row) (int64, error) {
	var at int64
	if err := r.Scan(&at); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find reading: %w", err)
	}
	return at, nil
}

// span is a part of the readings of a device: from inclusive, to exclusive, at
// most limit of them.
type span struct {
	device, from, to int64
	limit            int
}

const (
	selectReadings = `SELECT at, temperature, data FROM device_readings WHERE device = $1 AND at >= $2 AND at < $3 ORDER BY at LIMIT $4`
	selectSamples  = `SELECT at, temperature, data FROM device_readings WHERE device = $1 AND at >= $2 AND at < $3 ORDER BY at LIMIT $4`
	selectBack     = `SELECT at, temperature, data FROM device_readings WHERE device = $1 AND at >= $2 AND at < $3 ORDER BY at DESC LIMIT $4`
	selectTimes    = `SELECT at FROM device_readings WHERE device = $1 AND at >= $2 AND at < $3 ORDER BY at LIMIT $4`
	countReadings  = `SELECT count(*), coalesce(min(at), 0) FROM (
			SELECT at FROM device_readings WHERE device = $1 AND at >= $2 AND at < $3 ORDER BY at DESC LIMIT $4) AS newest`
)

// listRows reads the readings of a span.
func listRows(ctx context.Context, q db.Querier, s span) ([]row, error) {
	rows, err := q.Query(ctx, selectReadings, s.device, s.from, s.to, s.limit)
	return db.Collect(rows, err, "list readings", func(r *row, from db.Row) error {
		return from.Scan(&r.at, &r.temp, &r.data)
	})
}

// eachSample calls f for the readings of a span, including those without
// information about cooking, until f returns false. It returns how many there
// were.
func eachSample(ctx context.Context, q db.Querier, s span, f func(x sample) bool) (int, error) {
	rows, err := q.Query(ctx, selectSamples, s.device, s.from, s.to, s.limit)
	n := 0
	err = db.Each(rows, err, "scan readings", func(row db.Row) error {
		x, err := scanSample(row)
		if err != nil {
			return err
		}
		n++
		if !f(x) {
			return db.ErrStop
		}
		return nil
	})
	return n, err
}

// scanSample reads what a reading says about cooking.
func scanSample(row db.Row) (sample, error) {
	var at int64
	var temp sql.NullFloat64
	var data string
	err := row.Scan(&at, &temp, &data)
	s := sampleOf(at, data)
	s.temp, s.measured = temp.Float64, temp.Valid
	return s, err
}

// samplesBack reads the newest samples of a span, oldest first.
func samplesBack(ctx context.Context, q db.Querier, s span) ([]sample, error) {
	rows, err := q.Query(ctx, selectBack, s.device, s.from, s.to, s.limit)
	var out []sample
	err = db.Each(rows, err, "look back", func(row db.Row) error {
		x, err := scanSample(row)
		if x.speaks() {
			out = append(out, x)
		}
		return err
	})
	slices.Reverse(out)
	return out, err
}

// eachTime calls f for the times of the readings of a span until f returns
// false. It returns how many there were.
func eachTime(ctx context.Context, q db.Querier, s span, f func(at int64) bool) (int, error) {
	rows, err := q.Query(ctx, selectTimes, s.device, s.from, s.to, s.limit)
	n := 0
	var at int64
	err = db.Each(rows, err, "list times", func(row db.Row) error {
		if err := row.Scan(&at); err != nil {
			return err
		}
		if n++; !f(at) {
			return db.ErrStop
		}
		return nil
	})
	return n, err
}

// count counts the newest readings of a span and returns the time of the oldest
// one counted.
func count(ctx context.Context, q db.Querier, s span) (n int, first int64, err error) {
	if err := q.QueryRow(ctx, countReadings, s.device, s.from, s.to, s.limit).Scan(&n, &first); err != nil {
		return 0, 0, fmt.Errorf("count readings: %w", err)
	}
	return n, first, nil
}
