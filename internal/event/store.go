package event

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// The two inserts differ: SQLite has one writer and numbers at once; on
// PostgreSQL readers do, so that writers never wait for each other. VALUES and
// not SELECT, because SQLite first copies the rows of a SELECT from the table
// it inserts into.
const (
	insertNumbered = `INSERT INTO events (ws, seq, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		VALUES ($1, coalesce((SELECT max(seq) FROM events WHERE ws = $1), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertFresh = `INSERT INTO events (ws, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
)

// eventArgs are the arguments of both.
type eventArgs [10]any

// atArg is the place of the time in them.
const atArg = 6

func argsOf(e *Event, data string) eventArgs {
	return eventArgs{
		e.Workspace, e.Type, e.Subject, e.Revision, e.Actor, e.RequestID, e.At.UnixMilli(), data,
		subjectKey(e.Workspace, e.Subject), key(e.Workspace, e.Actor),
	}
}

func (l *Log) insert(ctx context.Context, tx *db.Tx, args eventArgs) error {
	var err error
	if l.db.Dialect() == db.SQLite {
		err = tx.Send(ctx, insertNumbered, args[:]...)
	} else {
		err = tx.Send(ctx, insertFresh, args[:]...)
	}
	return err
}

const selectAfter = `SELECT seq, type, subject, revision, actor, request_id, at, data
	FROM events WHERE ws = $1 AND seq > $2 ORDER BY seq LIMIT $3`

// The audit view reads from the newest back.
const (
	selectBefore = `SELECT seq, type, subject, revision, actor, request_id, at, data
		FROM events WHERE ws = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`
	selectSubjectBefore = `SELECT seq, type, subject, revision, actor, request_id, at, data
		FROM events WHERE subject_key = $1 AND ws = $2 AND subject = $3 AND seq < $4 ORDER BY seq DESC LIMIT $5`
	selectSubjectAfter = `SELECT seq, type, subject, revision, actor, request_id, at, data
		FROM events WHERE subject_key = $1 AND ws = $2 AND subject = $3 AND seq > $4 ORDER BY seq`
	selectNumber      = `SELECT seq FROM events WHERE subject_key = $1 AND ws = $2 AND subject = $3 AND seq > 0 AND type = $4 AND at = $5 AND data = $6 ORDER BY seq LIMIT 1`
	selectActorBefore = `SELECT seq, type, subject, revision, actor, request_id, at, data
		FROM events WHERE actor_key = $1 AND ws = $2 AND actor = $3 AND seq < $4 AND seq >= $5 ORDER BY seq DESC LIMIT $6`
)

// Two probes: one min and max in a single statement would read every row.
const selectRange = `SELECT coalesce((SELECT min(seq) FROM events WHERE ws = $1 AND seq IS NOT NULL), 0),
	coalesce((SELECT max(seq) FROM events WHERE ws = $1 AND seq IS NOT NULL), 0)`

const selectAt = `SELECT at FROM events WHERE ws = $1 AND seq = $2`

// scan reads one event.
func scan(row db.Row) (Item, error) {
	var (
		it   Item
		at   int64
		data string
	)
	err := row.Scan(&it.Seq, &it.Type, &it.Subject, &it.Revision, &it.Actor, &it.RequestID, &at, &data)
	it.Time = time.UnixMilli(at).UTC()
	if data != "" {
		it.Data = Object{jsontext.Value(data)}
	}
	return it, err
}

// each hands the rows of a query to keep until it returns false, and closes
// them. The error of the query comes with rows, so that calls can be nested.
func each(rows db.Rows, err error, keep func(Item) bool) error {
	return db.Each(rows, err, "read events", func(row db.Row) error {
		it, err := scan(row)
		if err == nil && !keep(it) {
			return db.ErrStop
		}
		return err
	})
}
