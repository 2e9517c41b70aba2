package device

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxRange is the longest range one request may cover.
const maxRange = 92 * 24 * time.Hour

// Instant is a moment in a query: a time, or a day of UTC.
type Instant struct {
	ms    int64
	given bool
	day   bool
	wrong bool // what was given is no moment
}

// UnmarshalText reads 2024-02-20T08:15:00Z or 2024-02-20. It only notes
// anything else: the code that uses the period reports it with all other
// mistakes.
func (i *Instant) UnmarshalText(text []byte) error {
	if len(text) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, string(text))
		*i = Instant{ms: t.UnixMilli(), given: err == nil, day: true, wrong: err != nil}
		return nil
	}
	var t time.Time
	err := t.UnmarshalText(text)
	*i = Instant{ms: t.UnixMilli(), given: err == nil, wrong: err != nil}
	return nil
}

// Schema describes the instant in the API reference.
func (Instant) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// period is the range of a query; both bounds are optional.
type period struct {
	From Instant `query:"from" doc:"Beginning: a time (RFC 3339) or a day of UTC. The first reading when absent." example:"2024-02-01"`
	To   Instant `query:"to" doc:"End, not included: a time; or a day of UTC, which is included whole. The last reading when absent." example:"2024-02-28"`
}

// week is a period of 7 days by default, month one of 30.
type week struct {
	From Instant `query:"from" doc:"Beginning: a time (RFC 3339) or a day of UTC. 7 days before the end when absent; at most 92 days before it." example:"2024-02-01"`
	To   Instant `query:"to" doc:"End, not included: a time; or a day of UTC, which is included whole. Now when absent." example:"2024-02-28"`
}

type month struct {
	From Instant `query:"from" doc:"Beginning: a time (RFC 3339) or a day of UTC. 30 days before the end when absent; at most 92 days before it." example:"2024-02-01"`
	To   Instant `query:"to" doc:"End, not included: a time; or a day of UTC, which is included whole. Now when absent." example:"2024-02-28"`
}

func (w week) bounds(c *fault.Checks, now time.Time) (from, to int64) {
	return period(w).bounds(c, now, usualWeek)
}

func (m month) bounds(c *fault.Checks, now time.Time) (from, to int64) {
	return period(m).bounds(c, now, 30*24*time.Hour)
}

const usualWeek = 7 * 24 * time.Hour

// Within is a page of a list over a range of time.
type Within[T any] struct {
	From time.Time `json:"from" doc:"Beginning of the range that was searched, as requested or by default."`
	To   time.Time `json:"to" doc:"Its end, not included."`
	web.Page[T]
}

// within adds the range to a page that ends where the cursor says. A default
// beginning is relative to that end, because the clock has moved on since the
// first page.
func within[T any](w week, to int64, p web.Reply[web.Page[T]]) web.Reply[Within[T]] {
	from := to - usualWeek.Milliseconds()
	if w.From.given {
		from = w.From.ms
	}
	return web.Reply[Within[T]]{Value: Within[T]{From: moment(from), To: moment(to), Page: p.Value}, Link: p.Link}
}

// wrong names texts that are not moments, and reports whether there were any.
func (p period) wrong(c *fault.Checks) bool {
	const detail = "The value is a time such as 2024-02-20T08:15:00Z, or a day such as 2024-02-20."
	if p.From.wrong {
		c.Add("query/from", "invalid", detail)
	}
	if p.To.wrong {
		c.Add("query/to", "invalid", detail)
	}
	return p.From.wrong || p.To.wrong
}

// end is the moment at which a range that is given by i ends: the end of the
// day, if it is a day.
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
	case p.wrong(c):
	case to <= from:
		c.Add("query/to", "out_of_range", "The end must be after the beginning.")
	case to-from > maxRange.Milliseconds():
		c.Add("query/to", "out_of_range", "The range is at most 92 days.")
	}
	return from, to
}

// Decimal is an optional number in a query.
type Decimal struct {
	value float64
	given bool
	wrong bool // what was given is no number
}

// UnmarshalText reads the number. It only notes anything else: in reports it
// with all other mistakes.
func (d *Decimal) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(string(text), "xX_")) {
		err = strconv.ErrSyntax
	}
	*d = Decimal{value: v, given: true, wrong: err != nil}
	return nil
}

// Schema describes the number in the API reference.
func (Decimal) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeNumber} }

// in returns the number, or otherwise when it was not given. It reports a
// number outside least to most.
func (d Decimal) in(c *fault.Checks, pointer string, least, most, otherwise float64) float64 {
	if !d.given {
		return otherwise
	}
	if d.wrong {
		c.Add(pointer, "invalid", "The value must be a number.")
	} else if d.value < least || d.value > most {
		c.Add(pointer, "out_of_range", "The value must be "+strconv.FormatFloat(least, 'f', -1, 64)+" to "+strconv.FormatFloat(most, 'f', -1, 64)+".")
	}
	return d.value
}

// open returns the period in ms; a missing bound means no bound.
func (p period) open(c *fault.Checks) (from, to int64) {
	from, to = earliest, latest()
	if p.From.given {
		from = p.From.ms
	}
	if p.To.given {
		to = p.To.end(time.Time{})
	}
	if !p.wrong(c) && to <= from {
		c.Add("query/to", "out_of_range", "The end must be after the beginning.")
	}
	return from, to
}
