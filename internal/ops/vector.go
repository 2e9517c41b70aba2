package ops

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// otherLabel replaces label values beyond the bound.
const otherLabel = "other"

// Counters registers numbers that only grow, one for each set of label values,
// and returns a function that adds one. Values must come from code or the
// operator's configuration, never from a request; beyond maxLines sets they are
// counted together. A nil *Metrics counts nothing.
func (m *Metrics) Counters(name, help string, labels ...string) (func(values ...string), error) {
	if m == nil {
		return func(...string) {}, nil
	}
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	if err := m.registry.Register(vec); err != nil {
		return nil, err
	}
	if len(labels) > maxLabels {
		return nil, fmt.Errorf("%s has %d labels, at most %d", name, len(labels), maxLabels)
	}
	c := &counters{vec: vec, rest: vec.WithLabelValues(slices.Repeat([]string{otherLabel}, len(labels))...)}
	c.known.Store(&map[labelSet]prometheus.Counter{})
	return c.add, nil
}

// maxLabels is how many labels a counter of Counters has at most.
const maxLabels = 3

type labelSet [maxLabels]string

// counters finds the number of a set without making anything: it is for every
// request. The map is never changed, only replaced.
type counters struct {
	vec   *prometheus.CounterVec
	rest  prometheus.Counter
	mu    sync.Mutex
	known atomic.Pointer[map[labelSet]prometheus.Counter]
}

func (c *counters) add(values ...string) {
	var set labelSet
	copy(set[:], values)
	n, ok := (*c.known.Load())[set]
	if !ok {
		n = c.find(set, len(values))
	}
	n.Inc()
}

// find makes the number of a set and keeps it, within bounds.
func (c *counters) find(set labelSet, labels int) prometheus.Counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.known.Load()
	if n, ok := old[set]; ok {
		return n
	}
	if len(old) >= maxLines {
		return c.rest
	}
	next := maps.Clone(old)
	next[set] = c.vec.WithLabelValues(set[:labels]...)
	c.known.Store(&next)
	return next[set]
}

// Histogram registers the distribution of a number and returns a function that
// adds one.
func (m *Metrics) Histogram(name, help string, buckets ...float64) (func(float64), error) {
	if m == nil {
		return func(float64) {}, nil
	}
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	return h.Observe, m.registry.Register(h)
}
