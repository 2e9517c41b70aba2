package openrosa

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// noForm is the fault of a form that the collector does not have.
func noForm() error {
	return fault.New(fault.NotFound, "FORM_NOT_FOUND", "You have no form with this name. Ask the manager of the survey to name you as a collector.")
}

// mine opens a survey of the caller. The fault is FORM_NOT_FOUND, whatever the
// reason.
func (s *Service) mine(ctx context.Context, surveyID string) (*survey.Open, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if fault.KindOf(err) == fault.NotFound {
		return nil, noForm()
	} else if err != nil {
		return nil, err
	}
	ok, err := s.cfg.Surveys.Visits(ctx, o)
	if err == nil && !ok {
		err = noForm()
	}
	return o, err
}

// formOf makes the form of a survey, once.
func (s *Service) formOf(o *survey.Open) (*Form, error) {
	k, err := s.keep(o.Workspace, fmt.Sprintf("form %d %d", o.NID, o.Revision), formLife, func() (*kept, error) {
		x, err := NewForm(o.Form, Options{ID: o.SurveyID, Title: o.Name, Version: o.TemplateVersion, Survey: o.SurveyID, Households: true})
		if err != nil {
			return nil, err
		}
		return &kept{form: x}, nil
	})
	return k.form, err
}

// asks reports whether a survey is asked with a device: it is active, and
// collectors visit households.
func asks(o *survey.Open) bool {
	return o.Active() && (len(o.Modes) == 0 || slices.ContainsFunc(o.Modes, func(m string) bool { return m == survey.Collect || m == "visit" || m == "phone" }))
}

// forms returns the forms that the caller fills in now. It leaves out a survey
// that cannot be a form: the publisher of its template is told why.
func (s *Service) forms(ctx context.Context) ([]*Form, error) {
	all, err := s.cfg.Surveys.Visited(ctx, maxForms)
	if err != nil {
		return nil, err
	}
	var out []*Form
	for _, o := range all {
		if !asks(o) {
			continue
		}
		f, err := s.formOf(o)
		if fault.CodeOf(err) == "XFORM_NOT_POSSIBLE" {
			continue
		} else if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// households makes the file of the households that the caller is to visit, by
// name where their twins have one. The audit log records that the caller
// learned them.
func (s *Service) households(ctx context.Context, o *survey.Open) ([]byte, error) {
	key := fmt.Sprintf("households %d %d %s", o.NID, o.Round, web.CallerFrom(ctx).DID)
	k, err := s.keep(o.Workspace, key, listLife, func() (*kept, error) {
		out := []byte("name,label\n")
		add := func(value, label string) {
			out = append(sheet.AppendCSV(append(sheet.AppendCSV(out, value), ','), label), '\n')
		}
		if o.Assigned || o.Listed {
			all, err := s.cfg.Surveys.ToVisit(ctx, o, maxHouseholds)
			if err != nil {
				return nil, err
			}
			for _, h := range all {
				add(h.HouseholdID, labelOf(h))
			}
		}
		add(AnotherValue, Another.In(o.Form.Template().Language(), "en"))
		return &kept{body: out}, nil
	})
	return k.body, err
}

// entities is the file of an entity list, as ODK Entities has it: the DID, the label
// and the version of each twin, and the properties that the survey names.
func (s *Service) entities(ctx context.Context, o *survey.Open, name string) ([]byte, error) {
	l := o.EntityList(name)
	if l == nil {
		return nil, noForm()
	}
	c := web.CallerFrom(ctx)
	key := strings.Join(append([]string{"entities", fmt.Sprint(o.NID, o.Revision), name, c.DID}, c.Projects...), "\x00")
	k, err := s.keep(o.Workspace, key, twinLife, func() (*kept, error) {
		all, err := s.cfg.Twins(ctx, o, l, maxTwins)
		if err != nil {
			return nil, err
		}
		var out []byte
		line := func(first string, cells ...string) {
			out = sheet.AppendCSV(out, first)
			for _, one := range cells {
				out = sheet.AppendCSV(append(out, ','), one)
			}
			out = append(out, '\n')
		}
		line("name", append([]string{"label", VersionColumn}, l.Properties...)...)
		for _, t := range all {
			line(t.DID, append([]string{t.Label, strconv.FormatInt(t.Revision, 10)}, t.Values...)...)
		}
		return &kept{body: out}, nil
	})
	return k.body, err
}

// labelOf is the label of a household for its visitor.
func labelOf(h *survey.Household) string {
	name := h.HouseholdID
	if h.Contact != nil && h.Contact.Name != "" {
		name = h.Contact.Name
	}
	if h.Area != "" {
		name += " (" + h.Area + ")"
	}
	return strings.Join(strings.Fields(name), " ")
}

// file is a file of a form. The fault is FORM_NOT_FOUND.
func (s *Service) file(ctx context.Context, o *survey.Open, f *Form, name string) ([]byte, error) {
	if name == HouseholdFile {
		return s.households(ctx, o)
	}
	if list, ok := strings.CutSuffix(name, ".csv"); ok && slices.Contains(f.Lists, list) {
		return s.entities(ctx, o, list)
	}
	for _, one := range f.Files {
		if one.Name == name {
			return one.Content, nil
		}
	}
	return nil, noForm()
}
