package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const surveysPath = "/v1/surveys"

// Surveys are the campaigns of the workspace.
type Surveys struct{ c *Client }

func surveyPath(id string) string { return surveysPath + "/" + url.PathEscape(id) }

// Survey is a campaign.
type Survey struct {
	SurveyID  string `json:"surveyId"`
	Type      string `json:"type"`  // BaselineSurvey, FollowUpSurvey or MonitoringSurvey
	Stage     string `json:"stage"` // baseline, follow-up or monitoring
	ProjectID string `json:"projectId"`
	External  bool   `json:"external,omitzero"` // the project is not held by the server
	SurveyContent
	Round        int                 `json:"round"` // the one that is open
	Rounds       []SurveyRound       `json:"rounds"`
	Status       string              `json:"status"` // draft, ready, active, paused, closed or archived
	StatusReason string              `json:"statusReason,omitzero"`
	Revision     int64               `json:"revision"`
	Created      time.Time           `json:"created"`
	CreatedBy    string              `json:"createdBy"`
	Updated      time.Time           `json:"updated"`
	UpdatedBy    string              `json:"updatedBy"`
	Activated    time.Time           `json:"activated,omitzero"`
	Closed       time.Time           `json:"closed,omitzero"`
	Links        SurveyLinks         `json:"links"`
	Progress     *SurveyProgress     `json:"progress,omitzero"`
	Unasked      map[string][]string `json:"unasked,omitzero"` // by mode: questions that ussd and chat leave out
}

// SurveyContent is what the maker of a campaign decides.
type SurveyContent struct {
	Name               string             `json:"name,omitzero"`
	Description        string             `json:"description,omitzero"`
	Template           *SurveyFlags       `json:"template,omitzero"`        // which parts are asked
	TemplateID         string             `json:"templateId,omitzero"`      // the standard one of the stage by default
	TemplateVersion    int                `json:"templateVersion,omitzero"` // pinned
	Sections           []string           `json:"sections,omitzero"`        // in place of flags
	Methodology        *SurveyMethodology `json:"methodology,omitzero"`
	Sampling           *SurveySampling    `json:"sampling,omitzero"`
	Modes              []string           `json:"modes,omitzero"` // visit, phone, browser, collect, ussd, web, chat, import
	Collectors         []Collector        `json:"collectors,omitzero"`
	StrictCollectors   bool               `json:"strictCollectors,omitzero"` // nobody else may send responses
	Training           *SurveyTraining    `json:"training,omitzero"`
	Instructions       any                `json:"instructions,omitzero"` // a string, or language → string
	Languages          []string           `json:"languages,omitzero"`
	Window             *SurveyWindow      `json:"window,omitzero"`
	Recurrence         *SurveyRecurrence  `json:"recurrence,omitzero"`
	OnePerHousehold    *bool              `json:"onePerHousehold,omitzero"` // in a round; true by default
	Eligibility        *SurveyEligibility `json:"eligibility,omitzero"`
	EntityLists        []EntityList       `json:"entityLists,omitzero"`
	VerificationPolicy *SurveyPolicy      `json:"verificationPolicy,omitzero"`
	Assignments        []SurveyAssignment `json:"assignments,omitzero"`
	Metadata           Object             `json:"metadata,omitzero"`
}

// SurveyFlags select parts of a template.
type SurveyFlags struct {
	EligibilityCriteria bool `json:"eligibilityCriteria"`
	SocioEconomicData   bool `json:"socioEconomicData"`
	CookingPatterns     bool `json:"cookingPatterns"`
	StovePerceptions    bool `json:"stovePerceptions"`
}

// Types of package api.
type (
	SurveyMethodology = api.SurveyMethodology
	SurveyStratum     = api.SurveyStratum
	SamplingStage     = api.SamplingStage
	SurveyCluster     = api.SurveyCluster
	SurveyTotal       = api.SurveyTotal
	SurveyElsewhere   = api.SurveyElsewhere
	SurveyDraw        = api.SurveyDraw
	CollectorTraining = api.CollectorTraining
	SurveyTraining    = api.SurveyTraining
	SurveyWindow      = api.SurveyWindow
	SurveyRecurrence  = api.SurveyRecurrence
	SurveyEligibility = api.SurveyEligibility
	SurveyPolicy      = api.SurveyPolicy
	SurveyAssignment  = api.SurveyAssignment
	SurveyRound       = api.SurveyRound
	SurveyLinks       = api.SurveyLinks
	SurveyTally       = api.SurveyTally
	SurveyProgress    = api.SurveyProgress
	SurveyReport      = api.SurveyReport
	SurveyClone       = api.SurveyClone
	NextRound         = api.NextRound
	SurveyRounds      = api.SurveyRounds
	SurveyRevision    = api.SurveyRevision
)

// SurveySampling is how households are chosen.
type SurveySampling struct {
	Method               string           `json:"method"` // census, simple_random, systematic, stratified, cluster, multistage, quota, convenience
	Size                 *float64         `json:"size,omitzero"`
	Confidence           *float64         `json:"confidence,omitzero"` // a fraction: 0.95
	MarginOfError        *float64         `json:"marginOfError,omitzero"`
	Precision            *float64         `json:"precision,omitzero"`
	ParameterType        string           `json:"parameterType,omitzero"` // proportion or mean
	Tail                 string           `json:"tail,omitzero"`          // two or one
	OnMiss               string           `json:"onMiss,omitzero"`        // none, lower or upper
	MissLimit            *float64         `json:"missLimit,omitzero"`
	Population           *float64         `json:"population,omitzero"`
	PopulationHash       string           `json:"populationHash,omitzero"`
	Enrolment            string           `json:"enrolment,omitzero"` // list or open
	Strata               []SurveyStratum  `json:"strata,omitzero"`
	DesignID             *string          `json:"designId,omitzero"`
	ClusterSelection     string           `json:"clusterSelection,omitzero"` // equal or size
	Stages               []SamplingStage  `json:"stages,omitzero"`
	Clusters             []SurveyCluster  `json:"clusters,omitzero"`
	Totals               []SurveyTotal    `json:"totals,omitzero"`
	DrawnElsewhere       *SurveyElsewhere `json:"drawnElsewhere,omitzero"`
	Draw                 *SurveyDraw      `json:"draw,omitzero"`                 // made by the server
	ImpliedMarginOfError *float64         `json:"impliedMarginOfError,omitzero"` // made by the server
	Warnings             []string         `json:"warnings,omitzero"`             // made by the server
}

// Collector is somebody who collects answers.
type Collector struct {
	DID      string             `json:"did"`
	Name     string             `json:"name,omitzero"`
	Training *CollectorTraining `json:"training,omitzero"`
}

// SurveyDraft asks for a campaign.
type SurveyDraft struct {
	SurveyID  string `json:"surveyId,omitzero"` // made by the server when absent
	Type      string `json:"type"`
	Stage     string `json:"stage,omitzero"`
	ProjectID string `json:"projectId"`
	SurveyContent
}

// Create makes a campaign, as a draft. Codes: SURVEY_CONFIGURATION_INVALID,
// SURVEY_EXISTS.
func (s Surveys) Create(ctx context.Context, d SurveyDraft, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, post(surveysPath, d), opts)
}

// Get reads a campaign with its progress. Code: SURVEY_NOT_FOUND.
func (s Surveys) Get(ctx context.Context, id string, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, get(surveyPath(id), nil), opts)
}

// SurveyQuery selects campaigns. All conditions must hold.
type SurveyQuery struct {
	Project  string
	Status   string
	Stage    string
	Template string
	Limit    int    // items in one page, 1 to 1000; 50 by default
	Cursor   string // NextCursor of the page before
}

func (q SurveyQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "projectId", q.Project)
	set(v, "status", q.Status)
	set(v, "stage", q.Stage)
	set(v, "templateId", q.Template)
	return v
}

// Page reads one page of the campaigns, newest first.
func (s Surveys) Page(ctx context.Context, q SurveyQuery, opts ...Option) (*Page[Survey], error) {
	return page[Survey](ctx, s.c, surveysPath, q.values(), opts)
}

// List walks over the campaigns, page by page. An error ends it.
func (s Surveys) List(ctx context.Context, q SurveyQuery, opts ...Option) iter.Seq2[Survey, error] {
	return pages[Survey](ctx, s.c, surveysPath, q.values(), opts)
}

// Patch changes the given members and leaves the rest (RFC 7396); it needs the
// option IfRevision or IfMatch. Codes: SURVEY_CONFIGURATION_INVALID,
// SURVEY_LOCKED, STALE_REVISION.
func (s Surveys) Patch(ctx context.Context, id string, patch Object, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, merge(surveyPath(id), patch), opts)
}

// JSONPatch is Patch with the operations of a JSON patch. Codes besides those
// of Patch: JSON_PATCH_NOT_APPLICABLE, JSON_PATCH_TEST_FAILED.
func (s Surveys) JSONPatch(ctx context.Context, id string, steps []PatchStep, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, operate(surveyPath(id), steps), opts)
}

// Delete removes a campaign that was never active; it needs the option
// IfRevision or IfMatch. Codes: STATE_TRANSITION_INVALID, STALE_REVISION.
func (s Surveys) Delete(ctx context.Context, id string, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, remove(surveyPath(id)), opts)
}

// Clone makes a draft with the configuration of another campaign.
func (s Surveys) Clone(ctx context.Context, id string, c SurveyClone, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, post(surveyPath(id)+"/clone", c), opts)
}

// step takes a campaign further.
func (s Surveys) step(ctx context.Context, id, name, reason string, opts []Option) (*Survey, error) {
	body := struct {
		Reason string `json:"reason,omitzero"`
	}{reason}
	return do[Survey](ctx, s.c, post(surveyPath(id)+"/"+name, body), opts)
}

// Ready marks a draft as complete. Code: STATE_TRANSITION_INVALID, which names
// every precondition that does not hold.
func (s Surveys) Ready(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "ready", reason, opts)
}

// Activate starts a campaign. Code: STATE_TRANSITION_INVALID, which names every
// precondition that does not hold.
func (s Surveys) Activate(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "activate", reason, opts)
}

// Pause stops accepting responses for a while.
func (s Surveys) Pause(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "pause", reason, opts)
}

// Resume accepts responses again.
func (s Surveys) Resume(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "resume", reason, opts)
}

// Close ends a campaign.
func (s Surveys) Close(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "close", reason, opts)
}

// Reopen makes a closed campaign active again; a reason is required.
func (s Surveys) Reopen(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "reopen", reason, opts)
}

// Archive ends a closed campaign for good.
func (s Surveys) Archive(ctx context.Context, id, reason string, opts ...Option) (*Survey, error) {
	return s.step(ctx, id, "archive", reason, opts)
}

// OpenRound ends the open round and opens the next. Codes:
// STATE_TRANSITION_INVALID, TOO_MANY_ROUNDS.
func (s Surveys) OpenRound(ctx context.Context, id string, n NextRound, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, post(surveyPath(id)+"/rounds", n), opts)
}

// Rounds lists the rounds.
func (s Surveys) Rounds(ctx context.Context, id string, opts ...Option) (*SurveyRounds, error) {
	return do[SurveyRounds](ctx, s.c, get(surveyPath(id)+"/rounds", nil), opts)
}

// CollectorList is the collectors of a campaign.
type CollectorList struct {
	Items []Collector `json:"items"`
}

// Collectors reads the collectors.
func (s Surveys) Collectors(ctx context.Context, id string, opts ...Option) (*CollectorList, error) {
	return do[CollectorList](ctx, s.c, get(surveyPath(id)+"/collectors", nil), opts)
}

// SetCollectors replaces the collectors; it needs the option IfRevision or
// IfMatch.
func (s Surveys) SetCollectors(ctx context.Context, id string, list CollectorList, opts ...Option) (*CollectorList, error) {
	return do[CollectorList](ctx, s.c, put(surveyPath(id)+"/collectors", list), opts)
}

// AssignmentList is the assignments of a campaign.
type AssignmentList struct {
	Items []SurveyAssignment `json:"items"`
}

// Assignments reads the assignments.
func (s Surveys) Assignments(ctx context.Context, id string, opts ...Option) (*AssignmentList, error) {
	return do[AssignmentList](ctx, s.c, get(surveyPath(id)+"/assignments", nil), opts)
}

// SetAssignments replaces the assignments; it needs the option IfRevision or
// IfMatch.
func (s Surveys) SetAssignments(ctx context.Context, id string, list AssignmentList, opts ...Option) (*AssignmentList, error) {
	return do[AssignmentList](ctx, s.c, put(surveyPath(id)+"/assignments", list), opts)
}

// Progress reads the progress of a round; 0 is the open one.
func (s Surveys) Progress(ctx context.Context, id string, round int, opts ...Option) (*SurveyReport, error) {
	v := url.Values{}
	setInt(v, "round", int64(round))
	return do[SurveyReport](ctx, s.c, get(surveyPath(id)+"/progress", v), opts)
}

// History walks over the revisions, newest first.
func (s Surveys) History(ctx context.Context, id string, q PageQuery, opts ...Option) iter.Seq2[SurveyRevision, error] {
	return pages[SurveyRevision](ctx, s.c, surveyPath(id)+"/history", q.values(), opts)
}

// At reads a campaign as it was at a revision. Code: REVISION_NOT_FOUND.
func (s Surveys) At(ctx context.Context, id string, revision int64, opts ...Option) (*Survey, error) {
	return do[Survey](ctx, s.c, get(surveyPath(id)+"/history/"+strconv.FormatInt(revision, 10), nil), opts)
}
