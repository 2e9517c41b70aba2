package event

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// forgetChunk is how many events lose their data in one transaction.
const forgetChunk = 200

const (
	nextOfSubject = `SELECT count(*), coalesce(max(seq), 0) FROM (SELECT seq FROM events
		WHERE subject_key = $1 AND ws = $2 AND subject = $3 AND seq > $4 ORDER BY seq LIMIT $5) AS part`
	emptySubject = `UPDATE events SET data = ''
		WHERE subject_key = $1 AND ws = $2 AND subject = $3 AND seq > $4 AND seq <= $5 AND data <> ''`
	// What receivers answered to such an event may repeat it.
	emptyAnswers = `UPDATE webhook_deliveries SET answer = '' WHERE webhook IN (SELECT id FROM webhooks WHERE ws = $2)
		AND seq IN (SELECT seq FROM events WHERE subject_key = $1 AND ws = $2 AND subject = $3 AND seq > $4 AND seq <= $5) AND answer <> ''`
	emptyAnswer = `UPDATE webhook_deliveries SET answer = '' WHERE webhook IN (SELECT id FROM webhooks WHERE ws = $1) AND seq = $2 AND answer <> ''`
)

// Forget removes the data from all events about a subject and returns how many
// had some. The fact that they happened, and when, stays: the numbers have no
// gap. It is for a subject whose own data is erased.
func (l *Log) Forget(ctx context.Context, ws, subject string) (int64, error) {
	if err := l.number(ctx, ws); err != nil {
		return 0, err
	}
	var sum int64
	for after := int64(0); ; {
		var found, last, changed int64
		err := l.db.InTx(ctx, func(tx *db.Tx) (err error) {
			changed = 0
			row := tx.QueryRow(ctx, nextOfSubject, subjectKey(ws, subject), ws, subject, after, forgetChunk)
			if err := row.Scan(&found, &last); err != nil || found == 0 {
				return err
			}
			if _, err := tx.Exec(ctx, emptyAnswers, subjectKey(ws, subject), ws, subject, after, last); err != nil {
				return err
			}
			changed, err = tx.Exec(ctx, emptySubject, subjectKey(ws, subject), ws, subject, after, last)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("forget data of events: %w", err)
		}
		if found == 0 {
			return sum, nil
		}
		sum, after = sum+changed, last
	}
}
