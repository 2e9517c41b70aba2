package auth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Create makes a key in the caller's workspace. The caller cannot grant more than
// it has: not scopes (SCOPE_MISSING), nor a wider project or network restriction
// or a later expiry than its own key's (RESTRICTION_EXCEEDED); members missing in
// the draft are taken from the caller's key. Making a key for a principal other
// than oneself or a new one takes an owner. A member key gives nothing in itself;
// asMember says who makes one. A key made with rights of groups depends on them
// for as long as it lives; see bind.
func (s *Service) Create(ctx context.Context, d Draft) (Issued, error) {
	step, err := s.creation(ctx, d)
	if err != nil {
		return Issued{}, err
	}
	return inTx(ctx, s.db, step)
}

// creation checks a draft and returns the step that stores its key.
func (s *Service) creation(ctx context.Context, d Draft) (func(*db.Tx) (Issued, error), error) {
	now, c := s.moment(), web.CallerFrom(ctx)
	if err := d.Validate(now); err != nil {
		return nil, err
	}
	if d.Role != member {
		if err := CheckGrant(c, "/scopes", d.scopes()); err != nil {
			return nil, err
		}
	}
	p, err := principalFor(c, d, now)
	if err != nil {
		return nil, err
	}
	k := Key{
		Workspace: c.Workspace, Principal: p.DID.String(), Name: d.Name, Scopes: d.scopes(), Projects: tidy(d.Projects),
		Networks: tidyNetworks(d.Networks), CreatedBy: c.DID, ExpiresAt: d.ExpiresAt.UTC().Truncate(time.Millisecond),
	}
	if err := bind(&k, c.Through); err != nil {
		return nil, err
	}
	text := newText()
	s.stampKey(&k, text, now)
	return func(tx *db.Tx) (Issued, error) {
		k := k // a second run must not see what the first one has filled in
		if err := s.restrict(ctx, tx, c, &k); err != nil {
			return Issued{}, err
		}
		if d.Role == member && d.Principal != "" {
			if err := asMember(ctx, tx, c, d.Principal); err != nil {
				return Issued{}, err
			}
		}
		if err := insertPrincipal(ctx, tx, p); err != nil {
			return Issued{}, err
		}
		return s.issue(ctx, tx, k, text)
	}, nil
}

// stampKey fills in what every new key has.
func (s *Service) stampKey(k *Key, text string, now time.Time) {
	k.ID, k.Prefix, k.hash = "key_"+s.cfg.NewID(), publicPrefix(text), digest(text)
	k.CreatedAt, k.Revision = now, 1
}

// issue stores a new key and its event.
func (s *Service) issue(ctx context.Context, tx *db.Tx, k Key, text string) (Issued, error) {
	if err := insertKey(ctx, tx, &k); err != nil {
		return Issued{}, err
	}
	if err := s.record(ctx, tx, "key.created", k.ID, k.Revision); err != nil {
		return Issued{}, err
	}
	return Issued{Key: *k.at(k.CreatedAt), Text: text}, nil
}

// principalFor decides whom a new key speaks for.
func principalFor(c web.Caller, d Draft, now time.Time) (Principal, error) {
	p := Principal{DID: did.DID(d.Principal), Workspace: c.Workspace, Kind: ExternalPrincipal, Name: d.Name, CreatedAt: now}
	switch {
	case d.Principal == "":
		p.DID, p.Kind = did.NewEntity(), ServicePrincipal
	case d.Principal != c.DID && !grants(c, all):
		return Principal{}, fault.New(fault.Forbidden, codeScope, "Only an owner can make keys for somebody else.").
			With(fault.Field{Pointer: "/principal", Code: "scope_missing", Detail: "To name another principal you need the scope *."})
	}
	return p, nil
}

// restrict holds a new key inside the restrictions of the key that makes it.
func (s *Service) restrict(ctx context.Context, q db.Querier, c web.Caller, k *Key) error {
	maker := &Key{Projects: c.Projects}
	if c.Key != "" {
		var err error
		if maker, err = findKey(ctx, q, c.Workspace, c.Key); err != nil {
			return err
		}
		if st := maker.at(s.now()).Status; st == Revoked || st == Expired {
			return keyInvalid() // since the gate let the request in
		}
	}
	return inherit(maker, k)
}

// inherit gives k the restrictions of its maker where it has none, and
// refuses wider ones.
func inherit(maker, k *Key) error {
	var c fault.Checks
	if len(k.Projects) == 0 {
		k.Projects = maker.Projects
	}
	if len(maker.Projects) > 0 && slices.ContainsFunc(k.Projects, func(p string) bool { return !slices.Contains(maker.Projects, p) }) {
		c.Add("/projects", "too_wide", "Your own key is restricted to other projects.")
	}
	if len(k.Networks) == 0 {
		k.Networks = maker.Networks
	}
	if len(maker.Networks) > 0 && !within(parsed(k.Networks), parsed(maker.Networks)) {
		c.Add("/networks", "too_wide", "Your own key is restricted to other networks.")
	}
	if k.ExpiresAt.IsZero() {
		k.ExpiresAt = maker.until()
	}
	if u := maker.until(); !u.IsZero() && k.ExpiresAt.After(u) {
		c.Add("/expiresAt", "too_late", "Your own key expires earlier.")
	}
	if f := fault.As(c.Err("RESTRICTION_EXCEEDED", "You cannot make a key that is less restricted than your own.")); f != nil {
		f.Kind = fault.Forbidden
		return f
	}
	return nil
}

// Get finds a key of the caller's workspace. For one that the caller does not
// see the fault is the same as for one that never existed: KEY_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (*Key, error) {
	c := web.CallerFrom(ctx)
	k, err := findKey(ctx, s.db, c.Workspace, id)
	if err != nil {
		return nil, err
	}
	if !k.seenBy(c) {
		return nil, keyNotFound()
	}
	return k.at(s.now()), nil
}

// seenBy reports whether a key exists for a caller of its workspace. Limited to
// projects, the caller sees its own key and those within its projects: the
// others name people it may know nothing of.
func (k *Key) seenBy(c web.Caller) bool {
	if len(c.Projects) == 0 || k.ID == c.Key {
		return true
	}
	outside := func(p string) bool { return !slices.Contains(c.Projects, p) }
	return len(k.Projects) > 0 && !slices.ContainsFunc(k.Projects, outside)
}

// Current is the key the caller uses; KEY_NOT_FOUND when it uses none.
func (s *Service) Current(ctx context.Context) (*Key, error) {
	return s.Get(ctx, web.CallerFrom(ctx).Key)
}

// scan returns at most limit keys of the caller's workspace, the oldest first,
// after the one with id after, including those the caller does not see. more
// reports whether the list continues.
func (s *Service) scan(ctx context.Context, after string, limit int) (keys []Key, more bool, err error) {
	keys, err = listKeys(ctx, s.db, web.CallerFrom(ctx).Workspace, after, limit+1)
	if err != nil {
		return nil, false, err
	}
	now := s.now()
	for i := range keys {
		keys[i].at(now)
	}
	if more = len(keys) > limit; more {
		keys = keys[:limit]
	}
	return keys, more, nil
}

// keysScanned is how many keys a page of some of them looks at, at most.
const keysScanned = 1000

// List returns at most limit keys of the caller's workspace that it sees, the
// oldest first, after the one with id last: those with one status, "" for all.
// next is where the list continues, nil at its end; a page of one status, or for
// a caller limited to projects, may be short before that. The fault is
// INVALID_PARAMETER for an unknown status.
func (s *Service) List(ctx context.Context, status Status, last string, limit int) (keys []Key, next any, err error) {
	switch status {
	case "", Active, Rotated, Expired, Revoked:
	default:
		return nil, nil, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/status", Code: "invalid", Detail: "The value must be active, rotated, expired or revoked."})
	}
	c := web.CallerFrom(ctx)
	if status == "" && len(c.Projects) == 0 {
		list, more, err := s.scan(ctx, last, limit)
		return list, after(list, more, func(k Key) string { return k.ID }), err
	}
	list, more, err := s.scan(ctx, last, keysScanned)
	if err != nil {
		return nil, nil, err
	}
	for i, k := range list {
		if k.seenBy(c) && (status == "" || k.Status == status) {
			keys = append(keys, k)
		}
		if last := i == len(list)-1; len(keys) == limit && !last || last && more {
			return keys, k.ID, nil
		}
	}
	return keys, nil, nil
}

// Rotate replaces a key by a new one with the same rights, which depends on the
// groups of the old one and on those of the caller. The old one works until the
// grace period ends. The caller learns the successor, and so needs all the
// scopes of the key. A key that no longer works or has been replaced cannot be
// rotated: KEY_NOT_ACTIVE. A successor inherits the expiry and the limits of the
// key that makes it, so a key that has any cannot rotate the last owner key:
// LAST_OWNER.
func (s *Service) Rotate(ctx context.Context, id string, r Rotation) (Issued, error) {
	step, err := s.rotation(ctx, id, r)
	if err != nil {
		return Issued{}, err
	}
	return inTx(ctx, s.db, step)
}

// rotation checks a request and returns the step that carries it out.
func (s *Service) rotation(ctx context.Context, id string, r Rotation) (func(*db.Tx) (Issued, error), error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	now, c, text := s.moment(), web.CallerFrom(ctx), newText()
	var fresh Key
	s.stampKey(&fresh, text, now)
	return func(tx *db.Tx) (Issued, error) {
		if err := lockKeys(ctx, tx, c.Workspace); err != nil {
			return Issued{}, err
		}
		old, err := s.lockSuccessor(ctx, tx, c, id)
		if err != nil {
			return Issued{}, err
		}
		if old.at(now).Status != Active {
			return Issued{}, fault.New(fault.Conflict, "KEY_NOT_ACTIVE", "Only a key that works and was not replaced can be rotated.")
		}
		k := fresh
		k.Workspace, k.Principal, k.Name, k.Scopes = old.Workspace, old.Principal, old.Name, old.Scopes
		k.Projects, k.Networks, k.ExpiresAt = old.Projects, old.Networks, old.ExpiresAt
		k.CreatedBy, k.Replaces = c.DID, old.ID
		if err := bind(&k, slices.Concat(old.BoundTo, c.Through)); err != nil {
			return Issued{}, err
		}
		if c.Key != old.ID {
			// A short-lived key cannot live on in one it rotates.
			if err := s.restrict(ctx, tx, c, &k); err != nil {
				return Issued{}, err
			}
		}
		if !k.lasting() {
			if err := leaveOwner(ctx, tx, old); err != nil {
				return Issued{}, err
			}
		}
		old.ReplacedBy, old.Revision = k.ID, old.Revision+1
		if g := r.grace(); g > 0 {
			old.GraceUntil = now.Add(g)
		} else {
			old.RevokedAt = now
		}
		if err := s.Invites().changeKey(ctx, tx, old); err != nil {
			return Issued{}, err
		}
		if err := s.record(ctx, tx, "key.rotated", old.ID, old.Revision); err != nil {
			return Issued{}, err
		}
		return s.issue(ctx, tx, k, text)
	}, nil
}

// lockOwned locks a key the caller may decide about: its own, or one with no more
// rights than the caller's. Faults: KEY_NOT_FOUND also for one the caller does not
// see, SCOPE_MISSING, RESTRICTION_EXCEEDED.
func (s *Service) lockOwned(ctx context.Context, tx *db.Tx, c web.Caller, id string) (*Key, error) {
	k, err := lockKey(ctx, tx, c.Workspace, id)
	if err != nil {
		return nil, err
	}
	if !k.seenBy(c) {
		return nil, keyNotFound()
	}
	if err := s.decides(ctx, tx, c, k, "path/id"); err != nil {
		return nil, err
	}
	return k, nil
}

// decides reports whether the caller may decide about a key. A fault names the
// scopes it lacks under pointer.
func (s *Service) decides(ctx context.Context, q db.Querier, c web.Caller, k *Key, pointer string) error {
	if k.ID == c.Key {
		return nil
	}
	// The scopes it can get, not those left now: a key whose groups are
	// suspended gets them back.
	scopes := k.Scopes
	if k.byGroups() {
		var err error
		if scopes, err = s.cfg.Given(ctx, q, web.Caller{Workspace: k.Workspace, DID: k.Principal}); err != nil {
			return fmt.Errorf("find scopes of groups: %w", err)
		}
	}
	if err := CheckGrant(c, pointer, scopes); err != nil {
		return err
	}
	narrowed := *k
	narrowed.ExpiresAt = time.Time{} // how long it lives does not matter here
	if err := s.restrict(ctx, q, c, &narrowed); err != nil {
		return err
	}
	if len(narrowed.Projects) != len(k.Projects) || len(narrowed.Networks) != len(k.Networks) {
		return fault.New(fault.Forbidden, "RESTRICTION_EXCEEDED", "This key is less restricted than your own.")
	}
	return nil
}

// lockSuccessor is lockOwned for a caller who will learn the text of the key's
// successor, and can then speak as its principal for as long as it lives. That
// takes being that principal or an owner, unless only keys speak for the
// principal, none of which came by invitation or has had a conversation, which
// nobody else may read.
func (s *Service) lockSuccessor(ctx context.Context, tx *db.Tx, c web.Caller, id string) (*Key, error) {
	k, err := s.lockOwned(ctx, tx, c, id)
	if err != nil || k.ID == c.Key {
		return k, err
	}
	if k.byGroups() {
		return k, asMember(ctx, tx, c, k.Principal)
	}
	if k.Principal != c.DID && !grants(c, all) {
		kind, err := findKind(ctx, tx, k.Workspace, k.Principal)
		if err != nil {
			return nil, err
		}
		talks, err := s.cfg.Talks(ctx, tx, k.Workspace, k.Principal)
		if err != nil {
			return nil, err
		}
		if kind != ServicePrincipal || talks {
			return nil, fault.New(fault.Forbidden, codeScope, "Only an owner can rotate a key that speaks for somebody else.")
		}
	}
	return k, nil
}

// Revoke ends a key at once, in every process. Revoking it again changes
// nothing. ifMatch, when given, must name the current revision. The last owner
// key of a workspace stays: LAST_OWNER.
func (s *Service) Revoke(ctx context.Context, id, ifMatch string) (*Key, error) {
	return s.revoke(ctx, id, ifMatch, leaveOwner)
}

// RevokeAny is Revoke for the operator of the machine: it ends the last owner
// key too.
func (s *Service) RevokeAny(ctx context.Context, id string) (*Key, error) {
	return s.revoke(ctx, id, "", func(context.Context, db.Querier, *Key) error { return nil })
}

// revoke ends a key that may says can go.
func (s *Service) revoke(ctx context.Context, id, ifMatch string, may func(context.Context, db.Querier, *Key) error) (*Key, error) {
	now, c := s.moment(), web.CallerFrom(ctx)
	return inTx(ctx, s.db, func(tx *db.Tx) (*Key, error) {
		if err := lockKeys(ctx, tx, c.Workspace); err != nil {
			return nil, err
		}
		k, err := s.lockOwned(ctx, tx, c, id)
		if err != nil {
			return nil, err
		}
		if !k.RevokedAt.IsZero() {
			return k.at(now), nil // final, so no If-Match can be too old
		}
		if ifMatch != "" {
			if err := web.CheckMatch(ifMatch, k.Revision); err != nil {
				return nil, err
			}
		}
		if err := may(ctx, tx, k); err != nil {
			return nil, err
		}
		k.RevokedAt, k.Revision = now, k.Revision+1
		if err := s.Invites().changeKey(ctx, tx, k); err != nil {
			return nil, err
		}
		return k.at(now), s.record(ctx, tx, "key.revoked", k.ID, k.Revision)
	})
}
