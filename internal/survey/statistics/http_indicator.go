package statistics

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const about = "usage, stacking, fuel for each person and household, fuel costs, and figures for the Sustainable Development Goals 1, 3, 5, 7 and 13, each with its formula, the questions it is made of and what was left out. " +
	"Figures are made as in GET /v1/surveys/{surveyId}/statistics: with the same weights, intervals and rules of what counts and what is hidden. " +
	"The server finds a question by a mark in its indicators, such as usage.used, otherwise by its id; docs/indicators.md has the table. An indicator whose questions the template lacks, or seals, is listed with the reason."

// Routes adds indicators to the API.
func (s *Indicators) Routes(a *web.API) {
	web.Get(a, "/v1/surveys/{surveyId}/indicators", s.serveSurvey, web.Doc{
		Summary: "Read what a survey says about the aims of the programme", Scope: "analytics:read", Tag: "surveys",
		Codes:       []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND", "INVALID_PARAMETER", "ANSWERS_PENDING"},
		Description: "Of a round: " + about + " Savings and reductions compare the groups of the list. inclusion shows over the last 6 rounds whether households still meet the criteria of the programme.",
	})
	web.Get(a, "/v1/projects/{did}/indicators", s.serveProject, web.Doc{
		Summary: "Read what the surveys of a project say about its aims", Scope: "analytics:read", Tag: "surveys",
		Codes:       []string{"PROJECT_NOT_FOUND", "INVALID_PARAMETER", "ANSWERS_PENDING"},
		Description: "Of the newest round in the period of up to 5 surveys: " + about + " Each indicator comes from the newest survey that has it. Savings and reductions compare the groups of its list, or otherwise adopters with the newest baseline survey.",
	})
}

// asking is how figures are wanted.
type asking struct {
	Confidence float64 `query:"confidence" doc:"Above 0.5 and below 1; by default that of the sampling, otherwise 0.95."`
	Verified   bool    `query:"verified" doc:"Only verified responses count."`
	FNRB       float64 `query:"fnrb" doc:"The share of wood and charcoal that is not renewable, above 0 and at most 1; 0.3 by default." example:"0.3"`
}

func (a asking) ask() IndicatorQuery {
	return IndicatorQuery{Confidence: a.Confidence, Verified: a.Verified, FNRB: a.FNRB}
}

func (s *Indicators) serveSurvey(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Round  int    `query:"round" minimum:"1" doc:"The open round by default."`
	asking
},
) (*api.SurveyIndicators, error) {
	ask := in.ask()
	ask.Round = in.Round
	return s.Survey(ctx, in.Survey, ask)
}

func (s *Indicators) serveProject(ctx context.Context, in *struct {
	DID  string `path:"did" doc:"DID of the project." example:"did:ixo:entity:123"`
	From string `query:"from" doc:"First day of the period." example:"2024-01-01"`
	To   string `query:"to" doc:"Last day of the period."`
	asking
},
) (*api.ProjectIndicators, error) {
	return s.Project(ctx, in.DID, Period{in.From, in.To}, in.ask())
}
