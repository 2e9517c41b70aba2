package group

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxNames is how many names of a caller are looked at. Nobody gets past it by
// having more: then somebody else must decide.
const maxNames = 1000

// names is a set of DIDs in the order they were found.
type names struct{ list []string }

// add adds a DID and reports whether there are not too many.
func (n *names) add(ids ...string) error {
	for _, id := range ids {
		if !slices.Contains(n.list, id) {
			n.list = append(n.list, id)
		}
	}
	if len(n.list) > maxNames {
		return fault.New(fault.Forbidden, "TOO_MANY_NAMES", "You have, or have made, too many keys for the server to check whether you did this yourself. Somebody else must decide about it.")
	}
	return nil
}

// KnownAs lists the DIDs as which a caller may have acted before. own are itself:
// the DID, all did:keys that are known to speak for it or once did, and the twins
// these speak for. A key that somebody without * wrote on a twin is not known to
// until it signs: anybody may have written it there. others are whom it has made API keys for, and those who made its own; not
// where an owner did, who makes the keys of everybody. The fault is
// TOO_MANY_NAMES.
func (s *Speakers) KnownAs(ctx context.Context, q db.Querier, c web.Caller) (own, others []string, err error) {
	self, around := &names{}, &names{}
	if err := self.close(ctx, q, c); err != nil {
		return nil, nil, err
	}
	if len(c.Through) > 0 || protect(c, []string{"*"}) != nil {
		if err := around.made(ctx, q, c.Workspace, self.list); err != nil {
			return nil, nil, err
		}
	}
	for _, speaker := range c.Through {
		if err := around.close(ctx, q, web.Speaking(c.Workspace, speaker)); err != nil {
			return nil, nil, err
		}
	}
	if err := s.makers(ctx, q, c, around); err != nil {
		return nil, nil, err
	}
	return self.list, around.list, nil
}

// JudgesAs is KnownAs for whoever decides about claims: an owner does not about those of
// keys the owner has made, who can have kept them.
func (s *Speakers) JudgesAs(ctx context.Context, q db.Querier, c web.Caller) (own, others []string, err error) {
	own, others, err = s.KnownAs(ctx, q, c)
	if err != nil {
		return nil, nil, err
	}
	around := &names{others}
	if err := around.made(ctx, q, c.Workspace, own); err != nil {
		return nil, nil, err
	}
	return own, around.list, nil
}

// close adds a caller with its did:keys and all twins these speak for.
func (n *names) close(ctx context.Context, q db.Querier, c web.Caller) error {
	from := len(n.list)
	err := n.add(c.DID)
	if err == nil && c.Signer != "" {
		err = n.add(c.Signer)
	}
	for i := from; err == nil && i < len(n.list); i++ {
		var ids []string
		if ids, err = listNames(ctx, q, c.Workspace, n.list[i], maxNames+1); err == nil {
			err = n.add(ids...)
		}
	}
	return err
}

// made adds whom somebody has made keys for, and whom these have.
func (n *names) made(ctx context.Context, q db.Querier, ws string, by []string) error {
	from := len(n.list)
	for _, maker := range by {
		ids, err := auth.MadeBy(ctx, q, ws, maker, maxNames+1)
		if err == nil {
			err = n.add(ids...)
		}
		if err != nil {
			return err
		}
	}
	for i := from; i < len(n.list); i++ {
		ids, err := auth.MadeBy(ctx, q, ws, n.list[i], maxNames+1)
		if err == nil {
			err = n.add(ids...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makers adds those who made the keys of a caller, and theirs, up to an owner.
func (s *Speakers) makers(ctx context.Context, q db.Querier, c web.Caller, n *names) error {
	seen := []string{c.DID}
	byKey := c.Key != "" || c.Signer == "" // who has signed nothing speaks by keys, if only through the server
	for i := 0; byKey && i < len(seen) && i < maxNames; i++ {
		makers, err := auth.MakersOf(ctx, q, c.Workspace, seen[i])
		if err != nil {
			return err
		}
		for _, id := range makers {
			rights, err := s.RightsOf(ctx, q, c.Workspace, id)
			if err != nil {
				return err
			}
			if slices.Contains(seen, id) || covers(c.Workspace, rights, []string{"*"}) {
				continue
			}
			seen = append(seen, id)
			if err := n.add(id); err != nil {
				return err
			}
		}
	}
	return nil
}
