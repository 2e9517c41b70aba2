//go:build unix

package response_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// BenchmarkSubmit is what the documented response costs by its route, sent by
// 64 callers at once, and what a bare durable insert of the same bytes costs by
// a route as plain. The clock depends on who else is at work; compare the CPU
// time.
func BenchmarkSubmit(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	v.start(b, baseline)
	var n atomic.Int64
	post := func(h http.Handler, path, body string) {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer ws ann")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 201 {
			b.Errorf("%d %s", w.Code, w.Body)
		}
	}
	b.Run("response", func(b *testing.B) {
		together(b, func() {
			i := n.Add(1)
			post(v.h, "/v1/surveys/b/responses", fmt.Sprintf(`{"responseId":"resp_%d","householdId":"did:ixo:household/%d","timestamp":"2024-02-20T10:00:00Z",
				"responses":{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}}}`, i, i))
		})
	})
	if _, err := v.d.Exec(b.Context(), `CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT NOT NULL)`); err != nil {
		b.Fatal(err)
	}
	stored := v.send(b, "ann", "GET /v1/surveys/b/responses?limit=1", "").Body.String()
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := web.ReadBody(w, r, 1<<20)
		if err == nil {
			err = v.d.InTx(r.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(r.Context(), `INSERT INTO bare (id, body) VALUES ($1, $2)`, fmt.Sprint(n.Add(1)), string(body))
				return err
			})
		}
		if err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	})
	b.Run("bare", func(b *testing.B) {
		together(b, func() { post(plain, "/", stored) })
	})
}

// together does b.N things by 64 callers and reports their CPU time.
func together(b *testing.B, f func()) {
	b.Helper()
	const callers = 64
	var next atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	for range callers {
		all.Go(func() {
			for next.Add(1) <= int64(b.N) {
				f()
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e3, "CPU-µs/op")
}

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
