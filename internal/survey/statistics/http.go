package statistics

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds figures to the API.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/surveys/{surveyId}/statistics/questions", s.serveQuestions, web.Doc{
		Summary: "List the questions of a survey that have figures", Scope: "analytics:read", Tag: "surveys", Codes: []string{"SURVEY_NOT_FOUND"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/statistics", s.serve, web.Doc{
		Summary: "Read what a survey says about its population, with its uncertainty", Scope: "analytics:read", Tag: "surveys", Produces: report.Media, Later: job.Job{}, Refusal: estimate.Joins{},
		Codes: []string{
			"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND", "INVALID_PARAMETER", "STATISTICS_NOT_FOUND", "STATISTICS_TOO_LARGE", "ANSWERS_PENDING", "UNITS_MIXED", "NO_ANSWERS", "SAMPLE_EMPTY",
			"CELL_EMPTY", "CELL_TOO_SMALL", "POPULATION_UNKNOWN", "POPULATION_TOO_SMALL", "RATIO_OF_NOTHING", "TOTALS_INVALID", "WEIGHTS_DO_NOT_FIT",
		},
		Description: "Weighted estimates with linearised variances over strata, clusters and the shares of the population that were seen, as R's package survey has them. " +
			"A response counts when it is complete and not rejected, invalidated, superseded or redacted. A household that is not eligible keeps its weight but is excluded from every figure; " +
			"the others of its cell (stratum, or cluster) make up for a household that did not answer. Only samples that were drawn by chance, and censuses, have intervals. " +
			"A cell without an answer, or a stratum with one unit, is an error whose cells say what to join. Figures from fewer than 5 households are suppressed for keys without responses:pii, " +
			"and so are others that would reveal them. A job makes figures of more than 20,000 responses or households: the answer is 202 with the job, whose links.about leads to the figures " +
			"(job=, as long as no response in them is taken out or erased); the same request returns them, too, until the survey changes. Figures are kept: asking again is cheap while nothing has changed. " +
			"As a picture (format=svg) the same figures appear as bars or dots with their intervals, or as differences when compare is given, with a description in words.",
	})
}

type figuresIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Query
	report.Rendering
	Job string `query:"job" doc:"The figures that this job made, as they were then; allows no other parameter."`
}

// serve answers with figures or a picture of them, or with the job that makes them.
func (s *Service) serve(ctx context.Context, in *figuresIn) (web.Reply[*Statistics], error) {
	var none web.Reply[*Statistics]
	picture, err := in.Picture()
	if err != nil {
		return none, err
	}
	out, err := s.asked(ctx, in)
	if fault.CodeOf(err) == errLarge.Code && in.Job == "" && s.jobs != nil {
		return s.byJob(ctx, in)
	}
	if err != nil {
		return none, err
	}
	if picture {
		return s.drawn(ctx, out, &in.Rendering)
	}
	return web.Reply[*Statistics]{Value: out}, nil
}

// asked are figures that a job has made, or those of now.
func (s *Service) asked(ctx context.Context, in *figuresIn) (*Statistics, error) {
	if in.Job != "" {
		return s.Made(ctx, in.Survey, in.Job)
	}
	return s.Statistics(ctx, in.Survey, in.Query)
}

// byJob begins the job that makes large figures.
func (s *Service) byJob(ctx context.Context, in *figuresIn) (web.Reply[*Statistics], error) {
	a, err := s.ask(ctx, in.Survey, in.Query)
	if err != nil {
		return web.Reply[*Statistics]{}, err
	}
	later, err := s.later(ctx, a)
	if err != nil {
		return web.Reply[*Statistics]{}, err
	}
	body, err := web.Encode(later.Value)
	return web.Reply[*Statistics]{Raw: body, Status: http.StatusAccepted, Location: later.Location}, err
}
