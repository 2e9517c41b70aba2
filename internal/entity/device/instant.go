package device

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxRange is the longest range one request may look at.
const maxRange = 92 * 24 * time.Hour

// Instant is a moment in a query: a time, or a day of UTC.
type Instant struct {
	ms    int64
	given bool
	day   bool
}

// UnmarshalText reads 2024-02-20T08:15:00Z or 2024-02-20.
func (i *Instant) UnmarshalText(text []byte) error {
	if len(text) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, string(text))
		*i = Instant{ms: t.UnixMilli(), given: err == nil, day: true}
		return err
	}
	var t time.Time
	err := t.UnmarshalText(text)
	*i = Instant{ms: t.UnixMilli(), given: err == nil}
	return err
}

// Schema describes the instant in the API reference.
func (Instant) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// period is the part of a query that says from when to when.
type period struct {
	From Instant `query:"from" doc:"Beginning: a time (RFC 3339) or a day of UTC." example:"2024-02-01"`
	To   Instant `query:"to" doc:"End, not included: a time; or a day of UTC, which is included whole. Now when absent." example:"2024-02-28"`
}

// end is the moment a range ends with i: the end of the day, if it is one.
func (i Instant) end(otherwise time.Time) int64 {
	switch {
	case !i.given:
		return otherwise.UnixMilli()
	case i.day:
		return i.ms + dayMS
	}
	return i.ms
}

// bounds gives the period in ms. It is of the given length when its beginning
// is left out, and at most 92 days long.
func (p period) bounds(c *fault.Checks, now time.Time, usual time.Duration) (from, to int64) {
	to = p.To.end(now)
	from = to - usual.Milliseconds()
	if p.From.given {
		from = p.From.ms
	}
	switch {
	case to <= from:
		c.Add("query/to", "out_of_range", "The end must be after the beginning.")
	case to-from > maxRange.Milliseconds():
		c.Add("query/to", "out_of_range", "The range is at most 92 days.")
	}
	return from, to
}

// Decimal is a number in a query that need not be there.
type Decimal struct {
	value float64
	given bool
}

// UnmarshalText reads the number.
func (d *Decimal) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(string(text), "xX_")) {
		err = strconv.ErrSyntax
	}
	*d = Decimal{value: v, given: err == nil}
	return err
}

// Schema describes the number in the API reference.
func (Decimal) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// in returns the number, or otherwise when it was not given. It notes a number
// outside least to most.
func (d Decimal) in(c *fault.Checks, pointer string, least, most, otherwise float64) float64 {
	if !d.given {
		return otherwise
	}
	if d.value < least || d.value > most {
		c.Add(pointer, "out_of_range", "The value must be "+strconv.FormatFloat(least, 'f', -1, 64)+" to "+strconv.FormatFloat(most, 'f', -1, 64)+".")
	}
	return d.value
}

// open gives the period in ms; what is left out is not bounded.
func (p period) open(c *fault.Checks) (from, to int64) {
	from, to = earliest, latest()
	if p.From.given {
		from = p.From.ms
	}
	if p.To.given {
		to = p.To.end(time.Time{})
	}
	if to <= from {
		c.Add("query/to", "out_of_range", "The end must be after the beginning.")
	}
	return from, to
}
