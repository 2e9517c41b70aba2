package auth_test

import (
	"errors"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

func TestProveKey(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		first, other := serverKey(t, "the first key of this store, long enough"), serverKey(t, "another key that is long enough too")
		for range 2 {
			if err := auth.ProveKey(t.Context(), d, first); err != nil {
				t.Fatalf("ProveKey(first) = %v", err)
			}
		}
		if err := auth.ProveKey(t.Context(), d, other); !errors.Is(err, auth.ErrOtherKey) {
			t.Errorf("ProveKey(other) = %v, want ErrOtherKey", err)
		}
		if err := auth.ProveKey(t.Context(), d, first); err != nil {
			t.Errorf("ProveKey(first) after another = %v", err)
		}
	})
}

func serverKey(t *testing.T, text string) secret.Key {
	t.Helper()
	k, err := secret.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
