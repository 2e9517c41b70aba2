package entity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Change is a change to what clients decide in a record: one of the first four
// fields, and a reason.
type Change struct {
	Merge     []byte              // RFC 7396, on the record
	JSONPatch []byte              // RFC 6902, on the record
	Replace   *Draft              // everything a client decides; controllers stay when it names none
	Edit      func(*Entity) error // anything else; the record is checked afterwards
	Reason    string
	Action    string // in the history; "update" by default

	document []byte // the body of a PUT
}

// errUnchanged says that a change would not alter the record.
var errUnchanged = errors.New("unchanged")

// PatchTx makes a new revision of a twin from a change. A change that changes
// nothing makes none. Faults: ENTITY_NOT_FOUND, PRECONDITION_REQUIRED,
// STALE_REVISION, NOT_CONTROLLER, ENTITY_DEACTIVATED, ENTITY_INVALID,
// READ_ONLY_MEMBER, PROPERTY_SCHEMA_VIOLATION, EXTERNAL_ID_EXISTS.
func (s *Service) PatchTx(ctx context.Context, tx *db.Tx, id, ifMatch string, c Change) (*Row, error) {
	r, err := s.FindForUpdate(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	rev, err := s.prepareChange(ctx, tx, r, ifMatch, c)
	if errors.Is(err, errUnchanged) {
		return r, nil
	} else if err != nil {
		return nil, err
	}
	return rev.next, s.storeRevision(ctx, tx, rev)
}

// patchTries is how often a change to any revision ("If-Match: *") is prepared
// outside a transaction and starts over because another change was first. After
// that it waits for its turn.
const patchTries = 3

// Patch is PatchTx in a transaction of its own. All slow work happens before
// it, unless many change the twin at once.
func (s *Service) Patch(ctx context.Context, id, ifMatch string, c Change) (*Row, error) {
	for try := 0; ; try++ {
		r, err := s.Find(ctx, s.db, id)
		if err != nil {
			return nil, err
		}
		rev, err := s.prepareChange(ctx, s.db, r, ifMatch, c)
		if errors.Is(err, errUnchanged) {
			return r, nil
		} else if err != nil {
			return nil, err
		}
		err = s.db.InTx(s.db.Row(ctx, "entity "+id), func(tx *db.Tx) error { return s.storeRevision(ctx, tx, rev) })
		if err == nil {
			return rev.next, nil
		}
		if strings.TrimSpace(ifMatch) != "*" || fault.CodeOf(err) != "STALE_REVISION" {
			return nil, err
		}
		if try == patchTries {
			err = s.db.InTx(ctx, func(tx *db.Tx) (err error) {
				r, err = s.PatchTx(ctx, tx, id, ifMatch, c)
				return err
			})
			return r, err
		}
	}
}

// prepareChange makes the revision a change asks for. It only reads.
func (s *Service) prepareChange(ctx context.Context, q db.Querier, r *Row, ifMatch string, c Change) (*revision, error) {
	if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
		return nil, err
	}
	if err := s.mayChange(ctx, q, r); err != nil {
		return nil, err
	}
	if err := checkReason(c.Reason); err != nil {
		return nil, err
	}
	act := Action{Name: "update", Reason: c.Reason}
	if c.Action != "" {
		act.Name = c.Action
	}
	return s.revise(ctx, q, r, act, func(e *Entity) error {
		before := e.Properties
		var checks fault.Checks
		wrong := c.apply(r, e, &checks)
		if wrong != nil && !web.IsMisfit(wrong) && fault.CodeOf(wrong) != "READ_ONLY_MEMBER" {
			return wrong
		}
		e.Check(&checks)
		wrong = check.Together(wrong, checks.Err("ENTITY_INVALID", "The entity is not valid."))
		if wrong != nil {
			return s.withProperties(ctx, q, e, before, wrong)
		}
		e.Normal()
		body, err := web.Encode(e)
		if err == nil && bytes.Equal(body, r.Body) {
			return errUnchanged
		}
		return errors.Join(err, checkSize(body))
	})
}

// withProperties adds to the fault of a change what the protocol says about the
// properties in it.
func (s *Service) withProperties(ctx context.Context, q db.Querier, e *Entity, before Object, err error) error {
	p, lost := s.protocols.FindAnyIn(ctx, q, web.CallerFrom(ctx).Workspace, e.Protocol, e.ProtocolVersion)
	if lost != nil || bytes.Equal(e.Properties.Value, before.Value) {
		return err
	}
	_, broken := relationship.Fit(p, e)
	return check.Together(err, broken)
}

// apply makes the change in a record that was read from r. It skips parts that
// do not fit or that clients do not decide, and names all of them, so that the
// rest can still be checked. Controllers are checked here.
func (c Change) apply(r *Row, e *Entity, checks *fault.Checks) error {
	switch {
	case c.Edit != nil:
		err := c.Edit(e)
		twin.CheckControllers(checks, "", e.Controllers)
		return err
	case c.Replace != nil:
		d := *c.Replace // a copy, because it may be applied again
		return replace(&d, e, checks)
	case c.document != nil:
		return replaceBy(e, r.Body, c.document, checks)
	case c.JSONPatch != nil:
		doc, err := web.JSONPatch(r.Body, c.JSONPatch)
		if err != nil {
			return err
		}
		return adopt(e, r.Body, doc, checks)
	}
	doc, err := web.MergePatch(r.Body, c.Merge)
	if err != nil {
		return err
	}
	return adopt(e, r.Body, doc, checks)
}

// editable reports whether clients decide a member of a record.
func editable(name string) bool {
	switch name {
	case "type", "controller", "controllers", "properties", "services", "linkedResources", "linkedEntities", "accordedRights", "accounts",
		"alsoKnownAs", "externalIds", "startDate", "endDate", "metadata":
		return true
	}
	return false
}

// adopt takes over what clients decide from a changed document. Anything else
// must be unchanged from the stored one.
func adopt(e *Entity, stored, changed []byte, checks *fault.Checks) error {
	if jsontext.Value(changed).Kind() != '{' {
		return relationship.Invalid("", "wrong_type", "The record must stay an object.")
	}
	wrong := compare(stored, changed)
	var n Entity
	err := web.DecodeStrict(changed, &n, false)
	if err != nil && !web.IsMisfit(err) {
		return err
	}
	twin.CheckControllers(checks, n.Controller, n.Controllers)
	first, all := e.Controller, e.Controllers
	switch {
	case !slices.Equal(n.Controllers, all) && n.Controller == first:
		first, all = "", n.Controllers
	case !slices.Equal(n.Controllers, all):
		first, all = n.Controller, n.Controllers
	case n.Controller != first:
		first, all = n.Controller, all[1:] // the new one replaces the old
	}
	n.Into(e)
	if all = append([]string{first}, all...); err == nil || strings.Join(all, "") != "" {
		e.SetControllers(all...)
	}
	return check.Together(wrong, err)
}

// compare names every member that differs between two documents although
// clients do not decide it.
func compare(stored, changed []byte) error {
	return check.Unchanged(check.Edited{Stored: stored, Changed: changed, Free: editable, Known: atTimes})
}

// atTimes reports whether a member is one that only some records have and that
// clients do not decide.
func atTimes(name string) bool {
	return name == "project" || name == "moreRelationships" || name == "moreCredentials" || name == "statedBy"
}

// replace replaces what a record says with a draft. Relationships have routes
// of their own: a draft may repeat them.
func replace(d *Draft, e *Entity, checks *fault.Checks) error {
	d.SplitVersion()
	var c fault.Checks
	readOnly := func(pointer, given, stored string) {
		if given != "" && given != stored {
			c.Add(pointer, "read_only", "This member cannot be changed here.")
		}
	}
	readOnly("/did", d.DID, e.DID)
	readOnly("/protocol", d.Protocol, e.Protocol)
	readOnly("/protocolVersion", d.ProtocolVersion, e.ProtocolVersion)
	c.Require(d.Protocol != "", "/protocol")
	for i, r := range d.Relationships {
		if !slices.ContainsFunc(e.Relationships, func(o Relationship) bool { return o.Role == r.Role && o.Target == r.Target }) {
			c.Add(fmt.Sprintf("/relationships/%d", i), "read_only", "Relationships are added and removed at links.relationships.")
		}
	}
	if len(d.Groups) > 0 {
		c.Add("/groups", "read_only", "Groups are made with their organisation, or by themselves.")
	}
	twin.CheckControllers(checks, d.Controller, d.Controllers)
	d.Into(e)
	if d.Controller != "" || len(d.Controllers) > 0 {
		e.SetControllers(append([]string{d.Controller}, d.Controllers...)...)
	}
	return c.Err("READ_ONLY_MEMBER", "A member of the record cannot be changed here.")
}
