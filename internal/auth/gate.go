package auth

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

var _ web.Gate = (*gate)(nil)

// gate finds out who calls, and whether that still holds.
type gate struct {
	rights
	db       *db.DB
	cache    *cache
	stamp    stamp
	used     *usage
	requests *web.Limiter
	failures *failures
	ucan     func(r *http.Request) (web.Caller, error) // nil accepts none
}

// Admit finds out who sends r and whether they have scope. A request without
// a good credential is refused with 401, one without the right with 403, and
// an operator's route does not exist for anyone else.
func (gt *gate) Admit(answer http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	switch scope {
	case web.Public:
		return web.Caller{}, nil
	case web.Operator:
		return gt.admitOperator(r)
	}
	c, err := gt.identify(r, answer)
	if err != nil {
		return web.Caller{}, err
	}
	open := func() bool { return scope.Open(func(name string) bool { return grants(c, name) }) }
	if !open() {
		session := c.Session
		c = again(r.Context(), gt, &grant{caller: c}).caller
		if c.Session = session; !open() {
			return web.Caller{}, scopeMissing(string(scope))
		}
	}
	return c, nil
}

// again rereads a grant from the store before a caller is refused because of it:
// where other instances change keys too, the cached one may be outdated. It is g
// itself if there are none, for a caller without a key, and when it has ended.
func again(ctx context.Context, gt *gate, g *grant) *grant {
	if gt.cache.lease == nil || g.caller.Key == "" {
		return g
	}
	now, err := gt.byID(ctx, g.caller.Workspace, g.caller.Key, true)
	if err != nil {
		return g
	}
	return now
}

// admitOperator admits a direct peer on this machine and callers with the
// scope. Everybody else gets the answer of a route that does not exist, even
// for a wrong key, so that keys cannot be tried on it.
func (gt *gate) admitOperator(r *http.Request) (web.Caller, error) {
	const scope = "operations:read"
	if web.IsDirectLoopback(r) {
		return web.Caller{Workspace: OperatorWorkspace, Scopes: []string{scope}}, nil
	}
	c, err := gt.identify(r, nil) // headers about limits would give the route away
	if k := fault.KindOf(err); err != nil && (k == fault.Internal || k == fault.Unavailable) {
		return web.Caller{}, err
	}
	if err != nil || !May(c, scope) {
		return web.Caller{}, web.NoRoute(r)
	}
	return c, nil
}

// identify finds the caller by the credential in the request. It writes the
// rest of the key's rate limit into answer, if there is one, once half is
// spent.
func (gt *gate) identify(r *http.Request, answer http.Header) (web.Caller, error) {
	if in, ok := web.InsideFrom(r.Context()); ok && in.Caller.Key != "" {
		return gt.byInside(answer, r, in.Caller)
	} else if ok || strings.EqualFold(r.Header.Get("X-Auth-Type"), "ucan") {
		return gt.identifyUCAN(r)
	}
	g, session, err := gt.present(r)
	if err != nil {
		return web.Caller{}, err
	}
	return gt.let(r, answer, g, session)
}

// ByKey finds the caller of a route that takes other credentials too and gives
// Authorization a meaning of its own: by X-API-Key, or by the session of a browser.
// ok is false when r carries neither. The faults, limits and answer are those of
// other routes.
func (gt *gate) ByKey(answer http.Header, r *http.Request) (c web.Caller, ok bool, err error) {
	if in, inside := web.InsideFrom(r.Context()); inside {
		if in.Caller.Key != "" {
			c, err = gt.byInside(answer, r, in.Caller)
		}
		return c, in.Caller.Key != "", err
	}
	var g *grant
	var session string
	text, err := credential(http.Header{"X-Api-Key": r.Header["X-Api-Key"]})
	switch {
	case err == nil:
		g, err = gt.authenticate(r.Context(), text)
	case fault.CodeOf(err) != "KEY_MISSING":
	case r.Header["Authorization"] != nil || web.SessionText(r) == "":
		return web.Caller{}, false, nil
	default:
		g, session, err = gt.bySession(r)
	}
	if err != nil {
		return web.Caller{}, true, err
	}
	c, err = gt.let(r, answer, g, session)
	return c, true, err
}

// byInside finds the caller of a request that this process makes for a caller
// with a key, with the key's present rights.
func (gt *gate) byInside(answer http.Header, r *http.Request, c web.Caller) (web.Caller, error) {
	ctx := web.WithCaller(r.Context(), c)
	if err := gt.StillValid(ctx, false); err != nil && fault.CodeOf(err) != "SCOPE_MISSING" {
		return web.Caller{}, err
	}
	g, err := gt.byID(ctx, c.Workspace, c.Key, false)
	if err != nil {
		return web.Caller{}, err
	}
	return gt.let(r, answer, g, c.Session)
}

// let admits a request with a grant: from the networks of the key, and within
// its limit.
func (gt *gate) let(r *http.Request, answer http.Header, g *grant, session string) (web.Caller, error) {
	if !g.allows(web.ClientAddr(r.Context())) {
		if g = again(r.Context(), gt, g); !g.allows(web.ClientAddr(r.Context())) {
			return web.Caller{}, networkForbidden()
		}
	}
	v := gt.requests.Allow(g.caller.Key)
	if answer != nil {
		v.Tell(answer)
	}
	if err := v.Err(); err != nil {
		return web.Caller{}, err
	}
	gt.used.note(g.caller.Key, gt.now())
	c := g.caller
	c.Session = session
	return c, nil
}

// present finds what the key may do that r presents, or the one behind the
// session of a browser. A request with a key of its own ignores the cookie.
func (gt *gate) present(r *http.Request) (g *grant, session string, err error) {
	if r.Header["Authorization"] == nil && r.Header["X-Api-Key"] == nil {
		return gt.bySession(r)
	}
	text, err := credential(r.Header)
	if err != nil {
		return nil, "", err
	}
	g, err = gt.authenticate(r.Context(), text)
	if fault.CodeOf(err) == "KEY_INVALID" && strings.HasPrefix(text, ucanBegins) {
		err = fault.New(fault.Unauthenticated, "KEY_INVALID", "The API key is not valid. A UCAN needs the header X-Auth-Type: ucan.")
	}
	return g, "", err
}

func networkForbidden() error {
	return fault.New(fault.Forbidden, "KEY_NETWORK_FORBIDDEN", "This key does not work from your network.")
}

// ucanBegins is how each UCAN begins, and no key does: the head of its archive in
// base64.
const ucanBegins = "OqJlcm9vdH"

func (gt *gate) identifyUCAN(r *http.Request) (web.Caller, error) {
	if gt.ucan == nil {
		return web.Caller{}, fault.New(fault.Unauthenticated, "UCAN_NOT_ACCEPTED", "UCAN invocations are not accepted here. Send an API key.")
	}
	c, err := gt.ucan(r)
	c.Scopes, c.Through = Effective(c.Workspace, c.Scopes), []string{c.Speaker()}
	return c, err
}

// credential takes the key's text out of the headers. The query is never
// looked at: addresses end up in logs.
func credential(h http.Header) (string, error) {
	found := ""
	for _, v := range h["Authorization"] {
		scheme, text, _ := strings.Cut(v, " ")
		if text = strings.TrimSpace(text); text == "" || !strings.EqualFold(scheme, "Bearer") {
			continue
		}
		if found != "" && found != text {
			return "", ambiguous()
		}
		found = text
	}
	for _, text := range h["X-Api-Key"] {
		if text == "" {
			continue
		}
		if found != "" && found != text {
			return "", ambiguous()
		}
		found = text
	}
	if found == "" {
		return "", keyMissing()
	}
	return found, nil
}

func keyMissing() error {
	return fault.New(fault.Unauthenticated, "KEY_MISSING", "An API key is needed: Authorization: Bearer <key>.")
}

func ambiguous() error {
	return fault.New(fault.Unauthenticated, "KEY_AMBIGUOUS", "The request carries two different keys. Send one.")
}

// authenticate finds the grant of a key's text. Unknown texts and revoked keys
// take the same path and get the same answer. Keys are found by a digest of the
// whole text, so the duration of a lookup reveals bits of a digest that nobody
// can steer, not of the text.
func (gt *gate) authenticate(ctx context.Context, text string) (*grant, error) {
	if len(text) > maxText {
		return nil, gt.failures.count(addrName(ctx), keyInvalid())
	}
	gt.stamp.check(gt.cache.flush)
	hash, now := digest(text), gt.now()
	g, fresh := gt.cache.get(hash, now)
	if !fresh {
		k, err := gt.load(ctx, hash, now)
		if err != nil {
			return nil, err
		}
		g = k
	}
	switch {
	case g == nil:
		gt.cache.drop(hash)
		// Only failures are delayed: a good key behind the same address is not
		// affected by its neighbours' guesses.
		name := addrName(ctx)
		if err := gt.failures.check(name); err != nil {
			return nil, err
		}
		return nil, gt.failures.count(name, keyInvalid())
	case g.expired(now) && again(ctx, gt, g).expired(now):
		gt.cache.drop(hash)
		return nil, gt.failures.count(addrName(ctx), keyExpired())
	}
	return g, nil
}

// addrName is under which name failures of a caller count.
func addrName(ctx context.Context) string { return web.AddrName(web.ClientAddr(ctx)) }

func keyInvalid() *fault.Error {
	return fault.New(fault.Unauthenticated, "KEY_INVALID", "The API key is not valid.")
}

func keyExpired() *fault.Error {
	return fault.New(fault.Unauthenticated, "KEY_EXPIRED", "This API key has expired.")
}

// load looks up a key and caches its grant. It returns nil for an unknown text
// and for a key that has ended.
func (gt *gate) load(ctx context.Context, hash Digest, now time.Time) (*grant, error) {
	era := gt.cache.begin()
	k, err := findHash(ctx, gt.db, hash)
	if err != nil || k == nil || !k.RevokedAt.IsZero() {
		return nil, err
	}
	return gt.keep(ctx, k, era, now)
}

// keep puts the grant of a key that was looked up in an era into the cache. It
// returns nil for a key that is bound to groups which give it nothing: it has
// ended with them.
func (gt *gate) keep(ctx context.Context, k *Key, era int64, now time.Time) (*grant, error) {
	scopes, err := gt.of(ctx, gt.db, k)
	if err != nil {
		return nil, err
	}
	if len(scopes) == 0 && len(k.BoundTo) > 0 {
		return nil, nil //nolint:nilnil // a key that has ended has no grant
	}
	g := &grant{
		hash: k.hash, networks: parsed(k.Networks), until: k.until(), replaced: k.ReplacedBy != "", loaded: now, era: era,
		caller: web.Caller{
			Workspace: k.Workspace, DID: k.Principal, Key: k.ID,
			Scopes: slices.Clip(Effective(k.Workspace, scopes)), Projects: slices.Clip(k.Projects), Through: slices.Clip(k.through()),
			Rights: k.rights(scopes),
		},
	}
	gt.cache.put(g)
	return g, nil
}

// StillValid reports whether the credential of the caller of ctx still counts,
// for work that continues after the gate. A key costs a query when keys have
// changed or CacheAge has passed since the last check, and with anew; a token is
// checked each time. The faults are those of the gate: KEY_INVALID, KEY_EXPIRED,
// those of tokens, and SCOPE_MISSING when the groups of the caller no longer give
// everything it came with.
func (gt *gate) StillValid(ctx context.Context, anew bool) error {
	c := web.CallerFrom(ctx)
	if c.Key == "" {
		return stillHolds(ctx, c)
	}
	gt.stamp.check(gt.cache.flush)
	g, err := gt.byID(ctx, c.Workspace, c.Key, anew)
	if err != nil {
		return err
	}
	if c.Session != "" {
		if v, err := findSession(ctx, gt.db, c.Workspace, c.Session); err != nil {
			return err
		} else if v == nil || g.replaced || !gt.now().Before(v.CreatedAt.Add(SessionLife)) {
			return sessionEnded()
		}
	}
	if err := keeps(g.caller, c.Scopes); err != nil || !g.expired(gt.now()) {
		return err
	}
	return keyExpired()
}

// byID finds the rights of a key by its id, in the store if it is not cached or
// with anew. KEY_INVALID when the key has ended.
func (gt *gate) byID(ctx context.Context, workspace, id string, anew bool) (*grant, error) {
	now := gt.now()
	g, fresh := gt.cache.getID(id, now)
	if fresh && !anew {
		return g, nil
	}
	era := gt.cache.begin()
	k, err := findKey(ctx, gt.db, workspace, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && !k.RevokedAt.IsZero() {
		return nil, keyInvalid()
	} else if err != nil {
		return nil, err
	}
	g, err = gt.keep(ctx, k, era, now)
	if err == nil && g == nil {
		err = keyInvalid()
	}
	return g, err
}

// stillHolds is StillValid for a caller without a key.
func stillHolds(ctx context.Context, c web.Caller) error {
	if c.Again == nil {
		return nil
	}
	now, err := c.Again(ctx)
	if err != nil {
		return err
	}
	now.Scopes = Effective(now.Workspace, now.Scopes)
	return keeps(now, c.Scopes)
}

// keeps reports whether a caller has the scopes it came with.
func keeps(c web.Caller, scopes []string) error {
	for _, scope := range scopes {
		if !May(c, scope) {
			return scopeMissing(scope)
		}
	}
	return nil
}

// allows reports whether the key works from an address.
func (g *grant) allows(addr netip.Addr) bool {
	if len(g.networks) == 0 {
		return true
	}
	addr = addr.Unmap()
	return slices.ContainsFunc(g.networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
