package app_test

import (
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/privacy"
)

// Columns that can hold a text, a JSON value, bytes or a place: all that are
// neither whole numbers nor truth values.
var wordyColumns = map[db.Dialect]string{
	db.SQLite: `SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND upper(c.type) NOT IN ('BIGINT', 'INTEGER', 'BOOLEAN')`,
	db.Postgres: `SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t
		ON t.table_schema = c.table_schema AND t.table_name = c.table_name
		WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.data_type NOT IN ('bigint', 'integer', 'boolean')`,
}

// TestRegistryKnowsTheSchema: a migration that adds a column says in the
// registry what it can hold about a person.
func TestRegistryKnowsTheSchema(t *testing.T) {
	t.Parallel()
	r, err := app.Personal()
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema := columnsOf(t, d)
		if len(schema) < 200 {
			t.Fatalf("the schema has %d columns with words", len(schema))
		}
		for _, c := range schema {
			if !r.Knows(c[0], c[1]) {
				t.Errorf("%s.%s is not in the registry of personal data: say in Personal of its package what it can hold about a person, and which part erases it", c[0], c[1])
			}
		}
		for _, c := range r.Columns() {
			if !slices.Contains(schema, c) {
				t.Errorf("the registry of personal data knows %s.%s, which is not in the schema", c[0], c[1])
			}
		}
		if _, err := d.Exec(t.Context(), `ALTER TABLE ussd_accounts ADD COLUMN nickname TEXT`); err != nil {
			t.Fatal(err)
		}
		fresh := columnsOf(t, d)
		if at := [2]string{"ussd_accounts", "nickname"}; !slices.Contains(fresh, at) || r.Knows(at[0], at[1]) {
			t.Errorf("a new column is not found: %v", fresh)
		}
	})
}

func columnsOf(t *testing.T, d *db.DB) [][2]string {
	t.Helper()
	rows, err := d.Query(t.Context(), wordyColumns[d.Dialect()])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out [][2]string
	for rows.Next() {
		var c [2]string
		if err := rows.Scan(&c[0], &c[1]); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRegistryNamesRealParts: whoever the registry says erases something is
// there, and whoever erases something is in the registry.
func TestRegistryNamesRealParts(t *testing.T) {
	t.Parallel()
	r, err := app.Personal()
	if err != nil {
		t.Fatal(err)
	}
	parts := r.Parts()
	there := []string{privacy.Twin, privacy.Person, privacy.Thing, privacy.Copies, "revisions", "relationships", "events", "shared household"}
	h := newHouse(t)
	there = append(there, h.Erasers()...)
	for _, p := range parts {
		if !slices.Contains(there, p) {
			t.Errorf("the registry says that %q erases something; there is no such part among %q", p, there)
		}
	}
	for _, p := range h.Erasers() {
		if !slices.Contains(parts, p) {
			t.Errorf("%q erases nothing that is in the registry", p)
		}
	}
}
