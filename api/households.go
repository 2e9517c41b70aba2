package api

import "time"

// Stacking is the use of several stoves of a household at once.
type Stacking struct {
	HouseholdID    string        `json:"householdId"`
	From           time.Time     `json:"from"`
	To             time.Time     `json:"to"`
	Devices        []StoveUse    `json:"devices" doc:"What was compared: the 20 devices linked last, once for each stay in the household on one stove."`
	MoreDevices    bool          `json:"moreDevices,omitzero" doc:"There are devices that were not looked at."`
	Overlaps       []Overlap     `json:"overlaps" doc:"Times at which two or more stoves were hot, the first 1000."`
	MoreOverlaps   bool          `json:"moreOverlaps,omitzero"`
	OverlapMinutes float64       `json:"overlapMinutes" doc:"All of them together."`
	Days           StackingShare `json:"days"`
}

// StoveUse is what one device saw.
type StoveUse struct {
	DID            string  `json:"did"`
	StoveID        string  `json:"stoveId,omitzero"`
	StoveType      string  `json:"stoveType,omitzero" doc:"Type of the stove's twin, when it is held here."`
	Events         int     `json:"events" doc:"Cooking events that reach into the range."`
	CookingMinutes float64 `json:"cookingMinutes"`
	Readings       int     `json:"readings" doc:"Readings this is based on."`
}

// Overlap is a time in which two or more stoves were hot.
type Overlap struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Minutes float64   `json:"minutes" example:"25"`
	Devices []string  `json:"devices" doc:"Monitors that saw it, in order of their DIDs."`
	Stoves  []string  `json:"stoves" doc:"The stoves; a monitor without a stove stands for one."`
}

// StackingShare counts days of UTC.
type StackingShare struct {
	Observed int     `json:"observed" doc:"Days with at least one reading."`
	Stacking int     `json:"stacking" doc:"Days on which two or more stoves were hot at once."`
	Several  int     `json:"severalStoves" doc:"Days on which two or more stoves were used, at once or not."`
	Share    float64 `json:"share" doc:"Days with stacking, of the days observed; 0 to 1." example:"0.32"`
}

// HouseholdLinks are the addresses of a household.
type HouseholdLinks struct {
	Self     string `json:"self"`
	Entity   string `json:"entity" doc:"The twin."`
	Devices  string `json:"devices"`
	Stacking string `json:"stacking"`
}
