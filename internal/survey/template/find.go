package template

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Ref selects a version of a template, 0 for the newest usable one, and
// sections of it, none for all.
type Ref struct {
	ID       string
	Version  int
	Sections []string
}

// Form returns the compiled form of a template that a new survey may use, with
// these sections only (none means all), and its version. Version 0 is the
// newest published one, or a deprecated one when there is no other. The result
// is shared: do not change it. Call it before a transaction when you can: only
// then is the compiled form cached. Faults: TEMPLATE_NOT_FOUND,
// TEMPLATE_VERSION_NOT_FOUND, TEMPLATE_NOT_PUBLISHED, TEMPLATE_RETIRED,
// TEMPLATE_INVALID for a missing section.
func (s *Service) Form(ctx context.Context, q db.Querier, ws string, r Ref) (*form.Form, *Version, error) {
	k := cacheKey{ws, r.ID, r.Version}
	e, err := s.load(ctx, q, k)
	if err == nil && (e.v.Status == StatusRetired || e.v.Status == StatusDraft) && s.cache.Doubt(ws, k) {
		e, err = s.load(ctx, q, k)
	}
	if err != nil {
		return nil, nil, err
	}
	if e.v.Status == StatusRetired {
		return nil, nil, fault.New(fault.Unprocessable, "TEMPLATE_RETIRED", "This version of the template is retired: no new survey uses it. Name a newer version.")
	}
	return e.usable(r.Sections)
}

// Pinned is Form for a survey that already has its version, even a retired one.
// Faults: TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND,
// TEMPLATE_NOT_PUBLISHED, TEMPLATE_INVALID.
func (s *Service) Pinned(ctx context.Context, q db.Querier, ws string, r Ref) (*form.Form, *Version, error) {
	e, err := s.load(ctx, q, cacheKey{ws, r.ID, r.Version})
	if err != nil {
		return nil, nil, err
	}
	return e.usable(r.Sections)
}

// usable is the form of a version that is or was published.
func (e *entry) usable(sections []string) (*form.Form, *Version, error) {
	if e.v.Status == StatusDraft {
		return nil, nil, fault.New(fault.Unprocessable, "TEMPLATE_NOT_PUBLISHED",
			"The template is a draft. Publish it with POST /v1/templates/{templateId}/publish, then use it in surveys.")
	}
	f, err := e.of(sections)
	if err != nil {
		return nil, nil, err
	}
	return f, e.v, nil
}

// load finds, compiles and keeps a version of any status.
func (s *Service) load(ctx context.Context, q db.Querier, k cacheKey) (*entry, error) {
	if shipped().find(k.id, 0) != nil {
		if e := shipped().find(k.id, k.version); e != nil {
			return e, nil
		}
		return nil, noVersion()
	}
	if e := s.cache.Get(k.ws, k); e != nil {
		return e, nil
	}
	gen := s.cache.Begin(k.ws)
	v, body, err := read(ctx, q, k.ws, k.id, k.version)
	if err != nil {
		return nil, err
	}
	whole := cacheKey{k.ws, k.id, v.Version}
	e := s.cache.Get(k.ws, whole)
	if e == nil || e.v.Revision != v.Revision {
		if err := attach(ctx, q, k.ws, &v.Template); err != nil {
			return nil, err
		}
		f, err := form.Compile(&v.Template)
		if err != nil {
			return nil, fmt.Errorf("stored template %s version %d: %w", v.TemplateID, v.Version, unfault(err))
		}
		e = newEntry(v, body, f)
	}
	// A transaction may see what is never stored, and a view an earlier state.
	if _, now := q.(*db.DB); now {
		s.cache.Put(k.ws, whole, e, gen)
		s.cache.Put(k.ws, k, e, gen)
	}
	return e, nil
}

// unfault turns a fault into an internal error: stored templates were checked,
// so their faults are not the caller's.
func unfault(err error) error {
	if f := fault.As(err); f != nil {
		return fmt.Errorf("%s %+v", f.Message, f.Fields)
	}
	return err
}

// read finds a stored version, 0 for the one that is used when none is named.
// Faults: TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND.
func read(ctx context.Context, q db.Querier, ws, id string, version int) (*Version, []byte, error) {
	h, err := findHead(ctx, q, ws, id)
	if err != nil {
		return nil, nil, err
	}
	if version == 0 {
		version = h.version
	}
	return find(ctx, q, ws, id, version)
}
