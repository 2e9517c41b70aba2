package device

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Bounds of a batch.
const (
	MaxReadings = 5000    // of a batch
	maxBatch    = 4 << 20 // bytes of the body
	maxChannels = 16
	maxChannel  = 64   // characters of the name of a channel
	maxNumber   = 1e15 // of a channel
	maxDuration = 31_622_400
	maxSignal   = 40
	maxNamed    = 100 // wrong readings that are named in one answer
	maxAhead    = 5 * time.Minute
)

// earliest is the first moment a reading is believed: 2000-01-01. Clocks that
// were never set begin in 1970.
const earliest = 946684800000

// Batch is what a device sends.
type Batch struct {
	DeviceID string         `json:"deviceId,omitzero" doc:"DID of the device, as in the path."`
	StoveID  string         `json:"stoveId,omitzero" doc:"DID of the stove, as the device was registered."`
	Readings []ReadingDraft `json:"readings" required:"false" doc:"At most 5000, in any order."`
	Status   *StatusDraft   `json:"status,omitzero" doc:"How the device is."`
}

// ReadingDraft is a reading in a request. It has a temperature, the word of the
// device, values, or several of them.
type ReadingDraft struct {
	Timestamp    string             `json:"timestamp" doc:"When it was measured (RFC 3339); kept to the millisecond." example:"2024-02-20T08:15:00Z"`
	Temperature  *float64           `json:"temperature,omitzero" doc:"°C, -50 to 1000." example:"85.4"`
	CookingEvent *bool              `json:"cookingEvent,omitzero" doc:"Whether the device itself takes it for cooking. It counts where there is no temperature; where there is one that decides, and a contradiction is flagged."`
	Duration     *float64           `json:"duration,omitzero" doc:"Seconds the device says it has been cooking until then. It counts, up to a day, as far as no reading before says otherwise; alone it stands for cookingEvent true." example:"1800"`
	Values       map[string]float64 `json:"values,omitzero" doc:"Further channels, at most 16: name → number."`
}

// StatusDraft is how a device says it is.
type StatusDraft struct {
	Battery  *float64 `json:"battery,omitzero" doc:"Percent." example:"92"`
	Signal   string   `json:"signal,omitzero" example:"strong"`
	LastSync string   `json:"lastSync,omitzero" doc:"When it last sent (RFC 3339); now when absent. A status that is older than the one known is passed over." example:"2024-02-20T08:20:00Z"`
}

// extras are the members of a reading that are kept as text.
type extras struct {
	CookingEvent *bool              `json:"cookingEvent,omitzero"`
	Duration     *float64           `json:"duration,omitzero"`
	Values       map[string]float64 `json:"values,omitempty"`
}

// row is a reading as it is stored. Two are the same when all but index is.
type row struct {
	at    int64
	temp  *float64
	data  string // extras in canonical form; "" when there are none
	index int    // place in the batch
}

func (r row) same(o row) bool {
	return r.at == o.at && r.data == o.data && (r.temp == nil) == (o.temp == nil) && (r.temp == nil || *r.temp == *o.temp)
}

// reading shows a row.
func (r row) reading() (Reading, error) {
	out := Reading{Timestamp: moment(r.at), Temperature: r.temp}
	if r.data == "" {
		return out, nil
	}
	var x extras
	if err := json.Unmarshal([]byte(r.data), &x); err != nil {
		return out, fmt.Errorf("decode reading: %w", err)
	}
	out.CookingEvent, out.Duration, out.Values = x.CookingEvent, x.Duration, x.Values
	return out, nil
}

// sample is what a row says about cooking.
func (r row) sample() sample {
	s := sampleOf(r.at, r.data)
	if r.temp != nil {
		s.temp, s.measured = *r.temp, true
	}
	return s
}

// speaks reports whether a sample says anything about cooking.
func (s sample) speaks() bool { return s.measured || s.said != silent }

// sampleOf reads the word of the device off its extras, without the cost of
// decoding them: they are in canonical form, in the order of their members.
func sampleOf(at int64, data string) sample {
	s := sample{at: at}
	rest, ok := strings.CutPrefix(data, "{")
	if !ok {
		return s
	}
	if after, ok := strings.CutPrefix(rest, `"cookingEvent":true`); ok {
		s.said, rest = cooks, strings.TrimPrefix(after, ",")
	} else if strings.HasPrefix(rest, `"cookingEvent":`) {
		s.said = rests
		return s
	}
	text, ok := strings.CutPrefix(rest, `"duration":`)
	if !ok {
		return s
	}
	if end := strings.IndexAny(text, ",}"); end >= 0 {
		text = text[:end]
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || seconds <= 0 {
		return s
	}
	s.said, s.length = cooks, int64(min(seconds*1000, float64(maxFollow.Milliseconds())))
	return s
}

// status is a status as it is stored.
type status struct {
	battery  *float64
	signal   string
	lastSync int64 // 0: none
	received int64 // when a batch last came
}

// parcel is a checked batch: rows in the order of time, each time once.
type parcel struct {
	rows    []row
	repeats int // readings that were in the batch twice
	status  *status
}

// check reads a batch. Wrong readings are named, the first hundred of them.
func (b Batch) check(now time.Time) (*parcel, error) {
	var c fault.Checks
	switch {
	case len(b.Readings) == 0 && b.Status == nil:
		c.Require(false, "/readings")
	case len(b.Readings) > MaxReadings:
		c.Add("/readings", "too_many", "A batch has at most 5000 readings.")
		return nil, invalid(c)
	}
	p := &parcel{rows: make([]row, 0, len(b.Readings))}
	wrong := 0
	for i, d := range b.Readings {
		var bad fault.Checks
		r := d.check(&bad, fmt.Sprintf("/readings/%d", i), now)
		r.index = i
		if bad.OK() {
			p.rows = append(p.rows, r)
			continue
		}
		if wrong++; wrong <= maxNamed {
			for _, f := range bad.Fields() {
				c.Add(f.Pointer, f.Code, f.Detail)
			}
		}
	}
	if b.Status != nil {
		p.status = b.Status.check(&c, now)
	}
	p.sort(&c)
	if err := invalid(c); err != nil {
		return nil, err
	}
	return p, nil
}

func invalid(c fault.Checks) error {
	return c.Err("READINGS_INVALID", "The readings are not valid. Nothing was stored.")
}

// sort puts rows into the order of time and takes out repeats. Two that
// differ for one time are a mistake of the sender: neither is more right.
func (p *parcel) sort(c *fault.Checks) {
	slices.SortStableFunc(p.rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	kept := p.rows[:0]
	named := 0
	for _, r := range p.rows {
		n := len(kept)
		switch {
		case n == 0 || kept[n-1].at != r.at:
			kept = append(kept, r)
		case kept[n-1].same(r):
			p.repeats++
		case named < maxNamed:
			named++
			c.Add(fmt.Sprintf("/readings/%d", r.index), "conflict", fmt.Sprintf("The batch has another reading for this time, number %d.", kept[n-1].index))
		}
	}
	p.rows = kept
}

func (d ReadingDraft) check(c *fault.Checks, at string, now time.Time) row {
	r := row{at: checkTime(c, at+"/timestamp", d.Timestamp, now)}
	if d.Timestamp == "" {
		c.Require(false, at+"/timestamp")
	}
	if d.Temperature == nil && d.CookingEvent == nil && d.Duration == nil && len(d.Values) == 0 {
		c.Add(at, "required", "A reading has a temperature, cookingEvent, duration or values.")
	}
	if d.Temperature != nil {
		t := *d.Temperature + 0 // -0 is 0
		if r.temp = &t; !warm(t) {
			c.Add(at+"/temperature", "out_of_range", "The temperature is -50 to 1000 °C.")
		}
	}
	if d.Duration != nil && !(*d.Duration >= 0 && *d.Duration <= maxDuration) {
		c.Add(at+"/duration", "out_of_range", "The duration is 0 to 31622400 seconds.")
	}
	checkValues(c, at+"/values", d.Values)
	r.data = d.extras(c, at)
	return r
}

func (d ReadingDraft) extras(c *fault.Checks, at string) string {
	if d.CookingEvent == nil && d.Duration == nil && len(d.Values) == 0 {
		return ""
	}
	text, err := json.Marshal(extras{d.CookingEvent, d.Duration, d.Values}, json.Deterministic(true))
	if err != nil {
		c.Add(at, "invalid", "The reading cannot be stored.")
	}
	return string(text)
}

func checkValues(c *fault.Checks, at string, values map[string]float64) {
	if len(values) > maxChannels {
		c.Add(at, "too_many", "A reading has at most 16 channels.")
		return
	}
	for name, v := range values {
		if !channel(name) {
			c.Add(at, "invalid", "The name of a channel is a letter and up to 63 letters, digits, dots, dashes or underscores.")
		} else if math.Abs(v) > maxNumber {
			c.Add(at+"/"+name, "out_of_range", "The value is too large.")
		}
		if v == 0 {
			values[name] = 0 // -0 is 0
		}
	}
}

func channel(name string) bool {
	if name == "" || len(name) > maxChannel || strings.IndexByte("0123456789._-", name[0]) >= 0 {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

// checkTime reads a moment in ms; "" is 0.
func checkTime(c *fault.Checks, pointer, text string, now time.Time) int64 {
	if text == "" {
		return 0
	}
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		c.Add(pointer, "invalid", "The time is not of the form 2024-02-20T08:15:00Z.")
		return 0
	}
	ms := t.UnixMilli()
	if ms < earliest {
		c.Add(pointer, "out_of_range", "The time is before the year 2000.")
	}
	if ms > now.Add(maxAhead).UnixMilli() {
		c.Add(pointer, "out_of_range", "The time is more than five minutes in the future.")
	}
	return ms
}

func (d StatusDraft) check(c *fault.Checks, now time.Time) *status {
	s := &status{battery: d.Battery, signal: d.Signal, lastSync: checkTime(c, "/status/lastSync", d.LastSync, now)}
	if d.Battery != nil && !(*d.Battery >= 0 && *d.Battery <= 100) {
		c.Add("/status/battery", "out_of_range", "The battery is 0 to 100 percent.")
	}
	check.Short(c, "/status/signal", d.Signal, maxSignal)
	if s.lastSync == 0 {
		s.lastSync = now.UnixMilli()
	}
	return s
}
