package api

// EmissionDraft asks for an emission calculation.
type EmissionDraft struct {
	Module    string                      `json:"module" doc:"Id of a module." example:"gs-smec"`
	Version   string                      `json:"version,omitzero" doc:"Version of the module; the newest when absent." example:"4.0"`
	Period    EmissionPeriod              `json:"period"`
	Inputs    map[string]EmissionInput    `json:"inputs" doc:"By the names that the module has for them."`
	Estimates map[string]EmissionEstimate `json:"estimates,omitzero" doc:"Estimates that inputs refer to by name."`
	Options   *EmissionOptions            `json:"options,omitzero"`
	Carried   *EmissionAmount             `json:"carried,omitzero" doc:"Remainder carried over from the previous calculation: less than one tonne."`
}

// EmissionPeriod is the time a calculation is about.
type EmissionPeriod struct {
	From string `json:"from" doc:"First day." example:"2026-09-01"`
	To   string `json:"to" doc:"Last day, included." example:"2027-08-31"`
}

// EmissionAmount is a number with its unit.
type EmissionAmount struct {
	Value *float64 `json:"value" example:"0.25"`
	Unit  string   `json:"unit" example:"tCO2e"`
}

// EmissionInput is one input: a value with a unit, an estimate by name, a choice,
// or the items of a list.
type EmissionInput struct {
	EmissionMember
	Items []map[string]EmissionMember `json:"items,omitzero" doc:"Of a list: the inputs of each item."`
}

// EmissionMember is an input that is not a list.
type EmissionMember struct {
	Value    *float64          `json:"value,omitzero" example:"4.5"`
	Unit     string            `json:"unit,omitzero" doc:"Such as t/household/yr; it is converted exactly. Absent for values without a unit." example:"t/household/yr"`
	N        *float64          `json:"n,omitzero" doc:"Of an estimate: how many were measured." example:"48"`
	SD       *float64          `json:"sd,omitzero" doc:"Of an estimate: standard deviation of what was measured, in the unit of the value." example:"1.5"`
	Interval *EmissionInterval `json:"interval,omitzero" doc:"Of an estimate: its interval, instead of n and sd."`
	Estimate string            `json:"estimate,omitzero" doc:"Name of an estimate of the request, instead of all this."`
	Choice   string            `json:"choice,omitzero" doc:"Of a choice: the word."`
}

// EmissionEstimate is a figure from a sample.
type EmissionEstimate struct {
	Value    *float64          `json:"value" example:"1.4"`
	Unit     string            `json:"unit,omitzero" example:"t/household/yr"`
	N        *float64          `json:"n,omitzero" example:"32"`
	SD       *float64          `json:"sd,omitzero" example:"1.5"`
	Interval *EmissionInterval `json:"interval,omitzero" doc:"Instead of n and sd."`
	Source   string            `json:"source,omitzero" doc:"Where it comes from, for those who check." example:"Baseline kitchen performance test, May 2026"`
}

// EmissionInterval is the two-sided interval of an estimate, in the unit of its value.
type EmissionInterval struct {
	Low        *float64 `json:"low" example:"0.95"`
	High       *float64 `json:"high" example:"1.85"`
	Confidence *float64 `json:"confidence" doc:"Modules that test for 90/10 need 0.9." example:"0.9"`
}

// EmissionOptions are the choices that the text of a methodology leaves open.
type EmissionOptions struct {
	T    string `json:"t,omitzero" enum:"4decimals,full" doc:"How Student's t is used: rounded to four decimals, as tables print it (the default), or in full."`
	Tail string `json:"tail,omitzero" enum:"two,one" doc:"What the 90 % of a bound means: two-sided (the default), or each bound alone."`
}

// EmissionCalculation is a calculation with every step.
type EmissionCalculation struct {
	Module    string             `json:"module" example:"gs-smec"`
	Version   string             `json:"version" example:"4.0"`
	Asked     EmissionDraft      `json:"asked" doc:"What was calculated: the request, with the version."`
	InputHash string             `json:"inputHash" doc:"SHA-256 of asked in the canonical form of RFC 8785." example:"sha256:8f43…"`
	Steps     []EmissionStep     `json:"steps"`
	Decisions []EmissionDecision `json:"decisions" doc:"Values that a rule has changed, and anything a reader has to know."`
	Result    EmissionResult     `json:"result"`
	TraceHash string             `json:"traceHash,omitzero" doc:"SHA-256 of this answer without traceHash, in the canonical form of RFC 8785." example:"sha256:1b4f…"`
}

// EmissionStep is one line of a calculation.
type EmissionStep struct {
	Symbol  string         `json:"symbol" example:"BE_unc"`
	Formula string         `json:"formula" example:"U_b × Σ (N_b × P_adj × NCV × EF)"`
	Inputs  []EmissionTerm `json:"inputs" doc:"What the formula was filled with."`
	Value   float64        `json:"value"`
	Unit    string         `json:"unit,omitzero" example:"tCO2e"`
	Note    string         `json:"note,omitzero"`
}

// EmissionTerm is one value in a formula.
type EmissionTerm struct {
	Symbol string  `json:"symbol" example:"U_b"`
	Value  float64 `json:"value" example:"0.9"`
	Unit   string  `json:"unit,omitzero"`
}

// EmissionDecision is a rule that was applied.
type EmissionDecision struct {
	Rule    string `json:"rule" example:"precision"`
	Symbol  string `json:"symbol" doc:"What it was applied to." example:"P_charcoal"`
	Outcome string `json:"outcome" doc:"The result." example:"lower_bound"`
	Words   string `json:"words"`
}

// EmissionResult is the result of a calculation, in tCO2e.
type EmissionResult struct {
	Unit       string         `json:"unit" enum:"tCO2e"`
	Baseline   *float64       `json:"baseline,omitzero" doc:"Absent where the module has none, like activity and leakage."`
	Activity   *float64       `json:"activity,omitzero"`
	Leakage    *float64       `json:"leakage,omitzero"`
	Reductions float64        `json:"reductions" example:"396.33198397847"`
	Years      []EmissionYear `json:"years" doc:"The reductions by calendar year."`
	Issued     int64          `json:"issued" doc:"Whole tonnes of all years." example:"396"`
	Carried    float64        `json:"carried" doc:"What is left of a tonne, for the next calculation." example:"0.33198397"`
}

// EmissionYear is the part of the reductions in one calendar year.
type EmissionYear struct {
	Year    int     `json:"year" example:"2026"`
	Days    int     `json:"days" doc:"Days of the period in it." example:"122"`
	Amount  float64 `json:"amount" doc:"Reductions of these days, cut after eight decimals."`
	Brought float64 `json:"brought" doc:"Remainder carried over from the previous year or the previous calculation."`
	Issued  int64   `json:"issued" doc:"Whole tonnes of amount and brought."`
	Carried float64 `json:"carried" doc:"What is left."`
}

// EmissionModule is a way to calculate emissions, in one version.
type EmissionModule struct {
	Module      string             `json:"module" example:"gs-smec"`
	Version     string             `json:"version" example:"4.0"`
	Title       string             `json:"title"`
	Methodology string             `json:"methodology" doc:"The rules it follows."`
	About       string             `json:"about" doc:"What it does."`
	Not         []string           `json:"not" doc:"What it does not do."`
	Inputs      []EmissionField    `json:"inputs"`
	Constants   []EmissionConstant `json:"constants"`
	Units       []string           `json:"units" doc:"Units it understands; they are joined by slashes: kg/household/day."`
}

// EmissionField describes an input of a module.
type EmissionField struct {
	Name     string          `json:"name" example:"baselineUsage"`
	Symbol   string          `json:"symbol,omitzero" example:"U_b"`
	Kind     string          `json:"kind" enum:"quantity,estimate,choice,list" doc:"An estimate is a quantity with n and sd or an interval."`
	Unit     string          `json:"unit,omitzero" doc:"The unit it is calculated in; any unit of the same dimension is accepted. Absent for inputs without a unit."`
	Least    float64         `json:"least" doc:"In that unit."`
	Most     float64         `json:"most,omitzero"`
	Positive bool            `json:"positive,omitzero" doc:"It must be above 0."`
	Optional bool            `json:"optional,omitzero"`
	Sampled  string          `json:"sampled,omitzero" enum:"required,optional" doc:"Of an estimate: whether n and sd, or an interval, must be there."`
	Choices  []string        `json:"choices,omitzero"`
	Usual    string          `json:"usual,omitzero" doc:"The value used when absent."`
	About    string          `json:"about"`
	Items    []EmissionPlain `json:"items,omitzero" doc:"Of a list: the inputs of each item."`
}

// EmissionPlain describes an input of an item of a list.
type EmissionPlain struct {
	Name     string   `json:"name" example:"ncv"`
	Symbol   string   `json:"symbol,omitzero" example:"NCV"`
	Kind     string   `json:"kind" enum:"quantity,estimate,choice"`
	Unit     string   `json:"unit,omitzero" example:"TJ/t"`
	Least    float64  `json:"least"`
	Most     float64  `json:"most,omitzero"`
	Positive bool     `json:"positive,omitzero"`
	Optional bool     `json:"optional,omitzero"`
	Sampled  string   `json:"sampled,omitzero" enum:"required,optional"`
	Choices  []string `json:"choices,omitzero"`
	Usual    string   `json:"usual,omitzero"`
	About    string   `json:"about"`
}

// EmissionConstant is a number that is part of a module.
type EmissionConstant struct {
	Symbol string  `json:"symbol" example:"EM"`
	Value  float64 `json:"value" example:"0.017"`
	Unit   string  `json:"unit,omitzero" example:"tCO2e/device"`
	About  string  `json:"about"`
	Source string  `json:"source"`
}

// HouseholdAnalysisDraft asks what a household has saved.
type HouseholdAnalysisDraft struct {
	HouseholdID string `json:"householdId" doc:"DID of the household." example:"did:ixo:household/123"`
	PeriodStart string `json:"periodStart" doc:"First day of UTC, or a time in it." example:"2024-02-01"`
	PeriodEnd   string `json:"periodEnd" doc:"Last day of UTC, included, or a time in it. At most 366 days." example:"2024-02-29"`
}

// HouseholdAnalysis is what a household has saved, according to its devices.
type HouseholdAnalysis struct {
	HouseholdID string              `json:"householdId" example:"did:ixo:household/123"`
	Period      HouseholdPeriod     `json:"period"`
	Analysis    HouseholdReductions `json:"analysis"`
}

// HouseholdPeriod is the time of an analysis, in whole days of UTC.
type HouseholdPeriod struct {
	Start string `json:"start" example:"2024-02-01"`
	End   string `json:"end" doc:"Included." example:"2024-02-29"`
}

// HouseholdReductions is the outcome of an analysis.
type HouseholdReductions struct {
	Unit                string               `json:"unit" enum:"kgCO2e" doc:"Of the emissions."`
	BaselineEmissions   float64              `json:"baselineEmissions"`
	ActualEmissions     float64              `json:"actualEmissions" doc:"Emissions of the previous fuel that is still burnt. Fuel of the new devices is not included."`
	Reductions          float64              `json:"reductions"`
	Confidence          float64              `json:"confidence" doc:"How much of the period the readings cover: 0 to 1. It is not a confidence level."`
	DeviceContributions []DeviceContribution `json:"deviceContributions"`
	Module              string               `json:"module" example:"household-use"`
	Version             string               `json:"version" example:"1.0"`
	Steps               []EmissionStep       `json:"steps"`
	Decisions           []EmissionDecision   `json:"decisions"`
	InputHash           string               `json:"inputHash" doc:"Id of the calculation that POST /v1/emissions:calculate makes from the same inputs."`
	TraceHash           string               `json:"traceHash" doc:"Of that calculation with its steps."`
}

// DeviceContribution is the share of one device in what a household has saved.
type DeviceContribution struct {
	DeviceID       string         `json:"deviceId" example:"did:ixo:device/456"`
	ReductionShare float64        `json:"reductionShare" doc:"0 to 1; those of all devices make 1, or 0 where nothing was saved."`
	Evidence       DeviceEvidence `json:"evidence"`
}

// DeviceEvidence is what the readings of a device show.
type DeviceEvidence struct {
	UsageHours  float64 `json:"usageHours" doc:"Hours of cooking in the period."`
	FuelSaved   float64 `json:"fuelSaved" doc:"Of the fuel of before, in kg."`
	Days        int     `json:"days" doc:"Days with readings."`
	Traditional bool    `json:"traditional,omitzero" doc:"It monitors a stove of the old kind."`
}
