package webhook

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// job is a delivery this process has taken on.
type job struct {
	hook      string
	seq       int64
	attempts  int   // this one counted
	at        int64 // when it was made first (ms), which says where its row is
	createdAt time.Time
	owner     string // of the lease
	ws        string
	blank     bool // its event never has data, and is about no person
}

// lease says who takes deliveries of a webhook, how many, and until when.
type lease struct {
	hook       string
	owner      string
	now, until time.Time
	limit      int
}

const (
	// "+ 0" keeps the outer test of next_at from walking over all that is due.
	claimDueSQLite = `UPDATE webhook_deliveries SET next_at = $3, lease_owner = $4, attempts = attempts + 1
		WHERE webhook = $1 AND status = 'pending' AND next_at + 0 <= $2 AND seq IN (
			SELECT seq FROM webhook_deliveries WHERE webhook = $1 AND status = 'pending' AND next_at <= $2 ORDER BY next_at, seq LIMIT $5)
		RETURNING seq, at, attempts, created_at`
	// SKIP LOCKED gives two who claim at once different rows, and neither waits. It is
	// MATERIALIZED so that the planner cannot run it twice and lock more.
	claimDuePostgres = `WITH due AS MATERIALIZED (
			SELECT seq AS due_seq, at AS due_at FROM webhook_deliveries WHERE webhook = $1 AND status = 'pending' AND next_at <= $2
			ORDER BY next_at, seq LIMIT $5 FOR UPDATE SKIP LOCKED)
		UPDATE webhook_deliveries SET next_at = $3, lease_owner = $4, attempts = attempts + 1
		FROM due WHERE webhook = $1 AND seq = due_seq AND at = due_at
		RETURNING seq, at, attempts, created_at`
	selectNextDue = `SELECT next_at FROM webhook_deliveries WHERE webhook = $1 AND status = 'pending' ORDER BY next_at, seq LIMIT 1`
)

// claim takes deliveries that are due, as many as there is room for at once.
func claim(ctx context.Context, d *db.DB, l lease) ([]job, error) {
	var jobs []job
	err := d.InTx(ctx, func(tx *db.Tx) error {
		var rows db.Rows
		var err error
		if d.Dialect() == db.SQLite {
			rows, err = tx.Query(ctx, claimDueSQLite, l.hook, l.now.UnixMilli(), l.until.UnixMilli(), l.owner, l.limit)
		} else {
			rows, err = tx.Query(ctx, claimDuePostgres, l.hook, l.now.UnixMilli(), l.until.UnixMilli(), l.owner, l.limit)
		}
		jobs, err = db.Collect(rows, err, "read deliveries", func(j *job, row db.Row) error {
			var created int64
			err := row.Scan(&j.seq, &j.at, &j.attempts, &created)
			j.hook, j.owner, j.createdAt = l.hook, l.owner, time.UnixMilli(created)
			return err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return jobs, nil
}

// nextDue returns when the next delivery of a webhook may be taken, false when
// none is pending.
func nextDue(ctx context.Context, q db.Querier, id string) (time.Time, bool, error) {
	var at int64
	err := q.QueryRow(ctx, selectNextDue, id).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	} else if err != nil {
		return time.Time{}, false, fmt.Errorf("find next delivery: %w", err)
	}
	return time.UnixMilli(at), true, nil
}

// A receiver that answered 2xx has the event, whoever holds the lease now;
// everything else counts only for the holder.
const (
	markDelivered = `UPDATE webhook_deliveries SET status = 'delivered', lease_owner = '', last_status = $3, last_error = '', updated_at = $4, done_at = $4, answer = ''
		WHERE webhook = $1 AND seq = $2 AND at = $5 AND status = 'pending'`
	markRetry = `UPDATE webhook_deliveries SET next_at = $5, lease_owner = '', last_status = $3, last_error = $4, updated_at = $6, answer = ''
		WHERE webhook = $1 AND seq = $2 AND at = $8 AND status = 'pending' AND lease_owner = $7`
	markDead = `UPDATE webhook_deliveries SET status = 'dead', lease_owner = '', last_status = $3, last_error = $4, updated_at = $5, done_at = $5, answer = ''
		WHERE webhook = $1 AND seq = $2 AND at = $7 AND status = 'pending' AND lease_owner = $6`
	// An answer may repeat what was sent. If the data of the event was
	// forgotten meanwhile, the answer comes too late to be kept.
	keepAnswer = `UPDATE webhook_deliveries SET answer = $3 WHERE webhook = $1 AND seq = $2 AND at = $6
		AND EXISTS (SELECT 1 FROM events WHERE ws = $4 AND seq = $2 AND (data <> '' OR $5))`
	releaseJob = `UPDATE webhook_deliveries SET next_at = $3, lease_owner = '', attempts = attempts - 1
		WHERE webhook = $1 AND seq = $2 AND at = $5 AND status = 'pending' AND lease_owner = $4`
)

func setDelivered(ctx context.Context, q db.Querier, j job, a attempt) error {
	n, err := q.Exec(ctx, markDelivered, j.hook, j.seq, a.status, a.at.UnixMilli(), j.at)
	if err == nil && n > 0 {
		err = keep(ctx, q, j, a.answer)
	}
	return wrapMark(err)
}

func setRetry(ctx context.Context, q db.Querier, j job, a attempt, at time.Time) error {
	n, err := q.Exec(ctx, markRetry, j.hook, j.seq, a.status, a.err, at.UnixMilli(), a.at.UnixMilli(), j.owner, j.at)
	if err == nil && n > 0 {
		err = keep(ctx, q, j, a.answer)
	}
	return wrapMark(err)
}

func setDead(ctx context.Context, q db.Querier, j job, a attempt) error {
	n, err := q.Exec(ctx, markDead, j.hook, j.seq, a.status, a.err, a.at.UnixMilli(), j.owner, j.at)
	if err == nil && n > 0 {
		err = keep(ctx, q, j, a.answer)
	}
	return wrapMark(err)
}

// ofNobody reports whether events of a type are about no person. Other events
// without data may have had some that was forgotten: what a receiver says to them
// is not kept.
func ofNobody(typ string) bool {
	area, _, _ := strings.Cut(typ, ".")
	return slices.Contains([]string{"key", "job", "webhook", "workspace", "protocol", "template", "demo"}, area)
}

// keep keeps the answer to an attempt.
func keep(ctx context.Context, q db.Querier, j job, answer string) error {
	if answer == "" {
		return nil
	}
	_, err := q.Exec(ctx, keepAnswer, j.hook, j.seq, answer, j.ws, j.blank, j.at)
	return err
}

// release gives a job back as if it had not been taken.
func release(ctx context.Context, q db.Querier, j job, now time.Time) error {
	_, err := q.Exec(ctx, releaseJob, j.hook, j.seq, now.UnixMilli(), j.owner, j.at)
	return wrapMark(err)
}

func wrapMark(err error) error {
	if err != nil {
		return fmt.Errorf("mark delivery: %w", err)
	}
	return nil
}

const (
	selectDeliveries = `SELECT seq, type, status, attempts, next_at, last_status, last_error, created_at, updated_at
		FROM webhook_deliveries WHERE webhook = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	selectDeliveriesBy = `SELECT seq, type, status, attempts, next_at, last_status, last_error, created_at, updated_at
		FROM webhook_deliveries WHERE webhook = $1 AND status = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`
)

// deliveryQuery asks for deliveries of a webhook; status "" is all.
type deliveryQuery struct {
	hook, status string
	before       int64
	limit        int
}

// listDeliveries reads from the newest event back, one more than limit when
// there is.
func listDeliveries(ctx context.Context, q db.Querier, d deliveryQuery) ([]Delivery, error) {
	var rows db.Rows
	var err error
	if d.status == "" {
		rows, err = q.Query(ctx, selectDeliveries, d.hook, d.before, d.limit+1)
	} else {
		rows, err = q.Query(ctx, selectDeliveriesBy, d.hook, d.status, d.before, d.limit+1)
	}
	return db.Collect(rows, err, "list deliveries", func(d *Delivery, row db.Row) error { return scanDelivery(d, row) })
}

// scanDelivery reads a delivery, and into more what stands behind it.
func scanDelivery(d *Delivery, row db.Row, more ...any) error {
	var next, created, updated int64
	err := row.Scan(append([]any{&d.Seq, &d.Type, &d.Status, &d.Attempts, &next, &d.LastStatus, &d.LastError, &created, &updated}, more...)...)
	d.CreatedAt, d.UpdatedAt = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
	if d.Status == pending {
		at := time.UnixMilli(next).UTC()
		d.NextAt = &at
	}
	return err
}

const (
	deleteSome = `DELETE FROM webhook_deliveries WHERE webhook = $1 AND seq IN (
		SELECT seq FROM webhook_deliveries WHERE webhook = $1 ORDER BY seq LIMIT $2)`
	deleteExpiredSQLite = `DELETE FROM webhook_deliveries WHERE status <> 'pending' AND (webhook, seq) IN (
		SELECT webhook, seq FROM webhook_deliveries WHERE done_at < $1 ORDER BY done_at LIMIT $2)`
	// All that were made before $3 are in one table.
	deleteExpiredPostgres = `DELETE FROM webhook_deliveries WHERE status <> 'pending' AND at < $3
		AND ctid = ANY (ARRAY(SELECT ctid FROM webhook_deliveries WHERE done_at < $1 AND at < $3 ORDER BY done_at LIMIT $2))`
	// What was made before the end of a week may be under way then, or sent again later.
	notOver = `SELECT * FROM webhook_deliveries WHERE status = 'pending' AND at < $1
		UNION ALL SELECT * FROM webhook_deliveries WHERE done_at >= $1 AND status <> 'pending' AND at < $1`
)

// Parts describes the partition of deliveries on PostgreSQL: by the week in which
// they were made.
func Parts(d *db.DB) db.Parts {
	return db.Parts{
		DB: d, Table: "webhook_deliveries", By: "at", Key: "webhook, seq, at", Weekly: true, Contract: deliveriesContract, Keep: notOver,
		Indexes: map[string]string{
			"webhook_deliveries_due": "(webhook, next_at, seq) WHERE status = 'pending'", "webhook_deliveries_status": "(webhook, status, seq)",
			"webhook_deliveries_done": "(done_at) WHERE done_at IS NOT NULL",
		},
	}
}

// deliveriesContract is the migration from which on no program takes the event alone for the key.
const deliveriesContract = 112

// removeDeliveries removes at most limit deliveries of a webhook and returns
// how many.
func removeDeliveries(ctx context.Context, q db.Querier, r ref, limit int) (int, error) {
	n, err := q.Exec(ctx, deleteSome, r.id, limit)
	return int(n), db.Wrap("remove deliveries", err)
}

// removeExpired removes deliveries that ended before a time: whole weeks, and at most limit of
// those of before there were weeks, the oldest first.
func removeExpired(ctx context.Context, d *db.DB, before time.Time, limit int) (int, error) {
	dropped, single, err := Parts(d).Expire(ctx, before.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("drop parts of deliveries: %w", err)
	}
	var n int64
	if d.Dialect() == db.SQLite {
		n, err = d.Exec(ctx, deleteExpiredSQLite, before.UnixMilli(), limit)
	} else {
		n, err = d.Exec(ctx, deleteExpiredPostgres, before.UnixMilli(), limit, single)
	}
	if dropped {
		n++
	}
	return int(n), db.Wrap("expire deliveries", err)
}
