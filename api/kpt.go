package api

import "time"

// KitchenTestDraft is a kitchen performance test to record: how much fuel a
// household used on consecutive days, by weighing.
type KitchenTestDraft struct {
	ID               string               `json:"id,omitzero" doc:"Yours to choose; kpt_ and a number by default." example:"kpt-123"`
	Type             string               `json:"type,omitzero" enum:"KPTClaim" doc:"KPTClaim; may be left out."`
	ProjectID        string               `json:"projectId,omitzero" doc:"DID of the project. Without it: that of the key, or the one project whose surveys list the household." example:"did:ixo:entity:123"`
	HouseholdID      string               `json:"householdId,omitzero" doc:"DID of the household, which has a twin or is on the list of a survey of the project. A correction may leave it out." example:"did:ixo:household/123"`
	TestGroup        string               `json:"testGroup" enum:"reference,intervention" doc:"reference: with the old stove; intervention: with the new one." example:"intervention"`
	TestPeriod       KitchenTestPeriod    `json:"testPeriod"`
	FuelMeasurements KitchenTestFuel      `json:"fuelMeasurements"`
	People           *KitchenTestPeople   `json:"people,omitzero" doc:"For how many is cooked on a usual day of the test. Without it the test is in no figure per head."`
	Selection        *KitchenTestChoice   `json:"selection,omitzero" doc:"How the household came into the test. Only tests whose random selection is documented are in figures."`
	ExternalFactors  *KitchenTestFactors  `json:"externalFactors,omitzero"`
	CookingSessions  []KitchenTestSession `json:"cookingSessions,omitzero" doc:"At most 200."`
	Evidence         []string             `json:"evidence,omitzero" doc:"Links or hashes of photos and documents; at most 20." example:"[\"ipfs://QmevidenceformX12\"]"`
}

// KitchenTestPeriod is when a test was made.
type KitchenTestPeriod struct {
	StartDate    string `json:"startDate" format:"date" example:"2024-02-01"`
	EndDate      string `json:"endDate" format:"date" example:"2024-02-04"`
	DurationDays int    `json:"durationDays,omitzero" doc:"From the first day to the last one, with or without the first; computed when it is left out." example:"3"`
}

// KitchenTestFuel is what was weighed.
type KitchenTestFuel struct {
	Fuel      string    `json:"fuel,omitzero" doc:"Small letters, digits and _; wood by default. Each fuel is a test of its own." example:"wood"`
	Unit      string    `json:"unit,omitzero" enum:"kg,l,kWh,MJ" doc:"kg by default."`
	Total     float64   `json:"total" doc:"The sum of dailyLogs; it may differ by 0.1 %." example:"11.9"`
	DailyLogs []float64 `json:"dailyLogs" doc:"One for each day, of at least three and at most 60 days. A day may have 0." example:"[3.2,2.8,3.0,2.9]"`
}

// KitchenTestPeople are the people a household cooks for.
type KitchenTestPeople struct {
	Children float64 `json:"children,omitzero" doc:"Under 15 years: 0.5 standard adults each." example:"2"`
	Women    float64 `json:"women,omitzero" doc:"From 15 years: 0.8 each." example:"1"`
	Men      float64 `json:"men,omitzero" doc:"From 15 to 59 years: 1 each." example:"1"`
	OldMen   float64 `json:"oldMen,omitzero" doc:"From 60 years: 0.8 each."`
}

// KitchenTestChoice is how a household was chosen for a test.
type KitchenTestChoice struct {
	Method   string `json:"method" enum:"simple_random,systematic,stratified,cluster,multistage,census,purposive" example:"simple_random"`
	DesignID string `json:"designId,omitzero" doc:"The sample design of the project it was drawn by."`
	Document string `json:"document,omitzero" doc:"Where the draw is documented: a link, a hash or the name of a record." example:"MADD 4.2, draw of 20 January"`
}

// KitchenTestFactors are other influences on the fuel used.
type KitchenTestFactors struct {
	Season              string   `json:"season,omitzero" example:"dry"`
	CulturalEvents      []string `json:"culturalEvents,omitzero" doc:"At most 20." example:"[\"none\"]"`
	OccupationalFactors []string `json:"occupationalFactors,omitzero" doc:"At most 20." example:"[\"typical_workweek\"]"`
}

// KitchenTestSession is one cooking session.
type KitchenTestSession struct {
	StartedAt time.Time `json:"startedAt,omitzero"`
	Minutes   float64   `json:"minutes,omitzero" example:"45"`
	Device    string    `json:"device,omitzero" doc:"What was cooked on." example:"improved"`
	Meal      string    `json:"meal,omitzero" example:"supper"`
}

// KitchenTest is a recorded test.
type KitchenTest struct {
	KitchenTestDraft
	Status           string           `json:"status" enum:"recorded,withdrawn,erased" doc:"Only recorded tests are in figures. Of an erased household stays that there was a test."`
	Days             int              `json:"days,omitzero" doc:"Days that were logged."`
	PerDay           *float64         `json:"perDay,omitzero" doc:"total over days."`
	PerHeadDay       *float64         `json:"perHeadDay,omitzero"`
	AdultEquivalents *float64         `json:"adultEquivalents,omitzero" doc:"Standard adults that is cooked for."`
	PerAdultDay      *float64         `json:"perAdultDay,omitzero" doc:"Per standard adult and day."`
	Warnings         []string         `json:"warnings,omitzero" doc:"What the test lacks, and what follows."`
	RecordedBy       string           `json:"recordedBy,omitzero" doc:"A name stands in place of the DID without the scope responses:pii."`
	Created          time.Time        `json:"created"`
	Updated          time.Time        `json:"updated"`
	Reason           string           `json:"reason,omitzero" doc:"Why it was corrected or withdrawn last."`
	Revision         int64            `json:"revision"`
	Masked           bool             `json:"masked,omitzero" doc:"householdId is a name, and evidence and cookingSessions are not shown: the key lacks responses:pii, and its principal has not recorded the test."`
	Links            KitchenTestLinks `json:"links"`
}

// KitchenTestLinks are the addresses of a test.
type KitchenTestLinks struct {
	Self    string `json:"self"`
	History string `json:"history"`
}

// KitchenTestRevision is an earlier state of a test, and why it changed.
type KitchenTestRevision struct {
	Revision int64        `json:"revision"`
	At       time.Time    `json:"at"`
	By       string       `json:"by,omitzero"`
	Reason   string       `json:"reason,omitzero"`
	Test     *KitchenTest `json:"test,omitzero" doc:"Absent of an erased household."`
}

// KitchenTestAnalysis is what the tests of a project say about its fuel.
type KitchenTestAnalysis struct {
	ProjectID  string             `json:"projectId"`
	Fuel       string             `json:"fuel"`
	Unit       string             `json:"unit,omitzero"`
	Per        string             `json:"per" enum:"household,head,adult" doc:"What the fuel of a day is per."`
	From       string             `json:"from,omitzero"`
	To         string             `json:"to,omitzero"`
	Confidence float64            `json:"confidence" example:"0.9"`
	Tail       string             `json:"tail" enum:"two,one"`
	Target     float64            `json:"target" doc:"The relative precision aimed at." example:"0.1"`
	Formula    string             `json:"formula" doc:"How the figures come about."`
	Groups     []KitchenTestGroup `json:"groups"`
	Saving     *KitchenTestSaving `json:"saving,omitzero" doc:"reference less intervention; absent without both."`
	LeftOut    KitchenTestLeftOut `json:"leftOut"`
	Remarks    []string           `json:"remarks,omitzero"`
}

// KitchenTestGroup is the figure of a group. n counts households.
type KitchenTestGroup struct {
	Group string `json:"group" enum:"reference,intervention"`
	SurveyEstimate
	SD    *float64 `json:"sd,omitzero" doc:"Between households."`
	Tests int      `json:"tests" doc:"Tests it comes from; a household with several counts once."`
	Start string   `json:"start,omitzero" doc:"First day of its tests."`
	End   string   `json:"end,omitzero" doc:"Last day of its tests."`
}

// KitchenTestSaving is the difference between the groups.
type KitchenTestSaving struct {
	SurveyDifference
	Share *float64 `json:"share,omitzero" doc:"The saving over the figure of the reference group."`
}

// KitchenTestLeftOut says which recorded tests are in no figure, and why.
type KitchenTestLeftOut struct {
	Undocumented  int `json:"undocumented" doc:"Their random selection is not documented."`
	NotConcurrent int `json:"notConcurrent" doc:"The other group was not tested at the same time."`
	WithoutPeople int `json:"withoutPeople" doc:"Nobody said for how many is cooked, which figures per head need."`
}
