package ops

import (
	"maps"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Unmatched is the route label of a request that matched no route.
const Unmatched = "unmatched"

// maxRoutes bounds the distinct route labels. Routes come from our own table;
// the bound holds even when a path is passed by mistake.
const maxRoutes = 512

// maxLines bounds the cache of measures.
const maxLines = 4096

// Build describes the running program.
type Build struct {
	Version string
}

// Metrics is the registry of one process and the measures of the HTTP edge.
// All methods may be called from any goroutine; a nil *Metrics measures
// nothing.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refusals *prometheus.CounterVec

	mu     sync.Mutex
	routes map[string]bool                     // labels in use, at most maxRoutes
	lines  atomic.Pointer[map[lineName]*lines] // replaced as a whole
}

// lineName is what a request is counted under.
type lineName struct{ route, method, status string }

// lines are the measures of one lineName, found once.
type lines struct {
	requests prometheus.Counter
	duration prometheus.Observer
}

// NewMetrics makes a registry with the measures of the edge, the build, the Go
// runtime and the process.
func NewMetrics(b Build) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hearth_http_requests_total", Help: "Requests by route pattern, method and status class.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hearth_http_request_duration_seconds", Help: "Time from the request head to the end of the answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hearth_refusals_total", Help: "Requests and connections refused by a limit.",
		}, []string{"limit"}),
		routes: map[string]bool{},
	}
	m.lines.Store(&map[lineName]*lines{})
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hearth_build_info", Help: "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": b.Version, "go": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(
		m.requests, m.duration, m.refusals, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Observe counts one answered request.
func (m *Metrics) Observe(route, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	name := lineName{route, methodLabel(method), statusLabel(status)}
	l := (*m.lines.Load())[name]
	if l == nil {
		l = m.find(name)
	}
	l.requests.Inc()
	l.duration.Observe(took.Seconds())
}

// find makes the measures of a name and keeps them, within bounds.
func (m *Metrics) find(n lineName) *lines {
	m.mu.Lock()
	defer m.mu.Unlock()
	route := m.routeLabel(n.route)
	l := &lines{m.requests.WithLabelValues(route, n.method, n.status), m.duration.WithLabelValues(route, n.method)}
	old := *m.lines.Load()
	if route == Unmatched && n.route != Unmatched || len(old) >= maxLines {
		return l
	}
	next := maps.Clone(old)
	next[n] = l
	m.lines.Store(&next)
	return l
}

// Refused counts a refusal by the named limit. Names are code, never input.
func (m *Metrics) Refused(limit string) {
	if m == nil {
		return
	}
	m.refusals.WithLabelValues(limit).Inc()
}

// Gauge registers a number that is read when metrics are requested.
func (m *Metrics) Gauge(name, help string, read func() float64) error {
	return m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter registers a number that only grows and is read when metrics are
// requested.
func (m *Metrics) Counter(name, help string, read func() float64) error {
	return m.registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Trace registers the number of spans t has lost.
func (m *Metrics) Trace(t *Tracer) error {
	return m.Counter("hearth_trace_spans_dropped_total", "Spans that were not exported: the queue was full or the collector failed.",
		func() float64 { return float64(t.Dropped()) })
}

// Handler serves the metrics page.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		MaxRequestsInFlight: 4, // reading all measures is not free
		Timeout:             10 * time.Second,
	})
}

// routeLabel is the pattern without its method, Unmatched for none and for
// every one past the bound. The caller holds mu.
func (m *Metrics) routeLabel(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	if pattern == "" {
		return Unmatched
	}
	if !m.routes[pattern] && len(m.routes) >= maxRoutes {
		return Unmatched
	}
	m.routes[pattern] = true
	return pattern
}

// methodLabel is the method, or "other": any word can stand in a request line.
func methodLabel(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	}
	return "other"
}

// statusLabel is the class of a status: 2xx.
func statusLabel(status int) string {
	switch status / 100 {
	case 1:
		return "1xx"
	case 2:
		return "2xx"
	case 3:
		return "3xx"
	case 4:
		return "4xx"
	case 5:
		return "5xx"
	}
	return "other"
}
