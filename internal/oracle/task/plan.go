package task

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // users name time zones, whatever the machine knows

	"github.com/adhocore/gronx"
)

const (
	maxCron = 100
	// farthest is how long after now a task may be planned, and how long a schedule
	// may go without a time.
	farthest = 5 * 366 * 24 * time.Hour
	// A schedule is looked at for so many times, and so long, to see how close two of
	// its times are: a day at the shortest interval there is by default.
	lookTimes = 300
	lookLong  = 366 * 24 * time.Hour
)

// cronPattern is five fields of a cron expression. Seconds, years and tags are
// not for users.
var cronPattern = regexp.MustCompile(`^[0-9A-Za-z*/,?#-]+( [0-9A-Za-z*/,?#-]+){4}$`)

// zonePattern is the form of an IANA name.
var zonePattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// zoneOf finds a time zone by its IANA name.
func zoneOf(name string) (*time.Location, error) {
	if name == "Local" || !zonePattern.MatchString(name) {
		return nil, fmt.Errorf("no IANA name of a time zone")
	}
	return time.LoadLocation(name)
}

// next is the first time of a cron expression after a moment, by the clocks of a
// place. When clocks are put forward, a time that they skip comes at that moment;
// when they are put back, a time that they show twice comes once. Hourly
// expressions follow the clocks: they skip what is skipped and repeat what is
// repeated, so that their interval stays.
func next(cron string, after time.Time, place *time.Location) (time.Time, error) {
	everyHour := strings.HasPrefix(strings.Fields(cron)[1], "*")
	from, including := after, false
	for {
		_, offset := from.In(place).Zone()
		tick, err := gronx.NextTickAfter(cron, from.In(time.FixedZone("", offset)), including)
		if err != nil || tick.Sub(after) > farthest {
			return time.Time{}, fmt.Errorf("the schedule has no time: %w", err)
		}
		_, change := from.In(place).ZoneBounds()
		if change.IsZero() || tick.Before(change) {
			return tick.UTC(), nil
		}
		// The clocks change before that. The search starts again after the change.
		_, later := change.In(place).Zone()
		shift := time.Duration(later-offset) * time.Second
		if !everyHour && tick.Before(change.Add(shift)) {
			return change.UTC(), nil // it would be in the hour that is skipped
		}
		from, including = change, true
		if shift < 0 && !everyHour {
			from = change.Add(-shift) // the repeated times are past
		}
	}
}

// tooOften reports whether two times of a cron expression are closer than least.
func tooOften(cron string, least time.Duration) (bool, error) {
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) // a leap year: every day of the calendar is in it
	last, err := next(cron, begin, time.UTC)
	if err != nil {
		return false, err
	}
	for range lookTimes {
		tick, err := next(cron, last, time.UTC)
		if err != nil || tick.Sub(begin) > lookLong {
			return false, nil //nolint:nilerr // it has one time at least, and no other soon
		}
		if tick.Sub(last) < least {
			return true, nil
		}
		last = tick
	}
	return false, nil
}

// moment reads a time: with an offset, or by the clocks of a place.
func moment(text string, place *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, place); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("not a time")
}
