// Package device is the households of a cooking programme, the monitors on their stoves,
// and what those measure. Households and devices are twins like any other, made through
// the entity package; here they get the words of the documented API, their readings, and
// what readings show: gaps, cooking events, and stoves used at once.
//
// It promises that a reading is stored once however often it is sent; that the good
// readings of a batch are stored together or not at all, and the others named; that a
// second, different reading for the same time is refused, naming both; and that figures
// derived from readings depend only on the readings and on where their device was: not on
// the order, the batches or the pages they came in. Of the derived data only the figures
// of a day are stored; they are remade when readings change or move.
//
// It does not judge how much fuel was saved: that is an analysis over several areas.
package device

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The protocols of the twins made here, unless a draft names another.
const (
	monitorProtocol   = "did:ixo:protocol/stove-use-monitor"
	applianceProtocol = "did:ixo:protocol/clean-cooking"
)

// Names of the documented API, and of the roles between the twins.
const (
	monitorType   = "StoveUseMonitor"
	householdRole = "household"
	stoveRole     = "stove"
	projectRole   = "project"
	serialScheme  = "serial"
)

// Bounds of a configuration and of temperatures.
const (
	maxSampling    = 86_400 // s; a reading a day
	maxMinDuration = 86_400 // s
	minTemperature = -50    // °C
	maxTemperature = 1000   // °C
	maxWord        = 100    // characters of a serial number
	maxName        = 200
)

// Configuration is how a device measures.
type Configuration struct {
	SamplingRate         int64   `json:"samplingRate" doc:"Seconds between two readings." example:"300"`
	TemperatureThreshold float64 `json:"temperatureThreshold" doc:"Temperature in °C from which on it is cooking." example:"60"`
	TransmissionMode     string  `json:"transmissionMode" enum:"realtime,batch,manual"`
	MinimumDuration      int64   `json:"minimumDuration" doc:"Shortest cooking event, in seconds." example:"300"`
}

// standard is the configuration of a device that came without one.
func standard() Configuration {
	return Configuration{SamplingRate: 300, TemperatureThreshold: 60, TransmissionMode: "realtime", MinimumDuration: 300}
}

func transmissionModes() []string { return []string{"realtime", "batch", "manual"} }

func (c Configuration) interval() time.Duration { return time.Duration(c.SamplingRate) * time.Second }

// rules returns the cooking rules of the configuration.
func (c Configuration) rules() Rules {
	return Rules{Threshold: c.TemperatureThreshold, MinDuration: time.Duration(c.MinimumDuration) * time.Second, Interval: c.interval()}
}

// ConfigurationDraft is the configuration in a request. Its first two members
// are required, because they define what counts as cooking.
type ConfigurationDraft struct {
	SamplingRate         *int64   `json:"samplingRate" doc:"Seconds between two readings: 1 to 86,400; required in a configuration." example:"300"`
	TemperatureThreshold *float64 `json:"temperatureThreshold" doc:"Temperature in °C from which on it is cooking: -50 to 1000; required in a configuration." example:"60"`
	TransmissionMode     *string  `json:"transmissionMode,omitzero" enum:"realtime,batch,manual" doc:"How readings arrive; realtime when absent."`
	MinimumDuration      *int64   `json:"minimumDuration,omitzero" doc:"Shortest cooking event, in seconds; 300 when absent."`
}

func (d *ConfigurationDraft) check(c *fault.Checks) Configuration {
	out := standard()
	if d == nil {
		return out
	}
	c.Require(d.SamplingRate != nil, "/configuration/samplingRate")
	c.Require(d.TemperatureThreshold != nil, "/configuration/temperatureThreshold")
	if d.SamplingRate != nil {
		if out.SamplingRate = *d.SamplingRate; out.SamplingRate < 1 || out.SamplingRate > maxSampling {
			c.Add("/configuration/samplingRate", "out_of_range", "The sampling rate is 1 to 86400 seconds.")
		}
	}
	if d.TemperatureThreshold != nil {
		if out.TemperatureThreshold = *d.TemperatureThreshold; !warm(out.TemperatureThreshold) {
			c.Add("/configuration/temperatureThreshold", "out_of_range", "The threshold is -50 to 1000 °C.")
		}
	}
	if d.TransmissionMode != nil {
		if out.TransmissionMode = *d.TransmissionMode; !slices.Contains(transmissionModes(), out.TransmissionMode) {
			c.Add("/configuration/transmissionMode", "invalid", "The mode is realtime, batch or manual.")
		}
	}
	if d.MinimumDuration != nil {
		if out.MinimumDuration = *d.MinimumDuration; out.MinimumDuration < 0 || out.MinimumDuration > maxMinDuration {
			c.Add("/configuration/minimumDuration", "out_of_range", "The shortest duration is 0 to 86400 seconds.")
		}
	}
	return out
}

func warm(t float64) bool { return t >= minTemperature && t <= maxTemperature }

// Draft describes a device to register.
type Draft struct {
	DID           string              `json:"did,omitzero" doc:"DID of the device; made when absent."`
	Type          string              `json:"type" doc:"StoveUseMonitor, or any other type of device." example:"StoveUseMonitor"`
	HouseholdID   string              `json:"householdId,omitzero" doc:"DID of the household. It need not be held here." example:"did:ixo:household/123"`
	StoveID       string              `json:"stoveId,omitzero" doc:"DID of the stove it is fixed to. It need not be held here." example:"did:ixo:stove/456"`
	Project       string              `json:"project,omitzero" doc:"DID of the project."`
	Configuration *ConfigurationDraft `json:"configuration,omitzero" doc:"How it measures. By default every 300 s, cooking from 60 °C on, realtime."`
	Serial        string              `json:"serial,omitzero" doc:"Serial number, unique in the workspace; kept as externalIds.serial."`
	Name          string              `json:"name,omitzero"`
	Protocol      string              `json:"protocol,omitzero" doc:"DID of the protocol; when absent, the one for stove-use monitors, or for other types the one for clean-cooking devices."`
	Properties    entity.Object       `json:"properties,omitzero" doc:"Further properties its protocol declares."`
	ExternalIDs   map[string]string   `json:"externalIds,omitzero" doc:"Names other systems have for it."`
	Controllers   []string            `json:"controllers,omitzero" doc:"Who may change it and send its readings, the controller first; the caller when absent."`
	Metadata      entity.Object       `json:"metadata,omitzero"`
}

// Validate names everything that is wrong with the draft and can be seen
// without its protocol.
func (d Draft) Validate() error {
	var c fault.Checks
	c.Require(d.Type != "", "/type")
	checkDID(&c, "/householdId", d.HouseholdID)
	checkDID(&c, "/stoveId", d.StoveID)
	checkDID(&c, "/project", d.Project)
	check.Short(&c, "/serial", d.Serial, maxWord)
	check.Short(&c, "/name", d.Name, maxName)
	if other, ok := d.ExternalIDs[serialScheme]; ok && d.Serial != "" && other != d.Serial {
		c.Add("/externalIds/serial", "mismatch", "This serial number differs from serial.")
	}
	checkObject(&c, "/properties", d.Properties)
	checkObject(&c, "/metadata", d.Metadata)
	d.Configuration.check(&c)
	return c.Err("ENTITY_INVALID", "The device is not valid.")
}

func (d Draft) protocol() string {
	switch {
	case d.Protocol != "":
		return d.Protocol
	case d.Type == monitorType:
		return monitorProtocol
	}
	return applianceProtocol
}

// serial is the serial number, from whichever member has it.
func (d Draft) serial() string {
	if d.Serial != "" {
		return d.Serial
	}
	return d.ExternalIDs[serialScheme]
}

// twin converts the draft to that of a twin. declares reports whether the
// protocol has a property; a configuration it does not have goes into the
// metadata.
func (d Draft) twin(declares func(property string) bool) (entity.Draft, error) {
	var c fault.Checks
	conf := d.Configuration.check(&c)
	props, meta := members(d.Properties), members(d.Metadata)
	given := map[string]any{
		"samplingRate": conf.SamplingRate, "temperatureThreshold": conf.TemperatureThreshold,
		"transmissionMode": conf.TransmissionMode, "minimumDuration": conf.MinimumDuration,
	}
	left := map[string]any{}
	for name, value := range given {
		switch {
		case d.Configuration == nil && props[name] != nil, d.Configuration == nil && !declares(name):
		case declares(name):
			props[name] = value
		default:
			left[name] = value
		}
	}
	if len(left) > 0 {
		meta["configuration"] = left
	}
	if d.serial() != "" && declares("serial") {
		props["serial"] = d.serial()
	}
	if d.Name != "" {
		meta["name"] = d.Name
	}
	out := entity.Draft{DID: d.DID, Type: d.Type, Protocol: d.protocol(), Controllers: d.Controllers, ExternalIDs: d.ExternalIDs}
	out.Relationships = edgesOf(d.HouseholdID, d.StoveID, d.Project)
	if d.Serial != "" {
		out.ExternalIDs = with(d.ExternalIDs, serialScheme, d.Serial)
	}
	err := fill(&out, props, meta)
	return out, err
}

// edgesOf are the relationships of a device or a household; "" is none.
func edgesOf(household, stove, project string) []entity.RelationDraft {
	var out []entity.RelationDraft
	for _, e := range []entity.RelationDraft{{Role: householdRole, Target: household}, {Role: stoveRole, Target: stove}, {Role: projectRole, Target: project}} {
		if e.Target != "" {
			out = append(out, e)
		}
	}
	return out
}

// Device is a device as the API shows it.
type Device struct {
	DID           string            `json:"did"`
	Type          string            `json:"type" example:"StoveUseMonitor"`
	HouseholdID   string            `json:"householdId,omitzero" doc:"DID of its household."`
	StoveID       string            `json:"stoveId,omitzero" doc:"DID of its stove."`
	Configuration Configuration     `json:"configuration"`
	Serial        string            `json:"serial,omitzero"`
	Name          string            `json:"name,omitzero"`
	Protocol      string            `json:"protocol"`
	Project       string            `json:"project,omitzero"`
	ExternalIDs   map[string]string `json:"externalIds,omitzero"`
	Status        entity.Status     `json:"status" enum:"draft,active,suspended,completed,deactivated"`
	Revision      int64             `json:"revision"`
	Created       time.Time         `json:"created"`
	Updated       time.Time         `json:"updated"`
	Links         DeviceLinks       `json:"links"`
	Withheld      []string          `json:"withheld,omitzero" doc:"Personal properties of the twin that you may not see: callers who do not control it need the scope entities:pii."`
}

// Types of package api, by their names here.
type (
	DeviceLinks       = api.DeviceLinks
	CookingEvent      = api.CookingEvent
	Gap               = api.ReadingGap
	HouseholdLinks    = api.HouseholdLinks
	Status            = api.DeviceStatus
	Completeness      = api.Completeness
	Reading           = api.Reading
	Conflict          = api.ReadingConflict
	Refusal           = api.ReadingRefusal
	Correction        = api.ReadingCorrection
	CorrectionOutcome = api.CorrectionOutcome
	Outcome           = api.ReadingOutcome
	Overlap           = api.Overlap
	Usage             = api.Usage
	Stacking          = api.Stacking
	StoveUse          = api.StoveUse
	StackedDays       = api.StackingShare
)

// deviceOf renders a record the caller may see.
func deviceOf(e *entity.Entity, now time.Time) *Device {
	self := "/v1/devices/" + escape(e.DID)
	return &Device{
		DID: e.DID, Type: e.Type, HouseholdID: target(e, householdRole, now), StoveID: target(e, stoveRole, now), Configuration: configurationOf(e),
		Serial: e.ExternalIDs[serialScheme], Name: nameOf(e), Protocol: e.Protocol, Project: e.Project, ExternalIDs: e.ExternalIDs,
		Status: e.Status, Revision: e.Revision, Created: e.Created, Updated: e.Updated, Withheld: e.Withheld,
		Links: DeviceLinks{
			Self: self, Entity: "/v1/entities/" + escape(e.DID), Readings: self + "/readings",
			Events: self + "/events", Gaps: self + "/gaps", Status: self + "/status",
		},
	}
}

// configurationOf reads the configuration from a twin: its properties, then the
// metadata. A protocol may allow anything there, so a value that makes no sense
// counts as absent.
func configurationOf(e *entity.Entity) Configuration {
	conf := standard()
	meta, _ := members(e.Metadata)["configuration"].(map[string]any)
	for _, from := range []map[string]any{meta, members(e.Properties)} {
		if v, ok := from["samplingRate"].(float64); ok && v >= 1 && v <= maxSampling {
			conf.SamplingRate = int64(v)
		}
		if v, ok := from["temperatureThreshold"].(float64); ok && warm(v) {
			conf.TemperatureThreshold = v
		}
		if v, ok := from["minimumDuration"].(float64); ok && v >= 0 && v <= maxMinDuration {
			conf.MinimumDuration = int64(v)
		}
		if v, ok := from["transmissionMode"].(string); ok && slices.Contains(transmissionModes(), v) {
			conf.TransmissionMode = v
		}
	}
	return conf
}

func nameOf(e *entity.Entity) string {
	if name, ok := members(e.Properties)["name"].(string); ok {
		return name
	}
	name, _ := members(e.Metadata)["name"].(string)
	return name
}

// members decodes an object; it is empty when there is none.
func members(o entity.Object) map[string]any {
	out := map[string]any{}
	if o.IsZero() {
		return out
	}
	if err := json.Unmarshal(o.Value, &out); err != nil || out == nil {
		return map[string]any{}
	}
	return out
}

func checkDID(c *fault.Checks, pointer, text string) {
	if text != "" && !did.Valid(text) {
		c.Add(pointer, "invalid", "The value must be a DID.")
	}
}

func checkObject(c *fault.Checks, pointer string, o entity.Object) {
	if !o.IsZero() && o.Kind() != '{' {
		c.Add(pointer, "wrong_type", "The value must be an object.")
	}
}

// with returns m with one more member.
func with(m map[string]string, name, value string) map[string]string {
	out := map[string]string{name: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}
