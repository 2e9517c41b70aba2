package ops_test

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

func page(t *testing.T, m *ops.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestCounters(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.Build{})
	add, err := m.Counters("x_total", "X.", "node", "result")
	if err != nil {
		t.Fatal(err)
	}
	add("a", "ok")
	add("a", "ok")
	add("a", "no")
	for i := range 6000 {
		add(strconv.Itoa(i), "ok")
	}
	got := page(t, m)
	for _, want := range []string{`x_total{node="a",result="ok"} 2`, `x_total{node="a",result="no"} 1`, `x_total{node="other",result="other"} 1906`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("the page has no line %s", want)
		}
	}
	if _, err := m.Counters("x_total", "X.", "other"); err == nil {
		t.Error("a name could be registered twice")
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	m := ops.NewMetrics(ops.Build{})
	add, err := m.Histogram("y_seconds", "Y.", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	add(1.5)
	if got := page(t, m); !strings.Contains(got, `y_seconds_bucket{le="2"} 1`) || !strings.Contains(got, "y_seconds_sum 1.5") {
		t.Errorf("the page lacks what was added:\n%s", got)
	}
}

func TestNoMetricsCountNothing(t *testing.T) {
	t.Parallel()
	var m *ops.Metrics
	add, err := m.Counters("x_total", "X.", "node")
	see, err2 := m.Histogram("y", "Y.")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	add("a")
	see(1)
}
