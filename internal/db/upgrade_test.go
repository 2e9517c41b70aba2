package db_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing"
	"testing/fstest"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// shipped gives the first n migrations of the program.
func shipped(t *testing.T, n int) fs.FS {
	t.Helper()
	all, m := os.DirFS("migrations"), fstest.MapFS{}
	for _, engine := range []string{"sqlite", "postgres"} {
		files, err := fs.Glob(all, engine+"/*.sql")
		if err != nil || len(files) < n {
			t.Fatalf("%d migrations for %s, error %v; want at least %d", len(files), engine, err, n)
		}
		for _, name := range files[:n] {
			data, err := fs.ReadFile(all, name)
			if err != nil {
				t.Fatal(err)
			}
			m[path.Join(engine, path.Base(name))] = &fstest.MapFile{Data: data}
		}
	}
	return m
}

// Whom a workspace had erased before area B had a table of its own takes
// nothing new after the upgrade either.
func TestUpgradeKeepsWhoWasErased(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 25)) // 0000 to 0024
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for i, who := range []string{"did:ixo:household/1", "did:ixo:household/1", "did:ixo:household/2"} {
			if _, err := d.Exec(t.Context(), `INSERT INTO erasures (ws, nid, subject, at, body) VALUES ($1, $2, $3, $4, $5)`, "ws", i, who, 1, "{}"); err != nil {
				t.Fatal(err)
			}
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		rows, err := d.Query(t.Context(), `SELECT ws, household FROM survey_erased ORDER BY household`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got string
		for rows.Next() {
			var ws, who string
			if err := rows.Scan(&ws, &who); err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintln(ws, who)
		}
		if want := "ws did:ixo:household/1\nws did:ixo:household/2\n"; got != want || rows.Err() != nil {
			t.Errorf("erased = %q, error %v; want %q", got, rows.Err(), want)
		}
	})
}
