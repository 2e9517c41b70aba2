package vault_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

func newVault(t *testing.T, text string) *vault.Vault {
	t.Helper()
	key, err := secret.Parse(strings.Repeat(text, 32))
	if err != nil {
		t.Fatal(err)
	}
	return vault.New(vault.Config{Key: key})
}

var home = vault.Ref{Workspace: "w", Project: "did:ixo:project/1", Household: "did:ixo:household/1"}

// store is a store and who seals in it.
type store struct {
	d *db.DB
	v *vault.Vault
}

func (s store) seal(t *testing.T, r vault.Ref, bind, text string) []byte {
	t.Helper()
	var out []byte
	err := s.d.InTx(t.Context(), func(tx *db.Tx) (err error) {
		out, err = s.v.Seal(t.Context(), tx, r, bind, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOpenGivesWhatWasSealed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newVault(t, "k")
		one, two := store{d, v}.seal(t, home, "rsp_1", "Amina"), store{d, v}.seal(t, home, "rsp_2", "Amina")
		if bytes.Contains(one, []byte("Amina")) || bytes.Equal(one, two) {
			t.Errorf("sealed = %q and %q, want two texts nobody can read", one, two)
		}
		if got, err := v.Open(t.Context(), d, home, "rsp_1", one); err != nil || string(got) != "Amina" {
			t.Errorf("Open() = %q, %v, want Amina", got, err)
		}
		other, elsewhere, moved := home, home, home
		other.Household, elsewhere.Project, moved.Workspace = "did:ixo:household/2", "did:ixo:project/2", "x"
		for _, r := range []vault.Ref{other, elsewhere, moved} {
			store{d, v}.seal(t, r, "rsp_1", "Baraka")
			if got, err := v.Open(t.Context(), d, r, "rsp_1", one); !errors.Is(err, vault.ErrDestroyed) {
				t.Errorf("Open() as %v = %q, %v, want a refusal", r, got, err)
			}
		}
		if got, err := v.Open(t.Context(), d, home, "rsp_2", one); err == nil {
			t.Errorf("Open() in another response = %q, want a refusal", got)
		}
		if got, err := newVault(t, "o").Open(t.Context(), d, home, "rsp_1", one); err == nil {
			t.Errorf("Open() with another server key = %q, want a refusal", got)
		}
	})
}

func TestDestroyedKeysOpenNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		destroy func(t *testing.T, v *vault.Vault, tx *db.Tx) (int64, error)
		other   bool // another household stays readable
	}{
		{"household", func(t *testing.T, v *vault.Vault, tx *db.Tx) (int64, error) {
			return v.Forget(t.Context(), tx, home.Workspace, home.Household)
		}, true},
		{"project", func(t *testing.T, v *vault.Vault, tx *db.Tx) (int64, error) {
			return v.DestroyProject(t.Context(), tx, home.Workspace, home.Project)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				v := newVault(t, "k")
				next := home
				next.Household = "did:ixo:household/2"
				mine, theirs := store{d, v}.seal(t, home, "rsp_1", "Amina"), store{d, v}.seal(t, next, "rsp_2", "Baraka")
				err := d.InTx(t.Context(), func(tx *db.Tx) error {
					n, err := tt.destroy(t, v, tx)
					if n != 1 {
						t.Errorf("destroyed %d keys, want 1", n)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := v.Open(t.Context(), d, home, "rsp_1", mine); !errors.Is(err, vault.ErrDestroyed) {
					t.Errorf("Open() = %q, %v, want ErrDestroyed", got, err)
				}
				if got, err := v.Open(t.Context(), d, next, "rsp_2", theirs); (err == nil) != tt.other {
					t.Errorf("Open() of another household = %q, %v, readable want %v", got, err, tt.other)
				}
				// Who takes part again is heard again; what was erased stays so.
				again := store{d, v}.seal(t, home, "rsp_3", "Amina again")
				if got, err := v.Open(t.Context(), d, home, "rsp_3", again); err != nil || string(got) != "Amina again" {
					t.Errorf("Open() after taking part again = %q, %v", got, err)
				}
				if got, err := v.Open(t.Context(), d, home, "rsp_1", mine); !errors.Is(err, vault.ErrDestroyed) {
					t.Errorf("Open() of the erased value = %q, %v, want ErrDestroyed", got, err)
				}
			})
		})
	}
}

// TestFirstKeysAtOnce: many first values of one household agree on one key.
func TestFirstKeysAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newVault(t, "k")
		sealed := make([][]byte, 16)
		var wg sync.WaitGroup
		for i := range sealed {
			wg.Go(func() { sealed[i] = store{d, v}.seal(t, home, "rsp", "Amina") })
		}
		wg.Wait()
		for i, s := range sealed {
			if got, err := v.Open(t.Context(), d, home, "rsp", s); err != nil || string(got) != "Amina" {
				t.Errorf("%d: Open() = %q, %v, want Amina", i, got, err)
			}
		}
	})
}

func TestPseudonyms(t *testing.T) {
	t.Parallel()
	v := newVault(t, "k")
	name := v.Pseudonyms("w", "p")
	if a, b := name("did:ixo:household/1"), v.Pseudonyms("w", "p")("did:ixo:household/1"); a != b || !strings.HasPrefix(a, "hh_") {
		t.Errorf("names = %q and %q, want the same", a, b)
	}
	seen := map[string]bool{}
	for _, n := range []string{
		name("did:ixo:household/1"), name("did:ixo:household/2"), v.Pseudonyms("w", "q")("did:ixo:household/1"),
		v.Pseudonyms("x", "p")("did:ixo:household/1"), newVault(t, "o").Pseudonyms("w", "p")("did:ixo:household/1"),
	} {
		if seen[n] || strings.Contains(n, "did") {
			t.Errorf("name %q is not of its own", n)
		}
		seen[n] = true
	}
}
