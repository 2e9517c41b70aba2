package form

import (
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// dates are the kinds whose answer is a point in time, or a time of day.
var dates = []*Kind{
	{
		Type: Date, Members: Members{NoAnswer: true}, Day: true,
		CEL: cel.Instant, read: (*answering).string, want: wantDate, value: moment, Parse: parseText,
		Quality: Quality{Identity: true},
		XLSForm: XLSForm{Word: "date", Reads: []string{"date"}},
		XForm:   XForm{Type: "date", Control: "input", Read: readDay},
	},
	{
		Type: Time, Members: Members{NoAnswer: true}, Clock: true,
		CEL: cel.Text, read: (*answering).string, want: wantTime, value: written, Parse: parseText,
		XLSForm: XLSForm{Word: "time", Reads: []string{"time"}},
		XForm:   XForm{Type: "time", Control: "input", Read: readClock},
	},
	{
		Type: DateTime, Members: Members{NoAnswer: true}, Keyless: true,
		CEL: cel.Instant, read: (*answering).string, want: wantDateTime, value: moment, Parse: parseText,
		XLSForm: XLSForm{Word: "dateTime", Reads: []string{"dateTime"}},
		XForm:   XForm{Type: "dateTime", Control: "input"},
	},
}

func wantDate(s string) string {
	if _, err := time.Parse(time.DateOnly, s); err != nil || s < "0001" {
		return "a date such as 2026-01-31"
	}
	return ""
}

func wantTime(s string) string {
	_, short := time.Parse("15:04", s)
	_, long := time.Parse("15:04:05", s)
	if short != nil && long != nil || len(s) != 5 && len(s) != 8 {
		return "a time such as 14:05 or 14:05:30"
	}
	return ""
}

func wantDateTime(s string) string {
	if _, err := time.Parse(time.RFC3339, s); err != nil || len(s) > 35 || s < "0001" {
		return "a date and time such as 2026-01-31T14:05:00Z"
	}
	return ""
}

// moment is an answer that is a point in time.
func moment(b *block, n *node, c *cell) cel.Value {
	layout := time.RFC3339
	if n.kind.Day {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, b.string(c))
	if err != nil {
		return cel.Null
	}
	return cel.InstantValue(t.UTC())
}

// readDay reads a day as a device writes it: with a time where the form once had
// one.
func readDay(text string) (any, bool) {
	day, _, _ := strings.Cut(text, "T")
	return day, true
}

// readClock reads a time of day as a device writes it: with fractions and the
// offset from UTC, 14:05:30.000+03:00. The question asked for local time.
func readClock(text string) (any, bool) {
	if i := strings.IndexAny(text, ".+-Z"); i >= 0 {
		text = text[:i]
	}
	return text, true
}
