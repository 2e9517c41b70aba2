package db_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func joined(t *testing.T, d *db.DB, name string) {
	t.Helper()
	if err := d.Join(t.Context(), db.Node{Name: name, Version: "v-" + name}); err != nil {
		t.Fatalf("Join(%s): %v", name, err)
	}
}

// TestInstances: those on one PostgreSQL see each other, with their beats, until
// they leave. On SQLite there is one, and nothing is stored.
func TestInstances(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if all, err := d.Live(t.Context()); err != nil || len(all) != 0 {
			t.Fatalf("Live before Join = %v, %v", all, err)
		}
		joined(t, d, "one")
		self := d.Self()
		all, err := d.Live(t.Context())
		if err != nil || len(all) != 1 || all[0].ID != self.ID || all[0].Name != "one" || all[0].Version != "v-one" || all[0].Schema < 0 || all[0].Draining {
			t.Fatalf("Live = %+v, %v; want %+v", all, err, self)
		}
		var rows int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM instances`).Scan(&rows); err != nil || (rows == 1) != (d.Dialect() == db.Postgres) {
			t.Errorf("%s has %d rows, %v", d.Dialect(), rows, err)
		}
		if d.Dialect() == db.SQLite {
			return
		}
		d.Drain()
		eventually(t, "a later beat that says it drains", func() bool {
			all, err = d.Live(t.Context())
			return err == nil && len(all) == 1 && all[0].Draining && all[0].BeatAt.After(self.BeatAt)
		})
		d.Leave(t.Context())
		if all, err := d.Instances(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("Instances after Leave = %v, %v", all, err)
		}
	})
}

// TestOlderProgramsGoOn: a program works with a schema that only grew, and not with
// one that was contracted.
func TestOlderProgramsGoOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		old := map[string]string{"0001_a": createA}
		grown := map[string]string{"0001_a": createA, "0002_b": createB}
		shrunk := map[string]string{"0001_a": createA, "0002_b": createB, "0003_contract_b": `DROP TABLE b;`}
		for _, set := range []map[string]string{grown, old} {
			d := reopen(t, where, pair(set))
			if err := d.Migrate(t.Context()); err != nil {
				t.Fatalf("Migrate: %v", err)
			}
			if s, err := d.Schema(t.Context()); err != nil || s.Version != 2 || s.Newest != len(set) || len(s.Pending) != 0 {
				t.Errorf("Schema = %+v, %v", s, err)
			}
		}
		if err := reopen(t, where, pair(shrunk)).Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for _, set := range []map[string]string{grown, old} {
			d := reopen(t, where, pair(set))
			var newer *db.NewerError
			if err := d.Migrate(t.Context()); !errors.As(err, &newer) || newer.Store != 3 || newer.Binary != len(set) {
				t.Errorf("Migrate on a contracted store = %v, want NewerError 3 over %d", err, len(set))
			}
		}
	})
}

// TestContractWaits: a contract is left out while an older program beats, what comes
// after it is not, and it follows when that program has gone.
func TestContractWaits(t *testing.T) {
	t.Parallel()
	where := db.Config{URL: dbtest.URL(t), Conns: 4, Log: dbtest.Log(t)}
	instances := `CREATE TABLE instances (id TEXT PRIMARY KEY, name TEXT, version TEXT, schema BIGINT, started BIGINT, beat BIGINT, skew BIGINT, draining BIGINT);`
	first := map[string]string{"0001_a": createA, "0002_i": instances}
	second := map[string]string{"0001_a": createA, "0002_i": instances, "0003_contract_a": `DROP TABLE a;`, "0004_c": `CREATE TABLE c (id BIGINT PRIMARY KEY);`}
	older, newer := reopen(t, where, pair(first)), reopen(t, where, pair(second))
	if err := older.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	joined(t, older, "old")
	if err := newer.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	joined(t, newer, "new")
	if db.Servers(older) == 0 || db.Servers(newer) != 2 {
		t.Errorf("Servers() = %d and %d, want 2 of the second", db.Servers(older), db.Servers(newer))
	}
	eventually(t, "the first hears of the second", func() bool { return db.Servers(older) == 2 })
	if s, err := newer.Schema(t.Context()); err != nil || s.Version != 4 || !slices.Equal(s.Waiting, []string{"0003_contract_a"}) || len(s.Pending) != 0 {
		t.Fatalf("Schema = %+v, %v; want the contract to wait", s, err)
	}
	if s, err := older.Schema(t.Context()); err != nil || s.Version != 4 || s.Newest != 2 {
		t.Errorf("Schema of the older = %+v, %v; want it to go on", s, err)
	}
	older.Leave(t.Context())
	eventually(t, "the contract", func() bool {
		s, err := newer.Schema(t.Context())
		return err == nil && len(s.Waiting) == 0
	})
	var gone *db.NewerError
	if err := older.Join(t.Context(), db.Node{Name: "old"}); !errors.As(err, &gone) {
		t.Errorf("Join of the older = %v, want NewerError", err)
	}
}

// TestTakesWrites: an instance that beats is asked by probes without a statement, and
// knows soon that nothing is stored any more.
func TestTakesWrites(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	if err := db.TakesWrites(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if err := d.Join(t.Context(), db.Node{Name: "a", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	const probe = `SELECT at FROM store_probe WHERE id = 1`
	var before, after int64
	if err := d.QueryRow(t.Context(), probe).Scan(&before); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := db.TakesWrites(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.QueryRow(t.Context(), probe).Scan(&after); err != nil || after != before {
		t.Errorf("the row of probes changed from %d to %d: %v", before, after, err)
	}
	if _, err := d.Exec(t.Context(), `ALTER TABLE instances RENAME TO instances_away`); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); db.TakesWrites(t.Context(), d) == nil; {
		if time.Now().After(deadline) {
			t.Fatal("an instance whose beats fail says that writes are taken")
		}
		<-time.After(50 * time.Millisecond)
	}
}
