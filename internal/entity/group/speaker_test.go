package group_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
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
	if c.Scopes, err = group.ScopesOf(t.Context(), r.d, c); err != nil {
		t.Fatal(err)
	}
	return web.WithCaller(t.Context(), c)
}

// through is a context whose caller makes keys that hang on its own, as the gate
// has it.
func through(ctx context.Context) context.Context {
	c := web.CallerFrom(ctx)
	c.Through = []string{c.Speaker()}
	return web.WithCaller(ctx, c)
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
		clerk := r.employ(t, "did:ixo:agent/clerk", "entities:read", "entities:write")
		her := r.person(clerk, t, "a")
		control := func(who string) {
			t.Helper()
			if _, err := r.entities.Transfer(owner, her, "", entity.Transfer{Controller: who}); err != nil {
				t.Fatal(err)
			}
		}
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
		want("a key that is not hers", "a", "")
		// Her own key adds another one, which is worth as much and no more.
		control(her)
		wantCode(t, "a key that was refused", r.rekey(r.signed(t, her, "a"), her, "a", "b"), "PRINCIPAL_PROTECTED")
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

// TestKeysAndTheirVouchers: a key has no more of what groups give than whoever
// vouched for it had, also when a group gives more later; and nobody vouches for
// a new membership who has lost the rights they vouched with.
func TestKeysAndTheirVouchers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		owner := r.owner(t)
		g := r.make(t, r.organisation(t), group.Draft{Name: "g", Scopes: []string{"entities:read"}})
		other := r.make(t, r.organisation(t, "did:ixo:agent/admin"), group.Draft{Name: "other", Scopes: []string{"entities:read"}})
		clerk := r.employ(t, "did:ixo:agent/clerk", "entities:read", "entities:write")
		her := r.person(clerk, t, "a", "p")
		if _, err := r.groups.Add(owner, g, her, nil); err != nil {
			t.Fatal(err)
		}
		r.give(t, g, "*")
		for _, seed := range []string{"a", "p"} {
			if got := r.has(t, her, seed); got != "entities:read entities:write" {
				t.Errorf("key %s in the group that gives more now: %q, want what the clerk has", seed, got)
			}
		}
		members, _, err := r.groups.Members(owner, g, "", 10)
		if err != nil || len(members) != 1 || len(members[0].Keys) != 0 || len(members[0].Limited) != 2 {
			t.Errorf("members = %+v, %v, want both keys limited", members, err)
		}
		_, err = r.groups.Add(owner, g, her, nil)
		wantCode(t, "added again, without a word about the keys", err, "KEYS_UNCONFIRMED")
		_, err = r.groups.Add(r.as(t, "did:ixo:agent/admin", "entities:*", "groups:*"), other, her, []string{keyOf("p")})
		wantCode(t, "her keys, from somebody with less than she has", err, "PRINCIPAL_PROTECTED")
		if m, err := r.groups.Add(owner, g, her, []string{keyOf("a")}); err != nil || !slices.Equal(m.Keys, []string{keyOf("a")}) {
			t.Errorf("with her key = %+v, %v", m, err)
		}
		if a, p := r.has(t, her, "a"), r.has(t, her, "p"); a != "*" || p != "" {
			t.Errorf("her key has %q and the other one %q, want everything and nothing", a, p)
		}
		r.give(t, g, "entities:read")
		if _, err := r.groups.Remove(owner, g, her); err != nil {
			t.Fatal(err)
		}
		// The clerk's word for another person ends with the clerk.
		him := r.person(clerk, t, "b")
		r.dismiss(t, "did:ixo:agent/clerk")
		_, err = r.groups.Add(owner, g, him, nil)
		wantCode(t, "a key of somebody who has left", err, "KEYS_UNCONFIRMED")
		if _, err := r.groups.Add(owner, g, her, nil); err != nil {
			t.Errorf("a key the owner has vouched for: %v", err)
		}
		if got := r.has(t, her, "p"); got != "" {
			t.Errorf("a key that is not hers has %q after she left and came back, want nothing", got)
		}
	})
}

// TestKeysMadeThroughKeys: an API key that somebody made with a did:key is worth
// what that one is, and ends with it.
func TestKeysMadeThroughKeys(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		owner := r.owner(t)
		org := r.organisation(t)
		g := r.make(t, org, group.Draft{Name: "g", Scopes: []string{"keys:write", "entities:read", "entities:write"}})
		her := r.person(owner, t, "a", "b")
		r.add(t, g, her)
		c := web.CallerFrom(r.signed(t, her, "a"))
		c.Through = []string{c.Speaker()}
		k, err := r.auth.Create(web.WithCaller(t.Context(), c), auth.Draft{Name: "k", Scopes: []string{"entities:read", "entities:write"}, Principal: her})
		if err != nil || !slices.Equal(k.BoundTo, []string{her + "#" + strings.TrimPrefix(keyOf("a"), "did:key:")}) {
			t.Fatalf("Create = %+v, %v, want it bound to her key", k, err)
		}
		r.keys["k"] = k.Text
		wantStatus(t, "with it", r.send("k", "GET", path("/v1/entities/%s", org), ""), 200, "")
		if err := r.rekey(owner, her, "b"); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, "after the did:key has gone", r.send("k", "GET", path("/v1/entities/%s", org), ""), 401, "KEY_INVALID")
	})
}

// TestKnownAs: the names under which a caller may have acted.
func TestKnownAs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		owner, ws := r.owner(t), auth.OperatorWorkspace
		her := r.person(owner, t, "a", "b")
		if err := r.rekey(owner, her, "a"); err != nil {
			t.Fatal(err)
		}
		// A lead makes keys for two teams, and one of these another.
		lead := r.employ(t, "did:x:lead", "keys:write", "entities:read")
		team := func(by context.Context, name string) context.Context {
			k, err := r.auth.Create(by, auth.Draft{Name: name, Scopes: []string{"keys:write", "entities:read"}})
			if err != nil {
				t.Fatal(err)
			}
			return web.WithCaller(t.Context(), web.Caller{Workspace: ws, DID: k.Principal, Key: k.ID, Scopes: k.Scopes})
		}
		first, second := team(lead, "first"), team(lead, "second")
		third := team(first, "third")
		id := func(ctx context.Context) string { return web.CallerFrom(ctx).DID }
		a, b := keyOf("a"), keyOf("b")
		for name, tt := range map[string]struct {
			c           web.Caller
			own, others []string
		}{
			"by a key":          {web.Caller{Workspace: ws, DID: her, Signer: a}, []string{her, a, b}, nil},
			"as the key itself": {web.Caller{Workspace: ws, DID: a, Signer: a}, []string{her, a, b}, nil},
			"as one that went":  {web.Caller{Workspace: ws, DID: b, Signer: b}, []string{her, a, b}, nil},
			"with what she made": {
				web.Caller{Workspace: ws, DID: "did:x:device", Key: "k", Through: []string{web.Caller{DID: her, Signer: a}.Speaker()}},
				[]string{"did:x:device"},
				[]string{her, a, b},
			},
			"the lead":         {web.CallerFrom(lead), []string{"did:x:lead"}, []string{id(first), id(second), id(third)}},
			"a team":           {web.CallerFrom(first), []string{id(first)}, []string{id(third), "did:x:lead"}},
			"a team of a team": {web.CallerFrom(third), []string{id(third)}, []string{id(first), "did:x:lead"}},
			"the owner":        {web.CallerFrom(owner), []string{id(owner)}, nil},
			"somebody else":    {web.Caller{Workspace: ws, DID: keyOf("c")}, []string{keyOf("c")}, nil},
			"in another place": {web.Caller{Workspace: "kitui", DID: a}, []string{a}, nil},
		} {
			own, others, err := r.speakers.KnownAs(t.Context(), d, tt.c)
			for _, list := range [][]string{own, others, tt.own, tt.others} {
				slices.Sort(list)
			}
			if err != nil || !slices.Equal(own, tt.own) || !slices.Equal(others, tt.others) {
				t.Errorf("%s: %v and %v, %v, want %v and %v", name, own, others, err, tt.own, tt.others)
			}
		}
	})
}

// TestNamesOfOthers: a did:key that others write on a twin is a name of nobody
// until whoever holds it signs for the twin. Else a claimant keeps a judge from
// judging by writing her key on their own twin.
func TestNamesOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ws, judge := auth.OperatorWorkspace, r.person(r.owner(t), t, "j")
		claimant := r.person(r.employ(t, "did:x:clerk", "entities:read", "entities:write"), t, "c", "j")
		names := func(c web.Caller) []string {
			c.Workspace = ws
			own, _, err := r.speakers.KnownAs(t.Context(), d, c)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(own)
			return own
		}
		want := func(when string, c web.Caller, ids ...string) {
			t.Helper()
			slices.Sort(ids)
			if got := names(c); !slices.Equal(got, ids) {
				t.Errorf("%s: she is known as %v, want %v", when, got, ids)
			}
		}
		want("by an API key", web.Caller{DID: judge, Key: "k"}, judge, keyOf("j"))
		want("by her key", web.Caller{DID: judge, Signer: keyOf("j")}, judge, keyOf("j"))
		for range 2 { // again is no different
			if err := group.Signed(t.Context(), d, web.Caller{Workspace: ws, DID: claimant, Signer: keyOf("j")}); err != nil {
				t.Fatal(err)
			}
		}
		want("after she has signed for the other", web.Caller{DID: judge, Key: "k"}, judge, claimant, keyOf("j"))
	})
}

// TestTooManyNames: nobody gets past a limit by having more names than it.
func TestTooManyNames(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			for i := range 1001 {
				if _, err := tx.Exec(t.Context(), `INSERT INTO entity_keys(ws, did, key, scopes, added_by, added_at, proven) VALUES ($1, $2, $3, '[]', 'x', 1, 1)`,
					auth.OperatorWorkspace, fmt.Sprint("did:x:", i), keyOf("a")); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = r.speakers.KnownAs(t.Context(), d, web.Caller{Workspace: auth.OperatorWorkspace, DID: keyOf("a")})
		wantCode(t, "a key with decoys", err, "TOO_MANY_NAMES")
	})
}

// TestKeysOfOthers: members whose keys are not in a twin of this workspace.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
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
