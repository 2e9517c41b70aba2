package crossref

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const about = "Starts a job that compares the answers of a round to one question with what was measured in the same households: the days of the sensors that were in the household at the time (since and until of relationships decide, as in GET /v1/projects/{did}/usage), " +
	"or what kitchen tests weighed (measure=fuel; sumPeriod selects tests by their first day). Responses count as in figures. A day counts when it has at least half of its expected readings; households with fewer days than minDays form no pair and are counted separately.\n\n" +
	"For use, the result has agreement, Cohen's kappa from 30 pairs on, overReport (the share without measured use among those who say that they use it) and underReport. For amounts per day it has bias and limits of agreement by Bland and Altman. " +
	"adjusted is what the whole round says, corrected by the pairs, with the weights of the sample where it was drawn. hawthorne is min(1, cooking events per day in the 30 days before and after kitchen tests / during them), the mean of households with both.\n\n" +
	"Responses that do not agree with the measurements (use: any difference; amounts: more than tolerance times what was measured) are flagged with sensor_mismatch. A run replaces the flags and pairs of earlier runs of the same round and question, and nothing else; earlier results stay. " +
	"While such a run is waiting or working, the answer is that run."

// Routes adds cross-references to the API.
func (s *Service) Routes(a *web.API) {
	const tag, one = "quality", "/v1/surveys/{surveyId}/cross-reference"
	tolerance := 0.5
	web.Post(a, one, s.serveBegin, web.Doc{
		Summary: "Compare the answers of a survey with sensors and kitchen tests", Status: http.StatusAccepted, Scope: "responses:verify or responses:check", Tag: tag, Once: true, Description: about,
		Codes:   []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND", "CROSS_REFERENCE_INVALID"},
		Example: Draft{Question: "usage/used_last_7_days", Days: 7, Tolerance: &tolerance},
	})
	web.Get(a, one, s.serveList, web.Doc{
		Summary: "List how far answers and measurements agree, newest first", Scope: "analytics:read", Tag: tag, Codes: []string{"SURVEY_NOT_FOUND"},
		Description: "Each with the question, the days and the hashes of what it was computed from. Figures of fewer than 5 households are not shown to keys without responses:pii.",
	})
	web.Get(a, one+"/{crossReferenceId}", s.serveGet, web.Doc{
		Summary: "Read how far answers and measurements agree", Scope: "analytics:read", Tag: tag, Produces: report.Media, Codes: []string{"SURVEY_NOT_FOUND", "CROSS_REFERENCE_NOT_FOUND", "INVALID_PARAMETER"},
		Description: "As a picture (format=svg), use is shown as bars of the shares; amounts as a dot for each pair of the newest result, with the line on which both agree, or with picture=differences as Bland and Altman draw them. Only keys with responses:read see the dots.",
	})
	web.Get(a, one+"/{crossReferenceId}/pairs", s.servePairs, web.Doc{
		Summary: "List what households say and what was measured in them", Scope: "responses:read", Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "CROSS_REFERENCE_NOT_FOUND"},
		Description: "The pairs of the newest cross-reference of a round and question, in the order in which the responses arrived; earlier cross-references have none left. A pair is removed when its answer is corrected, taken out or erased.",
	})
}

type ofSurvey struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
}

type ofResult struct {
	ofSurvey
	ID string `path:"crossReferenceId" doc:"Id of the cross-reference." example:"xrf_7310428377145344"`
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func (s *Service) serveBegin(ctx context.Context, in *struct {
	ofSurvey
	Body Draft
},
) (web.Reply[job.Job], error) {
	return s.Begin(ctx, in.Survey, in.Body)
}

// place is where a list continues.
type place struct {
	Before int64 `json:"b"`
}

func (s *Service) serveList(ctx context.Context, in *struct {
	ofSurvey
	web.Paging
},
) (web.Reply[web.Page[*Result]], error) {
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return web.Reply[web.Page[*Result]]{}, err
	}
	at := place{math.MaxInt64}
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) (items []*Result, next *place, err error) {
		rows, err := list(ctx, s.db, o.NID, at.Before, limit+1)
		if err != nil {
			return nil, nil, err
		}
		if len(rows) > limit {
			rows = rows[:limit]
			next = &place{rows[limit-1].nid}
		}
		for i := range rows {
			v, err := s.shown(ctx, o, &rows[i])
			if err != nil {
				return nil, nil, err
			}
			items = append(items, v)
		}
		return items, next, nil
	})
}

func (s *Service) serveGet(ctx context.Context, in *struct {
	ofResult
	report.Rendering
	Kind string `query:"picture" enum:"both,differences" doc:"For a picture of amounts: both plotted against each other, or their differences; both by default."`
},
) (web.Reply[*Result], error) {
	var none web.Reply[*Result]
	wanted, err := in.Picture()
	if err == nil {
		var c fault.Checks
		check.OneOf(&c, "query/picture", in.Kind, "both", "differences")
		err = c.Err("INVALID_PARAMETER", "A parameter is not valid.")
	}
	if err != nil {
		return none, err
	}
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return none, err
	}
	r, err := find(ctx, s.db, o.NID, in.ID)
	if err != nil {
		return none, err
	}
	out, err := s.shown(ctx, o, r)
	if err != nil || !wanted {
		return web.Reply[*Result]{Value: out}, err
	}
	p := picture{of: out, name: question(o, out.Asked.Question, in.Language), frame: report.Frame{Width: in.Width, Language: in.Language}}
	if out.Difference != nil && out.Difference.Bias != nil && web.CallerFrom(ctx).May("responses:read") {
		if p.points, err = points(ctx, s.db, r.nid); err != nil {
			return none, err
		}
	}
	return report.Reply[*Result](p.draw(in.Kind == "differences")), nil
}

// pairPlace is where a list of pairs continues.
type pairPlace struct {
	After int64 `json:"a"`
}

func (s *Service) servePairs(ctx context.Context, in *struct {
	ofResult
	web.Paging
},
) (web.Reply[web.Page[Shown]], error) {
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return web.Reply[web.Page[Shown]]{}, err
	}
	r, err := find(ctx, s.db, o.NID, in.ID)
	if err != nil {
		return web.Reply[web.Page[Shown]]{}, err
	}
	sight := s.cfg.Responses.Sight(ctx, o)
	var at pairPlace
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]Shown, *pairPlace, error) {
		rows, err := s.db.Query(ctx, selectPairs, r.nid, at.After, limit+1)
		var nids []int64
		items, err := db.Collect(rows, err, "list pairs", func(p *Shown, row db.Row) error {
			var nid, mismatch int64
			err := row.Scan(&nid, &p.HouseholdID, &p.Said, &p.Measured, &p.Days, &mismatch)
			p.RecordID, p.HouseholdID, p.Mismatch = privacy.RecordName(nid), sight.Household(p.HouseholdID), mismatch != 0
			nids = append(nids, nid)
			return err
		})
		if err != nil || len(items) <= limit {
			return items, nil, err
		}
		return items[:limit], &pairPlace{nids[limit-1]}, nil
	})
}
