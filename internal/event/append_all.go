package event

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// many is how many events one statement of AppendAll stores.
const many = 10

// Like the two inserts of one event, except that those of SQLite are given
// their numbers: there is one writer, so numbers continue from the last. OR
// IGNORE avoids the journal that SQLite keeps for a statement that could fail
// half way; the row count shows failures.
const (
	selectLast      = `SELECT coalesce(max(seq), 0) FROM events WHERE ws = $1`
	insertTenSQLite = `INSERT OR IGNORE INTO events (ws, seq, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11),
			($1, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21),
			($1, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31),
			($1, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41),
			($1, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51),
			($1, $52, $53, $54, $55, $56, $57, $58, $59, $60, $61),
			($1, $62, $63, $64, $65, $66, $67, $68, $69, $70, $71),
			($1, $72, $73, $74, $75, $76, $77, $78, $79, $80, $81),
			($1, $82, $83, $84, $85, $86, $87, $88, $89, $90, $91),
			($1, $92, $93, $94, $95, $96, $97, $98, $99, $100, $101)`
	insertTenFresh = `INSERT INTO events (ws, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10),
			($1, $11, $12, $13, $14, $15, $16, $17, $18, $19),
			($1, $20, $21, $22, $23, $24, $25, $26, $27, $28),
			($1, $29, $30, $31, $32, $33, $34, $35, $36, $37),
			($1, $38, $39, $40, $41, $42, $43, $44, $45, $46),
			($1, $47, $48, $49, $50, $51, $52, $53, $54, $55),
			($1, $56, $57, $58, $59, $60, $61, $62, $63, $64),
			($1, $65, $66, $67, $68, $69, $70, $71, $72, $73),
			($1, $74, $75, $76, $77, $78, $79, $80, $81, $82),
			($1, $83, $84, $85, $86, $87, $88, $89, $90, $91)`
)

// AppendAll is AppendPrepared for many events of one workspace, some in each
// statement.
func (l *Log) AppendAll(ctx context.Context, tx *db.Tx, events []*Prepared) error {
	for part := range slices.Chunk(events, many) {
		if len(part) < many {
			for _, e := range part {
				if err := l.AppendPrepared(ctx, tx, e); err != nil {
					return err
				}
			}
			continue
		}
		if err := l.appendMany(ctx, tx, part); err != nil {
			return fmt.Errorf("append events: %w", err)
		}
	}
	return nil
}

// appendMany appends as many events as the statements take.
func (l *Log) appendMany(ctx context.Context, tx *db.Tx, events []*Prepared) error {
	ws := events[0].ws
	lite, last := l.db.Dialect() == db.SQLite, int64(0)
	if lite {
		if err := tx.QueryRow(ctx, selectLast, ws).Scan(&last); err != nil {
			return err
		}
	}
	args := append(make([]any, 0, 1+10*many), ws)
	for _, e := range events {
		if e.ws != ws {
			return errors.New("they are not of one workspace")
		}
		if last++; lite {
			args = append(args, last)
		}
		one := e.args
		if e.now {
			one[atArg] = l.cfg.Now().UnixMilli()
		}
		args = append(args, one[1:]...)
	}
	n, err := int64(many), error(nil)
	if lite {
		n, err = tx.Exec(ctx, insertTenSQLite, args...)
	} else {
		err = tx.Send(ctx, insertTenFresh, args...)
	}
	if err == nil && n != many {
		err = fmt.Errorf("a number after %d is taken", last-many)
	}
	if err != nil {
		return err
	}
	tx.AfterCommit(func() { l.stored(ws) })
	return nil
}

// check refuses an event that is a mistake of the program, and encodes its
// data.
func (e *Event) check() (data string, err error) {
	if err := checkType(e.Type); err != nil {
		return "", err
	}
	if len(e.Subject) > maxSubject {
		return "", fmt.Errorf("event subject has %d bytes, at most %d", len(e.Subject), maxSubject)
	}
	return encodeData(e.Data)
}
