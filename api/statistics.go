package api

// SurveyStatistics is what a survey says about its population.
type SurveyStatistics struct {
	SurveyID    string             `json:"surveyId"`
	Round       int                `json:"round"`
	Question    string             `json:"question" example:"home/fuel"`
	Statistic   string             `json:"statistic" enum:"proportion,mean,total,ratio,quantile"`
	Per         string             `json:"per,omitzero" doc:"What a ratio is per."`
	Q           float64            `json:"q,omitzero" doc:"Which quantile."`
	Repeat      string             `json:"repeat,omitzero" enum:"count,sum,mean" doc:"What of the elements of a repeat each household counts with."`
	By          string             `json:"by,omitzero"`
	Adjust      string             `json:"adjust" enum:"none,poststrata,raking"`
	Join        string             `json:"join,omitzero" doc:"Cells that are taken as one."`
	Confidence  float64            `json:"confidence" example:"0.95"`
	Tail        string             `json:"tail" enum:"two,one" doc:"one: each bound alone has the confidence."`
	Basis       string             `json:"basis" enum:"drawn,drawnElsewhere,census,listed,open,nonprobability" doc:"How the households came on the list. Only drawn, drawnElsewhere and census have intervals."`
	NoInterval  string             `json:"noInterval,omitzero" doc:"Why figures have no interval."`
	SoleSeed    bool               `json:"soleSeed,omitzero" doc:"Only one party named the seed of the draw."`
	Counted     SurveyCounted      `json:"counted"`
	Estimates   []SurveyEstimate   `json:"estimates"`
	Differences []SurveyDifference `json:"differences,omitzero"`
	Remarks     []string           `json:"remarks,omitzero" doc:"What a reader of the figures has to know."`
}

// SurveyCounted is the basis of figures.
type SurveyCounted struct {
	Words        string   `json:"words" doc:"Which responses count, how many do not, and why."`
	Sample       int      `json:"sample" doc:"Households of the sample, with replacements."`
	Answered     int      `json:"answered" doc:"Households whose response counts."`
	Ineligible   int      `json:"ineligible" doc:"They keep their weight, and are outside of every figure."`
	Missing      int      `json:"missing" doc:"Refused, unreachable, partial, redacted, rejected or not asked yet: the households of their cell make up for them."`
	OffList      int      `json:"offList" doc:"Households with a response that counts which are not in the sample. They are in no figure."`
	Replacements int      `json:"replacements" doc:"Households of the sample that stand in for others."`
	ResponseRate *float64 `json:"responseRate,omitzero" doc:"Of the households that were drawn first and are eligible, the share whose response counts."`
}

// SurveyEstimate is one figure with its uncertainty. Members without a value are
// unknown: noInterval says why.
type SurveyEstimate struct {
	Option     string           `json:"option,omitzero" doc:"The option a proportion is of."`
	Value      string           `json:"value,omitzero" doc:"The value of by that the households have."`
	Estimate   *float64         `json:"estimate,omitzero"`
	SE         *float64         `json:"se,omitzero" doc:"Linearised standard error."`
	Low        *float64         `json:"low,omitzero"`
	High       *float64         `json:"high,omitzero"`
	Confidence float64          `json:"confidence"`
	Method     string           `json:"method,omitzero" enum:"wilson,kornGraubard,logit,wald,t,woodruff,exact" doc:"Of the interval."`
	DF         *float64         `json:"df,omitzero" doc:"Degrees of freedom: first-stage units less strata."`
	N          *int             `json:"n,omitzero" doc:"Households it comes from."`
	Population *float64         `json:"population,omitzero" doc:"Households they stand for."`
	Deff       *float64         `json:"deff,omitzero" doc:"Variance against that of a simple random sample of the same n."`
	Kish       *float64         `json:"kish,omitzero" doc:"What unequal weights alone cost."`
	EffectiveN *float64         `json:"effectiveN,omitzero" doc:"Of a proportion that of its interval, else n over deff."`
	Unweighted *float64         `json:"unweighted,omitzero"`
	Precision  *SurveyPrecision `json:"precision,omitzero"`
	Suppressed bool             `json:"suppressed,omitzero" doc:"Fewer than 5 households, or the total would give such a figure away. With responses:pii it is shown."`
	NoInterval string           `json:"noInterval,omitzero"`
}

// SurveyPrecision is the precision of a figure, compared with its target.
type SurveyPrecision struct {
	Confidence float64  `json:"confidence" doc:"That of the target, else that of the figure."`
	Relative   *float64 `json:"relative,omitzero" doc:"Half of the interval over the figure. As in the formulas for sizes of samples, z times the standard error for proportions, t for others. Of a proportion of which the sample shows no variance it is the distance to the further bound of the interval."`
	Absolute   float64  `json:"absolute"`
	Low        float64  `json:"low"`
	High       float64  `json:"high"`
	Target     *float64 `json:"target,omitzero" doc:"The relative precision aimed at."`
	Margin     *float64 `json:"margin,omitzero" doc:"The absolute margin aimed at."`
	Policy     string   `json:"policy,omitzero" enum:"none,lower,upper" doc:"Which bound stands in for a figure that misses the target: onMiss of the sampling, which is that of the methodology, or what was asked for."`
	Status     string   `json:"status,omitzero" enum:"met,bound_used,precision_not_met,parameter_mismatch" doc:"The decision; absent without a target. parameter_mismatch: the target is for another kind of figure."`
	Why        string   `json:"why,omitzero" doc:"Why the figure is not the value to use."`
	Use        *float64 `json:"use,omitzero" doc:"The value to use: the figure, or the bound that stands in for it. Absent when neither may be used."`
}

// SurveyDifference is one figure minus another.
type SurveyDifference struct {
	Option     string   `json:"option,omitzero"`
	Value      string   `json:"value" example:"comparison"`
	Less       string   `json:"less" example:"adopter"`
	Estimate   *float64 `json:"estimate,omitzero"`
	SE         *float64 `json:"se,omitzero"`
	Low        *float64 `json:"low,omitzero"`
	High       *float64 `json:"high,omitzero"`
	Confidence float64  `json:"confidence"`
	DF         *float64 `json:"df,omitzero"`
	T          *float64 `json:"t,omitzero"`
	P          *float64 `json:"p,omitzero" doc:"Of the test that there is no difference, two-sided."`
	Common     int      `json:"common,omitzero" doc:"Households in both rounds."`
	Suppressed bool     `json:"suppressed,omitzero"`
	NoInterval string   `json:"noInterval,omitzero"`
}

// SurveyQuestions are the questions of a survey that have figures.
type SurveyQuestions struct {
	SurveyID string           `json:"surveyId"`
	Items    []SurveyQuestion `json:"items" doc:"In the order of the template: answers are numbers or options, given once in an interview, and not sealed."`
}

// SurveyQuestion is one of them.
type SurveyQuestion struct {
	Question   string               `json:"question" example:"home/fuel" doc:"As statistics are asked for it."`
	Label      string               `json:"label"`
	Section    string               `json:"section" doc:"Title of its section."`
	Statistics []string             `json:"statistics" doc:"Those it can be asked for, the usual one first."`
	Groups     bool                 `json:"groups,omitzero" doc:"Figures can be asked for by its values."`
	Unit       string               `json:"unit,omitzero"`
	Options    []SurveyAnswerOption `json:"options,omitzero"`
}

// SurveyAnswerOption is an answer that can be chosen.
type SurveyAnswerOption struct {
	Value string `json:"value"`
	Label string `json:"label"`
}
