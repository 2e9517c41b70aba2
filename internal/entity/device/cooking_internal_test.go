package device

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// origin is 2024-02-20T08:00:00Z, in ms.
const origin = 1708416000000

// series reads "85 90 . 40": a temperature every five minutes from origin on,
// a dot where there is none.
func series(text string) []sample {
	var out []sample
	for i, word := range strings.Fields(text) {
		if word == "." {
			continue
		}
		var temp float64
		if _, err := fmt.Sscan(word, &temp); err != nil {
			panic(err)
		}
		out = append(out, sample{at: origin + int64(i)*300_000, temp: temp})
	}
	return out
}

func rules(least time.Duration) Rules {
	return Rules{Threshold: 60, MinDuration: least, Interval: 5 * time.Minute}
}

// detect gives the events of whole series.
func detect(r Rules, samples []sample) []CookingEvent {
	var out []CookingEvent
	d := detector{rules: r, emit: func(e CookingEvent) { out = append(out, e) }}
	for _, s := range samples {
		d.add(s)
	}
	d.finish()
	return out
}

// brief writes an event as "08:15-08:45 max 90 mean 85 n 6 c 1 cut".
func brief(e CookingEvent) string {
	s := fmt.Sprintf("%s-%s max %v mean %v n %d c %v", e.Start.Format("15:04"), e.End.Format("15:04"), e.MaxTemperature, e.MeanTemperature, e.Readings, e.Confidence)
	if e.Truncated {
		s += " cut"
	}
	return s
}

func TestCookingGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, series string
		least        time.Duration
		want         []string
	}{
		{"nothing", "", 0, nil},
		{"never hot", "20 30 59.99 20", 0, nil},
		{"the threshold itself is hot", "20 60 20 20 20 20", 0, []string{"08:05-08:10 max 60 mean 60 n 1 c 1"}},
		{"six readings are half an hour", "20 70 80 90 80 70 60 20 20 20 20", 30 * time.Minute, []string{"08:05-08:35 max 90 mean 75 n 6 c 1"}},
		{"five are not", "20 70 80 90 80 70 20 20 20 20", 30 * time.Minute, nil},
		{"two cold readings are bridged", "70 20 20 70 20 20 20 20", 0, []string{"08:00-08:20 max 70 mean 45 n 4 c 1"}},
		{"three are not", "70 20 20 20 70 20 20 20 20", 0, []string{"08:00-08:05 max 70 mean 70 n 1 c 1", "08:20-08:25 max 70 mean 70 n 1 c 1"}},
		{"two missing readings are borne", "70 . . 80 20 20 20 20", 0, []string{"08:00-08:20 max 80 mean 75 n 2 c 0.5"}},
		{"three are a gap", "70 . . . 80 20 20 20 20", 0, []string{"08:00-08:05 max 70 mean 70 n 1 c 1", "08:20-08:25 max 80 mean 80 n 1 c 1"}},
		{"a gap while below the threshold", "70 20 . . . 80 20 20 20 20", 0, []string{"08:00-08:05 max 70 mean 70 n 1 c 1", "08:25-08:30 max 80 mean 80 n 1 c 1"}},
		{"missing readings count as time below", "70 20 . . 80 20 20 20 20", 0, []string{"08:00-08:05 max 70 mean 70 n 1 c 1", "08:20-08:25 max 80 mean 80 n 1 c 1"}},
		{"still hot at the end", "70 80", 0, []string{"08:00-08:10 max 80 mean 75 n 2 c 1 cut"}},
		{"perhaps over at the end", "70 80 20 20", 0, []string{"08:00-08:10 max 80 mean 75 n 2 c 1 cut"}},
		{"surely over at the end", "70 80 20 20 20 20", 0, []string{"08:00-08:10 max 80 mean 75 n 2 c 1"}},
		{"cold readings at the end are not part", "70 20 70 20 20 20 20", 0, []string{"08:00-08:15 max 70 mean 53.33 n 3 c 1"}},
		{"below zero", "-20 -50 61 -20 -20 -20 -20", 0, []string{"08:10-08:15 max 61 mean 61 n 1 c 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range detect(rules(tt.least), series(tt.series)) {
				got = append(got, brief(e))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDenseReadingsAreComplete(t *testing.T) {
	t.Parallel()
	var samples []sample
	for i := range int64(1800) {
		samples = append(samples, sample{origin + i*1000, 80})
	}
	samples = append(samples, sample{origin + 1_800_000, 20}, sample{origin + 2_410_000, 20})
	got := detect(rules(30*time.Minute), samples)
	if len(got) != 1 || got[0].DurationSeconds != 1800 || got[0].Confidence != 1 || got[0].Readings != 1800 || got[0].Truncated {
		t.Errorf("events = %+v, want one of 1800 s and 1800 readings", got)
	}
}

// drawSeries makes a series with holes, odd intervals and flicker around the
// threshold.
func drawSeries(t *rapid.T) []sample {
	step := rapid.SampledFrom([]int64{1, 299_999, 300_000, 300_000, 300_000, 300_001, 600_000, 900_000, 900_001, 3_600_000})
	temp := rapid.SampledFrom([]float64{-50, 20, 59.999, 60, 60.001, 85.4, 1000})
	var out []sample
	at := int64(origin)
	for range rapid.IntRange(0, 60).Draw(t, "n") {
		at += step.Draw(t, "step")
		out = append(out, sample{at, temp.Draw(t, "temp")})
	}
	return out
}

// spec says what an event is in other words than the detector: hot samples are
// joined to the hot sample before when no hole lies between them and they have
// not been below the threshold for too long.
func spec(r Rules, samples []sample) []CookingEvent {
	type group struct{ first, last int }
	var groups []group
	for i, s := range samples {
		if s.temp < r.Threshold {
			continue
		}
		if n := len(groups); n > 0 && joined(r, samples, groups[n-1].last, i) {
			groups[n-1].last = i
		} else {
			groups = append(groups, group{i, i})
		}
	}
	var out []CookingEvent
	for _, g := range groups {
		part := samples[g.first : g.last+1]
		end := samples[g.last].at + r.Interval.Milliseconds()
		if g.last+1 < len(samples) {
			end = min(end, samples[g.last+1].at)
		}
		if end-part[0].at < r.MinDuration.Milliseconds() {
			continue
		}
		e := CookingEvent{Start: moment(part[0].at), End: moment(end), Readings: len(part), Truncated: true}
		e.DurationSeconds = float64(end-part[0].at) / 1000
		// Its end is known when a hot sample here could not belong to it.
		for i := g.last + 1; i < len(samples); i++ {
			e.Truncated = e.Truncated && joined(r, samples, g.last, i)
		}
		out = append(out, e)
	}
	return out
}

func joined(r Rules, samples []sample, from, to int) bool {
	for i := from; i < to; i++ {
		if samples[i+1].at-samples[i].at > 3*r.Interval.Milliseconds() {
			return false
		}
	}
	return to == from+1 || samples[to].at-samples[from+1].at <= 2*r.Interval.Milliseconds()
}

func TestDetectorIsTheSpec(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := drawSeries(t)
		r := rules(time.Duration(rapid.SampledFrom([]int{0, 300, 1800}).Draw(t, "least")) * time.Second)
		got, want := detect(r, samples), spec(r, samples)
		for i := range got {
			got[i].MaxTemperature, got[i].MeanTemperature, got[i].Confidence = 0, 0, 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
	})
}

// paged is how the service scans: pages of limit events, each after looking at
// no more than budget samples of its own.
type paged struct {
	rules         Rules
	limit, budget int
}

func (p paged) scan(t *rapid.T, samples []sample, from, to int64) []CookingEvent {
	r, limit, budget := p.rules, p.limit, p.budget
	var out []CookingEvent
	for turn := 0; from < to; turn++ {
		if turn > 4*len(samples)+10 {
			t.Fatal("the scan does not get on")
		}
		s := newScan(r, from, to, limit)
		next, looked, more := to, 0, true
		for _, x := range samples {
			if x.at < from-r.lookBack() {
				continue
			}
			if x.at >= from {
				looked++
			}
			s.add(x)
			if more = s.wants(x.at); !more {
				break
			}
			if looked == budget {
				break
			}
		}
		switch {
		case len(s.events) == limit:
			next = s.after()
		case more && looked == budget:
			next = s.pause(s.d.last)
		case more:
			s.rest()
		}
		out = append(out, s.events...)
		from = next
	}
	return out
}

// However a range is cut and paged, each event comes once and whole.
func TestRangesSideBySide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := drawSeries(t)
		r := rules(time.Duration(rapid.SampledFrom([]int{0, 300, 1800}).Draw(t, "least")) * time.Second)
		from, to := int64(origin), int64(origin)+100*3_600_000
		want := detect(r, samples)
		cuts := rapid.SliceOfN(rapid.Int64Range(from, from+10*3_600_000), 0, 4).Draw(t, "cuts")
		cuts = append(cuts, from, to)
		slices.Sort(cuts)
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var got []CookingEvent
		for i := 1; i < len(cuts); i++ {
			got = append(got, paged{r, limit, 1000}.scan(t, samples, cuts[i-1], cuts[i])...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut at %v (-want +got):\n%s", cuts, diff)
		}
	})
}

// A small budget shows long events cut, but begins none twice and loses none.
func TestSmallBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		samples := drawSeries(t)
		from, to := int64(origin), int64(origin)+100*3_600_000
		got := paged{rules(0), 3, rapid.IntRange(1, 20).Draw(t, "budget")}.scan(t, samples, from, to)
		var starts, want []time.Time
		for _, e := range got {
			starts = append(starts, e.Start)
		}
		for _, e := range detect(rules(0), samples) {
			want = append(want, e.Start)
		}
		if diff := cmp.Diff(want, starts); diff != "" {
			t.Fatalf("starts (-want +got):\n%s", diff)
		}
	})
}
