package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// BenchmarkPrepare is what a create costs before the writer sees it.
func BenchmarkPrepare(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	id := v.publish(b, "ws", `{"type":"Protocol","name":"bench","properties":{"serial":{"type":"string","indexed":true},"model":{"type":"string","indexed":true},
		"power":{"type":"number","indexed":true},"installed":{"type":"string","indexed":true},"note":"string","bucket":"integer"},"relationships":{}}`)
	d := entity.Draft{Type: "Stove", Protocol: id, Properties: object(fmt.Sprintf(
		`{"serial":"SN-00000001","model":"M1","power":7,"installed":"2026-01-01","bucket":7,"note":%q}`, strings.Repeat("a household stove ", 18)))}
	ctx := as(b, "ws", "owner")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.s.Prepare(ctx, d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCreate is the whole, by many at once: they share commits.
func BenchmarkCreate(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	d := draftOf("clean-cooking")
	d.Properties = object(`{"serial":"SN-00000001","model":"M1"}`)
	ctx := as(b, "ws", "owner")
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := v.s.Create(ctx, d); err != nil {
				b.Error(err)
			}
		}
	})
}
