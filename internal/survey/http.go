package survey

import (
	"context"
	"net/http"
	"reflect"

	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "surveys"

const creating = "The four flags select sections of the standard template of the stage: baseline-v1, follow-up-v1 or monitoring-v1; consent, installation, usage and impact are always asked when the stage has them. " +
	"Or name templateId, and sections to ask only some of them. The version is pinned. A projectId that this server does not have is marked external (and refused if HEARTH_STRICT_REFS is true). " +
	"A new survey is a draft: name collectors, or a mode in which households answer by themselves, upload the households (or choose a census or open enrolment), then activate it. " +
	"Limits: 500 collectors, 500 assignments, 200 strata, 200 rounds, 10,000 clusters, 1 MiB."

// handlers answer the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds the survey API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	const read, write = "surveys:read", "surveys:write"
	web.Post(a, "/v1/surveys", h.serveCreate, web.Doc{
		Summary: "Create a survey", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Description: creating, Example: example(),
		Codes: []string{InvalidCode, "SURVEY_EXISTS"},
	})
	web.Get(a, "/v1/surveys", h.serveList, web.Doc{
		Summary: "List surveys, newest first", Scope: read, Tag: tag, Description: "Each with the progress of its open round. A page may be short: follow hasMore.",
	})
	web.Get(a, "/v1/surveys/{surveyId}", h.serveGet, web.Doc{
		Summary: "Read a survey", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"},
		Description: "The ETag is that of the revision. Progress is not part of it: poll /v1/surveys/{surveyId}/progress.",
	})
	web.Patch(a, "/v1/surveys/{surveyId}", h.servePatch, web.Doc{
		Summary: "Change a survey", Scope: write, Tag: tag, Patch: true, JSONPatch: true, Example: map[string]any{"instructions": "Ask the main cook.", "collectors": []string{"did:ixo:agent/123"}},
		Description: "Everything may change while the survey is a draft or ready; while active or paused, only name, description, metadata, collectors, strictCollectors, training, instructions, languages, assignments, entityLists, recurrence and window.end, which then applies to the open round too; " +
			"when closed, only name, description, metadata and window.end.",
		Codes: []string{"SURVEY_NOT_FOUND", InvalidCode, "SURVEY_LOCKED", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Delete(a, "/v1/surveys/{surveyId}", h.serveDelete, web.Doc{
		Summary: "Delete a survey that was never active", Scope: write, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", transitionCode, "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Post(a, "/v1/surveys/{surveyId}/clone", h.serveClone, web.Doc{
		Summary: "Make a draft like another survey", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: Clone{Name: "Next year"},
		Description: "Without households, responses and rounds.", Codes: []string{"SURVEY_NOT_FOUND", InvalidCode, "SURVEY_EXISTS"},
	})
	h.moveRoutes(a, write)
	h.partRoutes(a, read, write)
	h.householdRoutes(a, read, write)
}

// moveRoutes adds the steps of the life of a survey.
func (h handlers) moveRoutes(a *web.API, scope web.Scope) {
	const pre = "Preconditions; the answer names all that are not met: a published version of the template with a consent question in the selected sections; a census, open enrolment or uploaded households; " +
		"strata when the method is stratified; a collector, or a mode in which households answer themselves (ussd, web, chat); training of all collectors where it is required; a window that is not over; " +
		"a review of the template that is not overdue, or a reason."
	for _, one := range []struct{ name, summary, description string }{
		{"ready", "Mark a draft as ready", pre},
		{"activate", "Start a survey", "From draft or ready. " + pre},
		{"pause", "Pause a survey", "No responses are taken until it is resumed."},
		{"resume", "Resume a paused survey", "The window must not be over."},
		{"close", "Close a survey", "No responses are taken any more."},
		{"reopen", "Reopen a closed survey", "A reason must be given, and the window must not be over."},
		{"archive", "Archive a closed survey", "Final. Not while held or conflicting interviews wait: see GET /v1/surveys/{surveyId}/conflicts."},
	} {
		web.Post(a, "/v1/surveys/{surveyId}/"+one.name, h.serveMove(one.name), web.Doc{
			Summary: one.summary, Scope: scope, Tag: tag, Once: true, Example: Move{Reason: "As planned."}, Description: one.description,
			Codes: []string{"SURVEY_NOT_FOUND", transitionCode, "STALE_REVISION"},
		})
	}
}

// example is the documented request.
func example() any {
	return map[string]any{
		"type": "BaselineSurvey", "projectId": "did:ixo:entity:123",
		"template": map[string]any{"eligibilityCriteria": true, "socioEconomicData": true, "cookingPatterns": true, "stovePerceptions": true},
		"sampling": map[string]any{"method": "stratified", "size": 100, "confidence": 0.95},
	}
}

func (h handlers) serveCreate(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*Survey], error) {
	return h.service.Create(ctx, in.Body)
}

// place is where a list of surveys continues.
type place struct {
	Before int64 `json:"b"`
}

func (h handlers) serveList(ctx context.Context, in *struct {
	Project  string `query:"projectId" doc:"Only surveys of this project."`
	Status   string `query:"status" doc:"Only surveys in this status." enum:"draft,ready,active,paused,closed,archived"`
	Stage    string `query:"stage" doc:"Only surveys of this stage." enum:"baseline,follow-up,monitoring"`
	Template string `query:"templateId" minLength:"1" doc:"Only surveys of this template."`
	FieldsQuery
	web.Paging
},
) (web.Reply[web.Page[*Survey]], error) {
	var none web.Reply[web.Page[*Survey]]
	set, err := in.Set(known)
	if err != nil {
		return none, err
	}
	var at place
	f := Filter{Project: in.Project, Status: Status(in.Status), Stage: in.Stage, Template: in.Template, Progress: true}
	return KeepPage[*Survey](set)(web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Survey, place, error) {
		items, next, err := h.service.List(ctx, f, at.Before, limit)
		return items, place{next}, err
	}))
}

// known are the fields of a survey.
var known = FieldsOf{Type: reflect.TypeFor[Survey](), Always: []string{"surveyId"}}

// one names a survey.
type one struct {
	ID string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
}

func (h handlers) serveGet(ctx context.Context, in *struct {
	one
	FieldsQuery
},
) (web.Reply[*Survey], error) {
	set, err := in.Set(known)
	if err != nil {
		return web.Reply[*Survey]{}, err
	}
	return KeepOne[*Survey](set)(h.service.Get(ctx, in.ID))
}

// matched names a survey and the revision that was read.
type matched struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read."`
}

// why is the reason of a change.
type why struct {
	Reason string `query:"reason" doc:"The reason, for the history; at most 1,000 characters."`
}

// Patch is a change of a survey. It documents the body; the raw bytes are
// merged.
type Patch Draft

func (h handlers) servePatch(ctx context.Context, in *struct {
	matched
	why
	Body    Patch
	RawBody []byte
},
) (web.Reply[*Survey], error) {
	return h.service.Update(ctx, in.ID, in.IfMatch, in.Reason, in.RawBody)
}

func (h handlers) serveDelete(ctx context.Context, in *matched) (*Survey, error) {
	return h.service.Delete(ctx, in.ID, in.IfMatch)
}

func (h handlers) serveClone(ctx context.Context, in *struct {
	one
	Body *Clone
},
) (web.Reply[*Survey], error) {
	if in.Body == nil {
		in.Body = &Clone{}
	}
	return h.service.Clone(ctx, in.ID, *in.Body)
}

// moveInput is the input of the steps.
type moveInput struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; optional."`
	Body    *Move
}

func (h handlers) serveMove(name string) func(context.Context, *moveInput) (web.Reply[*Survey], error) {
	return func(ctx context.Context, in *moveInput) (web.Reply[*Survey], error) {
		if in.Body == nil {
			in.Body = &Move{}
		}
		return h.service.Move(ctx, in.ID, name, in.IfMatch, *in.Body)
	}
}
