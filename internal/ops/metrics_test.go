package ops_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

func scrape(t *testing.T, m *ops.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// series counts the lines of our own measures.
func series(page string) int {
	n := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "hearth_") {
			n++
		}
	}
	return n
}

func TestMetricsPage(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.Build{Version: "1.2.3"})
	m.Observe("GET /v1/entities/{did}", "GET", 200, time.Millisecond)
	m.Observe("/v1/entities", "POST", 503, 20*time.Millisecond)
	m.Refused("rate_key")
	if err := m.Gauge("hearth_store_queue", "Waiting writes.", func() float64 { return 7 }); err != nil {
		t.Fatal(err)
	}
	if err := m.Counter("hearth_store_commits_total", "Commits.", func() float64 { return 9 }); err != nil {
		t.Fatal(err)
	}
	if err := m.Gauge("hearth_store_queue", "Twice.", func() float64 { return 0 }); err == nil {
		t.Error("a name was registered twice without an error")
	}
	if err := m.Trace(nil); err != nil {
		t.Fatal(err)
	}
	page := scrape(t, m)
	lint, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil || len(lint) > 0 {
		t.Errorf("lint: %v, %v", lint, err)
	}
	for _, want := range []string{
		`hearth_http_requests_total{method="GET",route="/v1/entities/{did}",status="2xx"} 1`,
		`hearth_http_requests_total{method="POST",route="/v1/entities",status="5xx"} 1`,
		`hearth_http_request_duration_seconds_bucket{method="POST",route="/v1/entities",le="0.025"} 1`,
		`hearth_refusals_total{limit="rate_key"} 1`,
		`hearth_build_info{go=`, `version="1.2.3"} 1`, "hearth_store_queue 7\n", "hearth_trace_spans_dropped_total 0\n", "hearth_store_commits_total 9\n", "go_goroutines ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// 10,000 distinct paths, methods and statuses leave the number of series as it
// was.
func TestCardinality(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.Build{})
	for _, status := range []int{0, 100, 200, 301, 404, 500} {
		m.Observe("", "GET", status, 0)
		m.Observe("", "BREW", status, 0)
	}
	before := series(scrape(t, m))
	for i := range 10_000 {
		m.Observe("", "GET", 200+i%400, 0)
		m.Observe("", fmt.Sprintf("M%d", i), i, 0)
	}
	if after := series(scrape(t, m)); after != before {
		t.Errorf("%d series after 10,000 paths, want %d", after, before)
	}
	// Even somebody who passes paths as routes cannot fill the memory.
	for i := range 10_000 {
		m.Observe(fmt.Sprintf("/v1/entities/%d", i), "GET", 200, 0)
	}
	if after := series(scrape(t, m)); after > before+512*18 {
		t.Errorf("%d series after 10,000 routes", after)
	}
}

func TestNilMetrics(t *testing.T) {
	t.Parallel()
	var m *ops.Metrics
	m.Observe("/", "GET", 200, time.Millisecond)
	m.Refused("x")
}

func TestMetricsRace(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.Build{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				m.Observe(fmt.Sprintf("/r%d", (g+i)%20), "GET", 200, time.Millisecond)
			}
		})
	}
	wg.Wait()
	if page := scrape(t, m); !strings.Contains(page, `hearth_http_requests_total{method="GET",route="/r0",status="2xx"} 80`) {
		t.Error("requests were not counted")
	}
}

func BenchmarkObserve(b *testing.B) {
	m := ops.NewMetrics(ops.Build{})
	b.ReportAllocs()
	for b.Loop() {
		m.Observe("GET /v1/entities/{did}", "GET", 200, time.Millisecond)
	}
}
