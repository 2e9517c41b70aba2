package bulk_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

func TestRoutes(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		eventtest.Cases(t, "bulk.json", r.db, r.log, r.h)
	})
}
