package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Event is a gateway's notification that a session is over. It leaves out what
// the customer typed and saw, which may include a PIN.
type Event struct {
	Gateway     string
	SessionID   string
	Phone       string // "" when the gateway does not say
	ServiceCode string
	Network     string
	Status      string
	Cost        string // with its currency, as the gateway writes it
	Duration    time.Duration
	Hops        int
	Error       string
	At          string // as the gateway writes it
}

// maxNote is the most a field of a notification may have, in code points.
const maxNote = 200

// events is a compiled eventSpec.
type events struct {
	formats []format
	names   map[string]int
	at      eventPlaces
}

type eventPlaces struct {
	session, phone, code, network, status, cost, millis, hops, err, when []int
}

func (c *checker) events(s eventSpec) *events {
	e := &events{names: map[string]int{}, formats: c.formats("events.format", s.Format)}
	c.need("events.session", s.Session)
	c.need("events.status", s.Status)
	for _, f := range []struct {
		to   *[]int
		path string
		list words
	}{
		{&e.at.session, "events.session", s.Session},
		{&e.at.phone, "events.phone", s.Phone},
		{&e.at.code, "events.code", s.Code},
		{&e.at.network, "events.network", s.Network},
		{&e.at.status, "events.status", s.Status},
		{&e.at.cost, "events.cost", s.Cost},
		{&e.at.millis, "events.millis", s.Millis},
		{&e.at.hops, "events.hops", s.Hops},
		{&e.at.err, "events.error", s.Error},
		{&e.at.when, "events.at", s.At},
	} {
		*f.to = c.fields(e.names, f.path, f.list)
	}
	return e
}

// ReadEvent reads a notification of the end of a session. A gateway that sends
// none, and every problem, is a fault of kind Invalid.
func ReadEvent(r *http.Request, body []byte, g *Gateway) (Event, error) {
	if g == nil || g.events == nil {
		return Event{}, refuse("gateway", "events")
	}
	v, err := readValues(r, body, g.events.formats, g.events.names)
	if err != nil {
		return Event{}, err
	}
	at := g.events.at
	e := Event{Gateway: g.Name}
	for _, f := range []struct {
		to   *string
		name string
		at   []int
	}{
		{&e.SessionID, "sessionId", at.session},
		{&e.ServiceCode, "serviceCode", at.code},
		{&e.Network, "networkCode", at.network},
		{&e.Status, "status", at.status},
		{&e.Cost, "cost", at.cost},
		{&e.Error, "errorMessage", at.err},
		{&e.At, "date", at.when},
	} {
		s, _ := v.first(f.at)
		var ok bool
		if *f.to, ok = clean(s, maxNote); !ok {
			return Event{}, refuse(f.name, "characters")
		}
	}
	if e.SessionID == "" || e.Status == "" {
		return Event{}, refuse("sessionId", "required")
	}
	if _, ok := v.first(at.phone); ok {
		if e.Phone, err = g.numberOf(v); err != nil {
			return Event{}, err
		}
	}
	e.Duration = time.Duration(wholeNumber(v, at.millis)) * time.Millisecond
	e.Hops = int(wholeNumber(v, at.hops))
	return e, nil
}

// numberOf is the phone number of a notification, as requests have it.
func (g *Gateway) numberOf(v *values) (string, error) {
	q := request{phone: g.events.at.phone}
	if g.request != nil {
		q.numbers = g.request.numbers
	}
	return q.number(v)
}

// wholeNumber is 0 for a value that is not a number, is negative or exceeds a
// day in milliseconds, so that one wrong figure does not lose the rest.
func wholeNumber(v *values, at []int) int64 {
	const most = 24 * 60 * 60 * 1000
	s, _ := v.first(at)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0
	}
	return n
}
