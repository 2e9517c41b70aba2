package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// silent is a client whose receivers take a message and say nothing until
// free is closed. in counts who waits.
type silent struct {
	doFunc
	in   *atomic.Int64
	free chan struct{}
}

func newSilent(t testing.TB) silent {
	t.Helper()
	s := silent{in: &atomic.Int64{}, free: make(chan struct{})}
	s.doFunc = func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Host, "silent") {
			return answer(200), nil
		}
		s.in.Add(1)
		defer s.in.Add(-1)
		select {
		case <-s.free:
			return answer(200), nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return s
}

// One workspace whose receivers are all silent has its share of the attempts
// and no more: others are served, and nothing is leased that waits for a turn.
func TestOneWorkspaceLeavesRoom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		client := newSilent(t)
		e := newEnv(t, d, client, func(c *webhook.Config) { c.Concurrency, c.Timeout = 8, time.Minute })
		var greedy []string
		for range 6 {
			greedy = append(greedy, e.create(t, "greedy", "https://silent.example.org/", "job.finished").ID)
		}
		modest := e.create(t, "modest", "https://example.org/", "job.finished")
		for range 5 {
			eventtest.Append(t, d, e.l, "greedy", "job.finished")
		}
		e.run(t)
		eventtest.Eventually(t, "the greedy workspace has its share", func() bool { return client.in.Load() == 2 })
		for range 10 {
			eventtest.Append(t, d, e.l, "modest", "job.finished")
		}
		e.await(t, "modest", modest.ID, "delivered", 10)
		taken := 0
		for _, id := range greedy {
			for _, v := range e.deliveries(t, "greedy", id, "") {
				taken += v.Attempts
			}
		}
		if n := client.in.Load(); n != 2 || taken != 2 {
			t.Errorf("the greedy workspace has %d attempts under way and %d leased, want a quarter of 8", n, taken)
		}
		close(client.free)
		for _, id := range greedy {
			e.await(t, "greedy", id, "delivered", 5)
		}
	})
}

// Two workspaces send to one host. One of them has many receivers there, all
// silent: what the other sends arrives.
func TestOneHostOfTwoWorkspaces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		free := make(chan struct{})
		var in atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/silent" {
				in.Add(1)
				<-free
			}
		}))
		t.Cleanup(server.Close)
		t.Cleanup(sync.OnceFunc(func() { close(free) }))
		client, err := outbound.New(outbound.Config{Allow: []string{"127.0.0.1"}, MaxPerHost: webhook.Connections, HeaderTimeout: time.Minute, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		e := newEnv(t, d, client, func(c *webhook.Config) { c.Timeout = time.Minute })
		for range 45 {
			e.create(t, "greedy", server.URL+"/silent", "job.finished")
		}
		modest := e.create(t, "modest", server.URL+"/", "job.finished")
		eventtest.Append(t, d, e.l, "greedy", "job.finished")
		e.run(t)
		eventtest.Eventually(t, "the greedy workspace has its share", func() bool { return in.Load() == 16 })
		for range 10 {
			eventtest.Append(t, d, e.l, "modest", "job.finished")
		}
		e.await(t, "modest", modest.ID, "delivered", 10)
		if n := in.Load(); n != 16 {
			t.Errorf("the greedy workspace has %d attempts at the host, want a quarter of 64", n)
		}
	})
}

// A webhook that is switched off while its deliveries wait for a turn sends
// none of them.
func TestSwitchedOffWhileWaiting(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	client := newSilent(t)
	var sent atomic.Int64
	quiet := client.doFunc
	client.doFunc = func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/off" {
			sent.Add(1)
		}
		return quiet(r)
	}
	e := newEnv(t, d, client, func(c *webhook.Config) { c.Concurrency, c.Timeout = 4, time.Minute })
	first := e.create(t, "ws", "https://silent.example.org/", "job.finished")
	e.run(t)
	eventtest.Append(t, d, e.l, "ws", "job.finished")
	eventtest.Eventually(t, "the one slot is taken", func() bool { return client.in.Load() == 1 })
	off := e.create(t, "ws", "https://example.org/off", "key.created")
	eventtest.Append(t, d, e.l, "ws", "key.created")
	e.await(t, "ws", off.ID, "pending", 1)
	if _, err := e.s.Update(eventtest.Context(t.Context(), "ws"), off.ID, "*", []byte(`{"active":false}`)); err != nil {
		t.Fatal(err)
	}
	close(client.free)
	e.await(t, "ws", first.ID, "delivered", 1)
	last := e.create(t, "ws", "https://example.org/", "member.added")
	eventtest.Append(t, d, e.l, "ws", "member.added")
	e.await(t, "ws", last.ID, "delivered", 1)
	if n := sent.Load(); n != 0 {
		t.Errorf("%d messages to a webhook that is off, want 0", n)
	}
}

// pings starts n pings of new webhooks of a workspace, all to silent receivers.
func (e *env) pings(t *testing.T, wg *sync.WaitGroup, ws string, n int) (ids []string) {
	t.Helper()
	for range n {
		h := e.create(t, ws, "https://silent.example.org/", "*")
		ids = append(ids, h.ID)
		wg.Go(func() {
			if _, err := e.s.Ping(eventtest.Context(t.Context(), ws), h.ID); err != nil {
				t.Errorf("ping: %v", err)
			}
		})
	}
	return ids
}

func TestPingsAreFew(t *testing.T) {
	t.Parallel()
	client := newSilent(t)
	e := newEnv(t, dbtest.SQLite(t), client, func(c *webhook.Config) { c.Timeout = time.Minute })
	var wg sync.WaitGroup
	refused := func(ws, id, code string) {
		t.Helper()
		_, err := e.s.Ping(eventtest.Context(t.Context(), ws), id)
		if f := fault.As(err); fault.CodeOf(err) != code || f.RetryAfter == 0 {
			t.Errorf("ping = %v, want %s and when to try again", err, code)
		}
	}
	first := e.pings(t, &wg, "ws0", 4)
	fifth := e.create(t, "ws0", "https://example.org/", "*")
	eventtest.Eventually(t, "four pings are under way", func() bool { return client.in.Load() == 4 })
	refused("ws0", first[0], "PING_IN_PROGRESS")
	refused("ws0", fifth.ID, "TOO_MANY_PINGS")
	for i := range 7 {
		e.pings(t, &wg, fmt.Sprint("ws", i+1), 4)
	}
	eventtest.Eventually(t, "32 pings are under way", func() bool { return client.in.Load() == 32 })
	late := e.create(t, "late", "https://example.org/", "*")
	refused("late", late.ID, "TOO_MANY_PINGS")
	close(client.free)
	wg.Wait()
	for ws, id := range map[string]string{"ws0": fifth.ID, "late": late.ID} {
		if out, err := e.s.Ping(eventtest.Context(t.Context(), ws), id); err != nil || !out.Delivered {
			t.Errorf("ping after the others = %+v, %v, want it delivered", out, err)
		}
	}
}

// A ping waits for somebody else: it holds no place among the requests.
func TestPingLeavesItsPlace(t *testing.T) {
	t.Parallel()
	client := newSilent(t)
	e := newEnv(t, dbtest.SQLite(t), client, func(c *webhook.Config) { c.Timeout = time.Minute })
	shed := web.NewShedder(web.ShedConfig{InFlight: 1})
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: eventtest.Gate{}, Errors: web.Problem, Shed: shed})
	e.s.Routes(a)
	mux := http.NewServeMux()
	a.Mount(mux)
	ask := func(method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Header.Set("Authorization", "Bearer ws owner")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	h := e.create(t, "ws", "https://silent.example.org/", "*")
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- ask("POST", "/v1/webhooks/"+h.ID+"/ping") }()
	eventtest.Eventually(t, "the ping is under way", func() bool { return client.in.Load() == 1 })
	if n := shed.InFlight(); n != 0 {
		t.Errorf("%d places are held while the receiver is silent, want 0", n)
	}
	if w := ask("GET", "/v1/webhooks/"+h.ID); w.Code != 200 {
		t.Errorf("another request = %d %s, want 200", w.Code, w.Body)
	}
	close(client.free)
	if w := <-done; w.Code != 200 || !strings.Contains(w.Body.String(), `"delivered":true`) {
		t.Errorf("ping = %d %s, want it delivered", w.Code, w.Body)
	}
}
