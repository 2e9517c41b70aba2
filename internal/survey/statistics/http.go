package statistics

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds figures to the API.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/surveys/{surveyId}/statistics/questions", s.serveQuestions, web.Doc{
		Summary: "List the questions of a survey that have figures", Scope: "analytics:read", Tag: "surveys", Codes: []string{"SURVEY_NOT_FOUND"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/statistics", s.serve, web.Doc{
		Summary: "Read what a survey says about its population, with its uncertainty", Scope: "analytics:read", Tag: "surveys", Produces: "application/json, image/svg+xml",
		Codes: []string{
			"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND", "INVALID_PARAMETER", "STATISTICS_TOO_LARGE", "ANSWERS_PENDING", "UNITS_MIXED", "NO_ANSWERS", "SAMPLE_EMPTY",
			"CELL_EMPTY", "CELL_TOO_SMALL", "POPULATION_UNKNOWN", "POPULATION_TOO_SMALL", "RATIO_OF_NOTHING", "TOTALS_INVALID", "WEIGHTS_DO_NOT_FIT",
		},
		Description: "Weighted estimates with linearised variances over strata, clusters and the shares of the population that were seen, as R's package survey has them. " +
			"A response counts when it is complete and not rejected, invalidated, superseded or redacted. A household that is not eligible keeps its weight and is outside of every figure; " +
			"the others of its cell (stratum, or cluster) make up for one that said nothing. Only samples that were drawn by chance, and censuses, have intervals. " +
			"A cell with nobody, or a stratum with one unit, is a fault whose cells say what to join. Figures from fewer than 5 households are suppressed for keys without responses:pii, " +
			"and another one where the total would give the first away. At most 20,000 responses and households of the list. " +
			"As a picture (format=svg) it is the same figures as bars or dots with their intervals, or as differences where compare is given, with a description in words.",
	})
}

func (s *Service) serve(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Query
	Rendering
},
) (web.Reply[*Statistics], error) {
	var none web.Reply[*Statistics]
	picture, err := in.picture()
	if err != nil {
		return none, err
	}
	figures, err := s.Statistics(ctx, in.Survey, in.Query)
	if err != nil {
		return none, err
	}
	if picture {
		return s.drawn(ctx, figures, &in.Rendering)
	}
	return web.Reply[*Statistics]{Value: figures}, nil
}
