package device

import (
	"math"
	"time"
)

// Rules say what counts as cooking. They come from the configuration of the
// device, or from the request.
type Rules struct {
	Threshold   float64       // °C; a reading of at least this is hot
	MinDuration time.Duration // shorter events are left out
	Interval    time.Duration // between two readings, as configured
}

// mergeGap is how long an event may be below the threshold and still continue:
// a lid is lifted, a pot is taken off. Two readings in a row may be cold.
func (r Rules) mergeGap() int64 { return 2 * r.Interval.Milliseconds() }

// maxGap is the longest time without a reading through which an event is
// assumed to continue. After a longer one nobody knows.
func (r Rules) maxGap() int64 { return 3 * r.Interval.Milliseconds() }

// lookBack is how far before a moment readings can show that an event that is
// hot at that moment began earlier: one gap between a hot and a cold reading,
// and a whole time below the threshold.
func (r Rules) lookBack() int64 { return r.mergeGap() + r.maxGap() }

// maxFollow is how far past the end of a range an event that began in it is
// followed.
const maxFollow = 24 * time.Hour

// word is what a device reports: cooking, not cooking, or nothing.
type word int8

const (
	silent word = iota
	cooks
	rests
)

// sample is what a reading says about cooking: a temperature, the device's own
// report, or both. Times are in ms.
type sample struct {
	at       int64
	temp     float64
	measured bool // there is a temperature
	said     word
	length   int64 // how long the device says it has been cooking, at most maxFollow
}

// hot reports whether a sample is one of cooking. A temperature, if there is
// one, decides.
func (r Rules) hot(s sample) bool {
	if s.measured {
		return s.temp >= r.Threshold
	}
	return s.said == cooks
}

// contradicts reports whether the device's report disagrees with its
// temperature.
func (r Rules) contradicts(s sample) bool {
	return s.measured && s.said != silent && (s.said == cooks) != r.hot(s)
}

// detector finds cooking events in samples that come in order of time. It knows
// nothing of batches, pages or the clock: the same samples give the same
// events, however they arrived.
//
// An event begins with a hot sample, or as long before it as the device reports
// to have been cooking, where no earlier sample contradicts that. It continues
// while no two samples in a row are further apart than maxGap and it is not
// below the threshold for longer than mergeGap, counted from the first cold
// sample to the next hot one. It ends one interval after its last hot sample,
// or at the next sample if that comes sooner; with its last hot sample where
// the device has reported the time before it.
type detector struct {
	rules Rules
	emit  func(CookingEvent)

	last int64 // time of the newest sample
	open bool  // an event is under way
	run  run
}

// run is the event that is under way.
type run struct {
	start, hot int64 // first and last hot sample
	next       int64 // first sample after the last hot one; 0 when there is none yet
	cold       int64 // since when it is below the threshold; 0 when it is not
	told       bool  // the device has reported the time before the last hot sample
	max        float64
	sum        tally
	coldSum    tally // of the cold samples since; part of the event only if it continues
}

// tally adds up samples.
type tally struct {
	n, measured, odd int
	degrees          float64
	told             int64 // ms the device has reported
}

func (t *tally) add(o tally) {
	t.n += o.n
	t.measured += o.measured
	t.odd += o.odd
	t.degrees += o.degrees
	t.told += o.told
}

// begin is the start of the time that a hot sample covers: the sample itself,
// or as long before it as the device reports to have been cooking. Temperatures
// at the configured rate leave nothing for the device to report.
func (d *detector) begin(s sample) int64 {
	if s.said != cooks || s.length == 0 || s.measured && d.last != 0 && s.at-d.last <= d.rules.maxGap() {
		return s.at
	}
	return max(s.at-s.length, d.last)
}

func (d *detector) add(s sample) {
	hot, from := d.rules.hot(s), s.at
	if hot {
		from = d.begin(s)
	}
	if d.open && from-d.last > d.rules.maxGap() {
		d.close(false)
	}
	if d.open && d.run.cold != 0 && from-d.run.cold > d.rules.mergeGap() {
		d.close(false)
	}
	d.last = s.at
	one := tally{n: 1, told: s.at - from}
	if s.measured {
		one.measured, one.degrees = 1, s.temp
	}
	if d.rules.contradicts(s) {
		one.odd = 1
	}
	switch {
	case hot && !d.open:
		d.open, d.run = true, run{start: from, max: minTemperature}
		fallthrough
	case hot:
		d.run.goOn(s, one)
	case d.open:
		d.run.cool(s, one)
	}
}

func (r *run) goOn(s sample, one tally) {
	r.sum.add(r.coldSum)
	r.sum.add(one)
	if s.measured {
		r.max = max(r.max, s.temp)
	}
	r.hot, r.told, r.next, r.cold, r.coldSum = s.at, one.told > 0, 0, 0, tally{}
}

func (r *run) cool(s sample, one tally) {
	if r.cold == 0 {
		r.cold, r.next = s.at, s.at
	}
	r.coldSum.add(one)
}

// finish ends the stream. An event that is under way is cut.
func (d *detector) finish() {
	if d.open {
		d.close(true)
	}
}

func (d *detector) close(truncated bool) {
	d.open = false
	r, step := d.run, d.rules.Interval.Milliseconds()
	end := r.hot
	if !r.told {
		end += step
	}
	if r.next != 0 {
		end = min(end, r.next)
	}
	length := end - r.start
	if length < d.rules.MinDuration.Milliseconds() {
		return
	}
	expected := max(1, math.Round(float64(length)/float64(step)))
	e := CookingEvent{
		Start: moment(r.start), End: moment(end), DurationSeconds: float64(length) / 1000, Readings: r.sum.n, Basis: r.sum.basis(),
		Confidence:     round(min(1, (float64(r.sum.n)+float64(r.sum.told)/float64(step))/expected), 1000),
		Contradictions: r.sum.odd, Truncated: truncated,
	}
	if r.sum.measured > 0 {
		e.MaxTemperature, e.MeanTemperature = r.max, round(r.sum.degrees/float64(r.sum.measured), 100)
	}
	d.emit(e)
}

// basis names the evidence for an event.
func (t tally) basis() string {
	switch {
	case t.measured == 0:
		return "device"
	case t.measured < t.n || t.told > 0:
		return "both"
	}
	return "temperature"
}

// round keeps whole parts of 1/parts.
func round(v, parts float64) float64 { return math.Round(v*parts) / parts }

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// scan walks over the samples of a device and gathers the events that begin in
// [from, to). Every event belongs to the one range it begins in, so adjacent
// ranges give each event once. Feed it samples from from-lookBack on.
type scan struct {
	from, to    int64
	first, last int64          // readings before the one and from the other on belong to other ranges
	limit       int            // events wanted at most
	earlier     bool           // events that began before the range and reach into it count too
	saw         func(x sample) // is called with every reading; may be nil
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

func (s *scan) see(x sample) {
	if s.saw != nil {
		s.saw(x)
	}
}

// wants reports whether the scan needs readings after a moment: until the range
// is over and the events that began in it have ended, or the limit is reached.
func (s *scan) wants(at int64) bool {
	return len(s.events) < s.limit && (at < s.to || s.d.open && s.d.run.start < s.to)
}

// rest ends the scan when there are no more samples.
func (s *scan) rest() { s.d.finish() }

// pause ends the scan before its readings end, because enough were looked at, and
// returns where to continue; last is the time of the last reading. An event that
// is under way is left to the next scan, unless it alone used up this one. The
// last reading is looked at again, because the event of the next one may have
// begun with it. So a scan looks at two readings or more.
func (s *scan) pause(last int64) int64 {
	if s.d.open && s.d.run.start > s.from {
		return s.d.run.start
	}
	s.d.finish()
	return last
}

// after is where a scan that reached its limit continues.
func (s *scan) after() int64 {
	return s.events[len(s.events)-1].Start.UnixMilli() + 1
}
