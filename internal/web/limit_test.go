package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// passed counts how many of n tries at once go through.
func passed(l *web.Limiter, name string, n int) int {
	ok := 0
	for range n {
		if l.Allow(name).OK {
			ok++
		}
	}
	return ok
}

func TestLimiterSmooth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := web.NewLimiter(web.LimiterConfig{PerMinute: 100})
		for _, tt := range []struct {
			wait       time.Duration
			tries, got int
		}{
			{0, 130, 100},
			{599 * time.Millisecond, 5, 0},
			{time.Millisecond, 5, 1}, // one token every 600 ms
			{6 * time.Second, 50, 10},
			{time.Hour, 200, 100}, // never more than the burst
		} {
			time.Sleep(tt.wait)
			if got := passed(l, "a", tt.tries); got != tt.got {
				t.Errorf("after %v: %d of %d passed, want %d", tt.wait, got, tt.tries, tt.got)
			}
		}
		if got := passed(l, "b", 101); got != 100 {
			t.Errorf("another name: %d passed, want 100", got)
		}
	})
}

func TestLimiterStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := web.NewLimiter(web.LimiterConfig{PerMinute: 100, Step: time.Minute})
		time.Sleep(37 * time.Second) // the minute begins with the first try, not with the limiter
		ok := 0
		for range 130 { // 130 tries in 59.8 s
			if l.Allow("a").OK {
				ok++
			}
			time.Sleep(460 * time.Millisecond)
		}
		if ok != 100 {
			t.Errorf("%d passed in the first minute, want 100", ok)
		}
		v := l.Allow("a")
		if want := 200 * time.Millisecond; v.OK || v.RetryAfter != want || v.Reset != want {
			t.Errorf("before the step: %+v, want a refusal for %v", v, want)
		}
		time.Sleep(v.RetryAfter)
		if got := passed(l, "a", 130); got != 100 {
			t.Errorf("%d passed in the second minute, want 100", got)
		}
	})
}

func TestLimiterVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := web.NewLimiter(web.LimiterConfig{PerMinute: 60, Burst: 2})
		for i, want := range []web.Verdict{
			{OK: true, Limit: 2, Remaining: 1, Reset: time.Second},
			{OK: true, Limit: 2, Remaining: 0, Reset: 2 * time.Second},
			{OK: false, Limit: 2, Remaining: 0, Reset: 2 * time.Second, RetryAfter: time.Second},
		} {
			if got := l.Allow("a"); got != want {
				t.Errorf("try %d = %+v, want %+v", i+1, got, want)
			}
		}
		v := l.Allow("a")
		time.Sleep(v.RetryAfter)
		if got := l.Allow("a"); !got.OK {
			t.Errorf("after RetryAfter %v: %+v, want it to pass", v.RetryAfter, got)
		}
	})
}

func TestLimiterClockSetBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := web.NewLimiter(web.LimiterConfig{PerMinute: 10, Now: func() time.Time { return now }})
	passed(l, "a", 10)
	now = now.Add(-time.Hour)
	if v := l.Allow("a"); v.OK {
		t.Errorf("clock set back: %+v, want a refusal", v)
	}
	now = now.Add(2 * time.Hour)
	if got := passed(l, "a", 20); got != 10 {
		t.Errorf("%d passed later, want 10", got)
	}
}

func TestLimiterFlood(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := web.NewLimiter(web.LimiterConfig{PerMinute: 100, MaxNames: 1024, Now: func() time.Time { return now }})
	passed(l, "spent", 100)
	for i := range 50_000 {
		l.Allow(fmt.Sprint("flood", i))
	}
	if got := l.Len(); got > 1024 {
		t.Errorf("%d names remembered, want at most 1024", got)
	}
	if v := l.Allow("spent"); v.OK {
		t.Error("the flood made room for a name that had used up its tokens")
	}
	now = now.Add(time.Hour) // all full again: dropped as new names come
	for i := range 2000 {
		l.Allow(fmt.Sprint("new", i))
	}
	if got := l.Len(); got > 1024 {
		t.Errorf("%d names remembered, want at most 1024", got)
	}
}

func TestLimiterConcurrent(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := web.NewLimiter(web.LimiterConfig{PerMinute: 1000, Now: func() time.Time { return now }})
	var ok atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { ok.Add(int64(passed(l, "a", 500))) })
	}
	wg.Wait()
	if got := ok.Load(); got != 1000 {
		t.Errorf("%d of 4000 passed, want exactly 1000", got)
	}
}

func TestLimiterGuard(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := web.NewLimiter(web.LimiterConfig{PerMinute: 1, Now: func() time.Time { return now }})
	var refused *fault.Error
	h := l.Guard(func(r *http.Request) string { return r.Header.Get("X-Name") },
		func(w http.ResponseWriter, _ *http.Request, f *fault.Error) {
			refused = f
			w.WriteHeader(429)
		}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }))
	for i, tt := range []struct {
		name   string
		status int
		header map[string]string
	}{
		{"a", 200, map[string]string{"X-Ratelimit-Limit": "1", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "60", "Retry-After": ""}},
		{"a", 429, map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "60", "Retry-After": "60"}},
		{"", 200, map[string]string{"X-Ratelimit-Limit": ""}},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Name", tt.name)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("request %d: status = %d, want %d", i, w.Code, tt.status)
		}
		for name, want := range tt.header {
			if got := w.Header().Get(name); got != want {
				t.Errorf("request %d: %s = %q, want %q", i, name, got, want)
			}
		}
	}
	if refused == nil || refused.Kind != fault.TooMany || refused.Code != "RATE_LIMITED" || refused.RetryAfter != time.Minute {
		t.Errorf("fault = %+v, want RATE_LIMITED after a minute", refused)
	}
}

func TestAddrName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"1.2.3.4", "1.2.3.4"},
		{"::ffff:1.2.3.4", "1.2.3.4"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"2001:db8:1:2::9", "2001:db8:1:2::/64"},
		{"fe80::1%eth0", "fe80::/64"},
	} {
		if got := web.AddrName(netip.MustParseAddr(tt.in)); got != tt.want {
			t.Errorf("AddrName(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func BenchmarkLimiterFlood(b *testing.B) {
	l := web.NewLimiter(web.LimiterConfig{PerMinute: 100})
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Allow(fmt.Sprint(n.Add(1)))
		}
	})
}
