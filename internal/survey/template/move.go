package template

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func checkChange(c Change) error {
	var checks fault.Checks
	check.Short(&checks, "/reason", c.Reason, check.MaxReason)
	if c.Version < 0 {
		checks.Add("/version", "out_of_range", "The value must be 1 or more.")
	}
	return checks.Err("TEMPLATE_INVALID", "The request is not valid.")
}

// move is a change of status.
type move struct {
	to    Status
	from  []Status
	event string
}

// The verbs of Move.
const (
	Publish   = "publish"   // makes a draft a version that surveys can use, for ever as it is now
	Deprecate = "deprecate" // says that there is something better; the version still works
	Retire    = "retire"    // no new survey uses the version; those that do go on
)

func moveOf(verb string) move {
	switch verb {
	case Publish:
		return move{StatusPublished, []Status{StatusDraft}, "template.published"}
	case Deprecate:
		return move{StatusDeprecated, []Status{StatusPublished}, "template.deprecated"}
	}
	return move{StatusRetired, []Status{StatusPublished, StatusDeprecated}, "template.retired"}
}

func (m move) allows(from Status) error {
	switch {
	case slices.Contains(m.from, from):
		return nil
	case m.to == StatusPublished && from == StatusPublished:
		return fault.New(fault.Conflict, "TEMPLATE_PUBLISHED", "This version is already published.")
	case from == StatusDraft:
		return fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", "This version is a draft: publish it first, or discard it with DELETE /v1/templates/{templateId}.")
	}
	return fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", fmt.Sprintf("A version that is %s cannot become %s.", from, m.to))
}

// Move gives a version another status. Faults: TEMPLATE_NOT_FOUND,
// TEMPLATE_VERSION_NOT_FOUND, TEMPLATE_PUBLISHED, STATE_TRANSITION_INVALID,
// TEMPLATE_CHANGED.
func (s *Service) Move(ctx context.Context, id, verb, ifMatch string, c Change) (web.Reply[*Version], error) {
	m := moveOf(verb)
	var none web.Reply[*Version]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	if err := checkChange(c); err != nil {
		return none, err
	}
	if err := s.ship(id); err != nil {
		return none, err
	}
	h, old, err := s.target(ctx, ws, id, c.Version, m)
	if err == nil && ifMatch != "" {
		err = web.CheckMatch(ifMatch, old.Revision)
	}
	if err != nil {
		return once.Refuse[*Version](ctx, s.cfg.Idem, err)
	}
	v := old.moved(m, c.Reason, s.now())
	v.Revision, v.UpdatedBy = h.revision+1, web.CallerFrom(ctx).DID
	body, err := v.render()
	if err != nil {
		return none, err
	}
	reply := web.Reply[*Version]{Value: v, Raw: body, ETag: web.ETag(v.Revision)}
	if m.to == StatusPublished {
		if reply.Value, err = s.warned(ctx, ws, v); err != nil {
			return none, err
		}
		if len(reply.Value.Warnings) > 0 {
			reply.Raw = nil
		}
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Version], error) {
		if err := m.store(ctx, tx, h, edition{ws, v, body}); err != nil {
			return none, err
		}
		return reply, s.record(ctx, tx, ws, m.event, v)
	})
}

// warned is a version with what phones cannot ask of it.
func (s *Service) warned(ctx context.Context, ws string, v *Version) (*Version, error) {
	if s.cfg.XForm == nil {
		return v, nil
	}
	e, err := s.load(ctx, s.db, cacheKey{ws, v.TemplateID, v.Version})
	if err != nil {
		return nil, err
	}
	_, err = s.cfg.XForm(e.form, v.Version)
	refused := fault.As(err)
	if err != nil && (refused == nil || refused.Code != "XFORM_NOT_POSSIBLE") {
		return nil, err
	}
	out := *v
	if refused != nil {
		for _, f := range refused.Fields[:min(len(refused.Fields), maxFields)] {
			out.Warnings = append(out.Warnings, api.Warning(f))
		}
	}
	return &out, nil
}

// moved is a version in its new status.
func (v *Version) moved(m move, reason string, now time.Time) *Version {
	out := *v
	out.Status, out.Updated = m.to, now
	if m.to == StatusPublished {
		out.PublishedAt = now
	} else {
		out.StatusReason = reason
	}
	return &out
}

// target finds the version a change is for and refuses what its status does
// not allow.
func (s *Service) target(ctx context.Context, ws, id string, version int, m move) (h head, v *Version, err error) {
	err = s.db.View(ctx, func(q db.Querier) (err error) {
		if h, err = findHead(ctx, q, ws, id); err != nil {
			return err
		}
		if version == 0 {
			all, err := steps(ctx, q, ws, id)
			if err != nil {
				return err
			}
			best, ok := newest(all, m.from...)
			if !ok {
				best, _ = newest(all)
			}
			version = best.version
		}
		v, _, err = find(ctx, q, ws, id, version)
		return err
	})
	if err != nil {
		return h, nil, err
	}
	return h, v, m.allows(v.Status)
}

// store stores a version in its new status, unless another change was first.
func (m move) store(ctx context.Context, tx *db.Tx, was head, e edition) error {
	h, err := lock(ctx, tx, e.ws, e.v.TemplateID, e.v.Updated.UnixMilli())
	if err != nil {
		return err
	}
	if h != was {
		now, _, err := find(ctx, tx, e.ws, e.v.TemplateID, e.v.Version)
		if err != nil {
			return err
		}
		if err := m.allows(now.Status); err != nil {
			return err
		}
		return changed()
	}
	if err := putVersion(ctx, tx, e); err != nil {
		return err
	}
	return settle(ctx, tx, e.ws, e.v.TemplateID, e.v.Revision)
}
