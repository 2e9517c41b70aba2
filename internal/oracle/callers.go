package oracle

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Defaults of Config.
const (
	// DefaultFailures is how many bad tokens an address may send in a minute.
	DefaultFailures = 120
	// keysRetry is when to try again while keys cannot be looked up.
	keysRetry = 3 * time.Second
)

// KeyLookup finds the Ed25519 keys of a DID. It returns ucan.ErrUnknownDID for an
// unknown one; any other error means that the lookup failed.
type KeyLookup func(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error)

// CallersConfig says who the oracle is and how to find keys. Zero values are the
// defaults.
type CallersConfig struct {
	DID           did.DID           // the audience tokens must have; required
	Key           ed25519.PublicKey // the oracle's own key; nil when only its DID is known
	Static        ucan.Static       // keys of DIDs known beforehand
	Local         KeyLookup         // keys of twins held here; nil knows none
	Indexer       string            // URL of a GraphQL indexer of did:ixo documents; "" asks nobody
	Client        IndexerClient     // the guarded client the indexer is asked with
	AuthTTL       time.Duration     // how far away the end of an invocation may be; 15 minutes
	DelegationTTL time.Duration     // and that of a delegation; a year; negative: any
	Invoked       bool              // a delegation alone is not enough
	Failures      int               // bad tokens an address may send in a minute; DefaultFailures
	// Keys finds the caller of r by an API key or by a browser session; ok is false when
	// r carries neither. StillKey reports whether that credential still counts. Nil knows
	// no keys.
	Keys     func(answer http.Header, r *http.Request) (c web.Caller, ok bool, err error)
	StillKey func(ctx context.Context, c web.Caller) error
	Fleet    *web.Fleet       // counts bad tokens at all servers; nil: at this one
	DB       *db.DB           // remembers tokens that are good for one use
	Log      *slog.Logger     // receives the reasons of refusals; nil is silent
	Now      func() time.Time // the clock of the store by default
}

// Callers finds out who calls. It is safe for concurrent use.
type Callers struct {
	cfg     CallersConfig
	checker *ucan.Checker
	keys    ucan.Resolver
	guard   *guard
}

// NewCallers makes Callers.
func NewCallers(c CallersConfig) *Callers {
	if c.Now == nil {
		c.Now = c.DB.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Failures <= 0 {
		c.Failures = DefaultFailures
	}
	if c.DelegationTTL < 0 {
		c.DelegationTTL = math.MaxInt64
	}
	g := newGuard(c)
	keys := &keyChain{CallersConfig: c, outside: ucan.NewRing(ucan.RingConfig{Source: &indexer{c}, Now: c.Now})}
	return &Callers{cfg: c, guard: g, keys: keys, checker: ucan.New(ucan.Config{
		DID: c.DID, Resolver: keys,
		AuthTTL: c.AuthTTL, DelegationTTL: c.DelegationTTL, Now: c.Now, Throttle: g,
	})}
}

// Identity is an authenticated caller.
type Identity struct {
	DID string
	// Signer is the did:key that signed the token: one of the keys of DID.
	Signer string
	// Expires is the end of the token the caller came with.
	Expires time.Time
	// Delegation is what the caller lets the oracle do for them, and
	// DelegationText its token; nil and "" when they sent none of their own.
	Delegation     *ucan.Grant
	DelegationText string
	// Invoked means that the caller came with an invocation, not with a
	// delegation alone.
	Invoked bool
	// Key is the caller according to its API key: workspace, scopes, projects and the
	// id of the key. It is zero for a caller who signs.
	Key web.Caller
	// Again looks up a caller whom another part of the server identifies, for example
	// by the PIN of a handset: with their present rights, or a fault of kind
	// Unauthenticated once they no longer count. It is nil for tokens and keys.
	Again func(ctx context.Context) (web.Caller, error)
	// Until is the end of an earlier credential, for callers that return without
	// sending it: a task, a request from inside. Zero: it has no end.
	Until time.Time
}

// Signed reports whether the caller came with tokens, not with a key.
func (i *Identity) Signed() bool { return i.Key.Key == "" }

// Ends is the end of the delegation, if that was the caller's only credential;
// zero for everybody else.
func (i *Identity) Ends() time.Time {
	if i.Invoked || i.Delegation == nil {
		return i.Until
	}
	return i.Expires
}

// Whole reports whether the caller has all of their own rights: everybody
// except those who came only with a delegation that gives less than everything.
func (i *Identity) Whole() bool {
	return !i.Signed() || i.Again != nil || i.Invoked || i.Delegation != nil && i.Delegation.Covers("*", ucan.DefaultResource)
}

// Caller identifies the sender of r: by tokens if there are any, which then decide
// alone, and else by a key. It writes the rest of the key's limit into answer. The
// faults are those of Identify, and those of the gate about keys.
func (s *Callers) Caller(answer http.Header, r *http.Request) (*Identity, error) {
	_, inside := web.InsideFrom(r.Context())
	if s.cfg.Keys != nil && (inside || !hasTokens(r.Header)) {
		c, ok, err := s.cfg.Keys(answer, r)
		if err != nil {
			return nil, err
		}
		if ok {
			return &Identity{DID: c.DID, Key: c}, nil
		}
	}
	return s.Request(r)
}

// hasTokens reports whether a request claims to carry UCAN tokens.
func hasTokens(h http.Header) bool {
	return strings.EqualFold(h.Get("X-Auth-Type"), "ucan") || h.Get("X-Ucan-Delegation") != ""
}

// Identify identifies the sender of credentials. Faults: UCAN_MISSING when
// nothing usable came, UCAN_INVALID for a bad invocation, UCAN_THROTTLED when
// the address has sent too many bad tokens, UCAN_KEYS_UNAVAILABLE when the keys
// of the issuer cannot be looked up now. The address is that of ctx.
func (s *Callers) Identify(ctx context.Context, in ucan.Credentials) (*Identity, error) {
	login, err := s.checker.Login(ctx, in)
	if err != nil {
		return nil, s.Refuse(ctx, err)
	}
	if s.cfg.Invoked && login.Caller == login.Delegation {
		return nil, s.Refuse(ctx, &ucan.Error{Kind: ucan.Missing, Detail: "a delegation alone"})
	}
	// The checker remembers good tokens for a while, longer than a key may last.
	if err := s.holds(ctx, login.Caller); err != nil {
		return nil, err
	}
	return &Identity{
		DID: login.Caller.Issuer.String(), Signer: login.Caller.Signer.String(), Expires: login.Caller.Expires,
		Delegation: login.Delegation, DelegationText: login.DelegationText, Invoked: login.Caller != login.Delegation,
	}, nil
}

// Request is Identify with the headers of r.
func (s *Callers) Request(r *http.Request) (*Identity, error) {
	if in, ok := web.InsideFrom(r.Context()); ok {
		return s.inside(r.Context(), in)
	}
	return s.Identify(r.Context(), credentials(r.Header))
}

// insideTime is how long work that a request inside has begun may ask who it was
// for; keys that were taken away end it before.
const insideTime = 15 * time.Minute

// inside is a caller whom this process has admitted before. The credential must
// still be theirs.
func (s *Callers) inside(ctx context.Context, in web.Inside) (*Identity, error) {
	who := in.Caller
	if who.DID == "" || who.Signer == "" {
		return nil, s.Refuse(ctx, &ucan.Error{Kind: ucan.Missing, Detail: "a request inside for nobody"})
	}
	if err := s.Holds(ctx, who.DID, who.Signer); err != nil {
		return nil, err
	}
	out := &Identity{DID: who.DID, Signer: who.Signer, Expires: s.cfg.Now().Add(insideTime), Invoked: in.Whole, Until: in.Ends}
	if !in.Ends.IsZero() && in.Ends.Before(out.Expires) {
		out.Expires = in.Ends
	}
	if !in.Whole {
		out.Delegation = &ucan.Grant{} // it gives less than everything
	}
	return out, nil
}

// Handshake is Identify with the tokens of a socket's handshake. If there is an
// invocation it decides alone, as in the headers.
func (s *Callers) Handshake(ctx context.Context, invocation, delegation string) (*Identity, error) {
	in := ucan.Credentials{Delegation: delegation}
	if invocation != "" {
		in.AuthType, in.Authorization = "ucan", "Bearer "+invocation
	}
	return s.Identify(ctx, in)
}

// Principal identifies the caller by the tokens of r, for routes that accept
// other credentials too. ok is false when r does not claim to carry UCAN
// tokens.
func (s *Callers) Principal(r *http.Request) (who *Identity, ok bool, err error) {
	if _, inside := web.InsideFrom(r.Context()); !inside && !hasTokens(r.Header) {
		return nil, false, nil
	}
	who, err = s.Request(r)
	if err != nil {
		return nil, true, err
	}
	// A delegation is handed around to let others do one thing. Here it counts
	// as its issuer only when it gives everything, as an invocation does.
	if !who.Invoked && !who.Delegation.Covers("*", ucan.DefaultResource) {
		return nil, true, s.Refuse(r.Context(), &ucan.Error{Kind: ucan.NotCapable, Detail: "the delegation does not give all capabilities"})
	}
	return who, true, nil
}

// Delegation checks a delegation to the oracle. The error is a *ucan.Error.
func (s *Callers) Delegation(ctx context.Context, text string) (*ucan.Grant, error) {
	return s.checker.Delegation(ctx, text)
}

// Delegated checks a delegation that is about to be used for a user. It returns
// nil when the delegation no longer counts, or was made by somebody else. An
// error means that the check failed.
func (s *Callers) Delegated(ctx context.Context, user, text string) (*ucan.Grant, error) {
	g, err := s.checker.Delegation(context.WithValue(ctx, unguarded{}, true), text)
	switch kind := ucan.KindOf(err); {
	case err == nil && g.Issuer.String() == user:
		return g, nil
	case err == nil || kind != ucan.Unavailable && kind != "":
		return nil, nil //nolint:nilnil // a delegation that does not count is treated as none
	}
	return nil, s.Refuse(ctx, err)
}

// DID is the DID of the oracle.
func (s *Callers) DID() string { return s.cfg.DID.String() }

// credentials reads the headers. Of two different invocations one cannot say
// which is meant, so they count as a bad one.
func credentials(h http.Header) ucan.Credentials {
	in := ucan.Credentials{AuthType: h.Get("X-Auth-Type"), Authorization: h.Get("Authorization"), Delegation: h.Get("X-Ucan-Delegation")}
	for _, more := range h["Authorization"] {
		if more != in.Authorization {
			in.Authorization = "Bearer two"
		}
	}
	return in
}

// Refuse turns the refusal of a token into what its sender may know; the log
// gets the reason. The faults are those of Identify.
func (s *Callers) Refuse(ctx context.Context, err error) error {
	kind := ucan.KindOf(err)
	s.cfg.Log.InfoContext(ctx, "caller refused", "kind", string(kind))
	switch kind {
	case ucan.Missing:
		return fault.New(fault.Unauthenticated, "UCAN_MISSING", ucan.TextMissing).Wrap(err)
	case ucan.Throttled:
		return fault.New(fault.TooMany, "UCAN_THROTTLED", TooManyText).Wrap(err).After(s.guard.wait(ctx))
	case ucan.Unavailable:
		return fault.New(fault.Unavailable, "UCAN_KEYS_UNAVAILABLE", "The keys of the issuer cannot be looked up at the moment. Try again later.").Wrap(err).After(keysRetry)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.Unauthenticated, "UCAN_INVALID", ucan.TextInvalid).Wrap(err)
}

// TooManyText is the text by which published clients recognise a refused flood.
const TooManyText = "ThrottlerException: Too Many Requests"

// addrName is under which name failures count.
func addrName(ctx context.Context) string { return web.AddrName(web.ClientAddr(ctx)) }
