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
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
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

// earliest is the first plausible time of a reading: 2000-01-01. Clocks that
// were never set begin in 1970.
const earliest = 946684800000

// Batch is what a device sends.
type Batch struct {
	DeviceID string         `json:"deviceId,omitzero" doc:"DID of the device, as in the path."`
	StoveID  string         `json:"stoveId,omitzero" doc:"DID of the stove, as the device was registered."`
	Readings []ReadingDraft `json:"readings" required:"false" doc:"At most 5000, in any order."`
	Status   *StatusDraft   `json:"status,omitzero" doc:"How the device is."`
}

// ReadingDraft is a reading in a request. It has a temperature, the device's
// report, values, or several of them.
type ReadingDraft struct {
	Timestamp    string             `json:"timestamp" doc:"When it was measured (RFC 3339); kept to the millisecond." example:"2024-02-20T08:15:00Z"`
	Temperature  *float64           `json:"temperature,omitzero" doc:"°C, -50 to 1000." example:"85.4"`
	CookingEvent *bool              `json:"cookingEvent,omitzero" doc:"Whether the device itself reports cooking. This counts where there is no temperature; otherwise the temperature decides, and a contradiction is flagged."`
	Duration     *float64           `json:"duration,omitzero" doc:"Seconds of cooking up to then, as the device reports. It counts, up to a day, as far as no earlier reading contradicts it; alone it means cookingEvent true." example:"1800"`
	Values       map[string]float64 `json:"values,omitzero" doc:"Further channels, at most 16: name → number."`

	Contradiction bool `json:"contradiction,omitzero" doc:"Ignored: you may send back readings as you have read them here."`

	misfit []fault.Field // what was sent and does not fit, by pointers into the reading
}

// StatusDraft is the health that a device reports.
type StatusDraft struct {
	Battery  *float64 `json:"battery,omitzero" doc:"Percent." example:"92"`
	Signal   string   `json:"signal,omitzero" example:"strong"`
	LastSync string   `json:"lastSync,omitzero" doc:"When it last sent (RFC 3339); now when absent. A status that is older than the known one is ignored." example:"2024-02-20T08:20:00Z"`
}

// SchemaName is its name in the reference, beside DeviceHealth.
func (StatusDraft) SchemaName() string { return "DeviceHealthDraft" }

// extras are the members of a reading that are kept as text.
type extras struct {
	CookingEvent *bool              `json:"cookingEvent,omitzero"`
	Duration     *float64           `json:"duration,omitzero"`
	Values       map[string]float64 `json:"values,omitempty"`
}

// row is a reading as it is stored. Two rows are the same when everything but
// index is equal.
type row struct {
	at    int64
	temp  *float64
	data  string // extras in canonical form; "" when there are none
	index int    // place in the batch
}

func (r row) same(o row) bool {
	return r.at == o.at && r.data == o.data && (r.temp == nil) == (o.temp == nil) && (r.temp == nil || *r.temp == *o.temp)
}

// reading renders a row.
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

// sampleOf reads the device's report from its extras without the cost of
// decoding them: they are in canonical form, with their members in order.
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
	refused []refusal
	status  *status
}

// refusal is what is wrong with a reading of a batch.
type refusal struct {
	index  int
	fields []fault.Field
}

// check reads a batch. Wrong readings are refused and the others accepted,
// unless no reading is good or something else is wrong; then it names
// everything, in the first hundred readings.
func (b Batch) check(now time.Time) (*parcel, error) {
	var c fault.Checks
	switch {
	case len(b.Readings) == 0 && b.Status == nil:
		c.Require(false, "/readings")
	case len(b.Readings) > MaxReadings:
		c.Add("/readings", "too_many", "A batch has at most 5000 readings.")
		return nil, invalid(c)
	}
	p := gather(b.Readings, now)
	if b.Status != nil {
		p.status = b.Status.check(&c, now)
	}
	if c.OK() && (len(p.rows) > 0 || len(p.refused) == 0) {
		return p, nil
	}
	all := p.wrong()
	for _, f := range c.Fields() {
		all.Add(f.Pointer, f.Code, f.Detail)
	}
	return nil, invalid(all)
}

// wrong says what is wrong with the refused readings, the first hundred.
func (p *parcel) wrong() (c fault.Checks) {
	for _, r := range p.refused[:min(len(p.refused), maxNamed)] {
		for _, f := range r.fields {
			c.Add(f.Pointer, f.Code, f.Detail)
		}
	}
	return c
}

// nothing is the fault of a parcel without a good reading.
func (p *parcel) nothing() error { return invalid(p.wrong()) }

// gather sorts readings into those that are good and those that are refused.
func gather(readings []ReadingDraft, now time.Time) *parcel {
	p := &parcel{rows: make([]row, 0, len(readings))}
	for i, d := range readings {
		var bad fault.Checks
		r := d.check(&bad, readingAt(i), now)
		r.index = i
		if bad.OK() {
			p.rows = append(p.rows, r)
		} else {
			p.refused = append(p.refused, refusal{i, bad.Fields()})
		}
	}
	p.sort()
	return p
}

// readingAt is the place of a reading in a batch.
func readingAt(index int) string { return fmt.Sprintf("/readings/%d", index) }

func invalid(c fault.Checks) error {
	return c.Err("READINGS_INVALID", "The readings are not valid. Nothing was stored.")
}

// sort orders rows by time and removes repeats. If several rows for one time
// differ, all of them are refused, because none is more right than the others.
func (p *parcel) sort() {
	slices.SortStableFunc(p.rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	kept := p.rows[:0]
	for rest := p.rows; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].at == rest[0].at {
			n++
		}
		same := rest[:n]
		rest = rest[n:]
		if i := slices.IndexFunc(same, func(r row) bool { return !r.same(same[0]) }); i < 0 {
			p.repeats += n - 1
			kept = append(kept, same[0])
		} else {
			p.clash(same, i)
		}
	}
	p.rows = kept
	order.Sort(p.refused, func(a, b refusal) int { return cmp.Compare(a.index, b.index) })
}

// clash refuses readings for one time, of which the one at i differs from the
// first.
func (p *parcel) clash(same []row, i int) {
	for k, r := range same {
		other := same[0].index
		if k == 0 {
			other = same[i].index
		}
		p.refused = append(p.refused, refusal{r.index, []fault.Field{{
			Pointer: readingAt(r.index), Code: "conflict", Detail: fmt.Sprintf("The batch has another reading for this time, number %d.", other),
		}}})
	}
}

// plainReading is a ReadingDraft that is decoded as any other struct.
type plainReading ReadingDraft

// UnmarshalJSONFrom reads a reading. It only notes what does not fit: check
// reports it, so that the other readings are accepted.
func (d *ReadingDraft) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*d = ReadingDraft{}
	if err := json.Unmarshal(text, (*plainReading)(d), json.RejectUnknownMembers(true)); err == nil {
		return nil
	}
	*d = ReadingDraft{}
	f := fault.As(web.DecodeStrict(text, (*plainReading)(d), false))
	if f == nil || len(f.Fields) == 0 {
		d.misfit = []fault.Field{{Code: "wrong_type", Detail: "A reading is an object."}}
	} else {
		d.misfit = f.Fields
	}
	return nil
}

func (d ReadingDraft) check(c *fault.Checks, at string, now time.Time) row {
	r := row{at: checkTime(c, at+"/timestamp", d.Timestamp, now)}
	for _, f := range d.misfit {
		c.Add(at+f.Pointer, f.Code, f.Detail)
	}
	if len(d.misfit) > 0 {
		return r
	}
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
