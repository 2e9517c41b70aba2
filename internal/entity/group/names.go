package group

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxNames limits how many names of a caller are looked at. Having more gains
// nothing: then somebody else must decide.
const maxNames = 1000

// names is a set of DIDs in the order they were found.
type names struct{ list []string }

// add adds a DID and returns an error when there are too many.
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

// KnownAs lists the DIDs under which a caller may have acted before. own are the caller
// itself: the DID, all did:keys that are known to speak for it or once did, and the twins
// these speak for. A key written on a twin by a principal without the scope * is unproven
// until it signs, because anybody may have written it there. others are the principals
// for which the caller has made API keys, and those who made the caller's own, up to an
// owner, who makes everybody's keys. The fault is TOO_MANY_NAMES.
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

// JudgesAs is KnownAs for deciding about claims: owners do not decide about claims of
// keys they have made, because they may have kept a copy.
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

// made adds the principals for which others have made keys, and so on down.
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

// makers adds those who made the keys of a caller, and so on up, as far as an
// owner.
func (s *Speakers) makers(ctx context.Context, q db.Querier, c web.Caller, n *names) error {
	seen := []string{c.DID}
	byKey := c.Key != "" || c.Signer == "" // a caller without a signature acts by keys, if only through the server
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
