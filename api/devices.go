package api

import "time"

// Reading is what a device measured at a time. It has a temperature, the
// device's own report, values, or several of them.
type Reading struct {
	Timestamp    time.Time          `json:"timestamp"`
	Temperature  *float64           `json:"temperature,omitzero" doc:"°C." example:"85.4"`
	CookingEvent *bool              `json:"cookingEvent,omitzero"`
	Duration     *float64           `json:"duration,omitzero"` // seconds
	Values       map[string]float64 `json:"values,omitzero"`   // further channels

	Contradiction bool `json:"contradiction,omitzero" doc:"cookingEvent contradicts the temperature, which decides."`
}

// ReadingOutcome is the result of sending a batch.
type ReadingOutcome struct {
	Accepted      int               `json:"accepted" doc:"Readings stored now."`
	Duplicates    int               `json:"duplicates" doc:"Readings that were stored before, or were in the batch twice."`
	Conflicts     []ReadingConflict `json:"conflicts" doc:"Readings that were left out because another one is stored; only with onConflict=skip and of files, the first 100 of a file."`
	Refused       []ReadingRefusal  `json:"refused" doc:"Readings that are not valid and were left out, the first 100 in the order of the batch. Correct them and send them again, with or without the others."`
	RefusedCount  int               `json:"refusedCount,omitzero" doc:"How many were left out."`
	Gaps          []ReadingGap      `json:"gaps" doc:"Gaps this batch has brought, the first 100."`
	MoreGaps      bool              `json:"moreGaps,omitzero" doc:"There are more than are shown here."`
	LastReadingAt time.Time         `json:"lastReadingAt,omitzero" doc:"Time of the newest reading of the device."`

	Contradictions int `json:"contradictions,omitzero" doc:"Readings of the batch whose cookingEvent contradicts their temperature, which decides."`
}

// ReadingRefusal is a reading that was refused.
type ReadingRefusal struct {
	Index  int     `json:"index" doc:"Place in the batch, from 0; in a file the line, from 1."`
	Errors []Field `json:"errors" doc:"Everything that is wrong with it."`
}

// ReadingCorrection is a change of a stored reading.
type ReadingCorrection struct {
	Timestamp time.Time `json:"timestamp" doc:"Time of the reading."`
	Was       *Reading  `json:"was,omitzero" doc:"Its old value; absent where a withdrawn reading came back."`
	Withdrawn bool      `json:"withdrawn,omitzero" doc:"There is no longer a reading for this time."`
	Reason    string    `json:"reason"`
	By        string    `json:"by" doc:"DID of who changed it."`
	Time      time.Time `json:"time" doc:"When it was changed."`
}

// CorrectionOutcome is the result of a correction.
type CorrectionOutcome struct {
	Corrected int `json:"corrected" doc:"Readings whose value changed."`
	Withdrawn int `json:"withdrawn" doc:"Readings that are gone."`
	Unchanged int `json:"unchanged" doc:"Readings that had this value already."`
}

// ReadingConflict is a reading that differs from the stored one for the same
// time.
type ReadingConflict struct {
	Index     int       `json:"index" doc:"Place in the batch, from 0; in a file the line, from 1."`
	Timestamp time.Time `json:"timestamp"`
	Stored    Reading   `json:"stored"`
}

// ReadingGap is a time without readings.
type ReadingGap struct {
	From    time.Time `json:"from" doc:"Time of the reading before it."`
	To      time.Time `json:"to" doc:"Time of the reading after it; now, for one that is still open."`
	Seconds float64   `json:"seconds" example:"3600"`
	Missing int64     `json:"missing" doc:"How many readings are missing at the sampling rate." example:"11"`
	Open    bool      `json:"open,omitzero" doc:"No later reading has come yet."`
}

// CookingEvent is a time in which a stove was hot.
type CookingEvent struct {
	Start           time.Time `json:"start" doc:"Time of the first reading at or above the threshold; earlier, where the device says how long it had been cooking."`
	End             time.Time `json:"end" doc:"When the last such reading was over: at the next reading, at most one sampling interval later; at once where it came with a duration that counts."`
	DurationSeconds float64   `json:"durationSeconds" example:"1800"`
	MaxTemperature  float64   `json:"maxTemperature,omitzero" doc:"Absent when the device reported no temperature." example:"85.4"`
	MeanTemperature float64   `json:"meanTemperature,omitzero" doc:"Of all its readings, rounded to hundredths." example:"79.25"`
	Readings        int       `json:"readings" doc:"How many readings it is based on."`
	Confidence      float64   `json:"confidence" doc:"Share of the readings that were to be expected at the sampling rate, 0 to 1. Time that the device itself reports counts as covered."`
	Basis           string    `json:"basis" enum:"temperature,device,both" doc:"What it is based on: temperatures, reports of the device itself, or both."`
	Contradictions  int       `json:"contradictions,omitzero" doc:"Its readings in which the report of the device contradicts its temperature."`
	Truncated       bool      `json:"truncated" doc:"No later reading shows its end yet, or it went on for more than a day past the range."`
}

// Usage is what a device saw on one day in one place. A device that was moved
// during the day has several.
type Usage struct {
	Day            string  `json:"day" doc:"Day of UTC." example:"2024-02-20"`
	DeviceID       string  `json:"deviceId" doc:"DID of the monitor."`
	StoveID        string  `json:"stoveId,omitzero" doc:"DID of the stove it was on."`
	HouseholdID    string  `json:"householdId,omitzero" doc:"DID of the household it was in."`
	Readings       int64   `json:"readings" example:"288"`
	Completeness   float64 `json:"completeness" doc:"Share of the readings that were to be expected, 0 to 1."`
	Events         int64   `json:"events" doc:"Cooking events that begin on this day." example:"3"`
	CookingMinutes float64 `json:"cookingMinutes" doc:"Of the day, also of events that began the day before." example:"95"`
	Contradictions int64   `json:"contradictions,omitzero" doc:"Readings in which the report of the device contradicts its temperature."`
}

// DeviceStatus is the state of a device, as far as it is known.
type DeviceStatus struct {
	DeviceID       string       `json:"deviceId"`
	StoveID        string       `json:"stoveId,omitzero"`
	LastReadingAt  time.Time    `json:"lastReadingAt,omitzero"`
	LastReceivedAt time.Time    `json:"lastReceivedAt,omitzero" doc:"When a batch last came."`
	Battery        *float64     `json:"battery,omitzero" doc:"Percent." example:"92"`
	Signal         string       `json:"signal,omitzero" example:"strong"`
	LastSync       time.Time    `json:"lastSync,omitzero" doc:"When the device says it last sent."`
	Completeness   Completeness `json:"completeness"`
}

// SchemaName is its name in the reference: DeviceStatus is what generators make
// of the member status of Device.
func (DeviceStatus) SchemaName() string { return "DeviceHealth" }

// Completeness is the share of expected readings that exist, 0 to 1.
type Completeness struct {
	LastDay   *float64 `json:"last24Hours,omitzero" doc:"0 to 1; absent while there is no reading."`
	LastMonth *float64 `json:"last30Days,omitzero"`
}

// DeviceLinks are the addresses of a device.
type DeviceLinks struct {
	Self     string `json:"self"`
	Entity   string `json:"entity" doc:"The twin."`
	Readings string `json:"readings"`
	Events   string `json:"events"`
	Gaps     string `json:"gaps"`
	Status   string `json:"status"`
}
