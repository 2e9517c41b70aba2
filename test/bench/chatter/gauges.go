package chatter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// Numbers the server shows at /metrics.
const (
	goroutines  = "go_goroutines"
	heapBytes   = "go_memstats_heap_alloc_bytes"
	stackBytes  = "go_memstats_stack_inuse_bytes"
	collections = "go_gc_duration_seconds_count"
	openSockets = "oracle_sockets"
	activeRuns  = "oracle_runs_active"
)

// gauges are the numbers of a server that have no labels.
type gauges map[string]float64

func readGauges(ctx context.Context, c *server.Client) (gauges, error) {
	a, err := c.Do(ctx, "GET", "/metrics", nil)
	if err != nil {
		return nil, err
	}
	if a.Status != 200 {
		return nil, fmt.Errorf("GET /metrics: status %d: %s", a.Status, a.Body)
	}
	g := gauges{}
	for line := range strings.Lines(string(a.Body)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			g[name] = n
		}
	}
	for _, name := range []string{goroutines, heapBytes, stackBytes, collections, openSockets, activeRuns} {
		if _, ok := g[name]; !ok {
			return nil, fmt.Errorf("the server does not show %s at /metrics", name)
		}
	}
	return g, nil
}

// until reads the numbers repeatedly until wanted accepts them or the limit has
// passed. It returns the last ones it read.
func until(ctx context.Context, c *server.Client, limit time.Duration, wanted func(gauges) bool) (gauges, bool, error) {
	for end := time.Now().Add(limit); ; {
		g, err := readGauges(ctx, c)
		if err != nil || wanted(g) {
			return g, err == nil, err
		}
		if time.Now().After(end) {
			return g, false, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return g, false, err
		}
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// liveHeap returns how many bytes of a server's heap are in use. No client can make
// the server collect garbage, so liveHeap reads the metrics, which makes garbage,
// until it has collected twice, because pools survive one collection. The lowest
// number before the next collection includes hardly any garbage.
func liveHeap(ctx context.Context, c *server.Client) (float64, error) {
	g, err := readGauges(ctx, c)
	if err != nil {
		return 0, err
	}
	least, first := 0.0, g[collections]
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if g, err = readGauges(ctx, c); err != nil {
			return 0, err
		}
		switch done := g[collections] - first; {
		case done >= 3:
			return least, nil
		case done >= 2 && (least == 0 || g[heapBytes] < least):
			least = g[heapBytes]
		}
	}
	return 0, errors.New("the server has not collected garbage within a minute")
}

// leastHeap returns the lowest of a few measurements: anything else that the server
// does meanwhile can only add to one.
func leastHeap(ctx context.Context, c *server.Client) (float64, error) {
	least, err := liveHeap(ctx, c)
	for range 2 {
		if err != nil {
			return 0, err
		}
		var again float64
		again, err = liveHeap(ctx, c)
		least = min(least, again)
	}
	return least, err
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }
