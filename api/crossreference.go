package api

import "time"

// CrossReferenceDraft says which answers to compare with which measurements.
type CrossReferenceDraft struct {
	Question  string       `json:"question" doc:"What households said, as section/question." example:"usage/used_last_7_days"`
	Use       []string     `json:"use,omitzero" doc:"For a choice: the options that mean use. For yes and no it is true, for numbers anything above 0." example:"[\"daily\",\"weekly\"]"`
	Measure   string       `json:"measure,omitzero" enum:"use,events,hours,fuel" doc:"What it is compared with: whether sensors have measured use, cooking events or hours of a day, or the fuel of a day that kitchen tests have weighed. use by default of choices, of yes and no; hours of numbers."`
	Per       string       `json:"per,omitzero" enum:"day,week" doc:"What the numbers of the answer are per; day by default."`
	Fuel      string       `json:"fuel,omitzero" doc:"Of measure=fuel: which one; wood by default." example:"wood"`
	Round     int          `json:"round,omitzero" doc:"The open round by default."`
	Days      int          `json:"days,omitzero" doc:"The days of UTC before that of the interview that count, 1 to 92; 7 by default." example:"7"`
	SumPeriod *CrossPeriod `json:"sumPeriod,omitzero" doc:"These days instead of those before each interview; at most 366."`
	MinDays   int          `json:"minDays,omitzero" doc:"Days a household needs with at least half of the expected readings; half of the days by default."`
	MinEvents int          `json:"minEvents,omitzero" doc:"Cooking events in all these days that are use; 1 by default."`
	Tolerance *float64     `json:"tolerance,omitzero" doc:"For amounts: how far the answer may differ from the measurement, as a share of the measurement; 0.5 by default." example:"0.5"`
	KPTIDs    []string     `json:"kptIds,omitzero" doc:"Only these kitchen tests; all of the project by default. At most 1,000."`
}

// CrossPeriod is a number of days.
type CrossPeriod struct {
	Start string `json:"start" format:"date" doc:"First day, of UTC." example:"2024-02-01"`
	End   string `json:"end" format:"date" doc:"Last day." example:"2024-02-29"`
}

// CrossReference is the comparison of answers with measurements of the same
// households.
type CrossReference struct {
	ID          string              `json:"crossReferenceId" example:"xrf_7310428377145344"`
	SurveyID    string              `json:"surveyId"`
	Asked       CrossReferenceDraft `json:"asked" doc:"With what was left open filled in."`
	CreatedAt   time.Time           `json:"createdAt"`
	CreatedBy   string              `json:"createdBy"`
	Households  CrossHouseholds     `json:"households"`
	Agreement   *CrossAgreement     `json:"agreement,omitzero" doc:"Of use."`
	Difference  *CrossDifference    `json:"difference,omitzero" doc:"Of amounts, by Bland and Altman."`
	Adjusted    *CrossAdjusted      `json:"adjusted,omitzero" doc:"The result of the survey, corrected by the measurements."`
	NoAdjusted  string              `json:"noAdjusted,omitzero" doc:"Why there is none."`
	Hawthorne   *CrossHawthorne     `json:"hawthorne,omitzero" doc:"How much of the cooking continues outside of tests."`
	NoHawthorne string              `json:"noHawthorne,omitzero" doc:"Why there is none."`
	Mismatches  int                 `json:"mismatches" doc:"Pairs that do not agree: their responses are flagged with sensor_mismatch."`
	Suppressed  bool                `json:"suppressed,omitzero" doc:"Figures of fewer than 5 households are not shown to keys without responses:pii."`
	Lineage     CrossLineage        `json:"lineage"`
	Links       CrossLinks          `json:"links"`
}

// CrossHouseholds counts households, and those whose measurements are
// incomplete.
type CrossHouseholds struct {
	Answered    int `json:"answered" doc:"Households whose response counts and has an answer."`
	Paired      int `json:"paired" doc:"Of these, households that have measurements too."`
	Unmeasured  int `json:"unmeasured" doc:"Nothing was measured in them."`
	TooFewDays  int `json:"tooFewDays" doc:"Too little of the days was measured."`
	OtherUnit   int `json:"otherUnit,omitzero" doc:"Answer and kitchen test are in different units."`
	Days        int `json:"days" doc:"Measured days of the pairs."`
	MissingDays int `json:"missingDays" doc:"Days of the pairs without measurements, or with fewer than half of the expected readings."`
}

// CrossAgreement is how often households and sensors agree on use.
type CrossAgreement struct {
	N            int      `json:"n"`
	Both         *int     `json:"both,omitzero" doc:"Say so, and measured."`
	SaidOnly     *int     `json:"saidOnly,omitzero"`
	MeasuredOnly *int     `json:"measuredOnly,omitzero"`
	Neither      *int     `json:"neither,omitzero"`
	Agreement    *float64 `json:"agreement,omitzero" doc:"Share of pairs that agree."`
	OverReport   *float64 `json:"overReport,omitzero" doc:"Share of the households that report use whose sensors have measured none."`
	UnderReport  *float64 `json:"underReport,omitzero" doc:"Share of the households that report no use whose sensors have measured some."`
	Kappa        *float64 `json:"kappa,omitzero" doc:"Cohen's."`
	KappaSE      *float64 `json:"kappaSE,omitzero"`
	KappaLow     *float64 `json:"kappaLow,omitzero" doc:"95 %."`
	KappaHigh    *float64 `json:"kappaHigh,omitzero"`
	NoKappa      string   `json:"noKappa,omitzero" doc:"Why there is no kappa, such as fewer than 30 pairs."`
}

// CrossDifference is the answer minus the measurement, per day.
type CrossDifference struct {
	N          int      `json:"n"`
	Unit       string   `json:"unit" example:"hours/day"`
	Said       *float64 `json:"said,omitzero" doc:"Mean."`
	Measured   *float64 `json:"measured,omitzero" doc:"Mean."`
	Bias       *float64 `json:"bias,omitzero" doc:"Mean of the differences."`
	SD         *float64 `json:"sd,omitzero" doc:"Of the differences."`
	Low        *float64 `json:"low,omitzero" doc:"Lower limit of agreement: bias - 1.96 sd."`
	High       *float64 `json:"high,omitzero" doc:"Upper limit of agreement: bias + 1.96 sd."`
	OverReport *float64 `json:"overReport,omitzero" doc:"Share of pairs that say more than was measured, by more than the tolerance."`
}

// CrossAdjusted is a figure of the survey, before and after correction.
type CrossAdjusted struct {
	Said     float64 `json:"said" doc:"The share of users, or the mean, that the whole round says."`
	Value    float64 `json:"value"`
	Weighted bool    `json:"weighted" doc:"said has the weights of the sample."`
	Formula  string  `json:"formula"`
}

// CrossHawthorne compares days with a kitchen test with the 30 days before and
// after it.
type CrossHawthorne struct {
	Index      *float64 `json:"index,omitzero" doc:"min(1, unobserved / observed)."`
	Observed   *float64 `json:"observed,omitzero" doc:"Cooking events per day during tests, the mean of the households."`
	Unobserved *float64 `json:"unobserved,omitzero" doc:"Cooking events per day before and after."`
	Households int      `json:"households" doc:"Households with measured days of both kinds."`
}

// CrossLineage is what a result was computed from.
type CrossLineage struct {
	TemplateID      string `json:"templateId"`
	TemplateVersion int    `json:"templateVersion"`
	Responses       int    `json:"responses" doc:"Answers that were read."`
	AnswersHash     string `json:"answersHash" doc:"SHA-256 over the responses and what they say, in their order."`
	From            string `json:"from,omitzero" doc:"First day of readings."`
	To              string `json:"to,omitzero" doc:"Last day."`
	DayRows         int    `json:"dayRows" doc:"Days of devices that were read, as GET /v1/projects/{did}/usage has them."`
	ReadingsHash    string `json:"readingsHash,omitzero" doc:"SHA-256 over these rows, in their order."`
	Tests           int    `json:"tests" doc:"Kitchen tests that were read."`
	Weights         string `json:"weights,omitzero" doc:"The kind of sample the weights are for, or why there are no weights."`
}

// CrossLinks are the addresses of a result.
type CrossLinks struct {
	Self   string `json:"self"`
	Pairs  string `json:"pairs"`
	Survey string `json:"survey"`
}

// CrossPair is a household's answer and what was measured.
type CrossPair struct {
	RecordID    string  `json:"recordId" doc:"Id of the response, for GET /v1/responses/{responseId}."`
	HouseholdID string  `json:"householdId" doc:"A name stands in place of the DID without the scope responses:pii."`
	Said        float64 `json:"said" doc:"Per day; 1 and 0 of use."`
	Measured    float64 `json:"measured" doc:"Per day; 1 and 0 of use."`
	Days        int     `json:"days" doc:"Measured days."`
	Mismatch    bool    `json:"mismatch"`
}
