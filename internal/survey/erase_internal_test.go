package survey

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestListsOfNobody: what is on no list is blanked nowhere. What is on lists is
// in the tests of the lists.
func TestListsOfNobody(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			n, err := eraseListed(t.Context(), tx, "ws", "did:ixo:household/10", time.UnixMilli(1))
			if n != 0 {
				t.Errorf("eraseListed() = %d, want 0", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
