package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Verifications are the decisions about responses.
type Verifications struct{ c *Client }

func verificationPath(id string) string { return responsePath(id) + "/verification" }

// Types of package api.
type (
	DecisionDraft     = api.DecisionDraft
	Decision          = api.Decision
	ResponseState     = api.ResponseState
	VerificationLinks = api.VerificationLinks
	DeskTurn          = api.DeskTurn
	DeskTaken         = api.DeskTaken
	BulkOutcome       = api.BulkOutcome
	BulkItem          = api.BulkItem
)

// Decide decides about a response. IfRevision names the revision you have
// judged, and is required; later decisions of others are no obstacle, and the
// same decision again is stored once. Codes: RESPONSE_NOT_FOUND,
// VERIFICATION_INVALID, VERIFIER_IS_COLLECTOR, RESPONSE_NOT_VERIFIABLE,
// STATE_TRANSITION_INVALID, SECOND_REVIEWER_REQUIRED, STALE_REVISION,
// REVISION_UNKNOWN, PRECONDITION_REQUIRED.
func (v Verifications) Decide(ctx context.Context, responseID string, d DecisionDraft, opts ...Option) (*ResponseState, error) {
	return do[ResponseState](ctx, v.c, post(verificationPath(responseID), d), opts)
}

// Next takes the oldest response that waits for your decision, and reserves it
// for you for five minutes. Codes: SURVEY_NOT_FOUND, RESPONSE_NOT_FOUND.
func (v Verifications) Next(ctx context.Context, t DeskTurn, opts ...Option) (*DeskTaken, error) {
	return do[DeskTaken](ctx, v.c, call{method: http.MethodPost, path: responsesPath + ":next", body: t, safe: true}, opts)
}

// Get reads the verification state of a response. Code: RESPONSE_NOT_FOUND.
func (v Verifications) Get(ctx context.Context, responseID string, opts ...Option) (*ResponseState, error) {
	return do[ResponseState](ctx, v.c, get(verificationPath(responseID), nil), opts)
}

// Page reads one page of the decisions about a response, newest first.
func (v Verifications) Page(ctx context.Context, responseID string, q PageQuery, opts ...Option) (*Page[Decision], error) {
	return page[Decision](ctx, v.c, verificationPath(responseID)+"/history", q.values(), opts)
}

// List walks over the decisions about a response, newest first. An error ends
// it.
func (v Verifications) List(ctx context.Context, responseID string, opts ...Option) iter.Seq2[Decision, error] {
	return pages[Decision](ctx, v.c, verificationPath(responseID)+"/history", url.Values{}, opts)
}

// BulkDecision is one decision about many responses: those named, at most 500,
// or those a filter chooses.
type BulkDecision struct {
	DecisionDraft
	Responses []JudgedResponse `json:"responses,omitzero"`
	Filter    *BulkFilter      `json:"filter,omitzero"`
}

// JudgedResponse is a response as you have judged it.
type JudgedResponse struct {
	ResponseID string `json:"responseId"` // or its recordId
	Revision   int64  `json:"revision"`
}

// BulkFilter chooses responses of a survey.
type BulkFilter struct {
	Status    string `json:"status"` // the state they are in
	AsOf      int64  `json:"asOf"`   // Page.AsOf of the list you have read: what has changed since is skipped
	Flagged   *bool  `json:"flagged,omitzero"`
	Rule      string `json:"rule,omitzero"`
	Collector string `json:"collector,omitzero"`
	Round     int    `json:"round,omitzero"`
	After     string `json:"after,omitzero"` // Next of the call before
	Limit     int    `json:"limit,omitzero"` // 1 to 500
}

// Bulk makes one decision about many responses of a survey; each has its own
// result. Repeating it does no harm. Codes: SURVEY_NOT_FOUND,
// VERIFICATION_INVALID, RESPONSE_NOT_FOUND, PRECONDITION_REQUIRED.
func (v Verifications) Bulk(ctx context.Context, surveyID string, b BulkDecision, opts ...Option) (*BulkOutcome, error) {
	k := call{method: http.MethodPost, path: surveyPath(surveyID) + "/verification:bulk", body: b, safe: true}
	return do[BulkOutcome](ctx, v.c, k, opts)
}
