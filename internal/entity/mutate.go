package entity

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// reviser makes the next revision of a twin and stores it with all its
// consequences.
type reviser struct {
	needs
	records      *records
	events       *event.Log
	jobs         *job.Service
	speakers     Speakers
	groupChanged func(tx *db.Tx)
	moved        func(ctx context.Context, tx *db.Tx, r *Row) error
	claims       Claims
	certified    func(ctx context.Context, tx *db.Tx, old, next *Row) error
}

// Action names a change in the history and in the event log.
type Action struct {
	Name   string // in the history: "update", "transfer"
	Reason string // why, in the words of the caller
	Event  string // type of the event; entity.updated by default
	Data   any    // of the event
	// Unchecked accepts properties that the protocol would refuse, such as
	// erasing leaves behind. The event entity.erased implies it.
	Unchecked bool

	edges bool // the relationships have changed
	says  bool // and with them what the twin says; see judge.Says
	// renames says that the new type means the same as the old one.
	renames bool
}

// Entity decodes the record.
func (r *Row) Entity() (*Entity, error) {
	e, err := twin.Decode(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read record of %s: %w", r.DID, err)
	}
	return e, nil
}

// cached returns the parts that readers by DID need.
func (r *Row) cached() cached {
	return cached{project: r.Project, protocol: r.Protocol, revision: r.Revision, body: r.Body}
}

// Mutate stores a new revision of a twin, and nothing else does: the revision
// before goes to the history, the record is rendered, hashed and indexed anew,
// and there is one event. fn changes the record; it need not touch what the
// server maintains itself (revision, times, hash, status code). Mutate accepts
// any twin in any status: the caller decides who may do what. Read r in tx,
// with FindForUpdate. Faults: STALE_REVISION when r is no longer the newest
// revision, PROPERTY_SCHEMA_VIOLATION, SCOPE_MISSING, EXTERNAL_ID_EXISTS,
// MISSING_RELATIONSHIPS when an active twin lacks what another version of its
// protocol needs.
func (rv *reviser) Mutate(ctx context.Context, tx *db.Tx, r *Row, act Action, fn func(*Entity) error) (*Row, error) {
	rev, err := rv.revise(ctx, tx, r, act, fn)
	if err != nil {
		return nil, err
	}
	if err := rv.storeRevision(ctx, tx, rev); err != nil {
		return nil, err
	}
	return rev.next, nil
}

// Try reports whether Mutate would accept a change, and stores nothing.
func (rv *reviser) Try(ctx context.Context, q db.Querier, r *Row, fn func(*Entity) error) error {
	_, err := rv.revise(ctx, q, r, Action{}, fn)
	return err
}

// revision is a change that is ready to be stored.
type revision struct {
	old, next      *Row
	act            Action
	added, dropped []prop
	named, unnamed []ExternalID
	certifies      bool // the twin is a credential and others, which show it, must be updated
	speaks         *Speaking
}

// revise makes the next revision of a twin. It only reads.
func (rv *reviser) revise(ctx context.Context, q db.Querier, r *Row, act Action, fn func(*Entity) error) (*revision, error) {
	e, err := r.Entity()
	if err != nil {
		return nil, err
	}
	before := e.Copy()
	if err := fn(e); err != nil {
		return nil, err
	}
	rev := &revision{old: r, act: act}
	if err := rv.reindex(ctx, q, rev, before, e); err != nil {
		return nil, err
	}
	moved := e.ProtocolVersion != before.ProtocolVersion
	if act.edges || moved || relationship.Timed(e) {
		if e.MissingRelationships, err = rv.missingOf(ctx, q, e, r.NID); err != nil {
			return nil, err
		}
		if moved && e.Status == StatusActive && len(e.MissingRelationships) > 0 {
			return nil, relationship.LackingAt(ctx, q, &relationship.End{NID: r.NID, DID: r.DID}, e.MissingRelationships, "The entity is active, and this version of its protocol needs relationships it does not have.")
		}
	}
	restated := act.says || !act.renames && verdict.Restated(before, e)
	if restated && act.Event != "entity.erased" {
		if err := rv.mayRestate(before); err != nil {
			return nil, err
		}
	}
	if restated && act.Event != "entity.erased" && verdict.Outlived(before, e) {
		if err := rv.mayLapse(ctx, q, r); err != nil {
			return nil, err
		}
		e.Verification = Verification{Status: "pending"}
	}
	rev.named, rev.unnamed = difference(namesOf(e.ExternalIDs), namesOf(before.ExternalIDs))
	rv.follow(ctx, r, e, before)
	rev.certifies = verdict.Changed(before, e)
	if rev.speaks = speakingOf(r.Workspace, before, e); rev.speaks != nil {
		rev.speaks.Erased = act.Event == "entity.erased"
	}
	if err := rv.maySpeak(ctx, q, rev); err != nil {
		return nil, err
	}
	next := *r
	if rev.next = &next; restated {
		next.stated = e.Revision
		if e.DomainType == "claim" {
			e.StatedBy = e.UpdatedBy
		}
	}
	return rev, next.render(ctx, e, act, r.Hash)
}

// follow fills in what the server decides about the next revision.
func (rv *reviser) follow(ctx context.Context, r *Row, e, before *Entity) {
	e.DID, e.Protocol, e.Created, e.CreatedBy, e.Links = before.DID, before.Protocol, before.Created, before.CreatedBy, before.Links
	e.Revision = r.Revision + 1
	// A clock that steps back must not date a revision before the previous one.
	e.Updated = time.UnixMilli(max(rv.now().UnixMilli(), r.UpdatedAt)).UTC()
	e.UpdatedBy = cmp.Or(web.CallerFrom(ctx).DID, "system")
}

// reindex checks properties that have changed and computes what to add to the
// index and what to remove.
func (rv *reviser) reindex(ctx context.Context, q db.Querier, rev *revision, before, e *Entity) error {
	same := bytes.Equal(e.Properties.Value, before.Properties.Value) && e.ProtocolVersion == before.ProtocolVersion && e.Type == before.Type
	if same && bytes.Equal(e.Metadata.Value, before.Metadata.Value) { // metadata may hold its name
		return nil
	}
	ws := rev.old.Workspace
	old, err := rv.protocols.FindAnyIn(ctx, q, ws, before.Protocol, before.ProtocolVersion)
	if err != nil {
		return err
	}
	p := old
	if e.ProtocolVersion != before.ProtocolVersion {
		if p, err = rv.protocols.FindAnyIn(ctx, q, ws, before.Protocol, e.ProtocolVersion); err != nil {
			return err
		}
		e.Class, e.DomainType = p.Class(), p.DomainType()
	}
	was, err := valuesOf(before.Properties)
	if err != nil {
		return err
	}
	now := was
	if !same {
		if now, err = rv.recheck(ctx, rev, p, before, e); err != nil {
			return err
		}
	}
	rev.added, rev.dropped = difference(entriesOf(ws, p, e, now), entriesOf(ws, old, before, was))
	return nil
}

// recheck checks changed properties against the protocol, and the scopes of a
// group against the caller.
func (rv *reviser) recheck(ctx context.Context, rev *revision, p *protocol.Protocol, before, e *Entity) (map[string]any, error) {
	if rev.act.Unchecked || rev.act.Event == "entity.erased" {
		return valuesOf(e.Properties)
	}
	if err := checkGrant(ctx, e, &before.Properties); err != nil {
		return nil, err
	}
	return relationship.Fit(p, e)
}

func valuesOf(o Object) (map[string]any, error) {
	values := map[string]any{}
	if o.IsZero() {
		return values, nil
	}
	if err := json.Unmarshal(o.Value, &values); err != nil {
		return nil, fmt.Errorf("read properties: %w", err)
	}
	return values, nil
}

// storeRevision stores what revise has made. The fault is STALE_REVISION when
// another change was first.
func (rv *reviser) storeRevision(ctx context.Context, tx *db.Tx, rev *revision) error {
	next := rev.next
	tx.AfterCommit(func() {
		rv.records.set(recordName{next.Workspace, next.DID}, next.cached())
	})
	if err := rv.maySpeak(ctx, tx, rev); err != nil {
		return err // somebody became a principal after it was prepared
	}
	stored, err := update(ctx, tx, rev.old, rev.next)
	if err != nil {
		return err
	}
	if !stored {
		return web.Overtaken()
	}
	if err := rv.noteSpeakers(ctx, tx, rev.old.NID, rev.speaks); err != nil {
		return err
	}
	if err := rv.handed(ctx, tx, rev); err != nil {
		return err
	}
	if err := dropProps(ctx, tx, next.NID, rev.dropped); err != nil {
		return err
	}
	if err := addProps(ctx, tx, next.NID, rev.added); err != nil {
		return err
	}
	if err := dropNames(ctx, tx, next.Workspace, next.NID, rev.unnamed); err != nil {
		return err
	}
	if err := addNames(ctx, tx, next.Workspace, next.NID, rev.named); err != nil {
		return err
	}
	rv.noteGroup(tx, next.DomainType)
	if rv.moved != nil && (next.DomainType == "device" || next.Project != rev.old.Project) {
		if err := rv.moved(ctx, tx, next); err != nil {
			return err
		}
	}
	if err := rv.followClaim(ctx, tx, rev.old, next); err != nil {
		return err
	}
	err = rv.events.Append(ctx, tx, event.Event{
		Workspace: next.Workspace, Type: cmp.Or(rev.act.Event, "entity.updated"), Subject: next.DID, Revision: next.Revision, Data: rev.act.Data,
	})
	if err != nil || !rev.certifies {
		return err
	}
	return rv.proofs(ctx).Renew(ctx, tx, next.NID, verdict.Place{})
}

// noteGroup tells the keepers of rights about a change to a group or an
// organisation, once it is stored.
func (rv *reviser) noteGroup(tx *db.Tx, domain string) {
	if rv.groupChanged != nil && (domain == "group" || domain == "organisation") {
		rv.groupChanged(tx)
	}
}
