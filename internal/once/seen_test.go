package once_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/once"
)

// TestForgottenKeys: a process that has never met a key, or met too many since,
// still gives the first answer, and reads it without a transaction afterwards.
func TestForgottenKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		first := f.send("/v1/things", "w/ann", "k-1", `{}`)
		f.shop.store = once.New(once.Config{DB: d, Key: serverKey(t, "k")}) // as after a restart
		for i := range 3 {
			before := d.Stats().Callers
			got := f.send("/v1/things", "w/ann", "k-1", `{}`)
			if !got.replayed || got.body != first.body {
				t.Errorf("answer %d = %d %s, replayed %v; want the first one, %s", i, got.status, got.body, got.replayed, first.body)
			}
			if n := d.Stats().Callers - before; i > 0 && n != 0 {
				t.Errorf("answer %d made %d transactions, want none", i, n)
			}
		}
		if got := f.send("/v1/things", "w/ann", "k-1", `{"mode":"b"}`); got.status != 422 {
			t.Errorf("the key for another request = %d, want 422", got.status)
		}
		f.wantCounts(t, 1, 1)
	})
}

// BenchmarkOnce is a use case of one row, with a new key each time and with
// none.
func BenchmarkOnce(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		b.Run(fmt.Sprintf("key %v", keyed), func(b *testing.B) {
			f := newFixture(b, dbtest.SQLite(b))
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					key := ""
					if keyed {
						key = db.NewID()
					}
					if got := f.send("/v1/things", "w/ann", key, `{}`); got.status != 202 {
						b.Errorf("status %d", got.status)
					}
				}
			})
		})
	}
}
