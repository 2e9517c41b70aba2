package lookup

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// FigureQuery asks what a survey says about its population.
type FigureQuery struct {
	Survey     string  `json:"survey"`   // id, or name
	Question   string  `json:"question"` // section/question, or words of it
	Statistic  string  `json:"statistic"`
	Option     string  `json:"option"`
	By         string  `json:"by"`
	Compare    string  `json:"compare"`
	Round      int     `json:"round"`
	Confidence float64 `json:"confidence"`
	Verified   bool    `json:"verified"`
}

// Asked is a question of a survey that has figures.
type Asked struct{ Name, Label string }

// Told is the answer of a survey to a question, each figure with its interval,
// the number of households and the method.
type Told struct {
	How         string       `json:"how"`
	Survey      string       `json:"survey"`
	Question    string       `json:"question"`
	Figures     []ToldFigure `json:"figures"`
	Differences []ToldFigure `json:"differences,omitzero"`
	Remarks     []string     `json:"remarks,omitzero"`
}

// ToldFigure is one figure. Interval says in words why there is none.
type ToldFigure struct {
	Of       string `json:"of"`
	Estimate string `json:"estimate"`
	Interval string `json:"interval"`
	N        string `json:"n"`
	Method   string `json:"method"`
}

const (
	number     = `{"type":"number"`
	toldFigure = `{"type":"array","items":{"type":"object","required":["of","estimate","interval","n","method"],"properties":{"of":{"type":"string"},"estimate":{"type":"string"},"interval":{"type":"string"},"n":{"type":"string"},"method":{"type":"string"}}}}`
)

// figureTools are those about what surveys say.
var figureTools = []lookupTool{
	{
		name: "survey_statistics", scope: "analytics:read", do: surveyStatistics,
		about: "Tell what a survey says about all households: a proportion, mean, total or quantile of a question with its confidence interval, the number of households and the method. " +
			"Always give the interval, n and method with a figure, and its remarks.",
		schema: object + `"required":["survey"],"properties":{"survey":` + text + `,"description":"Id of the survey, or its name or part of it."},` +
			`"question":` + text + `,"description":"The question as section/question, or some words of it. Without it the questions are named."},` +
			`"statistic":{"type":"string","enum":["proportion","mean","total","quantile"],"description":"proportion of options and mean of numbers when absent."},` +
			`"option":` + text + `,"description":"One option of the question."},"by":` + text + `,"description":"group, stratum or another question: a figure for each value."},` +
			`"compare":` + text + `,"description":"Two values of by with a comma between, or round:1 for the change since that round."},` +
			`"round":{"type":"integer","minimum":1},"confidence":` + number + `,"exclusiveMinimum":0.5,"exclusiveMaximum":1},"verified":{"type":"boolean","description":"Only verified responses count."}}}`,
		output: given + `"required":["how","survey","question","figures"],"properties":{"how":{"type":"string"},"survey":{"type":"string"},"question":{"type":"string"},"figures":` + toldFigure +
			`,"differences":` + toldFigure + `,"remarks":{"type":"array","items":{"type":"string"}}}}`,
	},
	{
		name: "sample_size", scope: "sampling:read", do: sampleSize,
		about: "Compute how many households a survey has to ask so that its figures are certain enough, and how many to draw. Nothing is stored. Say what was assumed.",
		schema: object + `"properties":{"population":` + number + `,"minimum":1,"description":"Households there are to choose from; very many when absent."},` +
			`"confidence":` + number + `,"exclusiveMinimum":0.5,"exclusiveMaximum":1,"description":"0.95 when absent."},"precision":` + number + `,"description":"Relative, such as 0.1; the usual target when neither is given."},` +
			`"marginOfError":` + number + `,"description":"Absolute, such as 0.05."},"parameterType":{"type":"string","enum":["proportion","mean"]},"tail":{"type":"string","enum":["two","one"]},` +
			`"expectedMean":` + number + `,"description":"The expected proportion (0.5 when absent) or mean."},"expectedSD":` + number + `,"description":"Needed for a mean."},` +
			`"dropoutRate":` + number + `,"minimum":0,"maximum":0.9},"designEffect":` + number + `,"minimum":0.1,"maximum":100}}}`,
		output: given + `"required":["how","n","draw","interval","method"],"properties":{"how":{"type":"string"},"n":{"type":"integer"},"draw":{"type":"integer"},"interval":{"type":"string"},"method":{"type":"string"},"warnings":{"type":"array","items":{"type":"string"}}}}`,
	},
}

func surveyStatistics(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var q FigureQuery
	if err := json.Unmarshal(args, &q); err != nil {
		return nil, err
	}
	all, err := s.Questions(ctx, q.Survey)
	if fault.CodeOf(err) == "SURVEY_NOT_FOUND" {
		if q.Survey, err = s.called(ctx, q.Survey); err == nil {
			all, err = s.Questions(ctx, q.Survey)
		}
	}
	if err != nil {
		return nil, err
	}
	of, err := meant(all, q.Question)
	if err != nil {
		return nil, err
	}
	q.Question = of.Name
	figures, names, err := s.Figures(ctx, q)
	if err != nil {
		return nil, err
	}
	return told(figures, of, names), nil
}

// called is the id of the survey with a name, for users who may list surveys.
func (s Source) called(ctx context.Context, name string) (string, error) {
	ctx, err := s.AsUser(ctx, "surveys:read")
	if err != nil {
		return "", err
	}
	named, err := s.named(ctx, name)
	switch {
	case err != nil:
		return "", err
	case len(named) == 0:
		return "", tool.BadArgument("survey", "No survey has this id or name. Ask for the list of surveys.")
	case len(named) > 1:
		return "", tool.BadArgument("survey", "Several surveys are called so: "+strings.Join(named, ", ")+". Give the id of one.")
	}
	return named[0], nil
}

// maxAsked limits how many questions are listed for a user who has to choose.
const maxAsked = 20

// meant finds the question with a name, or else with some words of it.
func meant(all []Asked, said string) (Asked, error) {
	var found []Asked
	for _, one := range all {
		if one.Name == said {
			return one, nil
		}
		if hasWords(words(one.Label), words(said)) || hasWords(words(one.Name), words(said)) {
			found = append(found, one)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	why := "No question with figures has these words. There are: "
	switch {
	case strings.TrimSpace(said) == "":
		why, found = "Name a question. There are: ", all
	case len(found) > 1:
		why = "Several questions have these words: "
	default:
		found = all
	}
	var names []string
	for _, one := range found[:min(len(found), maxAsked)] {
		names = append(names, fmt.Sprintf("%s (%s)", one.Name, one.Label))
	}
	return Asked{}, tool.BadArgument("question", why+strings.Join(names, "; ")+".")
}

// words is a text without the signs between its words.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return ' '
	}, text)
}

// told puts figures into words.
func told(s *api.SurveyStatistics, of Asked, names map[string]string) Told {
	name := func(parts ...string) string {
		var out []string
		for _, p := range parts {
			if n := names[p]; n != "" {
				p = n
			}
			if p != "" {
				out = append(out, p)
			}
		}
		if len(out) == 0 {
			return "all households"
		}
		return strings.Join(out, ", ")
	}
	amount := amountOf(s.Statistic == "proportion")
	out := Told{
		How: fmt.Sprintf("%s of %q; %s confidence; round %d; %d of %d households of the sample answered", s.Statistic, of.Label, percent(s.Confidence), s.Round, s.Counted.Answered, s.Counted.Sample), Survey: s.SurveyID,
		Question: s.Question, Figures: []ToldFigure{}, Remarks: s.Remarks,
	}
	for _, e := range s.Estimates {
		f := ToldFigure{Of: name(e.Option, e.Value), Method: e.Method}
		f.fill(amount, [3]*float64{e.Estimate, e.Low, e.High}, e.Suppressed, e.NoInterval)
		if e.N != nil {
			f.N = strconv.Itoa(*e.N)
		}
		out.Figures = append(out.Figures, f)
	}
	for _, d := range s.Differences {
		f := ToldFigure{Of: name(d.Option) + ": " + name(d.Value) + " less " + name(d.Less), Method: "t"}
		f.fill(amount, [3]*float64{d.Estimate, d.Low, d.High}, d.Suppressed, d.NoInterval)
		if d.Common > 0 {
			f.N = strconv.Itoa(d.Common)
		}
		out.Differences = append(out.Differences, f)
	}
	return out
}

// fill formats a value and the two ends of its interval, or the reason why
// there is none.
func (f *ToldFigure) fill(amount func(float64) string, values [3]*float64, hidden bool, why string) {
	v, low, high := values[0], values[1], values[2]
	switch {
	case hidden:
		f.Estimate, f.Interval, f.Method = "not shown", "from too few households to be shown to you", ""
	case v == nil:
		f.Estimate, f.Interval, f.Method = "not known", "none", ""
	case low == nil || high == nil:
		f.Estimate, f.Interval, f.Method = amount(*v), "none: "+why, "no interval"
	default:
		f.Estimate, f.Interval = amount(*v), amount(*low)+" to "+amount(*high)
	}
}

// amountOf writes values: shares in percent, others to five digits.
func amountOf(share bool) func(float64) string {
	if share {
		return percent
	}
	return func(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

// Size is a required sample size.
type Size struct {
	How      string   `json:"how"`
	N        int      `json:"n"`
	Draw     int      `json:"draw"`
	Interval string   `json:"interval"`
	Method   string   `json:"method"`
	Warnings []string `json:"warnings,omitzero"`
}

func sampleSize(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var d api.SampleDesignDraft
	if err := json.Unmarshal(args, &d); err != nil {
		return nil, err
	}
	usual := func(to **float64, v float64) {
		if *to == nil {
			*to = &v
		}
	}
	usual(&d.Confidence, 0.95)
	if d.MarginOfError == nil {
		usual(&d.Precision, 0.1)
	}
	if d.ParameterType != "mean" {
		usual(&d.ExpectedMean, 0.5)
	}
	v, err := s.SampleSize(ctx, d)
	if err != nil {
		return nil, err
	}
	p := v.Parameters
	amount := amountOf(p.ParameterType != "mean")
	out := Size{N: p.CalculatedSize, Draw: p.DrawnSize, Method: "z² N V / ((N − 1) e² + z² V), normal approximation", Warnings: v.Warnings}
	expected, margin := 0.0, 0.0
	if d.ExpectedMean != nil {
		expected = *d.ExpectedMean
	}
	aim := ""
	if d.MarginOfError != nil {
		margin = *d.MarginOfError
		aim = "margin of error " + amount(margin)
	} else {
		margin = *d.Precision * expected
		aim = "relative precision " + percent(*d.Precision)
	}
	out.Interval = amount(expected-margin) + " to " + amount(expected+margin)
	people := "a very large population"
	if p.Population != nil {
		people = fmt.Sprintf("%.0f households", *p.Population)
	}
	out.How = fmt.Sprintf("%d responses are needed, so draw %d households; of %s; %s confidence; %s; expected %s of %s; dropout %s; design effect %v",
		out.N, out.Draw, people, percent(p.Confidence), aim, p.ParameterType, amount(expected), percent(p.DropoutRate), p.DesignEffect)
	return out, nil
}
