//go:build unix

package entity_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// BenchmarkStoreTogether is what it costs to store the prepared twins of 64
// callers at once. The clock depends on who else is at work; compare
// the CPU time.
func BenchmarkStoreTogether(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	id := v.publish(b, "ws", `{"type":"Protocol","name":"bench","properties":{"serial":{"type":"string","indexed":true},"model":{"type":"string","indexed":true},
		"power":{"type":"number","indexed":true},"installed":{"type":"string","indexed":true},"note":"string","bucket":"integer"},"relationships":{}}`)
	ctx := as(b, "ws", "owner")
	list := make([]*entity.Prepared, b.N)
	for n := range list {
		p, err := v.s.Prepare(ctx, entity.Draft{Type: "Stove", Protocol: id, Properties: object(fmt.Sprintf(
			`{"serial":"SN-%08d","model":"M%d","power":%d,"installed":"2026-0%d-01","bucket":%d,"note":%q}`,
			n, n%10, n%1000, n%9+1, n%100, strings.Repeat("a household stove ", 18)))})
		if err != nil {
			b.Fatal(err)
		}
		list[n] = p
	}
	const callers = 64
	var next atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before, stats := cpuTime(b), v.d.Stats()
	for range callers {
		all.Go(func() {
			for n := next.Add(1); int(n) <= len(list); n = next.Add(1) {
				if _, err := v.s.Store(ctx, list[n-1]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/1e3, "CPU-µs/op")
	after := v.d.Stats()
	b.ReportMetric(float64(after.Callers-stats.Callers)/float64(after.Commits-stats.Commits), "callers/commit")
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
