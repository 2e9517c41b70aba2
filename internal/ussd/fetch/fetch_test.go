package fetch_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// ask runs the action against a server.
func ask(t *testing.T, allow []string, with map[string]string, answer ...menu.Pick) machine.Result {
	t.Helper()
	client, err := outbound.New(outbound.Config{Allow: allow, MaxRedirects: -1, MaxBytes: fetch.MaxBytes})
	if err != nil {
		t.Fatal(err)
	}
	a := fetch.Actions(fetch.Config{Client: client, Log: dbtest.Log(t)})["http"]
	res, err := a.Outside(t.Context(), machine.ActionCall{Call: machine.Call{With: with, Answer: answer}, Key: "key-1"})
	if err != nil {
		t.Fatalf("Outside() = %v, want a result", err)
	}
	return res
}

var loopback = []string{"127.0.0.1", "::1"}

// TestAnswers: what is taken out of an answer, and what becomes of answers that
// are none.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, at string
		status         int
		want, value    string
	}{
		{"a text", `{"a": {"b": "x"}}`, "/a/b", 200, "ok", "x"},
		{"a number as it is written", `{"a": 12345678901234567890.10}`, "/a", 200, "ok", "12345678901234567890.10"},
		{"a boolean", `{"a": true}`, "/a", 200, "ok", "true"},
		{"of a list", `{"a": ["x", "y"]}`, "/a/1", 200, "ok", "y"},
		{"past a list", `{"a": ["x"]}`, "/a/1", 200, "ok", ""},
		{"not there", `{"a": 1}`, "/b/c", 200, "ok", ""},
		{"an object", `{"a": {}}`, "/a", 200, "ok", ""},
		{"null", `{"a": null}`, "/a", 200, "ok", ""},
		{"signs", `{"a/b~": 1}`, "/a~1b~0", 200, "ok", "1"},
		{"one line", `{"a": "x\n0. Back\u2028\t\u0000y"}`, "/a", 200, "ok", "x 0. Back y"},
		{"long", `{"a": "` + strings.Repeat("ä", 500) + `"}`, "/a", 200, "ok", strings.Repeat("ä", 160)},
		{"201", `{"a": 1}`, "/a", 201, "ok", "1"},
		{"not JSON", `a = 1`, "/a", 200, "failed", ""},
		{"twice the same name", `{"a": 1, "a": 2}`, "/a", 200, "failed", ""},
		{"nothing", ``, "/a", 200, "failed", ""},
		{"too large", `{"a": "` + strings.Repeat("x", fetch.MaxBytes) + `"}`, "/a", 200, "failed", ""},
		{"missing", `{"a": 1}`, "/a", 404, "refused", ""},
		{"too many", `{"a": 1}`, "/a", 429, "failed", ""},
		{"trouble", `{"a": 1}`, "/a", 503, "failed", ""},
		{"elsewhere", `{"a": 1}`, "/a", 307, "failed", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer s.Close()
			if got := ask(t, loopback, map[string]string{"url": s.URL}, menu.Pick{Var: "v", At: tt.at}); got.Name != tt.want || got.Set["v"] != tt.value {
				t.Errorf("result = %+v, want %s with %q", got, tt.want, tt.value)
			}
		})
	}
}

// TestSends: everything but the address, the method and the key is sent, and
// nothing of it can change where.
func TestSends(t *testing.T) {
	t.Parallel()
	var got *http.Request
	body := ""
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b := make([]byte, 100)
		n, _ := r.Body.Read(b)
		got, body = r, string(b[:n])
	}))
	defer s.Close()
	with := map[string]string{"url": s.URL + "/a?b=1", "authorization": "Bearer t", "name": "x&y=../z#\r\nHost: other"}
	if r := ask(t, loopback, with); r.Name != "ok" || got.Method != "GET" || got.URL.Path != "/a" || got.URL.Query().Get("b") != "1" ||
		got.URL.Query().Get("name") != with["name"] || len(got.URL.Query()) != 2 || got.Header.Get("Authorization") != "Bearer t" || got.Header.Get("Idempotency-Key") != "" {
		t.Errorf("sent %s %s, result %+v", got.Method, got.URL, r)
	}
	with = maps.Clone(with)
	with["method"] = "POST"
	if r := ask(t, loopback, with); r.Name != "ok" || body != `{"name":"x&y=../z#\r\nHost: other"}` || got.URL.RawQuery != "b=1" || got.Header.Get("Idempotency-Key") != "key-1" {
		t.Errorf("sent %s %s %s, result %+v", got.Method, got.URL, body, r)
	}
}

// TestGuards: neither our own machine nor our network is asked unless an
// operator allows it, however the address is spelt.
func TestGuards(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") }))
	defer s.Close()
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	for _, u := range []string{
		s.URL, "http://localhost" + port, "http://2130706433" + port, "http://0x7f.1" + port, "http://[::1]" + port, "http://[::ffff:127.0.0.1]" + port,
		"http://169.254.169.254/latest/meta-data", "http://10.0.0.1", "http://0.0.0.0" + port, "file:///etc/passwd", "http://user:pass@127.0.0.1" + port,
	} {
		if got := ask(t, nil, map[string]string{"url": u}); got.Name != "failed" {
			t.Errorf("%s: %+v, want failed", u, got)
		}
	}
}

// TestTime: an action that has no time asks nobody; one that is cut off fails.
func TestTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel() // the time is up while the server thinks
		<-r.Context().Done()
	}))
	defer s.Close()
	client, err := outbound.New(outbound.Config{Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	a := fetch.Actions(fetch.Config{Client: client})["http"]
	for range 2 { // the second has none from the beginning
		if got, err := a.Outside(ctx, machine.ActionCall{Call: machine.Call{With: map[string]string{"url": s.URL}}}); err != nil || got.Name != "failed" {
			t.Errorf("Outside() = %+v, %v, want failed", got, err)
		}
	}
}

// TestAtOnce: a server that hangs takes only so many callers with it.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached <- struct{}{}
		<-release
	}))
	defer s.Close()
	client, err := outbound.New(outbound.Config{Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	a := fetch.Actions(fetch.Config{Client: client, AtOnce: 1})["http"]
	call := func() string {
		r, err := a.Outside(t.Context(), machine.ActionCall{Call: machine.Call{With: map[string]string{"url": s.URL}}})
		if err != nil {
			t.Error(err)
		}
		return r.Name
	}
	first := make(chan string, 1)
	go func() { first <- call() }()
	<-reached
	if got := call(); got != "failed" {
		t.Errorf("a second call = %s, want failed at once", got)
	}
	close(release)
	if got := <-first; got != "ok" {
		t.Errorf("the first call = %s, want ok", got)
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	check := fetch.Actions(fetch.Config{})["http"].Valid
	for _, tt := range []struct{ with, want string }{
		{"url=https://example.org/a?b=c", ""},
		{"url=https://example.org method=POST authorization=x", ""},
		{"", "url is missing"},
		{"url=https://example.org/{name}", "url shows no variables"},
		{"url=ftp://example.org", "url must be an address"},
		{"url=//example.org", "url must be an address"},
		{"url=https://a:b@example.org", "url must be an address"},
		{"url=https://example.org method=PUT", "there are GET and POST"},
		{"url=https://example.org authorization={pin}", "authorization shows no variables"},
	} {
		with := map[string]string{}
		for f := range strings.FieldsSeq(tt.with) {
			name, value, _ := strings.Cut(f, "=")
			with[name] = value
		}
		if err := check(with); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.with, err, tt.want)
		}
	}
}

func TestValidTwins(t *testing.T) {
	t.Parallel()
	all := fetch.Actions(fetch.Config{})
	for _, tt := range []struct{ action, with, want string }{
		{"twins", "type=Stove", ""},
		{"twins", "type=Stove property=district is={district} status=active filter=exists(did)", ""},
		{"twins", "", "type is missing"},
		{"myTwins", "", ""},
		{"twins", "type={kind}", "type shows no variables"},
		{"twins", "type=Stove filter=eq(did,{did})", "filter shows no variables"},
		{"twins", "type=Stove property=district", "property and is go together"},
		{"myTwins", "property=a.b is=x", "does not have the form"},
	} {
		with := map[string]string{}
		for f := range strings.FieldsSeq(tt.with) {
			name, value, _ := strings.Cut(f, "=")
			with[name] = value
		}
		if err := all[tt.action].Valid(with); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: %v, want %q", tt.action, tt.with, err, tt.want)
		}
	}
}

// TestRows: rows are bounded in number and size, and odd answers have none.
func TestRows(t *testing.T) {
	t.Parallel()
	pick := menu.Pick{Var: "list", At: "/items", Columns: []menu.Column{{Name: "name", At: "/n"}}}
	for _, tt := range []struct {
		name, body, want string
		rows             int
	}{
		{"two", `{"items": [{"n": "a"}, {"n": 2}]}`, "ok", 2},
		{"without the column", `{"items": [{}, 7]}`, "ok", 2},
		{"none", `{"items": []}`, "empty", 0},
		{"no list", `{"items": {"n": "a"}}`, "empty", 0},
		{"not there", `{}`, "empty", 0},
		{"many", `{"items": [` + strings.Repeat(`{"n": "a"},`, 500) + `{}]}`, "ok", menu.MaxRows},
		{"large", `{"items": [` + strings.Repeat(`{"n": "`+strings.Repeat("é", 300)+`"},`, 80) + `{}]}`, "ok", menu.MaxRows},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.body)) }))
			defer s.Close()
			got := ask(t, loopback, map[string]string{"url": s.URL}, pick)
			if n := strings.Count(got.Set["list"], `"name"`); got.Name != tt.want || n != tt.rows || len(got.Set["list"]) > 6<<10 {
				t.Errorf("result = %s with %d rows in %d bytes, want %s with %d", got.Name, n, len(got.Set["list"]), tt.want, tt.rows)
			}
		})
	}
}
