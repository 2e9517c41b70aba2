package auth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// rotate asks for the successor of a key over HTTP and wants an answer.
func (h *house) rotate(t *testing.T, text, id string, status int, code string) auth.Issued {
	t.Helper()
	w := h.do(call{method: "POST", path: "/v1/api-keys/" + id + "/rotate", key: text, body: `{"graceSeconds":600}`})
	want(t, w, status, code)
	if w.Code != 201 {
		return auth.Issued{}
	}
	return read[auth.Issued](t, w)
}

// join has somebody invite a person, who opens the link.
func (h *house) join(t *testing.T, who, body string) auth.Accepted {
	t.Helper()
	a, err := h.accept(h.invite(t, who, body).Code, somewhere)
	if wantCode(t, err, ""); err != nil {
		t.FailNow()
	}
	return a
}

// TestPersonKeepsHerKey: whoever rotates a key speaks as its principal from then
// on, so the key of an invited person is rotated by herself or by an owner, also
// when nothing is left of the invitation.
func TestPersonKeepsHerKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		her := h.join(t, "manager", `{"name":"Achieng","scopes":["keys:write","entities:read"]}`)
		h.rotate(t, h.keys["manager"], her.Caller.Key, 403, "SCOPE_MISSING")
		next := h.rotate(t, her.KeyText, her.Caller.Key, 201, "")
		h.rotate(t, h.keys["manager"], next.ID, 403, "SCOPE_MISSING")
		w := h.do(call{method: "POST", path: "/v1/api-keys", key: next.Text, body: `{"name":"phone","scopes":["entities:read"],"principal":"` + her.Caller.DID + `"}`})
		want(t, w, 201, "")
		phone := read[auth.Issued](t, w)
		h.rotate(t, h.keys["manager"], phone.ID, 403, "SCOPE_MISSING")
		h.rotate(t, next.Text, phone.ID, 201, "")
		last := h.rotate(t, ownerText, next.ID, 201, "")

		h.pass(34 * 24 * time.Hour)
		_, err := h.svc.Sessions().Expire(t.Context(), h.clock(), 100)
		wantCode(t, err, "")
		h.rotate(t, h.keys["manager"], last.ID, 403, "SCOPE_MISSING")
		want(t, h.do(call{path: "/v1/signed", key: last.Text}), 200, "")
		if made, err := h.svc.Minted(t.Context(), d, her.Caller.DID); err != nil || !made {
			t.Errorf("Minted() = %v, %v, want her DID to be one of ours", made, err)
		}

		h.rotate(t, h.keys["manager"], h.ids["device"], 201, "")
		want(t, h.do(call{method: "DELETE", path: "/v1/api-keys/" + last.ID, key: h.keys["manager"]}), 200, "")
	})
}

// TestServiceBecomesAPerson: a principal that somebody joins by invitation is a
// person from then on, with all its keys.
func TestServiceBecomesAPerson(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		desk := h.make(t, "desk", "default", auth.Draft{Name: "desk", Role: "collector"})
		v := h.invite(t, "owner", `{"name":"Achieng","role":"collector","principal":"`+desk.Principal+`"}`)
		desk = h.rotate(t, h.keys["manager"], desk.ID, 201, "") // nobody has come yet
		her, err := h.accept(v.Code, somewhere)
		wantCode(t, err, "")
		for _, id := range []string{desk.ID, her.Caller.Key} {
			h.rotate(t, h.keys["manager"], id, 403, "SCOPE_MISSING")
		}
		w := h.do(call{
			method: "PATCH", path: "/v1/api-keys/" + desk.ID, key: ownerText, body: `{"name":"Achieng O."}`,
			header: map[string]string{"If-Match": "*", "Content-Type": "application/merge-patch+json"},
		})
		want(t, w, 200, "")
		names, err := h.svc.Names(h.as(t, "default"), []string{desk.Principal})
		if err != nil || len(names) != 1 || names[0].Name != "Achieng O." {
			t.Errorf("names = %+v, %v, want the new one", names, err)
		}
	})
}

// fill has a key invite as many as it can, and tells how many that were.
func (h *house) fill(t *testing.T, text string) (n int) {
	t.Helper()
	for ; n <= 200; n++ {
		w := h.do(call{method: "POST", path: "/v1/invites", key: text, body: `{"name":"x","scopes":["entities:read"]}`})
		if w.Code != 201 {
			want(t, w, 409, "TOO_MANY_INVITES")
			break
		}
	}
	return n
}

// TestInvitesOfOneMaker: nobody takes all the room for invitations, and a key that
// ends makes room at once.
func TestInvitesOfOneMaker(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		draft := auth.Draft{Name: "m", Scopes: []string{"keys:*", "entities:*"}}
		var first auth.Issued
		for i := range 4 {
			k := h.make(t, "m", "default", draft)
			if n := h.fill(t, k.Text); n != 50 {
				t.Fatalf("key %d made %d invitations, want 50", i, n)
			}
			if i == 0 {
				first = k
				again := h.make(t, "again", "default", auth.Draft{Name: "m", Scopes: draft.Scopes, Principal: k.Principal})
				if n := h.fill(t, again.Text); n != 0 {
					t.Errorf("a second key of the same principal made %d more", n)
				}
			}
		}
		if n := h.fill(t, ownerText); n != 0 {
			t.Errorf("the workspace had room for %d more", n)
		}
		h.takeEvents()
		want(t, h.do(call{method: "DELETE", path: "/v1/api-keys/" + first.ID, key: ownerText}), 200, "")
		events := h.takeEvents()
		if n := len(events); n != 51 || !slices.Contains(events, "default key.revoked "+first.ID+" 2") || !strings.HasPrefix(events[0], "default invite.revoked inv_") {
			t.Errorf("%d events, the first %q, want the end of the key and of its 50 invitations", n, events[:1])
		}
		if n := h.fill(t, ownerText); n != 50 {
			t.Errorf("the end of a key made room for %d, want 50", n)
		}
	})
}

// TestInviteEndsWithItsKey: an invitation says when it ends, which is no later than
// the key that made it.
func TestInviteEndsWithItsKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "brief", "default", auth.Draft{Name: "b", Scopes: []string{"keys:*", "entities:*"}, ExpiresAt: epoch.Add(time.Hour)})
		v := h.invite(t, "brief", `{"name":"x","scopes":["entities:read"]}`)
		if !v.EndsAt.Equal(epoch.Add(time.Hour)) {
			t.Errorf("it ends at %v, want with its key", v.EndsAt)
		}
		v = h.invite(t, "manager", `{"name":"x","scopes":["entities:read"]}`)
		h.rotate(t, ownerText, h.ids["manager"], 201, "")
		list := read[struct{ Items []auth.Invite }](t, h.do(call{path: "/v1/invites", key: ownerText})).Items
		if i := slices.IndexFunc(list, func(o auth.Invite) bool { return o.ID == v.ID }); i < 0 || !list[i].EndsAt.Equal(epoch.Add(10*time.Minute)) {
			t.Errorf("invites = %+v, want it to end with the grace of its key", list)
		}
		h.pass(5 * time.Minute)
		h.join(t, "owner", `{"name":"x","scopes":["entities:read"]}`)
		h.pass(5 * time.Minute)
		_, err := h.accept(v.Code, somewhere)
		wantCode(t, err, "INVITE_ENDED")
		used := h.invite(t, "brief", `{"name":"y","scopes":["entities:read"]}`)
		_, err = h.accept(used.Code, somewhere)
		wantCode(t, err, "")
		want(t, h.do(call{method: "DELETE", path: "/v1/api-keys/" + h.ids["brief"], key: ownerText}), 200, "")
		_, err = h.accept(used.Code, somewhere)
		wantCode(t, err, "INVITE_USED") // by whom it was used still matters
	})
}

// TestInvitesOfAProject: a key of one project does not learn who else is invited.
func TestInvitesOfAProject(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		for _, name := range []string{"narrow", "other"} {
			h.make(t, name, "default", auth.Draft{Name: name, Scopes: []string{"keys:*", "entities:*"}, Projects: []string{"did:ixo:entity:p1"}})
		}
		var own, all []string
		for i := range 3 {
			for _, who := range []string{"manager", "narrow", "other"} {
				id := h.invite(t, who, fmt.Sprintf(`{"name":"secret of %s %d","scopes":["entities:read"]}`, who, i)).ID
				if all = append(all, id); who == "narrow" {
					own = append(own, id)
				}
			}
		}
		for _, limit := range []int{1, 2, 3, 50} {
			if ids, _ := walk(t, h, "narrow", "/v1/invites", limit); !slices.Equal(ids, own) {
				t.Errorf("pages of %d: %v, want its own %v", limit, ids, own)
			}
			if ids, _ := walk(t, h, "reader", "/v1/invites", limit); !slices.Equal(ids, all) {
				t.Errorf("pages of %d: %v, want all %v", limit, ids, all)
			}
		}
	})
}
