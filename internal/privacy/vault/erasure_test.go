package vault_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
)

const (
	gone  = `did:ixo:household/1`
	there = `did:ixo:household/10`
	odd   = `did:web:a"b\\c` // nothing in a name ends the list it is in
)

// erase notes that a workspace has erased somebody.
func erase(t *testing.T, d *db.DB, ws, id string) {
	t.Helper()
	if err := d.InTx(t.Context(), func(tx *db.Tx) error { return vault.NoteErasure(t.Context(), tx, ws, id) }); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		erase(t, d, "ws", gone)
		for _, tt := range []struct{ name, ws, id, code string }{
			{"erased", "ws", gone, "HOUSEHOLD_ERASED"},
			{"not erased", "ws", there, ""},
			{"nobody", "ws", "", ""},
			{"in another workspace", "other", gone, ""},
		} {
			err := vault.CheckErased(t.Context(), d, tt.ws, tt.id, "/x")
			if got := fault.CodeOf(err); got != tt.code || err != nil && got == "" {
				t.Errorf("%s: Check() = %v, want %q", tt.name, err, tt.code)
			}
			if f := fault.As(err); f != nil && (len(f.Fields) != 1 || f.Fields[0].Pointer != "/x" || !strings.Contains(f.Fields[0].Detail, tt.id)) {
				t.Errorf("%s: fields = %+v, want /x and the household", tt.name, f.Fields)
			}
		}
	})
}

func TestAmong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, id := range []string{gone, odd, gone} { // somebody may be erased twice
			erase(t, d, "ws", id)
		}
		for _, tt := range []struct {
			name, ws  string
			ids, want []string
		}{
			{"some", "ws", []string{there, gone, odd}, []string{gone, odd}},
			{"one", "ws", []string{odd}, []string{odd}},
			{"none of them", "ws", []string{there}, nil},
			{"none asked for", "ws", []string{}, nil},
			{"another workspace", "other", []string{gone, odd}, nil},
		} {
			text, err := json.Marshal(tt.ids)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]bool
			err = d.InTx(t.Context(), func(tx *db.Tx) (err error) {
				got, err = vault.ErasedAmong(t.Context(), tx, d.Dialect(), tt.ws, string(text))
				return err
			})
			if err != nil || len(got) != len(tt.want) || slices.ContainsFunc(tt.want, func(id string) bool { return !got[id] }) {
				t.Errorf("%s: Among() = %v, %v, want %v", tt.name, got, err, tt.want)
			}
		}
	})
}
