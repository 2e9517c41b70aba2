package chat_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// BenchmarkPage is a page of 20 turns, the newest and one in the middle, of
// conversations of 10,000 and 1,000,000 messages.
func BenchmarkPage(b *testing.B) {
	for _, messages := range []int{10_000, 1_000_000} {
		g := newRig(b, dbtest.SQLite(b))
		s := g.session(ann).ID
		turns := messages / 2
		_, err := g.db.Exec(b.Context(), `UPDATE chat_sessions SET turns = $1`, turns)
		for from := 0; err == nil && from < turns; from += 5000 {
			_, err = g.db.Exec(b.Context(), `WITH RECURSIVE t(turn) AS (SELECT $1 UNION ALL SELECT turn + 1 FROM t WHERE turn < $1 + 4999)
				INSERT INTO chat_messages(session, turn, n, body)
				SELECT s.nid, t.turn, n.n, '{"id":"01890000-0000-7000-8000-000000000000","type":"ai","content":"a message of the usual length, which is some eighty characters or so","isComplete":true,"isReasoning":false,"createdAt":"2027-01-15T08:00:00.000Z"}'
				FROM t, chat_sessions s, (SELECT 0 AS n UNION ALL SELECT 1) AS n`, from+1)
		}
		if err != nil {
			b.Fatal(err)
		}
		for name, r := range map[string]chat.Range{"newest": {Limit: 20}, "middle": {Limit: 20, Before: fmt.Sprint(turns / 2)}} {
			b.Run(fmt.Sprintf("%s/%d", name, messages), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if p, err := g.s.Page(b.Context(), ann, s, r); err != nil || len(p.Messages) != 40 {
						b.Fatalf("Page() = %d messages, %v; want 40", len(p.Messages), err)
					}
				}
			})
		}
	}
}
