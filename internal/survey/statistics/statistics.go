// Package statistics answers what a survey says about its population: it reads the
// typed answers of the responses that count, takes weights and variances from how
// the sample was drawn (package estimate), and says with every figure what it is
// based on. Nothing is made up: where the households were not drawn by chance
// there is a figure and no interval. Indicators, which say what surveys show about
// the aims of a programme, are made of the same figures.
package statistics

import (
	"context"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Nouns of package api, by their names here.
type (
	Statistics = api.SurveyStatistics
	Estimate   = api.SurveyEstimate
	Difference = api.SurveyDifference
	Precision  = api.SurveyPrecision
)

// The statistics.
const (
	proportion = "proportion"
	mean       = "mean"
	total      = "total"
	ratio      = "ratio"
	quantile   = "quantile"
)

// Ways to fit the weights to known totals.
const (
	adjustNone       = "none"
	adjustPoststrata = "poststrata"
	adjustRaking     = "raking"
)

// How many responses, and households of a list, are read in a request and by a
// job.
const (
	inRequest = 20_000
	inJob     = 5_000_000
)

// leastShown is the number of households below which a figure is not shown to
// callers who may not read what single households say.
const leastShown = 5

// Config configures a Service.
type Config struct {
	DB        *db.DB
	Surveys   *survey.Service
	Responses *response.Service
	Jobs      *job.Service     // without it large figures are refused
	Now       func() time.Time // the clock of the store by default
}

// Service computes figures.
type Service struct {
	db        *db.DB
	surveys   *survey.Service
	responses *response.Service
	jobs      *job.Service
	now       func() time.Time
	most      int // responses in a request
}

// New makes a Service.
func New(c Config) *Service {
	s := &Service{db: c.DB, surveys: c.Surveys, responses: c.Responses, jobs: c.Jobs, now: c.Now, most: inRequest}
	if s.now == nil {
		s.now = c.DB.Now
	}
	if s.jobs != nil {
		s.jobs.Share(Kind, s.mayRead)
	}
	return s
}

// Query selects figures.
type Query struct {
	Question   string  `query:"question" doc:"The question, as section/question; groups, repeats and rows of a matrix are further steps. Required, except with job." example:"home/fuel"`
	Statistic  string  `query:"statistic" enum:"proportion,mean,total,ratio,quantile" doc:"By default proportion for choices and mean for numbers."`
	Per        string  `query:"per" doc:"The denominator of a ratio, such as the size of the household."`
	Q          float64 `query:"q" doc:"Which quantile, above 0 and below 1; 0.5 by default."`
	Option     string  `query:"option" doc:"The option or number of a proportion; by default every option, and true for yes and no."`
	Repeat     string  `query:"repeat" enum:"count,sum,mean" doc:"For a question in a repeat: how the elements of a household are combined. count (with option, those of one option) and sum are 0 where the repeat is empty; a mean leaves such households out."`
	By         string  `query:"by" doc:"group, stratum, mode (how the household was asked) or a question with options: a figure for each value, and one for all."`
	Compare    string  `query:"compare" doc:"Two values of by, separated by a comma: the first less the second. Or round:1, the figures less those of another round." example:"comparison,adopter"`
	Round      int     `query:"round" minimum:"1" doc:"The open round by default."`
	Confidence float64 `query:"confidence" doc:"Above 0.5 and below 1; by default that of the sampling, otherwise 0.95."`
	Tail       string  `query:"tail" enum:"two,one" doc:"one: each bound of the interval alone has the confidence. The decision about the target uses the tail of the sampling."`
	Interval   string  `query:"interval" enum:"wilson,kornGraubard,logit,wald" doc:"Interval of proportions; wilson by default."`
	Adjust     string  `query:"adjust" enum:"none,poststrata,raking" doc:"Fit the weights to sampling.totals: to the first of them, or to all."`
	Cell       string  `query:"cell" enum:"cluster,stratum" doc:"Which cell makes up for households that did not answer, in samples of clusters: the cluster by default. Without clusters it is the stratum."`
	Join       string  `query:"join" doc:"Cells to join when one alone has no answer, or one unit: names of strata, of clusters or of values of sampling.totals, separated by commas, with bars between several groups." example:"north,east|west,south"`
	Bound      string  `query:"bound" enum:"lower,upper" doc:"What replaces a figure that misses the target, when the sampling has no onMiss."`
	Verified   bool    `query:"verified" doc:"Only verified responses count."`
}

// level is how sure intervals are to be.
func (q *Query) level() estimate.Level {
	return estimate.Level{Confidence: q.Confidence, OneTail: q.Tail == "one"}
}

// check refuses what cannot be meant, and fills in defaults.
func (q *Query) check(o *survey.Open) error {
	var c fault.Checks
	c.Require(q.Question != "", "query/question")
	check.OneOf(&c, "query/statistic", q.Statistic, proportion, mean, total, ratio, quantile)
	check.OneOf(&c, "query/tail", q.Tail, "two", "one")
	check.OneOf(&c, "query/interval", q.Interval, estimate.Wilson, estimate.KornGraubard, estimate.Logit, estimate.Wald)
	check.OneOf(&c, "query/adjust", q.Adjust, adjustNone, adjustPoststrata, adjustRaking)
	check.OneOf(&c, "query/cell", q.Cell, "cluster", "stratum")
	check.OneOf(&c, "query/bound", q.Bound, estimate.Lower, estimate.Upper)
	if s := o.Sampling.Confidence; q.Confidence == 0 && s != nil {
		q.Confidence = *s
	} else if q.Confidence == 0 {
		q.Confidence = 0.95
	}
	if !(q.Confidence > 0.5 && q.Confidence < 1) {
		c.Add("query/confidence", "out_of_range", "The value must be above 0.5 and below 1.")
	}
	if q.Q != 0 && !(q.Q > 0 && q.Q < 1) {
		c.Add("query/q", "out_of_range", "The value must be above 0 and below 1.")
	}
	if (q.Statistic == ratio) != (q.Per != "") {
		c.Add("query/per", "invalid", "A ratio needs per, and nothing else accepts it.")
	}
	if a, b, ok := q.values(); q.Compare != "" && q.round() == 0 && (!ok || a == b || q.By == "") {
		c.Add("query/compare", "invalid", "Give two values of by, separated by a comma, or round: and the number of a round.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// values are the two values of by that are compared.
func (q *Query) values() (a, b string, ok bool) {
	a, b, ok = strings.Cut(q.Compare, ",")
	return a, b, ok && a != "" && b != ""
}

// round is the round that is compared with, 0 for none.
func (q *Query) round() int {
	digits, ok := strings.CutPrefix(q.Compare, "round:")
	if !ok || len(digits) == 0 || len(digits) > 6 {
		return 0
	}
	n := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0
		}
		n = 10*n + int(d-'0')
	}
	return n
}

// Statistics returns the figures of a question, stored or newly made. Faults:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND, INVALID_PARAMETER, STATISTICS_TOO_LARGE
// where only a job makes them, ANSWERS_PENDING and those of package estimate.
func (s *Service) Statistics(ctx context.Context, surveyID string, in Query) (*Statistics, error) {
	a, err := s.ask(ctx, surveyID, in)
	if err != nil {
		return nil, err
	}
	if out, err := s.kept(ctx, a); err != nil || out != nil {
		return out, err
	}
	large, err := s.large(ctx, a)
	if err == nil && large {
		err = errLarge
	}
	if err != nil {
		return nil, err
	}
	return s.make(ctx, a, "", &reading{most: s.most})
}

// ask is a query that can be answered.
func (s *Service) ask(ctx context.Context, surveyID string, in Query) (*ask, error) {
	o, err := s.surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, err
	}
	if in.Round == 0 {
		in.Round = o.Round
	}
	for _, round := range []int{in.Round, in.round()} {
		if round < 0 || round > o.Round || round == 0 && o.Round > 0 && in.Round == 0 {
			return nil, fault.New(fault.NotFound, "ROUND_NOT_FOUND", "The survey has no such round.")
		}
	}
	if err := in.check(o); err != nil {
		return nil, err
	}
	a, err := newAsk(o, in)
	if err != nil {
		return nil, err
	}
	a.whole = web.CallerFrom(ctx).May("responses:pii")
	return a, nil
}

// large reports whether the counters of a survey show that it has more than one
// request reads.
func (s *Service) large(ctx context.Context, a *ask) (bool, error) {
	n, err := s.size(ctx, a)
	return n > int64(s.most), err
}

// size is how many responses the rounds of a query have, or its list has
// households.
func (s *Service) size(ctx context.Context, a *ask) (int64, error) {
	p, err := s.surveys.Progress(ctx, a.o.SurveyID, a.in.Round)
	if err != nil {
		return 0, err
	}
	return max(p.Drawn, p.Completed+p.Partial+p.Refused), nil
}

// make computes figures and keeps them.
func (s *Service) make(ctx context.Context, a *ask, job string, r *reading) (*Statistics, error) {
	var now, before *sheet
	var at moment
	err := s.db.View(ctx, func(q db.Querier) error {
		var err error
		if at, err = momentOf(ctx, q, a.o.NID); err != nil {
			return err
		}
		if now, err = s.read(ctx, q, a, a.in.Round, r); err != nil || a.in.round() == 0 {
			return err
		}
		before, err = s.read(ctx, q, a, a.in.round(), r)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := a.answer(now, before)
	if err != nil {
		return nil, err
	}
	return out, s.keep(ctx, a, at, job, out)
}
