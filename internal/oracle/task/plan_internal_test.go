package task

import (
	"testing"
	"time"
)

// Times follow the clocks of a place, also where these change.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, cron, zone, after string
		want                    []string // the next times, in UTC
	}{
		{"Nairobi has no summer time", "0 9 * * *", "Africa/Nairobi", "2026-03-29T05:59:00Z", []string{"2026-03-29T06:00:00Z", "2026-03-30T06:00:00Z"}},
		{"not the moment itself", "0 9 * * *", "Africa/Nairobi", "2026-03-29T06:00:00Z", []string{"2026-03-30T06:00:00Z"}},
		{"Berlin over the change of spring", "0 9 * * *", "Europe/Berlin", "2026-03-28T07:00:00Z", []string{"2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"}},
		{"Berlin over the change of autumn", "0 9 * * *", "Europe/Berlin", "2026-10-24T06:00:00Z", []string{"2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z", "2026-10-26T08:00:00Z"}},
		{"a time that is skipped", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"a time that is shown twice", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"asked in the hour that comes again", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", []string{"2026-10-26T01:30:00Z"}},
		{"two times of which one is skipped", "15 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z", "2026-03-30T00:15:00Z"}},
		{"every hour in spring", "0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", []string{"2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}},
		{"every hour in autumn", "0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}},
		{"half an hour of change", "15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"midnight that is skipped", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", []string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"}},
		{"the last of February", "0 8 29 2 *", "Africa/Kampala", "2026-01-01T00:00:00Z", []string{"2028-02-29T05:00:00Z"}},
		{"Mondays", "0 7 * * MON", "Africa/Lagos", "2026-11-17T00:00:00Z", []string{"2026-11-23T06:00:00Z", "2026-11-30T06:00:00Z"}},
	} {
		place, err := zoneOf(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tt.after)
		for _, want := range tt.want {
			if err == nil {
				at, err = next(tt.cron, at, place)
			}
			if got := at.Format(time.RFC3339); err != nil || got != want {
				t.Errorf("%s: got %s, %v; want %s", tt.name, got, err, want)
			}
		}
	}
	if at, err := next("0 0 31 2 *", time.Now(), time.UTC); err == nil {
		t.Errorf("a day that never comes is %s", at)
	}
}

func TestTooOften(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]bool{
		"*/5 * * * *": false, "*/4 * * * *": true, "* * * * *": true, "0,1 9 * * *": true, "0 9 * * *": false, "0,59 5,6 * * *": true,
		"59,0 * 1 1 *": true, "0 0 29 2 *": false, "0-59 3 29 2 *": true, "0 0,12 * * 1-5": false,
	} {
		if got, err := tooOften(cron, 5*time.Minute); err != nil || got != want {
			t.Errorf("tooOften(%s) = %v, %v", cron, got, err)
		}
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"Africa/Nairobi": true, "UTC": true, "Etc/GMT+3": true, "Local": false, "": false, "../etc/passwd": false, "/etc/localtime": false, "Mars/Base": false} {
		if _, err := zoneOf(name); (err == nil) != want {
			t.Errorf("zoneOf(%q) = %v", name, err)
		}
	}
}
