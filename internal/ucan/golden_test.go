package ucan_test

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// golden is testdata/golden.json: tokens made by the JavaScript libraries, what
// the original says about them (js) and what we must say.
type golden struct {
	Now     int64
	Server  did.DID
	Resolve map[did.DID][]did.DID
	Cases   []goldenCase
}

type goldenCase struct {
	Name, Kind, Token string
	Accept            bool
	Reason            ucan.Kind
	Can, With         string
	Roots             []did.DID
	JS                struct {
		Accept bool
		Issuer did.DID
		CID    string
	}
}

func loadGolden(t testing.TB) *golden {
	t.Helper()
	var g golden
	readJSON(t, "golden.json", &g)
	return &g
}

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (g *golden) token(t testing.TB, name string) string {
	t.Helper()
	for _, c := range g.Cases {
		if c.Name == name {
			return c.Token
		}
	}
	t.Fatalf("no golden case %q", name)
	return ""
}

func (g *golden) config(t testing.TB) ucan.Config {
	t.Helper()
	keys := ucan.Static{}
	for id, list := range g.Resolve {
		for _, k := range list {
			key, err := k.Ed25519()
			if err != nil {
				t.Fatalf("key %s: %v", k, err)
			}
			keys[id] = append(keys[id], key)
		}
	}
	return ucan.Config{DID: g.Server, Resolver: keys, Now: func() time.Time { return time.Unix(g.Now, 0) }}
}

func judge(t *testing.T, c *ucan.Checker, tt goldenCase) (*ucan.Grant, error) {
	switch tt.Kind {
	case "auth":
		return c.Auth(t.Context(), tt.Token)
	case "delegation":
		return c.Delegation(t.Context(), tt.Token)
	}
	return c.Claim(t.Context(), tt.Token, ucan.Want{Can: tt.Can, With: tt.With, Roots: tt.Roots})
}

func TestGolden(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	checker := ucan.New(g.config(t))
	if len(g.Cases) < 54 {
		t.Fatalf("%d golden cases, want at least 54", len(g.Cases))
	}
	for _, tt := range g.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			for _, try := range []string{"first", "again"} {
				got, err := judge(t, checker, tt)
				if (err == nil) != tt.Accept || ucan.KindOf(err) != tt.Reason {
					t.Fatalf("%s: got %v, want accept %v with reason %q", try, err, tt.Accept, tt.Reason)
				}
				if err == nil && (got.Issuer != tt.JS.Issuer || got.CID != tt.JS.CID) {
					t.Errorf("%s: got issuer %s and CID %s, JavaScript has %s and %s", try, got.Issuer, got.CID, tt.JS.Issuer, tt.JS.CID)
				}
			}
			if tt.Accept && !tt.JS.Accept {
				t.Errorf("JavaScript refuses this token, we must not accept it")
			}
		})
	}
}

// TestStricterThanJavaScript lists where we refuse what the original takes, so
// that nothing joins the list unseen.
func TestStricterThanJavaScript(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"inv_caps_apart":         "the ability and the resource come from two capabilities",
		"inv_unsigned_member":    "one signature, two CIDs",
		"inv_empty_nonce":        "one signature, two CIDs",
		"inv_fake_cid":           "a block does not have its CID",
		"inv_with_expired_proof": "the chain has ended",
		"del_exp_now":            "the same rule of time as for invocations",
		"del_no_exp":             "a delegation must end",
		"del_over_year":          "and within a year",
		"del_nbf_future":         "not before counts",
		"del_chain_future_proof": "not before counts",
		"del_chain_escalate":     "nobody gives more than they have",
		"del_chain_drops_caveat": "nobody gives more than they have",
	}
	for _, c := range loadGolden(t).Cases {
		if _, listed := want[c.Name]; c.JS.Accept && !c.Accept != listed {
			t.Errorf("%s: JavaScript accepts, we say %v; listed here: %v", c.Name, c.Accept, listed)
		}
	}
}

// TestGoldenMintedAgain mints what JavaScript minted and wants the same bytes.
func TestGoldenMintedAgain(t *testing.T) {
	t.Parallel()
	g := loadGolden(t)
	keys := map[string]ed25519.PrivateKey{}
	for i := byte(1); i <= 5; i++ {
		key := seedKey(i)
		keys[string(did.FromEd25519(key.Public().(ed25519.PublicKey)))] = key
	}
	count := 0
	for _, tt := range g.Cases {
		if !tt.JS.Accept || !tt.Accept || tt.Name == "inv_car_with_jwt" || tt.Name == "inv_upper_can" || tt.Name == "inv_with_missing_proof" {
			continue
		}
		token, err := ucan.Parse(tt.Token)
		if err != nil {
			t.Fatalf("%s: %v", tt.Name, err)
		}
		if token.Text() != canonical(tt.Token) {
			t.Errorf("%s: Text() = %s, want %s", tt.Name, token.Text(), canonical(tt.Token))
		}
		again, err := signerOf(t, g, keys, token).Mint(draftOf(t, token))
		if err != nil {
			t.Errorf("%s: mint: %v", tt.Name, err)
		} else if again.CID != token.CID && tt.Name != "inv_two_keys_second" {
			t.Errorf("%s: minted again it is %s, want %s", tt.Name, again.CID, token.CID)
		}
		count++
	}
	if count < 20 {
		t.Errorf("minted %d tokens again, want at least 20", count)
	}
}
