package ops_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

// span is what the collector stub keeps of a span.
type span struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string
	Kind                                            int
	StartTimeUnixNano, EndTimeUnixNano              string
	Attributes                                      []struct {
		Key   string
		Value map[string]string
	}
	Status struct {
		Code    int
		Message string
	}
}

// collector is a stand-in for an OpenTelemetry collector.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []span
	headers http.Header
	answer  func(w http.ResponseWriter) bool // true: the batch is taken
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []any }
				ScopeSpans []struct{ Spans []span }
			}
		}
		raw, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(raw, &in, json.MatchCaseInsensitiveNames(true)); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("collector got %s %q: %v", r.URL.Path, raw, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.headers = r.Header
		if c.answer != nil && !c.answer(w) {
			return
		}
		for _, rs := range in.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		seen := map[string]bool{}
		for _, s := range c.spans {
			if seen[s.SpanID] {
				t.Errorf("span %s came twice", s.SpanID)
			}
			seen[s.SpanID] = true
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// record runs work with a tracer and returns when everything is exported.
func (c *collector) record(t *testing.T, cfg ops.TraceConfig, work func(*ops.Tracer)) *ops.Tracer {
	t.Helper()
	cfg.Endpoint, cfg.Service = c.URL+"/", "hearth-test"
	if cfg.Ratio == 0 {
		cfg.Ratio = 1
	}
	tr := ops.NewTracer(cfg)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tr.Run(ctx) }()
	work(tr)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestSpansAndParents(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	out := http.Header{}
	tr := c.record(t, ops.TraceConfig{Headers: map[string]string{"X-Token": "abc"}, Batch: 2}, func(tr *ops.Tracer) {
		ctx, server := tr.Serve(t.Context(), "request", http.Header{"Traceparent": {caller}, "Tracestate": {"a=1", "b=2"}})
		if got := server.TraceID(); got != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("TraceID() = %s", got)
		}
		server.Name("GET /v1/x/{id}")
		server.Text("http.route", "/v1/x/{id}")
		server.Text("phone", "+254712345678")
		server.Int("http.response.status_code", 503)
		server.Fail("STORE_UNAVAILABLE")
		ctx, client := tr.Start(ctx, "call", ops.SpanClient)
		ops.Inject(ctx, out)
		client.End()
		client.End()
		client.Name("too late")
		server.End()
		_, own := tr.Start(t.Context(), "job", ops.SpanInternal)
		own.End()
	})
	if n := len(c.spans); n != 3 || tr.Dropped() != 0 {
		t.Fatalf("%d spans, %d dropped, want 3 and 0", n, tr.Dropped())
	}
	client, server, own := c.spans[0], c.spans[1], c.spans[2]
	if server.ParentSpanID != "b7ad6b7169203331" || client.ParentSpanID != server.SpanID || own.ParentSpanID != "" {
		t.Errorf("parents: server %q, client %q of %q, own %q", server.ParentSpanID, client.ParentSpanID, server.SpanID, own.ParentSpanID)
	}
	if client.TraceID != server.TraceID || own.TraceID == server.TraceID || own.TraceID == "" {
		t.Errorf("traces: %s, %s, %s", client.TraceID, server.TraceID, own.TraceID)
	}
	if server.Name != "GET /v1/x/{id}" || client.Name != "call" || server.Kind != 2 || client.Kind != 3 || own.Kind != 1 {
		t.Errorf("names and kinds: %+v", c.spans)
	}
	if server.Status.Code != 2 || server.Status.Message != "STORE_UNAVAILABLE" || client.Status.Code != 0 {
		t.Errorf("status: %+v, %+v", server.Status, client.Status)
	}
	if got := fmt.Sprint(server.Attributes); got != "[{http.route map[stringValue:/v1/x/{id}]} {phone map[stringValue:[redacted]]} {http.response.status_code map[intValue:503]}]" {
		t.Errorf("attributes = %s", got)
	}
	if got, want := out.Get("Traceparent"), "00-"+client.TraceID+"-"+client.SpanID+"-01"; got != want {
		t.Errorf("injected %q, want %q", got, want)
	}
	if got := out.Get("Tracestate"); got != "a=1,b=2" || server.TraceState != got {
		t.Errorf("tracestate = %q and %q", got, server.TraceState)
	}
	if c.headers.Get("X-Token") != "abc" || c.headers.Get("Content-Type") != "application/json" {
		t.Errorf("headers = %v", c.headers)
	}
	if len(server.StartTimeUnixNano) != 19 || server.EndTimeUnixNano < server.StartTimeUnixNano {
		t.Errorf("times %s to %s", server.StartTimeUnixNano, server.EndTimeUnixNano)
	}
}

func TestTraceParent(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, tt := range []struct {
		name, header string
		joins        bool
	}{
		{"valid", "00-" + trace + "-" + parent + "-01", true},
		{"other flags", "00-" + trace + "-" + parent + "-03", true},
		{"later version", "01-" + trace + "-" + parent + "-01-more", true},
		{"none", "", false},
		{"version ff", "ff-" + trace + "-" + parent + "-01", false},
		{"version 00 with more", "00-" + trace + "-" + parent + "-01-more", false},
		{"later version glued", "01-" + trace + "-" + parent + "-01more", false},
		{"upper case", "00-" + strings.ToUpper(trace) + "-" + parent + "-01", false},
		{"zero trace", "00-" + strings.Repeat("0", 32) + "-" + parent + "-01", false},
		{"zero span", "00-" + trace + "-" + strings.Repeat("0", 16) + "-01", false},
		{"not hex", "00-" + strings.Repeat("g", 32) + "-" + parent + "-01", false},
		{"short", "00-" + trace + "-" + parent, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := ops.NewTracer(ops.TraceConfig{Endpoint: "http://127.0.0.1:1", Ratio: 1})
			_, s := tr.Serve(t.Context(), "x", http.Header{"Traceparent": {tt.header}})
			if got := s.TraceID() == trace; got != tt.joins {
				t.Errorf("joined the caller's trace: %v, want %v", got, tt.joins)
			}
		})
	}
	tr := ops.NewTracer(ops.TraceConfig{Endpoint: "http://127.0.0.1:1", Ratio: 1})
	if _, s := tr.Serve(t.Context(), "x", http.Header{"Traceparent": {"00-" + trace + "-" + parent + "-01", "00-" + trace + "-" + parent + "-01"}}); s.TraceID() == trace {
		t.Error("two traceparent headers were taken as one")
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	const n = 2000
	c.record(t, ops.TraceConfig{Ratio: 0.25, Queue: n}, func(tr *ops.Tracer) {
		for range n {
			ctx, s := tr.Serve(t.Context(), "x", nil)
			_, child := tr.Start(ctx, "y", ops.SpanInternal)
			child.End()
			s.End()
		}
	})
	if got := len(c.spans) / 2; got < n/5 || got > n*3/10 || len(c.spans)%2 != 0 {
		t.Errorf("%d spans for %d traces at a quarter", len(c.spans), n)
	}
	c = newCollector(t)
	c.record(t, ops.TraceConfig{}, func(tr *ops.Tracer) {
		ctx, s := tr.Serve(t.Context(), "x", http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}})
		out := http.Header{}
		ops.Inject(ctx, out)
		if !strings.HasSuffix(out.Get("Traceparent"), "-00") {
			t.Errorf("injected %q for a trace that is not recorded", out.Get("Traceparent"))
		}
		s.End()
	})
	if len(c.spans) != 0 {
		t.Errorf("%d spans of a trace the caller does not record", len(c.spans))
	}
}

func TestFullQueueDrops(t *testing.T) {
	t.Parallel()
	tr := ops.NewTracer(ops.TraceConfig{Endpoint: "http://127.0.0.1:1", Ratio: 1, Queue: 10})
	for range 25 {
		_, s := tr.Start(t.Context(), "x", ops.SpanInternal)
		s.End()
	}
	if got := tr.Dropped(); got != 15 {
		t.Errorf("Dropped() = %d, want 15", got)
	}
}

func TestCollectorTrouble(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answer  func(try int, w http.ResponseWriter) bool
		spans   int
		dropped int64
		errors  int64
	}{
		{"comes back", func(try int, w http.ResponseWriter) bool {
			if try == 1 {
				w.WriteHeader(503)
			}
			return try > 1
		}, 1, 0, 0},
		{"stays away", func(_ int, w http.ResponseWriter) bool { w.WriteHeader(503); return false }, 0, 1, 1},
		{"refuses", func(_ int, w http.ResponseWriter) bool { w.WriteHeader(400); return false }, 0, 1, 1},
		{"redirects", func(_ int, w http.ResponseWriter) bool {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(302)
			return false
		}, 0, 1, 1},
		{"takes a part", func(_ int, w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}`)
			return true
		}, 1, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			try := 0
			c.answer = func(w http.ResponseWriter) bool { try++; return tt.answer(try, w) }
			var errs atomic.Int64
			tr := c.record(t, ops.TraceConfig{OnError: func(error) { errs.Add(1) }}, func(tr *ops.Tracer) {
				_, s := tr.Start(t.Context(), "x", ops.SpanInternal)
				s.End()
			})
			if len(c.spans) != tt.spans || tr.Dropped() != tt.dropped || errs.Load() != tt.errors {
				t.Errorf("%d spans, %d dropped, %d errors, want %d, %d, %d", len(c.spans), tr.Dropped(), errs.Load(), tt.spans, tt.dropped, tt.errors)
			}
		})
	}
}

// Batches go out without a stop: by size and by time.
func TestExportWhileRunning(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	got := make(chan struct{}, 16)
	c.answer = func(http.ResponseWriter) bool { got <- struct{}{}; return true }
	c.record(t, ops.TraceConfig{Every: time.Millisecond}, func(tr *ops.Tracer) {
		_, s := tr.Start(t.Context(), "x", ops.SpanInternal)
		s.End()
		select {
		case <-got:
		case <-time.After(10 * time.Second):
			t.Error("nothing was exported")
		}
	})
}

// Not parallel: it counts allocations.
func TestTracingOff(t *testing.T) {
	tr := ops.NewTracer(ops.TraceConfig{})
	if tr != nil {
		t.Fatal("a tracer without an endpoint is not nil")
	}
	h := http.Header{}
	allocs := testing.AllocsPerRun(100, func() {
		ctx, s := tr.Serve(t.Context(), "x", h)
		ctx, child := tr.Start(ctx, "y", ops.SpanClient)
		ops.Inject(ctx, h)
		child.Text("http.route", "/")
		child.End()
		s.Int("http.response.status_code", 200)
		s.Fail("X")
		s.End()
	})
	if allocs != 0 || len(h) != 0 || tr.Dropped() != 0 || ops.SpanFrom(t.Context()).TraceID() != "" {
		t.Errorf("%v allocations, headers %v", allocs, h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	got, err := ops.ParseHeaders("authorization=Basic a=b, x-k = v ,")
	if err != nil || fmt.Sprint(got) != "map[authorization:Basic a=b x-k:v]" {
		t.Errorf("ParseHeaders = %v, %v", got, err)
	}
	if _, err := ops.ParseHeaders("token"); err == nil {
		t.Error("no error for a pair without =")
	}
}
