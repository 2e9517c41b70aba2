package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

// cut ends a connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func refuse(status int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(status) }
}

func TestRetry(t *testing.T) {
	t.Parallel()
	create := func(ctx context.Context, c *client.Client) error {
		_, err := c.Keys.Create(ctx, client.KeyDraft{Name: "n"})
		return err
	}
	read := func(ctx context.Context, c *client.Client) error {
		_, err := c.Keys.Current(ctx)
		return err
	}
	ping := func(ctx context.Context, c *client.Client) error {
		_, err := c.Webhooks.Ping(ctx, "w", client.IdempotencyKey("of no use here"))
		return err
	}
	update := func(ctx context.Context, c *client.Client) error {
		_, err := c.Webhooks.Update(ctx, "w", client.WebhookPatch{}, client.IfRevision(1))
		return err
	}
	busy := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"code":"IDEMPOTENCY_IN_PROGRESS"}`))
	}
	for name, tt := range map[string]struct {
		call  func(context.Context, *client.Client) error
		fail  func(http.ResponseWriter)
		tries int
	}{
		"read, cut":           {read, cut, 4},
		"read, 429":           {read, refuse(429), 4},
		"read, 503":           {read, refuse(503), 4},
		"read, 500":           {read, refuse(500), 1},
		"read, 404":           {read, refuse(404), 1},
		"create, cut":         {create, cut, 4},
		"create, 503":         {create, refuse(503), 4},
		"create, in progress": {create, busy, 4},
		"create, 400":         {create, refuse(400), 1},
		"ping, cut":           {ping, cut, 1},
		"ping, 503":           {ping, refuse(503), 1},
		"update, 503":         {update, refuse(503), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			keys := make(chan string, 10)
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				keys <- r.Header.Get("Idempotency-Key")
				tt.fail(w)
			})
			if err := tt.call(t.Context(), c); err == nil {
				t.Error("no error, want that of the last attempt")
			}
			if got := int(tries.Load()); got != tt.tries {
				t.Errorf("%d attempts, want %d", got, tt.tries)
			}
			first := <-keys
			for range len(keys) {
				if k := <-keys; k != first {
					t.Errorf("an attempt with key %q after one with %q, want the same", k, first)
				}
			}
			if strings.HasPrefix(name, "create") && first == "" {
				t.Error("a create without an Idempotency-Key")
			}
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) < 3 {
			cut(w)
			return
		}
		_, _ = w.Write([]byte(`{"id":"key_1"}`))
	})
	var m client.Meta
	k, err := c.Keys.Create(t.Context(), client.KeyDraft{Name: "n"}, client.WithMeta(&m))
	if err != nil || k.ID != "key_1" || m.Attempts != 3 {
		t.Errorf("Create() = %v, %v after %d attempts; want key_1 after 3", k, err, m.Attempts)
	}
}

// answers is a transport that gives its answers one after the other.
type answers struct {
	list  []func() (*http.Response, error)
	calls int
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	a.calls++
	return a.list[min(a.calls, len(a.list))-1]()
}

func answer(status int, head ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(head); i += 2 {
			h.Set(head[i], head[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
	}
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first    func() (*http.Response, error)
		limit    time.Duration // of ctx; 0 is none
		min, max time.Duration
		calls    int
	}{
		"our own wait":               {answer(503), 0, 100 * time.Millisecond, 200 * time.Millisecond, 2},
		"as asked":                   {answer(503, "Retry-After", "7"), 0, 7 * time.Second, 7 * time.Second, 2},
		"by date":                    {answer(429, "Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT"), 0, 9 * time.Second, 9 * time.Second, 2},
		"asked too much":             {answer(503, "Retry-After", "3600"), 0, 0, 0, 1},
		"longer than the caller has": {answer(503, "Retry-After", "7"), 5 * time.Second, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: []func() (*http.Response, error){tt.first, answer(200)}}
				c, err := client.New(client.Config{BaseURL: "http://x", HTTP: &http.Client{Transport: a}})
				if err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
					defer cancel()
				}
				begin := time.Now()
				_, err = c.Keys.Current(ctx)
				took := time.Since(begin)
				if (err == nil) != (tt.calls == 2) || a.calls != tt.calls {
					t.Errorf("error %v after %d calls, want %d calls", err, a.calls, tt.calls)
				}
				if took < tt.min || took > tt.max {
					t.Errorf("took %s, want %s to %s", took, tt.min, tt.max)
				}
			})
		})
	}
}

func TestCancelEndsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := &answers{list: []func() (*http.Response, error){answer(503, "Retry-After", "30")}}
		c, err := client.New(client.Config{BaseURL: "http://x", HTTP: &http.Client{Transport: a}})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		_, err = c.Keys.Current(ctx)
		if e := new(client.Error); !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Status != 503 {
			t.Errorf("error = %v, want the cancellation and the 503 before it", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %s, want 1s", took)
		}
	})
}

func TestTimeoutOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c, err := client.New(client.Config{BaseURL: "http://x", HTTP: &http.Client{Transport: hang}, Timeout: time.Second, Retry: client.Retry{Attempts: 3}})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err = c.Keys.Current(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want that the time is over", err)
		}
		if took := time.Since(begin); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("took %s, want three attempts of a second", took)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
