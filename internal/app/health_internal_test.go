package app

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// A store that somebody else holds is not connected, also when it gives up waiting
// before the look at it does.
func TestHealthOfAStoreThatIsHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hearth.db")
	at := func(c *db.Config) { c.Path, c.Busy, c.TxLimit = path, 20*time.Millisecond, time.Minute }
	ours := dbtest.SQLite(t, at)
	other, err := db.Open(t.Context(), db.Config{Path: path, TxLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	write := func(ctx context.Context, d *db.DB, then func()) error {
		return d.InTx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE workspaces SET name = name`)
			then()
			return err
		})
	}
	s := &system{ping: ours.Ping, writable: func(ctx context.Context) error { return write(ctx, ours, func() {}) }}
	look := func() healthAnswer {
		a, err := s.serveHealth(shapeUSSD)(t.Context(), &nothing{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var held healthAnswer
	if err := write(t.Context(), other, func() { held = look() }); err != nil {
		t.Fatal(err)
	}
	if held.Status != "degraded" || held.Database != "disconnected" {
		t.Errorf("while the store is held: %s, %s, want degraded, disconnected", held.Status, held.Database)
	}
	if a := look(); a.Status != "ok" || a.Database != "connected" {
		t.Errorf("afterwards: %s, %s", a.Status, a.Database)
	}
}
