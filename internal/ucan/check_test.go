package ucan_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

var memory = []ucan.Capability{{Can: "memory/*", With: "ixo:memory"}}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		have, want ucan.Capability
		ok         bool
	}{
		{ucan.Capability{Can: "a/b", With: "x:y"}, ucan.Capability{Can: "a/b", With: "x:y"}, true},
		{ucan.Capability{Can: "*", With: "x:y"}, ucan.Capability{Can: "a/b", With: "x:y"}, true},
		{ucan.Capability{Can: "a/*", With: "x:y"}, ucan.Capability{Can: "a/b/c", With: "x:y"}, true},
		{ucan.Capability{Can: "a/*", With: "x:y"}, ucan.Capability{Can: "a/*", With: "x:y"}, true},
		{ucan.Capability{Can: "a/*", With: "x:y"}, ucan.Capability{Can: "ab/c", With: "x:y"}, false},
		{ucan.Capability{Can: "a/b*", With: "x:y"}, ucan.Capability{Can: "a/bc", With: "x:y"}, false},
		{ucan.Capability{Can: "a/*", With: "x:y"}, ucan.Capability{Can: "*", With: "x:y"}, false},
		{ucan.Capability{Can: "a/b", With: "x:y"}, ucan.Capability{Can: "a/*", With: "x:y"}, false},
		{ucan.Capability{Can: "*", With: "x:*"}, ucan.Capability{Can: "*", With: "x:y/z"}, true},
		{ucan.Capability{Can: "*", With: "x:y/*"}, ucan.Capability{Can: "*", With: "x:y/z"}, true},
		{ucan.Capability{Can: "*", With: "x:y/*"}, ucan.Capability{Can: "*", With: "x:y"}, false},
		{ucan.Capability{Can: "*", With: "x:y*"}, ucan.Capability{Can: "*", With: "x:yz"}, false},
		{ucan.Capability{Can: "*", With: "x:y"}, ucan.Capability{Can: "*", With: "x:*"}, false},
		{ucan.Capability{Can: "*", With: "ucan:*"}, ucan.Capability{Can: "*", With: "x:y"}, true},
		{
			ucan.Capability{Can: "*", With: "x:y", NB: map[string]any{"n": int64(1)}},
			ucan.Capability{Can: "*", With: "x:y", NB: map[string]any{"n": int64(1), "m": "more"}},
			true,
		},
		{ucan.Capability{Can: "*", With: "x:y", NB: map[string]any{"n": int64(1)}}, ucan.Capability{Can: "*", With: "x:y"}, false},
		{
			ucan.Capability{Can: "*", With: "x:y", NB: map[string]any{"n": int64(1)}},
			ucan.Capability{Can: "*", With: "x:y", NB: map[string]any{"n": int64(2)}},
			false,
		},
	} {
		if got := tt.have.Covers(tt.want); got != tt.ok {
			t.Errorf("%v covers %v: got %v, want %v", tt.have, tt.want, got, tt.ok)
		}
	}
}

// chainOf makes a delegation to the oracle that has been through n hands.
func chainOf(t *testing.T, n int) *ucan.Token {
	t.Helper()
	var last *ucan.Token
	for i := 1; i <= n; i++ {
		d := ucan.Draft{Audience: signer(t, "", byte(i+1)).DID(), Capabilities: memory, Expires: goldenNow.Add(time.Hour)}
		if i == n {
			d.Audience = oracle
		}
		if last != nil {
			d.Proofs = []*ucan.Token{last}
		}
		last = mint(t, signer(t, "", byte(i)), d)
	}
	return last
}

func TestChainLength(t *testing.T) {
	t.Parallel()
	c := ucan.New(loadGolden(t).config(t))
	for _, tt := range []struct {
		length int
		want   ucan.Kind
	}{{1, ""}, {2, ""}, {8, ""}, {9, ucan.BrokenChain}, {30, ucan.BrokenChain}} {
		_, err := c.Delegation(t.Context(), chainOf(t, tt.length).Text())
		if ucan.KindOf(err) != tt.want {
			t.Errorf("a chain of %d: got %v, want %q", tt.length, err, tt.want)
		}
	}
	want := ucan.Want{Can: "memory/*", With: "ixo:memory", Roots: []did.DID{signer(t, "", 1).DID()}}
	if _, err := c.Claim(t.Context(), chainOf(t, 8).Text(), want); err != nil {
		t.Errorf("a claim through 8 hands: got %v, want none", err)
	}
	if _, err := c.Claim(t.Context(), chainOf(t, 9).Text(), want); ucan.KindOf(err) != ucan.BrokenChain {
		t.Errorf("a claim through 9 hands: got %v, want %s", err, ucan.BrokenChain)
	}
}

// TestSharedProofs has a token whose proofs share theirs: each is checked once,
// however many ways lead to it.
func TestSharedProofs(t *testing.T) {
	t.Parallel()
	var layer []*ucan.Token
	for depth := range 7 {
		var next []*ucan.Token
		for i := range 4 {
			d := ucan.Draft{
				Audience: signer(t, "", byte(depth+2)).DID(), Capabilities: memory, Proofs: layer,
				Expires: goldenNow.Add(time.Hour), Nonce: strconv.Itoa(i),
			}
			next = append(next, mint(t, signer(t, "", byte(depth+1)), d))
		}
		layer = next
	}
	top := mint(t, signer(t, "", 8), ucan.Draft{Audience: oracle, Capabilities: memory, Proofs: layer, Expires: goldenNow.Add(time.Minute)})
	g, err := ucan.New(loadGolden(t).config(t)).Delegation(t.Context(), top.Text())
	if err != nil || !g.Expires.Equal(goldenNow.Add(time.Minute)) {
		t.Errorf("got %v, %v, want an end after a minute", g, err)
	}
	none := ucan.Want{Can: "memory/*", With: "ixo:memory"}
	if _, err := ucan.New(loadGolden(t).config(t)).Claim(t.Context(), top.Text(), none); ucan.KindOf(err) != ucan.Untrusted {
		t.Errorf("without a root: got %v, want %s", err, ucan.Untrusted)
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	config := loadGolden(t).config(t)
	alice, me := signer(t, "", 1), signer(t, "", 3)
	var many []*ucan.Token
	for i := range 31 {
		many = append(many, mint(t, alice, ucan.Draft{
			Audience: me.DID(), Capabilities: memory, Expires: goldenNow.Add(time.Hour), Nonce: strconv.Itoa(i),
		}))
	}
	draft := func(proofs []*ucan.Token) ucan.Draft {
		return ucan.Draft{Audience: oracle, Capabilities: memory, Expires: goldenNow.Add(time.Hour), Proofs: proofs}
	}
	if _, err := ucan.New(config).Delegation(t.Context(), mint(t, me, draft(many)).Text()); err != nil {
		t.Errorf("32 tokens: got %v, want none", err)
	}
	deeper := mint(t, alice, ucan.Draft{Audience: me.DID(), Capabilities: memory, Expires: goldenNow.Add(time.Hour), Proofs: []*ucan.Token{
		mint(t, signer(t, "", 4), ucan.Draft{Audience: alice.DID(), Capabilities: memory, Expires: goldenNow.Add(time.Hour)}),
	}})
	if _, err := ucan.New(config).Delegation(t.Context(), mint(t, me, draft(append(many[:30:30], deeper))).Text()); ucan.KindOf(err) != ucan.BrokenChain {
		t.Errorf("33 tokens: got %v, want %s", err, ucan.BrokenChain)
	}
	var wide []ucan.Capability
	for i := range 150 {
		wide = append(wide, ucan.Capability{Can: "a/b", With: "ixo:" + strconv.Itoa(i)})
	}
	proof := mint(t, alice, ucan.Draft{Audience: me.DID(), Capabilities: wide, Expires: goldenNow.Add(time.Hour)})
	token := mint(t, me, ucan.Draft{Audience: oracle, Capabilities: wide, Expires: goldenNow.Add(time.Hour), Proofs: []*ucan.Token{proof}})
	if _, err := ucan.New(config).Delegation(t.Context(), token.Text()); ucan.KindOf(err) != ucan.BrokenChain {
		t.Errorf("300 capabilities: got %v, want %s", err, ucan.BrokenChain)
	}
	if _, err := ucan.New(config).Auth(t.Context(), strings.Repeat("A", ucan.MaxText+1)); ucan.KindOf(err) != ucan.TooLarge {
		t.Errorf("too long a text: got %v, want %s", err, ucan.TooLarge)
	}
}

func TestOwnResourceNeedsNoProof(t *testing.T) {
	t.Parallel()
	me := signer(t, "", 3)
	own := append([]ucan.Capability{{Can: "a/b", With: me.DID().String()}}, memory...)
	proof := mint(t, signer(t, "", 1), ucan.Draft{Audience: me.DID(), Capabilities: memory, Expires: goldenNow.Add(time.Hour)})
	token := mint(t, me, ucan.Draft{Audience: oracle, Capabilities: own, Expires: goldenNow.Add(time.Hour), Proofs: []*ucan.Token{proof}})
	c := ucan.New(loadGolden(t).config(t))
	if _, err := c.Delegation(t.Context(), token.Text()); err != nil {
		t.Errorf("Delegation: got %v, want none", err)
	}
	if _, err := c.Claim(t.Context(), token.Text(), ucan.Want{Can: "a/b", With: me.DID().String()}); err != nil {
		t.Errorf("Claim: got %v, want none", err)
	}
}

func TestAuthTakesNoWildcardOfProofs(t *testing.T) {
	t.Parallel()
	token := mint(t, signer(t, "", 1), ucan.Draft{
		Audience: oracle, Capabilities: []ucan.Capability{{Can: "*", With: "ucan:*"}}, Expires: goldenNow.Add(time.Minute),
	})
	if _, err := ucan.New(loadGolden(t).config(t)).Auth(t.Context(), token.Text()); ucan.KindOf(err) != ucan.NotCapable {
		t.Errorf("got %v, want %s", err, ucan.NotCapable)
	}
}

func TestClaimEnds(t *testing.T) {
	t.Parallel()
	c := ucan.New(loadGolden(t).config(t))
	for _, tt := range []struct {
		name    string
		expires time.Time
		most    time.Duration
		want    ucan.Kind
	}{
		{"never, anywhere", time.Time{}, 0, ""},
		{"never, but it must", time.Time{}, time.Hour, ucan.Endless},
		{"soon enough", goldenNow.Add(time.Hour), time.Hour, ""},
		{"too late", goldenNow.Add(time.Hour + time.Second), time.Hour, ucan.TooLong},
	} {
		token := mint(t, signer(t, user, 1), ucan.Draft{Audience: oracle, Capabilities: memory, Expires: tt.expires})
		g, err := c.Claim(t.Context(), token.Text(), ucan.Want{Can: "memory/*", With: "ixo:memory", Roots: []did.DID{"*"}, MaxTTL: tt.most})
		if ucan.KindOf(err) != tt.want {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if err == nil && !g.Expires.Equal(tt.expires) {
			t.Errorf("%s: ends %v, want %v", tt.name, g.Expires, tt.expires)
		}
	}
}

func TestOnceIsOneForAllSpellings(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	c := ucan.New(g.config(t))
	want, err := c.Auth(t.Context(), g.token(t, "inv_didkey"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inv_base64url", "inv_line_breaks", "inv_car_with_jwt"} {
		got, err := c.Auth(t.Context(), g.token(t, name))
		if err != nil || got.Once != want.Once {
			t.Errorf("%s: Once differs (%v)", name, err)
		}
	}
	other, err := c.Auth(t.Context(), g.token(t, "inv_two_caps"))
	if err != nil || other.Once == want.Once {
		t.Errorf("two tokens have one Once (%v)", err)
	}
}

type resolverFunc func(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error)

func (f resolverFunc) Resolve(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	return f(ctx, id)
}

func TestResolver(t *testing.T) {
	t.Parallel()
	right := seedKey(1).Public().(ed25519.PublicKey)
	wrong := seedKey(9).Public().(ed25519.PublicKey)
	var crowd []ed25519.PublicKey
	for range 16 {
		crowd = append(crowd, wrong)
	}
	for _, tt := range []struct {
		name string
		keys []ed25519.PublicKey
		err  error
		want ucan.Kind
	}{
		{"one key", []ed25519.PublicKey{right}, nil, ""},
		{"last of several", append(crowd[:15:15], right), nil, ""},
		{"past the limit", append(crowd, right), nil, ucan.BadSignature},
		{"keys of another kind are passed over", []ed25519.PublicKey{{1, 2}, nil, right}, nil, ""},
		{"only other kinds", []ed25519.PublicKey{{1, 2}}, nil, ucan.UnknownIssuer},
		{"no key", nil, nil, ucan.UnknownIssuer},
		{"unknown", nil, ucan.ErrUnknownDID, ucan.UnknownIssuer},
		{"network", nil, errors.New("timeout"), ucan.Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := loadGolden(t)
			config := g.config(t)
			config.Resolver = resolverFunc(func(context.Context, did.DID) ([]ed25519.PublicKey, error) { return tt.keys, tt.err })
			_, err := ucan.New(config).Auth(t.Context(), g.token(t, "inv_didixo"))
			if ucan.KindOf(err) != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			config.Resolver = nil
			if _, err := ucan.New(config).Auth(t.Context(), g.token(t, "inv_didixo")); ucan.KindOf(err) != ucan.UnknownIssuer {
				t.Errorf("without a resolver: got %v, want %s", err, ucan.UnknownIssuer)
			}
		})
	}
}

// TestResolverIsAskedSparingly: each DID once for a token, cheap refusals
// before it is asked at all.
func TestResolverIsAskedSparingly(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	config := g.config(t)
	table := config.Resolver
	var asked atomic.Int32
	config.Resolver = resolverFunc(func(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
		asked.Add(1)
		return table.Resolve(ctx, id)
	})
	expired := mint(t, signer(t, user, 1), ucan.Draft{
		Audience: oracle, Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}, Expires: goldenNow,
	})
	if _, err := ucan.New(config).Auth(t.Context(), expired.Text()); err == nil || asked.Load() != 0 {
		t.Errorf("an expired token: got %v after %d questions, want a refusal after none", err, asked.Load())
	}
	var proofs []*ucan.Token
	for i := range 5 {
		proofs = append(proofs, mint(t, signer(t, user, 1), ucan.Draft{
			Audience: user, Capabilities: memory, Expires: goldenNow.Add(time.Hour), Nonce: strconv.Itoa(i),
		}))
	}
	token := mint(t, signer(t, user, 1), ucan.Draft{Audience: oracle, Capabilities: memory, Expires: goldenNow.Add(time.Hour), Proofs: proofs})
	if _, err := ucan.New(config).Delegation(t.Context(), token.Text()); err != nil || asked.Load() != 1 {
		t.Errorf("five proofs of one DID: got %v after %d questions, want none after 1", err, asked.Load())
	}
	proofs = nil
	for i := range 12 {
		id := did.DID("did:ixo:stranger" + strconv.Itoa(i))
		proofs = append(proofs, mint(t, signer(t, "", 1), ucan.Draft{Audience: id, Capabilities: memory, Expires: goldenNow.Add(time.Hour)}))
	}
	token = mint(t, signer(t, user, 1), ucan.Draft{Audience: oracle, Capabilities: memory, Expires: goldenNow.Add(time.Hour), Proofs: proofs})
	asked.Store(0)
	if _, err := ucan.New(config).Delegation(t.Context(), token.Text()); err == nil || asked.Load() > 8 {
		t.Errorf("proofs for strangers: got %v after %d questions, want a refusal after at most 8", err, asked.Load())
	}
}

type throttle struct {
	closed  atomic.Bool
	allowed atomic.Int32
	failed  atomic.Int32
}

func (th *throttle) Allow(context.Context) bool { th.allowed.Add(1); return !th.closed.Load() }
func (th *throttle) Failed(context.Context)     { th.failed.Add(1) }

func TestThrottle(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	th := &throttle{}
	config := g.config(t)
	config.Throttle = th
	c := ucan.New(config)
	good, bad := g.token(t, "inv_didkey"), g.token(t, "inv_tampered_signature")
	if _, err := c.Auth(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, _ = c.Auth(t.Context(), bad)
		_, _ = c.Claim(t.Context(), bad, ucan.Want{Can: "*", With: "ixo:oracle", Roots: []did.DID{"*"}})
	}
	if got := th.failed.Load(); got != 6 {
		t.Errorf("%d failures were told, want 6", got)
	}
	th.closed.Store(true)
	if _, err := c.Auth(t.Context(), good); err != nil {
		t.Errorf("a known token while closed: got %v, want none", err)
	}
	for _, text := range []string{bad, g.token(t, "inv_didixo")} {
		if _, err := c.Auth(t.Context(), text); ucan.KindOf(err) != ucan.Throttled {
			t.Errorf("an unknown token while closed: got %v, want %s", err, ucan.Throttled)
		}
	}
	if _, err := c.Claim(t.Context(), good, ucan.Want{}); ucan.KindOf(err) != ucan.Throttled {
		t.Errorf("a claim while closed: got %v, want %s", err, ucan.Throttled)
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	config := g.config(t)
	config.CacheEntries = 64
	c := ucan.New(config)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, tt := range g.Cases {
				if _, err := judge(t, c, tt); (err == nil) != tt.Accept {
					t.Errorf("%s: got %v, want accept %v", tt.Name, err, tt.Accept)
				}
			}
		})
	}
	wg.Wait()
}

// TestTakenKey: a token that was good counts for a second more at most once its
// key is taken from the DID.
func TestTakenKey(t *testing.T) {
	t.Parallel()
	const oracle, user = did.DID("did:ixo:oracle"), did.DID("did:ixo:user")
	now := time.Unix(1_800_000_000, 0)
	keys := ucan.Static{user: {seedKey(1).Public().(ed25519.PublicKey)}}
	c := ucan.New(ucan.Config{DID: oracle, Resolver: keys, Now: func() time.Time { return now }})
	token := mint(t, signer(t, user, 1), ucan.Draft{
		Audience: oracle, Expires: now.Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	}).Text()
	if _, err := c.Auth(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	keys[user] = []ed25519.PublicKey{seedKey(2).Public().(ed25519.PublicKey)}
	now = now.Add(time.Second)
	if _, err := c.Auth(t.Context(), token); err == nil {
		t.Error("a token whose key was taken a second ago is good")
	}
}
