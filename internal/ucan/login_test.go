package ucan_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	c := ucan.New(g.config(t))
	inv, bad := "Bearer "+g.token(t, "inv_didixo"), "Bearer "+g.token(t, "inv_expired")
	own, foreign, spoiled := g.token(t, "del_didixo"), g.token(t, "del_didkey"), g.token(t, "del_expired")
	self := signer(t, "", 1).DID()
	for _, tt := range []struct {
		name      string
		in        ucan.Credentials
		caller    did.DID
		delegated bool
		kind      ucan.Kind
		public    string
	}{
		{"invocation", ucan.Credentials{AuthType: "ucan", Authorization: inv}, user, false, "", ""},
		{"with the caller's delegation", ucan.Credentials{AuthType: "ucan", Authorization: inv, Delegation: own}, user, true, "", ""},
		{"with another's delegation", ucan.Credentials{AuthType: "ucan", Authorization: inv, Delegation: foreign}, user, false, "", ""},
		{"with a bad delegation", ucan.Credentials{AuthType: "ucan", Authorization: inv, Delegation: spoiled}, user, false, "", ""},
		{"delegation alone", ucan.Credentials{Delegation: foreign}, self, true, "", ""},
		{"bad invocation", ucan.Credentials{AuthType: "ucan", Authorization: bad}, "", false, ucan.Expired, ucan.TextInvalid},
		{"bad invocation, good delegation", ucan.Credentials{AuthType: "ucan", Authorization: bad, Delegation: own}, "", false, ucan.Expired, ucan.TextInvalid},
		{"bad delegation alone", ucan.Credentials{Delegation: spoiled}, "", false, ucan.Missing, ucan.TextMissing},
		{"nothing", ucan.Credentials{}, "", false, ucan.Missing, ucan.TextMissing},
		{"no type", ucan.Credentials{Authorization: inv}, "", false, ucan.Missing, ucan.TextMissing},
		{"type in capitals", ucan.Credentials{AuthType: "UCAN", Authorization: inv}, "", false, ucan.Missing, ucan.TextMissing},
		{"bearer in small letters", ucan.Credentials{AuthType: "ucan", Authorization: "bearer " + inv[7:]}, "", false, ucan.Missing, ucan.TextMissing},
		{"no type, good delegation", ucan.Credentials{Authorization: inv, Delegation: foreign}, self, true, "", ""},
		{"empty bearer", ucan.Credentials{AuthType: "ucan", Authorization: "Bearer  "}, "", false, ucan.Missing, ucan.TextMissing},
		{"delegation as invocation", ucan.Credentials{AuthType: "ucan", Authorization: "Bearer " + own}, "", false, ucan.NotCapable, ucan.TextInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.Login(t.Context(), tt.in)
			if ucan.KindOf(err) != tt.kind {
				t.Fatalf("got %v, want kind %q", err, tt.kind)
			}
			if err != nil {
				var e *ucan.Error
				if !errors.As(err, &e) || e.Public() != tt.public {
					t.Errorf("public text of %v is not %q", err, tt.public)
				}
				return
			}
			if got.Caller.Issuer != tt.caller || (got.Delegation != nil) != tt.delegated || (got.DelegationText != "") != tt.delegated {
				t.Errorf("got %s with delegation %v, want %s with delegation %v", got.Caller.Issuer, got.Delegation, tt.caller, tt.delegated)
			}
			if tt.delegated && got.Delegation.Issuer != got.Caller.Issuer {
				t.Errorf("the delegation is of %s, the caller is %s", got.Delegation.Issuer, got.Caller.Issuer)
			}
		})
	}
}

// TestLoginPassesOn: what may pass later is not called missing.
func TestLoginPassesOn(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	config := g.config(t)
	config.Resolver = resolverFunc(func(context.Context, did.DID) ([]ed25519.PublicKey, error) { return nil, errors.New("down") })
	in := ucan.Credentials{Delegation: g.token(t, "del_didixo")}
	if _, err := ucan.New(config).Login(t.Context(), in); ucan.KindOf(err) != ucan.Unavailable {
		t.Errorf("got %v, want %s", err, ucan.Unavailable)
	}
	th := &throttle{}
	th.closed.Store(true)
	config.Throttle = th
	if _, err := ucan.New(config).Login(t.Context(), in); ucan.KindOf(err) != ucan.Throttled {
		t.Errorf("got %v, want %s", err, ucan.Throttled)
	}
}
