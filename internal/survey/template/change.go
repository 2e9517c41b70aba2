package template

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Create makes a template with its first version, a draft. Faults:
// TEMPLATE_INVALID, TEMPLATE_EXISTS, TOO_MANY_TEMPLATES.
func (s *Service) Create(ctx context.Context, t form.Template) (web.Reply[*Version], error) {
	return create(ctx, s, &Version{Template: t}, func(r web.Reply[*Version]) web.Reply[*Version] { return r })
}

// create stores a new template. finish makes the answer of the version.
func create[T any](ctx context.Context, s *Service, v *Version, finish func(web.Reply[*Version]) web.Reply[T]) (web.Reply[T], error) {
	var none web.Reply[T]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	nid := s.db.NewNID()
	if v.TemplateID == "" {
		v.TemplateID = "tpl_" + strconv.FormatInt(nid, 10)
	}
	if shipped().find(v.TemplateID, 0) != nil {
		return none, comesWithUs()
	}
	v.Version, v.Status, v.Revision = 1, StatusDraft, 1
	v.Created, v.CreatedBy = s.now(), web.CallerFrom(ctx).DID
	v.Updated, v.UpdatedBy = v.Created, v.CreatedBy
	if err := attach(ctx, s.db, ws, &v.Template); err != nil {
		return none, err
	}
	body, err := prepare(v)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[T], error) {
		if err := s.room(ctx, tx, ws); err != nil {
			return none, err
		}
		ok, err := insert(ctx, tx, nid, edition{ws, v, body})
		if err != nil {
			return none, err
		}
		if !ok {
			return none, exists()
		}
		if err := s.keepFiles(ctx, tx, ws, v, v.Files); err != nil {
			return none, err
		}
		return finish(made(v, body)), s.record(ctx, tx, ws, "template.created", v)
	})
}

// room refuses one more template when the workspace is full.
func (s *Service) room(ctx context.Context, tx *db.Tx, ws string) error {
	// Otherwise two creations at once would both find room.
	if err := s.events.TakeTurn(ctx, tx, ws); err != nil {
		return err
	}
	n, err := countAll(ctx, tx, ws, maxTemplates)
	if err != nil {
		return err
	}
	if n >= maxTemplates {
		return fault.New(fault.Conflict, "TOO_MANY_TEMPLATES", fmt.Sprintf("A workspace has at most %d templates.", maxTemplates))
	}
	return nil
}

func made(v *Version, body []byte) web.Reply[*Version] {
	return web.Reply[*Version]{Value: v, Raw: body, Status: http.StatusCreated, ETag: web.ETag(v.Revision), Location: v.Links.Self}
}

// prepare checks a version and renders it; all that needs no transaction.
func prepare(v *Version) ([]byte, error) {
	if _, err := compile(&v.Template); err != nil {
		return nil, err
	}
	return v.render()
}

// Update gives the draft of a template new content, or opens the draft of the
// next version when there is none. ifMatch is the ETag of the draft or, without
// a draft, that of the newest version or of the one that is shown. Faults:
// TEMPLATE_NOT_FOUND, TEMPLATE_PUBLISHED for a bundled one, TEMPLATE_INVALID,
// TEMPLATE_CHANGED, TOO_MANY_VERSIONS, and those of web.CheckMatch.
func (s *Service) Update(ctx context.Context, id, ifMatch string, t form.Template) (web.Reply[*Version], error) {
	return update(ctx, s, change{id, ifMatch, t}, func(r web.Reply[*Version]) web.Reply[*Version] { return r })
}

// change is what Update is asked for.
type change struct {
	id, ifMatch string
	to          form.Template
}

// update is Update. finish makes the answer of the version.
func update[T any](ctx context.Context, s *Service, c change, finish func(web.Reply[*Version]) web.Reply[T]) (web.Reply[T], error) {
	var none web.Reply[T]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	if err := s.ship(c.id); err != nil {
		return none, err
	}
	p, err := s.base(ctx, ws, c.id, c.ifMatch)
	if err != nil {
		return once.Refuse[T](ctx, s.cfg.Idem, err)
	}
	if c.to.TemplateID != "" && c.to.TemplateID != c.id {
		return none, invalid(fault.Field{Pointer: "/templateId", Code: "not_allowed", Detail: "The identifier of a template cannot change. Clone the template to use a different one."})
	}
	c.to.TemplateID = c.id
	if err := attach(ctx, s.db, ws, &c.to); err != nil {
		return none, err
	}
	v := p.next(c.to, s.now(), web.CallerFrom(ctx).DID)
	body, err := prepare(v)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[T], error) {
		if err := p.store(ctx, tx, edition{ws, v, body}, c.ifMatch); err != nil {
			return none, err
		}
		if err := s.keepFiles(ctx, tx, ws, v, v.Files); err != nil {
			return none, err
		}
		reply := web.Reply[*Version]{Value: v, Raw: body, ETag: web.ETag(v.Revision), Location: v.Links.Self}
		if !p.open {
			reply.Status = http.StatusCreated
		}
		return finish(reply), s.record(ctx, tx, ws, "template.updated", v)
	})
}

// Delete discards the draft of a template. Published versions stay; a template
// that was never published is removed. It returns what was deleted. Faults:
// TEMPLATE_NOT_FOUND, TEMPLATE_PUBLISHED when there is no draft,
// TEMPLATE_CHANGED, and those of web.CheckMatch.
func (s *Service) Delete(ctx context.Context, id, ifMatch string) (*Version, error) {
	ws, err := writer(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.ship(id); err != nil {
		return nil, err
	}
	p, err := s.base(ctx, ws, id, ifMatch)
	if err != nil {
		return nil, err
	}
	if !p.open {
		return nil, fault.New(fault.Conflict, "TEMPLATE_PUBLISHED", "There is no draft. A published version cannot be deleted; retire it when it should no longer be used.")
	}
	v := p.latest
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		h, err := p.take(ctx, tx, ws, ifMatch, s.now().UnixMilli())
		if err != nil {
			return err
		}
		last := v.Version == 1
		if err := removeVersion(ctx, tx, ws, v, last); err != nil {
			return err
		}
		if err := s.keepFiles(ctx, tx, ws, v, nil); err != nil {
			return err
		}
		if !last {
			if err := settle(ctx, tx, ws, id, h.revision+1); err != nil {
				return err
			}
		}
		return s.record(ctx, tx, ws, "template.deleted", v)
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}
