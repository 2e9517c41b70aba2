package ops

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// SpanKind describes the two ends of a span.
type SpanKind int

// The kinds, numbered as OTLP numbers them.
const (
	SpanInternal SpanKind = 1
	SpanServer   SpanKind = 2
	SpanClient   SpanKind = 3
)

// maxAttrs is how many attributes one span holds.
const maxAttrs = 32

// Tracer makes spans and exports them. A nil *Tracer is tracing switched off:
// every method works and costs a nil check.
type Tracer struct {
	export  exporter
	ratio   float64
	queue   chan *Span
	dropped atomic.Int64
	known   map[string]bool
}

// TraceConfig says where spans go. Only Endpoint is needed.
type TraceConfig struct {
	Endpoint string            // base address of the collector; /v1/traces is added; "" is off
	Headers  map[string]string // for the collector
	Service  string            // service.name
	Version  string            // service.version
	Ratio    float64           // share of new traces that are recorded, 0 to 1
	Client   *http.Client      // nil makes one with a time-out of 10 s that follows no redirect
	Queue    int               // finished spans that may wait; 0 is 2048
	Batch    int               // spans in one request; 0 is 256
	Every    time.Duration     // longest wait before a request; 0 is 2 s
	OnError  func(error)       // called once for every lost batch
}

// NewTracer makes a tracer, or nil when c names no endpoint. Its owner runs
// Run until the process ends.
func NewTracer(c TraceConfig) *Tracer {
	if c.Endpoint == "" {
		return nil
	}
	t := &Tracer{
		export: newExporter(c),
		ratio:  c.Ratio,
		queue:  make(chan *Span, orDefault(c.Queue, 2048)),
		known:  map[string]bool{},
	}
	for _, key := range KnownSpanKeys() {
		t.known[key] = true
	}
	return t
}

func orDefault[T int | time.Duration](v, def T) T {
	if v > 0 {
		return v
	}
	return def
}

// KnownSpanKeys lists the attributes that may be exported; the values of
// others are replaced as in logs.
func KnownSpanKeys() []string {
	return []string{
		"http.request.method", "http.route", "http.response.status_code", "url.scheme", "server.address", "server.port",
		"db.system", "db.operation", "error.type", "request_id", "workspace", "area", "job", "event_type", "attempt", "model", "tool", "plugin",
	}
}

// Dropped is the number of spans lost since the start.
func (t *Tracer) Dropped() int64 {
	if t == nil {
		return 0
	}
	return t.dropped.Load()
}

// spanKey is where a context keeps its span.
type spanKey struct{}

// SpanFrom is the span of ctx, nil when there is none. A nil *Span works.
func SpanFrom(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// Serve starts the span of an incoming request. It continues the caller's
// trace when h has a valid traceparent, and follows its decision to record.
func (t *Tracer) Serve(ctx context.Context, name string, h http.Header) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	remote, ok := readTraceContext(h)
	if !ok {
		return t.begin(ctx, name, SpanServer, traceContext{trace: newTraceID()}, true)
	}
	return t.begin(ctx, name, SpanServer, remote, false)
}

// Start starts a span below the one in ctx, or a trace of its own.
func (t *Tracer) Start(ctx context.Context, name string, kind SpanKind) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	if parent := SpanFrom(ctx); parent != nil {
		return t.begin(ctx, name, kind, parent.context, false)
	}
	return t.begin(ctx, name, kind, traceContext{trace: newTraceID()}, true)
}

// begin makes the span below parent. A root itself decides whether its trace is
// recorded.
func (t *Tracer) begin(ctx context.Context, name string, kind SpanKind, parent traceContext, root bool) (context.Context, *Span) {
	s := &Span{tracer: t, name: name, kind: kind, context: parent, parent: parent.span}
	s.context.span = newSpanID()
	if root {
		s.context.sampled = t.sample(parent.trace)
	}
	if s.context.sampled {
		s.start = time.Now()
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// sample decides by the trace id, so that all services with one ratio agree.
func (t *Tracer) sample(id [16]byte) bool {
	if t.ratio >= 1 {
		return true
	}
	var n uint64
	for _, b := range id[8:] {
		n = n<<8 | uint64(b)
	}
	return float64(n>>1) < t.ratio*float64(math.MaxInt64)
}

// Inject writes the span of ctx into the headers of an outgoing request.
func Inject(ctx context.Context, h http.Header) {
	s := SpanFrom(ctx)
	if s == nil {
		return
	}
	h.Set(headerTraceParent, s.context.parent())
	if s.context.state != "" {
		h.Set(headerTraceState, s.context.state)
	}
}

// Span is one piece of work. All methods may be called from any goroutine, even
// on a nil *Span, and do nothing after End.
type Span struct {
	tracer  *Tracer
	kind    SpanKind
	context traceContext
	parent  [8]byte
	start   time.Time

	mu     sync.Mutex
	name   string
	attrs  []spanAttr
	failed string
	end    time.Time
}

// spanAttr is one attribute: a text, or a number when isInt.
type spanAttr struct {
	key   string
	text  string
	num   int64
	isInt bool
}

// TraceID is the id of the trace in hexadecimal, "" without a span.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return hex.EncodeToString(s.context.trace[:])
}

// Name renames the span, for names that are known only later, such as the
// route.
func (s *Span) Name(name string) {
	s.change(func() { s.name = name })
}

// Text adds a text attribute. Keys that KnownSpanKeys does not list lose
// their value.
func (s *Span) Text(key, text string) {
	s.change(func() {
		if !s.tracer.known[key] {
			text = redacted
		}
		s.attrs = append(s.attrs, spanAttr{key: key, text: text})
	})
}

// Int adds a number.
func (s *Span) Int(key string, n int64) {
	s.change(func() { s.attrs = append(s.attrs, spanAttr{key: key, num: n, isInt: true}) })
}

// Fail marks the span as failed with a short reason: an error code, never the
// text of an error.
func (s *Span) Fail(code string) {
	s.change(func() { s.failed = code })
}

func (s *Span) change(f func()) {
	if s == nil || !s.context.sampled {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end.IsZero() && len(s.attrs) < maxAttrs {
		f()
	}
}

// End finishes the span and queues it for export. It never blocks: when the
// queue is full the span is dropped and counted.
func (s *Span) End() {
	if s == nil || !s.context.sampled {
		return
	}
	s.mu.Lock()
	done := !s.end.IsZero()
	if !done {
		s.end = time.Now()
	}
	s.mu.Unlock()
	if done {
		return
	}
	select {
	case s.tracer.queue <- s:
	default:
		s.tracer.dropped.Add(1)
	}
}

// ParseHeaders reads name=value pairs separated by commas, the form of
// OTEL_EXPORTER_OTLP_HEADERS.
func ParseHeaders(text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errors.New("headers are not name=value pairs")
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, nil
}
