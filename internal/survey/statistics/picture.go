package statistics

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/report"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// drawn answers with figures as a picture.
func (s *Service) drawn(ctx context.Context, figures *Statistics, f *report.Rendering) (web.Reply[*Statistics], error) {
	o, err := s.surveys.Open(ctx, figures.SurveyID)
	if err != nil {
		return web.Reply[*Statistics]{}, err
	}
	svg := report.Statistics(figures, Named(o, figures, f.Language), report.Frame{Width: f.Width})
	return report.Reply[*Statistics](svg), nil
}

// Named returns the template's names for the codes in figures.
func Named(o *survey.Open, figures *Statistics, language string) report.Names {
	usual := o.Form.Template().Language()
	columns := o.Form.Columns()
	find := func(name string) *form.Column {
		i := slices.IndexFunc(columns, func(c form.Column) bool { return strings.Join(c.Path, "/") == name })
		if i < 0 {
			return &form.Column{}
		}
		return &columns[i]
	}
	options := func(c *form.Column) map[string]string {
		in := report.Frame{Language: language}
		out := map[string]string{"true": in.Say("Yes"), "false": in.Say("No"), answer.Other: in.Say("Other")}
		for _, one := range c.Options {
			out[one.Value] = one.Label.In(language, usual)
		}
		return out
	}
	of := find(figures.Question)
	return report.Names{
		Language: language,
		Question: of.Label.In(language, usual), Per: find(figures.Per).Label.In(language, usual), Unit: of.Unit,
		Options: options(of), Values: options(find(figures.By)),
	}
}

// Questions lists the questions of a survey that have figures, in its order.
func Questions(o *survey.Open, language string) []api.SurveyQuestion {
	out := []api.SurveyQuestion{}
	t := o.Form.Template()
	usual := t.Language()
	titles := map[string]string{}
	for _, s := range t.Sections {
		titles[s.ID] = s.Title.In(language, usual)
	}
	for _, c := range o.Form.Columns() {
		v := variable{column: &c}
		if c.Repeat || c.PII.Private() || c.Serial || c.Kind.Consent || !v.amount() && !v.coded() {
			continue
		}
		q := api.SurveyQuestion{Question: strings.Join(c.Path, "/"), Label: c.Label.In(language, usual), Section: titles[c.Section], Unit: c.Unit}
		if v.coded() {
			q.Statistics, q.Groups = []string{proportion}, !c.Kind.Several
		}
		if v.amount() {
			q.Statistics = append(q.Statistics, mean, total, quantile, ratio)
		}
		for _, one := range c.Options {
			q.Options = append(q.Options, api.SurveyAnswerOption{Value: one.Value, Label: one.Label.In(language, usual)})
		}
		out = append(out, q)
	}
	return out
}

func (s *Service) serveQuestions(ctx context.Context, in *struct {
	Survey   string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Language string `query:"language" doc:"Language of the labels; by default that of the template." example:"sw"`
},
) (*api.SurveyQuestions, error) {
	o, err := s.surveys.Open(ctx, in.Survey)
	if err != nil {
		return nil, err
	}
	return &api.SurveyQuestions{SurveyID: o.SurveyID, Items: Questions(o, in.Language)}, nil
}
