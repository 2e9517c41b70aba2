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
// they could be whoever the twin describes. So each key is noted with what the
// one who put it there could do, and a group admits keys one by one.

// Speakers decides who may change which keys speak for a DID, and notes the
// changes. It is what entity.Config.Speakers asks for.
type Speakers struct {
	// Voices are what makes a DID a principal beside its groups.
	Voices []Voice
	// Oracle is the DID of this server, whose twin belongs to its operators.
	Oracle string
	Now    func() time.Time
}

// Voice reports whether a DID acts here in one certain way, and what scopes
// somebody needs who decides about that. auth.Service.HeldBy is one.
type Voice func(ctx context.Context, q db.Querier, ws, id string) (scopes []string, principal bool, err error)

var _ entity.Speakers = (*Speakers)(nil)

// MayChange is nil when the caller may change who speaks for a twin: it is no
// principal, the caller is that principal by a key that all its groups have
// admitted, or the caller has every scope of it. The fault is
// PRINCIPAL_PROTECTED; for the twin of the oracle SCOPE_MISSING.
func (s *Speakers) MayChange(ctx context.Context, q db.Querier, ws, id string) error {
	c := web.CallerFrom(ctx)
	if id == s.Oracle && ws == auth.OperatorWorkspace {
		return s.mayChangeOracle(c)
	}
	groups, err := listMemberships(ctx, q, ws, id)
	if err != nil {
		return err
	}
	if c.SignsFor(id) {
		admitted, err := admittedTo(ctx, q, c)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(groups, func(m Membership) bool { return !admitted[m.nid] }) {
			return nil
		}
	}
	var scopes []string
	principal := false
	for _, voice := range s.Voices {
		has, is, err := voice(ctx, q, ws, id)
		if err != nil {
			return err
		}
		if is {
			scopes, principal = append(scopes, has...), true
		}
	}
	for _, m := range groups {
		scopes, principal = append(scopes, m.Scopes...), true
	}
	if !principal || len(c.Projects) == 0 && auth.CheckGrant(c, "", auth.Effective(ws, scopes)) == nil {
		return nil
	}
	return fault.New(fault.Forbidden, "PRINCIPAL_PROTECTED",
		"This DID has rights of its own. Its keys, controllers and owner change with a UCAN signed by a key that its groups have admitted, or by a caller who has every scope it has.")
}

func (s *Speakers) mayChangeOracle(c web.Caller) error {
	if c.Workspace == auth.OperatorWorkspace && auth.May(c, "operations:write") {
		return nil
	}
	return fault.New(fault.Forbidden, "SCOPE_MISSING", "The keys, controllers and owner of this server's own oracle need the scope operations:write, which you do not have.")
}

// Changed notes that did:keys came to a twin and went from it. A key that goes
// is admitted nowhere any more. One that comes is admitted where the key that
// signed for it is, and where the caller has all that the group gives.
func (s *Speakers) Changed(ctx context.Context, tx *db.Tx, p entity.Speaking) error {
	for _, key := range p.Gone {
		if err := dropKey(ctx, tx, speaker{p.Workspace, p.DID, key}); err != nil {
			return err
		}
	}
	if len(p.Came) == 0 {
		return nil
	}
	o, admitted, err := s.provenance(ctx, tx, p.Workspace, p.DID)
	if err != nil {
		return err
	}
	groups, err := listMemberships(ctx, tx, p.Workspace, p.DID)
	if err != nil {
		return err
	}
	for _, key := range p.Came {
		who := speaker{p.Workspace, p.DID, key}
		if err := insertSpeaker(ctx, tx, who, o); err != nil {
			return err
		}
		for _, m := range groups {
			if !admitted[m.nid] && !o.covers(p.Workspace, m.Scopes) {
				continue
			}
			if err := admit(ctx, tx, m.nid, who); err != nil {
				return err
			}
		}
	}
	return nil
}

// provenance is what is known of keys that the caller puts onto a twin now, and
// the groups that admit them because they admit the key that signed for them.
// Whoever adds a key to their own twin can do no more than the key they came
// with, however many they add.
func (s *Speakers) provenance(ctx context.Context, q db.Querier, ws, id string) (origin, map[int64]bool, error) {
	c := web.CallerFrom(ctx)
	p := origin{by: cmp.Or(c.DID, "system"), at: s.Now().UnixMilli()}
	if c.Signer == "" || c.DID != id {
		if len(c.Projects) == 0 { // limited to projects: nothing in the whole workspace
			p.scopes = c.Scopes
		}
		return p, nil, nil
	}
	known, err := findSpeaker(ctx, q, speaker{ws, id, c.Signer})
	if err != nil {
		return p, nil, err
	}
	p.scopes = known.scopes
	admitted, err := admittedTo(ctx, q, c)
	return p, admitted, err
}

// speaker is a key that speaks for a DID in a workspace.
type speaker struct{ ws, did, key string }

// origin is what is known of a key of a twin: who put it there, when, and what
// they could do.
type origin struct {
	by     string
	at     int64
	scopes []string
}

// covers reports whether whoever put the key there had all of these scopes.
func (o origin) covers(ws string, scopes []string) bool {
	return auth.CheckGrant(web.Caller{Workspace: ws, Scopes: auth.Effective(ws, o.scopes)}, "", scopes) == nil
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

// admitKeys decides which keys of a member a group admits, and stores that.
// confirmed are those the caller names; nil when they name none.
func (s *Service) admitKeys(ctx context.Context, tx *db.Tx, r *entity.Row, m *Member, a admission) error {
	keys, err := s.keysOf(ctx, tx, m.Member, a.published)
	if err != nil {
		return err
	}
	if m.Keys = ownKey(m.Member); len(m.Keys) > 0 { // it needs no row
		return unknownKeys(a.confirmed, m.Keys)
	}
	if a.confirmed != nil {
		if err := unknownKeys(a.confirmed, keys); err != nil {
			return err
		}
		m.Keys = a.confirmed
		return replaceAdmitted(ctx, tx, r.NID, speaker{r.Workspace, m.Member, ""}, m.Keys...)
	}
	known, err := listAdmitted(ctx, tx, r.Workspace, m.Member, r.NID)
	if err != nil {
		return err
	}
	doubtful := fault.New(fault.Conflict, "KEYS_UNCONFIRMED",
		"Keys speak for this DID that were put there by somebody who has less than the group gives. Find out from the member which keys are theirs, and repeat the request with these in keys.")
	var names []string
	for _, key := range keys {
		if slices.Contains(known, key) {
			continue
		}
		o, err := findSpeaker(ctx, tx, speaker{r.Workspace, m.Member, key})
		if err != nil {
			return err
		}
		if !o.covers(r.Workspace, a.scopes) {
			names = append(names, key)
			doubtful = doubtful.With(fault.Field{Pointer: "/keys", Code: "unconfirmed", Detail: o.about(key)})
			continue
		}
		if err := admit(ctx, tx, r.NID, speaker{r.Workspace, m.Member, key}); err != nil {
			return err
		}
		known = append(known, key)
	}
	if names != nil {
		return doubtful.Showing(struct {
			Keys []string `json:"keys"`
		}{names})
	}
	m.Keys = tidy(slices.DeleteFunc(known, func(k string) bool { return !slices.Contains(keys, k) }))
	return nil
}

// about is what to say of a key that needs a second look.
func (o origin) about(key string) string {
	if o.by == "" {
		return key + ": nobody knows any more who put it there."
	}
	return key + ": put there by " + o.by + " on " + time.UnixMilli(o.at).UTC().Format(time.RFC3339) + "."
}

// unknownKeys refuses keys that do not speak for a member.
func unknownKeys(named, keys []string) error {
	var c fault.Checks
	for _, k := range named {
		if !slices.Contains(keys, k) {
			c.Add("/keys", "unknown", k+" does not speak for this DID.")
		}
	}
	return c.Err("MEMBER_KEYS_INVALID", "These keys cannot be admitted: a key must be a did:key of the member.")
}

// admission is how a member is to be admitted.
type admission struct {
	scopes    []string // what the group gives
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
