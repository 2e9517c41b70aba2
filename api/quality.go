package api

import "time"

// CollectorSum is the total of one collector's interviews.
type CollectorSum struct {
	Collector  string  `json:"collector"`
	Interviews int64   `json:"interviews" doc:"That answered the question."`
	Value      float64 `json:"value" doc:"Mean, in which no single answer weighs much, or share."`
}

// QualityTemplate says whether the questions were reviewed in time.
type QualityTemplate struct {
	TemplateID    string    `json:"templateId"`
	Version       int       `json:"version" doc:"The one the survey has pinned."`
	ReviewDue     time.Time `json:"reviewDue,omitzero" doc:"When its suitability is to be looked at again."`
	ReviewOverdue bool      `json:"reviewOverdue"`
}

// QualityLinks are the addresses around a report.
type QualityLinks struct {
	Survey     string `json:"survey"`
	Responses  string `json:"responses"`
	Flags      string `json:"flags"`
	Rules      string `json:"rules"`
	Runs       string `json:"runs"`
	BackChecks string `json:"backChecks"`
}

// BackCheckRates are the error rates of back-checks.
type BackCheckRates struct {
	Drawn   int64           `json:"drawn" doc:"Responses that are to be asked again, those that were too."`
	Done    int64           `json:"done" doc:"With an outcome, whatever it is: done, refused or unreachable."`
	Classes []BackCheckRate `json:"classes" doc:"By the backCheckClass of questions: 1 never changes, 2 should not, 3 may."`
}

// BackCheckRate is the error rate for the questions of a class.
type BackCheckRate struct {
	Class    int     `json:"class" enum:"1,2,3"` // 1, 2 or 3
	Compared int64   `json:"compared" doc:"Questions that were asked again."`
	Errors   int64   `json:"errors" doc:"Those whose answers differ."`
	Rate     float64 `json:"rate" doc:"Errors of those compared; 0 when there are none."`
}

// QualityReport is how good the data of a round are.
type QualityReport struct {
	SurveyID   string            `json:"surveyId"`
	Round      int               `json:"round"`
	Live       bool              `json:"live" doc:"Responses and flags were counted for this answer. Of more than 1,000 responses they are those of the last run."`
	Run        *QualityRun       `json:"run,omitzero" doc:"The last run of the checks over many responses; absent before the first."`
	Households QualityHouseholds `json:"households" doc:"As the list of households has them."`
	QualityFindings
	Template   QualityTemplate `json:"template"`
	BackChecks BackCheckRates  `json:"backChecks"`
	Links      QualityLinks    `json:"links"`
}

// QualityFlag is a flag and the response it is on.
type QualityFlag struct {
	ResponseID   string          `json:"responseId"`
	RecordID     string          `json:"recordId" doc:"The recordId of the response; the same in every read and export."`
	Collector    string          `json:"collector"`
	Round        int             `json:"round"`
	Rule         string          `json:"rule" example:"duration_short"`
	Question     string          `json:"question,omitzero" doc:"Pointer of the answer it is about."`
	Detail       string          `json:"detail" doc:"A sentence for people."`
	Value        float64         `json:"value,omitzero" doc:"What was measured."`
	Limit        float64         `json:"limit,omitzero" doc:"What was expected."`
	Source       string          `json:"source" doc:"submit for the checks of one response, or the run that has found it."`
	At           time.Time       `json:"at" doc:"When it was found."`
	Verification string          `json:"verification" doc:"State of the verification."`
	Settled      *FlagSettlement `json:"settled,omitzero" doc:"What somebody has found out about it; absent while it is open."`
	Links        FlagLinks       `json:"links"`
}

// FlagSettlement is what was found out about a flag.
type FlagSettlement struct {
	Outcome  string    `json:"outcome" enum:"explained,confirmed"`
	Note     string    `json:"note,omitzero" doc:"What was found; taken out when the household is erased." example:"The collector helped a second household nearby."`
	By       string    `json:"by" doc:"DID of whoever settled it."`
	At       time.Time `json:"at"`
	Revision int64     `json:"revision" doc:"To send with the next change of it."`
}

// FlagOutcome settles a flag, or opens it again.
type FlagOutcome struct {
	ResponseID string `json:"responseId" doc:"The response that has the flag." example:"res_7310428377145344"`
	Rule       string `json:"rule" doc:"The check." example:"duration_short"`
	Question   string `json:"question,omitzero" doc:"Pointer of the answer, if the flag has one."`
	Outcome    string `json:"outcome" enum:"explained,confirmed,open" doc:"open takes a settlement back."`
	Note       string `json:"note,omitzero" maxLength:"1000" doc:"What was found; needed unless the flag is opened again." example:"The tablet's clock was wrong; the interview took 31 minutes."`
	Revision   int64  `json:"revision,omitzero" doc:"Revision of the settlement you have read; 0 where there is none."`
}

// FlagLinks are the addresses around a flag.
type FlagLinks struct {
	Response     string `json:"response"`
	Verification string `json:"verification"`
}

// DrawDraft asks for a draw of responses to ask again: a Share of each
// collector, or a Size of all.
type DrawDraft struct {
	Seed         string  `json:"seed" doc:"Any text of 200 characters or fewer. The same seed draws the same responses; name it before the interviews, or take a public random number." example:"lottery-2026-03-01"`
	Share        float64 `json:"share,omitzero" doc:"Share of the responses of each collector, more than 0 and at most 1; or size." example:"0.1"`
	Size         int     `json:"size,omitzero" doc:"How many in all, in proportion to the collectors, at most 5,000; or share."`
	PerCollector int     `json:"perCollector,omitzero" doc:"Fewest of each collector, as far as there are so many." example:"2"`
	Round        int     `json:"round,omitzero" doc:"The open round by default."`
	VerifiedOnly bool    `json:"verifiedOnly,omitzero" doc:"Draw verified responses only."`
}

// Draw is a draw of responses to ask again.
type Draw struct {
	DrawID     string          `json:"drawId" example:"drw_7310428377145344"`
	SurveyID   string          `json:"surveyId"`
	Method     string          `json:"method" doc:"How to repeat it."`
	Salt       string          `json:"salt" doc:"Made by the server when the draw was asked for: nobody could choose ids or a seed by what they would draw."`
	Population int             `json:"population" doc:"Complete responses that could be drawn."`
	Drawn      int             `json:"drawn"`
	Collectors []DrawCollector `json:"collectors" doc:"By DID."`
	By         string          `json:"by" doc:"DID of the requester."`
	At         time.Time       `json:"at"`
	DrawDraft
	Links DrawLinks `json:"links"`
}

// DrawCollector is what was drawn of one collector.
type DrawCollector struct {
	Collector  string `json:"collector"`
	Population int    `json:"population"`
	Drawn      int    `json:"drawn"`
}

// BackCheckLinks are the addresses around a back-check.
type BackCheckLinks struct {
	Self     string `json:"self"`
	Response string `json:"response"`
	Template string `json:"template" doc:"The version the survey uses."`
}

// QualityRun is the last run of the checks over many responses.
type QualityRun struct {
	Job        string    `json:"job,omitzero" doc:"Address of the newest run that was asked for."`
	StartedAt  time.Time `json:"startedAt,omitzero" doc:"Of the newest run that has ended."`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	Responses  int64     `json:"responses" doc:"How many that one has counted."`
	Fresh      bool      `json:"fresh" doc:"No response has come since."`
}

// QualityHouseholds counts households that could not be interviewed.
type QualityHouseholds struct {
	Listed      int64 `json:"listed" doc:"On the list of the survey."`
	Refused     int64 `json:"refused" doc:"Of these refused, with or without a response."`
	Unreachable int64 `json:"unreachable" doc:"Of these nobody was met."`
}

// QualityDurations is how long interviews took.
type QualityDurations struct {
	Interviews    int64   `json:"interviews" doc:"Those whose length is known."`
	MedianSeconds float64 `json:"medianSeconds" doc:"Of more than 256 interviews that of a random sample of so many."`
	MeanSeconds   float64 `json:"meanSeconds"`
}

// CollectorQuality is the work of one collector.
type CollectorQuality struct {
	Collector  string           `json:"collector" doc:"DID, or a name without the scope responses:pii."`
	Interviews int64            `json:"interviews" doc:"Responses."`
	Complete   int64            `json:"complete"`
	Partial    int64            `json:"partial"`
	Refusals   int64            `json:"refusals" doc:"Responses whose consent question was answered with no."`
	Verified   int64            `json:"verified" doc:"Responses in this state now."`
	Rejected   int64            `json:"rejected"`
	Flagged    int64            `json:"flagged" doc:"Responses with at least one flag."`
	Flags      map[string]int64 `json:"flags" doc:"Flags by check; a response may have several of one check."`
	Duration   QualityDurations `json:"duration"`
	BackChecks *BackCheckRates  `json:"backChecks,omitzero" doc:"Of the collector's interviews; absent when none was drawn."`
	Links      CollectorLinks   `json:"links,omitzero"`
}

// CollectorEffect is a collector whose answers to a question differ from those
// of all others.
type CollectorEffect struct {
	Collector  string  `json:"collector" doc:"Who stands out."`
	Question   string  `json:"question" example:"/responses/cooking_patterns/fuel_cost_month"`
	Option     string  `json:"option,omitzero" doc:"Of a choice: the share that chose it is compared."`
	Collectors int     `json:"collectors" doc:"How many were compared, this one too."`
	Interviews int64   `json:"interviews" doc:"Of the collector that answered the question."`
	Value      float64 `json:"value" doc:"Mean of the collector, in which no single answer weighs much, or share."`
	Others     float64 `json:"others" doc:"Median of the means, or shares, of the other collectors."`
	Score      float64 `json:"score" doc:"Difference of the two in standard errors."`
	Limit      float64 `json:"limit" doc:"Scores beyond it, up or down, stand out. It grows with the number of comparisons."`
}

// CollectorDifference is a question that collectors have different answers to,
// though no single one stands out.
type CollectorDifference struct {
	Question   string       `json:"question" example:"/responses/cooking_patterns/fuel_cost_month"`
	Option     string       `json:"option,omitzero" doc:"Of a choice: the share that chose it is compared."`
	Collectors int          `json:"collectors" doc:"How many were compared."`
	Lowest     CollectorSum `json:"lowest" doc:"The collector with the smallest mean or share."`
	Highest    CollectorSum `json:"highest" doc:"The one with the largest."`
	Score      float64      `json:"score" doc:"The largest difference of one collector from the others, in standard errors."`
	Limit      float64      `json:"limit"`
}

// QualityFindings is what a run has found, besides flags.
type QualityFindings struct {
	QualityTally
	Effects     []CollectorEffect     `json:"effects" doc:"Collectors whose answers to a question differ from those of the others, the strongest first; their responses are flagged. The 200 strongest."`
	Differences []CollectorDifference `json:"differences" doc:"Questions that collectors have different answers to without one of them standing alone, the strongest first. Nobody is flagged for these. The 200 strongest."`
	Comparisons int                   `json:"comparisons" doc:"How many comparisons of a collector with the others the run has made: one for each question for a number, and each option of a choice. The limit of effects follows from it."`
	Notes       []string              `json:"notes,omitzero" doc:"What the bounds of the run have left out."`
}

// QualityTally counts the responses of a round. Superseded, invalidated and redacted
// ones are not counted.
type QualityTally struct {
	Responses      int64              `json:"responses"`
	Complete       int64              `json:"complete"`
	Partial        int64              `json:"partial"`
	Refusals       int64              `json:"refusals" doc:"Responses whose consent question was answered with no."`
	Flagged        int64              `json:"flagged" doc:"Responses with at least one flag."`
	FlaggedShare   float64            `json:"flaggedShare" doc:"flagged of responses; 0 when there are none."`
	Flags          map[string]int64   `json:"flags" doc:"Flags by check; a response may have several of one check."`
	Duration       QualityDurations   `json:"duration"`
	Collectors     []CollectorQuality `json:"collectors" doc:"By DID; the 500 with most interviews."`
	MoreCollectors bool               `json:"moreCollectors,omitzero" doc:"There are more than 500; they are in the sums only."`
}

// CollectorLinks are the addresses around the work of a collector.
type CollectorLinks struct {
	Flags string `json:"flags"`
}

// DrawLinks are the addresses around a draw.
type DrawLinks struct {
	BackChecks string `json:"backChecks"`
}
