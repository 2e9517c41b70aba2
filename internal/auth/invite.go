package auth

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rsc.io/qr"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// InviteLife is how long an invitation is valid.
const InviteLife = 72 * time.Hour

// How many invitations wait to be used at most: of a workspace, and of those that
// one principal has made in it, so that no one maker takes all the room.
const (
	maxInvites    = 200
	maxOwnInvites = 50
)

// InviteDraft asks for an invitation.
type InviteDraft struct {
	Draft
	Origin string `json:"origin,omitempty" doc:"Address of this server as the person reaches it. The link and the QR code begin with it; HEARTH_PUBLIC_URL by default." example:"https://hearth.example.org"`
}

// Invite is an invitation: the first person who opens its link gets a key.
type Invite struct {
	ID        string       `json:"id" doc:"Ordered by time of creation."`
	Name      string       `json:"name" doc:"Name of the person it is for; the key gets this name."`
	Role      string       `json:"role,omitempty"`
	Scopes    []string     `json:"scopes" doc:"What the key may do."`
	Projects  []string     `json:"projects,omitempty" doc:"When given, only these projects exist for the key."`
	Networks  []string     `json:"networks,omitempty" doc:"When given, the key works from these networks only."`
	ExpiresAt time.Time    `json:"expiresAt,omitzero" doc:"When the key stops working."`
	Status    InviteStatus `json:"status" enum:"open,used,revoked,expired"`
	CreatedBy string       `json:"createdBy" doc:"DID of whoever made it."`
	CreatedAt time.Time    `json:"createdAt"`
	EndsAt    time.Time    `json:"endsAt" doc:"Until when it can be used."`
	UsedAt    time.Time    `json:"usedAt,omitzero"`
	RevokedAt time.Time    `json:"revokedAt,omitzero"`
	Principal string       `json:"principal,omitempty" doc:"DID the key speaks for: of the person who used the invitation, or is to use it."`
	Key       string       `json:"key,omitempty" doc:"Id of the key it made."`

	draft     Draft
	workspace string
	maker     string // key whose rights it passes on
	hash      Digest
}

// InviteStatus says whether an invitation can be used.
type InviteStatus string

// The states of an invitation.
const (
	InviteOpen    InviteStatus = "open"
	InviteUsed    InviteStatus = "used"
	InviteRevoked InviteStatus = "revoked"
	InviteExpired InviteStatus = "expired"
)

// at gives the invitation with its status at a moment.
func (v *Invite) at(now time.Time) *Invite {
	switch {
	case !v.UsedAt.IsZero():
		v.Status = InviteUsed
	case !v.RevokedAt.IsZero():
		v.Status = InviteRevoked
	case !now.Before(v.EndsAt):
		v.Status = InviteExpired
	default:
		v.Status = InviteOpen
	}
	v.Name, v.Role, v.Scopes = v.draft.Name, v.draft.Role, v.draft.scopes()
	v.Projects, v.Networks, v.ExpiresAt = v.draft.Projects, v.draft.Networks, v.draft.ExpiresAt
	return v
}

// NewInvite is an invitation with its link, which is shown once.
type NewInvite struct {
	Invite
	Code string `json:"code" doc:"The end of the link. It is never shown again."`
	Link string `json:"link" doc:"The link to open; without an origin it is only the path."`
	QR   *QR    `json:"qr,omitempty" doc:"The link as a QR code. Absent without an origin."`
}

// String leaves the code out, so that printing the value does not reveal it.
func (v NewInvite) String() string { return v.ID }

// QR is the type of package api.
type QR = api.QR

// Invites makes and accepts invitations. Make one with Service.Invites.
type Invites struct{ s *Service }

// Invites returns the service's Invites.
func (s *Service) Invites() Invites { return Invites{s} }

// making checks a draft and returns the step that stores the invitation. The
// rules for making the key apply now, and again when the invitation is used.
func (d Invites) making(ctx context.Context, in InviteDraft) (func(*db.Tx) (NewInvite, error), error) {
	c, now := web.CallerFrom(ctx), d.s.moment()
	if c.Key == "" {
		return nil, fault.New(fault.Forbidden, "INVITE_NEEDS_KEY", "An invitation passes on the rights of a key. Make it with an API key, or in the console.")
	}
	origin, err := originOf(in.Origin, d.s.cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	if _, err := d.s.creation(ctx, in.Draft); err != nil {
		return nil, err
	}
	code := base64.RawURLEncoding.EncodeToString(random(24))
	v := Invite{
		ID: "inv_" + d.s.cfg.NewID(), CreatedBy: c.DID, CreatedAt: now, EndsAt: now.Add(InviteLife),
		Principal: in.Principal, draft: in.Draft, workspace: c.Workspace, maker: c.Key, hash: digest(code),
	}
	made := NewInvite{Code: code, Link: origin + "/console/#invite=" + code}
	if origin != "" {
		if made.QR, err = draw(made.Link); err != nil {
			return nil, err
		}
	}
	return func(tx *db.Tx) (NewInvite, error) {
		if err := lockKeys(ctx, tx, c.Workspace); err != nil { // otherwise two calls at once would both find room
			return NewInvite{}, err
		}
		if err := d.restricted(ctx, tx, c, in.Draft); err != nil {
			return NewInvite{}, err
		}
		if err := d.room(ctx, tx, c, now); err != nil {
			return NewInvite{}, err
		}
		maker, err := findKey(ctx, tx, c.Workspace, c.Key)
		if err != nil {
			return NewInvite{}, err
		}
		v, out := v, made // a second run starts over
		v.EndsAt = earlier(v.EndsAt, maker.until())
		out.Invite = *v.at(now)
		if err := insertInvite(ctx, tx, &v); err != nil {
			return NewInvite{}, err
		}
		return out, d.s.record(ctx, tx, "invite.created", v.ID, 1)
	}, nil
}

// restricted refuses what the key of the maker could not make itself.
func (d Invites) restricted(ctx context.Context, tx *db.Tx, c web.Caller, in Draft) error {
	k := Key{Projects: tidy(in.Projects), Networks: tidyNetworks(in.Networks), ExpiresAt: in.ExpiresAt}
	if err := d.s.restrict(ctx, tx, c, &k); err != nil {
		return err
	}
	if in.Role == member && in.Principal != "" {
		return asMember(ctx, tx, c, in.Principal)
	}
	return nil
}

// room refuses one invitation more than may wait. Those that can no longer be used
// do not count: they end with the key that made them.
func (d Invites) room(ctx context.Context, tx *db.Tx, c web.Caller, now time.Time) error {
	own, err := countOwnInvites(ctx, tx, c, now)
	if err != nil {
		return err
	}
	if own >= maxOwnInvites {
		return fault.New(fault.Conflict, "TOO_MANY_INVITES", fmt.Sprintf("%d of your invitations wait to be used. Revoke some first.", maxOwnInvites))
	}
	n, err := countInvites(ctx, tx, c.Workspace, now)
	if err != nil {
		return err
	}
	if n >= maxInvites {
		return fault.New(fault.Conflict, "TOO_MANY_INVITES", fmt.Sprintf("%d invitations of this workspace wait to be used. Revoke some first.", maxInvites))
	}
	return nil
}

// originOf is the origin of a link; "" when unknown.
func originOf(text, public string) (string, error) {
	if text == "" {
		return strings.TrimSuffix(public, "/"), nil
	}
	u, err := url.Parse(text)
	if err != nil || len(text) > 300 || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.New(fault.Invalid, "KEY_DRAFT_INVALID", "The new key is not valid.").
			With(fault.Field{Pointer: "/origin", Code: "invalid", Detail: "The value must be an http or https address without a path."})
	}
	return u.Scheme + "://" + u.Host, nil
}

// quiet is the margin of a QR code, in units.
const quiet = 4

// Draw makes the QR code of a text.
func Draw(text string) (*QR, error) { return draw(text) }

// draw makes the QR code of a text, each run of black squares one rectangle.
func draw(text string) (*QR, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return nil, fmt.Errorf("draw QR code: %w", err)
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	return &QR{Size: code.Size + 2*quiet, Path: b.String()}, nil
}

// List returns at most limit invitations of the caller's workspace after an id,
// the oldest first; next is where the list continues, nil at its end. A key
// limited to projects gets those it has made itself, because the others name
// people it may know nothing about.
func (d Invites) List(ctx context.Context, after string, limit int) (list []Invite, next any, err error) {
	c, key := web.CallerFrom(ctx), ""
	if len(c.Projects) > 0 {
		if key = c.Key; key == "" {
			return nil, nil, nil // a token makes no invitation
		}
	}
	list, err = listInvites(ctx, d.s.db, inviteQuery{workspace: c.Workspace, key: key, after: after, limit: limit + 1})
	if err != nil {
		return nil, nil, err
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	now := d.s.now()
	for i := range list {
		list[i].at(now)
	}
	return list, next, nil
}

// Revoke ends an unused invitation: the caller's own, or one of a key the caller
// could revoke. Revoking it again changes nothing. Faults: INVITE_NOT_FOUND,
// INVITE_USED, and those of revoking a key.
func (d Invites) Revoke(ctx context.Context, id string) (Invite, error) {
	c, now := web.CallerFrom(ctx), d.s.moment()
	return inTx(ctx, d.s.db, func(tx *db.Tx) (Invite, error) {
		v, err := findInvite(ctx, tx, c.Workspace, id)
		if err != nil {
			return Invite{}, err
		}
		if v.maker != c.Key {
			k := Key{ID: v.ID, Workspace: c.Workspace, Principal: v.draft.Principal, Scopes: v.draft.scopes(), Projects: v.draft.Projects, Networks: v.draft.Networks}
			if err := d.s.decides(ctx, tx, c, &k, "path/id"); err != nil {
				return Invite{}, err
			}
		}
		switch v.at(now).Status {
		case InviteUsed:
			return Invite{}, fault.New(fault.Conflict, "INVITE_USED", "This invitation was used. Revoke the key it made.")
		case InviteRevoked:
			return *v, nil
		}
		v.RevokedAt = now
		if err := endInvite(ctx, tx, v); err != nil {
			return Invite{}, err
		}
		return *v.at(now), d.s.record(ctx, tx, "invite.revoked", v.ID, 2)
	})
}

// changeKey stores what has changed about a key, and ends the invitations that hang
// on it with it.
func (d Invites) changeKey(ctx context.Context, tx *db.Tx, k *Key) error {
	if err := updateKey(ctx, tx, k); err != nil {
		return err
	}
	if k.RevokedAt.IsZero() {
		return shortenInvites(ctx, tx, k)
	}
	ids, err := revokeInvites(ctx, tx, k)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := d.s.record(ctx, tx, "invite.revoked", id, 2); err != nil {
			return err
		}
	}
	return nil
}

// Look finds the usable invitation of a code, for a person who is about to
// accept it. The faults are those of Accept.
func (d Invites) Look(r *http.Request, code string) (Invite, error) {
	ctx := r.Context()
	v, _, err := d.find(ctx, code)
	if err != nil {
		return Invite{}, err
	}
	return *v, nil
}

// find finds the invitation of a code that can still be used, and what its inviter
// may do. Wrong codes count as wrong keys do. Faults: INVITE_INVALID, INVITE_USED,
// INVITE_ENDED, INVITE_REVOKED, INVITE_EXPIRED.
func (d Invites) find(ctx context.Context, code string) (*Invite, *grant, error) {
	var v *Invite
	if code != "" && len(code) <= maxText {
		var err error
		if v, err = inviteOf(ctx, d.s.db, digest(code)); err != nil {
			return nil, nil, err
		}
	}
	if v == nil {
		addr := addrName(ctx)
		if err := d.s.failures.check(addr); err != nil {
			return nil, nil, err
		}
		return nil, nil, d.s.failures.count(addr, inviteInvalid())
	}
	if v.at(d.s.now()).Status == InviteUsed {
		return nil, nil, v.usable()
	}
	g, err := d.inviter(ctx, v) // an invitation that ended with its key says so
	if err != nil {
		return nil, nil, err
	}
	return v, g, v.usable()
}

func inviteInvalid() *fault.Error {
	return fault.New(fault.Unauthenticated, "INVITE_INVALID", "There is no such invitation. Ask the person who invited you for a new link.")
}

// usable is the fault of an invitation that is over.
func (v *Invite) usable() error {
	switch v.Status {
	case InviteUsed:
		return fault.New(fault.Conflict, "INVITE_USED", "This invitation was used already. If you did not use it, tell the person who invited you: the key it made must be revoked.")
	case InviteRevoked:
		return fault.New(fault.Conflict, "INVITE_REVOKED", "This invitation was revoked. Ask the person who invited you for a new link.")
	case InviteExpired:
		return fault.New(fault.Conflict, "INVITE_EXPIRED", "This invitation is older than 72 hours. Ask the person who invited you for a new link.")
	}
	return nil
}

// inviter returns the present rights of the key that made an invitation.
// INVITE_ENDED when it can no longer make keys.
func (d Invites) inviter(ctx context.Context, v *Invite) (*grant, error) {
	g, err := d.s.byID(ctx, v.workspace, v.maker, true)
	if fault.KindOf(err) == fault.Unauthenticated || err == nil && (g.expired(d.s.now()) || !May(g.caller, "keys:write")) {
		return nil, inviteEnded()
	}
	return g, err
}

func inviteEnded() error {
	return fault.New(fault.Conflict, "INVITE_ENDED", "The person who made this invitation no longer has the rights it gives. Ask for a new link.")
}

// Accepted is a used invitation: the session it opened, and the text of its key,
// which is shown once.
type Accepted struct {
	Opening
	KeyText string
}

// Accept makes the key of an invitation and opens a session with it. The key is
// made with the present rights of its inviter, so it has no more than the
// inviter has now. The invitation is used up in the same transaction. Faults:
// those of find, and KEY_NETWORK_FORBIDDEN.
func (d Invites) Accept(r *http.Request, code string) (Accepted, error) {
	v, g, err := d.find(r.Context(), code)
	if err != nil {
		return Accepted{}, err
	}
	ctx := web.WithCaller(r.Context(), g.caller)
	made, err := inTx(ctx, d.s.db, func(tx *db.Tx) (Issued, error) { return d.use(ctx, tx, v, g.caller) })
	if err != nil {
		return Accepted{}, err
	}
	fresh, err := d.s.authenticate(r.Context(), made.Text)
	if err != nil {
		return Accepted{}, err
	}
	o, err := d.s.Sessions().open(r, fresh)
	return Accepted{Opening: o, KeyText: made.Text}, err
}

// use makes the key of an invitation and uses it up.
func (d Invites) use(ctx context.Context, tx *db.Tx, v *Invite, inviter web.Caller) (Issued, error) {
	if err := lockKeys(ctx, tx, v.workspace); err != nil {
		return Issued{}, err
	}
	step, err := d.s.creation(ctx, v.draft)
	if err != nil {
		return Issued{}, ended(err)
	}
	now, err := lockInvite(ctx, tx, v.ID) // of two who use it at once the second finds it used
	if err != nil {
		return Issued{}, err
	}
	if err := now.at(d.s.now()).usable(); err != nil {
		return Issued{}, err
	}
	if maker, err := lockKey(ctx, tx, v.workspace, inviter.Key); err != nil || !maker.RevokedAt.IsZero() {
		return Issued{}, ended(err)
	}
	made, err := step(tx)
	if err != nil {
		return Issued{}, ended(err)
	}
	if has, err := d.s.of(ctx, tx, &made.Key); err != nil || len(has) == 0 && len(made.BoundTo) > 0 {
		return Issued{}, ended(err) // a key that never works is useless
	}
	if g := (&grant{networks: parsed(made.Networks)}); !g.allows(web.ClientAddr(ctx)) {
		return Issued{}, networkForbidden()
	}
	if err := namePerson(ctx, tx, v.workspace, made.Principal); err != nil {
		return Issued{}, err
	}
	v.UsedAt, v.Principal, v.Key = d.s.moment(), made.Principal, made.ID
	if err := endInvite(ctx, tx, v); err != nil {
		return Issued{}, err
	}
	return made, d.s.record(ctx, tx, "invite.used", v.ID, 2)
}

// ended turns the fault for what an inviter can no longer do into one that the
// invitation is over.
func ended(err error) error {
	k := fault.KindOf(err)
	if err == nil || slices.Contains([]fault.Kind{fault.Forbidden, fault.Invalid, fault.NotFound, fault.Unauthenticated, fault.Conflict}, k) {
		return inviteEnded()
	}
	return err
}
