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
// and whoever controls the twin writes that list; if the name alone counted,
// they could be whoever the twin describes. So each key is kept with what
// whoever put it there could do, and is worth no more than that: of what the
// groups of its DID give, a key has the part its voucher had.

// Speakers decides who may change which keys speak for a DID, and notes the
// changes. It is what entity.Config.Speakers asks for.
type Speakers struct {
	// Held gives the scopes of the API keys that speak for a principal and work
	// now, and reports whether there is one. auth.Service.HeldBy is one.
	Held Voice
	// Voices are what else makes a DID a principal beside its groups.
	Voices []Voice
	// Oracle is the DID of this server, whose twin belongs to its operators.
	Oracle string
	// Minted reports whether a DID was made for a principal, in any workspace.
	// auth.Service.Minted is one.
	Minted func(ctx context.Context, q db.Querier, id string) (bool, error)
	// RightsOf gives the scopes a principal has now. auth.Service.RightsOf is one.
	RightsOf func(ctx context.Context, q db.Querier, ws, principal string) ([]string, error)
	// RightsChanged is called in the transaction in which keys come or go: what is
	// known about API keys must be forgotten then. auth.Service.RightsChanged is one.
	RightsChanged func(tx *db.Tx)
	Now           func() time.Time
}

// Voice reports whether a DID acts here in one certain way, and what scopes
// somebody needs who decides about that. auth.Service.HeldBy is one.
type Voice func(ctx context.Context, q db.Querier, ws, id string) (scopes []string, principal bool, err error)

var _ entity.Speakers = (*Speakers)(nil)

// MayChange is nil when the caller may change who speaks for a twin: it is no
// principal, the caller is that principal by a key that is vouched for with all
// its groups give, or the caller has every scope of it. The fault is
// PRINCIPAL_PROTECTED; for the twin of the oracle SCOPE_MISSING.
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

// protect lets nobody decide who speaks for a principal that has scopes they
// have not.
func protect(c web.Caller, scopes []string) error {
	if len(c.Projects) == 0 && auth.CheckGrant(c, "", auth.Effective(c.Workspace, scopes)) == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "PRINCIPAL_PROTECTED",
		"This DID has rights of its own. Only it can change its keys, controllers and owner, with a UCAN signed by one of its fully trusted keys; or a caller who has every scope it has.")
}

// has is all that a DID can do, or come to do, and whether it is a principal.
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

// MayName reports whether the caller may make a twin under a DID: it was minted
// for no principal of any workspace, or the caller is that principal or an owner.
// Elsewhere a twin is a private record.
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

// Changed notes that did:keys came to a twin and went from it.
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

// doubt forgets who vouched for the keys of a twin that changes hands, or whoever
// had it before would go on to speak for it, and control what names it. The word
// of the DID itself stays, of those who control it now, as themselves or through
// a group, and of whoever could have taken it over.
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
		// The time is what tells it from a key that nobody knows the origin of.
		if err := vouch(ctx, tx, speaker{p.Workspace, p.DID, keys[i]}, voucher{at: max(v.at, 1)}); err != nil {
			return err
		}
	}
	return nil
}

// voucher is what the caller vouches with for keys of a DID. Whoever adds a key
// to their own twin can do no more than the key they came with, however many
// they add, and all hang on the word of whoever vouched for that one.
func (s *Speakers) voucher(ctx context.Context, q db.Querier, ws, id string) (voucher, error) {
	c := web.CallerFrom(ctx)
	v := voucher{by: cmp.Or(c.DID, "system"), at: s.Now().UnixMilli(), proven: !c.Later && protect(c, []string{"*"}) == nil}
	// A key limited to projects has nothing in the whole workspace, and whoever has
	// a file read has not read it.
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
// them. A did:key is its own. A twin's DID must have been made here: one that
// its maker chose may be somebody else's.
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

// admitKeys finds out which keys of a new or an earlier member have what its
// group gives. Faults: KEYS_UNCONFIRMED, MEMBER_KEYS_INVALID and those of
// MayChange.
func (s *Service) admitKeys(ctx context.Context, tx *db.Tx, r *entity.Row, m *Member, a admission) error {
	keys, err := s.keysOf(ctx, tx, m.Member, a.published)
	if err != nil {
		return err
	}
	if m.Keys = ownKey(m.Member); len(m.Keys) > 0 { // it needs nobody's word
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
// had them when they did, and have them now.
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

// unconfirmed is the fault of keys that nobody vouches for; nil for none.
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

// confirmation is what somebody says about the keys of a member.
type confirmation struct {
	keys  []string           // these are hers, and no others
	known map[string]voucher // of all keys of the DID
	has   []string           // scopes of the member, with those of the group
}

// confirm has the caller vouch for the keys of a member and refuse the others.
// That changes who speaks for her, in all her groups.
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

// maySilence is nil when the caller may say which keys do not speak for a member:
// what MayChange asks for, and control of its twin or the right to take it over.
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

// admission is how a member is to be admitted.
type admission struct {
	again     bool     // it is a member already
	confirmed []string // the keys that the caller names; nil for none
	published []string // the keys of a member who is not held here, as others publish them
}

// publishedKeys asks, before any transaction, which keys a member has that is
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
