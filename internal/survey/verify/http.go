package verify

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "responses"

var codes = []string{
	"RESPONSE_NOT_FOUND", "SURVEY_ARCHIVED", invalidCode, "VERIFIER_IS_COLLECTOR", "RESPONSE_NOT_VERIFIABLE", "STATE_TRANSITION_INVALID", "SECOND_REVIEWER_REQUIRED", "STALE_REVISION",
}

// Routes adds the verification API to a.
func (s *Service) Routes(a *web.API) {
	const read, write = "responses:read", "responses:verify"
	web.Post(a, "/v1/responses/{responseId}/verification", s.serveDecide, web.Doc{
		Summary: "Decide about a response", Scope: write, Tag: tag, Once: true, Codes: codes,
		Example: Draft{Status: response.Verified, Reason: "Photo and receipt agree.", Notes: "Called back on Monday."},
		Description: "Who has collected, sent or corrected a response cannot decide about it. Where the survey asks for two reviewers, the first approval leaves the response in review and a second, by somebody else, verifies it; " +
			"any other decision and any correction in between starts the count again. A partial response, and one that refuses consent, can be sent back or rejected, not verified. If-Match is optional. " +
			"An invalidated response counts nowhere, and its household may be asked again.",
	})
	web.Get(a, "/v1/responses/{responseId}/verification", s.serveGet, web.Doc{
		Summary: "Read how a response stands, and what was decided about it", Scope: read, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND"},
	})
	web.Get(a, "/v1/responses/{responseId}/verification/history", s.serveHistory, web.Doc{
		Summary: "List the decisions about a response, newest first", Scope: read, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND"},
		Description: "Decisions are never changed and never removed. When a household is erased the reasons and notes of its decisions go. Without the scope responses:pii who has collected or sent the response has the name of pseudonymised exports.",
	})
	web.Post(a, "/v1/surveys/{surveyId}/verification:bulk", s.serveBulk, web.Doc{
		Summary: "Make one decision about many responses", Scope: write, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", invalidCode, "RESPONSE_NOT_FOUND"},
		Example: map[string]any{"status": response.InReview, "filter": map[string]any{"status": response.Pending, "flagged": true}},
		Description: "Every response has its own result: the call succeeds when some are refused. A filter looks at 2,000 responses in one call; go on with next. " +
			"The call is made in parts and can be repeated: what was decided by you already is unchanged.",
	})
}

type one struct {
	ID string `path:"responseId" doc:"Id of the response." example:"resp_789"`
}

func (s *Service) serveDecide(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the response you have looked at."`
	Body    Draft
},
) (web.Reply[*State], error) {
	return s.Decide(ctx, in.ID, in.IfMatch, in.Body)
}

func (s *Service) serveGet(ctx context.Context, in *one) (web.Reply[*State], error) {
	return s.Get(ctx, in.ID)
}

// place is where a list of decisions goes on.
type place struct {
	Before int64 `json:"b"`
}

func (s *Service) serveHistory(ctx context.Context, in *struct {
	one
	web.Paging
},
) (web.Reply[web.Page[Decision]], error) {
	var none web.Reply[web.Page[Decision]]
	var at place
	limit, err := in.Begin(ctx, s.cfg.Cursors, &at)
	if err != nil {
		return none, err
	}
	items, next, err := s.History(ctx, in.ID, at.Before, limit)
	if err != nil {
		return none, err
	}
	if next == 0 {
		return web.PageOf(ctx, s.cfg.Cursors, limit, items, nil)
	}
	return web.PageOf(ctx, s.cfg.Cursors, limit, items, place{next})
}

func (s *Service) serveBulk(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Body   Bulk
},
) (*Outcome, error) {
	return s.Bulk(ctx, in.Survey, in.Body)
}
