package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const keysPath = "/v1/api-keys"

// Keys are the API keys of the workspace.
type Keys struct{ c *Client }

// Key is the record of an API key, without its text.
type Key struct {
	ID         string    `json:"id"`
	Workspace  string    `json:"workspace"`
	Principal  string    `json:"principal"` // DID of whom the key speaks for
	Name       string    `json:"name"`
	Prefix     string    `json:"prefix"` // the public part at the start of its text
	Scopes     []string  `json:"scopes"`
	Projects   []string  `json:"projects,omitempty"` // when given, only these projects exist for the key
	Networks   []string  `json:"networks,omitempty"` // when given, the key works from these only
	Status     string    `json:"status"`             // active, rotated, expired or revoked
	CreatedBy  string    `json:"createdBy"`
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	RevokedAt  time.Time `json:"revokedAt,omitzero"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
	GraceUntil time.Time `json:"graceUntil,omitzero"` // until when a replaced key still works
	Replaces   string    `json:"replaces,omitempty"`
	ReplacedBy string    `json:"replacedBy,omitempty"`
	BoundTo    []string  `json:"boundTo,omitempty"`
	Revision   int64     `json:"revision"`
}

// IssuedKey is a key that was just made, with its text, which the server shows
// only now.
type IssuedKey struct {
	Key
	Text string `json:"key"`
}

// String leaves the text out, so that printing the value does not reveal it.
func (k IssuedKey) String() string { return k.ID + " (" + k.Prefix + ")" }

// GoString leaves the text out of %#v too.
func (k IssuedKey) GoString() string { return k.String() }

// Types of package api.
type (
	KeyDraft = api.KeyDraft
	QR       = api.QR
	Session  = api.Session
)

// Create makes a key. Codes: KEY_DRAFT_INVALID, SCOPE_MISSING,
// RESTRICTION_EXCEEDED.
func (k Keys) Create(ctx context.Context, d KeyDraft, opts ...Option) (*IssuedKey, error) {
	return do[IssuedKey](ctx, k.c, post(keysPath, d), opts)
}

// Get reads a key. Code: KEY_NOT_FOUND.
func (k Keys) Get(ctx context.Context, id string, opts ...Option) (*Key, error) {
	return do[Key](ctx, k.c, get(keyPath(id), nil), opts)
}

// Current reads the key this client uses.
func (k Keys) Current(ctx context.Context, opts ...Option) (*Key, error) {
	return do[Key](ctx, k.c, get(keysPath+"/current", nil), opts)
}

// Page reads one page of the keys.
func (k Keys) Page(ctx context.Context, q PageQuery, opts ...Option) (*Page[Key], error) {
	return page[Key](ctx, k.c, keysPath, q.values(), opts)
}

// List walks over the keys, page by page. An error ends it.
func (k Keys) List(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Key, error] {
	return pages[Key](ctx, k.c, keysPath, q.values(), opts)
}

// Rotation says how to replace a key.
type Rotation struct {
	Grace time.Duration // how long the old key still works, up to 24 h; an hour by default
	Now   bool          // end the old key at once
}

// Rotate replaces a key by a new one with the same rights. Codes:
// KEY_NOT_FOUND, KEY_NOT_ACTIVE, SCOPE_MISSING.
func (k Keys) Rotate(ctx context.Context, id string, r Rotation, opts ...Option) (*IssuedKey, error) {
	var body struct {
		GraceSeconds *int64 `json:"graceSeconds,omitempty"`
	}
	seconds := int64(r.Grace / time.Second)
	if r.Now {
		seconds = 0
	}
	if r.Now || r.Grace > 0 {
		body.GraceSeconds = &seconds
	}
	return do[IssuedKey](ctx, k.c, post(keyPath(id)+"/rotate", body), opts)
}

// Revoke makes a key invalid at once. Revoking it again changes nothing.
// Codes: KEY_NOT_FOUND, and STALE_REVISION with IfMatch.
func (k Keys) Revoke(ctx context.Context, id string, opts ...Option) (*Key, error) {
	return do[Key](ctx, k.c, call{method: http.MethodDelete, path: keyPath(id)}, opts)
}

func keyPath(id string) string { return keysPath + "/" + url.PathEscape(id) }

// Rename gives a key another name; it needs the option IfRevision or IfMatch.
// Codes: KEY_NOT_FOUND, KEY_DRAFT_INVALID, STALE_REVISION, PRECONDITION_REQUIRED.
func (k Keys) Rename(ctx context.Context, id, name string, opts ...Option) (*Key, error) {
	return do[Key](ctx, k.c, merge(keyPath(id), map[string]string{"name": name}), opts)
}

const invitesPath = "/v1/invites"

// InviteDraft asks for an invitation. Name is required, and a Role or Scopes.
type InviteDraft struct {
	KeyDraft
	Origin string `json:"origin,omitempty"` // address of the server as the person reaches it, such as https://hearth.example.org
}

// Invite is an invitation: the first person who opens its link gets a key.
type Invite struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	Scopes    []string  `json:"scopes"`
	Projects  []string  `json:"projects"`
	Networks  []string  `json:"networks"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // of the key
	Status    string    `json:"status"`             // open, used, revoked or expired
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	EndsAt    time.Time `json:"endsAt"`
	UsedAt    time.Time `json:"usedAt,omitzero"`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
	Principal string    `json:"principal"`
	Key       string    `json:"key"` // id of the key it made
}

// NewInvite is an invitation with its link, which the server shows only now.
type NewInvite struct {
	Invite
	Code string `json:"code"`
	Link string `json:"link"`
	QR   *QR    `json:"qr"` // nil when the server does not know its own address
}

// String leaves the link out, so that printing the value does not reveal it.
func (v NewInvite) String() string { return v.ID }

// GoString leaves the link out of %#v too.
func (v NewInvite) GoString() string { return v.String() }

// Invite invites a person: a link that makes a key once, within 72 hours. Codes:
// KEY_DRAFT_INVALID, SCOPE_MISSING, RESTRICTION_EXCEEDED, TOO_MANY_INVITES.
func (k Keys) Invite(ctx context.Context, d InviteDraft, opts ...Option) (*NewInvite, error) {
	return do[NewInvite](ctx, k.c, post(invitesPath, d), opts)
}

// Invites walks over the invitations, page by page, the oldest first. An error
// ends it.
func (k Keys) Invites(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Invite, error] {
	return pages[Invite](ctx, k.c, invitesPath, q.values(), opts)
}

// RevokeInvite withdraws an invitation. Codes: INVITE_NOT_FOUND, INVITE_USED.
func (k Keys) RevokeInvite(ctx context.Context, id string, opts ...Option) (*Invite, error) {
	return do[Invite](ctx, k.c, call{method: http.MethodDelete, path: invitesPath + "/" + url.PathEscape(id)}, opts)
}

const sessionsPath = "/v1/console/sessions"

// Sessions walks over the sessions of browsers, page by page: those of the
// workspace with keys:read, else those of this client's key. An error ends it.
func (k Keys) Sessions(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Session, error] {
	return pages[Session](ctx, k.c, sessionsPath, q.values(), opts)
}

// EndSession ends the session of a browser. Codes: SESSION_NOT_FOUND,
// SCOPE_MISSING, RESTRICTION_EXCEEDED.
func (k Keys) EndSession(ctx context.Context, id string, opts ...Option) (*Session, error) {
	return do[Session](ctx, k.c, call{method: http.MethodDelete, path: sessionsPath + "/" + url.PathEscape(id)}, opts)
}
