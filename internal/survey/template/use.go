package template

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Clone asks for a copy of a template.
type Clone struct {
	TemplateID string    `json:"templateId,omitzero" doc:"Identifier of the copy; when absent, the server makes one." example:"my-baseline"`
	Title      form.Text `json:"title,omitzero" doc:"Title of the copy; by default that of the original."`
	Version    int       `json:"version,omitzero" doc:"Version to copy; by default the newest published one, otherwise a deprecated one, otherwise the draft."`
}

// Clone makes a new template, a draft, with the content of a version, even of a
// bundled template. Faults: TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND and
// those of Create.
func (s *Service) Clone(ctx context.Context, id string, c Clone) (web.Reply[*Version], error) {
	var none web.Reply[*Version]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	e, err := s.load(ctx, s.db, cacheKey{ws, id, c.Version})
	if err != nil {
		return none, err
	}
	v := &Version{Template: e.v.Template, ClonedFrom: fmt.Sprintf("%s@%d", id, e.v.Version)}
	v.TemplateID = c.TemplateID
	if len(c.Title) > 0 {
		v.Title = c.Title
	}
	return create(ctx, s, v, func(r web.Reply[*Version]) web.Reply[*Version] { return r })
}

// PreviewDraft asks how a template looks, given some answers.
type PreviewDraft struct {
	Language  string      `json:"language,omitzero" doc:"By default the default language of the template." example:"sw"`
	Version   int         `json:"version,omitzero" doc:"The newest version by default, drafts too."`
	Sections  []string    `json:"sections,omitzero" doc:"Sections to show; all by default."`
	Answers   form.Object `json:"answers,omitzero" doc:"Answers as in a response: section, then question."`
	Household form.Object `json:"household,omitzero" doc:"What expressions see as household."`
	Response  form.Object `json:"response,omitzero" doc:"What expressions see as response."`
}

// Preview is a form as one person sees it, and the result of checking the
// answers.
type Preview struct {
	TemplateID   string               `json:"templateId"`
	Version      int                  `json:"version"`
	Language     string               `json:"language"`
	Valid        bool                 `json:"valid" doc:"Whether the answers have no errors; some may still be missing."`
	Complete     bool                 `json:"complete" doc:"Whether a response with these answers would be complete."`
	Completeness float64              `json:"completeness" doc:"Share of the questions asked that have an answer."`
	Relevant     int                  `json:"relevant" doc:"Questions that are asked."`
	Answered     int                  `json:"answered"`
	Errors       []api.PreviewProblem `json:"errors" doc:"All errors."`
	Missing      []api.PreviewProblem `json:"missing" doc:"Required questions without an answer."`
	Dropped      []string             `json:"dropped" doc:"Answers to questions that are not asked."`
	Answers      form.Value           `json:"answers,omitzero" doc:"The answers as they would be stored, with calculated values."`
	Sections     []form.SectionView   `json:"sections"`
}

func problems(fields []fault.Field) []api.PreviewProblem {
	out := make([]api.PreviewProblem, len(fields))
	for i, f := range fields {
		out[i] = api.PreviewProblem(f)
	}
	return out
}

// maxLanguage is the longest tag of a language.
const maxLanguage = 35

// Preview shows a version in one language and checks answers against it.
// Nothing is stored. Faults: TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND,
// TEMPLATE_INVALID for missing sections, INVALID_PARAMETER.
func (s *Service) Preview(ctx context.Context, id string, d PreviewDraft) (*Preview, error) {
	in, err := d.input()
	if err != nil {
		return nil, err
	}
	e, err := s.latest(ctx, web.CallerFrom(ctx).Workspace, id, d.Version)
	if err != nil {
		return nil, err
	}
	f, err := e.of(d.Sections)
	if err != nil {
		return nil, err
	}
	if d.Language == "" {
		d.Language = e.v.DefaultLanguage
	}
	if d.Language == "" {
		d.Language = "en"
	}
	in.Now = s.now()
	r := f.Check(in)
	p := &Preview{
		TemplateID: id, Version: e.v.Version, Language: d.Language, Valid: r.OK(), Complete: r.OK() && r.Complete, Completeness: r.Completeness,
		Relevant: r.Relevant, Answered: r.Answered, Errors: problems(r.Wrong), Missing: problems(r.Missing), Dropped: r.Dropped,
		Sections: f.View(d.Language, r),
	}
	if r.OK() {
		p.Answers = form.Value{Value: r.Answers}
	}
	if p.Dropped == nil {
		p.Dropped = []string{}
	}
	return p, nil
}

// input is what the form is asked to check.
func (d *PreviewDraft) input() (form.Input, error) {
	var in form.Input
	var c fault.Checks
	if d.Version < 0 {
		c.Add("/version", "out_of_range", "The value must be 1 or more.")
	}
	check.Short(&c, "/language", d.Language, maxLanguage)
	in.Answers = d.Answers.Value
	if none := d.Answers.IsZero() || d.Answers.Kind() == 'n'; none {
		in.Answers = jsontext.Value("{}")
	}
	in.Household = object(&c, "/household", d.Household)
	in.Response = object(&c, "/response", d.Response)
	return in, c.Err("INVALID_PARAMETER", "A member is not valid.")
}

// object reads an object of a preview; nil when there is none.
func object(c *fault.Checks, at string, o form.Object) map[string]any {
	if o.IsZero() || o.Kind() == 'n' {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(o.Value, &m); err != nil {
		c.Add(at, "wrong_type", "The value must be an object.")
	}
	return m
}
