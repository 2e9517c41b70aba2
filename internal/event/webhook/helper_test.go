package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// open is a client without the guard: receivers in tests are on loopback.
type open struct{}

func (open) Do(r *http.Request) (*http.Response, error) { return http.DefaultClient.Do(r) }
func (open) CheckURL(raw string) (*url.URL, error)      { return url.Parse(raw) }

// doFunc is a client without a network.
type doFunc func(*http.Request) (*http.Response, error)

func (f doFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }
func (doFunc) CheckURL(raw string) (*url.URL, error)        { return url.Parse(raw) }

func answer(status int) *http.Response {
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("a body nobody keeps")), Header: http.Header{}}
}

func testKey(t testing.TB) secret.Key {
	t.Helper()
	k, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// env is a store with a log and a webhook service.
type env struct {
	d *db.DB
	l *event.Log
	s *webhook.Service
}

func newEnv(t testing.TB, d *db.DB, client webhook.Client, change ...func(*webhook.Config)) *env {
	t.Helper()
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	cfg := webhook.Config{DB: d, Events: l, Key: testKey(t), Cursors: eventtest.Cursors(), Client: client, Log: dbtest.Log(t)}
	for _, f := range change {
		f(&cfg)
	}
	return &env{d: d, l: l, s: webhook.New(cfg)}
}

// create makes a webhook of workspace ws.
func (e *env) create(t testing.TB, ws, url string, events ...string) webhook.WithSecret {
	t.Helper()
	r, err := e.s.Create(eventtest.Context(t.Context(), ws), webhook.Draft{URL: url, Events: events})
	if err != nil {
		t.Fatalf("create webhook: %v", err)
	}
	return r.Value
}

// run starts the dispatcher; the function it returns stops it and waits.
func (e *env) run(t testing.TB) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := e.s.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	stop := sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// deliveries reads the list over HTTP; query may be "?status=dead".
func (e *env) deliveries(t testing.TB, ws, id, query string) []webhook.Delivery {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/webhooks/"+id+"/deliveries"+query, nil)
	r.Header.Set("Authorization", "Bearer "+ws+" owner")
	w := httptest.NewRecorder()
	eventtest.Serve(t, e.s.Routes).ServeHTTP(w, r)
	var page struct {
		Items []webhook.Delivery `json:"items"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
		t.Fatalf("deliveries = %d %s, %v", w.Code, w.Body, err)
	}
	return page.Items
}

// await waits until all deliveries of a list are n and in one state.
func (e *env) await(t testing.TB, ws, id, status string, n int) []webhook.Delivery {
	t.Helper()
	var got []webhook.Delivery
	eventtest.Eventually(t, fmt.Sprintf("%d deliveries are %s", n, status), func() bool {
		got = e.deliveries(t, ws, id, "?status="+status+"&limit=1000")
		return len(got) == n
	})
	return got
}

// message is what a receiver got.
type message struct {
	header http.Header
	body   string
	seq    int64
}

// receiver is another system. answer says what it answers to a message.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []message
}

func newReceiver(t testing.TB, answer func(m message) int) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		m := message{header: q.Header, body: string(body)}
		var e struct {
			Data struct {
				Seq int64 `json:"seq"`
			} `json:"data"`
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("receiver: %v in %s", err, body)
		}
		m.seq = e.Data.Seq
		status := answer(m)
		if status >= 200 && status < 300 {
			r.mu.Lock()
			r.got = append(r.got, m)
			r.mu.Unlock()
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

func ok(message) int { return http.StatusNoContent }

// seqs lists the numbers that were taken, sorted.
func (r *receiver) seqs() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []int64
	for _, m := range r.got {
		out = append(out, m.seq)
	}
	slices.Sort(out)
	return out
}

// verify checks a signature as Standard Webhooks describes it, with none of
// the code under test.
func verify(t testing.TB, m message, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strconv.ParseInt(m.header.Get("webhook-timestamp"), 10, 64); err != nil {
		t.Errorf("webhook-timestamp: %v", err)
	}
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s.%s.%s", m.header.Get("webhook-id"), m.header.Get("webhook-timestamp"), m.body)
	want := "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	if got := m.header.Get("webhook-signature"); !slices.Contains(strings.Split(got, " "), want) {
		t.Errorf("webhook-signature = %q, want %q in it", got, want)
	}
}

// numbers is the list from first to last.
func numbers(first, last int64) []int64 {
	var out []int64
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}
