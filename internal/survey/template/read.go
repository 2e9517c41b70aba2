package template

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Get reads a version, of any status; 0 is the default version: the newest
// published one, else a deprecated one, else the draft. Faults:
// TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string, version int) (web.Reply[*Version], error) {
	var none web.Reply[*Version]
	ws := web.CallerFrom(ctx).Workspace
	if shipped().find(id, 0) != nil {
		e := shipped().find(id, version)
		if e == nil {
			return none, noVersion()
		}
		return web.Reply[*Version]{Raw: e.body, ETag: web.ETag(e.v.Revision)}, nil
	}
	v, body, err := read(ctx, s.db, ws, id, version)
	if err != nil {
		return none, err
	}
	return web.Reply[*Version]{Raw: body, ETag: web.ETag(v.Revision)}, nil
}

// Filter narrows a list. Empty members are ignored.
type Filter struct {
	Stage  string
	Status Status
	Q      string // part of the identifier or of the title in any language, in any case
}

const maxQuery = 100 // characters of Filter.Q

func (f Filter) fits(s *Summary) bool {
	if f.Stage != "" && f.Stage != s.Stage || f.Status != "" && f.Status != s.Status {
		return false
	}
	if f.Q == "" {
		return true
	}
	part := strings.ToLower(f.Q)
	if strings.Contains(strings.ToLower(s.TemplateID), part) {
		return true
	}
	for _, title := range s.Title {
		if strings.Contains(strings.ToLower(title), part) {
			return true
		}
	}
	return false
}

func (f Filter) check() error {
	var c fault.Checks
	check.OneOf(&c, "query/stage", f.Stage, "baseline", "follow-up", "monitoring")
	check.OneOf(&c, "query/status", string(f.Status), "draft", "published", "deprecated", "retired")
	check.Short(&c, "query/q", f.Q, maxQuery)
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// spot is where a list continues.
type spot struct {
	Shipped int   `json:"s"` // shipped ones passed
	After   int64 `json:"n"` // row passed
}

// maxExamined is how many rows one page of a filtered list looks at.
const maxExamined = 200

// List reads a page of templates: the bundled ones, then those of the
// workspace, oldest first. Each is shown in its default version. A page may be
// short; next is nil at the end.
func (s *Service) List(ctx context.Context, f Filter, at spot, limit int) (items []Summary, next *spot, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	for ; at.Shipped < len(shipped().list); at.Shipped++ {
		if len(items) == limit {
			return items, &at, nil
		}
		if one := summarize(shipped().list[at.Shipped].v, len(shippedVersions)); f.fits(&one) {
			items = append(items, one)
		}
	}
	examine := limit - len(items) + 1
	if f != (Filter{}) {
		examine = maxExamined
	}
	rows, err := list(ctx, s.db, web.CallerFrom(ctx).Workspace, at.After, examine)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if len(items) == limit {
			return items, &at, nil
		}
		at.After = row.nid
		var one Summary
		if err := json.Unmarshal([]byte(row.summary), &one); err != nil {
			return nil, nil, fmt.Errorf("read summary: %w", err)
		}
		if f.fits(&one) {
			items = append(items, one)
		}
	}
	if len(rows) < examine {
		return items, nil, nil
	}
	return items, &at, nil
}

func infoOf(v *Version, current bool) api.TemplateVersionInfo {
	return api.TemplateVersionInfo{
		Version: v.Version, Status: string(v.Status), Current: current, ContentHash: v.ContentHash, Revision: v.Revision, Created: v.Created,
		CreatedBy: v.CreatedBy, PublishedAt: v.PublishedAt, StatusReason: v.StatusReason, Links: v.Links,
	}
}

// Versions lists the versions of a template, newest first; there are at most
// 100. The fault is TEMPLATE_NOT_FOUND.
func (s *Service) Versions(ctx context.Context, id string) ([]api.TemplateVersionInfo, error) {
	var out []api.TemplateVersionInfo
	if n := len(shipped().byID[id]); n > 0 {
		for i := n; i > 0; i-- {
			out = append(out, infoOf(shipped().find(id, i).v, i == n))
		}
		return out, nil
	}
	ws := web.CallerFrom(ctx).Workspace
	err := s.db.View(ctx, func(q db.Querier) error {
		h, err := findHead(ctx, q, ws, id)
		if err != nil {
			return err
		}
		out = nil
		for n := h.latest; n > 0; n-- {
			v, _, err := find(ctx, q, ws, id, n)
			if err != nil {
				return err
			}
			out = append(out, infoOf(v, n == h.version))
		}
		return nil
	})
	return out, err
}

// latest is the newest version of a template, drafts too, or version when it
// is not 0.
func (s *Service) latest(ctx context.Context, ws, id string, version int) (*entry, error) {
	if version == 0 && shipped().find(id, 0) == nil {
		h, err := findHead(ctx, s.db, ws, id)
		if err != nil {
			return nil, err
		}
		version = h.latest
	}
	return s.load(ctx, s.db, cacheKey{ws, id, version})
}

// Languages returns how complete a version is in each of its languages; 0 is
// the newest, drafts too.
func (s *Service) Languages(ctx context.Context, id string, version int) (*Languages, error) {
	e, err := s.latest(ctx, web.CallerFrom(ctx).Workspace, id, version)
	if err != nil {
		return nil, err
	}
	return &Languages{TemplateID: id, Version: e.v.Version, Items: e.v.Completeness()}, nil
}

// Diff compares two versions. to is the newest when it is 0, from the one
// before it. Faults: TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND.
func (s *Service) Diff(ctx context.Context, id string, from, to int) (*Diff, error) {
	ws := web.CallerFrom(ctx).Workspace
	b, err := s.latest(ctx, ws, id, to)
	if err != nil {
		return nil, err
	}
	if from == 0 {
		from = max(b.v.Version-1, 1)
	}
	a, err := s.load(ctx, s.db, cacheKey{ws, id, from})
	if err != nil {
		return nil, err
	}
	return &Diff{TemplateID: id, From: a.v.Version, To: b.v.Version, TemplateDifference: form.Diff(&a.v.Template, &b.v.Template)}, nil
}
