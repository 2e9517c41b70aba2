package device_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	// A file plays in a store of its own: its cases name their workspaces by
	// number.
	for _, file := range []string{"households.json", "devices.json", "readings.json"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				e := newEnv(t, d)
				eventtest.Cases(t, file, d, e.l, e.h)
			})
		})
	}
}
