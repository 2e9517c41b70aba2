package protocol

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// AddVersion makes a new draft version from the newest one and a merge patch
// that also names the version. Faults: PROTOCOL_NOT_FOUND, PROTOCOL_INVALID,
// PROTOCOL_PUBLISHED for a bundled one, PROTOCOL_VERSION_EXISTS,
// TOO_MANY_VERSIONS.
func (s *Service) AddVersion(ctx context.Context, id string, patch []byte) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	r, body, err := s.nextVersion(ctx, ws, id, patch)
	if err != nil {
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Record], error) {
		if err := insertNext(ctx, tx, ws, r, body); err != nil {
			return none, err
		}
		return made(r, body), s.record(ctx, tx, ws, "protocol.created", r)
	})
}

func (s *Service) nextVersion(ctx context.Context, ws, id string, patch []byte) (*Record, []byte, error) {
	if err := s.ship(id); err != nil {
		return nil, nil, err
	}
	all, err := steps(ctx, s.db, ws, id)
	if err != nil {
		return nil, nil, err
	}
	last := newest(all)
	if last == "" {
		return nil, nil, notFound()
	}
	base, _, err := find(ctx, s.db, ws, id, last)
	if err != nil {
		return nil, nil, err
	}
	d, err := nextDraft(base, patch)
	if err != nil {
		return nil, nil, err
	}
	return s.prepare(ctx, ws, d)
}

// nextDraft is the draft of a version after base.
func nextDraft(base *Record, patch []byte) (Draft, error) {
	d := base.draft()
	d.Version = ""
	d.ExtendsVersion = "" // set again when it is published
	d, err := patched(d, patch)
	if err != nil {
		return d, err
	}
	d.DID = base.DID
	var c fault.Checks
	c.Require(d.Version != "", "/version")
	if check.IsVersion(d.Version) && check.CompareVersions(d.Version, base.Version) <= 0 {
		c.Add("/version", "not_greater", "The version must be greater than the newest one, "+base.Version+".")
	}
	return d, c.Err("PROTOCOL_INVALID", "The protocol is not valid.")
}

func insertNext(ctx context.Context, tx *db.Tx, ws string, r *Record, body []byte) error {
	h, err := lock(ctx, tx, ws, r.DID, r.Updated.UnixMilli())
	if err != nil {
		return err
	}
	if h.versions >= maxVersions {
		return fault.New(fault.Conflict, "TOO_MANY_VERSIONS", fmt.Sprintf("A protocol has at most %d versions.", maxVersions))
	}
	all, err := steps(ctx, tx, ws, r.DID)
	if err != nil {
		return err
	}
	if last := newest(all); check.CompareVersions(r.Version, last) <= 0 {
		return fault.New(fault.Conflict, "PROTOCOL_VERSION_EXISTS", "Another version was made at the same moment. Read the versions, then try again.")
	}
	if ok, err := addVersion(ctx, tx, edition{ws, r, body}); err != nil || !ok {
		return err // not ok cannot be: the row of the protocol is locked
	}
	h.versions++
	best, _ := choose(append(all, step{r.Version, r.Status}))
	h.version = best.version
	return h.save(ctx, tx, ws, r.DID)
}

// Change asks for another status of a version.
type Change api.ProtocolMove

func (c Change) check() error {
	var checks fault.Checks
	check.Short(&checks, "/reason", c.Reason, check.MaxReason)
	return checks.Err("PROTOCOL_INVALID", "The request is not valid.")
}

// move is a change of status.
type move struct {
	to    Status
	from  []Status
	event string
	more  func(*db.Tx, *head) error // what else belongs to it
}

func nothing(*db.Tx, *head) error { return nil }

func publishing() move {
	return move{StatusPublished, []Status{StatusDraft}, "protocol.published", nothing}
}

func deprecating() move {
	return move{StatusDeprecated, []Status{StatusPublished}, "protocol.deprecated", nothing}
}

// retiring works on drafts too: it is how one is given up.
func retiring() move {
	return move{StatusRetired, []Status{StatusPublished, StatusDeprecated, StatusDraft}, "protocol.retired", nothing}
}

// target finds the version a change is for and refuses what its status does
// not allow.
func (s *Service) target(ctx context.Context, ws, id string, c Change, m move) (*Record, error) {
	if err := s.ship(id); err != nil {
		return nil, err
	}
	version := c.Version
	if version == "" {
		all, err := steps(ctx, s.db, ws, id)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, notFound()
		}
		fit := inStatus(all, m.from...)
		if m.to == StatusRetired { // never a draft by accident
			fit = inStatus(all, StatusPublished, StatusDeprecated)
		}
		if version = newest(fit); version == "" {
			version = newest(all)
		}
	}
	r, _, err := find(ctx, s.db, ws, id, version)
	if err != nil {
		return nil, err
	}
	if r.Status == StatusDraft && m.to == StatusRetired && c.Version == "" {
		return nil, fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", "Only drafts are left. Name the version of the one to retire.")
	}
	return r, m.allows(r.Status)
}

func (m move) allows(from Status) error {
	for _, s := range m.from {
		if s == from {
			return nil
		}
	}
	if m.to == StatusPublished && from == StatusPublished {
		return fault.New(fault.Conflict, "PROTOCOL_PUBLISHED", "This version is published already.")
	}
	return fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", fmt.Sprintf("A version that is %s cannot become %s.", from, m.to))
}

// Publish makes a draft a version that twins can be made from; its content
// never changes after that. The protocol it extends must be published, and is
// pinned to its newest version. Faults: PROTOCOL_NOT_FOUND, PROTOCOL_PUBLISHED,
// PROTOCOL_INVALID, PROTOCOL_CYCLE, PROTOCOL_NOT_PUBLISHED and
// PROTOCOL_VERSION_RETIRED of what it extends, STATE_TRANSITION_INVALID,
// PROTOCOL_CHANGED.
func (s *Service) Publish(ctx context.Context, id, ifMatch string, c Change) (web.Reply[*Record], error) {
	ws, old, err := s.beginMove(ctx, id, ifMatch, c, publishing())
	if err != nil {
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	p, err := s.finished(ctx, ws, *old)
	if err != nil {
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	r := p.Record
	r.Published, r.WrittenBy = s.now(), unique(append(slices.Clone(old.written()), web.CallerFrom(ctx).DID))
	m := publishing()
	m.more = func(tx *db.Tx, h *head) error {
		if h.class != "" && (h.class != p.Class() || h.domain != p.DomainType()) {
			return fault.New(fault.Invalid, "PROTOCOL_INVALID", "The protocol is not valid.").With(fault.Field{
				Pointer: "/class", Code: "cannot_change", Detail: fmt.Sprintf("All versions are %s and %s. Make another protocol for another class.", h.class, h.domain),
			})
		}
		h.class, h.domain, h.open = p.Class(), p.DomainType(), h.open+p.opens()
		return declare(ctx, tx, ws, p)
	}
	return s.move(ctx, ws, old, &r, m)
}

// finished is a draft in the form in which it will be published: complete, and
// with the extended protocol pinned.
func (s *Service) finished(ctx context.Context, ws string, r Record) (*Protocol, error) {
	var parent *Protocol
	if r.Extends != "" {
		if err := s.checkCircle(ctx, ws, &r); err != nil {
			return nil, err
		}
		var err error
		if parent, err = s.Find(ctx, ws, r.Extends, r.ExtendsVersion); err != nil {
			return nil, parentFault(err)
		}
		if parent.Extends(r.DID) {
			return nil, cycle()
		}
		r.ExtendsVersion = parent.Version
	}
	var c fault.Checks
	r.Content.sense(&c)
	p, err := compile(r, parent, &c)
	if err != nil {
		return nil, err
	}
	if err := c.Err("PROTOCOL_INVALID", "The protocol is not valid."); err != nil {
		return nil, limited(err)
	}
	p.Record.Content.Class, p.Record.Content.DomainType = p.Class(), p.DomainType()
	return p, nil
}

// parentFault says that a fault is about what the protocol extends.
func parentFault(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	switch f.Code {
	case "PROTOCOL_NOT_FOUND":
		return fault.New(fault.Invalid, "PROTOCOL_INVALID", "The protocol is not valid.").
			With(fault.Field{Pointer: "/extends", Code: "not_found", Detail: "There is no such protocol or version to extend."})
	case "PROTOCOL_NOT_PUBLISHED":
		return fault.New(fault.Unprocessable, "PROTOCOL_NOT_PUBLISHED", "Publish the protocol that this one extends first.").
			With(fault.Field{Pointer: "/extends", Code: "not_published", Detail: "The protocol to extend is a draft."})
	}
	return f.With(fault.Field{Pointer: "/extends", Code: "not_usable", Detail: "The protocol to extend cannot be used."})
}

// Deprecate marks a published version as superseded by something better; it
// still works. Faults: PROTOCOL_NOT_FOUND, STATE_TRANSITION_INVALID.
func (s *Service) Deprecate(ctx context.Context, id, ifMatch string, c Change) (web.Reply[*Record], error) {
	return s.end(ctx, id, ifMatch, c, deprecating())
}

// Retire ends the use of a version: no more twins are made from it; existing
// ones do not change. Faults: PROTOCOL_NOT_FOUND, STATE_TRANSITION_INVALID.
func (s *Service) Retire(ctx context.Context, id, ifMatch string, c Change) (web.Reply[*Record], error) {
	return s.end(ctx, id, ifMatch, c, retiring())
}

func (s *Service) end(ctx context.Context, id, ifMatch string, c Change, m move) (web.Reply[*Record], error) {
	ws, old, err := s.beginMove(ctx, id, ifMatch, c, m)
	if err != nil {
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	r := *old
	r.StatusReason = c.Reason
	return s.move(ctx, ws, old, &r, m)
}

// beginMove checks a change of status and finds the version it is for.
func (s *Service) beginMove(ctx context.Context, id, ifMatch string, c Change, m move) (string, *Record, error) {
	ws, err := writer(ctx)
	if err != nil {
		return "", nil, err
	}
	if err := c.check(); err != nil {
		return "", nil, err
	}
	old, err := s.target(ctx, ws, id, c, m)
	if err != nil {
		return "", nil, err
	}
	if ifMatch != "" {
		if err := web.CheckMatch(ifMatch, old.Revision); err != nil {
			return "", nil, err
		}
	}
	return ws, old, nil
}

// move stores a change of status.
func (s *Service) move(ctx context.Context, ws string, old, r *Record, m move) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	r.Status, r.Revision, r.Updated, r.UpdatedBy = m.to, old.Revision+1, s.now(), web.CallerFrom(ctx).DID
	body, err := rendered(r)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Record], error) {
		h, err := lock(ctx, tx, ws, r.DID, r.Updated.UnixMilli())
		if err != nil {
			return none, err
		}
		now, _, err := find(ctx, tx, ws, r.DID, r.Version)
		if err != nil {
			return none, err
		}
		if err := m.allows(now.Status); err != nil {
			return none, err
		}
		if err := replace(ctx, tx, old, edition{ws, r, body}); err != nil {
			return none, err
		}
		if err := m.more(tx, &h); err != nil {
			return none, err
		}
		all, err := steps(ctx, tx, ws, r.DID)
		if err != nil {
			return none, err
		}
		best, _ := choose(all)
		h.version = best.version
		if err := h.save(ctx, tx, ws, r.DID); err != nil {
			return none, err
		}
		reply := web.Reply[*Record]{Value: r, Raw: body, ETag: web.ETag(r.Revision)}
		return reply, s.record(ctx, tx, ws, m.event, r)
	})
}
