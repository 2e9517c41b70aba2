package credential_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// Rights over a credential go with its oracle, not with whoever asked for it.
func TestRightsFollowTheOracle(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		r := v.issue(t, "")
		id := r.text("id")
		if got := v.want(t, "judge", "GET "+entityAt(id), "", "200").body["controllers"].([]any); len(got) != 1 || got[0] != v.oracle {
			t.Errorf("the credential shows the controllers %v, want its oracle", got)
		}
		v.want(t, "judge", "POST "+entityAt(v.oracle)+"/transfer", `{"controller":"did:key:heir"}`, "200")
		at := "POST /v1/credentials/" + id
		v.want(t, "judge", at+"/suspend", `{}`, "403 NOT_CONTROLLER")
		v.want(t, "judge", "POST "+entityAt(id)+"/transitions", `{"to":"suspended"}`, "403 NOT_CONTROLLER")
		v.want(t, "judge", "PATCH "+entityAt(id), `{"metadata":{"note":"mine"}}`, "403 NOT_CONTROLLER")
		v.want(t, "heir", at+"/suspend", `{}`, "200")
		v.want(t, "judge", "POST "+entityAt(id)+"/transfer", `{"controller":"did:key:judge"}`, "200")
		v.want(t, "judge", at+"/reinstate", `{}`, "403 NOT_CONTROLLER")
		v.want(t, "heir", at+"/reinstate", `{}`, "200")
	})
}

// What a credential is signed by is one of the known ways, or refused by name.
func TestSigningOptions(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		claim := v.approved(t)
		for options, want := range map[string]string{
			`{"cryptosuite":"ecdsa-jcs-2019"}`:                                  "400 CREDENTIAL_INVALID /options/cryptosuite",
			`{"envelope":"text/plain"}`:                                         "400 CREDENTIAL_INVALID /options/envelope",
			`{"envelope":"application/vc+jwt","cryptosuite":"eddsa-rdfc-2022"}`: "400 CREDENTIAL_INVALID /options/cryptosuite",
			`{"mandatoryPointers":[]}`:                                          "400 UNKNOWN_MEMBER /options/mandatoryPointers",
		} {
			answer, pointer := want[:strings.LastIndex(want, " ")], want[strings.LastIndex(want, " ")+1:]
			if r := v.want(t, "judge", "POST /v1/credentials", `{"claim":"`+claim+`","options":`+options+`}`, answer); !strings.Contains(r.raw, `"`+pointer+`"`) {
				t.Errorf("%s: %s, want the field %s", options, r.raw, pointer)
			}
		}
	})
}

// Whoever is erased is named in the record of a credential no more; the signed document
// stays, and verifies.
func TestErasure(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, base)
		r := v.issue(t, "")
		if twin := v.want(t, "judge", "GET "+entityAt(r.text("id")), "", "200").raw; strings.Contains(twin, v.home) {
			t.Errorf("the twin of the credential names the household: %s", twin)
		}
		path := strings.TrimPrefix(r.text("page"), base)
		before := v.want(t, "nobody", "GET "+path+"/credential", "", "200").raw
		page := v.want(t, "nobody", "GET "+path, "", "200").raw
		for range 2 { // a second time finds nothing left
			if err := d.InTx(t.Context(), func(tx *db.Tx) error {
				_, err := v.credentials.Erase(t.Context(), tx, "ws", v.home)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		again := v.want(t, "judge", "GET /v1/credentials/"+r.text("id"), "", "200")
		if strings.Contains(again.raw, v.home) || !strings.HasPrefix(again.text("subject"), "urn:hearth:pseudonym:") {
			t.Errorf("the record is %s", again.raw)
		}
		if after := v.want(t, "nobody", "GET "+path+"/credential", "", "200").raw; after != before {
			t.Errorf("the document was %s and is %s", before, after)
		}
		if got := v.want(t, "nobody", "GET "+path, "", "200").raw; got != page {
			t.Error("the page shows something else")
		}
		reasons, _ := v.verify(t, again)
		wantCodes(t, "after the erasure", reasons)
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM credentials WHERE says LIKE '%' || $1 || '%' OR subject <> 0`, v.home).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows name the household (%v)", n, err)
		}
	})
}

// A status list keeps its address when the server gets a name; new credentials go to
// another list.
func TestListKeepsItsAddress(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		old := v.issue(t, "")
		w := newEnv(t, d, base)
		w.home, w.oracle, w.month = v.home, v.oracle, v.month
		w.want(t, "judge", "POST /v1/credentials/"+old.text("id")+"/revoke", `{}`, "200")
		address := listOf(old)
		if !strings.HasPrefix(address, "urn:hearth:status-list:") {
			t.Fatalf("the list is %s", address)
		}
		list := w.want(t, "nobody", "GET /v1/status-lists/"+strings.TrimPrefix(address, "urn:hearth:status-list:"), "", "200")
		if list.text("id") != address {
			t.Errorf("the list calls itself %s, and the credential %s", list.text("id"), address)
		}
		reasons, _ := w.verify(t, old)
		wantCodes(t, "the older one", reasons, "revoked")
		fresh := listOf(w.issue(t, ""))
		if !strings.HasPrefix(fresh, base+"/v1/status-lists/") || strings.HasSuffix(fresh, strings.TrimPrefix(address, "urn:hearth:status-list:")) {
			t.Errorf("the new list is %s, the older one %s", fresh, address)
		}
	})
}

// A list speaks for its own issuer and for the places it has; anything else would pass
// for "not revoked".
func TestPlacesOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, base)
		list := listOf(v.issue(t, ""))
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		public, _ := key.Public().(ed25519.PublicKey)
		stranger := did.FromEd25519(public)
		says := func(issuer, place string) jsontext.Value {
			return jsontext.Value(`{"@context":["` + vc.ContextV2 + `"],"type":["VerifiableCredential"],"issuer":"` + issuer + `","credentialSubject":{"id":"did:example:subject"},` +
				`"credentialStatus":{"type":"BitstringStatusListEntry","statusPurpose":"revocation","statusListIndex":"` + place + `","statusListCredential":"` + list + `"}}`)
		}
		for name, tt := range map[string]struct {
			place, reason string
			own           bool
		}{
			"the last place":              {"131071", "", true},
			"one after the last":          {"131072", "status_invalid", true},
			"far outside":                 {"999999999999", "status_invalid", true},
			"the list of another issuer":  {"0", "status_invalid", false},
			"both another's and outside":  {"999999999999", "status_invalid", false},
			"more than a number can hold": {"99999999999999999999", "status_invalid", true},
		} {
			doc, err := vc.Signer{Key: key, Method: vc.MethodOf(stranger)}.Sign(says(stranger.String(), tt.place), vc.Proof{Created: v.now})
			if tt.own {
				doc, err = v.credentials.SignFor(webCaller(t, "judge"), v.oracle, func(issuer string) (jsontext.Value, error) { return says(issuer, tt.place), nil })
			}
			if err != nil {
				t.Fatal(err)
			}
			reasons, _ := v.verifyDocument(t, doc)
			wantCodes(t, name, reasons, strings.Fields(tt.reason)...)
		}
	})
}

func listOf(r reply) string {
	entry := r.body["verifiableCredential"].(map[string]any)["credentialStatus"].([]any)[0].(map[string]any)
	return entry["statusListCredential"].(string)
}

// The page says names before ids, and who asks for nothing gets a page, too.
func TestPageForPeople(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		v.oracle = v.want(t, "judge", "POST /v1/entities", `{"type":"oracle","protocol":"did:ixo:protocol/oracle","metadata":{"name":"Kitui Verifiers"},"properties":{"name":"Kitui Verifiers"}}`, "201").text("did")
		page := v.want(t, "nobody", "GET "+v.issue(t, "").text("page"), "", "200").raw
		for _, part := range []string{"Kitui Verifiers", "Fuel saved", "did:key:z6Mk"} {
			if !strings.Contains(page, part) {
				t.Errorf("the page lacks %q", part)
			}
		}
		for lang, want := range map[string]string{"en": "No such credential", "sw": "Hakuna cheti kama hicho", "": "No such credential"} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/c/"+strings.Repeat("a", 32), nil)
			r.Header.Set("Accept", "text/html,application/xhtml+xml")
			r.Header.Set("Accept-Language", lang)
			w := httptest.NewRecorder()
			v.h.ServeHTTP(w, r)
			if w.Code != 404 || !strings.Contains(w.Body.String(), want) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
				t.Errorf("in %q: %d %s", lang, w.Code, w.Body)
			}
		}
	})
}
