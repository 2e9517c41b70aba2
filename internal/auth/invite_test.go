package auth_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// invite has somebody invite a person over HTTP.
func (h *house) invite(t *testing.T, who, body string) auth.NewInvite {
	t.Helper()
	w := h.do(call{method: "POST", path: "/v1/invites", key: h.keys[who], body: body})
	if want(t, w, 201, ""); w.Code != 201 {
		t.FailNow()
	}
	return read[auth.NewInvite](t, w)
}

// accept opens the link of an invitation from an address.
func (h *house) accept(code, from string) (a auth.Accepted, err error) {
	send(web.Proxies{}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		a, err = h.svc.Invites().Accept(r, code)
	})), call{method: "POST", path: "http://" + host + "/console/session", from: from})
	return a, err
}

const somewhere = "203.0.113.77:4000"

// TestInvite: the link makes one key with the rights given, once, from anywhere.
func TestInvite(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		v := h.invite(t, "manager", `{"name":"Achieng","role":"collector","origin":"https://hearth.example.org/"}`)
		if !strings.HasPrefix(v.Link, "https://hearth.example.org/console/#invite=") || !strings.HasSuffix(v.Link, v.Code) || v.QR == nil || v.QR.Size < 29 || !strings.HasPrefix(v.QR.Path, "M4 4h7v1h-7z") || v.Status != "open" {
			t.Errorf("invite = %+v", v)
		}
		list := h.do(call{path: "/v1/invites", key: ownerText})
		if want(t, list, 200, ""); strings.Contains(list.Body.String(), v.Code) || strings.Contains(list.Body.String(), `"qr"`) {
			t.Errorf("the list shows the link again: %s", list.Body)
		}
		o, err := h.accept(v.Code, somewhere)
		if wantCode(t, err, ""); err != nil {
			t.FailNow()
		}
		if o.Session.Name != "Achieng" || !slices.Contains(o.Caller.Scopes, "responses:write") || slices.Contains(o.Caller.Scopes, "keys:write") {
			t.Errorf("the session is %+v of %+v", o.Session, o.Caller)
		}
		want(t, h.do(visit(o.Text)), 200, "")
		want(t, h.do(call{path: "/v1/signed", key: o.KeyText}), 200, "")
		_, err = h.accept(v.Code, somewhere)
		wantCode(t, err, "INVITE_USED")
		want(t, h.do(call{method: "DELETE", path: "/v1/invites/" + v.ID, key: ownerText}), 409, "INVITE_USED")
		if got := read[struct{ Items []auth.Invite }](t, h.do(call{path: "/v1/invites", key: ownerText})).Items; len(got) != 1 || got[0].Status != "used" || got[0].Principal != o.Caller.DID || got[0].Key != o.Caller.Key {
			t.Errorf("invites = %+v", got)
		}
		wantEvents(t, h, "default invite.created "+v.ID+" 1", "default key.created "+o.Caller.Key+" 1", "default invite.used "+v.ID+" 2")
	})
}

// TestInviteEnds: an invitation gives nothing once its inviter could not give it.
func TestInviteEnds(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(t *testing.T, h *house, v auth.NewInvite) (code string){
		"after 73 hours": func(_ *testing.T, h *house, _ auth.NewInvite) string { h.pass(73 * time.Hour); return "INVITE_EXPIRED" },
		"taken back": func(t *testing.T, h *house, v auth.NewInvite) string {
			want(t, h.do(call{method: "DELETE", path: "/v1/invites/" + v.ID, key: h.keys["manager"]}), 200, "")
			want(t, h.do(call{method: "DELETE", path: "/v1/invites/" + v.ID, key: ownerText}), 200, "")
			return "INVITE_REVOKED"
		},
		"key revoked": func(t *testing.T, h *house, _ auth.NewInvite) string {
			_, err := h.svc.Revoke(h.as(t, "default"), h.ids["manager"], "")
			wantCode(t, err, "")
			return "INVITE_ENDED"
		},
		"key replaced at once": func(t *testing.T, h *house, _ auth.NewInvite) string {
			zero := int64(0)
			_, err := h.svc.Rotate(h.as(t, "default"), h.ids["manager"], auth.Rotation{GraceSeconds: &zero})
			wantCode(t, err, "")
			return "INVITE_ENDED"
		},
		"grace over": func(t *testing.T, h *house, _ auth.NewInvite) string {
			_, err := h.svc.Rotate(h.as(t, "default"), h.ids["manager"], auth.Rotation{})
			wantCode(t, err, "")
			h.pass(2 * time.Hour)
			return "INVITE_ENDED"
		},
		"swept away": func(t *testing.T, h *house, _ auth.NewInvite) string {
			h.pass(34 * 24 * time.Hour)
			_, err := h.svc.Sessions().Expire(t.Context(), h.clock(), 100)
			wantCode(t, err, "")
			return "INVITE_INVALID"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
				h := newHouse(t, d)
				v := h.invite(t, "manager", `{"name":"Achieng","role":"collector"}`)
				code := f(t, h, v)
				before := rows(t, d)
				_, err := h.accept(v.Code, somewhere)
				wantCode(t, err, code)
				if after := rows(t, d); after["api_keys"] != before["api_keys"] {
					t.Error("a key was made")
				}
			})
		})
	}
}

// TestInviteOfMember: what groups give the inviter is asked again at the use, and
// the key depends on them ever after.
func TestInviteOfMember(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		g.set("default", amina, "keys:*", "entities:*")
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "x", Role: "member", Principal: amina})
		one := h.invite(t, "amina", `{"name":"one","scopes":["entities:write"]}`)
		two := h.invite(t, "amina", `{"name":"two","scopes":["entities:read"]}`)
		o, err := h.accept(two.Code, somewhere)
		wantCode(t, err, "")
		g.set("default", amina, "keys:*", "entities:read")
		h.pass(2 * time.Second)
		_, err = h.accept(one.Code, somewhere)
		wantCode(t, err, "INVITE_ENDED")
		want(t, h.do(visit(o.Text)), 200, "")
		g.set("default", amina)
		h.pass(2 * time.Second)
		want(t, h.do(visit(o.Text)), 401, "SESSION_ENDED")
	})
}

// TestInviteRefused: nobody invites to more than they have.
func TestInviteRefused(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "near", "default", auth.Draft{Name: "near", Scopes: []string{"keys:*", "devices:*"}, Networks: []string{"192.0.2.0/24"}, ExpiresAt: h.clock().Add(time.Hour)})
		for _, c := range []struct {
			who, body string
			status    int
			code      string
		}{
			{"manager", `{"name":"x","role":"owner"}`, 403, "SCOPE_MISSING"},
			{"manager", `{"name":"x","scopes":["operations:read"]}`, 403, "SCOPE_MISSING"},
			{"manager", `{"name":"x","role":"collector","principal":"did:ixo:somebody"}`, 403, "SCOPE_MISSING"},
			{"reader", `{"name":"x","scopes":["keys:read"]}`, 403, "SCOPE_MISSING"},
			{"near", `{"name":"x","role":"device","networks":["0.0.0.0/0"]}`, 403, "RESTRICTION_EXCEEDED"},
			{"near", `{"name":"x","role":"device","expiresAt":"2099-01-01T00:00:00Z"}`, 403, "RESTRICTION_EXCEEDED"},
			{"manager", `{"name":"","role":"collector"}`, 400, "KEY_DRAFT_INVALID"},
			{"manager", `{"name":"x","role":"collector","origin":"javascript:alert(1)"}`, 400, "KEY_DRAFT_INVALID"},
			{"manager", `{"name":"x","role":"collector","origin":"https://a.example/path"}`, 400, "KEY_DRAFT_INVALID"},
			{"manager", `{"name":"x"}`, 400, "KEY_DRAFT_INVALID"},
		} {
			want(t, h.do(call{method: "POST", path: "/v1/invites", key: h.keys[c.who], body: c.body, from: "192.0.2.1:1"}), c.status, c.code)
		}
		v := h.invite(t, "near", `{"name":"x","role":"device"}`)
		_, err := h.accept(v.Code, somewhere)
		wantCode(t, err, "KEY_NETWORK_FORBIDDEN")
		o, err := h.accept(v.Code, "192.0.2.50:1") // it was not used up
		if wantCode(t, err, ""); err == nil {
			k, err := h.svc.Get(h.as(t, "default"), o.Caller.Key)
			if err != nil || !k.ExpiresAt.Equal(h.clock().Add(time.Hour)) || len(k.Networks) != 1 {
				t.Errorf("the key = %+v, %v; want the limits of its inviter", k, err)
			}
		}
		w := h.invite(t, "owner", `{"name":"x","role":"owner"}`)
		want(t, h.do(call{method: "DELETE", path: "/v1/invites/" + w.ID, key: h.keys["manager"]}), 403, "SCOPE_MISSING")
		want(t, h.do(call{method: "DELETE", path: "/v1/invites/" + w.ID, key: h.keys["tenant"]}), 404, "INVITE_NOT_FOUND")
		if got := h.do(call{path: "/v1/invites", key: h.keys["tenant"]}).Body.String(); strings.Contains(got, w.ID) {
			t.Errorf("another workspace sees %s", got)
		}
	})
}

// TestInviteOnce: of many who open a link at the same moment one gets in.
func TestInviteOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		v := h.invite(t, "manager", `{"name":"Achieng","role":"collector"}`)
		before := rows(t, d)
		var in atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, err := h.accept(v.Code, somewhere)
				if err == nil {
					in.Add(1)
				} else if codeOf(err) != "INVITE_USED" {
					t.Errorf("accept = %v", err)
				}
			})
		}
		wg.Wait()
		if n := rows(t, d)["api_keys"] - before["api_keys"]; in.Load() != 1 || n != 1 {
			t.Errorf("%d got in, %d keys were made", in.Load(), n)
		}
	})
}

// TestInviteGuessed: wrong codes count as wrong keys do, and a good one at the same
// address still works.
func TestInviteGuessed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		v := h.invite(t, "manager", `{"name":"Achieng","role":"collector"}`)
		seen := map[string]int{}
		for range 30 {
			_, err := h.accept("guess", somewhere)
			seen[codeOf(err)]++
		}
		if seen["INVITE_INVALID"] < 10 || len(seen) != 2 {
			t.Errorf("guesses = %v, want some refused and the rest held up", seen)
		}
		_, err := h.accept(v.Code, somewhere)
		wantCode(t, err, "")
	})
}

// TestInviteForgotten: nothing of an invitation is left of somebody who is erased.
func TestInviteForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		v := h.invite(t, "manager", `{"name":"Achieng","role":"collector"}`)
		o, err := h.accept(v.Code, somewhere)
		wantCode(t, err, "")
		w := h.invite(t, "owner", `{"name":"Achieng again","role":"collector","principal":"`+o.Caller.DID+`"}`)
		ctx := h.as(t, "default")
		err = d.InTx(ctx, func(tx *db.Tx) error {
			_, err := h.svc.Forget(ctx, tx, "default", o.Caller.DID)
			return err
		})
		wantCode(t, err, "")
		if got := h.do(call{path: "/v1/invites", key: ownerText}).Body.String(); strings.Contains(got, "Achieng") {
			t.Errorf("invites = %s", got)
		}
		_, err = h.accept(w.Code, somewhere)
		wantCode(t, err, "INVITE_INVALID")
	})
}

// TestRename changes the name of a key, and of whom only it speaks for.
func TestRename(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		patch := func(who, id, match, body string) *httptest.ResponseRecorder {
			return h.do(call{method: "PATCH", path: "/v1/api-keys/" + id, key: h.keys[who], body: body, header: map[string]string{"If-Match": match, "Content-Type": "application/merge-patch+json"}})
		}
		id := h.ids["device"]
		want(t, patch("manager", id, `"1"`, `{"name":"roof of the clinic"}`), 200, "")
		want(t, patch("manager", id, `"1"`, `{"name":"again"}`), 412, "STALE_REVISION")
		want(t, patch("manager", id, ``, `{"name":"again"}`), 428, "PRECONDITION_REQUIRED")
		want(t, patch("manager", id, `*`, `{"name":""}`), 400, "KEY_DRAFT_INVALID")
		want(t, patch("manager", id, `*`, `{"scopes":["*"]}`), 400, "UNKNOWN_MEMBER")
		want(t, patch("manager", h.ids["owner"], `*`, `{"name":"mine"}`), 403, "SCOPE_MISSING")
		want(t, patch("reader", id, `*`, `{"name":"mine"}`), 403, "SCOPE_MISSING")
		want(t, patch("tenant", id, `*`, `{"name":"mine"}`), 404, "KEY_NOT_FOUND")
		wantEvents(t, h, "default key.updated "+id+" 2")
		k, err := h.svc.Get(h.as(t, "default"), id)
		if err != nil || k.Name != "roof of the clinic" {
			t.Fatalf("key = %+v, %v", k, err)
		}
		names, err := h.svc.Names(h.as(t, "default"), []string{k.Principal})
		if err != nil || len(names) != 1 || names[0].Name != "roof of the clinic" {
			t.Errorf("names = %+v, %v", names, err)
		}
		_, err = h.svc.Revoke(h.as(t, "default"), id, "")
		wantCode(t, err, "")
		for status, n := range map[string]int{"revoked": 1, "active": 3, "expired": 0} {
			if got := read[struct{ Items []auth.Key }](t, h.do(call{path: "/v1/api-keys?status=" + status, key: ownerText})).Items; len(got) != n {
				t.Errorf("%d keys are %s, want %d", len(got), status, n)
			}
		}
		want(t, h.do(call{path: "/v1/api-keys?status=lost", key: ownerText}), 400, "INVALID_PARAMETER")
		first := read[struct {
			Items []auth.Key
			Page  struct{ NextCursor string }
		}](t, h.do(call{path: "/v1/api-keys?status=active&limit=2", key: ownerText}))
		rest := read[struct{ Items []auth.Key }](t, h.do(call{path: "/v1/api-keys?status=active&limit=2&cursor=" + first.Page.NextCursor, key: ownerText}))
		if len(first.Items) != 2 || len(rest.Items) != 1 || rest.Items[0].ID == first.Items[1].ID {
			t.Errorf("pages of active keys: %d, then %+v", len(first.Items), rest.Items)
		}
	})
}
