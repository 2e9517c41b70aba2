package ussd_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// buffer is a log that many write to.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// TestNothingPersonalIsSaid runs every kind of step, good and bad, with a PIN
// and a number that must not be in the log or among what is counted, and looks
// for the PIN in the store.
func TestNothingPersonalIsSaid(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		var log buffer
		var seen strings.Builder
		l := newLine(t, d, newClock(), func(c *ussd.Config) {
			c.TextMode = wire.Latest
			c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c.Seen = func(s ussd.Step) { fmt.Fprintf(&seen, "%+v\n", s) }
			c.Dropped = func(node string) { seen.WriteString(node) }
		})
		const pin = "73519"
		for _, text := range []string{"", "2", "Jane", "Kisumu", pin, "1", "3", pin, pin, "0", pin, "2", pin, "Jane"} {
			l.send("s1", phone1, text)
		}
		l.SetTrip(func() error { return fmt.Errorf("no %w", wire.Problems{}) })
		l.send("s2", phone1, "3*"+pin)
		l.SetTrip(nil)
		l.send("s3", phone1, "2*Jane*00*"+pin)
		l.send("s4", phone1, "2*Jane*00")
		l.post("/api/ussd", "application/json", `{"sessionId":"s5","phoneNumber":"`+phone1+`","text":"`+pin+`"`)
		l.get("/api/ussd/debug/s1")
		for _, secret := range []string{pin, phone1[4:], "Jane", "Kisumu"} {
			if strings.Contains(log.b.String(), secret) || strings.Contains(seen.String(), secret) {
				t.Errorf("%q is in what was said:\n%s\n%s", secret, log.b.String(), seen.String())
			}
		}
		for _, table := range []string{"ussd_sessions", "ussd_drafts"} {
			var all []byte
			rows, err := d.Query(t.Context(), `SELECT state FROM `+table)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var state []byte
				if err := rows.Scan(&state); err != nil {
					t.Fatal(err)
				}
				all = append(all, state...)
			}
			rows.Close()
			if n := bytes.Count(all, []byte(pin)); n > 0 {
				t.Errorf("the PIN is in %s %d times: %q", table, n, all)
			}
		}
	})
}

// TestHeap has sessions as rows only: what is live in memory does not grow
// with them, and is back to its base when they have expired.
func TestHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("counts bytes of the whole process")
	}
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Sync = "normal" }))
	l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Log = nil })
	const sessions = 5000
	run := func(prefix string) {
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := range sessions / 16 {
					id := fmt.Sprintf("%s-%d-%d", prefix, w, i)
					l.send(id, phone1, "")
					l.send(id, phone1, "1")
				}
			})
		}
		wg.Wait()
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	run("warm")
	before := heap()
	run("more")
	if per := (heap() - before) / sessions; per > 200 {
		t.Errorf("heap grew by %d bytes for each live session, want next to nothing", per)
	}
	l.clock.pass(time.Hour)
	if err := l.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := l.Live(); n != 0 {
		t.Errorf("%d sessions are alive after an hour, want none", n)
	}
	if after := heap(); after > before+before/10 {
		t.Errorf("heap is %d bytes after all have expired, want at most a tenth above %d", after, before)
	}
}
