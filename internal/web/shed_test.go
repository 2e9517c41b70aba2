package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// crowd sends requests to a handler that works until gate is closed.
type crowd struct {
	shed *web.Shedder
	h    http.Handler
	gate chan struct{}
	wg   sync.WaitGroup
	mu   sync.Mutex
	code map[int]int
	last *fault.Error
}

func newCrowd(c web.ShedConfig) *crowd {
	cr := &crowd{gate: make(chan struct{}), code: map[int]int{}, shed: web.NewShedder(c)}
	a := web.NewAPI(web.APIConfig{Shed: cr.shed, Errors: func(w http.ResponseWriter, _ *http.Request, f *fault.Error) {
		cr.mu.Lock()
		defer cr.mu.Unlock()
		cr.last = f
		w.WriteHeader(503)
	}})
	wait := func(context.Context, *none) (string, error) {
		<-cr.gate
		return "", nil
	}
	web.Get(a, "/{$}", wait, web.Doc{Summary: "Work", Scope: web.Public})
	web.Get(a, "/health", wait, web.Doc{Summary: "Ask", Scope: web.Public, Light: true})
	a.Handle("GET", "/stream", func(_ http.ResponseWriter, r *http.Request) error {
		web.LeavePlace(r.Context())
		web.LeavePlace(r.Context()) // twice is once
		<-cr.gate
		return nil
	}, web.Doc{Summary: "Stream", Scope: web.Public})
	a.Handle("GET", "/panic", func(http.ResponseWriter, *http.Request) error { panic("no") }, web.Doc{Summary: "Panic", Scope: web.Public})
	mux := http.NewServeMux()
	a.Mount(mux)
	cr.h = web.WithRequestIDs(mux)
	return cr
}

func (c *crowd) send(ctx context.Context, path string, n int) {
	for range n {
		c.wg.Go(func() {
			w := httptest.NewRecorder()
			c.h.ServeHTTP(w, httptest.NewRequest("GET", path, nil).WithContext(ctx))
			c.mu.Lock()
			defer c.mu.Unlock()
			c.code[w.Code]++
		})
	}
	synctest.Wait()
}

func (c *crowd) refusal() *fault.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *crowd) want(t *testing.T, inside int, waiting, refused int64) {
	t.Helper()
	if c.shed.InFlight() != inside || c.shed.Waiting() != waiting || c.shed.Refused() != refused {
		t.Errorf("%d inside, %d waiting, %d refused, want %d, %d, %d",
			c.shed.InFlight(), c.shed.Waiting(), c.shed.Refused(), inside, waiting, refused)
	}
}

func TestShedder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(web.ShedConfig{InFlight: 3, Queue: 2, Wait: time.Second})
		c.send(t.Context(), "/", 3)
		c.want(t, 3, 0, 0)
		c.send(t.Context(), "/", 2)
		c.want(t, 3, 2, 0)
		c.send(t.Context(), "/", 4) // no room to wait: refused at once
		c.want(t, 3, 2, 4)
		if f := c.refusal(); f == nil || f.Kind != fault.Unavailable || f.Code != "OVERLOADED" || f.RetryAfter != time.Second {
			t.Errorf("fault = %+v, want OVERLOADED after a second", f)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		c.want(t, 3, 0, 6) // the two have waited long enough
		c.send(t.Context(), "/health", 2)
		c.want(t, 3, 0, 6)
		c.send(t.Context(), "/", 1)
		close(c.gate)
		c.wg.Wait()
		c.want(t, 0, 0, 6)
		if c.code[200] != 6 || c.code[503] != 6 {
			t.Errorf("answers = %v, want 6 of 200 and 6 of 503", c.code)
		}
	})
}

func TestShedderClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(web.ShedConfig{InFlight: 1, Queue: 5, Wait: time.Hour})
		c.send(t.Context(), "/", 1)
		ctx, cancel := context.WithCancel(t.Context())
		c.send(ctx, "/", 5)
		c.want(t, 1, 5, 0)
		cancel()
		synctest.Wait()
		c.want(t, 1, 0, 5)
		close(c.gate)
		c.wg.Wait()
	})
}

func TestShedderStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(web.ShedConfig{InFlight: 2})
		c.send(t.Context(), "/stream", 50)
		c.want(t, 0, 0, 0)
		c.send(t.Context(), "/", 2)
		c.want(t, 2, 0, 0)
		close(c.gate)
		c.wg.Wait()
		c.want(t, 0, 0, 0)
		web.LeavePlace(t.Context()) // outside a request it does nothing
	})
}

func TestShedderPanic(t *testing.T) {
	t.Parallel()
	c := newCrowd(web.ShedConfig{InFlight: 1})
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			c.h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/panic", nil))
		}()
	}
	c.want(t, 0, 0, 0)
}

// A client that takes its time with its body or its answer keeps nobody out.
func TestSlowClientsHoldNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shed := web.NewShedder(web.ShedConfig{InFlight: 1})
		a := web.NewAPI(web.APIConfig{Shed: shed})
		web.Post(a, "/", func(_ context.Context, in *struct{ Body draft }) (string, error) {
			if shed.InFlight() != 1 {
				t.Error("the handler works without a place")
			}
			return in.Body.Type, nil
		}, web.Doc{Summary: "Work", Scope: web.Public})
		mux := http.NewServeMux()
		a.Mount(mux)
		body, sender := io.Pipe()
		w := stalled{httptest.NewRecorder(), make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r := httptest.NewRequest("POST", "/", body)
			r.Header.Set("Content-Type", "application/json")
			web.WithRequestIDs(mux).ServeHTTP(w, r)
		}()
		_, _ = sender.Write([]byte(`{"type":`))
		synctest.Wait()
		if got := shed.InFlight(); got != 0 {
			t.Errorf("%d places held while a body arrives, want 0", got)
		}
		_, _ = sender.Write([]byte(`"x"}`))
		_ = sender.Close()
		synctest.Wait()
		if got := shed.InFlight(); got != 0 {
			t.Errorf("%d places held while an answer is taken, want 0", got)
		}
		close(w.read)
		<-done
		if w.Code != 200 {
			t.Errorf("status = %d, want 200", w.Code)
		}
	})
}

// stalled is a client that reads nothing until read is closed.
type stalled struct {
	*httptest.ResponseRecorder
	read chan struct{}
}

func (s stalled) Write(b []byte) (int, error) {
	<-s.read
	return s.ResponseRecorder.Write(b)
}
