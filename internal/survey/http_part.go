package survey

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// partRoutes adds what belongs to a survey: collectors, assignments, rounds,
// progress and history.
func (h handlers) partRoutes(a *web.API, read, write web.Scope) {
	changes := []string{"SURVEY_NOT_FOUND", InvalidCode, "SURVEY_LOCKED", "STALE_REVISION", "PRECONDITION_REQUIRED"}
	web.Get(a, "/v1/surveys/{surveyId}/collectors", h.serveCollectors, web.Doc{Summary: "Read the collectors", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"}})
	web.Put(a, "/v1/surveys/{surveyId}/collectors", h.servePutCollectors, web.Doc{
		Summary: "Replace the collectors", Scope: write, Tag: tag, Codes: changes,
		Example: map[string]any{"items": []any{map[string]any{
			"did": "did:ixo:agent/123", "name": "Asha", "training": map[string]any{"completedAt": "2026-01-15T09:00:00Z", "note": "Two days in Kisumu"},
		}}},
	})
	web.Get(a, "/v1/surveys/{surveyId}/assignments", h.serveAssignments, web.Doc{Summary: "Read the assignments", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"}})
	web.Put(a, "/v1/surveys/{surveyId}/assignments", h.servePutAssignments, web.Doc{
		Summary: "Replace the assignments", Scope: write + " or surveys:assign", Tag: tag, Codes: changes,
		Description: "A household goes to the collector it names, otherwise to the one whose assignment names it, otherwise to one of those whose strata and areas match it: always the same one, in proportion to their loads. " +
			"GET /v1/surveys/{surveyId}/households?collector= is the list of one collector.",
		Example: map[string]any{"items": []any{map[string]any{"collector": "did:ixo:agent/123", "areas": []string{"Kibera"}, "load": 2}}},
	})
	web.Get(a, "/v1/surveys/{surveyId}/rounds", h.serveRounds, web.Doc{Summary: "List the rounds", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"}})
	web.Post(a, "/v1/surveys/{surveyId}/rounds", h.serveOpenRound, web.Doc{
		Summary: "Open the next round", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: NextRound{Name: "Second round"},
		Description: "Ends the open round of an active or paused survey. Households count as listed again.",
		Codes:       []string{"SURVEY_NOT_FOUND", transitionCode, "TOO_MANY_ROUNDS", "STALE_REVISION"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/progress", h.serveProgress, web.Doc{
		Summary: "Read the progress of a round by stratum and group", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/history", h.serveHistory, web.Doc{
		Summary: "List the revisions, newest first: who, when and why", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/history/{revision}", h.serveAt, web.Doc{
		Summary: "Read a survey as it was at a revision", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "REVISION_NOT_FOUND"},
	})
}

// CollectorList is the collectors of a survey.
type CollectorList struct {
	Items []Collector `json:"items" doc:"At most 500."`
}

// AssignmentList is the assignments of a survey.
type AssignmentList struct {
	Items []Assignment `json:"items" doc:"At most 500."`
}

// noItems refuses a list that is not there: an empty one must be meant.
func noItems() error {
	var c fault.Checks
	c.Require(false, "/items")
	return c.Err("SURVEY_CONFIGURATION_INVALID", "The list is missing. Send an empty list to remove all.")
}

// part reads a survey and shows a part of it, with the ETag of the whole.
func part[T any](ctx context.Context, q db.Querier, id string, of func(*Survey) T) (web.Reply[T], error) {
	r, v, err := read(ctx, q, id)
	if err != nil {
		return web.Reply[T]{}, err
	}
	return web.Reply[T]{Value: of(v), ETag: web.ETag(r.Revision)}, nil
}

func collectorsOf(v *Survey) CollectorList {
	return CollectorList{append([]Collector{}, v.Collectors...)}
}

func assignmentsOf(v *Survey) AssignmentList {
	return AssignmentList{append([]Assignment{}, v.Assignments...)}
}

func (h handlers) serveCollectors(ctx context.Context, in *one) (web.Reply[CollectorList], error) {
	return part(ctx, h.service.db, in.ID, collectorsOf)
}

func (h handlers) servePutCollectors(ctx context.Context, in *struct {
	matched
	why
	Body CollectorList
},
) (web.Reply[CollectorList], error) {
	if in.Body.Items == nil {
		return web.Reply[CollectorList]{}, noItems()
	}
	r, err := h.service.edit(ctx, in.ID, in.IfMatch, change{"collectors changed", in.Reason}, func(d Draft) (Draft, error) {
		d.Collectors = in.Body.Items
		return d, nil
	})
	if err != nil {
		return web.Reply[CollectorList]{}, repoint(err, "/collectors", "/items")
	}
	return web.Reply[CollectorList]{Value: collectorsOf(r.Value), ETag: r.ETag}, nil
}

func (h handlers) serveAssignments(ctx context.Context, in *one) (web.Reply[AssignmentList], error) {
	return part(ctx, h.service.db, in.ID, func(v *Survey) AssignmentList {
		v, _ = h.service.veiled(ctx, v)
		return assignmentsOf(v)
	})
}

func (h handlers) servePutAssignments(ctx context.Context, in *struct {
	matched
	why
	Body AssignmentList
},
) (web.Reply[AssignmentList], error) {
	if in.Body.Items == nil {
		return web.Reply[AssignmentList]{}, noItems()
	}
	r, err := h.service.edit(ctx, in.ID, in.IfMatch, change{"assignments changed", in.Reason}, func(d Draft) (Draft, error) {
		d.Assignments = in.Body.Items
		return d, nil
	})
	if err != nil {
		return web.Reply[AssignmentList]{}, repoint(err, "/assignments", "/items")
	}
	return web.Reply[AssignmentList]{Value: assignmentsOf(r.Value), ETag: r.ETag}, nil
}

func (h handlers) serveRounds(ctx context.Context, in *one) (web.Reply[RoundList], error) {
	return part(ctx, h.service.db, in.ID, func(v *Survey) RoundList { return RoundList{Round: v.Round, Items: v.Rounds} })
}

func (h handlers) serveOpenRound(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; optional."`
	Body    *NextRound
},
) (web.Reply[*Survey], error) {
	if in.Body == nil {
		in.Body = &NextRound{}
	}
	return h.service.OpenRound(ctx, in.ID, in.IfMatch, *in.Body)
}

func (h handlers) serveProgress(ctx context.Context, in *struct {
	one
	Round int `query:"round" minimum:"1" doc:"The round; the open one by default." example:"1"`
},
) (*Report, error) {
	return h.service.Progress(ctx, in.ID, in.Round)
}

func (h handlers) serveHistory(ctx context.Context, in *struct {
	one
	web.Paging
},
) (web.Reply[web.Page[Revision]], error) {
	var at place
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]Revision, place, error) {
		items, next, err := h.service.History(ctx, in.ID, at.Before, limit)
		return items, place{next}, err
	})
}

func (h handlers) serveAt(ctx context.Context, in *struct {
	one
	Revision int64 `path:"revision" doc:"Number of the revision." example:"1"`
},
) (web.Reply[*Survey], error) {
	return h.service.At(ctx, in.ID, in.Revision)
}
