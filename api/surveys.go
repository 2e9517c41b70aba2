package api

import "time"

// CollectorTraining is how a collector was trained.
type CollectorTraining struct {
	CompletedAt time.Time `json:"completedAt,omitzero"`
	Note        string    `json:"note,omitzero"`
}

// SurveyTraining is how collectors are prepared.
type SurveyTraining struct {
	Summary   string   `json:"summary,omitzero" doc:"What was taught, and how."`
	Materials []string `json:"materials,omitzero" doc:"Where the materials are, at most 50."`
	Required  bool     `json:"required,omitzero" doc:"The campaign starts only when every named collector has training.completedAt."`
}

// SurveyWindow is when answers are collected.
type SurveyWindow struct {
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// SurveyRecurrence is how often a round is planned.
type SurveyRecurrence struct {
	Every int    `json:"every" example:"3"`
	Unit  string `json:"unit" enum:"day,week,month,year" example:"month"` // day, week, month or year
}

// SurveyEligibility says which responses count.
type SurveyEligibility struct {
	Expression string `json:"expression" doc:"CEL over the answers, household and response; evaluated for each response." example:"household.group != 'comparison'"`
}

// SurveyPolicy is how responses are verified.
type SurveyPolicy struct {
	Mode         string   `json:"mode,omitzero" enum:"manual,auto" doc:"auto: a complete response that no rule of autoRules flags is verified by the server; manual by default."`
	MinReviewers int      `json:"minReviewers,omitzero" doc:"1 or 2; 1 by default."`
	AutoRules    []string `json:"autoRules,omitzero" doc:"Flags that keep a response from being verified by the server; any flag when empty." example:"[\"duration_short\"]"`
}

// SurveyAssignment assigns households to a collector.
type SurveyAssignment struct {
	Collector  string   `json:"collector" doc:"DID of the collector." example:"did:ixo:agent/123"`
	Strata     []string `json:"strata,omitzero" doc:"At most 100."`
	Areas      []string `json:"areas,omitzero" doc:"At most 100."`
	Households []string `json:"households,omitzero" doc:"DIDs; 1,000 in all assignments together. Longer lists: set collector of the households."`
	Load       int      `json:"load,omitzero" doc:"Share of the households that others could visit too, 1 to 100,000; 1 by default." example:"1"`
}

// SurveyRound is one pass over the households.
type SurveyRound struct {
	Round    int           `json:"round"`
	Name     string        `json:"name,omitzero" example:"2026 Q3"`
	Opened   time.Time     `json:"opened"`
	OpenedBy string        `json:"openedBy"`
	Closed   time.Time     `json:"closed,omitzero" doc:"When the next round was opened."`
	Window   *SurveyWindow `json:"window,omitzero"`
}

// SurveyLinks are the addresses of what belongs to a campaign.
type SurveyLinks struct {
	Self       string `json:"self"`
	Responses  string `json:"responses"`
	Template   string `json:"template"`
	Sampling   string `json:"sampling" doc:"The households that make the sample."`
	Activate   string `json:"activate"`
	Households string `json:"households"`
	Collectors string `json:"collectors"`
	Progress   string `json:"progress"`
	Quality    string `json:"quality"`
	Flags      string `json:"flags"`
	BackChecks string `json:"backChecks"`
	Exports    string `json:"exports"`
	History    string `json:"history"`
}

// SurveyTally is the progress of a part of a round.
type SurveyTally struct {
	Target      int64 `json:"target,omitzero" doc:"How many are wanted, where that was said."`
	Drawn       int64 `json:"drawn" doc:"Households on the list."`
	Contacted   int64 `json:"contacted" doc:"Households somebody was reached at: those that answered or refused, too, also where they are not on the list."`
	Completed   int64 `json:"completed" doc:"Complete responses."`
	Partial     int64 `json:"partial" doc:"Responses that are not complete."`
	Verified    int64 `json:"verified"`
	Rejected    int64 `json:"rejected"`
	Flagged     int64 `json:"flagged"`
	Refused     int64 `json:"refused" doc:"Households that refused, to somebody who noted it or in a response."`
	Unreachable int64 `json:"unreachable"`
	Ineligible  int64 `json:"ineligible" doc:"Households that are not eligible, as somebody noted or as the rule of the survey says about their response, which is counted above too."`
}

// SurveyProgress is the progress of a round.
type SurveyProgress struct {
	SurveyTally
	ByStratum map[string]SurveyTally `json:"byStratum"`
	ByGroup   map[string]SurveyTally `json:"byGroup"`
	Warnings  []string               `json:"warnings,omitzero" doc:"What to look at: a sample that is larger than the list of households."`
}

// SurveyReport is the progress of a round in full detail.
type SurveyReport struct {
	SurveyID string `json:"surveyId"`
	Status   string `json:"status"`
	Round    int    `json:"round"`
	SurveyProgress
	Cells []SurveyCell `json:"cells" doc:"By stratum and group together."`
	Days  []SurveyDay  `json:"days" doc:"The days on which something was submitted, oldest first; the last 400 at most."`
}

// SurveyDay counts what was submitted on a day, without what was superseded,
// invalidated or redacted since.
type SurveyDay struct {
	Day       string `json:"day" format:"date" doc:"In UTC." example:"2026-02-20"`
	Completed int64  `json:"completed" doc:"Complete responses."`
	Partial   int64  `json:"partial" doc:"Responses that are not complete."`
	Refused   int64  `json:"refused" doc:"Responses that refuse consent."`
}

// SurveyClone is what a copy has of its own.
type SurveyClone struct {
	SurveyID        string        `json:"surveyId,omitzero" doc:"Made by the server when absent." example:"baseline-2027"`
	Name            string        `json:"name,omitzero"`
	ProjectID       string        `json:"projectId,omitzero" doc:"That of the original by default."`
	TemplateVersion int           `json:"templateVersion,omitzero" doc:"That of the original by default."`
	Window          *SurveyWindow `json:"window,omitzero" doc:"None by default."`
}

// NextRound describes the round to open.
type NextRound struct {
	Name   string        `json:"name,omitzero" example:"2026 Q4"`
	Window *SurveyWindow `json:"window,omitzero" doc:"That of the survey by default."`
	Reason string        `json:"reason,omitzero"`
}

// SurveyRounds is the rounds of a campaign.
type SurveyRounds struct {
	Round int           `json:"round" doc:"The one that is open."`
	Items []SurveyRound `json:"items"`
}

// SurveyRevision is a line of the history.
type SurveyRevision struct {
	Revision  int64     `json:"revision"`
	At        time.Time `json:"at"`
	Action    string    `json:"action" example:"activated"`
	Actor     string    `json:"actor" doc:"DID of the person who did it."`
	RequestID string    `json:"requestId,omitzero"`
	Reason    string    `json:"reason,omitzero"`
	Link      string    `json:"link" doc:"The record as it was."`
}

// SurveyMethodology is the rule set the results are for.
type SurveyMethodology struct {
	ID        string `json:"id" doc:"Its name, or the DID of its protocol: then the survey takes over the precision that the protocol asks for." example:"GS-SMEC"`
	Version   string `json:"version,omitzero" example:"4.0"`
	ClaimType string `json:"claimType,omitzero" doc:"The type of claims of the protocol that the results are for, where several have a precision." example:"fuelUse"`
}

// SurveyStratum is a part of the population.
type SurveyStratum struct {
	Name       string   `json:"name" example:"rural"`
	Population *float64 `json:"population,omitzero"`
	Size       *float64 `json:"size,omitzero" doc:"How many of the sample are in it."`
	Weight     *float64 `json:"weight,omitzero" doc:"Its share of the population, from 0 to 1."`
}

// SurveyCell is one stratum and group.
type SurveyCell struct {
	Stratum string `json:"stratum"`
	Group   string `json:"group"`
	SurveyTally
}

// SamplingStage is one step of a multi-stage sample.
type SamplingStage struct {
	Unit   string               `json:"unit" doc:"What is drawn in it." example:"village"`
	Units  *float64             `json:"units,omitzero" doc:"How many there are in all." example:"120"`
	Drawn  *float64             `json:"drawn,omitzero" doc:"How many of them were drawn." example:"24"`
	Strata []SurveyStageStratum `json:"strata,omitzero" doc:"The same for each stratum, when the sample has strata."`
}

// SurveyStageStratum is a stage in one stratum.
type SurveyStageStratum struct {
	Name  string   `json:"name" example:"rural"`
	Units *float64 `json:"units,omitzero" doc:"How many there are in all."`
	Drawn *float64 `json:"drawn,omitzero" doc:"How many of them were drawn."`
}

// SurveyCluster is a first-stage unit of a sample.
type SurveyCluster struct {
	Name    string   `json:"name" example:"Kibera North"`
	Stratum string   `json:"stratum,omitzero" example:"rural"`
	Size    *float64 `json:"size,omitzero" doc:"How many households it has." example:"64"`
}

// SurveyTotal is a known total of the whole population, for calibration.
type SurveyTotal struct {
	By     string             `json:"by" doc:"What the totals are of: group, stratum, or a question as section/question." example:"group"`
	Values map[string]float64 `json:"values" doc:"How many households of the population have each value; at most 200." example:"{\"adopter\":3100,\"comparison\":1900}"`
	Source string             `json:"source,omitzero" doc:"Where they are from." example:"Census 2024"`
}

// SurveyElsewhere records a draw that was made by other means.
type SurveyElsewhere struct {
	Method       string    `json:"method" doc:"How it was drawn." example:"R survey 4.1, stratified without replacement"`
	By           string    `json:"by" doc:"Who has drawn it: a DID or a name." example:"did:ixo:org/auditor"`
	At           time.Time `json:"at" doc:"When."`
	DocumentHash string    `json:"documentHash" doc:"SHA-256 of the document about it, 64 hex digits." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Remark       string    `json:"remark,omitzero"`
}

// SurveyDraw is the draw that made the list of a survey.
type SurveyDraw struct {
	DrawID    string    `json:"drawId"`
	Version   int       `json:"version" doc:"Of the design."`
	FrameHash string    `json:"frameHash"`
	SoleSeed  bool      `json:"soleSeed,omitzero" doc:"One party alone has named the seed, so nothing shows that it was not chosen for its sample."`
	At        time.Time `json:"at"`
}
