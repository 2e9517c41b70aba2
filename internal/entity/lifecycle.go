package entity

import (
	"context"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Transition is a step in the life of a twin.
type Transition struct {
	To     Status `json:"to" enum:"active,suspended,completed,deactivated" example:"suspended"`
	Reason string `json:"reason,omitzero" doc:"Why, for the history; one line of at most 1,000 characters."`
}

// TransitionTx takes a twin to another status: draft → active → suspended →
// active, active → completed, any → deactivated. ifMatch "" does not look at
// the revision. Faults: ENTITY_NOT_FOUND, STALE_REVISION, NOT_CONTROLLER,
// STATE_TRANSITION_INVALID, MISSING_RELATIONSHIPS, CLAIM_NOT_VERIFIED,
// CLAIM_ALREADY_CREDENTIAL, ORGANISATION_REQUIRES_GROUP, ACTIVE_DEPENDANTS, and
// of groups that would give something again SCOPE_MISSING and KEY_RESTRICTED.
func (s *Service) TransitionTx(ctx context.Context, tx *db.Tx, id, ifMatch string, t Transition) (*Row, error) {
	var c fault.Checks
	if t.To.Code() < 0 {
		c.Add("/to", "not_allowed", "The value must be active, suspended, completed or deactivated.")
	}
	check.Optional(&c, "/reason", t.Reason, check.MaxReason)
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return nil, err
	}
	if err := s.lockAround(ctx, tx, id, t.To); err != nil {
		return nil, err
	}
	r, err := s.FindForUpdate(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(ifMatch) != "" {
		if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
			return nil, err
		}
	}
	if err := s.MayUpdate(ctx, tx, r); err != nil {
		return nil, err
	}
	if err := r.Status.Check(t.To); err != nil {
		return nil, err
	}
	if t.To == StatusDeactivated && r.DID == s.relayer {
		return nil, fault.New(fault.Conflict, "ORACLE_REQUIRED", "This is the twin of the server's own oracle. It lives as long as the server has this DID.")
	}
	if t.To == StatusDeactivated {
		err = s.MayEnd(ctx, tx, r)
	} else {
		err = checkLeaving(ctx, tx, r, t.To)
	}
	if err != nil {
		return nil, err
	}
	act := Action{Name: "transition", Reason: t.Reason, Event: "entity.status_changed", Data: map[string]any{"from": r.Status, "to": t.To}}
	if t.To == StatusDeactivated {
		act.Name, act.Event = "deactivate", "entity.deactivated"
	}
	return s.Mutate(ctx, tx, r, act, func(e *Entity) error {
		if t.To == StatusActive {
			if err := s.checkComplete(ctx, tx, r, e); err != nil {
				return err
			}
		}
		e.Status = t.To
		if t.To == StatusActive { // a group gives its scopes from here on
			return checkGiving(ctx, tx, r, e)
		}
		return nil
	})
}

// checkGiving is checkGrant for a twin that becomes active: the active groups
// inside an organisation or a group give their scopes again with it.
func checkGiving(ctx context.Context, tx *db.Tx, r *Row, e *Entity) error {
	if r.DomainType != "organisation" && r.DomainType != "group" {
		return nil
	}
	if err := checkGrant(ctx, e, nil); err != nil {
		return err
	}
	const page = 100
	for after := int64(0); ; {
		edges, err := relationship.Out.List(ctx, tx, r.NID, after, page)
		if err != nil {
			return err
		}
		for i := range edges {
			after = edges[i].NID
			if edges[i].Role != relationship.Contains || edges[i].Dst == 0 {
				continue
			}
			g, err := findByNID(ctx, tx, r.Workspace, edges[i].Dst)
			if err != nil {
				return err
			}
			if g.DomainType != "group" || g.Status != StatusActive {
				continue
			}
			inner, err := g.Entity()
			if err != nil {
				return err
			}
			if err := checkGiving(ctx, tx, g, inner); err != nil {
				return err
			}
		}
		if len(edges) < page {
			return nil
		}
	}
}

// Transition is TransitionTx in a transaction of its own.
func (s *Service) Transition(ctx context.Context, id, ifMatch string, t Transition) (web.Reply[*Entity], error) {
	if t.To == StatusDeactivated {
		if err := s.refuseEarly(ctx, id, ifMatch); err != nil {
			return web.Reply[*Entity]{}, err
		}
	} else if err := s.warm(ctx, id); err != nil {
		return web.Reply[*Entity]{}, err
	}
	return s.once(ctx, func(tx *db.Tx) (*Row, error) { return s.TransitionTx(ctx, tx, id, ifMatch, t) })
}

// refuseEarly looks for dependants before the transaction does: a refusal,
// which clients can trigger again and again, must not make the writer read all
// relationships of a large project. Success is final and happens once.
func (s *Service) refuseEarly(ctx context.Context, id, ifMatch string) error {
	r, err := s.Find(ctx, s.db, id)
	if err != nil || r.Status == StatusDeactivated || strings.TrimSpace(ifMatch) != "" && web.CheckMatch(ifMatch, r.Revision) != nil {
		return nil // the transaction reports it
	}
	if s.MayUpdate(ctx, s.db, r) != nil {
		return nil
	}
	return s.checkEnding(ctx, s.db, r)
}

// lockAround locks, on PostgreSQL and before the twin itself, the twins that a
// step in its life depends on.
func (s *Service) lockAround(ctx context.Context, tx *db.Tx, id string, to Status) error {
	if tx.Dialect() != db.Postgres {
		return nil
	}
	e, err := visibleEnd(ctx, tx, id)
	if err != nil || e == nil {
		return err
	}
	switch {
	case e.DomainType == verdict.Credential: // and all that show it
		err = s.proofs(ctx).LockHolders(ctx, tx, e.NID)
	case to == StatusActive:
		_, err = s.hasParent(ctx, tx, e.NID, e.DomainType)
	case e.DomainType == "group":
		err = lockGroup(ctx, tx, e)
	case to == StatusDeactivated && (e.DomainType == "organisation" || e.DomainType == "project"):
		err = s.events.TakeTurn(ctx, tx, web.CallerFrom(ctx).Workspace)
	}
	return err
}

// lockGroup locks the organisation of a group that may stop being active, and
// then the group, so that the last two groups cannot end at once.
func lockGroup(ctx context.Context, tx *db.Tx, group *relationship.End) error {
	locked := []*relationship.End{group}
	org, err := organisationOf(ctx, tx, web.CallerFrom(ctx).Workspace, group.NID)
	if err != nil {
		return err
	}
	if org != nil {
		org.Crowded = false
		locked = append(locked, org)
	}
	group.Crowded = false
	return lock(ctx, tx, locked...)
}

// organisationOf finds the organisation that contains a group; nil when none
// does.
func organisationOf(ctx context.Context, tx *db.Tx, ws string, group int64) (*relationship.End, error) {
	parents, err := relationship.Parents(ctx, tx, group, relationship.Contains, 1)
	if err != nil || len(parents) == 0 {
		return nil, err
	}
	e, err := relationship.EndByNID(ctx, tx, ws, parents[0])
	if err != nil || e == nil || e.DomainType != "organisation" {
		return nil, err
	}
	return e, nil
}

// checkLeaving keeps the last active group of an organisation active.
func checkLeaving(ctx context.Context, tx *db.Tx, r *Row, to Status) error {
	if r.DomainType != "group" || r.Status != StatusActive || to == StatusActive {
		return nil
	}
	org, err := organisationOf(ctx, tx, r.Workspace, r.NID)
	if err != nil || org == nil {
		return err
	}
	return checkLastGroup(ctx, tx, org, r.NID)
}

// Transfer is the type of package api.
type Transfer = api.Transfer

// TransferTx gives a twin another controller and owner, whoever controls it
// now. This is how lost control is restored, and the route asks for a separate
// scope. Faults: ENTITY_NOT_FOUND, ENTITY_INVALID, STALE_REVISION,
// ENTITY_DEACTIVATED.
func (s *Service) TransferTx(ctx context.Context, tx *db.Tx, id, ifMatch string, t Transfer) (*Row, error) {
	var c fault.Checks
	if t.Controller == "" {
		c.Require(false, "/controller")
	} else {
		check.DID(&c, "/controller", t.Controller)
	}
	if t.Owner == "" {
		t.Owner = t.Controller
	} else {
		check.DID(&c, "/owner", t.Owner)
	}
	check.Optional(&c, "/reason", t.Reason, check.MaxReason)
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return nil, err
	}
	r, err := s.inUse(ctx, tx, id, ifMatch)
	if err != nil {
		return nil, err
	}
	act := Action{
		Name: "transfer", Reason: t.Reason, Event: "entity.transferred",
		Data: map[string]any{"controller": t.Controller, "owner": t.Owner},
	}
	return s.Mutate(ctx, tx, r, act, func(e *Entity) error {
		e.SetControllers(t.Controller)
		e.Owner = t.Owner
		return nil
	})
}

// Transfer is TransferTx in a transaction of its own.
func (s *Service) Transfer(ctx context.Context, id, ifMatch string, t Transfer) (web.Reply[*Entity], error) {
	return s.once(ctx, func(tx *db.Tx) (*Row, error) { return s.TransferTx(ctx, tx, id, ifMatch, t) })
}

// inUse reads a twin that is about to change and is not deactivated. With
// ifMatch "" any revision will do.
func (s *Service) inUse(ctx context.Context, tx *db.Tx, id, ifMatch string) (*Row, error) {
	r, err := s.FindForUpdate(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(ifMatch) != "" {
		if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
			return nil, err
		}
	}
	if r.Status == StatusDeactivated {
		return nil, deactivated()
	}
	return r, nil
}
