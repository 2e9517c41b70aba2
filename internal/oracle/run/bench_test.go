//go:build unix

package run_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// bench makes a manager with the real clock on a store with real commits.
func bench(b *testing.B, change ...func(*run.Config)) (*chat.Store, *run.Manager) {
	b.Helper()
	key, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		b.Fatal(err)
	}
	d := dbtest.SQLite(b)
	c := chat.New(chat.Config{DB: d, Key: key})
	cfg := run.Config{DB: d, Chat: c, Alone: true, PerCaller: 1 << 20}
	for _, f := range change {
		f(&cfg)
	}
	m, err := run.New(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	return c, m
}

func newSession(b *testing.B, c *chat.Store) string {
	b.Helper()
	s, err := c.CreateSession(b.Context(), ann)
	if err != nil {
		b.Fatal(err)
	}
	return s.ID
}

// BenchmarkToken is one token of a run: made a frame, stored in its segment,
// and carried to a joined client.
func BenchmarkToken(b *testing.B) {
	c, m := bench(b, func(c *run.Config) { c.MaxBytes = 1 << 40 })
	s := newSession(b, c)
	b.ReportAllocs()
	st, err := m.Start(b.Context(), message(ann, s, "hi"), func(_ context.Context, r *run.Run) run.Result {
		for b.Loop() {
			if err := r.Text(" token"); err != nil {
				b.Error(err)
			}
		}
		return run.Result{}
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := m.Join(b.Context(), ann, st.RunID, 0, func(run.Frame) error { return nil }); err != nil {
		b.Fatal(err)
	}
	if err := m.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTurn is a streamed turn of 100 tokens by a model that needs no
// time, one after the other.
func BenchmarkTurn(b *testing.B) {
	c, m := bench(b)
	s := newSession(b, c)
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		st, err := m.Start(b.Context(), message(ann, s, "hi"), func(_ context.Context, r *run.Run) run.Result {
			for range 100 {
				if err := r.Text(" token"); err != nil {
					b.Error(err)
				}
			}
			return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: strings.Repeat(" token", 100)}}}
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Join(b.Context(), ann, st.RunID, 0, func(run.Frame) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
	if err := m.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFirstToken is the time from a message to its first token with a
// joined client: one durable commit and little else.
func BenchmarkFirstToken(b *testing.B) {
	c, m := bench(b)
	s := newSession(b, c)
	var first time.Duration
	n := 0
	for b.Loop() {
		st, err := m.Start(b.Context(), message(ann, s, "hi"), func(_ context.Context, r *run.Run) run.Result {
			_ = r.Text("a")
			return run.Result{}
		})
		if err != nil {
			b.Fatal(err)
		}
		stored := time.Now()
		err = m.Join(b.Context(), ann, st.RunID, 0, func(f run.Frame) error {
			if f.ID == 2 {
				first += time.Since(stored)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(first.Microseconds())/float64(n), "µs-after-commit")
	if err := m.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLoad is 200 runs of 50 tokens a second for three seconds, with a
// joined client each: rows a second, and CPU a token beyond the same load that
// stores nothing before its end.
func BenchmarkLoad(b *testing.B) {
	const runs, rate, seconds = 200, 50, 3
	load := func(store bool) (perToken, rows float64) {
		c, m := bench(b, func(c *run.Config) {
			if !store {
				c.Flush, c.Segment = time.Hour, 1<<30
			}
		})
		begin := cpu()
		var wg sync.WaitGroup
		for range runs {
			s := newSession(b, c)
			wg.Go(func() {
				st, err := m.Start(b.Context(), message(ann, s, "hi"), func(_ context.Context, r *run.Run) run.Result {
					tick := time.NewTicker(time.Second / rate)
					defer tick.Stop()
					for range rate * seconds {
						<-tick.C
						_ = r.Text(" token")
					}
					return run.Result{}
				})
				if err != nil {
					b.Error(err)
					return
				}
				_ = m.Join(b.Context(), ann, st.RunID, 0, func(run.Frame) error { return nil })
			})
		}
		wg.Wait()
		used := cpu() - begin
		n := run.Rows(b.Context(), m)
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		return float64(used.Nanoseconds()) / 1000 / (runs * rate * seconds), float64(n) / seconds
	}
	for b.Loop() {
		bare, _ := load(false)
		with, rows := load(true)
		b.ReportMetric(rows, "rows/s")
		b.ReportMetric(bare, "µs/token-bare")
		b.ReportMetric(with-bare, "µs/token-storing")
	}
}
