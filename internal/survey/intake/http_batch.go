package intake

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const batching = "For devices that were offline: 1 to 500 responses in at most 4 MiB, each stored on its own, in order. Every item names its responseId and surveyId, so a batch that is sent again " +
	"stores nothing more. The answer is 200 with a result for each, even when all were refused. A response without required answers is stored as partial. A response that conflicts with a stored one is set aside, " +
	"sealed like personal answers, and listed in the conflicts of its survey; at most 100 for one response, and 20 from one sender: a warning says when it is not kept. A response that comes after its survey closed or paused is held there too, until a manager accepts or refuses it, or it is sent again when the survey accepts responses. missingAttachments names the files to send next."

const resolving = "keep says which content counts. sent corrects the stored response, or replaces it with the second response of the household. merged combines the answers of both; where they differ, take decides, " +
	"by the pointer of the question. This reopens the verification, and for a verified response a reason is needed. Accept a held response with sent, or refuse it with stored and a reason; both need the scope surveys:write. Both contents stay readable for keys with the scope responses:pii: in the history, and here. If-Match with the ETag of the stored response is honoured."

// Routes adds batches and conflicts to a.
func (s *Batches) Routes(a *web.API) {
	const read, write, tag = "responses:read", "responses:write", "responses"
	web.Post(a, "/v1/responses:batch", s.serveBatch, web.Doc{
		Summary: "Send many responses", Scope: write, Tag: tag, MaxBody: MaxBytes, Description: batching, Codes: []string{"BATCH_INVALID"},
		Example: map[string]any{"items": []any{map[string]any{
			"responseId": "resp_790", "surveyId": "baseline-v1", "householdId": "did:ixo:household/124", "timestamp": "2024-02-20T11:00:00Z",
			"responses": map[string]any{"socio_economic": map[string]any{"household_size": 4}},
		}}},
	})
	const path = "/v1/surveys/{surveyId}/conflicts"
	web.Get(a, path, s.serveList, web.Doc{
		Summary: "List the conflicts of a survey", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"},
		Description: "Contents of batches that conflict with stored responses, or that are held because their survey was closed or paused: the open ones, oldest first, or with resolved=true those that were decided.",
	})
	web.Get(a, path+"/{conflictId}", s.serveGet, web.Doc{
		Summary: "Read a conflict", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "CONFLICT_NOT_FOUND"},
	})
	web.Post(a, path+"/{conflictId}/resolve", s.serveResolve, web.Doc{
		Summary: "Resolve a conflict", Scope: write, Tag: tag, Once: true, Description: resolving, Example: Resolution{Keep: keepStored},
		Codes:   []string{"SURVEY_NOT_FOUND", "CONFLICT_NOT_FOUND", "CONFLICT_RESOLVED", "RESOLUTION_INVALID", "CONTENT_ERASED", "RESPONSE_LOCKED", "SURVEY_ARCHIVED", "DUPLICATE_HOUSEHOLD_RESPONSE", "NOT_COLLECTOR", "STALE_REVISION"},
		Refusal: response.Members{},
	})
}

func (s *Batches) serveBatch(ctx context.Context, in *struct{ Body Batch }) (*Results, error) {
	return s.Take(ctx, in.Body)
}

type one struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	ID     string `path:"conflictId" doc:"Id of the conflict." example:"cfl_7310428377145344"`
}

func (s *Batches) serveGet(ctx context.Context, in *one) (*Clash, error) {
	return s.Get(ctx, in.Survey, in.ID)
}

func (s *Batches) serveList(ctx context.Context, in *struct {
	Survey   string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Resolved bool   `query:"resolved" doc:"true: those that were decided." example:"false"`
	web.Paging
},
) (web.Reply[web.Page[*Clash]], error) {
	var at ClashPlace
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Clash, *ClashPlace, error) {
		return s.List(ctx, in.Survey, in.Resolved, at, limit)
	})
}

func (s *Batches) serveResolve(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the stored response; optional."`
	Body    Resolution
},
) (web.Reply[*Clash], error) {
	return s.Resolve(ctx, in.Survey, in.ID, in.IfMatch, in.Body)
}
