package ussd_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// routeCase is one of testdata/routes.json.
type routeCase struct {
	Name     string
	Limit    int
	Only     bool
	Codes    []string
	Requests []routeRequest
}

type routeRequest struct {
	Method, Path, Type, Body, Secret, From, Pass string
	JSON                                         json.RawMessage
	Fill, Times                                  int
	Operator                                     bool

	Status                     int
	Type2                      string // of the answer; text/plain by default
	Answer, Begins, Has, Lacks string
	Headers                    map[string]string
	Members                    map[string]any
}

func (q *routeRequest) request(t *testing.T) *http.Request {
	body := q.Body
	if q.JSON != nil {
		body = string(q.JSON)
	}
	if q.Fill > 0 {
		body = strings.Repeat("x", q.Fill)
	}
	r := httptest.NewRequestWithContext(t.Context(), cmp.Or(q.Method, http.MethodPost), cmp.Or(q.Path, "/api/ussd"), strings.NewReader(body))
	r.Header.Set("Content-Type", cmp.Or(q.Type, "application/json"))
	if q.Secret != "" {
		r.Header.Set("X-Gateway-Secret", q.Secret)
	}
	if q.Operator {
		r.Header.Set("X-Operator", "yes")
	}
	r.RemoteAddr = cmp.Or(q.From, "192.0.2.1") + ":1234"
	return r
}

func (q *routeRequest) check(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	got := w.Body.String()
	if want := cmp.Or(q.Status, 200); w.Code != want {
		t.Errorf("status = %d, want %d", w.Code, want)
	}
	if want := cmp.Or(q.Type2, "text/plain; charset=utf-8"); w.Header().Get("Content-Type") != want && q.Status != 404 {
		t.Errorf("content type = %q, want %q", w.Header().Get("Content-Type"), want)
	}
	switch {
	case q.Answer != "" && got != q.Answer:
		t.Errorf("answer = %q, want %q", got, q.Answer)
	case !strings.HasPrefix(got, q.Begins):
		t.Errorf("answer = %q, want %q…", got, q.Begins)
	case !strings.Contains(got, q.Has):
		t.Errorf("answer = %q, want …%q…", got, q.Has)
	case q.Lacks != "" && strings.Contains(got, q.Lacks):
		t.Errorf("answer = %q, want no %q in it", got, q.Lacks)
	}
	for name, want := range q.Headers {
		if got := w.Header().Get(name); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
	var all any
	if len(q.Members) > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
			t.Fatalf("answer %q: %v", got, err)
		}
	}
	for pointer, want := range q.Members {
		if got := member(all, pointer); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v in %s", pointer, got, want, w.Body)
		}
	}
}

// member finds a value by its JSON pointer, nil when there is none.
func member(v any, pointer string) any {
	for _, name := range strings.Split(pointer, "/")[1:] {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/routes.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []routeCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				withEffects(t, d)
				l := newLine(t, d, newClock(), func(c *ussd.Config) {
					c.RateLimit, c.GatewayOnly, c.ServiceCodes = tt.Limit, tt.Only, tt.Codes
					c.GatewaySecret, c.GatewayNetworks = "gateway-secret-16", []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
				})
				for i, q := range tt.Requests {
					if q.Pass != "" {
						l.clock.pass(must(time.ParseDuration(q.Pass))(t))
					}
					for range max(q.Times, 1) {
						w := httptest.NewRecorder()
						l.http.ServeHTTP(w, q.request(t))
						t.Logf("request %d", i)
						q.check(t, w)
					}
				}
			})
		})
	}
}

// TestSeen tells the counters what happened, and nothing personal.
func TestSeen(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	var seen []string
	l := newLine(t, d, newClock(), func(c *ussd.Config) {
		c.Seen = func(s ussd.Step) {
			seen = append(seen, s.Result+" "+s.Node)
			if s.First != (len(seen) == 1) || s.Took <= 0 {
				t.Errorf("step %d = %+v, want only the first to be one, and a time", len(seen), s)
			}
		}
	})
	l.play("s1", []turn{{"", atHome}, {"7", noGood}, {"1", atRead}, {"", noGood}, {"1", atSent}, {"*", goodbye}, {"*", "=5"}})
	l.send("s1", "nobody", "")
	want := []string{"shown home", "refused home", "shown read", "refused read", "shown read.sent", "ended read.sent", "repeated read.sent", "invalid "}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("seen = %q, want %q", seen, want)
	}
}

// TestGatewayHangsUp closes with the pack's words, in the caller's language and
// with variables filled in.
func TestGatewayHangsUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := readPack(t, "goodbye: {en: Goodbye., sw: Kwaheri.}", `goodbye: {en: "Goodbye from {app}, {name}.", sw: "Kwaheri {name}, {app}."}`)
		l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Packs = &packs{[]*menu.Pack{p}} })
		for _, tt := range []struct{ kind, text, want string }{
			{"Release", "", "Goodbye from Small, ."},
			{"Initiation", "*2233#", "Welcome to Small"},
			{"Response", "9", "Karibu Ndogo"},
			{"Response", "2", "Jina lako?"},
			{"Response", "Jane", "Jane, mji wako?"},
			{"Release", "", "Kwaheri Jane, Ndogo."},
		} {
			body := `{"Type":"` + tt.kind + `","Message":"` + tt.text + `","ServiceCode":"*2233#","Mobile":"233200000001","SessionId":"h1"}`
			if got := l.post("/api/ussd/hubtel", "application/json", body).Body.String(); !strings.Contains(got, tt.want) {
				t.Errorf("%s %q = %s, want %q", tt.kind, tt.text, got, tt.want)
			}
		}
	})
}
