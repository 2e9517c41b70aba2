package group_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// clerk is somebody with a group of their own organisation.
func (r *rig) clerk(t *testing.T) (ctx context.Context, g string) {
	t.Helper()
	ctx = r.employ(t, "did:ixo:agent/clerk", "entities:read", "entities:write", "groups:write")
	theirs := r.create(ctx, t, entity.Draft{Type: "Organisation", Protocol: "did:ixo:protocol/organisation", Properties: object(`{"name":"x"}`)})
	made, err := r.groups.Create(ctx, theirs, group.Draft{Name: "g", Scopes: []string{"entities:write"}})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, made.Value.DID
}

// named is an organisation that somebody has put a key on.
func (r *rig) named(ctx context.Context, t *testing.T, seed string) string {
	t.Helper()
	return r.create(ctx, t, entity.Draft{
		Type: "Organisation", Protocol: "did:ixo:protocol/organisation", Properties: object(`{"name":"y"}`), AlsoKnownAs: []string{keyOf(seed)},
	})
}

// TestKeysWhenHandsChange: whoever put a key on a twin does not speak for it when
// it has changed hands.
func TestKeysWhenHandsChange(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		owner := r.owner(t)
		clerk, g := r.clerk(t)
		org := r.named(clerk, t, "e")
		if _, err := r.entities.Transfer(owner, org, "", entity.Transfer{Controller: "did:ixo:agent/x"}); err != nil {
			t.Fatal(err)
		}
		_, err := r.groups.Add(clerk, g, org, nil)
		wantCode(t, "the key of whoever had it", err, "KEYS_UNCONFIRMED")
		if got := r.has(t, org, "e"); got != "" {
			t.Errorf("the key has %q, want nothing", got)
		}
		speaking := func(want ...string) {
			t.Helper()
			got, err := group.Speaking(t.Context(), d, auth.OperatorWorkspace, org, []string{keyOf("e")})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("with the oracle speak %v, %v, want %v", got, err, want)
			}
		}
		speaking()
		_, err = r.groups.Add(clerk, g, org, []string{keyOf("e")})
		wantCode(t, "naming the key of a twin one has no more", err, "NOT_CONTROLLER")
		speaking()
		// Its new controller gives the key a word again.
		next := r.employ(t, "did:ixo:agent/x", "entities:read", "entities:write")
		wantCode(t, "taking the key off", r.rekey(next, org), "")
		wantCode(t, "putting it back", r.rekey(next, org, "e"), "")
		speaking(keyOf("e"))
		// A key of before, which was taken over without a time, is no exception.
		if _, err := d.Exec(t.Context(), `UPDATE entity_keys SET added_by = 'system', added_at = 0, scopes = '[]' WHERE did = $1`, org); err != nil {
			t.Fatal(err)
		}
		if _, err := r.entities.Transfer(owner, org, "", entity.Transfer{Controller: "did:ixo:agent/y"}); err != nil {
			t.Fatal(err)
		}
		speaking()
		// Whoever gives a twin away keeps no voice, nor leaves one behind with the same change.
		given := r.named(clerk, t, "k")
		if _, err := r.entities.Patch(clerk, given, "*", entity.Change{Edit: func(e *entity.Entity) error {
			e.Controller, e.Controllers, e.AlsoKnownAs = "did:ixo:agent/x", []string{"did:ixo:agent/x"}, append(e.AlsoKnownAs, keyOf("l"))
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		_, err = r.groups.Add(clerk, g, given, nil)
		wantCode(t, "the keys of whoever gave it away", err, "KEYS_UNCONFIRMED")
		// Of a twin that ended, no key speaks.
		her := r.person(owner, t, "a")
		r.add(t, r.make(t, r.organisation(t), group.Draft{Name: "h", Scopes: []string{"entities:read"}}), her)
		if got := r.has(t, her, "a"); got != "entities:read" {
			t.Errorf("her key has %q", got)
		}
		r.move(t, her, entity.StatusDeactivated)
		if got := r.has(t, her, "a"); got != "" {
			t.Errorf("her key has %q when her twin has ended, want nothing", got)
		}
		// Nobody silences others whom they do not control.
		him := r.person(owner, t, "b")
		if _, err := r.groups.Add(clerk, g, him, nil); err != nil {
			t.Fatal(err)
		}
		_, err = r.groups.Add(clerk, g, him, []string{})
		wantCode(t, "a clerk who has all he has", err, "NOT_CONTROLLER")
	})
}

// TestSignedKeysWhenHandsChange: nor does a key that such a key has signed for.
func TestSignedKeysWhenHandsChange(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		clerk, g := r.clerk(t)
		two := r.named(clerk, t, "f")
		if _, err := r.entities.Patch(clerk, two, "*", entity.Change{Edit: func(e *entity.Entity) error {
			e.Controllers = append(e.Controllers, two)
			return nil
		}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.groups.Add(clerk, g, two, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.rekey(r.signed(t, two, "f"), two, "f", "h"); err != nil {
			t.Fatal(err)
		}
		// An API key made with it is no way round.
		made, err := r.auth.Create(through(r.signed(t, two, "f")), auth.Draft{Name: "x", Scopes: []string{"entities:write"}, Principal: two})
		if err != nil {
			t.Fatal(err)
		}
		c := web.CallerFrom(r.signed(t, two, "f"))
		c.Key, c.Signer, c.Through = made.ID, "", made.BoundTo
		if err := r.rekey(web.WithCaller(t.Context(), c), two, "f", "h", "i"); err != nil {
			t.Fatal(err)
		}
		// A file it has read has nobody's word, of its own keys either.
		late := web.CallerFrom(r.signed(t, two, "f"))
		late.Later = true
		if err := r.rekey(web.WithCaller(t.Context(), late), two, "f", "h", "i", "j"); err != nil {
			t.Fatal(err)
		}
		if got := r.has(t, two, "j"); got != "" {
			t.Errorf("a key from a file has %q, want nothing", got)
		}
		if got := r.has(t, two, "h"); got != "entities:write" {
			t.Errorf("the key that another signed for has %q, want entities:write", got)
		}
		if _, err := r.entities.Transfer(r.owner(t), two, "", entity.Transfer{Controller: "did:ixo:agent/x"}); err != nil {
			t.Fatal(err)
		}
		for _, seed := range []string{"f", "h", "i"} {
			if got := r.has(t, two, seed); got != "" {
				t.Errorf("the key %s has %q after a transfer, want nothing", seed, got)
			}
		}
	})
}
