package archtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// smallTables do not grow with use, and why. A scan of them is no finding.
var smallTables = map[string]string{
	"workspaces":        "one row per programme, made by an operator",
	"schema_migrations": "one row per migration",
	"instances":         "one row per server; those of a day that were killed go at the next start",
	"webhooks":          "at most a few per workspace; the service limits them",
}

var (
	limitWord = regexp.MustCompile(`(?i)\bLIMIT\b`)
	orderBy   = regexp.MustCompile(`(?i)\bORDER\s+BY\b`)
	scanLine  = regexp.MustCompile(`^SCAN (?:TABLE )?(\S+)(.*)$`)
)

// ended are indexes of all relationships, those that have ended too: a twin may have had
// any number of them.
var ended = regexp.MustCompile(`relationships_began_`)

// judgeSQLite reads the lines of EXPLAIN QUERY PLAN and says what is wrong, or
// nothing. A walk along an index is fine when the statement wants that order
// and stops at a limit; a page that must be sorted first is not, for it reads
// everything that matches.
func judgeSQLite(sql string, tables, plan []string) string {
	paged := limitWord.MatchString(sql) && orderBy.MatchString(sql)
	sorted := false
	for _, line := range plan {
		sorted = sorted || line == "USE TEMP B-TREE FOR ORDER BY"
	}
	live := strings.Contains(strings.ReplaceAll(sql, "removed_at IS NULL OR", ""), "removed_at IS NULL") // and nothing that has ended
	if live && ended.MatchString(strings.Join(plan, "\n")) {
		return "reads what counts among what has ended: " + strings.Join(plan, "; ")
	}
	for _, line := range plan {
		m := scanLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		table := tableOf(sql, m[1], tables)
		if table == "" || smallTables[table] != "" {
			continue
		}
		if walk := strings.Contains(m[2], "USING INDEX") || strings.Contains(m[2], "USING COVERING INDEX"); walk && paged && !sorted {
			continue
		}
		return "scans " + table + ": " + line
	}
	if paged && sorted {
		return "sorts all that matches before its LIMIT: " + strings.Join(plan, "; ")
	}
	return ""
}

// tableOf finds the table a plan speaks of, by its name or its alias in the
// statement. Views, common tables and subqueries give "".
func tableOf(sql, name string, tables []string) string {
	for _, table := range tables {
		if name == table {
			return table
		}
	}
	for _, table := range tables {
		alias := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(table) + `\s+(?:AS\s+)?` + regexp.QuoteMeta(name) + `\b`)
		if alias.MatchString(sql) {
			return table
		}
	}
	return ""
}

// node is one step of a PostgreSQL plan.
type node struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Cond     string `json:"Index Cond"`
	Filter   string `json:"Filter"`
	Plans    []node `json:"Plans"`
}

// judgePostgres reads EXPLAIN (FORMAT JSON) made with sequential scans
// discouraged: one that is left has no index to use.
func judgePostgres(plan string) string {
	var tops []struct{ Plan node }
	if err := json.Unmarshal([]byte(plan), &tops); err != nil || len(tops) != 1 {
		return fmt.Sprintf("plan cannot be read: %v: %s", err, plan)
	}
	return judgeNode(tops[0].Plan, "", false)
}

// judgeNode looks at n and below. table is the one the nodes above work on;
// paged says that a LIMIT above n stops it without a sort in between.
func judgeNode(n node, table string, paged bool) string {
	if n.Relation != "" {
		table = n.Relation
	}
	grows := table != "" && smallTables[table] == ""
	switch {
	case grows && n.Type == "Seq Scan":
		return "scans " + table
	case grows && n.Type == "Bitmap Index Scan" && n.Cond == "",
		grows && strings.HasPrefix(n.Type, "Index") && n.Cond == "" && (!paged || n.Filter != ""):
		return "walks all of " + n.Index + " on " + table
	}
	switch n.Type {
	case "Limit":
		paged = true
	case "Sort", "Incremental Sort", "Aggregate", "WindowAgg", "HashAggregate", "Hash", "Materialize":
		paged = false
	}
	for _, below := range n.Plans {
		if bad := judgeNode(below, table, paged); bad != "" {
			return bad
		}
	}
	return ""
}

// parameters is the highest $n of a statement.
func parameters(sql string) int {
	highest := 0
	for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(sql, -1) {
		n := 0
		if _, err := fmt.Sscan(m[1], &n); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}

func TestJudgeSQLite(t *testing.T) {
	t.Parallel()
	tables := []string{"events", "workspaces"}
	for _, tt := range []struct {
		name, sql string
		plan      []string
		want      string
	}{
		{"by key", "SELECT * FROM events WHERE id = $1", []string{"SEARCH events USING INDEX x (id=?)"}, ""},
		{"scan", "SELECT * FROM events WHERE a = $1", []string{"SCAN events"}, "scans events"},
		{"scan by alias", "SELECT * FROM events AS e WHERE e.a = $1", []string{"SCAN e"}, "scans events"},
		{"small", "SELECT * FROM workspaces", []string{"SCAN workspaces"}, ""},
		{"count", "SELECT count(*) FROM events", []string{"SCAN events USING COVERING INDEX x"}, "scans events"},
		{"page of an index", "SELECT * FROM events ORDER BY id LIMIT 5", []string{"SCAN events USING INDEX x"}, ""},
		{"page of a table", "SELECT * FROM events ORDER BY id LIMIT 5", []string{"SCAN events"}, "scans events"},
		{"sorted page", "SELECT * FROM events WHERE ws = $1 ORDER BY b LIMIT 5", []string{"SEARCH events USING INDEX x (ws=?)", "USE TEMP B-TREE FOR ORDER BY"}, "sorts all"},
		{"common table", "WITH c AS (SELECT 1) SELECT * FROM c", []string{"SCAN c", "SCAN CONSTANT ROW"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := judgeSQLite(tt.sql, tables, tt.plan); !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("judgeSQLite() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestJudgePostgres(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, plan, want string }{
		{"by key", `{"Node Type":"Index Scan","Relation Name":"events","Index Name":"x","Index Cond":"(id = $1)"}`, ""},
		{"scan", `{"Node Type":"Seq Scan","Relation Name":"events"}`, "scans events"},
		{"scan below", `{"Node Type":"Nested Loop","Plans":[{"Node Type":"Seq Scan","Relation Name":"events"}]}`, "scans events"},
		{"small", `{"Node Type":"Seq Scan","Relation Name":"workspaces"}`, ""},
		{"whole index", `{"Node Type":"Aggregate","Plans":[{"Node Type":"Index Only Scan","Relation Name":"events","Index Name":"x"}]}`, "walks all of x"},
		{"whole index as a bitmap", `{"Node Type":"Bitmap Heap Scan","Relation Name":"events","Plans":[{"Node Type":"Bitmap Index Scan","Index Name":"x"}]}`, "walks all of x"},
		{"page", `{"Node Type":"Limit","Plans":[{"Node Type":"Index Scan","Relation Name":"events","Index Name":"x"}]}`, ""},
		{"page of what a filter leaves", `{"Node Type":"Limit","Plans":[{"Node Type":"Index Scan","Relation Name":"events","Index Name":"x","Filter":"(a = $1)"}]}`, "walks all of x"},
		{"sorted page", `{"Node Type":"Limit","Plans":[{"Node Type":"Sort","Plans":[{"Node Type":"Index Scan","Relation Name":"events","Index Name":"x"}]}]}`, "walks all of x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := judgePostgres(`[{"Plan":` + tt.plan + `}]`); !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("judgePostgres() = %q, want %q", got, tt.want)
			}
		})
	}
	if got := judgePostgres("nonsense"); got == "" {
		t.Error("judgePostgres() accepts a plan it cannot read")
	}
}
