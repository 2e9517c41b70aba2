package db_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestPrefix(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, tt := range []struct {
			prefix, name string
			want         bool
		}{
			{"amina", "AMINA Otieno", true},
			{"AMINA O", "amina otieno", true},
			{"Élo", "Élodie", true},
			{"É", "Élodie", true},
			{"amina", "Amin", false},
			{"a%", "abc", false},
			{"am", "an", false},
			{"z", "Ünal", false},
		} {
			from, to := db.Prefix(tt.prefix)
			var got bool
			if err := d.QueryRow(t.Context(), `SELECT count(*) > 0 FROM (SELECT lower(CAST($1 AS TEXT)) AS k) AS n WHERE k >= $2 AND k < $3`, tt.name, from, to).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("%q begins with %q: %v, want %v", tt.name, tt.prefix, got, tt.want)
			}
		}
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	args := db.Keys([]string{"a", "b"}, "", "ws", 7)
	if len(args) != db.Chunk+2 || args[0] != "a" || args[1] != "b" || args[2] != "" || args[db.Chunk] != "ws" || args[db.Chunk+1] != 7 {
		t.Errorf("Keys = %v", args)
	}
}
