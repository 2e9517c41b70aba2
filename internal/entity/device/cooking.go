package device

import (
	"math"
	"time"
)

// Rules say what counts as cooking. They come from the configuration of the
// device, or from the one who asks.
type Rules struct {
	Threshold   float64       // °C; a reading of at least this is hot
	MinDuration time.Duration // shorter events are left out
	Interval    time.Duration // between two readings, as configured
}

// mergeGap is how long an event may be below the threshold and go on: a lid is
// lifted, a pot is taken off. Two readings in a row may be cold.
func (r Rules) mergeGap() int64 { return 2 * r.Interval.Milliseconds() }

// maxGap is the longest time without a reading that an event is believed to
// have gone on through. Behind it nobody knows.
func (r Rules) maxGap() int64 { return 3 * r.Interval.Milliseconds() }

// lookBack is how far before a moment readings can decide whether an event
// that is hot at that moment began earlier: one gap between a hot and a cold
// reading, and a whole time below the threshold.
func (r Rules) lookBack() int64 { return r.mergeGap() + r.maxGap() }

// maxFollow is how far past the end of a range an event that began in it is
// followed.
const maxFollow = 24 * time.Hour

// sample is a temperature at a time, in ms.
type sample struct {
	at   int64
	temp float64
}

// detector finds cooking events in samples that come in the order of time. It
// knows nothing of batches, pages or the clock: the same samples give the same
// events, however they arrived.
//
// An event begins with a hot sample. It goes on while no two samples in a row
// are further apart than maxGap and it is not below the threshold for longer
// than mergeGap, counted from the first cold sample to the next hot one. It
// ends one interval after its last hot sample, or at the next sample if that
// comes sooner.
type detector struct {
	rules Rules
	emit  func(CookingEvent)

	last int64 // time of the newest sample
	open bool  // an event goes on
	run  run
}

// run is the event that goes on.
type run struct {
	start, hot int64 // first and last hot sample
	next       int64 // first sample after the last hot one; 0 when there is none yet
	cold       int64 // since when it is below the threshold; 0 when it is not
	max        float64
	sum        float64
	n          int
	coldSum    float64 // of the cold samples since; part of the event only if it goes on
	coldN      int
}

func (d *detector) add(s sample) {
	if d.open && s.at-d.last > d.rules.maxGap() {
		d.close(false)
	}
	d.last = s.at
	hot := s.temp >= d.rules.Threshold
	if d.open && d.run.cold != 0 && s.at-d.run.cold > d.rules.mergeGap() {
		d.close(false)
	}
	switch {
	case hot && d.open:
		d.run.goOn(s)
	case hot:
		d.open, d.run = true, run{start: s.at, hot: s.at, max: s.temp, sum: s.temp, n: 1}
	case d.open:
		d.run.cool(s)
	}
}

func (r *run) goOn(s sample) {
	r.sum += r.coldSum + s.temp
	r.n += r.coldN + 1
	r.max = max(r.max, s.temp)
	r.hot, r.next, r.cold, r.coldSum, r.coldN = s.at, 0, 0, 0, 0
}

func (r *run) cool(s sample) {
	if r.cold == 0 {
		r.cold, r.next = s.at, s.at
	}
	r.coldSum += s.temp
	r.coldN++
}

// finish ends the stream. What goes on then is cut.
func (d *detector) finish() {
	if d.open {
		d.close(true)
	}
}

func (d *detector) close(truncated bool) {
	d.open = false
	r, step := d.run, d.rules.Interval.Milliseconds()
	end := r.hot + step
	if r.next != 0 {
		end = min(end, r.next)
	}
	length := end - r.start
	if length < d.rules.MinDuration.Milliseconds() {
		return
	}
	expected := max(1, math.Round(float64(length)/float64(step)))
	d.emit(CookingEvent{
		Start: moment(r.start), End: moment(end), DurationSeconds: float64(length) / 1000,
		MaxTemperature: r.max, MeanTemperature: round(r.sum/float64(r.n), 100), Readings: r.n,
		Confidence: round(min(1, float64(r.n)/expected), 1000), Truncated: truncated,
	})
}

// round keeps whole parts of 1/parts.
func round(v, parts float64) float64 { return math.Round(v*parts) / parts }

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// scan walks over the samples of a device and gathers the events that begin in
// [from, to). Every event belongs to the one range it begins in, so ranges
// side by side give each event once. Feed it samples from from-lookBack on.
type scan struct {
	from, to    int64
	first, last int64          // readings before the one and from the other on are somebody else's
	limit       int            // events wanted at most
	earlier     bool           // events that began before the range and reach into it count too
	saw         func(at int64) // learns of every reading; nil: nobody
	events      []CookingEvent
	d           detector
}

func newScan(r Rules, from, to int64, limit int) *scan {
	s := &scan{from: from, to: to, first: always, last: ever, limit: limit}
	s.d = detector{rules: r, emit: s.take}
	return s
}

func (s *scan) take(e CookingEvent) {
	start, end := e.Start.UnixMilli(), e.End.UnixMilli()
	if (start >= s.from || s.earlier && end > s.from) && start < s.to && len(s.events) < s.limit {
		s.events = append(s.events, e)
	}
}

func (s *scan) add(x sample) { s.d.add(x) }

func (s *scan) see(at int64) {
	if s.saw != nil {
		s.saw(at)
	}
}

// wants reports whether readings after a moment are wanted: until the range is
// over and what began in it has ended, or the limit is reached.
func (s *scan) wants(at int64) bool {
	return len(s.events) < s.limit && (at < s.to || s.d.open && s.d.run.start < s.to)
}

// rest ends the scan when there are no more samples.
func (s *scan) rest() { s.d.finish() }

// pause ends the scan before its readings end, because enough were looked at,
// the last of them at a moment, and tells where to go on. An event that goes
// on is left to the next scan, unless it alone used up this one.
func (s *scan) pause(last int64) int64 {
	if s.d.open && s.d.run.start > s.from {
		return s.d.run.start
	}
	s.d.finish()
	return last + 1
}

// after is where a scan that reached its limit goes on.
func (s *scan) after() int64 {
	return s.events[len(s.events)-1].Start.UnixMilli() + 1
}
