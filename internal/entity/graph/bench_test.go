package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
)

// bareEdges is what the walk is measured against: the edges it answers with.
const bareEdges = `SELECT nid, src_did, dst_did, role, since, until FROM relationships WHERE src = $1 AND removed_at IS NULL ORDER BY nid LIMIT $2`

func bare(b *testing.B, d *db.DB, nid int64, n int) {
	b.Helper()
	rows, err := d.Query(b.Context(), bareEdges, nid, n)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	got := 0
	for rows.Next() {
		var id int64
		var from, to, role string
		var since, until *int64
		if err := rows.Scan(&id, &from, &to, &role, &since, &until); err != nil {
			b.Fatal(err)
		}
		got++
	}
	if rows.Err() != nil || got != n {
		b.Fatalf("read %d edges, want %d: %v", got, n, rows.Err())
	}
}

// BenchmarkHub walks 1,000 twins from a hub with 10,000 edges and prints how
// many times the bare SQL of the same edges that takes; the bar is 3.
func BenchmarkHub(b *testing.B) {
	for name, open := range map[string]func(testing.TB, ...dbtest.Option) *db.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b))
			r.hub(b, 10_000, 10_000)
			if r.db.Dialect() == db.Postgres { // does so by itself in time
				if _, err := r.db.Exec(b.Context(), "ANALYZE"); err != nil {
					b.Fatal(err)
				}
			}
			ctx := as(b.Context(), ann)
			var walk, sql, render time.Duration
			for b.Loop() {
				start := time.Now()
				bare(b, r.db, r.nids["w did:x:hub"], 999)
				sql += time.Since(start)
				start = time.Now()
				g, err := r.Subgraph(ctx, graph.Walk{Root: "did:x:hub", Depth: 2, Direction: graph.Both, Limit: 1000})
				if err != nil || len(g.Nodes) != 1000 || len(g.Edges) != 999 || !g.Truncated {
					b.Fatalf("Subgraph() = %d nodes, %d edges, %v", len(g.Nodes), len(g.Edges), err)
				}
				walk += time.Since(start)
				start = time.Now()
				if _, err := g.JSON(); err != nil {
					b.Fatal(err)
				}
				render += time.Since(start)
			}
			b.ReportMetric(float64(walk)/float64(sql), "walk/sql")
			b.ReportMetric(float64(walk+render)/float64(sql), "walk+json/sql")
			b.ReportMetric(float64(sql.Microseconds())/float64(b.N), "sql-µs")
		})
	}
}

// BenchmarkInvariants proves the rules for 2,000 twins that a project made.
func BenchmarkInvariants(b *testing.B) {
	for name, open := range map[string]func(testing.TB, ...dbtest.Option) *db.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, open(b))
			w.fill(b, "w")
			for i := range 1_991 {
				w.make(b, "w", made{fmt.Sprintf("did:x:stove/%d", i), "clean-cooking", fmt.Sprintf(`{"serial":"S%d","model":"M","efficiency":41}`, i), []string{"generatedBy", "did:x:project"}})
			}
			for b.Loop() {
				if r := send(w.handler, "in w", "GET /v1/invariants?limit=2000", nil); r.Code != 200 || !strings.Contains(r.Body.String(), `"ok":true,"checked":2000`) {
					b.Fatalf("%d %s", r.Code, r.Body)
				}
			}
		})
	}
}
