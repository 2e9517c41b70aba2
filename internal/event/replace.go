package event

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const replaceOne = `UPDATE events SET type = $3, subject = $4, revision = 0, actor = $5, request_id = '', data = '', subject_key = $6, actor_key = $7
	WHERE ws = $1 AND seq = $2`

// Replace replaces the events after a number that is selects by other events,
// each with its number and its time: what they were about was removed whole, and
// the numbers must have no gap. It is for demo data; Forget forgets a person. It
// can be repeated.
func (l *Log) Replace(ctx context.Context, ws string, after int64, by Event, is func(Item) bool) error {
	if err := l.numberAll(ctx, ws); err != nil {
		return err
	}
	by.Actor = cmp.Or(by.Actor, system)
	for {
		var some []int64
		seen := 0
		rows, err := l.db.Query(ctx, selectAfter, ws, after, forgetChunk)
		err = each(rows, err, func(it Item) bool {
			seen, after = seen+1, it.Seq
			if it.Type != by.Type && is(it) {
				some = append(some, it.Seq)
			}
			return true
		})
		if err != nil || seen == 0 {
			return err
		}
		if len(some) == 0 {
			continue
		}
		err = l.db.InTx(ctx, func(tx *db.Tx) error {
			for _, seq := range some {
				if _, err := tx.Exec(ctx, replaceOne, ws, seq, by.Type, by.Subject, by.Actor, subjectKey(ws, by.Subject), key(ws, by.Actor)); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, emptyAnswer, ws, seq); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("replace events: %w", err)
		}
	}
}
