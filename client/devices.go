package client

import (
	"context"
	"io"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const devicesPath = "/v1/devices"

// Devices are the monitors and stoves of a cooking programme. They are twins:
// Entities changes them, links them and reads their history.
type Devices struct{ c *Client }

func devicePath(did string) string { return devicesPath + "/" + url.PathEscape(did) }

// Device is a device.
type Device struct {
	DID           string              `json:"did"`
	Type          string              `json:"type"`
	HouseholdID   string              `json:"householdId,omitzero"`
	StoveID       string              `json:"stoveId,omitzero"`
	Configuration DeviceConfiguration `json:"configuration"`
	Serial        string              `json:"serial,omitzero"`
	Name          string              `json:"name,omitzero"`
	Protocol      string              `json:"protocol"`
	Project       string              `json:"project,omitzero"`
	ExternalIDs   map[string]string   `json:"externalIds,omitzero"`
	Status        string              `json:"status"`
	Revision      int64               `json:"revision"`
	Created       time.Time           `json:"created"`
	Updated       time.Time           `json:"updated"`
	Links         DeviceLinks         `json:"links"`
	Withheld      []string            `json:"withheld,omitzero"` // personal properties it has that the key may not see
}

// DeviceConfiguration is how a device measures. The first two members are
// required in a draft.
type DeviceConfiguration struct {
	SamplingRate         int64   `json:"samplingRate"`              // seconds between two readings
	TemperatureThreshold float64 `json:"temperatureThreshold"`      // °C from which on it is cooking
	TransmissionMode     string  `json:"transmissionMode,omitzero"` // realtime (the default), batch or manual
	MinimumDuration      int64   `json:"minimumDuration,omitzero"`  // seconds of the shortest cooking event
}

// Types of package api.
type (
	DeviceLinks       = api.DeviceLinks
	Reading           = api.Reading
	ReadingOutcome    = api.ReadingOutcome
	ReadingConflict   = api.ReadingConflict
	ReadingRefusal    = api.ReadingRefusal
	ReadingCorrection = api.ReadingCorrection
	CorrectionOutcome = api.CorrectionOutcome
	ReadingGap        = api.ReadingGap
	CookingEvent      = api.CookingEvent
	Usage             = api.Usage
	DeviceStatus      = api.DeviceStatus
	Completeness      = api.Completeness
)

// DeviceDraft asks for a device. Type is required.
type DeviceDraft struct {
	DID           string               `json:"did,omitzero"`
	Type          string               `json:"type"`                   // such as StoveUseMonitor
	HouseholdID   string               `json:"householdId,omitzero"`   // it need not be held by the server
	StoveID       string               `json:"stoveId,omitzero"`       // it need not be held by the server
	Project       string               `json:"project,omitzero"`       //
	Configuration *DeviceConfiguration `json:"configuration,omitzero"` // every 300 s, 60 °C, realtime when absent
	Serial        string               `json:"serial,omitzero"`        // unique in the workspace
	Name          string               `json:"name,omitzero"`
	Protocol      string               `json:"protocol,omitzero"`
	Properties    Object               `json:"properties,omitzero"`
	ExternalIDs   map[string]string    `json:"externalIds,omitzero"`
	Controllers   []string             `json:"controllers,omitzero"`
	Metadata      Object               `json:"metadata,omitzero"`
}

// Create registers a device. The same registration again returns the existing device; a
// different one under a serial number that is taken is refused. Codes: ENTITY_INVALID,
// DEVICE_DATA_CONFLICT.
func (d Devices) Create(ctx context.Context, draft DeviceDraft, opts ...Option) (*Device, error) {
	return do[Device](ctx, d.c, post(devicesPath, draft), opts)
}

// Get reads a device. Code: ENTITY_NOT_FOUND.
func (d Devices) Get(ctx context.Context, did string, opts ...Option) (*Device, error) {
	return do[Device](ctx, d.c, get(devicePath(did), nil), opts)
}

// DeviceQuery asks for devices: those of a household, or all of a type.
type DeviceQuery struct {
	HouseholdID string
	Type        string // StoveUseMonitor when no household is given
	Limit       int    // items in one page, 1 to 1000; 50 by default
	Cursor      string // NextCursor of the page before
}

func (q DeviceQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "householdId", q.HouseholdID)
	set(v, "type", q.Type)
	return v
}

// Page reads one page of devices, newest first.
func (d Devices) Page(ctx context.Context, q DeviceQuery, opts ...Option) (*Page[Device], error) {
	return page[Device](ctx, d.c, devicesPath, q.values(), opts)
}

// List walks over devices, newest first. An error ends it.
func (d Devices) List(ctx context.Context, q DeviceQuery, opts ...Option) iter.Seq2[Device, error] {
	return pages[Device](ctx, d.c, devicesPath, q.values(), opts)
}

// ReadingBatch is what a device sends: at most 5000 readings, in any order.
type ReadingBatch struct {
	DeviceID string        `json:"deviceId,omitzero"`
	StoveID  string        `json:"stoveId,omitzero"`
	Readings []Reading     `json:"readings"`
	Status   *DeviceReport `json:"status,omitzero"`
}

// DeviceReport is the health that a device reports.
type DeviceReport struct {
	Battery  *float64  `json:"battery,omitzero"` // percent
	Signal   string    `json:"signal,omitzero"`
	LastSync time.Time `json:"lastSync,omitzero"`
}

// Add stores the good readings of a batch and names the invalid ones in Refused;
// when none is good it returns an error. Readings that are stored already are
// counted as duplicates. Codes: READINGS_INVALID, DEVICE_DATA_CONFLICT,
// DEVICE_DEACTIVATED.
func (d Devices) Add(ctx context.Context, did string, b ReadingBatch, opts ...Option) (*ReadingOutcome, error) {
	return do[ReadingOutcome](ctx, d.c, post(devicePath(did)+"/readings", b), opts)
}

// AddNew is Add, but leaves out readings that differ from stored ones.
func (d Devices) AddNew(ctx context.Context, did string, b ReadingBatch, opts ...Option) (*ReadingOutcome, error) {
	k := post(devicePath(did)+"/readings", b)
	k.query = url.Values{"onConflict": {"skip"}}
	return do[ReadingOutcome](ctx, d.c, k, opts)
}

// AddCSV stores the readings of a table with the columns timestamp, temperature,
// cookingEvent, duration and values.name, at most 100,000. Rows that are invalid
// or differ from what is stored are left out and named by their line.
func (d Devices) AddCSV(ctx context.Context, did string, table io.Reader, opts ...Option) (*ReadingOutcome, error) {
	raw, err := readFile(table)
	if err != nil {
		return nil, err
	}
	k := post(devicePath(did)+"/readings/file", raw)
	k.media, k.keyed, k.safe, k.long = "text/csv", false, true, true
	return do[ReadingOutcome](ctx, d.c, k, opts)
}

// CorrectionDraft says which readings are wrong, and why. Readings replace
// those of the same time; Withdraw removes those of a range.
type CorrectionDraft struct {
	Reason   string        `json:"reason"`
	Readings []Reading     `json:"readings,omitzero"`
	Withdraw *ReadingRange `json:"withdraw,omitzero"`
}

// ReadingRange is a time whose readings are removed; To is not included.
type ReadingRange struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Correct corrects and withdraws readings, at most 1000 in one step. Codes:
// CORRECTION_INVALID, DEVICE_DEACTIVATED.
func (d Devices) Correct(ctx context.Context, did string, c CorrectionDraft, opts ...Option) (*CorrectionOutcome, error) {
	return do[CorrectionOutcome](ctx, d.c, post(devicePath(did)+"/corrections", c), opts)
}

// Corrections walks over what was corrected in the readings of a device, in the
// order of their times. An error ends it.
func (d Devices) Corrections(ctx context.Context, did string, q PageQuery, opts ...Option) iter.Seq2[ReadingCorrection, error] {
	return pages[ReadingCorrection](ctx, d.c, devicePath(did)+"/corrections", q.values(), opts)
}

// ReadingQuery asks for readings, or for gaps between them. Without times it
// covers all readings, and the gaps of the last 7 days.
type ReadingQuery struct {
	From   time.Time
	To     time.Time // not included
	Limit  int       // items in one page, 1 to 1000; 50 by default
	Cursor string    // NextCursor of the page before
}

func (q ReadingQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	return v
}

// ReadingPage reads one page of the readings of a device, oldest first.
func (d Devices) ReadingPage(ctx context.Context, did string, q ReadingQuery, opts ...Option) (*Page[Reading], error) {
	return page[Reading](ctx, d.c, devicePath(did)+"/readings", q.values(), opts)
}

// Readings walks over the readings of a device, oldest first. An error ends
// it.
func (d Devices) Readings(ctx context.Context, did string, q ReadingQuery, opts ...Option) iter.Seq2[Reading, error] {
	return pages[Reading](ctx, d.c, devicePath(did)+"/readings", q.values(), opts)
}

// GapPage reads one page of the gaps in the readings of a device.
func (d Devices) GapPage(ctx context.Context, did string, q ReadingQuery, opts ...Option) (*Page[ReadingGap], error) {
	return page[ReadingGap](ctx, d.c, devicePath(did)+"/gaps", q.values(), opts)
}

// Gaps walks over the gaps in the readings of a device. An error ends it.
func (d Devices) Gaps(ctx context.Context, did string, q ReadingQuery, opts ...Option) iter.Seq2[ReadingGap, error] {
	return pages[ReadingGap](ctx, d.c, devicePath(did)+"/gaps", q.values(), opts)
}

// CookingQuery asks for cooking events. The zero value means the last 7 days
// and the settings of the device.
type CookingQuery struct {
	From       time.Time
	To         time.Time // not included; at most 92 days after From
	MinSeconds *int64    // shortest event
	Threshold  *float64  // °C from which on it is cooking
	Limit      int       // items in one page, 1 to 1000; 50 by default
	Cursor     string    // NextCursor of the page before
}

func (q CookingQuery) values() url.Values {
	v := ReadingQuery{q.From, q.To, q.Limit, q.Cursor}.values()
	setOptional(v, "minDuration", q.MinSeconds)
	setOptional(v, "threshold", q.Threshold)
	return v
}

// EventPage reads one page of the cooking events of a device.
func (d Devices) EventPage(ctx context.Context, did string, q CookingQuery, opts ...Option) (*Page[CookingEvent], error) {
	return page[CookingEvent](ctx, d.c, devicePath(did)+"/events", q.values(), opts)
}

// Events walks over the cooking events of a device. An error ends it.
func (d Devices) Events(ctx context.Context, did string, q CookingQuery, opts ...Option) iter.Seq2[CookingEvent, error] {
	return pages[CookingEvent](ctx, d.c, devicePath(did)+"/events", q.values(), opts)
}

// Usage walks over the use of a project's stoves, by day and device: the last 30
// days without times. An error ends it.
func (d Devices) Usage(ctx context.Context, project string, q ReadingQuery, opts ...Option) iter.Seq2[Usage, error] {
	return pages[Usage](ctx, d.c, "/v1/projects/"+url.PathEscape(project)+"/usage", q.values(), opts)
}

// Status reads the health of a device.
func (d Devices) Status(ctx context.Context, did string, opts ...Option) (*DeviceStatus, error) {
	return do[DeviceStatus](ctx, d.c, get(devicePath(did)+"/status", nil), opts)
}
