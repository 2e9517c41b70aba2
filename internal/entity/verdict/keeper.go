package verdict

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// Keeper renews the records that show credentials, in a transaction of others.
type Keeper struct {
	// Lock keeps others from changing twins until tx ends.
	Lock func(ctx context.Context, tx *db.Tx, ends ...*relationship.End) error
	// Read reads a twin.
	Read func(ctx context.Context, tx *db.Tx, nid int64) (*twin.Entity, error)
	// Show makes a new revision of a twin, unless change leaves it as it is.
	Show func(ctx context.Context, tx *db.Tx, nid int64, c twin.Credential, change func(*twin.Entity) bool) error
	// Later goes on in a transaction of its own.
	Later func(ctx context.Context, tx *db.Tx, credential string, from Place) error
}

// Renew renews a credential wherever it is shown, from a place on: some records
// now, the others later.
func (k Keeper) Renew(ctx context.Context, tx *db.Tx, credential int64, from Place) error {
	e, err := k.Read(ctx, tx, credential)
	if err != nil {
		return err
	}
	return k.renew(ctx, tx, shown{credential, Item(e)}, from)
}

// shown is a credential by its number, and as others show it.
type shown struct {
	nid  int64
	item twin.Credential
}

func (k Keeper) renew(ctx context.Context, tx *db.Tx, c shown, from Place) error {
	nids, next, err := holders(ctx, tx, c.nid, from, together)
	if err != nil {
		return err
	}
	if err := k.renewAt(ctx, tx, c, nids...); err != nil || next == (Place{}) {
		return err
	}
	return k.Later(ctx, tx, c.item.ID, next)
}

// renewAt renews a credential in some records.
func (k Keeper) renewAt(ctx context.Context, tx *db.Tx, c shown, nids ...int64) error {
	if err := k.lockAll(ctx, tx, nids...); err != nil {
		return err
	}
	for _, nid := range nids {
		held, err := holds(ctx, tx, nid, c.nid)
		if err != nil {
			return err
		}
		if err := k.Show(ctx, tx, nid, c.item, func(e *twin.Entity) bool { return Show(e, c.item, held) }); err != nil {
			return err
		}
	}
	return nil
}

// lockAll is Lock by number.
func (k Keeper) lockAll(ctx context.Context, tx *db.Tx, nids ...int64) error {
	ends := make([]*relationship.End, len(nids))
	for i, nid := range nids {
		ends[i] = &relationship.End{NID: nid}
	}
	return k.Lock(ctx, tx, ends...)
}

// LockHolders locks a credential and those that show it, in one order.
func (k Keeper) LockHolders(ctx context.Context, tx *db.Tx, credential int64) error {
	nids, _, err := holders(ctx, tx, credential, Place{}, together)
	if err != nil {
		return err
	}
	return k.lockAll(ctx, tx, append(nids, credential)...)
}

// Follow renews what shows credentials after a relationship has come or gone:
// what a claim became, or what produces it.
func (k Keeper) Follow(ctx context.Context, tx *db.Tx, p *relationship.Relationship) error {
	from, to := p.Ends()
	switch {
	case !p.Row.Mirror:
		return nil
	case p.Row.Role == relationship.Becomes:
		e, err := k.Read(ctx, tx, to.NID)
		if err != nil {
			return err
		}
		return k.became(ctx, tx, p, shown{to.NID, Item(e)})
	case p.Row.Role != relationship.Produces:
		return nil
	}
	credentials, err := credentialsOf(ctx, tx, to.NID, together)
	for _, nid := range credentials {
		if err := k.Lock(ctx, tx, &relationship.End{NID: nid, Shared: true}); err != nil {
			return err
		}
		e, err := k.Read(ctx, tx, nid)
		if err != nil {
			return err
		}
		if err := k.renewAt(ctx, tx, shown{nid, Item(e)}, from.NID); err != nil {
			return err
		}
	}
	return err
}

// became renews a credential at a claim, unless that shows it already, and at what
// produces the claim.
func (k Keeper) became(ctx context.Context, tx *db.Tx, p *relationship.Relationship, c shown) error {
	claim, _ := p.Ends()
	if !p.Certified {
		if err := k.renewAt(ctx, tx, c, claim.NID); err != nil {
			return err
		}
	}
	return k.renew(ctx, tx, c, above(claim.NID))
}

// FollowAll is Follow for the relationships of a new twin. It reports whether
// the twin itself may show credentials now.
func (k Keeper) FollowAll(ctx context.Context, tx *db.Tx, plans []*relationship.Relationship) (produces bool, err error) {
	for _, p := range plans {
		if p.Became != nil {
			err = k.became(ctx, tx, p, shown{p.Self.NID, *p.Became})
		} else {
			err = k.Follow(ctx, tx, p)
		}
		if err != nil {
			return false, err
		}
		produces = produces || p.Row.Role == relationship.Produces && !p.Back
	}
	return produces, nil
}
