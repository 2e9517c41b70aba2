package ucan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

var update = flag.Bool("update", false, "write testdata/minted.json; then let gen/check.mjs look at it")

const (
	user    did.DID = "did:ixo:ixo1user00000000000000000000000000000000000"
	oracle  did.DID = "did:ixo:ixo1oracle000000000000000000000000000000000"
	service did.DID = "did:web:svc.example"
)

var goldenNow = time.Unix(1893456000, 0)

type minted struct {
	Now     int64                 `json:"now"`
	Resolve map[did.DID][]did.DID `json:"resolve"`
	Cases   []mintedCase          `json:"cases"`
}

type mintedCase struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Token    string    `json:"token"`
	Issuer   did.DID   `json:"issuer"`
	Audience did.DID   `json:"audience"`
	CID      string    `json:"cid"`
	Can      string    `json:"can,omitempty"`
	With     string    `json:"with,omitempty"`
	Roots    []did.DID `json:"roots,omitempty"`
}

func (m *minted) add(name, kind string, t *ucan.Token) *mintedCase {
	m.Cases = append(m.Cases, mintedCase{Name: name, Kind: kind, Token: t.Text(), Issuer: t.Issuer, Audience: t.Audience, CID: t.CID.String()})
	return &m.Cases[len(m.Cases)-1]
}

// mintAll mints one token of each sort, with facts that are hard to write.
func mintAll(t *testing.T) *minted {
	t.Helper()
	alice, me, self := signer(t, user, 1), signer(t, oracle, 2), signer(t, "", 1)
	out := &minted{Now: goldenNow.Unix(), Resolve: map[did.DID][]did.DID{
		user: {self.DID()}, oracle: {signer(t, "", 2).DID()}, service: {signer(t, "", 6).DID()},
	}}
	login := []ucan.Capability{{Can: "*", With: "ixo:oracle"}}
	soon, later := goldenNow.Add(10*time.Minute), goldenNow.Add(24*time.Hour)
	awkward := []map[string]any{{
		"null": nil, "float": 1.25e-7, "big": 1e20, "huge": 1e21, "whole": 100.0, "int": -7, "most": uint64(1<<64 - 1),
		"text": "<>&\"\\\x00\x1f\u2028 é 漢 😀", "😀": 1, "\ufb01": 2, "bytes": []byte{0, 255}, "list": []any{true, false, []any{}},
		"nested": map[string]any{"b": map[string]any{}, "aa": 1, "link": codec.Sum(codec.Raw, []byte("x"))}, "": "",
	}}
	out.add("auth_didkey", "auth", mint(t, self, ucan.Draft{Audience: oracle, Capabilities: login, Expires: soon}))
	out.add("auth_didixo", "auth", mint(t, alice, ucan.Draft{Audience: oracle, Capabilities: login, Expires: soon, Nonce: "n", NotBefore: goldenNow.Add(-time.Second)}))
	out.add("auth_awkward_facts", "auth", mint(t, self, ucan.Draft{Audience: oracle, Capabilities: login, Expires: soon, Facts: awkward}))
	grant := mint(t, alice, ucan.Draft{Audience: oracle, Expires: later, Capabilities: []ucan.Capability{
		{Can: "memory/*", With: "ixo:memory"}, {Can: "fs/*", With: "ixo:filesystem/*", NB: map[string]any{"room": "a", "n": 1}},
	}})
	out.add("delegation", "delegation", grant)
	out.add("delegation_endless", "delegation", mint(t, alice, ucan.Draft{Audience: oracle, Capabilities: grant.Capabilities}))
	call, err := me.Downstream(goldenNow, ucan.Call{
		Grant: grant, Service: service, Capability: ucan.Capability{Can: "memory/read", With: "ixo:memory"},
		TTL: time.Hour, Nonce: "11111111-2222-3333-4444-555555555555",
	})
	if err != nil {
		t.Fatalf("downstream: %v", err)
	}
	c := out.add("downstream", "claim", call)
	c.Can, c.With, c.Roots = "memory/read", "ixo:memory", []did.DID{user}
	return out
}

// TestMinted wants the very bytes that the JavaScript validator has accepted.
func TestMinted(t *testing.T) {
	t.Parallel()
	got, err := json.MarshalIndent(mintAll(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile("testdata/minted.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/minted.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("minted tokens changed; got\n%s\nwant\n%s", got, want)
	}
}

// TestVectors reads the tokens of the original and mints its last one again.
func TestVectors(t *testing.T) {
	t.Parallel()
	var vectors []struct{ Name, CID, Token string }
	readJSON(t, "vectors.json", &vectors)
	byName := map[string]*ucan.Token{}
	for _, v := range vectors {
		token, err := ucan.Parse(v.Token)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if token.CID.String() != v.CID || token.Text() != v.Token {
			t.Errorf("%s: CID %s, want %s; text the same: %v", v.Name, token.CID, v.CID, token.Text() == v.Token)
		}
		again := mint(t, signerFor(t, token.Issuer), draftOf(t, token))
		if again.Text() != v.Token {
			t.Errorf("%s: minted again it is %s, want %s", v.Name, again.Text(), v.Token)
		}
		byName[v.Name] = token
	}
	got, err := signer(t, oracle, 2).Downstream(goldenNow, ucan.Call{
		Grant: byName["delegation"], Service: service, Capability: ucan.Capability{Can: "memory/read", With: "ixo:memory"},
		TTL: 100 * 365 * 24 * time.Hour, Nonce: "11111111-2222-3333-4444-555555555555",
	})
	if err != nil || got.Text() != byName["downstream"].Text() {
		t.Errorf("Downstream() = %v, want the vector", err)
	}
}

func signerFor(t *testing.T, id did.DID) *ucan.Signer {
	t.Helper()
	switch id {
	case oracle:
		return signer(t, oracle, 2)
	case user:
		return signer(t, user, 1)
	}
	return signer(t, "", 1)
}

func TestVectorsAreTooLongToLogIn(t *testing.T) {
	t.Parallel()
	var vectors []struct{ Name, Token string }
	readJSON(t, "vectors.json", &vectors)
	config := loadGolden(t).config(t)
	for _, v := range vectors[:2] {
		if _, err := ucan.New(config).Auth(t.Context(), v.Token); ucan.KindOf(err) != ucan.TooLong {
			t.Errorf("%s: got %v, want %s", v.Name, err, ucan.TooLong)
		}
		patient := config
		patient.AuthTTL = 100 * 365 * 24 * time.Hour
		if _, err := ucan.New(patient).Auth(t.Context(), v.Token); err != nil {
			t.Errorf("%s with a higher limit: got %v, want none", v.Name, err)
		}
	}
}

func TestKeyFromMnemonic(t *testing.T) {
	t.Parallel()
	// sha256("abc") as a seed; the DID comes from the JavaScript libraries.
	const want did.DID = "did:key:z6MkfFc2pyzEeLavYs6hVw96UtS7SqEKvTMNXsgModuiTAxZ"
	s, err := ucan.NewSigner("", ucan.KeyFromMnemonic(" \n abc\t"))
	if err != nil || s.DID() != want {
		t.Errorf("KeyFromMnemonic: DID %s (%v), want %s", s.DID(), err, want)
	}
}

func TestMintRefuses(t *testing.T) {
	t.Parallel()
	good := ucan.Draft{Audience: oracle, Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}, Expires: goldenNow}
	deep := map[string]any{}
	for range 40 {
		deep = map[string]any{"x": deep}
	}
	for _, tt := range []struct {
		name   string
		change func(d *ucan.Draft)
		want   ucan.Kind
	}{
		{"good", func(*ucan.Draft) {}, ""},
		{"no capability", func(d *ucan.Draft) { d.Capabilities = nil }, ucan.Malformed},
		{"no audience", func(d *ucan.Draft) { d.Audience = "" }, ucan.Malformed},
		{"audience with another key", func(d *ucan.Draft) { d.Audience = "did:key:z4MXj1wBzi9jUstyP" }, ucan.Malformed},
		{"ability", func(d *ucan.Draft) { d.Capabilities = []ucan.Capability{{Can: "call", With: "ixo:x"}} }, ucan.Malformed},
		{"ability ends in a slash", func(d *ucan.Draft) { d.Capabilities = []ucan.Capability{{Can: "call/", With: "ixo:x"}} }, ucan.Malformed},
		{"resource", func(d *ucan.Draft) { d.Capabilities = []ucan.Capability{{Can: "*", With: "oracle"}} }, ucan.Malformed},
		{"scheme", func(d *ucan.Draft) { d.Capabilities = []ucan.Capability{{Can: "*", With: "1xo:oracle"}} }, ucan.Malformed},
		{"control in a resource", func(d *ucan.Draft) { d.Capabilities = []ucan.Capability{{Can: "*", With: "ixo:a\nb"}} }, ucan.Malformed},
		{"fact type", func(d *ucan.Draft) { d.Facts = []map[string]any{{"x": struct{}{}}} }, ucan.Malformed},
		{"fact not UTF-8", func(d *ucan.Draft) { d.Facts = []map[string]any{{"x": "\xff"}} }, ucan.Malformed},
		{"fact that looks like a link", func(d *ucan.Draft) { d.Facts = []map[string]any{{"x": map[string]any{"/": "b"}}} }, ucan.Malformed},
		{"fact too deep", func(d *ucan.Draft) { d.Facts = []map[string]any{deep} }, ucan.Malformed},
		{"before 1970", func(d *ucan.Draft) { d.Expires = time.Unix(-1, 0) }, ucan.Malformed},
		{"too large", func(d *ucan.Draft) { d.Facts = []map[string]any{{"x": strings.Repeat("x", 64<<10)}} }, ucan.TooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := good
			tt.change(&d)
			if _, err := signer(t, user, 1).Mint(d); ucan.KindOf(err) != tt.want {
				t.Errorf("Mint() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNewSignerRefuses(t *testing.T) {
	t.Parallel()
	for _, id := range []did.DID{"nobody", signer(t, "", 2).DID()} {
		if _, err := ucan.NewSigner(id, seedKey(1)); ucan.KindOf(err) != ucan.Malformed {
			t.Errorf("NewSigner(%s) = %v, want %s", id, err, ucan.Malformed)
		}
	}
	if _, err := ucan.NewSigner("", nil); err == nil {
		t.Error("NewSigner without a key: got no error")
	}
}

func TestDownstream(t *testing.T) {
	t.Parallel()
	alice, me := signer(t, user, 1), signer(t, oracle, 2)
	memory := []ucan.Capability{{Can: "memory/*", With: "ixo:memory"}}
	grant := mint(t, alice, ucan.Draft{Audience: oracle, Capabilities: memory, Expires: goldenNow.Add(10 * time.Minute)})
	foreign := mint(t, alice, ucan.Draft{Audience: service, Capabilities: memory, Expires: goldenNow.Add(time.Hour)})
	read := ucan.Capability{Can: "memory/read", With: "ixo:memory"}
	for _, tt := range []struct {
		name string
		call ucan.Call
		now  time.Time
		want ucan.Kind
		ends time.Duration
	}{
		{"ends with the call", ucan.Call{Grant: grant, Capability: read, TTL: time.Minute}, goldenNow, "", time.Minute},
		{"ends with the grant", ucan.Call{Grant: grant, Capability: read, TTL: time.Hour}, goldenNow, "", 10 * time.Minute},
		{"grant has ended", ucan.Call{Grant: grant, Capability: read, TTL: time.Hour}, goldenNow.Add(10 * time.Minute), ucan.Expired, 0},
		{"no time", ucan.Call{Grant: grant, Capability: read}, goldenNow, ucan.Expired, 0},
		{"more than given", ucan.Call{Grant: grant, Capability: ucan.Capability{Can: "*", With: "ixo:memory"}, TTL: time.Hour}, goldenNow, ucan.NotCapable, 0},
		{"other resource", ucan.Call{Grant: grant, Capability: ucan.Capability{Can: "memory/read", With: "ixo:mem"}, TTL: time.Hour}, goldenNow, ucan.NotCapable, 0},
		{"given to another", ucan.Call{Grant: foreign, Capability: read, TTL: time.Hour}, goldenNow, ucan.WrongAudience, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.call.Service = service
			got, err := me.Downstream(tt.now, tt.call)
			if ucan.KindOf(err) != tt.want {
				t.Fatalf("Downstream() = %v, want %q", err, tt.want)
			}
			if err != nil {
				return
			}
			if ends := got.Expires().Sub(goldenNow); ends != tt.ends {
				t.Errorf("ends after %v, want %v", ends, tt.ends)
			}
			again, err := me.Downstream(tt.now, tt.call)
			if err != nil || maps.Equal(got.Facts()[0], again.Facts()[0]) || got.CID == again.CID {
				t.Errorf("two calls have one nonce (%v): %v", err, got.Facts())
			}
		})
	}
}
