package interview

import (
	"context"
	"math"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/web"
)

const drafting = "For an interview in a browser, saved while you type. Only you can read it: no scope opens the draft of somebody else. It is sealed with the key of the household, like personal answers, " +
	"and removed when you send a response with its id, when the household is erased, or 30 days after it was last saved. Answers are not checked before they are sent, and files stay only 14 days without a response. " +
	"If-Match with the ETag of what you have read keeps two windows from overwriting each other; without it the last one to save wins. You may have 100 drafts in a workspace. Drafts cause no events."

// Routes adds drafts to a.
func (s *Drafts) Routes(a *web.API) {
	const scope, tag, path = "responses:write", "responses", "/v1/surveys/{surveyId}/drafts/{responseId}"
	missing := []string{"SURVEY_NOT_FOUND", "DRAFT_NOT_FOUND"}
	web.Put(a, path, s.serveSave, web.Doc{
		Summary: "Save an interview that is not finished", Scope: scope, Tag: tag, Also: []int{http.StatusCreated}, Description: drafting,
		Example: map[string]any{
			"householdId": "did:ixo:household/123", "language": "en", "startedAt": "2024-02-20T10:00:00Z", "section": "eligibility",
			"responses": map[string]any{"eligibility": map[string]any{"current_cooking": []string{"wood"}}},
		},
		Codes: []string{"SURVEY_NOT_FOUND", invalidDraft, "SURVEY_NOT_ACTIVE", "COLLECTOR_UNKNOWN", "HOUSEHOLD_ERASED", "DRAFT_SENT", "TOO_MANY_DRAFTS", "DRAFT_OF_ANOTHER", "STALE_REVISION"},
	})
	web.Get(a, path, s.serveGet, web.Doc{Summary: "Read an interview you have not finished", Scope: scope, Tag: tag, Codes: missing})
	web.Delete(a, path, s.serveDiscard, web.Doc{Summary: "Discard an interview you have not finished", Scope: scope, Tag: tag, Codes: missing})
	web.Get(a, "/v1/drafts", s.serveOwn, web.Doc{
		Summary: "List the interviews you have not finished", Scope: scope, Tag: tag,
		Description: "Your own, in all surveys you see, newest first, without their answers. A page may be short: follow hasMore.",
	})
}

type one struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	ID     string `path:"responseId" doc:"The id that the response will have; you choose it." example:"resp_789"`
}

func (s *Drafts) serveSave(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the draft you have read; optional."`
	Body    Content
},
) (web.Reply[*DraftSummary], error) {
	return s.Save(ctx, in.Survey, in.ID, in.IfMatch, in.Body)
}

func (s *Drafts) serveGet(ctx context.Context, in *one) (web.Reply[*Draft], error) {
	return s.Get(ctx, in.Survey, in.ID)
}

func (s *Drafts) serveDiscard(ctx context.Context, in *one) (*DraftSummary, error) {
	return s.Discard(ctx, in.Survey, in.ID)
}

// place is where a list of drafts continues.
type place struct {
	Before int64 `json:"b"`
}

func (s *Drafts) serveOwn(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[DraftSummary]], error) {
	at := place{math.MaxInt64}
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]DraftSummary, place, error) {
		items, next, err := s.Own(ctx, at.Before, limit)
		return items, place{next}, err
	})
}
