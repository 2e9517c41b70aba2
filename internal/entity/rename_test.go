package entity_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// Households that were stored under other words get their one type, once, with
// their history and what was verified about them.
func TestHouseholdsHaveOneType(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		words := []string{"CleanCookingHousehold", "household", "Households", "Farm"}
		homes := map[string]string{}
		for _, ws := range []string{"ws", "other"} {
			for i, word := range words {
				e := v.create(t, ws, entity.Draft{DID: fmt.Sprintf("did:ixo:household/%d", i), Type: "Farm", Protocol: entity.HouseholdProtocol})
				v.retype(t, ws, e.DID, word)
				homes[word] = e.DID
			}
		}
		for i := range 30 { // more than one transaction
			e := v.create(t, "ws", entity.Draft{DID: fmt.Sprintf("did:ixo:household/x%d", i), Type: "Farm", Protocol: entity.HouseholdProtocol})
			v.retype(t, "ws", e.DID, "CleanCookingHousehold")
		}
		other := v.create(t, "ws", entity.Draft{Type: "household", Protocol: "did:ixo:protocol/clean-cooking"})
		if err := v.judge(t, "ws", homes["household"], "verified"); err != nil {
			t.Fatal(err)
		}
		before := v.get(t, "ws", homes["household"])
		if n, err := v.s.RenameHouseholds(t.Context()); err != nil || n != 36 {
			t.Fatalf("RenameHouseholds = %d, %v, want 36", n, err)
		}
		if n, err := v.s.RenameHouseholds(t.Context()); err != nil || n != 0 {
			t.Errorf("again = %d, %v, want none", n, err)
		}
		for _, ws := range []string{"ws", "other"} {
			for word, id := range homes {
				want := "Household"
				if word == "Farm" {
					want = word
				}
				if got := v.get(t, ws, id); got.Type != want {
					t.Errorf("%s in %s is a %s, want %s", word, ws, got.Type, want)
				}
			}
		}
		after := v.get(t, "ws", homes["household"])
		if after.Revision != before.Revision+1 || after.Verification.Status != "verified" || after.UpdatedBy != "system" {
			t.Errorf("after = revision %d, %s, by %s, want one more, verified, by the system", after.Revision, after.Verification.Status, after.UpdatedBy)
		}
		if got := v.get(t, "ws", other.DID); got.Type != "household" {
			t.Errorf("a twin of another protocol is a %s now", got.Type)
		}
	})
}

// retype stores another word, as it was before there was one type.
func (v *env) retype(t *testing.T, ws, id, word string) {
	t.Helper()
	ctx := as(t, ws, "owner")
	err := v.d.InTx(ctx, func(tx *db.Tx) error {
		r, err := v.s.FindForUpdate(ctx, tx, id)
		if err != nil {
			return err
		}
		_, err = v.s.Mutate(ctx, tx, r, entity.Action{Name: "update"}, func(e *entity.Entity) error {
			e.Type = word
			return nil
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
