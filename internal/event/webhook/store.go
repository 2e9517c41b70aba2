package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// hook is the stored row of a webhook.
type hook struct {
	Webhook
	nid        int64
	ws         string
	secret     []byte // sealed
	oldSecret  []byte // sealed; signs too until oldUntil
	oldUntil   time.Time
	seen       int64
	replayNext int64 // 0: nothing to replay
	replayTo   int64
	where      *event.Where // the parsed Filter; nil when there is none, or FilterError says why
}

const (
	insertHook = `INSERT INTO webhooks (nid, ws, id, url, events, description, active, reason, secret, old_secret, old_until,
			revision, created_at, updated_at, seen, replay_next, replay_to, deleted, filter)
		VALUES ($1, $2, $3, $4, $5, $6, $7, '', $8, NULL, 0, 1, $9, $9, $10, 0, 0, $11, $12)`
	selectHook = `SELECT nid, ws, id, url, events, description, active, reason, secret, old_secret, old_until,
			revision, created_at, updated_at, seen, replay_next, replay_to, filter
		FROM webhooks WHERE ws = $1 AND id = $2 AND NOT deleted`
	selectHooks = `SELECT nid, ws, id, url, events, description, active, reason, secret, old_secret, old_until,
			revision, created_at, updated_at, seen, replay_next, replay_to, filter
		FROM webhooks WHERE ws = $1 AND nid < $2 AND NOT deleted ORDER BY nid DESC LIMIT $3`
	countHooks = `SELECT count(*) FROM (SELECT 1 FROM webhooks WHERE ws = $1 AND NOT deleted LIMIT $2) AS n`
	updateHook = `UPDATE webhooks SET url = $4, events = $5, description = $6, active = $7, reason = $8, secret = $9, old_secret = $10,
			old_until = $11, revision = revision + 1, updated_at = $12, deleted = $13, filter = $14
		WHERE ws = $1 AND id = $2 AND revision = $3 AND NOT deleted`
)

func insert(ctx context.Context, q db.Querier, h *hook) error {
	types, err := json.Marshal(h.Events)
	if err != nil {
		return fmt.Errorf("encode webhook: %w", err)
	}
	_, err = q.Exec(ctx, insertHook, h.nid, h.ws, h.ID, h.URL, string(types), h.Description, h.Active, h.secret,
		h.CreatedAt.UnixMilli(), h.seen, false, h.Filter)
	return db.Wrap("insert webhook", err)
}

// update stores h over the revision it was read at, and raises it. Positions
// are not touched: the dispatcher moves them meanwhile.
func update(ctx context.Context, q db.Querier, h *hook, deleted bool) error {
	types, err := json.Marshal(h.Events)
	if err != nil {
		return fmt.Errorf("encode webhook: %w", err)
	}
	var until int64
	if h.oldSecret != nil {
		until = h.oldUntil.UnixMilli()
	}
	n, err := q.Exec(ctx, updateHook, h.ws, h.ID, h.Revision, h.URL, string(types), h.Description, h.Active, h.DisabledReason,
		h.secret, h.oldSecret, until, h.UpdatedAt.UnixMilli(), deleted, h.Filter)
	if err != nil {
		return fmt.Errorf("update webhook: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Conflict, "WEBHOOK_CHANGED", "The webhook was changed at the same moment. Try again.")
	}
	h.Revision++
	return nil
}

func find(ctx context.Context, q db.Querier, ws, id string) (*hook, error) {
	h, err := scanHook(q.QueryRow(ctx, selectHook, ws, id))
	return db.Need(h, err, "find webhook", fault.New(fault.NotFound, "WEBHOOK_NOT_FOUND", "No webhook has this id."))
}

// list reads webhooks from the newest back, one more than limit when there is.
func list(ctx context.Context, q db.Querier, ws string, before int64, limit int) ([]*hook, error) {
	rows, err := q.Query(ctx, selectHooks, ws, before, limit+1)
	return db.Collect(rows, err, "list webhooks", func(h **hook, row db.Row) (err error) {
		*h, err = scanHook(row)
		return err
	})
}

// count counts the webhooks of a workspace, up to limit.
func count(ctx context.Context, q db.Querier, ws string, limit int) (int, error) {
	var n int
	if err := q.QueryRow(ctx, countHooks, ws, limit).Scan(&n); err != nil {
		return 0, fmt.Errorf("count webhooks: %w", err)
	}
	return n, nil
}

func scanHook(row db.Row) (*hook, error) {
	var (
		h                       hook
		types                   string
		until, created, updated int64
	)
	err := row.Scan(&h.nid, &h.ws, &h.ID, &h.URL, &types, &h.Description, &h.Active, &h.DisabledReason, &h.secret, &h.oldSecret, &until,
		&h.Revision, &created, &updated, &h.seen, &h.replayNext, &h.replayTo, &h.Filter)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(types), (*[]string)(&h.Events)); err != nil {
		return nil, fmt.Errorf("decode webhook: %w", err)
	}
	h.compile()
	h.oldUntil, h.CreatedAt, h.UpdatedAt = time.UnixMilli(until), time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
	return &h, nil
}

// compile reads the filter. One that an earlier version of the program accepted
// and this one does not is not an error here: the record says so.
func (h *hook) compile() {
	var err error
	h.FilterError = ""
	if h.where, err = event.ParseWhere(h.Filter, "/filter"); err == nil {
		return
	}
	h.FilterError = "The filter cannot be read."
	if f := fault.As(err); f != nil && len(f.Fields) > 0 {
		h.FilterError = f.Fields[0].Detail
	}
}

const (
	selectActiveIn = `SELECT nid, ws, id FROM webhooks WHERE ws = $1 AND active AND NOT deleted`
	selectActive   = `SELECT nid, ws, id FROM webhooks WHERE active AND nid > $1 ORDER BY nid LIMIT $2`
	selectDeleted  = `SELECT nid, ws, id FROM webhooks WHERE deleted ORDER BY nid LIMIT 20`
	deleteHook     = `DELETE FROM webhooks WHERE ws = $1 AND id = $2 AND deleted`
)

// listActiveIn names the active webhooks of a workspace.
func listActiveIn(ctx context.Context, q db.Querier, ws string) ([]ref, error) {
	rows, err := q.Query(ctx, selectActiveIn, ws)
	refs, _, err := scanRefs(rows, err)
	return refs, err
}

// listActive names active webhooks of all workspaces after a place, and gives
// the place of the last.
func listActive(ctx context.Context, q db.Querier, after int64, limit int) ([]ref, int64, error) {
	rows, err := q.Query(ctx, selectActive, after, limit)
	return scanRefs(rows, err)
}

// listDeleted names some webhooks whose rows are to go.
func listDeleted(ctx context.Context, q db.Querier) ([]ref, error) {
	rows, err := q.Query(ctx, selectDeleted)
	refs, _, err := scanRefs(rows, err)
	return refs, err
}

// scanRefs reads the rows of a query, whose error comes with them.
func scanRefs(rows db.Rows, err error) (refs []ref, last int64, _ error) {
	refs, err = db.Collect(rows, err, "list webhooks", func(r *ref, row db.Row) error {
		return row.Scan(&last, &r.ws, &r.id)
	})
	return refs, last, err
}

// remove removes the row of a deleted webhook.
func remove(ctx context.Context, q db.Querier, r ref) error {
	_, err := q.Exec(ctx, deleteHook, r.ws, r.id)
	return db.Wrap("remove webhook", err)
}

// The position of a webhook moves only from where it was read, so of two
// dispatchers that did the same work one stores it, and only while the webhook
// is as it was read: another filter would have picked other events.
const (
	moveSeen    = `UPDATE webhooks SET seen = $4 WHERE ws = $1 AND id = $2 AND seen = $3 AND revision = $5 AND active AND NOT deleted`
	moveReplay  = `UPDATE webhooks SET replay_next = $4 WHERE ws = $1 AND id = $2 AND replay_next = $3 AND revision = $5 AND active AND NOT deleted`
	jumpSeen    = `UPDATE webhooks SET seen = $3 WHERE ws = $1 AND id = $2`
	beginReplay = `UPDATE webhooks SET replay_next = $3, replay_to = $4 WHERE ws = $1 AND id = $2 AND replay_next = 0 AND active AND NOT deleted`
)

// jump puts the position at a number, for a webhook that is switched on.
func jump(ctx context.Context, q db.Querier, h *hook, seq int64) error {
	_, err := q.Exec(ctx, jumpSeen, h.ws, h.ID, seq)
	return db.Wrap("move webhook", err)
}

// startReplay sets the range to send again; false when one is under way.
func startReplay(ctx context.Context, q db.Querier, h *hook, from, to int64) (bool, error) {
	n, err := q.Exec(ctx, beginReplay, h.ws, h.ID, from, to)
	return n > 0, db.Wrap("start replay", err)
}

const (
	// The row of the webhook is locked, so nobody else makes one for the same event.
	insertDelivery = `INSERT INTO webhook_deliveries (webhook, seq, type, status, attempts, next_at, lease_owner, last_status, last_error,
			created_at, updated_at, done_at, at)
		SELECT $1, CAST($2 AS BIGINT), $3, 'pending', 0, CAST($4 AS BIGINT), '', 0, '', CAST($4 AS BIGINT), CAST($4 AS BIGINT), NULL, CAST($4 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries WHERE webhook = $1 AND seq = $2)`
	resetDelivery = `UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_at = $3, lease_owner = '', created_at = $3, updated_at = $3, done_at = NULL
		WHERE webhook = $1 AND seq = $2`
)

// move stores a step of a webhook through the log: the new position and the
// deliveries it brings. It returns false when another dispatcher was first, or
// the webhook was changed meanwhile.
func move(ctx context.Context, d *db.DB, s step) (bool, error) {
	moved := false
	err := d.InTx(ctx, func(tx *db.Tx) error {
		var n int64
		var err error
		if s.replay {
			n, err = tx.Exec(ctx, moveReplay, s.h.ws, s.h.ID, s.from, s.to, s.h.Revision)
		} else {
			n, err = tx.Exec(ctx, moveSeen, s.h.ws, s.h.ID, s.from, s.to, s.h.Revision)
		}
		if moved = n > 0; err != nil || !moved {
			return err
		}
		return insertDeliveries(ctx, tx, s)
	})
	return moved, db.Wrap("queue deliveries", err)
}

func insertDeliveries(ctx context.Context, tx *db.Tx, s step) error {
	for _, it := range s.items {
		if s.replay {
			n, err := tx.Exec(ctx, resetDelivery, s.h.ID, it.Seq, s.at.UnixMilli())
			if err != nil {
				return err
			} else if n > 0 {
				continue
			}
		}
		if _, err := tx.Exec(ctx, insertDelivery, s.h.ID, it.Seq, it.Type, s.at.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// step is one move through the log.
type step struct {
	h        *hook
	replay   bool // in the range to replay, else at the end of the log
	from, to int64
	items    []event.Item
	at       time.Time
}
