package ucan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// Defaults of Config.
const (
	DefaultResource      = "ixo:oracle"
	DefaultAuthTTL       = 15 * time.Minute
	DefaultDelegationTTL = 365 * 24 * time.Hour
	defaultCacheEntries  = 10_000
	defaultCacheBytes    = 32 << 20
	// cacheAge ends the good name of a token that is good for longer, so that a
	// key taken out of a DID document stops counting.
	cacheAge = 15 * time.Minute
	// changingAge is the same for issuers whose keys can change, as long as it
	// takes a page to send its requests. Those of a did:key cannot.
	changingAge = time.Second
)

// Throttle limits the cost of clients that send many bad tokens. The context
// identifies the client; a nil Throttle admits everybody.
type Throttle interface {
	// Allow is called before work on a token that is not known to be valid.
	Allow(ctx context.Context) bool
	// Failed is called after a token was refused.
	Failed(ctx context.Context)
}

// Config configures a Checker. Zero values are the defaults.
type Config struct {
	DID           did.DID          // the audience tokens must have; required
	Resolver      Resolver         // keys of DIDs; nil knows did:key alone
	Resource      string           // what a caller must name to be let in
	AuthTTL       time.Duration    // how far away the end of an invocation may be
	DelegationTTL time.Duration    // and that of a delegation
	Now           func() time.Time // the clock
	Throttle      Throttle         // against floods of bad tokens
	CacheEntries  int              // how many good tokens are remembered
	CacheBytes    int              // and how much memory they may take, about
}

// Checker checks the tokens we receive. It is safe for concurrent use.
type Checker struct {
	config Config
	cache  *cache
}

// New makes a Checker.
func New(c Config) *Checker {
	if c.Resource == "" {
		c.Resource = DefaultResource
	}
	if c.AuthTTL <= 0 {
		c.AuthTTL = DefaultAuthTTL
	}
	if c.DelegationTTL <= 0 {
		c.DelegationTTL = DefaultDelegationTTL
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.CacheEntries <= 0 {
		c.CacheEntries = defaultCacheEntries
	}
	if c.CacheBytes <= 0 {
		c.CacheBytes = defaultCacheBytes
	}
	return &Checker{config: c, cache: newCache(c.CacheEntries, c.CacheBytes)}
}

// Grant is the content of a valid token. Grants are shared; do not change one.
type Grant struct {
	Issuer       did.DID
	Signer       did.DID // did:key of the one key of the issuer that signed
	Audience     did.DID
	CID          string
	Capabilities []Capability
	Facts        []map[string]any
	Expires      time.Time // the earliest end on the chain; zero for never

	// Once is the same for every spelling of the token. A server that accepts a
	// token only once must remember it until Expires.
	Once [sha256.Size]byte
}

// Covers reports whether the grant holds a capability without caveats.
func (g *Grant) Covers(can, with string) bool {
	return anyCovers(g.Capabilities, Capability{Can: can, With: with})
}

// Want is what Claim must find.
type Want struct {
	Can, With string        // the capability that must be invoked
	Roots     []did.DID     // who is trusted to have it without a proof; "*" is anybody
	MaxTTL    time.Duration // how far away the end may be; 0: anywhere, or never
}

// anyRoot in Want.Roots trusts everybody with what they themselves give.
const anyRoot did.DID = "*"

// Auth checks an invocation that identifies a caller: "*" on the resource, for
// us, signed by its issuer, with an end not far away. It needs no proofs, since
// everybody may speak for themselves; proofs that it has can only bring the end
// nearer. The caller is the Grant's issuer. The same token remains valid until
// it ends.
func (c *Checker) Auth(ctx context.Context, text string) (*Grant, error) {
	return c.cached(ctx, 'a', text, func(w *walk, t *Token) (int64, error) {
		if err := c.mayEnter(t); err != nil {
			return 0, err
		}
		if t.expires == never {
			return 0, refuse(Endless, "an invocation must expire")
		}
		end, err := w.end(t, 0)
		if err != nil {
			return 0, err
		}
		if err := w.near(end, c.config.AuthTTL); err != nil {
			return 0, err
		}
		_, err = w.valid(ctx, t)
		return end, err
	})
}

// mayEnter requires "*" on our resource, and that the first capability is about
// that resource, as clients write it.
func (c *Checker) mayEnter(t *Token) error {
	if first := t.Capabilities[0].With; !matchesResource(first, c.config.Resource) {
		return refuse(NotCapable, "resource %s is not %s", first, c.config.Resource)
	}
	for _, have := range t.Capabilities {
		if have.Can == "*" && matchesResource(have.With, c.config.Resource) {
			return nil
		}
	}
	return refuse(NotCapable, "no * on %s", c.config.Resource)
}

// Delegation checks a delegation to us with its whole chain: signatures, time,
// that every proof was given to the issuer who uses it, and that no token gives
// more than its proofs. It must end, and not too far away.
func (c *Checker) Delegation(ctx context.Context, text string) (*Grant, error) {
	return c.cached(ctx, 'd', text, func(w *walk, t *Token) (int64, error) {
		// Cheap checks come first; whole repeats them and makes the others.
		end, err := w.end(t, 0)
		if err != nil {
			return 0, err
		}
		if end == never {
			return 0, refuse(Endless, "a delegation must expire")
		}
		if err := w.near(end, c.config.DelegationTTL); err != nil {
			return 0, err
		}
		w.checked = nil
		return w.whole(ctx, t, 0)
	})
}

// Claim checks an invocation of one capability: for us, in time, signed, and
// its issuer is a root or has it through a chain of proofs from one. A resource
// that is the issuer's own DID needs no proof. Claims are not remembered; see
// Grant.Once.
func (c *Checker) Claim(ctx context.Context, text string, want Want) (*Grant, error) {
	if !c.allowed(ctx) {
		return nil, refuse(Throttled, "")
	}
	g, _, err := c.check(ctx, c.walk(c.config.Now().Unix()), text, func(w *walk, t *Token) (int64, error) {
		return w.claim(ctx, t, want)
	})
	c.note(ctx, err)
	return g, err
}

func (w *walk) claim(ctx context.Context, t *Token, want Want) (int64, error) {
	if want.MaxTTL > 0 {
		if t.expires == never {
			return 0, refuse(Endless, "an invocation must expire")
		}
		if err := w.near(t.expires, want.MaxTTL); err != nil {
			return 0, err
		}
	}
	roots := func(id did.DID, have Capability) bool {
		return slices.Contains(want.Roots, anyRoot) || slices.Contains(want.Roots, id) || have.With == id.String()
	}
	err := refuse(NotCapable, "no %s on %s", want.Can, want.With)
	for i, have := range t.Capabilities {
		if have.Can != want.Can || !matchesResource(have.With, want.With) {
			continue
		}
		end, trouble := w.path(ctx, t, i, roots, 0)
		if trouble == nil {
			return end, nil
		}
		err = trouble
	}
	return 0, err
}

// near requires an end that is ahead, but not by more than ttl.
func (w *walk) near(end int64, ttl time.Duration) error {
	if end <= w.now {
		return refuse(Expired, "at %d, now %d", end, w.now)
	}
	if end-w.now > int64(ttl/time.Second) {
		return refuse(TooLong, "%d s, at most %d s", end-w.now, int64(ttl/time.Second))
	}
	return nil
}

func (c *Checker) walk(now int64) *walk { return &walk{resolver: c.config.Resolver, now: now} }

// judge decides about a token that is for us, and returns its end.
type judge func(w *walk, t *Token) (int64, error)

// cached gives the remembered grant of a token, or checks it and remembers it.
func (c *Checker) cached(ctx context.Context, purpose byte, text string, decide judge) (*Grant, error) {
	if len(text) > MaxText {
		return nil, refuse(TooLarge, "%d characters", len(text))
	}
	now, key := c.config.Now().Unix(), cacheKey(purpose, text)
	if g := c.cache.get(key, now); g != nil {
		return g, nil
	}
	if !c.allowed(ctx) {
		return nil, refuse(Throttled, "")
	}
	g, end, err := c.check(ctx, c.walk(now), text, decide)
	c.note(ctx, err)
	if err == nil {
		age := cacheAge
		if g.Issuer.Method() != "key" {
			age = changingAge
		}
		c.cache.put(key, g, min(end, now+int64(age/time.Second)), len(text))
	}
	return g, err
}

func (c *Checker) check(ctx context.Context, w *walk, text string, decide judge) (*Grant, int64, error) {
	t, err := Parse(text)
	if err != nil {
		return nil, 0, err
	}
	if t.Audience != c.config.DID {
		return nil, 0, refuse(WrongAudience, "%s, not %s", t.Audience, c.config.DID)
	}
	if err := w.inTime(t); err != nil {
		return nil, 0, err
	}
	w.capabilities = len(t.Capabilities)
	end, err := decide(w, t)
	if err != nil {
		return nil, 0, fmt.Errorf("token %s of %s: %w", t.CID, t.Issuer, err)
	}
	g := &Grant{
		Issuer: t.Issuer, Signer: did.FromEd25519(w.first), Audience: t.Audience, CID: t.CID.String(), Capabilities: t.Capabilities,
		Facts: t.Facts(), Expires: moment(end),
	}
	signed, err := t.signed()
	if err != nil {
		return nil, 0, err
	}
	g.Once = sha256.Sum256(signed)
	return g, end, nil
}

func (c *Checker) allowed(ctx context.Context) bool {
	return c.config.Throttle == nil || c.config.Throttle.Allow(ctx)
}

// note reports a failure that is the sender's to the throttle.
func (c *Checker) note(ctx context.Context, err error) {
	if err != nil && c.config.Throttle != nil && KindOf(err) != Unavailable {
		c.config.Throttle.Failed(ctx)
	}
}
