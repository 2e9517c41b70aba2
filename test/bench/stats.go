package main

import (
	"cmp"
	"slices"
	"time"
)

// sample is one measurement of one side.
type sample struct {
	ops  int
	took time.Duration
	cpu  time.Duration   // of the process that does the work
	each []time.Duration // latency of every operation, when it was taken
}

// rate returns operations per second.
func (s sample) rate() float64 { return float64(s.ops) / s.took.Seconds() }

// cost returns CPU time per operation in µs.
func (s sample) cost() float64 {
	return float64(s.cpu.Nanoseconds()) / 1e3 / float64(max(s.ops, 1))
}

// at returns the latency that the share q of the operations did not exceed, in µs.
func (s sample) at(q float64) float64 {
	if len(s.each) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.each))
	i := min(int(q*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[i].Nanoseconds()) / 1e3
}

func (s sample) p50() float64 { return s.at(0.50) }

func (s sample) p99() float64 { return s.at(0.99) }

// pairs are the rounds of one cell: ours and the bound, side by side.
type pairs struct{ ours, bound []sample }

// ratio is the median over the rounds of ours divided by the bound. Both sides
// of a round ran at the same time, so it varies less than the medians do.
func (p pairs) ratio(of func(sample) float64) float64 {
	var all []float64
	for i := range p.ours {
		all = append(all, of(p.ours[i])/of(p.bound[i]))
	}
	return median(all)
}

// medianOf is the median over the rounds of one side.
func medianOf(side []sample, of func(sample) float64) float64 {
	var all []float64
	for _, s := range side {
		all = append(all, of(s))
	}
	return median(all)
}

func median[T cmp.Ordered](all []T) T {
	var zero T
	if len(all) == 0 {
		return zero
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// add joins two measurements of the same side.
func (s sample) add(t sample) sample {
	return sample{ops: s.ops + t.ops, took: s.took + t.took, cpu: s.cpu + t.cpu, each: append(s.each, t.each...)}
}
