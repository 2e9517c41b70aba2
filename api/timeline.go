package api

import "time"

// TimelineItem is something that happened to a twin. Its members depend on its
// source.
type TimelineItem struct {
	At     time.Time `json:"at" doc:"When it happened; for readings the beginning of the day (UTC)."`
	Source string    `json:"source" enum:"revisions,relationships,interviews,readings,line"`
	Kind   string    `json:"kind" doc:"Of revisions the action; began, ended, or claim for a claim it produced; interview; day; registered; call." example:"began"`
	ID     string    `json:"id" doc:"Number of the revision; id of the relationship or response; of readings the day; the Customer ID of the person who registered; the id of the call." example:"rel_7310428377145344"`
	Link   string    `json:"link" doc:"Where to read it; for what has ended, the other twin." example:"/v1/entities/did:ixo:device%2Fstove-7"`

	Actor  string `json:"actor,omitzero" doc:"DID of whoever did it; of an interview the collector."`
	Reason string `json:"reason,omitzero" doc:"Why, where it was said."`
	Role   string `json:"role,omitzero" doc:"Of a relationship, as the twin sees it." example:"household"`
	Other  string `json:"other,omitzero" doc:"DID of the other twin of a relationship, of the device of readings, or of the person who registered or whose number called."`

	Direction string    `json:"direction,omitzero" enum:"out,in" doc:"in: the other twin has the relationship."`
	Since     time.Time `json:"since,omitzero" doc:"From when on the relationship holds, where it was said."`

	Survey  string `json:"survey,omitzero" doc:"surveyId of an interview."`
	Round   int    `json:"round,omitzero" doc:"Round of the survey."`
	Status  string `json:"status,omitzero" doc:"Of an interview: complete, partial or refused. Of a call how it ended: ended, hung_up or expired."`
	Verdict string `json:"verdict,omitzero" doc:"Where the verification of an interview stands." example:"verified"`

	Readings       int64   `json:"readings,omitzero" doc:"How many readings the day has."`
	Events         int64   `json:"events,omitzero" doc:"Cooking events that began on the day."`
	CookingMinutes float64 `json:"cookingMinutes,omitzero"`
}

// Timeline is a page of what happened to a twin, newest first.
type Timeline struct {
	Items    []TimelineItem `json:"items"`
	Page     PageInfo       `json:"page"`
	Withheld []string       `json:"withheld,omitzero" doc:"Sources that you may not read, or not all of." example:"interviews"`
}
