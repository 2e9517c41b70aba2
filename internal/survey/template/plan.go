package template

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// plan is a change of content in preparation: the state it is based on.
type plan struct {
	head   head
	latest *Version // the newest version
	open   bool     // it is a draft
}

// base reads what a change of content starts from and holds ifMatch to it.
func (s *Service) base(ctx context.Context, ws, id, ifMatch string) (*plan, error) {
	var p plan
	err := s.db.View(ctx, func(q db.Querier) (err error) {
		if p.head, err = findHead(ctx, q, ws, id); err != nil {
			return err
		}
		if p.latest, _, err = find(ctx, q, ws, id, p.head.latest); err != nil {
			return err
		}
		p.open = p.latest.Status == StatusDraft
		return p.match(ctx, q, ws, ifMatch)
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// match compares ifMatch with the newest version. If that is not a draft the
// version that is shown matches too, because that is what people have read.
func (p *plan) match(ctx context.Context, q db.Querier, ws, ifMatch string) error {
	err := web.CheckMatch(ifMatch, p.latest.Revision)
	if err == nil || p.open || p.head.version == p.head.latest {
		return err
	}
	shown, _, bad := find(ctx, q, ws, p.latest.TemplateID, p.head.version)
	if bad != nil {
		return bad
	}
	if web.CheckMatch(ifMatch, shown.Revision) == nil {
		return nil
	}
	return err
}

// next is the version a change makes: the draft with new content, or a draft
// after the newest version.
func (p *plan) next(t form.Template, now time.Time, by string) *Version {
	v := &Version{Template: t, Version: p.latest.Version, Status: StatusDraft, ClonedFrom: p.latest.ClonedFrom, Created: p.latest.Created, CreatedBy: p.latest.CreatedBy}
	if !p.open {
		v.Version, v.ClonedFrom, v.Created, v.CreatedBy = p.latest.Version+1, "", now, by
	}
	v.Revision, v.Updated, v.UpdatedBy = p.head.revision+1, now, by
	return v
}

// take locks the template, and refuses the change when the state it was based
// on has changed.
func (p *plan) take(ctx context.Context, tx *db.Tx, ws, ifMatch string, now int64) (head, error) {
	h, err := lock(ctx, tx, ws, p.latest.TemplateID, now)
	if err != nil || h == p.head {
		return h, err
	}
	v, _, err := find(ctx, tx, ws, p.latest.TemplateID, h.latest)
	if err != nil {
		return h, err
	}
	if p.open && v.Version == p.latest.Version && v.Status != StatusDraft {
		return h, published()
	}
	if err := web.CheckMatch(ifMatch, v.Revision); err != nil {
		return h, err
	}
	return h, changed()
}

// store stores the version that next has made.
func (p *plan) store(ctx context.Context, tx *db.Tx, e edition, ifMatch string) error {
	if _, err := p.take(ctx, tx, e.ws, ifMatch, e.v.Updated.UnixMilli()); err != nil {
		return err
	}
	if p.open {
		if err := putVersion(ctx, tx, e); err != nil {
			return err
		}
		return settle(ctx, tx, e.ws, e.v.TemplateID, e.v.Revision)
	}
	if e.v.Version > maxVersions {
		return fault.New(fault.Conflict, "TOO_MANY_VERSIONS", fmt.Sprintf("A template has at most %d versions.", maxVersions))
	}
	if ok, err := addVersion(ctx, tx, e); err != nil {
		return err
	} else if !ok { // cannot be: the template is locked
		return changed()
	}
	return settle(ctx, tx, e.ws, e.v.TemplateID, e.v.Revision)
}
