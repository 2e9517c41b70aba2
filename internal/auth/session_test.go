package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const host = "192.0.2.9:3000"

// visit is a request of a page of the server at host.
func visit(cookie string) call {
	return call{path: "http://" + host + "/v1/signed", header: map[string]string{"Cookie": "hearth_3000=" + cookie, "Sec-Fetch-Site": "same-origin"}}
}

// signIn opens a session with a key and gives the text of its cookie.
func (h *house) signIn(t *testing.T, key string) auth.Opening {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://"+host+"/console/session", nil)
	o, err := h.svc.Sessions().SignIn(r, key)
	if err != nil {
		t.Fatalf("SignIn() = %v", err)
	}
	return o
}

func TestSessions(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(t *testing.T, h *house, o auth.Opening) (code string){
		"works":               func(*testing.T, *house, auth.Opening) string { return "" },
		"after 11 hours":      func(_ *testing.T, h *house, _ auth.Opening) string { h.pass(11 * time.Hour); return "" },
		"after 13 idle hours": func(_ *testing.T, h *house, _ auth.Opening) string { h.pass(13 * time.Hour); return "SESSION_ENDED" },
		"after a week of work": func(t *testing.T, h *house, o auth.Opening) string {
			for range 15 {
				h.pass(11 * time.Hour)
				want(t, h.do(visit(o.Text)), 200, "")
			}
			h.pass(5 * time.Hour)
			return "SESSION_ENDED"
		},
		"key revoked": func(t *testing.T, h *house, _ auth.Opening) string {
			_, err := h.svc.Revoke(h.as(t, "default"), h.ids["manager"], "")
			wantCode(t, err, "")
			return "SESSION_ENDED"
		},
		"key rotated": func(t *testing.T, h *house, _ auth.Opening) string {
			_, err := h.svc.Rotate(h.as(t, "default"), h.ids["manager"], auth.Rotation{})
			wantCode(t, err, "")
			return "SESSION_ENDED"
		},
		"signed out": func(t *testing.T, h *house, o auth.Opening) string {
			_, err := h.svc.Sessions().End(web.WithCaller(t.Context(), o.Caller), o.Session.ID)
			wantCode(t, err, "")
			return "SESSION_ENDED"
		},
		"ended by the owner": func(t *testing.T, h *house, o auth.Opening) string {
			want(t, h.do(call{method: "DELETE", path: "/v1/console/sessions/" + o.Session.ID, key: ownerText}), 200, "")
			return "SESSION_ENDED"
		},
		"swept away": func(t *testing.T, h *house, _ auth.Opening) string {
			h.pass(13 * time.Hour)
			n, err := h.svc.Sessions().Expire(t.Context(), h.clock().Add(-auth.SessionIdle), 100)
			if wantCode(t, err, ""); n != 1 {
				t.Errorf("Expire() = %d, want 1", n)
			}
			return "SESSION_ENDED"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
				h := newHouse(t, d)
				o := h.signIn(t, h.keys["manager"])
				live := web.WithCaller(t.Context(), o.Caller)
				code := f(t, h, o)
				status := 200
				if code != "" {
					status = 401
				}
				want(t, h.do(visit(o.Text)), status, code)
				if err := h.svc.StillValid(live, true); (err == nil) != (code == "") && name != "after 13 idle hours" {
					t.Errorf("a stream of it: StillValid() = %v", err)
				}
			})
		})
	}
}

// TestSessionCounts sends a session as pages of this server do and as others can.
func TestSessionCounts(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		o := h.signIn(t, h.keys["manager"])
		for name, tt := range map[string]struct {
			method string
			header map[string]string
			code   string
		}{
			"own page":                 {"GET", map[string]string{"Sec-Fetch-Site": "same-origin"}, ""},
			"typed":                    {"GET", map[string]string{"Sec-Fetch-Site": "none"}, ""},
			"plain http":               {"GET", nil, ""},
			"another port":             {"GET", map[string]string{"Sec-Fetch-Site": "same-site"}, "KEY_MISSING"},
			"another site":             {"GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, "KEY_MISSING"},
			"another port, plain http": {"GET", map[string]string{"Origin": "http://192.0.2.9:4000"}, "KEY_MISSING"},
			"a frame without origin":   {"GET", map[string]string{"Origin": "null"}, "KEY_MISSING"},
			"with a wrong key":         {"GET", map[string]string{"Authorization": "Bearer wrong"}, "KEY_INVALID"},
			"with another's password":  {"GET", map[string]string{"Authorization": "Basic eDp5"}, "KEY_MISSING"},
			"of another server here":   {"GET", map[string]string{"Cookie": "hearth_4000=" + o.Text}, "KEY_MISSING"},
			"a guess":                  {"GET", map[string]string{"Cookie": "hearth_3000=guess"}, "SESSION_ENDED"},
			"write":                    {"POST", map[string]string{"Sec-Fetch-Site": "same-origin", "X-Hearth-Console": "1"}, ""},
			"write, plain http":        {"POST", map[string]string{"Origin": "http://" + host, "X-Hearth-Console": "1"}, ""},
			"write, no mark":           {"POST", map[string]string{"Sec-Fetch-Site": "same-origin"}, "KEY_MISSING"},
			"write, no origin":         {"POST", map[string]string{"X-Hearth-Console": "1"}, "KEY_MISSING"},
			"write, typed":             {"POST", map[string]string{"Sec-Fetch-Site": "none", "X-Hearth-Console": "1"}, "KEY_MISSING"},
			"write, another port":      {"POST", map[string]string{"Sec-Fetch-Site": "same-site", "X-Hearth-Console": "1", "Origin": "http://" + host}, "KEY_MISSING"},
		} {
			t.Run(name, func(t *testing.T) {
				in := call{method: tt.method, path: "http://" + host + "/v1/signed", header: map[string]string{"Cookie": "hearth_3000=" + o.Text}}
				if tt.method == "POST" {
					in.path, in.body = "http://"+host+"/v1/api-keys", `{"name":"made in a page","scopes":["keys:read"]}`
				}
				for k, v := range tt.header {
					in.header[k] = v
				}
				status := 401
				if tt.code == "" {
					status = map[string]int{"GET": 200, "POST": 201}[tt.method]
				}
				want(t, h.do(in), status, tt.code)
			})
		}
	})
}

// TestSessionsOfOthers has callers list and end sessions that are not theirs.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		manager, device := h.signIn(t, h.keys["manager"]), h.signIn(t, h.keys["device"])
		foreign, top := h.signIn(t, h.keys["tenant"]), h.signIn(t, ownerText)
		for key, n := range map[string]int{"owner": 3, "reader": 3, "device": 1, "guest": 1} {
			page := read[web.Page[auth.Session]](t, h.do(call{path: "/v1/console/sessions", key: h.keys[key]}))
			if len(page.Items) != n {
				t.Errorf("%s sees %d sessions, want %d: %v", key, len(page.Items), n, page.Items)
			}
		}
		end := func(key, id string) call {
			return call{method: "DELETE", path: "/v1/console/sessions/" + id, key: h.keys[key]}
		}
		want(t, h.do(end("device", manager.Session.ID)), 404, "SESSION_NOT_FOUND")
		want(t, h.do(end("reader", manager.Session.ID)), 403, "SCOPE_MISSING")
		want(t, h.do(end("owner", foreign.Session.ID)), 404, "SESSION_NOT_FOUND")
		want(t, h.do(end("manager", top.Session.ID)), 403, "SCOPE_MISSING")
		want(t, h.do(end("device", device.Session.ID)), 200, "")
		want(t, h.do(end("owner", manager.Session.ID)), 200, "")
		want(t, h.do(visit(foreign.Text)), 200, "")
	})
}

// TestCode opens sessions with codes of the terminal.
func TestCode(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		enter := func(code, from string) error {
			r := httptest.NewRequest(http.MethodPost, "http://localhost:3000/console/session", nil)
			r.RemoteAddr = from
			o, err := h.svc.Sessions().Enter(r, code)
			if err == nil && !o.Caller.May("operations:write") {
				t.Errorf("the code opened a session of %v", o.Caller)
			}
			return err
		}
		fresh := func() string {
			code, err := h.svc.Sessions().Code(t.Context(), auth.OperatorWorkspace)
			if err != nil {
				t.Fatal(err)
			}
			return code
		}
		code := fresh()
		wantCode(t, enter(code, "192.0.2.1:5"), "CODE_INVALID")
		wantCode(t, enter(code, "127.0.0.1:5"), "")
		wantCode(t, enter(code, "127.0.0.1:5"), "CODE_INVALID")
		wantCode(t, enter("", "127.0.0.1:5"), "CODE_INVALID")
		old := fresh()
		h.pass(auth.CodeLife)
		wantCode(t, enter(old, "127.0.0.1:5"), "CODE_INVALID")
		for range 30 {
			_ = enter("guess", "127.0.0.1:5") // until the limit on wrong keys holds it up
		}
		wantCode(t, enter("guess", "127.0.0.1:5"), "TOO_MANY_FAILURES")
		wantCode(t, enter(fresh(), "127.0.0.1:5"), "") // the tries of others do not keep the owner out
	})
}
