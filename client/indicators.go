package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	SurveyIndicators   = api.SurveyIndicators
	ProjectIndicators  = api.ProjectIndicators
	Indicator          = api.Indicator
	IndicatorQuestion  = api.IndicatorQuestion
	IndicatorSource    = api.IndicatorSource
	IndicatorInclusion = api.IndicatorInclusion
)

// IndicatorQuery says how to compute indicators.
type IndicatorQuery struct {
	Round      int    // of a survey; the open one for 0
	From, To   string // of a project: days
	Confidence float64
	Verified   bool
	FNRB       float64 // the share of wood that does not grow again; 0.3 for 0
}

func (q IndicatorQuery) values() url.Values {
	v := url.Values{}
	set(v, "from", q.From)
	set(v, "to", q.To)
	setInt(v, "round", int64(q.Round))
	for name, value := range map[string]float64{"confidence": q.Confidence, "fnrb": q.FNRB} {
		if value != 0 {
			v.Set(name, strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	if q.Verified {
		v.Set("verified", "true")
	}
	return v
}

// Indicators reads what a survey says about the aims of its programme. Codes:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (s Statistics) Indicators(ctx context.Context, id string, q IndicatorQuery, opts ...Option) (*SurveyIndicators, error) {
	return do[SurveyIndicators](ctx, s.c, get(surveyPath(id)+"/indicators", q.values()), opts)
}

// ProjectIndicators reads what the surveys of a project say in a period. Code:
// PROJECT_NOT_FOUND.
func (s Statistics) ProjectIndicators(ctx context.Context, did string, q IndicatorQuery, opts ...Option) (*ProjectIndicators, error) {
	return do[ProjectIndicators](ctx, s.c, get("/v1/projects/"+url.PathEscape(did)+"/indicators", q.values()), opts)
}
