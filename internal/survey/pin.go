package survey

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

// Templates is the part of package template that campaigns need. A
// *template.Service is one.
type Templates interface {
	// Form returns a version that a new campaign may use; version 0 is the
	// newest.
	Form(ctx context.Context, q db.Querier, ws string, r template.Ref) (*form.Form, *template.Version, error)
	// Pinned returns a version that a campaign has, even a retired one.
	Pinned(ctx context.Context, q db.Querier, ws string, r template.Ref) (*form.Form, *template.Version, error)
	// Review reports whether the suitability of a template was reviewed in time.
	Review(ctx context.Context, q db.Querier, ws, id string, now time.Time) (template.ReviewState, error)
}

var _ Templates = (*template.Service)(nil)

// pinned is the form of a stored campaign.
func (op *opened) pinned(ctx context.Context, q db.Querier, ws string, v *Survey) (*form.Form, error) {
	f, _, err := op.templates.Pinned(ctx, q, ws, template.Ref{ID: v.TemplateID, Version: v.TemplateVersion, Sections: v.Sections})
	return f, err
}

// pin settles what a campaign asks: it fills in template, version and sections
// and returns the form. What is wrong is noted; the form is nil then.
func (s *Service) pin(ctx context.Context, ws string, v *Survey, c *fault.Checks) (*form.Form, error) {
	if v.TemplateID == "" {
		if v.TemplateID = template.Standard(v.Stage); v.TemplateID == "" || v.Template == nil {
			v.TemplateID = ""
			return nil, nil // noted already
		}
	}
	whole, version, err := s.cfg.Templates.Form(ctx, s.db, ws, template.Ref{ID: v.TemplateID, Version: v.TemplateVersion})
	if noted, err := noteTemplate(c, err); noted || err != nil {
		return nil, err
	}
	v.TemplateVersion = version.Version
	t := whole.Template()
	if t.Stage != "" && v.Stage != "" && t.Stage != v.Stage {
		c.Add("/templateId", "wrong_stage", "The template is for the stage "+t.Stage+", the survey is "+v.Stage+".")
		return nil, nil
	}
	chosen, ok := v.Select(t, c)
	if !ok {
		return nil, nil
	}
	f, _, err := s.cfg.Templates.Form(ctx, s.db, ws, template.Ref{ID: v.TemplateID, Version: v.TemplateVersion, Sections: chosen})
	if noted, err := noteTemplate(c, err); noted || err != nil {
		return nil, err
	}
	v.Sections = chosen
	if CheckLanguages(c, v.Languages, t); len(v.Languages) == 0 {
		v.Languages = LanguagesOf(t)
	}
	return f, nil
}

// noteTemplate notes a fault of a template as one of the campaign.
func noteTemplate(c *fault.Checks, err error) (bool, error) {
	f := fault.As(err)
	if f == nil {
		return false, err
	}
	switch f.Code {
	case "TEMPLATE_NOT_FOUND":
		c.Add("/templateId", "not_found", "No template has this id.")
	case "TEMPLATE_VERSION_NOT_FOUND":
		c.Add("/templateVersion", "not_found", "The template has no such version.")
	case "TEMPLATE_NOT_PUBLISHED":
		c.Add("/templateVersion", "not_published", "The version is a draft. Publish the template first.")
	case "TEMPLATE_RETIRED":
		c.Add("/templateVersion", "retired", "The version is retired. Name a newer one.")
	default:
		c.Add("/sections", "invalid", f.Message)
	}
	return true, nil
}
