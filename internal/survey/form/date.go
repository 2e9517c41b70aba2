package form

import (
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
	},
	{
		Type: Time, Members: Members{NoAnswer: true}, Clock: true,
		CEL: cel.Text, read: (*answering).string, want: wantTime, value: written, Parse: parseText,
		XLSForm: XLSForm{Word: "time", Reads: []string{"time"}},
	},
	{
		Type: DateTime, Members: Members{NoAnswer: true},
		CEL: cel.Instant, read: (*answering).string, want: wantDateTime, value: moment, Parse: parseText,
		XLSForm: XLSForm{Word: "dateTime", Reads: []string{"dateTime"}},
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
