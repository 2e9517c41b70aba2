package app_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// TestOpenCoreFails: a core that cannot be built leaves nothing open, least of
// all the connections of the bus.
func TestOpenCoreFails(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data.Dir = t.TempDir()
	cfg.Data.DatabaseURL = config.Secret(dbtest.Migrated(t))
	cfg.Events.OutboundAllow = []string{"not an address"}
	if c, err := app.OpenCore(t.Context(), cfg, dbtest.Log(t)); err == nil {
		t.Fatalf("OpenCore() = %v, want an error; close: %v", c, c.Close())
	}
	d, err := db.Open(t.Context(), db.Config{URL: cfg.Data.DatabaseURL.Reveal()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	eventtest.Eventually(t, "the connections of the bus are closed", func() bool {
		var n int
		err := d.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'hearth-bus' AND datname = current_database()`).Scan(&n)
		return err == nil && n == 0
	})
}
