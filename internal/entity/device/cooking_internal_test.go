package device

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
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
		out = append(out, sample{at: origin + int64(i)*300_000, temp: temp, measured: true})
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
		samples = append(samples, sample{at: origin + i*1000, temp: 80, measured: true})
	}
	samples = append(samples, sample{at: origin + 1_800_000, temp: 20, measured: true}, sample{at: origin + 2_410_000, temp: 20, measured: true})
	got := detect(rules(30*time.Minute), samples)
	if len(got) != 1 || got[0].DurationSeconds != 1800 || got[0].Confidence != 1 || got[0].Readings != 1800 || got[0].Truncated {
		t.Errorf("events = %+v, want one of 1800 s and 1800 readings", got)
	}
}

// told reads "5:yes/300 8:no 10:85/yes/1800": at a minute after origin a
// temperature, the word of the device, or both, and how many seconds.
func told(text string) []sample {
	var out []sample
	for _, word := range strings.Fields(text) {
		minute, what, _ := strings.Cut(word, ":")
		var at int64
		if _, err := fmt.Sscan(minute, &at); err != nil {
			panic(err)
		}
		s := sample{at: origin + at*60_000}
		for _, part := range strings.Split(what, "/") {
			n, err := strconv.ParseFloat(part, 64)
			switch {
			case part == "yes":
				s.said = cooks
			case part == "no":
				s.said = rests
			case err != nil:
				panic(err)
			case s.said == silent:
				s.temp, s.measured = n, true
			default:
				s.length = int64(n * 1000)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestWhatTheDeviceSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"the documented reading", "15:85.4/yes/1800", []string{"07:45-08:15 both n 1 c 1 odd 0 cut"}},
		{"without a temperature", "15:yes/1800", []string{"07:45-08:15 device n 1 c 1 odd 0 cut"}},
		{"every five minutes", "0:yes 5:yes 10:yes 15:no 30:no", []string{"08:00-08:15 device n 3 c 1 odd 0"}},
		{"it has been off before", "10:no 15:yes/1800 16:no", []string{"08:10-08:15 device n 1 c 1 odd 0 cut"}},
		{"what it tells joins", "30:yes/1800 60:yes/1800 90:no", []string{"08:00-09:00 device n 2 c 1 odd 0"}},
		{"two events", "30:yes/1200 90:yes/1200", []string{"08:10-08:30 device n 1 c 1 odd 0", "09:10-09:30 device n 1 c 1 odd 0 cut"}},
		{"temperature decides, it is cold", "0:20 5:20/yes/600 10:20", nil},
		{"temperature decides, it is hot", "0:80/no 5:80/no 10:20", []string{"08:00-08:10 temperature n 2 c 1 odd 2 cut"}},
		{"temperatures that come as configured decide when it began", "0:20 5:80/yes/3600 10:80/yes/3900 15:20", []string{"08:05-08:15 temperature n 2 c 1 odd 0 cut"}},
		{"off while it is warm", "0:80 5:no 10:80 15:20", []string{"08:00-08:15 both n 3 c 1 odd 0 cut"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range detect(rules(0), told(tt.in)) {
				s := fmt.Sprintf("%s-%s %s n %d c %v odd %d", e.Start.Format("15:04"), e.End.Format("15:04"), e.Basis, e.Readings, e.Confidence, e.Contradictions)
				if e.Truncated {
					s += " cut"
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// The short way to read what a device says is the long one.
func TestSampleOf(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, cooking := range []*bool{nil, &yes, &no} {
		for _, length := range []*float64{nil, new(float64), ptr(0.5), ptr(1800), ptr(1e7), ptr(123456.789)} {
			for _, values := range []map[string]float64{nil, {"duration": 5}, {"cookingEvent": 1}} {
				r := ReadingDraft{Timestamp: "2024-02-20T08:00:00Z", CookingEvent: cooking, Duration: length, Values: values}
				var c fault.Checks
				got := r.check(&c, "", time.UnixMilli(origin)).sample()
				want := sample{at: origin}
				switch {
				case cooking != nil && !*cooking:
					want.said = rests
				case length != nil && *length > 0:
					want.said, want.length = cooks, int64(min(*length*1000, 86_400_000))
				case cooking != nil:
					want.said = cooks
				}
				if got != want {
					t.Errorf("%v %v %v: sample %+v, want %+v", cooking, length, values, got, want)
				}
			}
		}
	}
}

func ptr(v float64) *float64 { return &v }

// drawSeries makes a series with holes, odd intervals and flicker around the
// threshold.
func drawSeries(t *rapid.T) []sample {
	step := rapid.SampledFrom([]int64{1, 299_999, 300_000, 300_000, 300_000, 300_001, 600_000, 900_000, 900_001, 3_600_000})
	temp := rapid.SampledFrom([]float64{-50, 20, 59.999, 60, 60.001, 85.4, 1000})
	var out []sample
	at := int64(origin)
	for range rapid.IntRange(0, 60).Draw(t, "n") {
		at += step.Draw(t, "step")
		out = append(out, sample{at: at, temp: temp.Draw(t, "temp"), measured: true})
	}
	return out
}

// drawTold makes a series in which the device speaks too, beside temperatures or
// instead of them.
func drawTold(t *rapid.T) []sample {
	out := drawSeries(t)
	length := rapid.SampledFrom([]int64{0, 0, 1, 300_000, 1_800_000, 7_200_000, 24 * 3_600_000})
	for i := range out {
		s := &out[i]
		if s.said = rapid.SampledFrom([]word{silent, cooks, cooks, rests}).Draw(t, "word"); s.said == cooks {
			s.length = length.Draw(t, "length")
		}
		if s.said != silent && rapid.Bool().Draw(t, "no temperature") {
			s.temp, s.measured = 0, false
		}
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
			got[i].MaxTemperature, got[i].MeanTemperature, got[i].Confidence, got[i].Basis = 0, 0, 0, ""
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
		samples := rapid.SampledFrom([]func(*rapid.T) []sample{drawSeries, drawTold}).Draw(t, "kind")(t)
		r := rules(time.Duration(rapid.SampledFrom([]int{0, 300, 1800}).Draw(t, "least")) * time.Second)
		from, to := int64(origin)-25*3_600_000, int64(origin)+100*3_600_000
		want := detect(r, samples)
		cuts := rapid.SliceOfN(rapid.Int64Range(from, from+35*3_600_000), 0, 4).Draw(t, "cuts")
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
		samples := rapid.SampledFrom([]func(*rapid.T) []sample{drawSeries, drawTold}).Draw(t, "kind")(t)
		from, to := int64(origin)-25*3_600_000, int64(origin)+100*3_600_000
		got := paged{rules(0), 3, rapid.IntRange(2, 20).Draw(t, "budget")}.scan(t, samples, from, to)
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
