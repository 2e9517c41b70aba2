package device

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// at gives uses as "device/stove" from and to minutes.
func at(device, stove string, from, to int64) use {
	return use{device: device, stove: stove, start: origin + from*60_000, end: origin + to*60_000}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		uses []use
		want []string
	}{
		{"none", nil, nil},
		{"one stove", []use{at("a", "A", 0, 60)}, nil},
		{"one after the other", []use{at("a", "A", 0, 30), at("b", "B", 30, 60)}, nil},
		{"at once", []use{at("a", "A", 0, 60), at("b", "B", 40, 90)}, []string{"08:40-09:00 20 [a b] [A B]"}},
		{"one inside the other", []use{at("b", "B", 10, 20), at("a", "A", 0, 60)}, []string{"08:10-08:20 10 [a b] [A B]"}},
		{"two monitors on one stove", []use{at("a", "S", 0, 60), at("b", "S", 10, 90)}, nil},
		{"two monitors on one stove and another", []use{at("a", "S", 0, 60), at("b", "S", 10, 90), at("c", "C", 50, 100)}, []string{"08:50-09:30 40 [a b c] [C S]"}},
		{"three", []use{at("a", "A", 0, 30), at("b", "B", 10, 50), at("c", "C", 20, 60)}, []string{"08:10-08:50 40 [a b c] [A B C]"}},
		{"partners that change hands", []use{at("a", "A", 0, 60), at("b", "B", 10, 20), at("c", "C", 20, 30)}, []string{"08:10-08:30 20 [a b c] [A B C]"}},
		{"twice", []use{at("a", "A", 0, 60), at("b", "B", 10, 20), at("b", "B", 30, 40)}, []string{"08:10-08:20 10 [a b] [A B]", "08:30-08:40 10 [a b] [A B]"}},
		{"one that only touches", []use{at("c", "C", 0, 10), at("a", "A", 10, 40), at("b", "B", 10, 20)}, []string{"08:10-08:20 10 [a b] [A B]"}},
		{"empty uses", []use{at("a", "A", 5, 5), at("b", "B", 0, 10)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, o := range overlaps(tt.uses) {
				got = append(got, fmt.Sprintf("%s-%s %v %v %v", o.Start.Format("15:04"), o.End.Format("15:04"), o.Minutes, o.Devices, o.Stoves))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("overlaps (-want +got):\n%s", diff)
			}
		})
	}
}

// Minute by minute: a minute is in an overlap exactly when two stoves are hot.
func TestOverlapsByTheMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c"})
		var uses []use
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			from := rapid.Int64Range(0, 50).Draw(t, "from")
			uses = append(uses, at(name.Draw(t, "device"), name.Draw(t, "stove"), from, from+rapid.Int64Range(0, 20).Draw(t, "length")))
		}
		inside := map[int64]bool{}
		for _, o := range overlaps(uses) {
			if len(o.Stoves) < 2 {
				t.Fatalf("overlap of %v", o.Stoves)
			}
			for m := o.Start.UnixMilli(); m < o.End.UnixMilli(); m += 60_000 {
				if inside[m] {
					t.Fatalf("overlaps overlap at %d", m)
				}
				inside[m] = true
			}
		}
		for m := int64(origin); m < origin+80*60_000; m += 60_000 {
			hot := map[string]bool{}
			for _, u := range uses {
				if u.start <= m && m < u.end {
					hot[u.stove] = true
				}
			}
			if (len(hot) >= 2) != inside[m] {
				t.Fatalf("minute %d: %d stoves hot, in an overlap: %v", (m-origin)/60_000, len(hot), inside[m])
			}
		}
	})
}

func TestDays(t *testing.T) {
	t.Parallel()
	midnight := day(origin)*dayMS + dayMS
	uses := []use{
		{device: "a", stove: "A", start: midnight - 60_000, end: midnight + 60_000}, // both days
		{device: "b", stove: "B", start: midnight + 3_600_000, end: midnight + 7_200_000},
		{device: "a", stove: "A", start: midnight + 2*dayMS, end: midnight + 3*dayMS}, // ends at midnight
	}
	if got := daysOfSeveral(uses); got != 1 {
		t.Errorf("days with two stoves = %d, want 1", got)
	}
	days := map[int64]bool{}
	for _, u := range uses {
		daysOf(days, u.start, u.end)
	}
	if len(days) != 3 {
		t.Errorf("%d days of use, want 3", len(days))
	}
	if day(-1) != -1 || day(0) != 0 || day(dayMS) != 1 {
		t.Errorf("day(-1, 0, dayMS) = %d, %d, %d, want -1, 0, 1", day(-1), day(0), day(dayMS))
	}
}
