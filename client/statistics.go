package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
)

// Statistics reads what surveys say about their populations.
type Statistics struct{ c *Client }

// Types of package api.
type (
	SurveyStatistics = api.SurveyStatistics
	SurveyEstimate   = api.SurveyEstimate
	SurveyDifference = api.SurveyDifference
	SurveyPrecision  = api.SurveyPrecision
	SurveyCounted    = api.SurveyCounted
	SurveyQuestions  = api.SurveyQuestions
	SurveyQuestion   = api.SurveyQuestion
)

// StatisticsQuery selects figures of a survey; Question is required.
type StatisticsQuery struct {
	Question   string // section/question
	Statistic  string // proportion, mean, total, ratio or quantile
	Per        string // the question of a ratio
	Q          float64
	Option     string
	Repeat     string // count, sum or mean of the elements of a repeat
	By         string // group, stratum or a question
	Compare    string // two values of By, or round:1
	Round      int    // the open one for 0
	Confidence float64
	Tail       string // two or one
	Interval   string // of proportions: wilson, kornGraubard, logit or wald
	Adjust     string // none, poststrata or raking
	Cell       string // cluster or stratum
	Join       string // cells that are taken as one: north,east
	Bound      string // lower or upper
	Verified   bool
}

// Questions lists the questions of a survey that have figures; language "" is that of its template.
func (s Statistics) Questions(ctx context.Context, id, language string, opts ...Option) (*SurveyQuestions, error) {
	v := url.Values{}
	set(v, "language", language)
	return do[SurveyQuestions](ctx, s.c, get(surveyPath(id)+"/statistics/questions", v), opts)
}

// ReportQuery selects the contents of a survey's report.
type ReportQuery struct {
	Questions []string // all that have figures for none
	Round     int      // the open one for 0
	Verified  bool
	Language  string
}

// Report opens the report of a survey, an HTML page to print. If a job makes its
// figures, it waits for the job. Close it. Codes: REPORT_TOO_LARGE,
// ANSWERS_PENDING.
func (s Statistics) Report(ctx context.Context, id string, q ReportQuery, opts ...Option) (io.ReadCloser, error) {
	v := url.Values{}
	set(v, "questions", strings.Join(q.Questions, ","))
	setInt(v, "round", int64(q.Round))
	if q.Verified {
		v.Set("verified", "true")
	}
	set(v, "language", q.Language)
	body, err := s.c.download(ctx, get(surveyPath(id)+"/report", v), opts)
	var later laterOn
	if !errors.As(err, &later) {
		return body, err
	}
	job, err := s.c.Jobs.Wait(ctx, later.ID, opts...)
	if err != nil {
		return nil, err
	}
	if !job.Done() {
		return nil, fmt.Errorf("job %s of the report is %s: %v", job.ID, job.Status, job.Errors)
	}
	v.Set("job", job.ID)
	return s.c.download(ctx, get(surveyPath(id)+"/report", v), opts)
}

// Picture draws what a survey says about its population, as SVG. Close it. Codes are those of Get.
func (s Statistics) Picture(ctx context.Context, id string, q StatisticsQuery, opts ...Option) (io.ReadCloser, error) {
	v := q.values()
	v.Set("format", "svg")
	return s.c.download(ctx, get(surveyPath(id)+"/statistics", v), opts)
}

// Get reads what a survey says about its population, with its uncertainty. If a
// job makes the figures, it waits for the job. Codes: CELL_EMPTY,
// CELL_TOO_SMALL, POPULATION_UNKNOWN, NO_ANSWERS.
func (s Statistics) Get(ctx context.Context, id string, q StatisticsQuery, opts ...Option) (*SurveyStatistics, error) {
	out, err := do[struct {
		SurveyStatistics
		JobID string `json:"id"`
	}](ctx, s.c, get(surveyPath(id)+"/statistics", q.values()), opts)
	if err != nil {
		return nil, err
	}
	if out.JobID == "" {
		return &out.SurveyStatistics, nil
	}
	job, err := s.c.Jobs.Wait(ctx, out.JobID, opts...)
	if err != nil {
		return nil, err
	}
	if !job.Done() {
		return nil, fmt.Errorf("job %s of the figures is %s: %v", job.ID, job.Status, job.Errors)
	}
	return s.Made(ctx, id, job.ID, opts...)
}

// Made reads the figures that a job has made, as they were then. Code:
// STATISTICS_NOT_FOUND.
func (s Statistics) Made(ctx context.Context, id, job string, opts ...Option) (*SurveyStatistics, error) {
	return do[SurveyStatistics](ctx, s.c, get(surveyPath(id)+"/statistics", url.Values{"job": {job}}), opts)
}

func (q StatisticsQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"question": q.Question, "statistic": q.Statistic, "per": q.Per, "option": q.Option, "repeat": q.Repeat, "by": q.By, "compare": q.Compare, "tail": q.Tail,
		"interval": q.Interval, "adjust": q.Adjust, "cell": q.Cell, "join": q.Join, "bound": q.Bound,
	} {
		set(v, name, value)
	}
	for name, value := range map[string]float64{"q": q.Q, "confidence": q.Confidence} {
		if value != 0 {
			v.Set(name, strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	setInt(v, "round", int64(q.Round))
	if q.Verified {
		v.Set("verified", "true")
	}
	return v
}
