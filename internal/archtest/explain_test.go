package archtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/ussd"
)

// explained runs judge on every statement of the program that dialect can
// meet. A constant for one engine only says so in its name.
func explained(t *testing.T, dialect db.Dialect, judge func(sql string) (string, error)) {
	t.Helper()
	all, _ := typedPackages()
	stmts, _ := checkSQL(all)
	if len(stmts) < 10 {
		t.Fatalf("found %d statements, want the whole program's", len(stmts))
	}
	seen := map[string]bool{}
	for _, s := range stmts {
		if seen[s.sql] || onlyFor(s, dialect) {
			continue
		}
		seen[s.sql] = true
		bad, err := judge(s.sql)
		if err != nil {
			bad = err.Error()
		}
		if bad != "" {
			t.Errorf("%s: %s\n%s", s.where.where, bad, s.sql)
		}
	}
	t.Logf("%d statements explained", len(seen))
}

// postgresOnly are statements SQLite never meets, by how they begin, and why.
var postgresOnly = map[string]string{
	"UPDATE events SET seq = n.seq": "SQLite numbers events in their insert (ADR 0002)",
}

// onlyFor reports whether a statement is for the other engine alone.
func onlyFor(s statement, dialect db.Dialect) bool {
	for start := range postgresOnly {
		if dialect == db.SQLite && strings.HasPrefix(s.sql, start) {
			return true
		}
	}
	name := strings.ToLower(s.name)
	if dialect == db.SQLite {
		return strings.Contains(name, "postgres")
	}
	return strings.Contains(name, "sqlite")
}

func TestExplainSQLite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("EXPLAIN is part of the full run")
	}
	d := dbtest.SQLite(t)
	tables, err := column(t.Context(), d, 1, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		t.Fatal(err)
	}
	explained(t, db.SQLite, func(sql string) (string, error) {
		plan, err := sqlitePlan(t.Context(), d, sql)
		return judgeSQLite(sql, tables, plan), err
	})
	for sql, want := range map[string]string{
		"SELECT * FROM events WHERE data = $1":       "scans events",
		"DELETE FROM events WHERE data = $1":         "scans events",
		"SELECT count(*) FROM events":                "scans events",
		"SELECT * FROM events WHERE ws = $1 LIMIT 1": "",
	} {
		plan, err := sqlitePlan(t.Context(), d, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got := judgeSQLite(sql, tables, plan); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: judged %q, want %q", sql, got, want)
		}
	}
}

func TestExplainPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("EXPLAIN is part of the full run")
	}
	d := dbtest.Postgres(t)
	crowd(t, d)
	for _, months := range []int{-9, 0} { // as they are kept after some months
		for _, p := range []db.Parts{{DB: d, Table: "device_readings", By: "at", Key: "device, at"}, event.Parts(d), ussd.Parts(d), webhook.Parts(d)} {
			p.Now = func() time.Time { return time.Now().AddDate(0, months, 0) }
			if err := p.Make(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	explained(t, db.Postgres, func(sql string) (string, error) {
		plan, err := postgresPlan(t.Context(), d, sql)
		if err != nil {
			return "", err
		}
		return judgePostgres(plan), nil
	})
	for sql, want := range map[string]string{
		"SELECT * FROM events WHERE data = $1": "scans events",
		"DELETE FROM events WHERE data = $1":   "scans events",
		"SELECT count(*) FROM events":          "walks all",
		"SELECT * FROM events WHERE id = $1":   "",
	} {
		plan, err := postgresPlan(t.Context(), d, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if got := judgePostgres(plan); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: judged %q, want %q", sql, got, want)
		}
	}
}

// sqlitePlan gives the lines of EXPLAIN QUERY PLAN.
func sqlitePlan(ctx context.Context, d *db.DB, sql string) ([]string, error) {
	return column(ctx, d, 4, "EXPLAIN QUERY PLAN "+sql, make([]any, parameters(sql))...)
}

// postgresPlan plans the statement as a prepared one whose parameters are not
// known, and without sequential scans where there is any other way.
func postgresPlan(ctx context.Context, d *db.DB, sql string) (string, error) {
	name, args := fmt.Sprintf("judged_%x", fnv32(sql)), ""
	if n := parameters(sql); n > 0 {
		args = "(" + strings.TrimSuffix(strings.Repeat("NULL, ", n), ", ") + ")"
	}
	plan := ""
	err := d.InTx(ctx, func(tx *db.Tx) error {
		for _, text := range []string{
			"SET LOCAL enable_seqscan = off",
			"SET LOCAL plan_cache_mode = force_generic_plan",
			"PREPARE " + name + " AS " + sql,
		} {
			if _, err := tx.Exec(ctx, text); err != nil {
				return fmt.Errorf("%.40s: %w", text, err)
			}
		}
		lines, err := column(ctx, tx, 1, "EXPLAIN (FORMAT JSON) EXECUTE "+name+args)
		plan = strings.Join(lines, "\n")
		if _, derr := tx.Exec(ctx, "DEALLOCATE "+name); err == nil {
			err = derr
		}
		return err
	})
	return plan, err
}

// fnv32 makes a name for a statement.
func fnv32(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// column reads the last of width columns of a result as texts.
func column(ctx context.Context, q db.Querier, width int, sql string, args ...any) ([]string, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		dest := make([]any, width)
		for i := range dest {
			dest[i] = new(any)
		}
		text := ""
		dest[width-1] = &text
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// crowd fills the table of edges, and the planner's knowledge of it: of an
// empty one it believes that a partial index holds next to nothing, and that
// walking all of it costs as little as looking into it.
func crowd(t *testing.T, d *db.DB) {
	t.Helper()
	for _, text := range []string{
		`INSERT INTO relationships (nid, ws, src, src_did, dst, dst_did, role, mirror, source, added_at, added_by, removed_at, removed_by, reason)
			SELECT n, 'w', n % 5000, 's' || n % 5000, n % 7000, 'd' || n, 'r' || n % 7, CASE n % 2 WHEN 0 THEN n % 7000 END, 'declared', n, 'a', CASE n % 20 WHEN 0 THEN n END, '', ''
			FROM generate_series(1, 50000) AS n`,
		`ANALYZE relationships`,
	} {
		if _, err := d.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}
