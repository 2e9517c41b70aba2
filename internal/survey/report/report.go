// Package report shows the figures of surveys, as pictures and on one printable page.
//
// A picture is an SVG of estimates with their intervals, the progress of strata, what
// households say against what sensors measured, or the change between rounds. Data goes
// in and a picture comes out; it reads no store and knows no caller, so callers leave
// out what must not be shown. It can be read without seeing it (its description gives
// every figure in words), on paper and on a dark screen, and colour is never the only
// sign. It holds no script and loads nothing from elsewhere. Labels are escaped, cleaned
// of characters that would hide or reverse other text, and broken into lines.
//
// The page says how the sample of a survey was designed and drawn, with the proof; who
// answered; and every figure with its interval, a picture and what it is based on. It
// shows only what the caller may read: figures from few households are left out as in
// the API, and seeds and frames are for callers who may prove a draw.
package report

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxQuestions is how many questions one report has.
const maxQuestions = 60

// Ask selects the figures of a report.
type Ask struct {
	Questions []string `query:"questions" doc:"Comma-separated questions as section/question, at most 60; all that have figures by default." example:"home/fuel"`
	Round     int      `query:"round" minimum:"1" doc:"The open round by default."`
	Verified  bool     `query:"verified" doc:"Only verified responses count."`
	Language  string   `query:"language" doc:"Language of labels and page; by default that of the template. The page knows English and Kiswahili (sw)." example:"sw"`
	Job       string   `query:"job" doc:"The report that this job made, as the survey was then."`
}

// Question is a question that has figures.
type Question struct{ Name, Section string }

// Proof is how a sample was designed and drawn, as far as the caller may know.
type Proof struct {
	Design *api.SampleDesign
	Draw   *api.SampleDraw
	Check  *api.SampleCheck
	Why    string // why there is no check
}

// Config is what a report is made from.
type Config struct {
	Surveys   *survey.Service
	Questions func(o *survey.Open, language string) []Question
	Figures   func(ctx context.Context, o *survey.Open, question string, in Ask) (*api.SurveyStatistics, Names, error)
	Proof     func(ctx context.Context, design, draw string) (Proof, error) // draw is "" where none was made
	Now       func() time.Time                                              // time.Now by default

	// For large surveys a job makes the figures, under its id, and Figures reads them.
	// Without jobs they are refused.
	DB   *db.DB
	Jobs *job.Service
	Make func(ctx context.Context, o *survey.Open, question string, in Ask, job string) error
}

// Service makes reports.
type Service struct{ cfg Config }

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg}
}

// Routes adds the report to the API.
func (s *Service) Routes(a *web.API) {
	a.Handle(http.MethodGet, "/v1/surveys/{surveyId}/report", s.serve, web.Doc{
		Summary: "Read the report of a survey, as a page to print", Scope: "analytics:read", Tag: "surveys", Produces: "text/html", Answer: "", Later: job.Job{},
		Codes: []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND", "INVALID_PARAMETER", "REPORT_TOO_LARGE", "STATISTICS_TOO_LARGE", "STATISTICS_NOT_FOUND", "ANSWERS_PENDING"},
		Query: []web.Param{
			{Name: "questions", Doc: "Comma-separated questions as section/question, at most 60; all that have figures by default.", Example: "home/fuel"},
			{Name: "round", Doc: "The open round by default."},
			{Name: "verified", Doc: "true: only verified responses count."},
			{Name: "language", Doc: "Language of labels and page; by default that of the template. The page knows English and Kiswahili (sw).", Example: "sw"},
			{Name: "job", Doc: "The report that this job made, as the survey was then; links.about of the job has the whole address."},
		},
		Description: "Design, draw and its proof, response rates, what counted, and each question whose answers are numbers or options with its interval, a picture, the number of households, the method and remarks, for A4 paper. " +
			"It shows what the key may read: the proof of a draw is for keys with sampling:read and one of sampling:write, sampling:witness and audit:read, progress of strata for those with surveys:read, and figures from fewer than 5 households for those with responses:pii. " +
			"A job makes the figures of a survey with more than 20,000 responses: the answer is 202 with the job, whose links.about leads to the report; a browser goes there by itself.",
	})
}

type reportIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Ask
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[reportIn](r)
	if err != nil {
		return err
	}
	if in.Job != "" && s.cfg.Jobs != nil {
		if j, err := s.waiting(r.Context(), in.Job); err != nil {
			return err
		} else if j != nil {
			return accepted(w, j, path(in.Survey, in.Ask, j.ID))
		}
	}
	p, err := s.Make(r.Context(), in.Survey, in.Ask)
	if fault.CodeOf(err) == "STATISTICS_TOO_LARGE" && in.Job == "" && s.cfg.Jobs != nil {
		j, err := s.later(r.Context(), in.Survey, in.Ask)
		if err != nil {
			return err
		}
		return accepted(w, &j.Value, j.Value.Links.About)
	}
	if err != nil {
		return err
	}
	h := w.Header()
	web.ForPage(h, r, "style-src "+Source(style))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(web.Packed(h, r, p.write())) // the client may be gone
	return nil
}

// Report is the content of the page.
type Report struct {
	Survey   *survey.Open
	Name     string
	Round    int
	Made     time.Time
	Language string
	Verified bool
	Veiled   bool // figures from few households are left out
	Proof    Proof
	Strata   []Stratum
	Progress []byte // a picture; nil without one
	Counted  *api.SurveyCounted
	Basis    string
	Sections []Section
}

// Stratum is a part of the population.
type Stratum struct {
	Name             string
	Population, Size *float64
	Tally            *api.SurveyTally
}

// Section is a group of questions with a title.
type Section struct {
	Title     string
	Questions []Item
}

// Item is a question with its figures, or why it has none.
type Item struct {
	Name, Label, About string
	Figures            *api.SurveyStatistics
	Names              Names
	Picture            []byte
	Why                string
}

// Make gathers a report. Faults: SURVEY_NOT_FOUND, ROUND_NOT_FOUND,
// INVALID_PARAMETER, REPORT_TOO_LARGE, STATISTICS_TOO_LARGE, ANSWERS_PENDING.
func (s *Service) Make(ctx context.Context, id string, in Ask) (*Report, error) {
	o, err := s.cfg.Surveys.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	questions, err := s.chosen(o, &in)
	if err != nil {
		return nil, err
	}
	caller := web.CallerFrom(ctx)
	p := &Report{
		Survey: o, Name: o.SurveyID, Round: in.Round, Made: s.cfg.Now().UTC(), Language: o.Form.Template().Language(), Verified: in.Verified, Veiled: !caller.May("responses:pii"),
	}
	if in.Language != "" {
		p.Language = in.Language
	}
	if p.Round == 0 {
		p.Round = o.Round
	}
	for _, one := range o.Sampling.Strata {
		p.Strata = append(p.Strata, Stratum{Name: one.Name, Population: one.Population, Size: one.Size})
	}
	if caller.May("surveys:read") {
		if err := s.progress(ctx, p); err != nil {
			return nil, err
		}
	}
	if d := o.Sampling.DesignID; d != nil && *d != "" && caller.May("sampling:read") {
		draw := ""
		if o.Sampling.Draw != nil {
			draw = o.Sampling.Draw.DrawID
		}
		if p.Proof, err = s.cfg.Proof(ctx, *d, draw); err != nil {
			return nil, err
		}
	}
	return p, s.figures(ctx, p, questions, in)
}

// chosen are the questions of a report.
func (s *Service) chosen(o *survey.Open, in *Ask) ([]Question, error) {
	var c fault.Checks
	check.Short(&c, "query/language", in.Language, 40)
	if in.Round < 0 || in.Round > o.Round {
		return nil, fault.New(fault.NotFound, "ROUND_NOT_FOUND", "The survey has no such round.")
	}
	all := s.cfg.Questions(o, in.Language)
	in.Questions = slices.DeleteFunc(in.Questions, func(q string) bool { return q == "" })
	if len(in.Questions) > 0 {
		var out []Question
		for _, name := range in.Questions[:min(len(in.Questions), maxQuestions+1)] {
			i := slices.IndexFunc(all, func(q Question) bool { return q.Name == name })
			if i < 0 {
				c.Add("query/questions", "unknown", fmt.Sprintf("The survey has no question %q with figures. Give it as section/question.", name))
				continue
			}
			out = append(out, all[i])
		}
		all = out
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, err
	}
	if len(all) > maxQuestions {
		return nil, fault.New(fault.Unprocessable, "REPORT_TOO_LARGE", fmt.Sprintf("A report has at most %d questions. Choose some with questions.", maxQuestions)).
			With(fault.Field{Pointer: "query/questions", Code: "too_many", Detail: fmt.Sprintf("At most %d.", maxQuestions)})
	}
	return all, nil
}

// progress fills in how far strata have come.
func (s *Service) progress(ctx context.Context, p *Report) error {
	record, err := s.cfg.Surveys.Get(ctx, p.Survey.SurveyID)
	if err != nil {
		return err
	}
	var said struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(record.Raw, &said); err != nil {
		return fmt.Errorf("read survey: %w", err)
	}
	if said.Name != "" {
		p.Name = said.Name
	}
	of, err := s.cfg.Surveys.Progress(ctx, p.Survey.SurveyID, p.Round)
	if err != nil {
		return err
	}
	picture := Progress{Frame: Frame{ID: "strata", Title: p.say("Answers by stratum"), About: p.say("Round %d", p.Round), Width: width, Inline: true, Language: p.Language}}
	for i := range p.Strata {
		t, ok := of.ByStratum[p.Strata[i].Name]
		if !ok {
			continue
		}
		p.Strata[i].Tally = &t
		target := t.Target
		if target == 0 {
			target = t.Drawn
		}
		picture.Parts = append(picture.Parts, Part{Label: p.Strata[i].Name, Target: int(target), Answered: int(t.Completed), Known: int(t.Verified)})
	}
	if len(picture.Parts) > 0 {
		p.Progress = picture.SVG()
	}
	return nil
}

// width is the width of the pictures.
const width = 620

// figures fills in the questions. If one of them has no figure, the reason
// takes its place; a problem with all of them is a fault.
func (s *Service) figures(ctx context.Context, p *Report, questions []Question, in Ask) error {
	for i, q := range questions {
		item := Item{Name: q.Name, Label: q.Name}
		figures, names, err := s.cfg.Figures(ctx, p.Survey, q.Name, in)
		if names.Question != "" {
			item.Label = names.Question
		}
		f := fault.As(err)
		switch {
		case err == nil:
			item.Figures, item.Names, item.About = figures, names, About(figures, names)
			item.Picture = Statistics(figures, names, Frame{ID: fmt.Sprintf("q%d", i+1), Width: width, Inline: true})
			p.Counted, p.Basis = &figures.Counted, figures.Basis
		case in.Job != "" && fault.CodeOf(err) == "STATISTICS_NOT_FOUND":
			item.Why = "The job made no figure: too few households answered the question, or a response that counted was taken out since."
		case f == nil || f.Kind != fault.Unprocessable || f.Code == "STATISTICS_TOO_LARGE":
			return err
		default:
			item.Why = strings.TrimSpace(f.Message + " (" + f.Code + ")")
		}
		if n := len(p.Sections); n == 0 || p.Sections[n-1].Title != q.Section {
			p.Sections = append(p.Sections, Section{Title: q.Section})
		}
		last := &p.Sections[len(p.Sections)-1]
		last.Questions = append(last.Questions, item)
	}
	if in.Job != "" && p.Counted == nil { // a caller with other rights has asked for it, or everything was removed
		return noReport()
	}
	return nil
}
