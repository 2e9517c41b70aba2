package webhook_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

func TestDelivers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		eventtest.Append(t, d, e.l, "ws", "entity.created early") // before the webhook: not for it
		r := newReceiver(t, ok)
		h := e.create(t, "ws", r.URL, "entity.*")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "entity.created a", "job.failed b", "entity.updated a")
		eventtest.Append(t, d, e.l, "other", "entity.created x")
		done := e.await(t, "ws", h.ID, "delivered", 2)
		if done[0].Seq != 5 || done[1].Seq != 3 || done[0].Attempts != 1 || done[0].LastStatus != 204 || done[0].NextAt != nil {
			t.Errorf("deliveries = %+v, want 5 and 3, taken at once", done)
		}
		if got := r.seqs(); !slices.Equal(got, []int64{3, 5}) {
			t.Fatalf("received %v, want 3 and 5", got)
		}
		m := r.got[slices.IndexFunc(r.got, func(m message) bool { return m.seq == 3 })]
		verify(t, m, h.Secret)
		if got := m.header.Get("Content-Type"); got != "application/cloudevents+json" {
			t.Errorf("content type = %q", got)
		}
		if err := webtest.NewChannel(t, webhook.Channel()).Check("cloudevent", []byte(m.body)); err != nil {
			t.Errorf("a message that the document does not describe: %v", err)
		}
		var ce map[string]any
		if err := json.Unmarshal([]byte(m.body), &ce); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"specversion": "1.0", "id": m.header.Get("webhook-id"), "source": "urn:hearth:ws", "type": "entity.created",
			"subject": "a", "datacontenttype": "application/json", "sequence": "0000000000000000003",
		} {
			if ce[name] != want {
				t.Errorf("%s = %v, want %v", name, ce[name], want)
			}
		}
		data, _ := ce["data"].(map[string]any)
		if data["actor"] != "did:key:owner" || data["revision"] != 1.0 || data["seq"] != 3.0 {
			t.Errorf("data = %v, want actor, revision and seq", data)
		}
	})
}

// Whatever happens to dispatchers, every event arrives.
func TestRestartLosesNone(t *testing.T) {
	t.Parallel()
	const total = 60
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		// The first dispatcher dies: its requests hang and it never gives
		// back what it took on.
		hang := make(chan struct{})
		taken := make(chan struct{}, 10)
		stuck := newEnv(t, d, doFunc(func(*http.Request) (*http.Response, error) {
			taken <- struct{}{}
			<-hang
			return nil, context.Canceled
		}))
		r := newReceiver(t, ok)
		h := stuck.create(t, "ws", r.URL, "job.finished")
		ctx, die := context.WithCancel(t.Context())
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			_ = stuck.s.Run(ctx)
		}()
		t.Cleanup(func() { close(hang); <-dead })
		for range total / 2 {
			eventtest.Append(t, d, stuck.l, "ws", "job.finished")
		}
		for range 4 {
			<-taken
		}
		die()

		// Its followers live in a later hour, when the leases have run out,
		// and are stopped again and again.
		later := func(c *webhook.Config) { c.Now = func() time.Time { return time.Now().Add(time.Hour) } }
		e := newEnv(t, d, open{}, later)
		for i := range total / 2 {
			stop := func() {}
			if i%6 == 0 {
				stop = e.run(t)
			}
			eventtest.Append(t, d, e.l, "ws", "job.finished")
			stop()
		}
		e.run(t)
		e.await(t, "ws", h.ID, "delivered", total)
		if got := slices.Compact(r.seqs()); !slices.Equal(got, numbers(2, total+1)) {
			t.Errorf("received %v, want 2 to %d", got, total+1)
		}
	})
}

// Two processes share the work: nothing is left and nothing is sent twice.
func TestTwoDispatchersShare(t *testing.T) {
	t.Parallel()
	const total = 150
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var by [2]atomic.Int64
		r := newReceiver(t, ok)
		envs := make([]*env, 2)
		for i := range envs {
			envs[i] = newEnv(t, d, doFunc(func(q *http.Request) (*http.Response, error) {
				by[i].Add(1)
				return http.DefaultClient.Do(q)
			}))
		}
		h := envs[0].create(t, "ws", r.URL, "*")
		for range total - 1 {
			eventtest.Append(t, d, envs[0].l, "ws", "job.finished")
		}
		envs[0].run(t)
		envs[1].run(t)
		envs[0].await(t, "ws", h.ID, "delivered", total)
		if got := r.seqs(); !slices.Equal(got, numbers(1, total)) {
			t.Errorf("received %v, want 1 to %d once each", got, total)
		}
		if a, b := by[0].Load(), by[1].Load(); a+b != total {
			t.Errorf("sent %d and %d, want %d in all", a, b, total)
		}
	})
}

func TestSlowReceiverHoldsUpNobody(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	release := make(chan struct{})
	slow := newReceiver(t, func(message) int { <-release; return 200 })
	quick := newReceiver(t, ok)
	e := newEnv(t, d, open{})
	s, q := e.create(t, "ws", slow.URL, "job.finished"), e.create(t, "ws", quick.URL, "job.finished")
	e.run(t)
	for range 20 {
		eventtest.Append(t, d, e.l, "ws", "job.finished")
	}
	e.await(t, "ws", q.ID, "delivered", 20)
	if n := len(e.deliveries(t, "ws", s.ID, "?status=delivered")); n != 0 {
		t.Errorf("the slow receiver has taken %d events already", n)
	}
	close(release)
	e.await(t, "ws", s.ID, "delivered", 20)
}

func TestGoneSwitchesOff(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newReceiver(t, func(message) int { return http.StatusGone })
		e := newEnv(t, d, open{})
		h := e.create(t, "ws", r.URL, "job.finished")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "job.finished")
		dead := e.await(t, "ws", h.ID, "dead", 1)
		if dead[0].LastStatus != 410 || dead[0].LastError != "HTTP 410 Gone" {
			t.Errorf("dead letter = %+v, want 410", dead[0])
		}
		ctx := eventtest.Context(t.Context(), "ws")
		var got *webhook.Webhook
		eventtest.Eventually(t, "the webhook is off", func() bool {
			var err error
			if got, err = e.s.Get(ctx, h.ID); err != nil {
				t.Fatal(err)
			}
			return !got.Active
		})
		if got.DisabledReason == "" || got.Revision != 2 {
			t.Errorf("webhook = %+v, want a reason and revision 2", got)
		}
		held, err := e.l.Range(ctx, "ws")
		if err != nil || held.Newest != 3 { // created, done, disabled
			t.Errorf("log ends at %d, %v, want 3", held.Newest, err)
		}
		// On again, it begins at the end of the log.
		if _, err := e.s.Update(ctx, h.ID, `"2"`, []byte(`{"active":true}`)); err != nil {
			t.Fatal(err)
		}
		if got, err = e.s.Get(ctx, h.ID); err != nil || !got.Active || got.DisabledReason != "" {
			t.Errorf("webhook = %+v, %v, want it on without a reason", got, err)
		}
	})
}

func TestReplaySendsAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var down atomic.Bool
		down.Store(true)
		r := newReceiver(t, func(message) int {
			if down.Load() {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.MaxAttempts = 1 })
		eventtest.Append(t, d, e.l, "ws", "job.finished", "key.created") // before the webhook
		h := e.create(t, "ws", r.URL, "job.*")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "job.finished", "job.finished")
		e.await(t, "ws", h.ID, "dead", 2)
		down.Store(false)
		got, err := e.s.Replay(eventtest.Context(t.Context(), "ws"), h.ID, webhook.Replay{From: 1})
		if err != nil || got.Value.To != 5 {
			t.Fatalf("Replay = %+v, %v, want up to 5", got, err)
		}
		e.await(t, "ws", h.ID, "delivered", 3)
		if got := r.seqs(); !slices.Equal(got, []int64{1, 4, 5}) {
			t.Errorf("received %v, want 1, 4 and 5", got)
		}
		// A second one is possible once the first is queued.
		if _, err := e.s.Replay(eventtest.Context(t.Context(), "ws"), h.ID, webhook.Replay{From: 4, To: 4}); err != nil {
			t.Fatal(err)
		}
		eventtest.Eventually(t, "event 4 came again", func() bool { return slices.Equal(r.seqs(), []int64{1, 4, 4, 5}) })
	})
}

func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	var called atomic.Bool
	r := newReceiver(t, func(message) int { called.Store(true); return 200 })
	_, port, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://"), ":")
	guarded, err := outbound.New(outbound.Config{
		Ports: []int{80, 443, atoi(t, port)},
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "nowhere.example.org" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	e := newEnv(t, d, guarded, func(c *webhook.Config) {
		c.MaxAttempts, c.Log = 1, slog.New(slog.NewTextHandler(&log, nil))
	})
	_, err = e.s.Create(eventtest.Context(t.Context(), "ws"), webhook.Draft{URL: r.URL, Events: []string{"*"}})
	if f := fault.As(err); f == nil || len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, "HEARTH_OUTBOUND_ALLOW") {
		t.Errorf("a webhook to loopback = %+v, want it refused with what an operator can do", err)
	}
	h := e.create(t, "ws", "http://inside.example.org:"+port+"/hidden", "job.finished") // a name that leads inside
	none := e.create(t, "ws", "http://nowhere.example.org:"+port+"/hidden", "job.finished")
	stop := e.run(t)
	eventtest.Append(t, d, e.l, "ws", "job.finished")
	// Whoever makes webhooks must not learn which names exist inside.
	in, out := e.await(t, "ws", h.ID, "dead", 1)[0].LastError, e.await(t, "ws", none.ID, "dead", 1)[0].LastError
	if in != out || !strings.Contains(in, "HEARTH_OUTBOUND_ALLOW") || strings.Contains(in, "127.0.0.1") {
		t.Errorf("last errors = %q and %q, want one text for both", in, out)
	}
	ping, err := e.s.Ping(eventtest.Context(t.Context(), "ws"), h.ID)
	if err != nil || ping.Delivered || ping.Error != in {
		t.Errorf("Ping = %+v, %v, want %q", ping, err, in)
	}
	if ping, err = e.s.Ping(eventtest.Context(t.Context(), "ws"), none.ID); err != nil || ping.Delivered || ping.Error != in {
		t.Errorf("Ping = %+v, %v, want %q", ping, err, in)
	}
	stop()
	if text := log.String(); strings.Count(text, "refused address 127.0.0.1") != 2 || strings.Count(text, "no such host") != 2 || strings.Contains(text, "hidden") {
		t.Errorf("log = %s\nwant the real causes of both deliveries and both pings, and no path", text)
	}
	if called.Load() {
		t.Error("a request reached the inside")
	}
}

func TestRotatedSecretsBothSign(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	now := time.Now()
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r := newReceiver(t, ok)
	e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Now = clock })
	ctx := eventtest.Context(t.Context(), "ws")
	h := e.create(t, "ws", r.URL, "job.finished")
	fresh, err := e.s.Rotate(ctx, h.ID)
	if err != nil || fresh.Value.Secret == h.Secret {
		t.Fatalf("Rotate = %v, %v, want another secret", fresh.Value, err)
	}
	if out, err := e.s.Ping(ctx, h.ID); err != nil || !out.Delivered {
		t.Fatalf("Ping = %+v, %v", out, err)
	}
	verify(t, r.got[0], h.Secret)
	verify(t, r.got[0], fresh.Value.Secret)
	mu.Lock()
	now = now.Add(25 * time.Hour)
	mu.Unlock()
	if out, err := e.s.Ping(ctx, h.ID); err != nil || !out.Delivered {
		t.Fatalf("Ping = %+v, %v", out, err)
	}
	verify(t, r.got[1], fresh.Value.Secret)
	if got := r.got[1].header.Get("webhook-signature"); strings.Contains(got, " ") {
		t.Errorf("signature after a day = %q, want that of the new secret alone", got)
	}
	if !strings.Contains(r.got[1].body, `"type":"webhook.ping"`) {
		t.Errorf("ping = %s, want webhook.ping", r.got[1].body)
	}
}

// Events that are removed before they were sent are not lost in silence: the
// delivery is a dead letter, and the webhook goes on behind the gap.
func TestRetentionOvertakes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Now()
		var mu sync.Mutex
		clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		var up atomic.Bool
		r := newReceiver(t, func(message) int {
			if up.Load() {
				return 200
			}
			return 500
		})
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Now = clock })
		h := e.create(t, "ws", r.URL, "job.finished")
		stop := e.run(t)
		eventtest.Append(t, d, e.l, "ws", "job.finished") // 2: tried once, in vain
		eventtest.Eventually(t, "the first attempt has failed", func() bool {
			got := e.deliveries(t, "ws", h.ID, "")
			return len(got) == 1 && got[0].LastStatus == 500
		})
		stop()
		eventtest.Append(t, d, e.l, "ws", "job.finished", "job.finished", "job.finished") // 3 to 5 while nobody looks
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != 5 {
			t.Fatalf("log = %v, %v, want 5 events", r, err)
		}
		if _, err := e.l.Expire(t.Context(), time.Now().Add(time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		up.Store(true)
		mu.Lock()
		now = now.Add(time.Hour)
		mu.Unlock()
		e.run(t)
		dead := e.await(t, "ws", h.ID, "dead", 1)
		if dead[0].Seq != 2 || !strings.Contains(dead[0].LastError, "no longer kept") {
			t.Errorf("dead letter = %+v, want event 2, no longer kept", dead[0])
		}
		if got := e.await(t, "ws", h.ID, "delivered", 1); got[0].Seq != 5 {
			t.Errorf("delivered = %+v, want event 5", got[0])
		}
	})
}
