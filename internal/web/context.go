package web

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Caller is the sender of a request, as far as the areas need to know. The zero
// value is unknown.
type Caller struct {
	Workspace string   // every query carries it
	DID       string   // the principal
	Key       string   // public id of the API key; "" for other credentials
	Signer    string   // did:key that signed the token of a UCAN caller; "" for other credentials
	Scopes    []string // what the caller may do: "entities:read", "entities:*", "*"
	Projects  []string // when not empty, only these projects exist for the caller
	// Through are the speakers (see Speaker) whose groups the rights come from: the
	// caller's own, or those of the makers of its key. It is empty when a key has
	// rights of its own.
	Through []string
	// Rights is a short text that identifies the rights the caller's key was made with,
	// so that what one key was told is not shown to another key of the same principal
	// with fewer rights; "" for other credentials.
	Rights string `json:"-"`
	// Session is the id of the browser session the request came with; "" for other
	// credentials. A job for the caller does not end with it.
	Session string `json:"-"`
	// Door is how a household was asked, if the part of this server that took
	// the request knows it: collect, ussd or chat; "" for all others.
	Door string `json:"-"`
	// Later means that a job works for the caller, who has not seen everything
	// it reads.
	Later bool `json:"-"`
	// Again looks up the caller once more, for work that continues after the gate:
	// in its present state, or a fault when its credential has ended. It is nil for
	// keys, whose service knows them, and for credentials that cannot end.
	Again func(ctx context.Context) (Caller, error) `json:"-"`
}

// May reports whether one of the caller's scopes covers scope.
func (c Caller) May(scope string) bool {
	resource, _, _ := strings.Cut(scope, ":")
	return slices.ContainsFunc(c.Scopes, func(s string) bool {
		return s == scope || s == "*" || s == resource+":*"
	})
}

// Sees reports whether the caller may know of what belongs to a project, or to none
// ("").
func (c Caller) Sees(project string) bool {
	return len(c.Projects) == 0 || slices.Contains(c.Projects, project)
}

// SignsFor reports whether the caller has signed with a key of id. An API key
// shows only that somebody made it.
func (c Caller) SignsFor(id string) bool { return c.Key == "" && c.Signer != "" && c.DID == id }

// Speaker names a caller and the key it has signed with: its DID and, if the
// did:key differs from it, # and the did:key without that prefix.
func (c Caller) Speaker() string {
	if c.Signer == "" || c.Signer == c.DID {
		return c.DID
	}
	return c.DID + "#" + strings.TrimPrefix(c.Signer, didKey)
}

const didKey = "did:key:"

// Speaking makes the caller of a workspace from its Speaker.
func Speaking(workspace, speaker string) Caller {
	c := Caller{Workspace: workspace, DID: speaker}
	if id, key, signed := strings.Cut(speaker, "#"); signed {
		c.DID, c.Signer = id, didKey+key
	}
	return c
}

// Signers returns the did:keys by which the caller speaks for its DID: the one
// that signed its token, or those with which its API key was made.
func (c Caller) Signers() []string {
	var out []string
	for _, speaker := range append([]string{c.Speaker()}, c.Through...) {
		if v := Speaking("", speaker); v.Signer != "" && v.DID == c.DID && !slices.Contains(out, v.Signer) {
			out = append(out, v.Signer)
		}
	}
	return out
}

// Known reports whether the caller was authenticated.
func (c Caller) Known() bool { return c.DID != "" }

// request is all that the edge keeps about one request: one context value, so
// that one look-up finds it.
type request struct {
	id     string
	addr   netip.Addr
	url    *url.URL // the requested URL
	caller Caller
	idem   Idempotency
	place  *place // where its handler works; nil without one

	jsonPatch bool // the body is a JSON patch
}

// Idempotency is the Idempotency-Key of a request and the hash of its content.
// Key is "" when the client sent none.
type Idempotency struct {
	Key  string
	Hash [32]byte
}

type requestKey struct{}

func infoFrom(ctx context.Context) *request {
	q, _ := ctx.Value(requestKey{}).(*request)
	return q
}

// withInfo gives ctx a copy of its request that change has altered: contexts
// derived earlier keep what they had.
func withInfo(ctx context.Context, change func(*request)) context.Context {
	var q request
	if old := infoFrom(ctx); old != nil {
		q = *old
	}
	change(&q)
	return context.WithValue(ctx, requestKey{}, &q)
}

// WithRequestID adds the id of a request to ctx. Background work uses it to
// continue under the id of the request that started it.
func WithRequestID(ctx context.Context, id string) context.Context {
	return withInfo(ctx, func(q *request) { q.id = id })
}

// fill adds to what the edge knows about r. The request value made by
// WithRequestIDs belongs to r alone until its handler runs, so it is changed in
// place, which saves a context and a request for each addition.
func fill(r *http.Request, change func(*request)) *http.Request {
	if q := infoFrom(r.Context()); q != nil {
		change(q)
		return r
	}
	return r.WithContext(withInfo(r.Context(), change))
}

// RequestID is the id of the request ctx belongs to, "" outside one.
func RequestID(ctx context.Context) string {
	if q := infoFrom(ctx); q != nil {
		return q.id
	}
	return ""
}

// ClientAddr is the address the request came from; behind a trusted proxy the
// one it reports. It is invalid outside a request.
func ClientAddr(ctx context.Context) netip.Addr {
	if q := infoFrom(ctx); q != nil {
		return q.addr
	}
	return netip.Addr{}
}

// WithCaller adds a caller to ctx. Background work uses it too, to act for the
// caller who asked for the work.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return withInfo(ctx, func(q *request) { q.caller = c })
}

// CallerFrom returns the caller of ctx, the zero Caller when unknown.
func CallerFrom(ctx context.Context) Caller {
	if q := infoFrom(ctx); q != nil {
		return q.caller
	}
	return Caller{}
}

// IdempotencyFrom is the Idempotency-Key the request carries.
func IdempotencyFrom(ctx context.Context) Idempotency {
	if q := infoFrom(ctx); q != nil {
		return q.idem
	}
	return Idempotency{}
}
