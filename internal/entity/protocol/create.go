package protocol

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// writer is the workspace of a caller who may change protocols: they rule all
// projects, so a key for some does not do.
func writer(ctx context.Context) (string, error) {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return "", fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; protocols are for the whole workspace.")
	}
	return c.Workspace, nil
}

// Create makes a protocol with its first version, a draft. Faults:
// PROTOCOL_INVALID, PROTOCOL_EXISTS, PROTOCOL_CYCLE, TOO_MANY_PROTOCOLS.
func (s *Service) Create(ctx context.Context, d Draft) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	if shipped().has(d.DID) {
		return none, exists()
	}
	if d.DID == "" {
		d.DID = s.cfg.NewDID().String()
	}
	r, body, err := s.prepare(ctx, ws, d)
	if err != nil {
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	nid := s.db.NewNID()
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Record], error) {
		// Otherwise two creations at once would both find room.
		if err := s.events.TakeTurn(ctx, tx, ws); err != nil {
			return none, err
		}
		n, err := count(ctx, tx, ws, maxProtocols)
		if err != nil {
			return none, err
		}
		if n >= maxProtocols {
			return none, fault.New(fault.Conflict, "TOO_MANY_PROTOCOLS", fmt.Sprintf("A workspace has at most %d protocols.", maxProtocols))
		}
		if taken, err := s.cfg.Taken(ctx, tx, ws, r.DID); err != nil {
			return none, err
		} else if taken {
			return none, exists()
		}
		ok, err := insert(ctx, tx, nid, edition{ws, r, body})
		if err != nil {
			return none, err
		}
		if !ok {
			return none, exists()
		}
		return made(r, body), s.record(ctx, tx, ws, "protocol.created", r)
	})
}

func exists() error {
	return fault.New(fault.Conflict, "PROTOCOL_EXISTS", "A protocol or a twin has this DID already. Use another one.").
		With(fault.Field{Pointer: "/did", Code: "exists", Detail: "Use another DID, or make a new version of that protocol."})
}

func made(r *Record, body []byte) web.Reply[*Record] {
	return web.Reply[*Record]{Value: r, Raw: body, Status: http.StatusCreated, ETag: web.ETag(r.Revision), Location: r.Links.Self}
}

// record appends the event of a change and makes the change known.
func (s *Service) record(ctx context.Context, tx *db.Tx, ws, kind string, r *Record) error {
	s.changed(tx, ws)
	return s.events.Append(ctx, tx, event.Event{
		Workspace: ws, Type: kind, Subject: r.DID, Revision: r.Revision, Data: map[string]string{"version": r.Version},
	})
}

// prepare checks a draft and renders its record; all that needs no
// transaction.
func (s *Service) prepare(ctx context.Context, ws string, d Draft) (*Record, []byte, error) {
	var c fault.Checks
	d.check(&c)
	d.sense(&c)
	r := d.record()
	r.Revision, r.Created, r.CreatedBy = 1, s.now(), web.CallerFrom(ctx).DID
	r.Updated, r.UpdatedBy, r.WrittenBy = r.Created, r.CreatedBy, []string{r.CreatedBy}
	parent, err := s.parent(ctx, ws, &r)
	if err != nil {
		return nil, nil, err
	}
	if _, err := compile(r, parent, &c); err != nil {
		return nil, nil, err
	}
	if err := c.Err("PROTOCOL_INVALID", "The protocol is not valid."); err != nil {
		return nil, nil, limited(err)
	}
	body, err := rendered(&r)
	return &r, body, err
}

// rendered renders a record unless it is too large.
func rendered(r *Record) ([]byte, error) {
	body, err := r.render()
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, fault.New(fault.Invalid, "PROTOCOL_INVALID", "The protocol is not valid.").
			With(fault.Field{Pointer: "", Code: "too_large", Detail: fmt.Sprintf("A protocol may have at most %d bytes.", maxBody)})
	}
	return body, nil
}

// limited keeps a fault to as many fields as a check of a twin names.
func limited(err error) error {
	if f := fault.As(err); f != nil && len(f.Fields) > schema.MaxErrors {
		short := *f
		short.Fields = f.Fields[:schema.MaxErrors]
		return &short
	}
	return err
}

// parent is what a draft builds on, nil when that does not exist or is not
// valid yet: publishing is when it must.
func (s *Service) parent(ctx context.Context, ws string, r *Record) (*Protocol, error) {
	if r.Extends == "" {
		return nil, nil
	}
	if err := s.checkCircle(ctx, ws, r); err != nil {
		return nil, err
	}
	p, err := s.load(ctx, s.db, cacheKey{ws, r.Extends, r.ExtendsVersion}, 1)
	if fault.As(err) != nil {
		return nil, nil
	}
	return p, err
}

// checkCircle follows what a draft extends, drafts too, and refuses a way that
// comes back.
func (s *Service) checkCircle(ctx context.Context, ws string, r *Record) error {
	id, version := r.Extends, r.ExtendsVersion
	for range maxAncestors {
		switch {
		case id == r.DID:
			return cycle()
		case id == "" || shipped().has(id): // shipped ones extend none
			return nil
		}
		next, _, err := read(ctx, s.db, cacheKey{ws, id, version})
		if fault.KindOf(err) == fault.NotFound {
			return nil
		} else if err != nil {
			return err
		}
		id, version = next.Extends, next.ExtendsVersion
	}
	if id == r.DID {
		return cycle()
	}
	if id != "" {
		return tooDeep()
	}
	return nil
}

func cycle() error {
	return fault.New(fault.Conflict, "PROTOCOL_CYCLE", "The protocol would extend itself.").
		With(fault.Field{Pointer: "/extends", Code: "cycle", Detail: "What this protocol extends, extends this protocol."})
}

// Update applies a merge patch to a draft: to version, or to the newest draft
// when it is empty. Faults: PROTOCOL_NOT_FOUND, PROTOCOL_PUBLISHED,
// PROTOCOL_CHANGED, and those of Create and web.CheckMatch.
func (s *Service) Update(ctx context.Context, id, version, ifMatch string, patch []byte) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	old, err := s.draftOf(ctx, ws, id, version)
	if err != nil {
		return none, err
	}
	if err := web.CheckMatch(ifMatch, old.Revision); err != nil {
		return none, err
	}
	d, err := patched(old.draft(), patch)
	if err != nil {
		return none, err
	}
	d.DID, d.Version = old.DID, old.Version
	r, _, err := s.prepare(ctx, ws, d)
	if err != nil {
		return none, err
	}
	r.Created, r.CreatedBy, r.Revision = old.Created, old.CreatedBy, old.Revision+1
	r.WrittenBy = unique(append(slices.Clone(old.written()), r.UpdatedBy))
	body, err := rendered(r)
	if err != nil {
		return none, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := replace(ctx, tx, old, edition{ws, r, body}); err != nil {
			return err
		}
		return s.record(ctx, tx, ws, "protocol.updated", r)
	})
	if err != nil {
		return none, err
	}
	return web.Reply[*Record]{Value: r, Raw: body, ETag: web.ETag(r.Revision)}, nil
}

// replace stores an edition over old, unless another change was first.
func replace(ctx context.Context, tx *db.Tx, old *Record, e edition) error {
	if _, err := lock(ctx, tx, e.ws, e.r.DID, e.r.Updated.UnixMilli()); err != nil {
		return err
	}
	ok, err := update(ctx, tx, e)
	if err != nil || ok {
		return err
	}
	return lost(ctx, tx, e.ws, old)
}

// lost says why a version has changed since it was read.
func lost(ctx context.Context, tx *db.Tx, ws string, old *Record) error {
	now, _, err := find(ctx, tx, ws, old.DID, old.Version)
	switch {
	case err != nil:
		return err
	case now.Status != old.Status && old.Status == StatusDraft:
		return published()
	}
	return fault.New(fault.Conflict, "PROTOCOL_CHANGED", "The protocol was changed at the same moment. Read it again.")
}

func published() error {
	return fault.New(fault.Conflict, "PROTOCOL_PUBLISHED", "A published version does not change. Make a new one with POST /v1/protocols/{did}/versions.")
}

// ship refuses changes of a shipped protocol.
func (s *Service) ship(id string) error {
	if shipped().has(id) {
		return fault.New(fault.Conflict, "PROTOCOL_PUBLISHED", "A shipped protocol does not change. Make one of your own that extends it.")
	}
	return nil
}

// draftOf finds the draft to be changed.
func (s *Service) draftOf(ctx context.Context, ws, id, version string) (*Record, error) {
	if err := s.ship(id); err != nil {
		return nil, err
	}
	if version == "" {
		all, err := steps(ctx, s.db, ws, id)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, notFound()
		}
		if version = newest(inStatus(all, StatusDraft)); version == "" {
			return nil, published()
		}
	}
	r, _, err := find(ctx, s.db, ws, id, version)
	if err != nil {
		return nil, err
	}
	if r.Status != StatusDraft {
		return nil, published()
	}
	return r, nil
}

func inStatus(all []step, status ...Status) []step {
	var out []step
	for _, st := range all {
		for _, one := range status {
			if st.status == one {
				out = append(out, st)
			}
		}
	}
	return out
}

// patched is a draft with a merge patch applied.
func patched(d Draft, patch []byte) (Draft, error) {
	var none Draft
	if jsontext.Value(patch).Kind() != '{' {
		return none, fault.New(fault.Invalid, "WRONG_TYPE", "The body must be an object.")
	}
	doc, err := json.Marshal(d)
	if err != nil {
		return none, fmt.Errorf("encode protocol: %w", err)
	}
	merged, err := web.MergePatch(doc, patch)
	if err != nil {
		return none, err
	}
	var out Draft
	return out, web.DecodeStrict(merged, &out, false)
}
