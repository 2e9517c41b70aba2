package oracle_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"math"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

const home = "192.0.2.1"

func TestRequest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	user, other := signer(t, "", 1), signer(t, "", 3)
	good := mint(t, user, invocation(oracleDID, now.Add(10*time.Minute)))
	deleg := mint(t, user, delegation(oracleDID, now.Add(time.Hour)))
	foreign := mint(t, other, delegation(oracleDID, now.Add(time.Hour)))
	bearer := func(token string) []string {
		return []string{"Authorization", "Bearer " + token, "X-Auth-Type", "ucan"}
	}
	early := delegation(oracleDID, now.Add(time.Hour))
	early.NotBefore = now.Add(time.Minute)
	wide := delegation(oracleDID, now.Add(time.Hour))
	wide.Proofs = []*ucan.Token{narrow(t, other, user.DID(), now.Add(time.Hour))}
	for _, tt := range []struct {
		name    string
		headers []string
		did     did.DID
		deleg   bool
		code    string
	}{
		{"delegation before its time", []string{"X-Ucan-Delegation", mint(t, user, early)}, "", false, "UCAN_MISSING"},
		{"delegation of more than its proofs", []string{"X-Ucan-Delegation", mint(t, user, wide)}, "", false, "UCAN_MISSING"},
		{"invocation", bearer(good), user.DID(), false, ""},
		{"invocation and delegation", append(bearer(good), "X-Ucan-Delegation", deleg), user.DID(), true, ""},
		{"somebody else's delegation is as good as none", append(bearer(good), "X-Ucan-Delegation", foreign), user.DID(), false, ""},
		{"bad delegation beside a good invocation", append(bearer(good), "X-Ucan-Delegation", "x"), user.DID(), false, ""},
		{"delegation alone", []string{"X-Ucan-Delegation", deleg}, user.DID(), true, ""},
		{"nothing", nil, "", false, "UCAN_MISSING"},
		{"x-did is not believed", []string{"X-Did", string(user.DID())}, "", false, "UCAN_MISSING"},
		{"x-did does not win", append(bearer(good), "X-Did", string(other.DID())), user.DID(), false, ""},
		{"no selector", []string{"Authorization", "Bearer " + good}, "", false, "UCAN_MISSING"},
		{"selector in capitals", []string{"Authorization", "Bearer " + good, "X-Auth-Type", "UCAN"}, "", false, "UCAN_MISSING"},
		{"scheme in small letters", []string{"Authorization", "bearer " + good, "X-Auth-Type", "ucan"}, "", false, "UCAN_MISSING"},
		{"bad invocation", bearer("x"), "", false, "UCAN_INVALID"},
		{"bad invocation and good delegation", append(bearer("x"), "X-Ucan-Delegation", deleg), "", false, "UCAN_INVALID"},
		{"bad delegation alone is missing", []string{"X-Ucan-Delegation", "x"}, "", false, "UCAN_MISSING"},
		{"two invocations", append(bearer(good), "Authorization", "Bearer "+good+"="), "", false, "UCAN_INVALID"},
		{"expired", bearer(mint(t, user, invocation(oracleDID, now.Add(-time.Second)))), "", false, "UCAN_INVALID"},
		{"too far away", bearer(mint(t, user, invocation(oracleDID, now.Add(time.Hour)))), "", false, "UCAN_INVALID"},
		{"never ends", bearer(mint(t, user, invocation(oracleDID, time.Time{}))), "", false, "UCAN_INVALID"},
		{"for somebody else", bearer(mint(t, user, invocation("did:ixo:ixo1other", now.Add(time.Minute)))), "", false, "UCAN_INVALID"},
		{"delegation that never ends", []string{"X-Ucan-Delegation", mint(t, user, delegation(oracleDID, time.Time{}))}, "", false, "UCAN_MISSING"},
		{"delegation for more than a year", []string{"X-Ucan-Delegation", mint(t, user, delegation(oracleDID, now.AddDate(2, 0, 0)))}, "", false, "UCAN_MISSING"},
		{"nobody knows the issuer", bearer(mint(t, signer(t, userDID, 1), invocation(oracleDID, now.Add(time.Minute)))), "", false, "UCAN_INVALID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID})
			who, err := s.Request(from(t, home, tt.headers...))
			if got := fault.CodeOf(err); got != tt.code {
				t.Fatalf("code = %q (%v), want %q", got, err, tt.code)
			}
			if err != nil {
				if fault.KindOf(err) != fault.Unauthenticated {
					t.Errorf("kind = %v, want unauthenticated", fault.KindOf(err))
				}
				return
			}
			if who.DID != string(tt.did) || (who.Delegation != nil) != tt.deleg || (who.DelegationText != "") != tt.deleg {
				t.Errorf("got %s with delegation %v, want %s with %v", who.DID, who.Delegation, tt.did, tt.deleg)
			}
		})
	}
}

func TestTheTwoTexts(t *testing.T) {
	t.Parallel()
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID})
	const missing = "Missing UCAN authentication: provide Authorization: Bearer <invocation> with X-Auth-Type: ucan, or an x-ucan-delegation header"
	for _, tt := range []struct {
		headers []string
		want    string
	}{
		{nil, missing},
		{[]string{"X-Auth-Type", "ucan", "Authorization", "Bearer x"}, "Invalid UCAN invocation"},
	} {
		_, err := s.Request(from(t, home, tt.headers...))
		if f := fault.As(err); f == nil || f.Message != tt.want {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	user := signer(t, "", 1)
	good := mint(t, user, invocation(oracleDID, time.Now().Add(time.Minute)))
	deleg := mint(t, user, delegation(oracleDID, time.Now().Add(time.Hour)))
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID})
	for _, tt := range []struct {
		name, invocation, delegation, code string
	}{
		{"invocation", good, "", ""},
		{"delegation", "", deleg, ""},
		{"both", good, deleg, ""},
		{"neither", "", "", "UCAN_MISSING"},
		{"bad invocation beside a good delegation", "x", deleg, "UCAN_INVALID"},
	} {
		who, err := s.Handshake(t.Context(), tt.invocation, tt.delegation)
		if fault.CodeOf(err) != tt.code || err == nil && who.DID != string(user.DID()) {
			t.Errorf("%s: got %v, %v, want code %q", tt.name, who, err, tt.code)
		}
	}
}

func TestPrincipal(t *testing.T) {
	t.Parallel()
	user := signer(t, "", 1)
	good := mint(t, user, invocation(oracleDID, time.Now().Add(time.Minute)))
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID})
	for _, tt := range []struct {
		name    string
		headers []string
		id      string
		ok      bool
		code    string
	}{
		{"an API key is somebody else's matter", []string{"Authorization", "Bearer hk_key"}, "", false, ""},
		{"invocation", []string{"Authorization", "Bearer " + good, "X-Auth-Type", "ucan"}, string(user.DID()), true, ""},
		{"bad one", []string{"Authorization", "Bearer x", "X-Auth-Type", "ucan"}, "", true, "UCAN_INVALID"},
	} {
		who, ok, err := s.Principal(from(t, home, tt.headers...))
		id := ""
		if who != nil {
			id = who.DID
			if who.Signer != id {
				t.Errorf("%s: signed by %s, want the did:key itself", tt.name, who.Signer)
			}
		}
		if id != tt.id || ok != tt.ok || fault.CodeOf(err) != tt.code {
			t.Errorf("%s: got %q %v %v, want %q %v %q", tt.name, id, ok, err, tt.id, tt.ok, tt.code)
		}
	}
}

// TestFailuresAreThrottled: hole 7. An address that sends bad tokens is refused
// before work is done, others and known tokens are not.
func TestFailuresAreThrottled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var looked atomic.Int32
	s := oracle.NewCallers(oracle.CallersConfig{
		DID: oracleDID, Failures: 5, Now: func() time.Time { return now },
		Local: func(context.Context, did.DID) ([]ed25519.PublicKey, error) {
			looked.Add(1)
			return nil, ucan.ErrUnknownDID
		},
	})
	good := mint(t, signer(t, "", 1), invocation(oracleDID, now.Add(10*time.Minute)))
	if _, err := s.Handshake(at(t, home), good, ""); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		id := did.DID("did:ixo:ixo1nobody" + strconv.Itoa(i))
		bad := mint(t, signer(t, id, 9), invocation(oracleDID, now.Add(time.Minute)))
		_, err := s.Handshake(at(t, home), bad, "")
		want := "UCAN_INVALID"
		if i > 5 {
			want = "UCAN_THROTTLED"
		}
		if fault.CodeOf(err) != want {
			t.Errorf("try %d: got %v, want %s", i, err, want)
		}
		if f := fault.As(err); want == "UCAN_THROTTLED" && (f.RetryAfter < time.Second || f.Kind != fault.TooMany || f.Message != oracle.TooManyText) {
			t.Errorf("try %d: retry after %v, kind %v, %q", i, f.RetryAfter, f.Kind, f.Message)
		}
	}
	if looked.Load() != 6 {
		t.Errorf("%d look-ups, want 6", looked.Load())
	}
	if _, err := s.Handshake(at(t, home), good, ""); err != nil {
		t.Errorf("a known token from there: got %v", err)
	}
	fresh := mint(t, signer(t, "", 2), invocation(oracleDID, now.Add(10*time.Minute)))
	if _, err := s.Handshake(at(t, "192.0.2.2"), fresh, ""); err != nil {
		t.Errorf("another address: got %v", err)
	}
	now = now.Add(time.Minute)
	if _, err := s.Handshake(at(t, home), fresh, ""); err != nil {
		t.Errorf("a minute later: got %v", err)
	}
}

func TestGuardIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Failures: 1, Now: func() time.Time { return now }})
	for i := range 12_000 {
		ctx := at(t, "10."+strconv.Itoa(i>>16)+"."+strconv.Itoa(i>>8&255)+"."+strconv.Itoa(i&255))
		for range 2 {
			_, _ = s.Handshake(ctx, "x", "") // refused; who remembers is what counts
		}
	}
	if got := oracle.Blocked(s); got > 10_000 {
		t.Errorf("%d addresses are remembered, want 10,000 at most", got)
	}
}

func TestDelegationTTL(t *testing.T) {
	t.Parallel()
	far := mint(t, signer(t, "", 1), delegation(oracleDID, time.Now().AddDate(50, 0, 0)))
	never := mint(t, signer(t, "", 1), delegation(oracleDID, time.Time{}))
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DelegationTTL: -1})
	if _, err := s.Delegation(t.Context(), far); err != nil {
		t.Errorf("without a limit: got %v", err)
	}
	if _, err := s.Delegation(t.Context(), never); ucan.KindOf(err) != ucan.Endless {
		t.Errorf("one that never ends: got %v, want endless", err)
	}
	if s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DelegationTTL: math.MaxInt64}); s.DID() != string(oracleDID) {
		t.Errorf("DID = %s", s.DID())
	}
}

func TestKeysUnavailable(t *testing.T) {
	t.Parallel()
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Failures: 1, Local: func(context.Context, did.DID) ([]ed25519.PublicKey, error) {
		return nil, errors.New("store is down")
	}})
	token := mint(t, signer(t, userDID, 1), invocation(oracleDID, time.Now().Add(time.Minute)))
	for range 3 { // not the sender's failure: never throttled
		_, err := s.Request(from(t, home, "Authorization", "Bearer "+token, "X-Auth-Type", "ucan"))
		if f := fault.As(err); f == nil || f.Code != "UCAN_KEYS_UNAVAILABLE" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
			t.Errorf("got %v", err)
		}
	}
}

// TestChecksLeaveNothing: hole 21. However many tokens are checked, good or bad,
// nothing runs on afterwards: the bubble would wait for it.
func TestChecksLeaveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Failures: 1000})
		for i := range 100 {
			d := invocation(oracleDID, now.Add(time.Minute))
			d.Nonce = strconv.Itoa(i)
			token := mint(t, signer(t, "", byte(1+i%2)), d)
			for _, text := range []string{token, token, "x" + token} {
				_, _ = s.Handshake(t.Context(), text, "") // good and bad
			}
		}
	})
}
