package app

import (
	"context"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
)

// buildReports makes the report of a survey from its figures and its sample.
func (s *surveys) buildReports(a *App) {
	s.reports = report.New(report.Config{
		Surveys: s.surveys,
		Questions: func(o *survey.Open, language string) (out []report.Question) {
			for _, q := range statistics.Questions(o, language) {
				out = append(out, report.Question{Name: q.Question, Section: q.Section})
			}
			return out
		},
		Figures: func(ctx context.Context, o *survey.Open, question string, in report.Ask) (*api.SurveyStatistics, report.Names, error) {
			figures, err := s.reported(ctx, o, question, in)
			asked := figures
			if err != nil {
				asked = &api.SurveyStatistics{Question: question}
			}
			return figures, statistics.Named(o, asked, in.Language), err
		},
		Proof: s.proofOf, DB: a.DB, Jobs: a.Jobs,
		Make: func(ctx context.Context, o *survey.Open, question string, in report.Ask, job string) error {
			return s.figures.Make(ctx, o.SurveyID, statistics.Query{Question: question, Round: in.Round, Verified: in.Verified}, job)
		},
	})
}

// reported are the figures of a question for a report: those of now, or those that
// its job has made.
func (s *surveys) reported(ctx context.Context, o *survey.Open, question string, in report.Ask) (*api.SurveyStatistics, error) {
	q := statistics.Query{Question: question, Round: in.Round, Verified: in.Verified}
	if in.Job != "" {
		return s.figures.MadeOf(ctx, o.SurveyID, q, in.Job)
	}
	return s.figures.Statistics(ctx, o.SurveyID, q)
}

// proofOf is how the sample of a survey was designed and drawn, as far as the
// caller may know. What was deleted since is left out.
func (s *surveys) proofOf(ctx context.Context, design, draw string) (out report.Proof, err error) {
	d, err := s.sampling.Get(ctx, design, 0)
	if err == nil {
		out.Design = d.Value
	} else if fault.KindOf(err) != fault.NotFound {
		return out, err
	}
	if draw == "" {
		return out, nil
	}
	made, err := s.sampling.GetDraw(ctx, sampling.Which{Draw: draw})
	if err != nil {
		return out, err
	}
	out.Draw = made.Value
	out.Check, err = s.sampling.Verify(ctx, sampling.Which{Draw: draw})
	if f := fault.As(err); f != nil {
		out.Why, err = f.Message, nil
	}
	return out, err
}

// questions returns the questions of a survey that have figures.
func (l lookups) questions(ctx context.Context, id string) ([]lookup.Asked, error) {
	o, err := l.surveys.surveys.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []lookup.Asked
	for _, q := range statistics.Questions(o, "") {
		out = append(out, lookup.Asked{Name: q.Question, Label: q.Label})
	}
	return out, nil
}

// figures are what a survey says, with its words for options and values.
func (l lookups) figures(ctx context.Context, q lookup.FigureQuery) (*api.SurveyStatistics, map[string]string, error) {
	o, err := l.surveys.surveys.Open(ctx, q.Survey)
	if err != nil {
		return nil, nil, err
	}
	s, err := l.surveys.figures.Statistics(ctx, q.Survey, statistics.Query{
		Question: q.Question, Statistic: q.Statistic, Option: q.Option, By: q.By, Compare: q.Compare, Round: q.Round, Confidence: q.Confidence, Verified: q.Verified,
	})
	if f := fault.As(err); f != nil && f.Kind == fault.Invalid && len(f.Fields) > 0 {
		return nil, nil, tool.BadArgument(strings.TrimPrefix(f.Fields[0].Pointer, "query/"), f.Fields[0].Detail)
	} else if err != nil {
		return nil, nil, err
	}
	names := statistics.Named(o, s, "")
	words := names.Values
	for code, text := range names.Options {
		words[code] = text
	}
	return s, words, nil
}

// sampleSize computes a design; a project is needed to keep one, which this does
// not.
func (l lookups) sampleSize(_ context.Context, d api.SampleDesignDraft) (*api.SampleDesign, error) {
	d.ProjectID = "did:ixo:entity:none"
	if err := sampling.Check(&d); err != nil {
		if f := fault.As(err); f != nil && len(f.Fields) > 0 {
			return nil, tool.BadArgument(strings.TrimPrefix(f.Fields[0].Pointer, "/"), f.Fields[0].Detail)
		}
		return nil, err
	}
	return sampling.Compute(d)
}
