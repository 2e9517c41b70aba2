package device

import (
	"context"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	aboutReadings = "The good readings of a batch are stored together; those that are not valid are named by their place in refused, and the answer is 400 only when none is good. A reading is known by its device and its time: sending it again is counted as a duplicate and changes nothing, " +
		"so a device that got no answer simply sends the batch again. A different reading for a time that has one is refused (409, naming each), or left out with onConflict=skip. " +
		"Batches may come late and in any order. Who may send: keys that may change twins (entities:write), the device itself, and its controllers; " +
		"a key of the role device whose principal is the DID of the device, or one of its controllers, is made for this."
	aboutFiles = "CSV or NDJSON, at most 16 MiB and 100,000 readings. The columns of a table are timestamp, temperature, cookingEvent, duration and values.name, under other names with mapping; " +
		"a row without one of them leaves it out. In every other way the file is a batch, stored 5,000 readings at a time: sending it again stores nothing twice, rows that are not valid are named by their line, " +
		"and rows that differ from what is stored are left out and named in conflicts. 400 when no row is good."
	aboutEvents = "An event begins with a reading at or above the threshold. Where a reading has no temperature, cookingEvent as the device reports it counts instead; where it has both, the temperature decides, " +
		"and contradictions are counted. A duration moves the beginning back, as far as no earlier reading contradicts it. The event goes on while no two readings in a row are more than three sampling intervals apart and the temperature is not below " +
		"the threshold for longer than two, counted from the first colder reading. It ends at the next reading after its last hot one, at most one interval later, so six hot readings " +
		"five minutes apart are 1800 seconds. An event belongs to the range it begins in and is followed up to a day past its end. Nothing is stored: events follow from the " +
		"readings alone. Without from it is the 7 days before to, as from and to of the answer say. A range is at most 92 days; a page looks at no more than 100,000 readings."
	aboutStacking = "Compares the cooking events of the 20 devices that were linked last. A reading belongs to the household its device was linked to at that time: " +
		"since and until of the relationship decide, and its removal; one that does not say since when holds from when it was added, the first of a device also for what came before, " +
		"and of two at once the one that began last counts. Two monitors on one stove are one stove. Days are days of UTC. A range is at most 92 days and 100,000 readings."
	aboutCorrections = "A correction is stored whole or not at all. Readings replace those of the same time; withdraw removes those of a range. At most 1000 readings go in one step. " +
		"Their old values stay in the list of corrections, with the reason, and all derived figures follow. Repeating the same correction changes nothing, " +
		"and a device that sends a reading again that was corrected or withdrawn does not bring it back: it counts as a duplicate."
	aboutUsage = "A row for each day of UTC and device, in this order; a device that was moved during the day has one for each place. A day counts for the project of the device, or else of the household it was in, or of its stove. " +
		"Rows are kept as readings come. The server recalculates them after late, corrected or withdrawn readings, changed settings of the device and changed relationships: at once for the readings of a batch, within minutes for those that a device sends one by one and for everything else. " +
		"The last 30 days by default, at most 92. A page may be short although there is more."
	aboutAnalysis = "The fuel that the household burnt before (baseline.fuelType: wood, charcoal, kerosene or lpg; baseline.monthlyConsumption in kg), less the fuel that hours on new stoves have displaced on days with readings. " +
		"Stoves whose type says traditional, three-stone, open fire or baseline are the old ones. baseline.cookingHours (hours a day before) and baseline.fNRB replace the assumptions. " +
		"It is the module household-use, whose steps and assumptions are in the answer: a figure to look at, not for credits. It reads the stored days, which include new readings within minutes. You must be able to read the household; devices that your key does not see do not count."
	aboutPersonal = "Names, telephone numbers and places of households you do not control need the scope entities:pii; withheld names what is left out."
	aboutKeys     = "A key without entities:read sees the device it belongs to and those it controls."
)

// Routes adds the household and device API to a.
func (s *Service) Routes(a *web.API) {
	s.householdRoutes(a)
	const tag = "devices"
	web.Post(a, "/v1/devices", s.serveCreateDevice, web.Doc{
		Summary: "Register a device", Status: http.StatusCreated, Scope: "entities:write", Tag: tag, Once: true, Also: []int{http.StatusOK},
		Description: "The device is a twin. A serial number names one device: the same registration again answers 200 with the device there is, any other under a number that is taken 409, also by a device that is deactivated. The refusal does not name the device that has the number; GET /v1/entities?externalId= shows it to callers who may see it.",
		Example:     deviceExample(),
		Codes:       []string{"ENTITY_INVALID", "PROTOCOL_NOT_FOUND", "PROPERTY_SCHEMA_VIOLATION", "RELATIONSHIP_CLASS_MISMATCH", "DEVICE_DATA_CONFLICT", "EXTERNAL_ID_EXISTS", "ENTITY_EXISTS"},
	})
	web.Get(a, "/v1/devices", s.serveDevices, web.Doc{
		Summary: "List devices, newest first", Scope: "devices:read", Tag: tag, Codes: []string{"INVALID_PARAMETER"},
		Description: "Those of a household, or all of a type. A page may be short although there is more. " + aboutKeys,
	})
	web.Get(a, "/v1/devices/{did}", s.serveDevice, web.Doc{Summary: "Read a device", Scope: "devices:read", Tag: tag, Description: aboutKeys, Codes: []string{"ENTITY_NOT_FOUND"}})
	web.Post(a, "/v1/devices/{did}/readings", s.serveAdd, web.Doc{
		Summary: "Add readings of a device", Scope: "devices:write", Tag: tag, Once: true, MaxBody: maxBatch, Description: aboutReadings, Example: batchExample(),
		Codes: []string{"READINGS_INVALID", "DEVICE_DATA_CONFLICT", "DEVICE_DEACTIVATED", "NOT_CONTROLLER", "ENTITY_NOT_FOUND"},
	})
	a.Handle(http.MethodPost, "/v1/devices/{did}/readings/file", filer{s}.serveFile, web.Doc{
		Summary: "Add readings of a device from a file", Scope: "devices:write", Tag: tag, Answer: Outcome{}, Description: aboutFiles,
		Consumes: "text/csv, application/x-ndjson",
		Query: []web.Param{
			{Name: "mapping", Doc: "JSON object: column → timestamp, temperature, cookingEvent, duration or values.name; \"\" leaves a column out. At most 4 KiB.", Example: `{"Time":"timestamp","°C":"temperature"}`},
		},
		Codes: []string{"READINGS_INVALID", "DEVICE_DEACTIVATED", "NOT_CONTROLLER", "ENTITY_NOT_FOUND", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "TOO_MANY_FILES", "INVALID_PARAMETER"},
	})
	web.Get(a, "/v1/devices/{did}/readings", s.serveReadings, web.Doc{Summary: "List readings of a device, oldest first", Scope: "devices:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"}})
	web.Post(a, "/v1/devices/{did}/corrections", corrections{s}.serveCorrect, web.Doc{
		Summary: "Correct or withdraw readings of a device", Scope: "entities:write", Tag: tag, Once: true, MaxBody: maxBatch, Description: aboutCorrections,
		Example: CorrectionDraft{Reason: "The sensor hung beside the stove.", Withdraw: &WithdrawDraft{From: "2024-02-20T08:00:00Z", To: "2024-02-20T10:00:00Z"}},
		Codes:   []string{"CORRECTION_INVALID", "DEVICE_DEACTIVATED", "ENTITY_NOT_FOUND"},
	})
	web.Get(a, "/v1/devices/{did}/corrections", corrections{s}.serveCorrections, web.Doc{
		Summary: "List the corrections of a device's readings", Scope: "devices:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"},
		Description: "In the order of the times of the readings, each with its old value, the reason for the change and who made it.",
	})
	web.Get(a, "/v1/devices/{did}/gaps", s.serveGaps, web.Doc{
		Summary: "List gaps in the readings of a device", Scope: "devices:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND", "INVALID_PARAMETER"},
		Description: "A gap is more than one and a half sampling intervals without a reading. Gaps that touch the range are listed; the last 7 days by default, at most 92.",
	})
	web.Get(a, "/v1/devices/{did}/events", s.serveEvents, web.Doc{
		Summary: "Derive the cooking events of a device", Scope: "devices:read", Tag: tag, Description: aboutEvents, Codes: []string{"ENTITY_NOT_FOUND", "INVALID_PARAMETER"},
	})
	web.Get(a, "/v1/projects/{did}/usage", s.serveUsage, web.Doc{
		Summary: "List the use of a project's stoves by day", Scope: "devices:read", Tag: tag, Description: aboutUsage, Codes: []string{"ENTITY_NOT_FOUND", "INVALID_PARAMETER"},
	})
	web.Get(a, "/v1/devices/{did}/status", s.serveStatus, web.Doc{Summary: "Report the status of a device", Scope: "devices:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"}})
}

func (s *Service) householdRoutes(a *web.API) {
	const tag = "households"
	web.Post(a, "/v1/households", s.serveCreateHousehold, web.Doc{
		Summary: "Register a household", Status: http.StatusCreated, Scope: "entities:write", Tag: tag, Once: true,
		Description: "The household is a twin of did:ixo:protocol/household: change it, link it and read its history as any other. " +
			"Its type is Household, as that of those from imports and the USSD line. It needs a location, a name or an external id; POST /v1/entities takes less. " +
			"All of them are listed here and by protocol=did:ixo:protocol/household at /v1/entities.",
		Example: householdExample(),
		Codes:   []string{"ENTITY_INVALID", "PROPERTY_SCHEMA_VIOLATION", "RELATIONSHIP_CLASS_MISMATCH", "EXTERNAL_ID_EXISTS", "ENTITY_EXISTS"},
	})
	web.Get(a, "/v1/households", s.serveHouseholds, web.Doc{Summary: "List households, newest first", Scope: "entities:read", Tag: tag, Description: "All twins of did:ixo:protocol/household, whatever their type, without their devices. A page may be short although there is more. " + aboutPersonal})
	web.Get(a, "/v1/households/{did}", s.serveHousehold, web.Doc{Summary: "Read a household with its devices", Scope: "entities:read", Tag: tag, Description: aboutPersonal, Codes: []string{"ENTITY_NOT_FOUND"}})
	web.Get(a, "/v1/households/{did}/stacking", s.serveStacking, web.Doc{
		Summary: "Find stoves of a household that were used at the same time", Scope: "devices:read", Tag: tag, Description: aboutStacking,
		Codes: []string{"ENTITY_NOT_FOUND", "INVALID_PARAMETER"},
	})
	web.Post(a, "/v1/analysis/household", analyses{s}.serve, web.Doc{
		Summary: "Estimate the fuel and emissions that a household has saved", Scope: "analytics:read", Tag: tag, Description: aboutAnalysis,
		Example: api.HouseholdAnalysisDraft{HouseholdID: "did:ixo:entity:175d7824ba25002e4ec206365e206236", PeriodStart: "2024-02-01", PeriodEnd: "2024-02-29"},
		Codes:   []string{"ANALYSIS_INVALID", "ENTITY_NOT_FOUND", "BASELINE_MISSING", "READINGS_MISSING"},
	})
}

func householdExample() HouseholdDraft {
	return HouseholdDraft{
		Location: entity.Object{Value: []byte(`{"district":"XYZ","density":"Medium"}`)},
		Baseline: entity.Object{Value: []byte(`{"fuelType":"Charcoal","monthlyConsumption":40}`)},
	}
}

func deviceExample() Draft {
	rate, threshold, mode := int64(300), 60.0, "realtime"
	return Draft{
		Type: monitorType, HouseholdID: "did:ixo:household/123", StoveID: "did:ixo:stove/456",
		Configuration: &ConfigurationDraft{SamplingRate: &rate, TemperatureThreshold: &threshold, TransmissionMode: &mode},
	}
}

func batchExample() Batch {
	temp, battery, yes, long := 85.4, 92.0, true, 1800.0
	return Batch{
		Readings: []ReadingDraft{{Timestamp: "2024-02-20T08:15:00Z", Temperature: &temp, CookingEvent: &yes, Duration: &long}},
		Status:   &StatusDraft{Battery: &battery, Signal: "strong", LastSync: "2024-02-20T08:20:00Z"},
	}
}

type one struct {
	DID string `path:"did" doc:"DID of the device."`
}

type home struct {
	DID string `path:"did" doc:"DID of the household."`
}

func (s *Service) serveCreateHousehold(ctx context.Context, in *struct{ Body HouseholdDraft }) (web.Reply[*Household], error) {
	return s.CreateHousehold(ctx, in.Body)
}

func (s *Service) serveHousehold(ctx context.Context, in *home) (*Household, error) {
	return s.Household(ctx, in.DID)
}

func (s *Service) serveHouseholds(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[Household]], error) {
	below := int64(newest)
	return web.List(ctx, s.cfg.Cursors, in.Paging, &below, func(limit int) ([]Household, int64, error) {
		return s.Households(ctx, below, limit)
	})
}

func (s *Service) serveStacking(ctx context.Context, in *struct {
	home
	month
	MinDuration    web.Number `query:"minDuration" doc:"Shortest cooking event in seconds; the setting of each device by default." example:"1800"`
	MinTemperature Decimal    `query:"minTemperature" doc:"Threshold in °C; the setting of each device by default." example:"60"`
	StoveTypes     []string   `query:"stoveTypes" doc:"Only stoves whose twins have one of these types, separated by commas." example:"traditional,improved"`
},
) (*Stacking, error) {
	var c fault.Checks
	from, to := in.bounds(&c, s.cfg.Now())
	q := StackingQuery{From: from, To: to, StoveTypes: in.StoveTypes, Ask: ask(&c, in.MinTemperature, "query/minTemperature", in.MinDuration)}
	if err := wrong(c); err != nil {
		return nil, err
	}
	return s.Stacking(ctx, in.DID, q)
}

func (s *Service) serveCreateDevice(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*Device], error) {
	return s.CreateDevice(ctx, in.Body)
}

func (s *Service) serveDevice(ctx context.Context, in *one) (web.Reply[*Device], error) {
	t, err := s.find(ctx, s.db, in.DID, deviceIs)
	if err != nil {
		return web.Reply[*Device]{}, err
	}
	if err := s.cfg.Entities.See(ctx).Entity(ctx, s.db, t.e); err != nil {
		return web.Reply[*Device]{}, err
	}
	return web.Reply[*Device]{Value: deviceOf(t.e, s.cfg.Now()), ETag: web.ETag(t.Revision)}, nil
}

func (s *Service) serveDevices(ctx context.Context, in *struct {
	HouseholdID string `query:"householdId" doc:"DID of a household, held here or not."`
	Type        string `query:"type" doc:"Type of device; StoveUseMonitor when no household is given." example:"StoveUseMonitor"`
	web.Paging
},
) (web.Reply[web.Page[Device]], error) {
	below := int64(newest)
	return web.List(ctx, s.cfg.Cursors, in.Paging, &below, func(limit int) ([]Device, int64, error) {
		return s.Devices(ctx, in.HouseholdID, in.Type, below, limit)
	})
}

func (s *Service) serveAdd(ctx context.Context, in *struct {
	one
	OnConflict string `query:"onConflict" doc:"How to treat readings that differ from stored ones: refuse the batch, or skip them." enum:"refuse,skip"`
	Body       Batch
	Misfit     error // named with all else that is wrong
},
) (web.Reply[Outcome], error) {
	var c fault.Checks
	if in.OnConflict != "" && in.OnConflict != "refuse" && in.OnConflict != "skip" {
		c.Add("query/onConflict", "invalid", "The value is refuse or skip.")
	}
	if err := check.Together(in.Misfit, wrong(c)); err != nil {
		return web.Reply[Outcome]{}, s.refused(ctx, in.DID, in.Body, err)
	}
	return s.Add(ctx, in.DID, in.Body, in.OnConflict == "skip")
}

func (s *Service) serveReadings(ctx context.Context, in *struct {
	one
	period
	web.Paging
},
) (web.Reply[web.Page[Reading]], error) {
	var none web.Reply[web.Page[Reading]]
	var c fault.Checks
	from, to := in.open(&c)
	in.Size(&c)
	if err := wrong(c); err != nil {
		return none, err
	}
	m := mark{from, to}
	return web.List(ctx, s.cfg.Cursors, in.Paging, &m, func(limit int) ([]Reading, any, error) {
		items, next, err := s.Readings(ctx, in.DID, m, limit)
		return items, m.next(next), err
	})
}

func (s *Service) serveGaps(ctx context.Context, in *struct {
	one
	week
	web.Paging
},
) (web.Reply[Within[Gap]], error) {
	var none web.Reply[Within[Gap]]
	var c fault.Checks
	from, to := in.bounds(&c, s.cfg.Now())
	in.Size(&c)
	if err := wrong(c); err != nil {
		return none, err
	}
	m := mark{To: to}
	page, err := web.List(ctx, s.cfg.Cursors, in.Paging, &m, func(limit int) ([]Gap, any, error) {
		items, next, err := s.Gaps(ctx, in.DID, m, from, limit)
		return items, m.next(next), err
	})
	return within(in.week, m.To, page), err
}

func (s *Service) serveEvents(ctx context.Context, in *struct {
	one
	week
	MinDuration web.Number `query:"minDuration" doc:"Shortest event in seconds; the setting of the device by default." example:"300"`
	Threshold   Decimal    `query:"threshold" doc:"Temperature in °C from which on it is cooking; the setting of the device by default." example:"60"`
	web.Paging
},
) (web.Reply[Within[CookingEvent]], error) {
	var none web.Reply[Within[CookingEvent]]
	var c fault.Checks
	from, to := in.bounds(&c, s.cfg.Now())
	a := ask(&c, in.Threshold, "query/threshold", in.MinDuration)
	in.Size(&c)
	if err := wrong(c); err != nil {
		return none, err
	}
	m := mark{from, to}
	page, err := web.List(ctx, s.cfg.Cursors, in.Paging, &m, func(limit int) ([]CookingEvent, any, error) {
		items, next, err := s.Events(ctx, in.DID, m, limit, a)
		return items, m.next(next), err
	})
	return within(in.week, m.To, page), err
}

func (s *Service) serveStatus(ctx context.Context, in *one) (*Status, error) {
	return s.Status(ctx, in.DID)
}

// ask reads the parameters of a query for events.
func ask(c *fault.Checks, threshold Decimal, pointer string, least web.Number) Ask {
	var a Ask
	if threshold.given {
		t := threshold.in(c, pointer, minTemperature, maxTemperature, 0)
		a.Threshold = &t
	}
	if least.Given {
		d := time.Duration(least.In(c, "query/minDuration", 0, maxMinDuration, 0)) * time.Second
		a.MinDuration = &d
	}
	return a
}

func wrong(c fault.Checks) error { return c.Err("INVALID_PARAMETER", "A parameter is not valid.") }

// next is the cursor of a list over time, nil at its end.
func (m mark) next(at int64) any {
	if at == 0 {
		return nil
	}
	return mark{at, m.To}
}
