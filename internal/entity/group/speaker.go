package group

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// A membership is given to keys. A twin lists the did:keys that speak for it,
// and the twin's controllers write that list; if the name alone counted, they
// could act as whoever the twin describes. So each key is stored with the
// rights of the principal who added it, and is worth no more than that: of what
// the groups of its DID give, a key has the part its voucher had.

// Speakers decides who may change which keys speak for a DID, and records the
// changes. It serves as entity.Config.Speakers.
type Speakers struct {
	// Held returns the scopes of the working API keys of a principal, and
	// reports whether there is one. auth.Service.HeldBy is one.
	Held Voice
	// Voices are the other ways, besides groups, in which a DID is a principal.
	Voices []Voice
	// Oracle is the DID of this server, whose twin belongs to its operators.
	Oracle string
	// Minted reports whether a DID was made for a principal, in any workspace.
	// auth.Service.Minted is one.
	Minted func(ctx context.Context, q db.Querier, id string) (bool, error)
	// RightsOf returns the scopes a principal has now. auth.Service.RightsOf is
	// one.
	RightsOf func(ctx context.Context, q db.Querier, ws, principal string) ([]string, error)
	// RightsChanged is called in the transaction in which keys are added or removed:
	// cached rights of API keys must be dropped then. auth.Service.RightsChanged is
	// one.
	RightsChanged func(tx *db.Tx)
	Now           func() time.Time
}

// Voice reports whether a DID acts here in one certain way, and which scopes
// are needed to decide about that. auth.Service.HeldBy is one.
type Voice func(ctx context.Context, q db.Querier, ws, id string) (scopes []string, principal bool, err error)

var _ entity.Speakers = (*Speakers)(nil)

// MayChange returns nil when the caller may change who speaks for a twin: the
// twin is not a principal, the caller is that principal by a key that is
// vouched for with all its groups give, or the caller has every scope of it.
// The fault is PRINCIPAL_PROTECTED; for the twin of the oracle SCOPE_MISSING.
func (s *Speakers) MayChange(ctx context.Context, q db.Querier, ws, id string) error {
	c := web.CallerFrom(ctx)
	if id == s.Oracle && ws == auth.OperatorWorkspace {
		return s.mayChangeOracle(c)
	}
	if c.SignsFor(id) {
		given, err := GivenTo(ctx, q, web.Caller{Workspace: ws, DID: id})
		if err != nil {
			return err
		}
		v, err := findVoucher(ctx, q, speaker{ws, id, c.Signer})
		if err != nil || c.Signer == id || v.covers(ws, given) {
			return err
		}
	}
	scopes, principal, err := s.has(ctx, q, ws, id)
	if err != nil {
		return err
	}
	for _, voice := range s.Voices {
		has, is, err := voice(ctx, q, ws, id)
		if err != nil {
			return err
		}
		if is {
			scopes, principal = append(scopes, has...), true
		}
	}
	if !principal {
		return nil
	}
	return protect(c, scopes)
}

// protect stops callers from deciding who speaks for a principal that has
// scopes they lack.
func protect(c web.Caller, scopes []string) error {
	if len(c.Projects) == 0 && auth.CheckGrant(c, "", auth.Effective(c.Workspace, scopes)) == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "PRINCIPAL_PROTECTED",
		"This DID has rights of its own. Only it can change its keys, controllers and owner, with a UCAN signed by one of its fully trusted keys; or a caller who has every scope it has.")
}

// has returns everything that a DID can do, or come to do, and whether it is a
// principal.
func (s *Speakers) has(ctx context.Context, q db.Querier, ws, id string) (scopes []string, principal bool, err error) {
	groups, err := listMemberships(ctx, q, ws, id)
	if err != nil {
		return nil, false, err
	}
	if scopes, principal, err = s.Held(ctx, q, ws, id); err != nil {
		return nil, false, err
	}
	for _, m := range groups {
		scopes, principal = append(scopes, m.Scopes...), true
	}
	return scopes, principal, nil
}

// MayName reports whether the caller may make a twin under a DID: the DID was not
// minted for a principal of any workspace, or the caller is that principal or an
// owner. In other workspaces a twin is a private record.
func (s *Speakers) MayName(ctx context.Context, q db.Querier, ws, id string) (bool, error) {
	c := web.CallerFrom(ctx)
	if _, form := did.DID(id).Minted(); !form || ws != auth.OperatorWorkspace || c.DID == id || protect(c, []string{"*"}) == nil {
		return true, nil
	}
	minted, err := s.Minted(ctx, q, id)
	return !minted, err
}

func (s *Speakers) mayChangeOracle(c web.Caller) error {
	if c.Workspace == auth.OperatorWorkspace && auth.May(c, "operations:write") {
		return nil
	}
	return fault.New(fault.Forbidden, "SCOPE_MISSING", "The keys, controllers and owner of this server's own oracle need the scope operations:write, which you do not have.")
}

// Changed records that did:keys were added to a twin and removed from it.
func (s *Speakers) Changed(ctx context.Context, tx *db.Tx, p entity.Speaking) error {
	s.RightsChanged(tx)
	if p.Erased {
		return dropKeys(ctx, tx, p.Workspace, p.DID)
	}
	for _, key := range p.Gone {
		if err := endKey(ctx, tx, speaker{p.Workspace, p.DID, key}); err != nil {
			return err
		}
	}
	if len(p.Came) > 0 {
		v, err := s.voucher(ctx, tx, p.Workspace, p.DID)
		if err != nil {
			return err
		}
		for _, key := range p.Came {
			if err := vouch(ctx, tx, speaker{p.Workspace, p.DID, key}, v); err != nil {
				return err
			}
		}
	}
	if !p.Left {
		return nil
	}
	return doubt(ctx, tx, p)
}

// doubt forgets who vouched for the keys of a twin that changes hands; otherwise
// its previous controller would go on to speak for it, and control what names it.
// Vouching by the DID itself stays, and by those who control it now, as
// themselves or through a group, and by those who could have taken it over.
func doubt(ctx context.Context, tx *db.Tx, p entity.Speaking) error {
	keys, vouchers, err := listSpeakers(ctx, tx, p.Workspace, p.DID)
	if err != nil {
		return err
	}
	for i, v := range vouchers {
		if !v.counts() || v.by == p.DID || v.covers(p.Workspace, []string{"entities:transfer"}) {
			continue
		}
		as, err := ControlsAs(ctx, tx, web.Caller{Workspace: p.Workspace, DID: v.by})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(append(as, v.by), func(id string) bool { return slices.Contains(p.Controllers, id) }) {
			continue
		}
		// The time distinguishes it from a key of unknown origin.
		if err := vouch(ctx, tx, speaker{p.Workspace, p.DID, keys[i]}, voucher{at: max(v.at, 1)}); err != nil {
			return err
		}
	}
	return nil
}

// voucher returns what the caller vouches with for keys of a DID. Keys that
// callers add to their own twin can do no more than the key they came with,
// however many they add, and all depend on the voucher of that key.
func (s *Speakers) voucher(ctx context.Context, q db.Querier, ws, id string) (voucher, error) {
	c := web.CallerFrom(ctx)
	v := voucher{by: cmp.Or(c.DID, "system"), at: s.Now().UnixMilli(), proven: !c.Later && protect(c, []string{"*"}) == nil}
	// A key limited to projects has no right in the whole workspace, and a caller
	// who has a file read later has not read it.
	if len(c.Projects) == 0 && !c.Later {
		v.scopes = c.Scopes
	}
	if c.DID != id {
		return v, nil
	}
	for _, key := range c.Signers() {
		known, err := findVoucher(ctx, q, speaker{ws, id, key})
		if err != nil {
			return v, err
		}
		if v.by = known.by; c.SignsFor(id) && !c.Later {
			v.scopes = known.scopes
		}
		if !known.counts() { // a new key is worth no more than each of them
			return voucher{at: known.at, refused: known.refused}, nil
		}
	}
	return v, nil
}

// keysOf lists the did:keys that speak for a member, as the group would admit
// them. A did:key is its own key. A twin's DID must have been generated here:
// one that a client chose may be somebody else's.
func (s *Service) keysOf(ctx context.Context, tx *db.Tx, member string, published []string) ([]string, error) {
	if own := ownKey(member); len(own) > 0 {
		return own, nil
	}
	r, err := s.cfg.Entities.FindForUpdate(web.WithCaller(ctx, web.Caller{Workspace: web.CallerFrom(ctx).Workspace}), tx, member)
	if fault.KindOf(err) == fault.NotFound {
		return published, nil
	} else if err != nil {
		return nil, err
	}
	made, err := s.cfg.Entities.Made(ctx, tx, r)
	if err != nil || !made {
		return nil, err
	}
	e, err := r.Entity()
	if err != nil {
		return nil, err
	}
	return e.Keys(), nil
}

// ownKey is the key of a member that is a did:key.
func ownKey(member string) []string {
	if _, err := did.DID(member).Ed25519(); err != nil {
		return []string{}
	}
	return []string{member}
}

// admitKeys finds out which keys of a new or existing member have what its
// group gives. Faults: KEYS_UNCONFIRMED, MEMBER_KEYS_INVALID and those of
// MayChange.
func (s *Service) admitKeys(ctx context.Context, tx *db.Tx, r *entity.Row, m *Member, a admission) error {
	keys, err := s.keysOf(ctx, tx, m.Member, a.published)
	if err != nil {
		return err
	}
	if m.Keys = ownKey(m.Member); len(m.Keys) > 0 { // it needs no voucher
		return unknownKeys(a.confirmed, m.Keys)
	}
	if err := unknownKeys(a.confirmed, keys); err != nil {
		return err
	}
	has, _, err := s.cfg.Speakers.has(ctx, tx, r.Workspace, m.Member)
	if err != nil {
		return err
	}
	known := make(map[string]voucher, len(keys))
	for _, key := range keys {
		if known[key], err = findVoucher(ctx, tx, speaker{r.Workspace, m.Member, key}); err != nil {
			return err
		}
	}
	if a.confirmed != nil {
		return s.confirm(ctx, tx, r, m, confirmation{keys: a.confirmed, known: known, has: has})
	}
	var doubtful []string
	for _, key := range keys {
		if v := known[key]; !v.refused {
			sure := a.again && v.counts() && v.covers(r.Workspace, has) // found out when it became a member
			if !sure {
				if sure, err = s.stands(ctx, tx, r.Workspace, v, has); err != nil {
					return err
				}
			}
			if !sure {
				doubtful = append(doubtful, key)
				continue
			}
			m.Keys = append(m.Keys, key)
		}
	}
	m.Keys = tidy(m.Keys)
	return unconfirmed(doubtful, known)
}

// stands reports whether somebody vouches for a key with all these scopes: they
// had them at the time, and have them now.
func (s *Service) stands(ctx context.Context, q db.Querier, ws string, v voucher, scopes []string) (bool, error) {
	if !v.counts() || !v.covers(ws, scopes) {
		return false, nil
	}
	if v.by == web.CallerFrom(ctx).DID {
		return true, nil
	}
	now, err := s.cfg.Speakers.RightsOf(ctx, q, ws, v.by)
	return covers(ws, now, scopes), err
}

// unconfirmed is the fault of keys without a voucher; nil for none.
func unconfirmed(keys []string, known map[string]voucher) error {
	if len(keys) == 0 {
		return nil
	}
	f := fault.New(fault.Conflict, "KEYS_UNCONFIRMED",
		"Some keys of this member were added by somebody with fewer rights than the member would have. Ask the member which keys are theirs, and repeat the request with those in keys.")
	for _, key := range keys {
		f = f.With(fault.Field{Pointer: "/keys", Code: "unconfirmed", Detail: known[key].about(key)})
	}
	return f.Showing(struct {
		Keys []string `json:"keys"`
	}{keys})
}

// confirmation is a caller's statement about the keys of a member.
type confirmation struct {
	keys  []string           // these are the member's, and no others
	known map[string]voucher // of all keys of the DID
	has   []string           // scopes of the member, with those of the group
}

// confirm makes the caller vouch for the keys of a member and refuse the
// others. That changes who speaks for the member, in all groups.
func (s *Service) confirm(ctx context.Context, tx *db.Tx, r *entity.Row, m *Member, c confirmation) error {
	mine, err := s.cfg.Speakers.voucher(ctx, tx, r.Workspace, m.Member)
	if err != nil {
		return err
	}
	m.Keys = c.keys
	for key, v := range c.known {
		named := slices.Contains(c.keys, key)
		if named && v.counts() && v.covers(r.Workspace, c.has) || !named && v.refused {
			continue
		}
		// Who gives a key a voice, or takes it, decides about more than scopes.
		if err := protect(web.CallerFrom(ctx), c.has); err != nil {
			return err
		}
		if !v.speaks() || !named {
			if err := s.maySilence(ctx, tx, r.Workspace, m.Member); err != nil {
				return err
			}
		}
		mine.refused = !named
		if err := vouch(ctx, tx, speaker{r.Workspace, m.Member, key}, mine); err != nil {
			return err
		}
	}
	return nil
}

// maySilence returns nil when the caller may say which keys do not speak for a
// member: the conditions of MayChange, and control of its twin or the right to
// take it over.
func (s *Service) maySilence(ctx context.Context, tx *db.Tx, ws, member string) error {
	if err := s.cfg.Speakers.MayChange(ctx, tx, ws, member); err != nil || auth.May(web.CallerFrom(ctx), "entities:transfer") {
		return err
	}
	r, err := s.cfg.Entities.Find(ctx, tx, member)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	} else if err != nil {
		return err
	}
	return s.cfg.Entities.MayUpdate(ctx, tx, r)
}

// unknownKeys refuses keys that do not speak for a member.
func unknownKeys(named, keys []string) error {
	var c fault.Checks
	for _, k := range named {
		if !slices.Contains(keys, k) {
			c.Add("/keys", "unknown", k+" does not speak for this DID.")
		}
	}
	return c.Err("MEMBER_KEYS_INVALID", "These keys do not speak for the member. Put the key into alsoKnownAs of the member's twin first.")
}

// admission says how to admit a member.
type admission struct {
	again     bool     // it is a member already
	confirmed []string // the keys that the caller names; nil for none
	published []string // the keys of a member that is not held here, as others publish them
}

// publishedKeys looks up, before any transaction, the keys of a member that is
// not held here.
func (s *Service) publishedKeys(ctx context.Context, member string) ([]string, error) {
	c := web.CallerFrom(ctx)
	if s.cfg.Published == nil || c.Workspace != auth.OperatorWorkspace || strings.HasPrefix(member, "did:key:") {
		return nil, nil
	}
	_, err := s.cfg.Entities.Find(web.WithCaller(ctx, web.Caller{Workspace: c.Workspace}), s.db, member)
	if fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	return s.cfg.Published(ctx, member)
}
