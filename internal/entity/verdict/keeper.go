package verdict

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// Keeper updates the records that show credentials, in its callers'
// transactions.
type Keeper struct {
	// Lock keeps others from changing twins until tx ends.
	Lock func(ctx context.Context, tx *db.Tx, ends ...*relationship.End) error
	// Read reads a twin.
	Read func(ctx context.Context, tx *db.Tx, nid int64) (*twin.Entity, error)
	// Show makes a new revision of a twin, unless change alters nothing.
	Show func(ctx context.Context, tx *db.Tx, nid int64, c twin.Credential, change func(*twin.Entity) bool) error
	// Later continues in a transaction of its own.
	Later func(ctx context.Context, tx *db.Tx, credential string, from Place) error
}

// Renew updates a credential wherever it is shown, starting at a place: some
// records now, the others later.
func (k Keeper) Renew(ctx context.Context, tx *db.Tx, credential int64, from Place) error {
	e, err := k.Read(ctx, tx, credential)
	if err != nil {
		return err
	}
	return k.renew(ctx, tx, shown{credential, Item(e)}, from)
}

// shown is a credential: its number, and how others show it.
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

// renewAt updates a credential in some records.
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

// LockHolders locks a credential and the twins that show it, in a fixed order.
func (k Keeper) LockHolders(ctx context.Context, tx *db.Tx, credential int64) error {
	nids, _, err := holders(ctx, tx, credential, Place{}, together)
	if err != nil {
		return err
	}
	return k.lockAll(ctx, tx, append(nids, credential)...)
}

// Follow updates the twins that show credentials after a relationship was added
// or removed: between a claim and its credential, or its producer.
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

// became updates a credential at its claim, unless that shows it already, and at
// the claim's producers.
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
