package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Quality is the field quality of surveys: checks, flags and back-checks.
type Quality struct{ c *Client }

// Types of package api.
type (
	QualityReport       = api.QualityReport
	QualityRun          = api.QualityRun
	QualityHouseholds   = api.QualityHouseholds
	QualityDurations    = api.QualityDurations
	CollectorQuality    = api.CollectorQuality
	CollectorEffect     = api.CollectorEffect
	CollectorDifference = api.CollectorDifference
	CollectorSum        = api.CollectorSum
	QualityTemplate     = api.QualityTemplate
	QualityLinks        = api.QualityLinks
	BackCheckRates      = api.BackCheckRates
	BackCheckRate       = api.BackCheckRate
	QualityFlag         = api.QualityFlag
	FlagOutcome         = api.FlagOutcome
	FlagSettlement      = api.FlagSettlement
	FlagLinks           = api.FlagLinks
	DrawDraft           = api.DrawDraft
	Draw                = api.Draw
	DrawCollector       = api.DrawCollector
	BackCheckLinks      = api.BackCheckLinks
)

// Report reads how good the data of a round are; round 0 is the open one.
// Codes: SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (q Quality) Report(ctx context.Context, surveyID string, round int, opts ...Option) (*QualityReport, error) {
	v := url.Values{}
	setInt(v, "round", int64(round))
	return do[QualityReport](ctx, q.c, get(surveyPath(surveyID)+"/quality", v), opts)
}

// Run asks for the checks over all responses of a round; round 0 is the open
// one. Codes: SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (q Quality) Run(ctx context.Context, surveyID string, round int, opts ...Option) (*Job, error) {
	body := Object{}
	if round != 0 {
		body["round"] = round
	}
	return do[Job](ctx, q.c, post(surveyPath(surveyID)+"/quality/runs", body), opts)
}

// QualityRules are the limits of the checks of a survey. A member that is 0 has
// its default.
type QualityRules struct {
	MinSeconds       float64  `json:"minSeconds,omitzero"`
	SecondsPerAnswer float64  `json:"secondsPerAnswer,omitzero"`
	NightFrom        *int     `json:"nightFrom,omitzero"`
	NightTo          *int     `json:"nightTo,omitzero"`
	UTCOffsetMinutes *int     `json:"utcOffsetMinutes,omitzero"`
	MaxMetres        float64  `json:"maxMetres,omitzero"`
	SameAnswers      int      `json:"sameAnswers,omitzero"`
	Off              []string `json:"off,omitzero"` // checks that are not made
	OutlierZ         float64  `json:"outlierZ,omitzero"`
	OutlierAnswers   int      `json:"outlierAnswers,omitzero"`
	DuplicateMetres  float64  `json:"duplicateMetres,omitzero"`
	CopiedShare      float64  `json:"copiedShare,omitzero"`
	CopiedHours      float64  `json:"copiedHours,omitzero"`
	EffectZ          float64  `json:"effectZ,omitzero"`
	EffectInterviews int      `json:"effectInterviews,omitzero"`
}

// QualityRuleRecord is the rules of a survey as the server sends them.
type QualityRuleRecord struct {
	QualityRules
	SurveyID  string    `json:"surveyId"`
	Revision  int64     `json:"revision"` // 0 while the survey has no rules of its own
	Updated   time.Time `json:"updated,omitzero"`
	UpdatedBy string    `json:"updatedBy,omitzero"`
}

// Rules reads the limits of the checks. Code: SURVEY_NOT_FOUND.
func (q Quality) Rules(ctx context.Context, surveyID string, opts ...Option) (*QualityRuleRecord, error) {
	return do[QualityRuleRecord](ctx, q.c, get(surveyPath(surveyID)+"/quality/rules", nil), opts)
}

// SetRules sets the limits of the checks. IfRevision is required once the
// survey has rules. Codes: SURVEY_NOT_FOUND, QUALITY_RULES_INVALID,
// STALE_REVISION, PRECONDITION_REQUIRED.
func (q Quality) SetRules(ctx context.Context, surveyID string, r QualityRules, opts ...Option) (*QualityRuleRecord, error) {
	return do[QualityRuleRecord](ctx, q.c, put(surveyPath(surveyID)+"/quality/rules", r), opts)
}

// FlagQuery selects flags of a survey.
type FlagQuery struct {
	Rule      string
	Collector string
	Round     int
	Limit     int    // items in one page, 1 to 1000; 50 by default
	Cursor    string // NextCursor of the page before
}

func (q FlagQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "rule", q.Rule)
	set(v, "collector", q.Collector)
	setInt(v, "round", int64(q.Round))
	return v
}

// FlagPage reads one page of the flags of a survey, by check and response.
func (q Quality) FlagPage(ctx context.Context, surveyID string, f FlagQuery, opts ...Option) (*Page[QualityFlag], error) {
	return page[QualityFlag](ctx, q.c, surveyPath(surveyID)+"/flags", f.values(), opts)
}

// Flags walks over the flags of a survey, by check and response. An error ends
// it.
func (q Quality) Flags(ctx context.Context, surveyID string, f FlagQuery, opts ...Option) iter.Seq2[QualityFlag, error] {
	return pages[QualityFlag](ctx, q.c, surveyPath(surveyID)+"/flags", f.values(), opts)
}

// SettleFlag settles a flag of a response with a note, or opens it again. Codes:
// SURVEY_NOT_FOUND, FLAG_INVALID, FLAG_NOT_FOUND, VERIFIER_IS_COLLECTOR,
// STALE_REVISION.
func (q Quality) SettleFlag(ctx context.Context, surveyID string, o FlagOutcome, opts ...Option) (*QualityFlag, error) {
	return do[QualityFlag](ctx, q.c, post(surveyPath(surveyID)+"/flags:settle", o), opts)
}

// Draw draws responses to ask again; repeating the same draw changes nothing.
// Codes: SURVEY_NOT_FOUND, ROUND_NOT_FOUND, BACK_CHECK_INVALID,
// BACK_CHECK_QUESTIONS_MISSING, DRAW_EXISTS.
func (q Quality) Draw(ctx context.Context, surveyID string, d DrawDraft, opts ...Option) (*Draw, error) {
	return do[Draw](ctx, q.c, call{method: http.MethodPost, path: surveyPath(surveyID) + "/back-checks:draw", body: d, safe: true}, opts)
}

// BackCheck is a response that another person asks again.
type BackCheck struct {
	BackCheckID string              `json:"backCheckId"`
	DrawID      string              `json:"drawId"`
	SurveyID    string              `json:"surveyId"`
	Round       int                 `json:"round"`
	ResponseID  string              `json:"responseId"`
	RecordID    string              `json:"recordId"`             // of the response; the same in every read and export
	HouseholdID string              `json:"householdId,omitzero"` // whom to ask; a name without the scope responses:pii; not in lists
	Collector   string              `json:"collector"`
	State       string              `json:"state"` // drawn, done, refused or unreachable
	DrawnAt     time.Time           `json:"drawnAt"`
	DoneAt      time.Time           `json:"doneAt,omitzero"`
	By          string              `json:"by,omitzero"`
	Compared    int                 `json:"compared"`
	Errors      int                 `json:"errors"`
	Questions   []BackCheckQuestion `json:"questions,omitzero"` // of one that is done
	Ask         []BackCheckQuestion `json:"ask,omitzero"`       // of one that is not
	Links       BackCheckLinks      `json:"links"`
}

// BackCheckQuestion is a question that is asked again.
type BackCheckQuestion struct {
	Question string `json:"question"`
	Class    int    `json:"class"` // 1 never changes, 2 should not, 3 may
	Match    bool   `json:"match,omitzero"`
	Type     string `json:"type,omitzero"`
	Label    any    `json:"label,omitzero"`   // a string, or language → string
	Options  []any  `json:"options,omitzero"` // values, or objects with value and label
	Rows     []any  `json:"rows,omitzero"`    // of a matrix
}

// BackCheckOutcome is the result of asking again. The answers are compared and
// not kept.
type BackCheckOutcome struct {
	Responses Answers `json:"responses,omitzero"`
	Outcome   string  `json:"outcome,omitzero"` // done (the default), refused or unreachable
	By        string  `json:"by,omitzero"`      // DID; you by default
}

func backCheckPath(surveyID, id string) string {
	return surveyPath(surveyID) + "/back-checks/" + url.PathEscape(id)
}

// BackCheckQuery selects back-checks.
type BackCheckQuery struct {
	State  string // drawn, done, refused or unreachable
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q BackCheckQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "state", q.State)
	return v
}

// BackCheckPage reads one page of the back-checks of a survey, in the order
// they were drawn.
func (q Quality) BackCheckPage(ctx context.Context, surveyID string, b BackCheckQuery, opts ...Option) (*Page[BackCheck], error) {
	return page[BackCheck](ctx, q.c, surveyPath(surveyID)+"/back-checks", b.values(), opts)
}

// BackChecks walks over the back-checks of a survey. An error ends it.
func (q Quality) BackChecks(ctx context.Context, surveyID string, b BackCheckQuery, opts ...Option) iter.Seq2[BackCheck, error] {
	return pages[BackCheck](ctx, q.c, surveyPath(surveyID)+"/back-checks", b.values(), opts)
}

// BackCheck reads a back-check and what to ask. Codes: SURVEY_NOT_FOUND,
// BACK_CHECK_NOT_FOUND.
func (q Quality) BackCheck(ctx context.Context, surveyID, id string, opts ...Option) (*BackCheck, error) {
	return do[BackCheck](ctx, q.c, get(backCheckPath(surveyID, id), nil), opts)
}

// AnswerBackCheck sends the second set of answers. Codes: SURVEY_NOT_FOUND,
// BACK_CHECK_NOT_FOUND, BACK_CHECK_INVALID, BACK_CHECK_DONE,
// VERIFIER_IS_COLLECTOR, RESPONSE_NOT_VERIFIABLE.
func (q Quality) AnswerBackCheck(ctx context.Context, surveyID, id string, d BackCheckOutcome, opts ...Option) (*BackCheck, error) {
	return do[BackCheck](ctx, q.c, post(backCheckPath(surveyID, id), d), opts)
}
