package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	DraftSummary = api.DraftSummary
	DraftState   = api.DraftState
	DraftLinks   = api.DraftLinks
)

// InterviewContent is what is known so far about an unfinished interview.
type InterviewContent struct {
	HouseholdID string    `json:"householdId"`
	Language    string    `json:"language,omitzero"`
	StartedAt   time.Time `json:"startedAt,omitzero"`
	Timestamp   time.Time `json:"timestamp,omitzero"` // when it ended, of one that was sent and perhaps not received
	Section     string    `json:"section,omitzero"`
	Location    *Spot     `json:"location,omitzero"`
	Responses   Answers   `json:"responses"`
}

// Interview is an interview that its collector has begun and not sent.
type Interview struct {
	DraftState
	InterviewContent
}

func draftPath(surveyID, responseID string) string {
	return surveyPath(surveyID) + "/drafts/" + url.PathEscape(responseID)
}

// SaveDraft keeps an unfinished interview, for its collector alone and for 30
// days. Sending a response with its id removes it. Codes: DRAFT_INVALID,
// DRAFT_SENT, TOO_MANY_DRAFTS, SURVEY_NOT_ACTIVE, HOUSEHOLD_ERASED.
func (r Responses) SaveDraft(ctx context.Context, surveyID, responseID string, d InterviewContent, opts ...Option) (*DraftSummary, error) {
	return do[DraftSummary](ctx, r.c, put(draftPath(surveyID, responseID), d), opts)
}

// Draft reads an interview of the caller. Code: DRAFT_NOT_FOUND.
func (r Responses) Draft(ctx context.Context, surveyID, responseID string, opts ...Option) (*Interview, error) {
	return do[Interview](ctx, r.c, get(draftPath(surveyID, responseID), nil), opts)
}

// DiscardDraft removes an interview of the caller. Code: DRAFT_NOT_FOUND.
func (r Responses) DiscardDraft(ctx context.Context, surveyID, responseID string, opts ...Option) (*DraftSummary, error) {
	return do[DraftSummary](ctx, r.c, remove(draftPath(surveyID, responseID)), opts)
}

// Drafts walks over the interviews that the caller has not finished. An error
// ends it.
func (r Responses) Drafts(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[DraftSummary, error] {
	return pages[DraftSummary](ctx, r.c, "/v1/drafts", q.values(), opts)
}
