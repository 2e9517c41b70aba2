package search_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// BenchmarkList reads pages of a store of HEARTH_BENCH_ROWS twins, 10,000 by
// default. A page must cost the same in a store of any size.
func BenchmarkList(b *testing.B) {
	n := 10_000
	if text := os.Getenv("HEARTH_BENCH_ROWS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for name, open := range map[string]func(testing.TB, ...dbtest.Option) *db.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			v := newEnv(b, open(b))
			v.load(b, n)
			for _, bb := range []struct {
				name string
				q    entity.Query
			}{
				{"first", entity.Query{}},
				{"middle", entity.Query{After: &entity.Place{NID: int64(n / 2)}}},
				{"last", entity.Query{After: &entity.Place{NID: 51}}},
				{"equal, one", entity.Query{Filter: "eq(properties.serial,S77)"}},
				{"equal, 10 %", entity.Query{Filter: "eq(properties.model,M3)"}},
				{"in", entity.Query{Filter: "in(properties.model,M3,M4,M5)"}},
				{"two filters", entity.Query{Filter: "and(eq(properties.model,M3),eq(properties.serial,S78))"}},
				{"two common that never meet", entity.Query{Type: "Stove", Filter: "and(eq(properties.model,M3),eq(properties.notes,x))"}},
				{"sorted range", entity.Query{Protocol: cooking, Sort: "properties.serial", Filter: "ge(properties.serial,S5)"}},
				{"updated", entity.Query{Sort: "-updated"}},
				{"not indexed, no match", entity.Query{Filter: "eq(properties.notes,x)"}},
				{"like, no match", entity.Query{Filter: "like(metadata.name,*nothing*)"}},
			} {
				b.Run(bb.name, func(b *testing.B) {
					c := ctx(b, "ws")
					for b.Loop() {
						if _, err := v.s.List(c, v.d, bb.q); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// load fills a store with n copies of one twin.
func (v *env) load(b *testing.B, n int) {
	b.Helper()
	r := v.store(b, ctx(b, "ws"), entity.Draft{
		Type: "Stove", Protocol: cooking, Metadata: object(b, map[string]any{"name": "Stove of a household"}),
		Properties: object(b, map[string]any{"serial": "SERIAL", "model": "MODEL", "manufacturer": "Works", "efficiency": 55.5, "fuel_type": "ethanol", "notes": strings.Repeat("words ", 30)}),
	})[0]
	const series = `WITH RECURSIVE s(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM s WHERE i < $2) `
	for from := 1; from <= n; from += 50_000 {
		to := min(from+49_999, n)
		for text, args := range map[string][]any{
			series + `INSERT INTO entities SELECT i, ws, 'did:ixo:entity:' || i, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded, chosen,
				type_key, protocol_key, project_key, status_key, created_at + i, updated_at + i, rev_action, rev_actor, rev_request, rev_reason, rev_hash,
				replace(replace(replace(body, 'SERIAL', 'S' || i), 'MODEL', 'M' || (i % 10)), did, 'did:ixo:entity:' || i) FROM s, entities WHERE did = $3`: {from, to, r.DID},
			series + `INSERT INTO entity_props SELECT CAST($3 AS BIGINT), 'sS' || i, i FROM s`:        {from, to, entity.PropID("ws", cooking, "serial")},
			series + `INSERT INTO entity_props SELECT CAST($3 AS BIGINT), 'sM' || (i % 10), i FROM s`: {from, to, entity.PropID("ws", cooking, "model")},
		} {
			if _, err := v.d.Exec(b.Context(), text, args...); err != nil {
				b.Fatal(fmt.Errorf("load: %w", err))
			}
		}
	}
	if v.d.Dialect() == db.Postgres {
		if _, err := v.d.Exec(b.Context(), `ANALYZE`); err != nil {
			b.Fatal(err)
		}
	}
}
