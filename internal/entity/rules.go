package entity

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// withRest adds to the fault of a draft everything else that is wrong with it:
// in the draft alone, by its protocol, if there is one, and by the ends of its
// relationships. So one answer names all mistakes.
func (cr *creator) withRest(ctx context.Context, d Draft, err error) error {
	err = check.Together(err, d.Validate())
	d.SplitVersion()
	p, missing := cr.protocols.Find(ctx, web.CallerFrom(ctx).Workspace, d.Protocol, d.ProtocolVersion)
	if missing != nil || len(d.Relationships) > twin.MaxRelations {
		return err
	}
	_, broken := relationship.Fit(p, d.Entity())
	row := Row{DID: d.DID, Class: p.Class(), DomainType: p.DomainType()}
	return cr.withRelations(ctx, cr.db, &Prepared{row: row, protocol: p, relations: d.Relationships}, check.Together(err, broken))
}

// withRelations adds to the fault of a new twin what is wrong with its
// relationships, as far as their ends show it.
func (cr *creator) withRelations(ctx context.Context, q db.Querier, p *Prepared, err error) error {
	for i, d := range p.relations {
		at := fmt.Sprintf("/relationships/%d", i)
		other, lost := visibleEnd(ctx, q, d.Target)
		if lost != nil {
			return lost
		}
		pl, wrong := cr.drawer(ctx).Draw(p.end(), other, p.protocol, d, at)
		if wrong == nil {
			wrong = cr.drawer(ctx).CheckClass(ctx, web.CallerFrom(ctx).Workspace, pl, at)
		}
		err = check.Together(err, wrong)
	}
	return err
}

// checkFree refuses a chosen DID that belongs to a protocol, or to a principal
// for whom the caller may not make a twin. Protocols do the same with the DIDs
// of twins.
func (cr *creator) checkFree(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	ws := web.CallerFrom(ctx).Workspace
	if held, err := cr.protocols.Holds(ctx, ws, id); err != nil || held {
		return cmp.Or(err, taken())
	}
	if cr.speakers != nil {
		if may, err := cr.speakers.MayName(ctx, cr.db, ws, id); err != nil || !may {
			return cmp.Or(err, taken())
		}
	}
	return cr.warmAwaited(ctx, id, relationship.Page{Limit: maxJoined})
}

func deactivated() error {
	return fault.New(fault.Conflict, "ENTITY_DEACTIVATED", "The entity is deactivated and cannot be changed.")
}

// drawer makes the Drawer of relationships for the caller.
func (rl *relations) drawer(ctx context.Context) relationship.Drawer {
	return relationship.Drawer{Strict: rl.strict, Confirms: mayConfirm(ctx), Protocols: rl.protocols}
}
