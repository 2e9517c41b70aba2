package api

// SurveyIndicators is what a round of a survey says about the aims of its
// programme.
type SurveyIndicators struct {
	Source     IndicatorSource      `json:"source"`
	Basis      string               `json:"basis,omitzero" enum:"drawn,drawnElsewhere,census,listed,open,nonprobability" doc:"How the households came on the list. Only drawn, drawnElsewhere and census have intervals."`
	NoInterval string               `json:"noInterval,omitzero" doc:"Why figures have no interval."`
	Counted    *SurveyCounted       `json:"counted,omitzero"`
	Indicators []Indicator          `json:"indicators"`
	Inclusion  []IndicatorInclusion `json:"inclusion,omitzero" doc:"Whether households still belong to the programme's target group, round by round."`
	Remarks    []string             `json:"remarks,omitzero"`
}

// IndicatorSource is the basis of a figure.
type IndicatorSource struct {
	SurveyID        string `json:"surveyId"`
	Round           int    `json:"round"`
	Stage           string `json:"stage" enum:"baseline,follow-up,monitoring"`
	TemplateID      string `json:"templateId"`
	TemplateVersion int    `json:"templateVersion"`
	DesignID        string `json:"designId,omitzero" doc:"The sample design of the survey."`
	Revision        int64  `json:"revision" doc:"Of the survey."`
}

// Indicator is a figure with its basis.
type Indicator struct {
	ID         string              `json:"id" example:"usage"`
	Title      string              `json:"title" example:"Households that use the project stove"`
	SDG        string              `json:"sdg,omitzero" example:"SDG7"`
	Unit       string              `json:"unit" example:"share of households"`
	Formula    string              `json:"formula"`
	Statistic  string              `json:"statistic" enum:"proportion,mean,ratio"`
	Computable bool                `json:"computable"`
	Reason     string              `json:"reason,omitzero" doc:"Why there is no figure."`
	Questions  []IndicatorQuestion `json:"questions" doc:"What the figure is made of."`
	Estimates  []SurveyEstimate    `json:"estimates,omitzero" doc:"option is a fuel; value is a group, or the surveys that are compared."`
	Difference *SurveyDifference   `json:"difference,omitzero" doc:"Of what is a saving or a reduction."`
	LeftOut    *IndicatorLeftOut   `json:"leftOut,omitzero" doc:"Households with a response that counts and no value here."`
	Sources    []IndicatorSource   `json:"sources,omitzero" doc:"The surveys it comes from, of indicators of a project."`
}

// IndicatorQuestion is a question that an indicator is computed from.
type IndicatorQuestion struct {
	Role     string `json:"role" example:"used" doc:"What the indicator needs it for."`
	Question string `json:"question,omitzero" example:"usage/used_last_7_days" doc:"Absent where the template has none."`
	By       string `json:"by,omitzero" enum:"mark,id" doc:"How it was found: by a mark in indicators of the question, or by its id."`
}

// IndicatorLeftOut counts households without a value.
type IndicatorLeftOut struct {
	Silent  int `json:"silent" doc:"They did not answer a question of it."`
	Outside int `json:"outside,omitzero" doc:"The figure is not about them: such as respondents who are not the main cook."`
	Units   int `json:"units,omitzero" doc:"They gave an amount in another unit than kg."`
}

// IndicatorInclusion is a round, and who was in it.
type IndicatorInclusion struct {
	Round      int                  `json:"round"`
	Answered   int                  `json:"answered" doc:"Households whose response counts."`
	Ineligible int                  `json:"ineligible" doc:"Households that are not eligible by the rule of the survey."`
	Eligible   *float64             `json:"eligible,omitzero" doc:"Answered over both, not weighted."`
	Criteria   []IndicatorCriterion `json:"criteria"`
	Reason     string               `json:"reason,omitzero" doc:"Why there are no figures of the criteria."`
}

// IndicatorCriterion is the share of households that meet a criterion.
type IndicatorCriterion struct {
	ID       string `json:"id" example:"targetArea"`
	Question string `json:"question" example:"eligibility/target_area"`
	Met      string `json:"met" enum:"true,false" doc:"The answer that meets it."`
	SurveyEstimate
}

// ProjectIndicators is what the surveys of a project say in a period.
type ProjectIndicators struct {
	ProjectID  string             `json:"projectId"`
	From       string             `json:"from,omitzero"`
	To         string             `json:"to,omitzero"`
	Indicators []Indicator        `json:"indicators" doc:"Each from the newest survey that has it; savings and reductions against the comparison group, or else against the newest baseline."`
	Surveys    []SurveyIndicators `json:"surveys" doc:"Figures of each survey of the period, newest first; at most 5."`
	Remarks    []string           `json:"remarks,omitzero"`
}
