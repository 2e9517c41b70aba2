package survey

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/survey/campaign"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// partRoutes adds what belongs to a survey: collectors, assignments, rounds,
// progress and history.
func (s *Service) partRoutes(a *web.API, read, write web.Scope) {
	changes := []string{"SURVEY_NOT_FOUND", campaign.InvalidCode, "SURVEY_LOCKED", "STALE_REVISION", "PRECONDITION_REQUIRED"}
	web.Get(a, "/v1/surveys/{surveyId}/collectors", s.serveCollectors, web.Doc{Summary: "Read the collectors", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"}})
	web.Put(a, "/v1/surveys/{surveyId}/collectors", s.servePutCollectors, web.Doc{
		Summary: "Replace the collectors", Scope: write, Tag: tag, Codes: changes,
		Example: map[string]any{"items": []any{map[string]any{
			"did": "did:ixo:agent/123", "name": "Asha", "training": map[string]any{"completedAt": "2026-01-15T09:00:00Z", "note": "Two days in Kisumu"},
		}}},
	})
	web.Get(a, "/v1/surveys/{surveyId}/assignments", s.serveAssignments, web.Doc{Summary: "Read the assignments", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"}})
	web.Put(a, "/v1/surveys/{surveyId}/assignments", s.servePutAssignments, web.Doc{
		Summary: "Replace the assignments", Scope: write, Tag: tag, Codes: changes,
		Description: "A household goes to the collector it names itself, else to the one whose assignment names it, else to one of those whose strata and areas fit it, always the same, in proportion to their loads. " +
			"GET /v1/surveys/{surveyId}/households?collector= is the list of one collector.",
		Example: map[string]any{"items": []any{map[string]any{"collector": "did:ixo:agent/123", "areas": []string{"Kibera"}, "load": 2}}},
	})
	web.Get(a, "/v1/surveys/{surveyId}/rounds", s.serveRounds, web.Doc{Summary: "List the rounds", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"}})
	web.Post(a, "/v1/surveys/{surveyId}/rounds", s.serveOpenRound, web.Doc{
		Summary: "Open the next round", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: NextRound{Name: "Second round"},
		Description: "Ends the open round of an active or paused survey. Households count as listed again.",
		Codes:       []string{"SURVEY_NOT_FOUND", transitionCode, "TOO_MANY_ROUNDS", "STALE_REVISION"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/progress", s.serveProgress, web.Doc{
		Summary: "Read the progress of a round by stratum and group", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/history", s.serveHistory, web.Doc{
		Summary: "List the revisions, newest first: who, when and why", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/history/{revision}", s.serveAt, web.Doc{
		Summary: "Read a survey as it was at a revision", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "REVISION_NOT_FOUND"},
	})
}

// CollectorList is the collectors of a survey.
type CollectorList struct {
	Items []campaign.Collector `json:"items" doc:"At most 500."`
}

// AssignmentList is the assignments of a survey.
type AssignmentList struct {
	Items []campaign.Assignment `json:"items" doc:"At most 500."`
}

// part reads a survey and shows a part of it, with the ETag of the whole.
func part[T any](ctx context.Context, s *Service, id string, of func(*Survey) T) (web.Reply[T], error) {
	r, v, err := s.read(ctx, s.db, id)
	if err != nil {
		return web.Reply[T]{}, err
	}
	return web.Reply[T]{Value: of(v), ETag: web.ETag(r.Revision)}, nil
}

func collectorsOf(v *Survey) CollectorList {
	return CollectorList{append([]campaign.Collector{}, v.Collectors...)}
}

func assignmentsOf(v *Survey) AssignmentList {
	return AssignmentList{append([]campaign.Assignment{}, v.Assignments...)}
}

func (s *Service) serveCollectors(ctx context.Context, in *one) (web.Reply[CollectorList], error) {
	return part(ctx, s, in.ID, collectorsOf)
}

func (s *Service) servePutCollectors(ctx context.Context, in *struct {
	matched
	why
	Body CollectorList
},
) (web.Reply[CollectorList], error) {
	r, err := s.edit(ctx, in.ID, in.IfMatch, change{"collectors changed", in.Reason}, func(d campaign.Draft) (campaign.Draft, error) {
		d.Collectors = in.Body.Items
		return d, nil
	})
	if err != nil {
		return web.Reply[CollectorList]{}, repoint(err, "/collectors", "/items")
	}
	return web.Reply[CollectorList]{Value: collectorsOf(r.Value), ETag: r.ETag}, nil
}

func (s *Service) serveAssignments(ctx context.Context, in *one) (web.Reply[AssignmentList], error) {
	return part(ctx, s, in.ID, func(v *Survey) AssignmentList {
		v, _ = s.veiled(ctx, v)
		return assignmentsOf(v)
	})
}

func (s *Service) servePutAssignments(ctx context.Context, in *struct {
	matched
	why
	Body AssignmentList
},
) (web.Reply[AssignmentList], error) {
	r, err := s.edit(ctx, in.ID, in.IfMatch, change{"assignments changed", in.Reason}, func(d campaign.Draft) (campaign.Draft, error) {
		d.Assignments = in.Body.Items
		return d, nil
	})
	if err != nil {
		return web.Reply[AssignmentList]{}, repoint(err, "/assignments", "/items")
	}
	return web.Reply[AssignmentList]{Value: assignmentsOf(r.Value), ETag: r.ETag}, nil
}

func (s *Service) serveRounds(ctx context.Context, in *one) (web.Reply[RoundList], error) {
	return part(ctx, s, in.ID, func(v *Survey) RoundList { return RoundList{Round: v.Round, Items: v.Rounds} })
}

func (s *Service) serveOpenRound(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; not needed."`
	Body    *NextRound
},
) (web.Reply[*Survey], error) {
	if in.Body == nil {
		in.Body = &NextRound{}
	}
	return s.OpenRound(ctx, in.ID, in.IfMatch, *in.Body)
}

func (s *Service) serveProgress(ctx context.Context, in *struct {
	one
	Round int `query:"round" doc:"The round; the open one by default." example:"1"`
},
) (*Report, error) {
	return s.Progress(ctx, in.ID, in.Round)
}

func (s *Service) serveHistory(ctx context.Context, in *struct {
	one
	web.Paging
},
) (web.Reply[web.Page[Revision]], error) {
	var none web.Reply[web.Page[Revision]]
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

func (s *Service) serveAt(ctx context.Context, in *struct {
	one
	Revision int64 `path:"revision" doc:"Number of the revision." example:"1"`
},
) (web.Reply[*Survey], error) {
	return s.At(ctx, in.ID, in.Revision)
}
