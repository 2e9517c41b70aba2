package event_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// store stores an event of a workspace at a moment.
func store(ctx context.Context, d *db.DB, l *event.Log, ws string, at time.Time) error {
	return d.InTx(ctx, func(tx *db.Tx) error {
		return l.Append(ctx, tx, event.Event{Workspace: ws, Type: "entity.created", Subject: "did:x:1", At: at})
	})
}

// numbers are those of all events of a workspace, which must follow each other.
func numbers(t *testing.T, l *event.Log, ws string) (first, last int64) {
	t.Helper()
	held, err := l.Range(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	for last = held.Oldest - 1; ; {
		b, err := l.Read(t.Context(), event.Query{Workspace: ws, After: last, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range b.Items {
			if last++; it.Seq != last {
				t.Fatalf("%d follows %d", it.Seq, last-1)
			}
		}
		if !b.HasMore {
			return held.Oldest, last
		}
	}
}

// logbook is a log whose events are of any time.
type logbook struct {
	t *testing.T
	d *db.DB
	l *event.Log
}

func newLogbook(t *testing.T) logbook {
	t.Helper()
	d := dbtest.Postgres(t)
	return logbook{t, d, event.New(event.Config{DB: d, Cursors: web.Cursors{Key: []byte("k")}, Log: dbtest.Log(t)})}
}

// day is noon of a day of 2026, or of January 2027 for the thirteenth month.
func day(month time.Month, day int) time.Time {
	return time.Date(2026, month, day, 12, 0, 0, 0, time.UTC)
}

func (b logbook) add(ws string, n int, at time.Time) {
	b.t.Helper()
	for range n {
		if err := store(b.t.Context(), b.d, b.l, ws, at); err != nil {
			b.t.Fatal(err)
		}
	}
}

// parts does what the sweep does at a moment.
func (b logbook) parts(now time.Time) {
	b.t.Helper()
	p := event.Parts(b.d)
	p.Now = func() time.Time { return now }
	if err := p.Make(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b logbook) expire(before time.Time, want int) {
	b.t.Helper()
	if n, err := b.l.Expire(b.t.Context(), before, 50); err != nil || n != want {
		b.t.Errorf("Expire(%s) = %d, %v, want %d", before, n, err, want)
	}
}

// holds fails unless a workspace has the events between two numbers.
func (b logbook) holds(ws string, first, last int64) {
	b.t.Helper()
	if from, to := numbers(b.t, b.l, ws); from != first || to != last {
		b.t.Errorf("%s has the events %d to %d, want %d to %d", ws, from, to, first, last)
	}
}

// TestParts: events go a quarter at a time, those of before there were quarters one by one,
// and a workspace keeps its newest event and goes on counting.
func TestParts(t *testing.T) {
	t.Parallel()
	b := newLogbook(t)
	b.add("a", 10, day(1, 3))
	b.holds("a", 1, 10)
	b.parts(day(1, 10)) // the past is until July
	b.add("a", 10, day(1, 20))
	b.add("quiet", 3, day(1, 20))
	b.parts(day(7, 5))
	b.add("a", 10, day(7, 6))
	b.holds("a", 1, 30)
	b.holds("quiet", 1, 3)
	b.expire(day(1, 10), 10)
	b.expire(day(1, 10), 0)
	b.holds("a", 11, 30)
	b.add("a", 1, day(10, 2)) // nobody has moved the sequence yet
	b.parts(day(10, 3))
	b.add("a", 5, day(10, 4))
	b.expire(day(9, 20), 1) // the past, at once
	b.holds("a", 21, 36)
	b.holds("quiet", 3, 3)
	b.expire(day(9, 20), 0)
	b.add("quiet", 1, day(10, 4))
	b.holds("quiet", 3, 4)
	b.expire(day(10, 1), 1) // what was kept of the quiet one; the quarter of July has an event that is younger
	b.expire(day(10, 1), 0)
	b.holds("quiet", 4, 4)
	b.holds("a", 21, 36)
	b.expire(day(10, 3), 1)
	b.holds("a", 32, 36)
	b.parts(day(13, 2))
	b.expire(day(13, 1), 1)
	b.add("a", 1, day(13, 3))
	b.holds("a", 36, 37)
}

// TestPartsLeaveNoGap: an event that was committed late has a number above those of events
// that were stored after it. When it goes, so do these.
func TestPartsLeaveNoGap(t *testing.T) {
	t.Parallel()
	b := newLogbook(t)
	b.parts(day(1, 10))
	b.parts(day(7, 5))
	b.parts(day(10, 2))
	b.add("a", 5, day(10, 3))
	b.holds("a", 1, 5)
	var late sync.WaitGroup
	begun, numbered := make(chan struct{}), make(chan struct{})
	late.Go(func() {
		err := b.d.InTx(t.Context(), func(tx *db.Tx) error {
			err := b.l.Append(t.Context(), tx, event.Event{Workspace: "a", Type: "entity.created", Subject: "did:x:late", At: day(12, 29)})
			if err == nil { // what waits is sent: it has its place now
				_, err = tx.Exec(t.Context(), `SELECT 1`)
			}
			close(begun)
			<-numbered
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	if _, err := b.d.Exec(t.Context(), `SELECT setval('events_id_seq', $1)`, db.NIDAt(day(13, 1))); err != nil {
		t.Fatal(err)
	}
	b.add("a", 5, day(13, 2))
	b.holds("a", 1, 10)
	close(numbered)
	late.Wait()
	b.holds("a", 1, 11)
	b.parts(day(13, 2))
	b.expire(day(13, 1), 1)
	b.holds("a", 11, 11)
	b.add("a", 1, day(13, 3))
	b.holds("a", 11, 12)
}

// TestPartsUnderLoad: a log with many events is turned into parts while others write and
// read it: nobody is refused, and each event is there once.
func TestPartsUnderLoad(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	l := event.New(event.Config{DB: d, Cursors: web.Cursors{Key: []byte("k")}, Log: dbtest.Log(t)})
	const before = 100_000
	if _, err := d.Exec(t.Context(), `INSERT INTO events (ws, seq, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		SELECT 'ws', n, 'entity.created', 'did:x:' || n, 1, 'did:x:a', '', $1, '', n, 1 FROM generate_series(1, $2::bigint) AS n`, time.Now().UnixMilli(), before); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), `INSERT INTO event_counters (ws, last) VALUES ('ws', $1)`, before); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var added atomic.Int64
	var all sync.WaitGroup
	for w := range 3 {
		all.Go(func() {
			for !stop.Load() {
				if err := store(t.Context(), d, l, "ws", time.Time{}); err != nil {
					t.Errorf("writer %d is refused: %v", w, err)
					return
				}
				added.Add(1)
			}
		})
	}
	all.Go(func() {
		for after := int64(before); !stop.Load(); {
			b, err := l.Read(t.Context(), event.Query{Workspace: "ws", After: after, Limit: 100})
			if err != nil {
				t.Errorf("a reader is refused: %v", err)
				return
			}
			after = b.Next
		}
	})
	if err := event.Parts(d).Make(t.Context()); err != nil {
		t.Error(err)
	}
	tick := time.Tick(time.Millisecond)
	for want := added.Load() + 50; added.Load() < want && !t.Failed(); {
		<-tick
	}
	stop.Store(true)
	all.Wait()
	if first, last := numbers(t, l, "ws"); first != 1 || last != before+added.Load() {
		t.Errorf("events %d to %d, want all of %d", first, last, before+added.Load())
	}
	if made, err := event.Parts(d).Made(t.Context()); err != nil || !made {
		t.Errorf("Made() = %v, %v", made, err)
	}
	for _, name := range []string{"events_seq", "events_fresh", "events_subject", "events_actor"} {
		var valid bool
		if err := d.QueryRow(t.Context(), `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)`, name).Scan(&valid); err != nil || !valid {
			t.Errorf("the index %s is valid: %v, %v", name, valid, err)
		}
	}
	t.Log(added.Load(), "events meanwhile")
}

// TestPartsInOrder: a page of what happened to one subject, or of what one principal did,
// reads no more than the page, however much there is.
func TestPartsInOrder(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	for _, months := range []int{-9, 0} {
		p := event.Parts(d)
		p.Now = func() time.Time { return time.Now().AddDate(0, months, 0) }
		if err := p.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const rows, of = 30_000, 1000 // a thousandth is of the one who is asked for, too few for statistics
	if _, err := d.Exec(t.Context(), `INSERT INTO events (ws, seq, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		SELECT 'ws', n, 'entity.updated', name, 1, name, '', 1, '', key, key FROM
			(SELECT n, CASE n % $2::bigint WHEN 0 THEN 0 ELSE n END AS key, CASE n % $2::bigint WHEN 0 THEN 'did:x:0' ELSE 'did:x:' || n END AS name FROM generate_series(1, $1::bigint) AS n) AS e`, rows, of); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), `ANALYZE events`); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]struct {
		sql  string
		args []any
	}{
		"subject": {event.SelectSubjectBefore, []any{0, "ws", "did:x:0", rows, 5}},
		"actor":   {event.SelectActorBefore, []any{0, "ws", "did:x:0", rows, 0, 5}},
	} {
		err := db.Look(t.Context(), d, func(q db.Querier) error {
			if err := db.InOrder(t.Context(), d, q); err != nil {
				return err
			}
			lines, err := q.Query(t.Context(), "EXPLAIN (ANALYZE) "+ask.sql, ask.args...)
			plan, err := db.Collect(lines, err, "explain", db.Column[string])
			if text := strings.Join(plan, "\n"); strings.Contains(text, "Sort Method") || !strings.Contains(text, "Merge Append") {
				t.Errorf("%s: read as\n%s", name, text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
