package group_test

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// keyOf is the did:key of a seed.
func keyOf(seed string) string {
	key, _ := ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, 32))).Public().(ed25519.PublicKey)
	return did.FromEd25519(key).String()
}

// person makes the twin of a person with keys, as somebody.
func (r *rig) person(ctx context.Context, t *testing.T, seeds ...string) string {
	t.Helper()
	d := entity.Draft{Type: "Person", Protocol: "did:ixo:protocol/person", Properties: object(`{"name":"x"}`)}
	for _, s := range seeds {
		d.AlsoKnownAs = append(d.AlsoKnownAs, keyOf(s))
	}
	return r.create(ctx, t, d)
}

// signed is the context of a DID that signed with the key of a seed.
func (r *rig) signed(t *testing.T, id, seed string) context.Context {
	t.Helper()
	c := web.Caller{Workspace: auth.OperatorWorkspace, DID: id, Signer: keyOf(seed)}
	var err error
	if c.Scopes, err = group.ScopesBy(t.Context(), r.d, c); err != nil {
		t.Fatal(err)
	}
	return web.WithCaller(t.Context(), c)
}

// has tells what the key of a seed gives a DID.
func (r *rig) has(t *testing.T, id, seed string) string {
	t.Helper()
	return strings.Join(web.CallerFrom(r.signed(t, id, seed)).Scopes, " ")
}

// rekey replaces the keys of a twin.
func (r *rig) rekey(ctx context.Context, id string, seeds ...string) error {
	_, err := r.entities.Patch(ctx, id, "*", entity.Change{Edit: func(e *entity.Entity) error {
		e.AlsoKnownAs = nil
		for _, s := range seeds {
			e.AlsoKnownAs = append(e.AlsoKnownAs, keyOf(s))
		}
		return nil
	}})
	return err
}

// TestKeysAreAdmitted: which keys of a member have what a group gives, as keys
// come and go.
func TestKeysAreAdmitted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		owner := r.owner(t)
		org := r.organisation(t)
		weak := r.make(t, org, group.Draft{Name: "weak", Scopes: []string{"entities:read", "entities:write"}})
		strong := r.make(t, org, group.Draft{Name: "strong", Scopes: []string{"entities:*"}})
		clerk := r.as(t, "did:ixo:agent/clerk", "entities:read", "entities:write")
		her := r.person(clerk, t, "a")
		control := func(who string) {
			t.Helper()
			if _, err := r.entities.Transfer(owner, her, "", entity.Transfer{Controller: who}); err != nil {
				t.Fatal(err)
			}
		}
		control(her)
		want := func(what, seed, scopes string) {
			t.Helper()
			if got := r.has(t, her, seed); got != scopes {
				t.Errorf("%s: %q, want %q", what, got, scopes)
			}
		}
		want("a key without a group", "a", "")
		if m, err := r.groups.Add(owner, weak, her, nil); err != nil || !slices.Equal(m.Keys, []string{keyOf("a")}) {
			t.Errorf("the clerk has all of the weak group: %+v, %v, want the key admitted", m, err)
		}
		want("in the weak group", "a", "entities:read entities:write")
		_, err := r.groups.Add(owner, strong, her, nil)
		wantCode(t, "the strong one", err, "KEYS_UNCONFIRMED")
		if _, err := r.groups.Add(owner, strong, her, []string{}); err != nil {
			t.Errorf("as a member without keys: %v", err)
		}
		want("still only the weak group", "a", "entities:read entities:write")
		// Her own key adds another one, which is worth as much and no more.
		wantCode(t, "a key that not all her groups admit", r.rekey(r.signed(t, her, "a"), her, "a", "b"), "PRINCIPAL_PROTECTED")
		if _, err := r.groups.Add(owner, strong, her, []string{keyOf("a")}); err != nil {
			t.Fatal(err)
		}
		if err := r.rekey(r.signed(t, her, "a"), her, "a", "b"); err != nil {
			t.Fatal(err)
		}
		want("the second key", "b", "entities:* entities:read entities:write")
		// A key that goes and comes back by another hand is admitted anew.
		if err := r.rekey(r.signed(t, her, "b"), her, "b"); err != nil {
			t.Fatal(err)
		}
		want("a key that is gone", "a", "")
		control("did:ixo:agent/clerk")
		wantCode(t, "the clerk, who controls her twin", r.rekey(clerk, her, "b", "c"), "PRINCIPAL_PROTECTED")
		if _, err := r.groups.Remove(owner, strong, her); err != nil {
			t.Fatal(err)
		}
		if err := r.rekey(clerk, her, "b", "c"); err != nil {
			t.Errorf("the clerk has every scope she has left: %v", err)
		}
		want("a key of the clerk in the weak group", "c", "entities:read entities:write")
		_, err = r.groups.Add(owner, strong, her, nil)
		wantCode(t, "and back in the strong one", err, "KEYS_UNCONFIRMED")
	})
}

// TestKeysOfOthers: members whose keys are not in a twin of this workspace.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		org := r.organisation(t)
		g := r.make(t, org, group.Draft{Name: "g", Scopes: []string{"entities:read"}})
		self := keyOf("s")
		if m, err := r.groups.Add(r.owner(t), g, self, nil); err != nil || !slices.Equal(m.Keys, []string{self}) {
			t.Errorf("a did:key = %+v, %v, want itself", m, err)
		}
		if got := r.has(t, self, "s"); got != "entities:read" {
			t.Errorf("a did:key has %q, want the group's", got)
		}
		_, err := r.groups.Add(r.owner(t), g, self, []string{keyOf("x")})
		wantCode(t, "another key of a did:key", err, "MEMBER_KEYS_INVALID")
		// A twin whose maker chose its DID may be anybody's.
		chosen := r.create(r.owner(t), t, entity.Draft{
			DID: "did:ixo:agent/7", Type: "Person", Protocol: "did:ixo:protocol/person", Properties: object(`{"name":"x"}`), AlsoKnownAs: []string{keyOf("y")},
		})
		if m, err := r.groups.Add(r.owner(t), g, chosen, nil); err != nil || len(m.Keys) != 0 {
			t.Errorf("a chosen DID = %+v, %v, want no keys", m, err)
		}
		if got := r.has(t, chosen, "y"); got != "" {
			t.Errorf("the key of a chosen DID has %q, want nothing", got)
		}
		w := r.send("owner", "GET", path("/v1/entities/%s/members", g), "")
		if !strings.Contains(w.Body.String(), `"member":"`+self+`","keys":["`+self+`"]`) || !strings.Contains(w.Body.String(), `"member":"did:ixo:agent/7","keys":[]`) {
			t.Errorf("members = %s, want their keys", w.Body)
		}
	})
}

// TestHeldByKeys: a holder of API keys is a principal, as long as one works.
func TestHeldByKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		clerk := r.as(t, "did:ixo:agent/clerk", "entities:read", "entities:write")
		her := r.person(clerk, t, "a")
		k, err := r.auth.Create(r.owner(t), auth.Draft{Name: "hers", Scopes: []string{"keys:read"}, Principal: her})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, "with less than her key", r.rekey(clerk, her, "b"), "PRINCIPAL_PROTECTED")
		limited := web.CallerFrom(clerk)
		limited.Scopes, limited.Projects = []string{"*"}, []string{"did:ixo:project/1"}
		_, err = r.entities.Find(web.WithCaller(t.Context(), limited), d, her)
		wantCode(t, "a key of one project does not even see her", err, "ENTITY_NOT_FOUND")
		if _, err := r.auth.Revoke(r.owner(t), k.ID, ""); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "when it is revoked", r.rekey(clerk, her, "b"), "")
	})
}
