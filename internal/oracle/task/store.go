package task

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	columns  = `nid, id, user_did, owner, title, prompt, cron, zone, status, reason, planned_at, due_at, once_at, waits_since, last_at, last_run, last_error, session, created_at, updated_at`
	listText = `SELECT ` + columns + ` FROM oracle_tasks WHERE user_did = $1 ORDER BY nid DESC LIMIT $2`
	findText = `SELECT ` + columns + ` FROM oracle_tasks WHERE user_did = $1 AND id = $2`
	// Two requests at once must not both find room for one more.
	lockText   = `UPDATE chat_users SET sessions = sessions WHERE user_did = $1`
	countText  = `SELECT count(*) FROM (SELECT 1 FROM oracle_tasks WHERE user_did = $1 LIMIT $2) AS few`
	insertText = `INSERT INTO oracle_tasks(` + columns + `, workspace, did, signed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`
	changeText = `UPDATE oracle_tasks SET title = $3, prompt = $4, cron = $5, zone = $6, status = $7, reason = $8, planned_at = $9, due_at = $10, once_at = $11, owner = $12, updated_at = $13, waits_since = NULL
		WHERE user_did = $1 AND id = $2`
	removeText = `DELETE FROM oracle_tasks WHERE user_did = $1 AND id = $2`
	eraseText  = `DELETE FROM oracle_tasks WHERE workspace = $1 AND did = $2`

	soonestText = `SELECT due_at FROM oracle_tasks WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`
	// Without the owners who have all they may have; their number is bounded.
	dueText      = `SELECT nid, user_did, due_at FROM oracle_tasks WHERE signed = $1 AND due_at <= $2 AND user_did NOT IN ($3, $4, $5, $6, $7, $8, $9, $10) ORDER BY due_at LIMIT $11`
	claimText    = `UPDATE oracle_tasks SET due_at = $3 WHERE nid = $1 AND due_at = $2 RETURNING ` + columns
	postponeText = `UPDATE oracle_tasks SET due_at = $3, waits_since = coalesce(waits_since, $4) WHERE nid = $1 AND due_at = $2`
	// Changes by the owner meanwhile stay; the run is recorded in any case.
	concludeText = `UPDATE oracle_tasks SET status = $3, reason = $4, planned_at = $5, due_at = $5, waits_since = NULL WHERE nid = $1 AND due_at = $2`
	noteText     = `UPDATE oracle_tasks SET last_at = $2, last_run = $3, last_error = $4, session = $5 WHERE nid = $1`
	failText     = `UPDATE oracle_tasks SET last_error = $3 WHERE nid = $1 AND last_run = $2`
)

func (t *task) scan(row db.Row) error {
	var owner, user string
	err := row.Scan(&t.nid, &t.id, &user, &owner, &t.title, &t.prompt, &t.cron, &t.zone, &t.status, &t.reason, &t.planned, &t.due, &t.once, &t.waits,
		&t.last, &t.lastRun, &t.lastError, &t.session, &t.created, &t.updated)
	if err != nil {
		return err
	}
	t.owner, err = decodeOwner(user, owner)
	return err
}

func list(ctx context.Context, q db.Querier, user string, limit int) ([]task, error) {
	rows, err := q.Query(ctx, listText, user, limit)
	return db.Collect(rows, err, "list tasks", (*task).scan)
}

// find reads a task of a user. Another user's task looks like one that does not
// exist.
func find(ctx context.Context, q db.Querier, user, id string) (*task, error) {
	t := &task{}
	err := t.scan(q.QueryRow(ctx, findText, user, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound()
	}
	return t, db.Wrap("find task", err)
}

// insert stores a task, unless the user has one of its id; then that is given.
func insert(ctx context.Context, tx *db.Tx, t *task, limit int) (*task, error) {
	user := t.owner.User
	if err := chat.Meet(ctx, tx, user); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, lockText, user); err != nil {
		return nil, db.Wrap("lock user", err)
	}
	if old, err := find(ctx, tx, user, t.id); !isMissing(err) {
		return old, err
	}
	var n int
	if err := tx.QueryRow(ctx, countText, user, limit).Scan(&n); err != nil {
		return nil, db.Wrap("count tasks", err)
	}
	if n >= limit {
		return nil, plugin.Invalid("You already have %d tasks. Cancel one first.", limit)
	}
	owner, err := encodeOwner(t.owner)
	if err != nil {
		return nil, err
	}
	who := chat.TalkerOf(user)
	_, err = tx.Exec(ctx, insertText, t.nid, t.id, user, owner, t.title, t.prompt, t.cron, t.zone, t.status, t.reason, t.planned, t.due, t.once, t.waits,
		t.last, t.lastRun, t.lastError, t.session, t.created, t.updated, who.In(), who.DID, kind(user))
	return t, db.Wrap("insert task", err)
}

func change(ctx context.Context, tx *db.Tx, t *task) error {
	owner, err := encodeOwner(t.owner)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, changeText, t.owner.User, t.id, t.title, t.prompt, t.cron, t.zone, t.status, t.reason, t.planned, t.planned, t.once, owner, t.updated)
	return db.Wrap("change task", err)
}

func remove(ctx context.Context, d *db.DB, user, id string) error {
	n, err := d.Exec(ctx, removeText, user, id)
	if err == nil && n == 0 {
		return notFound()
	}
	return db.Wrap("remove task", err)
}

// Erase removes the tasks of a person of a workspace.
func Erase(ctx context.Context, tx *db.Tx, workspace, did string) error {
	_, err := tx.Exec(ctx, eraseText, workspace, did)
	return db.Wrap("erase tasks", err)
}

// soonest is when a task comes due next; ok is false when none does.
func soonest(ctx context.Context, q db.Querier) (at int64, ok bool, err error) {
	err = q.QueryRow(ctx, soonestText).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return at, err == nil, db.Wrap("find next task", err)
}

// dueTask is a task that is due, of an owner.
type dueTask struct {
	nid  int64
	user string
	due  int64
}

// due lists the first tasks of a kind of owners that are due, without those of some.
func due(ctx context.Context, d *db.DB, kind int, now int64, without []string) ([]dueTask, error) {
	args := []any{kind, now}
	for i := range atOnce / ofOwner {
		if i < len(without) {
			args = append(args, without[i])
		} else {
			args = append(args, "")
		}
	}
	rows, err := d.Query(ctx, dueText, append(args, choice)...)
	return db.Collect(rows, err, "list tasks that are due", func(t *dueTask, from db.Row) error { return from.Scan(&t.nid, &t.user, &t.due) })
}

// claim takes a due task, until a time; nil when somebody else has it.
func claim(ctx context.Context, d *db.DB, one dueTask, until int64) (*task, error) {
	var t *task
	err := d.InTx(ctx, func(tx *db.Tx) error {
		t = &task{}
		err := t.scan(tx.QueryRow(ctx, claimText, one.nid, one.due, until))
		if errors.Is(err, sql.ErrNoRows) {
			t = nil
			return nil
		}
		return db.Wrap("claim task", err)
	})
	return t, err
}

// postpone has a claimed task looked at again later.
func postpone(ctx context.Context, d *db.DB, t *task, until, now int64) error {
	_, err := d.Exec(ctx, postponeText, t.nid, t.due, until, now)
	return db.Wrap("postpone task", err)
}

// outcome is what becomes of a time of a task.
type outcome struct {
	status, reason string
	next           *int64
	at             int64
	run, failure   string
	session        string
}

// conclude ends a time of a claimed task.
func conclude(ctx context.Context, d *db.DB, t *task, o outcome) error {
	return d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, concludeText, t.nid, t.due, o.status, o.reason, o.next); err != nil {
			return db.Wrap("conclude task", err)
		}
		_, err := tx.Exec(ctx, noteText, t.nid, o.at, o.run, o.failure, o.session)
		return db.Wrap("note run of task", err)
	})
}

// fail notes that the answer of a run failed.
func fail(ctx context.Context, d *db.DB, nid int64, run, failure string) error {
	_, err := d.Exec(ctx, failText, nid, run, failure)
	return db.Wrap("note failed run of task", err)
}
