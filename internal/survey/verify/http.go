package verify

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "responses"

var codes = []string{
	"RESPONSE_NOT_FOUND", "SURVEY_ARCHIVED", invalidCode, "VERIFIER_IS_COLLECTOR", "RESPONSE_NOT_VERIFIABLE", "STATE_TRANSITION_INVALID", "SECOND_REVIEWER_REQUIRED", "STALE_REVISION", "REVISION_UNKNOWN", "PRECONDITION_REQUIRED",
}

// Routes adds the verification API to a.
func (s *Service) Routes(a *web.API) {
	const read, write = "responses:read", "responses:verify"
	web.Post(a, "/v1/responses/{responseId}/verification", s.serveDecide, web.Doc{
		Summary: "Decide about a response", Scope: write, Tag: tag, Once: true, Codes: codes,
		Example: Verdict{Draft{Status: response.Verified, Reason: "Photo and receipt agree.", Notes: "Called back on Monday."}, new(int64(1))},
		Description: "A decision names the revision it is about, by If-Match or revision. It is refused with 412 if the content has changed since; decisions of others do not change the content. Repeating a decision is answered with 200 and stores nothing more. " +
			"A person who collected, sent or corrected a response, or who belongs to the group that collected or sent it, cannot decide about it. Where the survey asks for two reviewers, the first approval leaves the response in review and a second, by somebody else, verifies it; " +
			"any other decision or correction in between restarts the count. A partial response, or one without consent, can be sent back or rejected, but not verified. " +
			"A response without an answer to the consent question is partial and flagged (consent_missing), unless the template has consentOptional. " +
			"An invalidated response counts nowhere, and its household may be interviewed again.",
	})
	web.Post(a, "/v1/responses:next", s.serveNext, web.Doc{
		Summary: "Take the next response to decide about", Scope: write, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "RESPONSE_NOT_FOUND"}, Example: Turn{},
		Description: "The oldest pending response, in all surveys you see or in one, that you did not collect, send or correct. It is reserved for you for five minutes, during which others get another one; " +
			"when you ask again you get the same one, until it is decided or you skip it with after. This is a courtesy among verifiers, not a lock: the first decision counts. You can reserve five at most; after that, the one you took first is free for others. " +
			"One call looks at 500 responses: if none of them is for you, the answer names the last one in after, so that you can continue. With a key that is limited to projects, surveys come one after the other.",
	})
	web.Get(a, "/v1/responses/{responseId}/verification", s.serveGet, web.Doc{
		Summary: "Read the verification state of a response and its decisions", Scope: read, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND"},
	})
	web.Get(a, "/v1/responses/{responseId}/verification/history", s.serveHistory, web.Doc{
		Summary: "List the decisions about a response, newest first", Scope: read, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND"},
		Description: "Decisions are never changed and never removed. When a household is erased, the reasons and notes of its decisions are removed. Without the scope responses:pii, the collector and the sender of the response have the names of pseudonymised exports.",
	})
	web.Get(a, "/v1/responses/{responseId}/evidence", s.serveEvidence, web.Doc{
		Summary: "Read the evidence of a response", Scope: write, Tag: tag, Codes: []string{"RESPONSE_NOT_FOUND"},
		Description: "Pictures, sounds, places and flags, for verifiers without the scope responses:pii. Files of questions that are not marked, or marked as indirect, are open; those marked as direct, and marked signatures, stay closed. " +
			"Places are rounded to 0.01 degrees (about 1 km); those marked as direct are not shown. Distances between the interview, the listed place of the household and marked answers that are places are exact, even for closed ones; a key that may change lists or responses gets no distances, and flags without metres, unless it has responses:pii. " +
			"The evidence never has names, telephone numbers or any other answer marked as personal.",
	})
	a.Handle(http.MethodGet, "/v1/responses/{responseId}/evidence/{sha256}", s.serveFile, web.Doc{
		Summary: "Read a file of the evidence of a response", Scope: write, Tag: tag, Produces: "application/octet-stream", Codes: []string{"RESPONSE_NOT_FOUND", "ATTACHMENT_NOT_FOUND"},
		Description: "One of the files of the evidence of a response. HEAD reports whether it has arrived.",
	})
	web.Post(a, "/v1/surveys/{surveyId}/verification:bulk", s.serveBulk, web.Doc{
		Summary: "Make one decision about many responses", Scope: write, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", invalidCode, "RESPONSE_NOT_FOUND", "PRECONDITION_REQUIRED"},
		Example: map[string]any{"status": response.InReview, "responses": []map[string]any{{"responseId": "resp_789", "revision": 1}}},
		Description: "Every response has its own result: the call succeeds even if some are refused. Name the responses with the revisions you judged, or give a filter with the moment of the list you have read, its page.asOf, such as {\"status\":\"verified\",\"filter\":{\"status\":\"pending\",\"asOf\":4711}}: " +
			"responses that changed or arrived since are skipped and named. A filter looks at 2,000 responses in one call; continue with next. " +
			"The call is made in parts and can be repeated: responses that you already decided stay unchanged.",
	})
}

type one struct {
	ID string `path:"responseId" doc:"Id of the response, or its recordId." example:"resp_789"`
}

func (s *Service) serveDecide(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the response you judged; revision in the body is accepted too, * is not."`
	Body    Verdict
},
) (web.Reply[*State], error) {
	return s.Decide(ctx, in.ID, web.Judged{IfMatch: in.IfMatch, Revision: in.Body.Revision}, in.Body.Draft)
}

func (s *Service) serveNext(ctx context.Context, in *struct{ Body Turn }) (*Taken, error) {
	return s.Next(ctx, in.Body)
}

func (s *Service) serveGet(ctx context.Context, in *one) (web.Reply[*State], error) {
	return s.Get(ctx, in.ID)
}

func (s *Service) serveEvidence(ctx context.Context, in *one) (*Evidence, error) {
	return s.Evidence(ctx, in.ID)
}

type oneFile struct {
	one
	SHA256 string `path:"sha256"`
}

func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[oneFile](r)
	if err != nil {
		return err
	}
	f, err := s.File(r.Context(), in.ID, in.SHA256)
	if err != nil {
		return err
	}
	return s.cfg.Media.Serve(w, r, f)
}

// place is where a list of decisions continues.
type place struct {
	Before int64 `json:"b"`
}

func (s *Service) serveHistory(ctx context.Context, in *struct {
	one
	web.Paging
},
) (web.Reply[web.Page[Decision]], error) {
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]Decision, place, error) {
		items, next, err := s.History(ctx, in.ID, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveBulk(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Body   Bulk
},
) (*Outcome, error) {
	return s.Bulk(ctx, in.Survey, in.Body)
}
