package ops

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// otherLabel stands for the values of labels past the bound.
const otherLabel = "other"

// Counters registers numbers that only grow, one for each set of values of its
// labels, and returns what adds one. Values come from code and from what an
// operator has configured, never from a request; past maxLines sets they are
// counted together. A nil *Metrics counts nothing.
func (m *Metrics) Counters(name, help string, labels ...string) (func(values ...string), error) {
	if m == nil {
		return func(...string) {}, nil
	}
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	if err := m.registry.Register(vec); err != nil {
		return nil, err
	}
	rest := vec.WithLabelValues(slices.Repeat([]string{otherLabel}, len(labels))...)
	var known sync.Map // joined values → prometheus.Counter
	var count atomic.Int64
	return func(values ...string) {
		joined := strings.Join(values, "\x00")
		if c, ok := known.Load(joined); ok {
			c.(prometheus.Counter).Inc()
			return
		}
		if count.Add(1) > maxLines {
			rest.Inc()
			return
		}
		c := vec.WithLabelValues(values...)
		known.Store(joined, c)
		c.Inc()
	}, nil
}

// Histogram registers the spread of a number and returns what adds one.
func (m *Metrics) Histogram(name, help string, buckets ...float64) (func(float64), error) {
	if m == nil {
		return func(float64) {}, nil
	}
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	return h.Observe, m.registry.Register(h)
}
