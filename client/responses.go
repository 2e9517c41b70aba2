package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const responsesPath = "/v1/responses"

// Responses are what households have answered.
type Responses struct{ c *Client }

func responsePath(id string) string { return responsesPath + "/" + url.PathEscape(id) }

// Answers are the answers of a response: section → question → answer.
type Answers map[string]map[string]any

// Types of package api.
type (
	Spot            = api.Spot
	ResponseFile    = api.ResponseFile
	ResponseVerdict = api.ResponseVerdict
	Warning         = api.Warning
	ResponseFlag    = api.ResponseFlag
	ResponseContent = api.ResponseContent
	ResponseLinks   = api.ResponseLinks
)

// Response is what a household has answered.
type Response struct {
	ResponseID         string           `json:"responseId"`
	SurveyID           string           `json:"surveyId"`
	TemplateID         string           `json:"templateId"`
	TemplateVersion    int              `json:"templateVersion"`
	ProjectID          string           `json:"projectId"`
	HouseholdID        string           `json:"householdId"`
	Round              int              `json:"round"`
	RoundID            string           `json:"roundId"`
	Stratum            string           `json:"stratum,omitzero"`
	Group              string           `json:"group,omitzero"`
	Timestamp          time.Time        `json:"timestamp"`
	StartedAt          time.Time        `json:"startedAt,omitzero"`
	ReceivedAt         time.Time        `json:"receivedAt"`
	DurationSec        float64          `json:"durationSec,omitzero"`
	Collector          string           `json:"collector"`
	SubmittedBy        string           `json:"submittedBy"`
	Mode               string           `json:"mode"`
	DeviceID           string           `json:"deviceId,omitzero"`
	Language           string           `json:"language,omitzero"`
	Consent            *bool            `json:"consent,omitzero"`
	Eligible           *bool            `json:"eligible,omitzero"`
	Attachments        []ResponseFile   `json:"attachments,omitzero"`
	Supersedes         string           `json:"supersedes,omitzero"`
	SupersededBy       string           `json:"supersededBy,omitzero"`
	Metadata           Object           `json:"metadata,omitzero"`
	Completeness       float64          `json:"completeness"`
	Missing            []string         `json:"missing,omitzero"` // pointers of required answers
	Dropped            []string         `json:"dropped,omitzero"` // pointers of answers to questions that were not to be asked
	ContentID          string           `json:"contentId"`
	Content            *ResponseContent `json:"content,omitzero"` // what contentId is checked with
	Status             string           `json:"status"`           // complete, partial, refused or redacted
	Links              ResponseLinks    `json:"links"`
	RecordID           string           `json:"recordId"` // the same in every read and export; may be used as the id
	Responses          Answers          `json:"responses"`
	Location           *Spot            `json:"location,omitzero"`
	PersonalSalt       string           `json:"personalSalt,omitzero"` // of content.personal
	Masked             []string         `json:"masked,omitzero"`       // pointers of what this key may not read
	Erased             bool             `json:"erased,omitzero"`
	Pseudonymised      bool             `json:"pseudonymised,omitzero"`      // pseudonyms replace household, collector, sender and device: the key lacks responses:pii
	MissingAttachments []string         `json:"missingAttachments,omitzero"` // hashes to send
	Revision           int64            `json:"revision"`
	Updated            time.Time        `json:"updated"`
	Verification       ResponseVerdict  `json:"verification"`
	Flags              []ResponseFlag   `json:"flags"`
	Warnings           []Warning        `json:"warnings,omitzero"` // in the answer to a response that was stored before
}

// ResponseDraft is a response to send. ResponseID makes it safe to send it
// again.
type ResponseDraft struct {
	ResponseID   string           `json:"responseId,omitzero"`
	SurveyID     string           `json:"surveyId,omitzero"` // or a template that one active survey uses
	HouseholdID  string           `json:"householdId"`
	Timestamp    time.Time        `json:"timestamp"`
	Responses    Answers          `json:"responses"`
	Verification *ResponseVerdict `json:"verification,omitzero"`
	Round        int              `json:"round,omitzero"`
	Collector    string           `json:"collector,omitzero"`
	Mode         string           `json:"mode,omitzero"`
	DeviceID     string           `json:"deviceId,omitzero"`
	StartedAt    time.Time        `json:"startedAt,omitzero"`
	DurationSec  float64          `json:"durationSec,omitzero"`
	Language     string           `json:"language,omitzero"`
	Location     *Spot            `json:"location,omitzero"`
	Attachments  []ResponseFile   `json:"attachments,omitzero"`
	Supersedes   string           `json:"supersedes,omitzero"`
	Metadata     Object           `json:"metadata,omitzero"`
	Entity       *EntityMark      `json:"entity,omitzero"`
	Partial      bool             `json:"partial,omitzero"` // take it although required answers are missing
}

// Submit sends a response. Sending the same again returns the stored record.
// Codes: RESPONSE_INVALID, RESPONSE_CONFLICT, DUPLICATE_HOUSEHOLD_RESPONSE,
// AMBIGUOUS_SURVEY, SURVEY_NOT_FOUND, SURVEY_NOT_ACTIVE, SUPERSEDES_INVALID.
func (r Responses) Submit(ctx context.Context, d ResponseDraft, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, post(responsesPath, d), opts)
}

// SubmitTo is Submit to the survey with this id.
func (r Responses) SubmitTo(ctx context.Context, surveyID string, d ResponseDraft, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, post(surveyPath(surveyID)+"/responses", d), opts)
}

// Get reads a response. Code: RESPONSE_NOT_FOUND.
func (r Responses) Get(ctx context.Context, id string, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, get(responsePath(id), nil), opts)
}

// At reads a response as it was at a revision. Codes: RESPONSE_NOT_FOUND,
// REVISION_NOT_FOUND.
func (r Responses) At(ctx context.Context, id string, revision int64, opts ...Option) (*Response, error) {
	v := url.Values{}
	setInt(v, "at", revision)
	return do[Response](ctx, r.c, get(responsePath(id), v), opts)
}

// ResponseQuery selects responses of a survey. The zero value selects all,
// newest first.
type ResponseQuery struct {
	Verification string // only in this state of verification
	Filter       string // such as gt(responses.socio_economic.household_size,4)
	Limit        int    // items in one page, 1 to 1000; 50 by default
	Cursor       string // NextCursor of the page before
}

func (q ResponseQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "verification", q.Verification)
	set(v, "filter", q.Filter)
	return v
}

// Page reads one page of the responses of a survey. Codes: SURVEY_NOT_FOUND,
// INVALID_FILTER.
func (r Responses) Page(ctx context.Context, surveyID string, q ResponseQuery, opts ...Option) (*Page[Response], error) {
	return page[Response](ctx, r.c, surveyPath(surveyID)+"/responses", q.values(), opts)
}

// List walks over the responses of a survey, page by page. An error ends it.
func (r Responses) List(ctx context.Context, surveyID string, q ResponseQuery, opts ...Option) iter.Seq2[Response, error] {
	return pages[Response](ctx, r.c, surveyPath(surveyID)+"/responses", q.values(), opts)
}

// OfHousehold walks over the responses of a household in all surveys. An error
// ends it.
func (r Responses) OfHousehold(ctx context.Context, did string, q PageQuery, opts ...Option) iter.Seq2[Response, error] {
	v := q.values()
	v.Set("householdId", did)
	return pages[Response](ctx, r.c, responsesPath, v, opts)
}

// Standing walks over the responses of all surveys in one state of verification,
// such as pending, newest first. An error ends it.
func (r Responses) Standing(ctx context.Context, state string, q PageQuery, opts ...Option) iter.Seq2[Response, error] {
	v := q.values()
	v.Set("verification", state)
	return pages[Response](ctx, r.c, responsesPath, v, opts)
}

// Replace corrects a response; it needs the option IfRevision or IfMatch, and
// takes Reason. Codes: RESPONSE_INVALID, RESPONSE_LOCKED, NOT_COLLECTOR,
// STALE_REVISION.
func (r Responses) Replace(ctx context.Context, id string, d ResponseDraft, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, put(responsePath(id), d), opts)
}

// Patch corrects the given members and leaves the rest (RFC 7396); it needs the
// option IfRevision or IfMatch. Codes are those of Replace.
func (r Responses) Patch(ctx context.Context, id string, patch Object, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, merge(responsePath(id), patch), opts)
}

// JSONPatch is Patch with the operations of a JSON patch, applied to the content
// as this key reads it: what the key may not read does not exist for the patch.
// Codes besides those of Replace: JSON_PATCH_NOT_APPLICABLE,
// JSON_PATCH_TEST_FAILED.
func (r Responses) JSONPatch(ctx context.Context, id string, steps []PatchStep, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, operate(responsePath(id), steps), opts)
}

// Redact removes the content of a response for good; it needs the option
// IfRevision or IfMatch. Codes: RESPONSE_LOCKED, NOT_COLLECTOR, STALE_REVISION.
func (r Responses) Redact(ctx context.Context, id, reason string, opts ...Option) (*Response, error) {
	return do[Response](ctx, r.c, remove(responsePath(id)), append([]Option{Reason(reason)}, opts...))
}

// ResponseRevision describes one revision of a response.
type ResponseRevision struct {
	Revision     int64          `json:"revision"`
	At           time.Time      `json:"at"`
	Action       string         `json:"action"`
	By           string         `json:"by"`
	RequestID    string         `json:"requestId,omitzero"`
	Reason       string         `json:"reason,omitzero"`
	Status       string         `json:"status"`
	Verification string         `json:"verificationStatus"`
	Changes      []AnswerChange `json:"changes,omitzero"`
	Links        RevisionLinks  `json:"links"`
}

// AnswerChange is one answer that differs between two revisions.
type AnswerChange struct {
	Pointer string `json:"pointer"`
	Old     any    `json:"old,omitzero"`
	New     any    `json:"new,omitzero"`
}

// History walks over the revisions of a response, newest first. An error ends
// it.
func (r Responses) History(ctx context.Context, id string, q PageQuery, opts ...Option) iter.Seq2[ResponseRevision, error] {
	return pages[ResponseRevision](ctx, r.c, responsePath(id)+"/history", q.values(), opts)
}
