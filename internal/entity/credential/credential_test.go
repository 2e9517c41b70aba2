package credential_test

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func wantCodes(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// What is issued verifies, in every form, under a did:web or a did:key, and holds
// nothing of the household.
func TestIssued(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for _, public := range []string{base, ""} {
			v := newEnv(t, d, public)
			for _, options := range []string{"", `,"options":{"cryptosuite":"eddsa-rdfc-2022"}`, `,"options":{"envelope":"application/vc+jwt"}`} {
				r := v.issue(t, options)
				reasons, warnings := v.verify(t, r)
				wantCodes(t, public+options, reasons)
				wantCodes(t, public+options+" warnings", warnings)
				doc, err := json.Marshal(r.body["verifiableCredential"])
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{v.home, "Mary", "photo", "did:ixo:entity", "did:key:owner", "did:key:judge", r.text("claimCid")} {
					if strings.Contains(string(doc), secret) {
						t.Errorf("%s%s: the document has %q: %s", public, options, secret, doc)
					}
				}
				if options == "" {
					changed := strings.Replace(string(doc), "12.5", "5000", 1)
					reasons, _ := v.verifyDocument(t, []byte(changed))
					wantCodes(t, "changed", reasons, "signature_invalid")
				}
			}
			if got := v.want(t, "owner", "GET "+entityAt(v.home), "", "200").body["verifiableCredential"].([]any); len(got) != 3 {
				t.Errorf("the household shows %v, want three credentials", got)
			}
		}
	})
}

// The document has the issuer that its setting gives, and its own key alone.
func TestIssuerNames(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, base)
		doc := v.issue(t, "").body["verifiableCredential"].(map[string]any)
		want := "did:web:hearth.example.org:entities:" + strings.TrimPrefix(v.oracle, "did:ixo:entity:")
		method := doc["proof"].(map[string]any)["verificationMethod"].(string)
		if doc["issuer"] != want || !strings.HasPrefix(method, want+"#z6Mk") || !strings.HasPrefix(doc["id"].(string), base+"/c/") {
			t.Errorf("issuer %v, method %s, id %v; want %s", doc["issuer"], method, doc["id"], want)
		}
		m, ok, err := v.credentials.Method(t.Context(), method)
		if err != nil || !ok || !slices.Equal(m.Purposes, []string{vc.Assertion}) || m.Controller != want {
			t.Errorf("Method() = %+v, %v, %v", m, ok, err)
		}
		w := newEnv(t, d, "")
		doc = w.issue(t, "").body["verifiableCredential"].(map[string]any)
		if !strings.HasPrefix(doc["issuer"].(string), "did:key:z6Mk") || !strings.HasPrefix(doc["id"].(string), "urn:uuid:") {
			t.Errorf("issuer %v, id %v", doc["issuer"], doc["id"])
		}
	})
}

// A step of the twin, by whichever route, is in verification at once and in the public
// lists within a minute.
func TestStates(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, base)
		r := v.issue(t, "")
		id := r.text("id")
		at := "POST /v1/credentials/" + id
		v.want(t, "owner", at+"/revoke", `{}`, "403 NOT_CONTROLLER")
		v.want(t, "stranger", at+"/revoke", `{}`, "404 CREDENTIAL_NOT_FOUND")
		v.want(t, "limited", at+"/revoke", `{}`, "404 CREDENTIAL_NOT_FOUND")
		for _, step := range []struct{ request, body, status, reasons string }{
			{at + "/suspend", `{"reason":"a doubt"}`, "suspended", "suspended"},
			{at + "/reinstate", `{}`, "active", ""},
			{"POST " + entityAt(id) + "/transitions", `{"to":"suspended"}`, "suspended", "suspended"},
			{at + "/revoke", `{}`, "revoked", "revoked suspended"},
		} {
			v.want(t, "judge", step.request, step.body, "200")
			if got := v.want(t, "judge", "GET /v1/credentials/"+id, "", "200").text("status"); got != step.status {
				t.Errorf("after %s it is %s, want %s", step.request, got, step.status)
			}
			reasons, _ := v.verify(t, r)
			wantCodes(t, step.request, reasons, strings.Fields(step.reasons)...)
			v.now = v.now.Add(time.Minute)
			if got := v.listed(t, r); got != step.reasons {
				t.Errorf("after %s the lists say %q, want %q", step.request, got, step.reasons)
			}
		}
		v.want(t, "judge", at+"/reinstate", `{}`, "409 STATE_TRANSITION_INVALID")
		other := v.want(t, "judge", "POST /v1/credentials", `{"claim":"`+r.text("claim")+`"}`, "201")
		v.want(t, "judge", "POST /v1/credentials/"+other.text("id")+"/retire", `{}`, "200")
		v.want(t, "judge", "POST /v1/credentials/"+other.text("id")+"/revoke", `{}`, "409 CREDENTIAL_RETIRED")
		reasons, warnings := v.verify(t, other)
		wantCodes(t, "retired", reasons)
		wantCodes(t, "retired", warnings, "retired")
		if doc, _ := other.body["verifiableCredential"].(map[string]any); doc != nil { // it stays so with what no proof covers
			contexts, _ := doc["@context"].([]any)
			doc["@context"] = append(contexts, map[string]any{"zzz": "urn:x:z"})
		}
		_, warnings = v.verify(t, other)
		wantCodes(t, "retired, with a context more", warnings, "context_appended", "retired")
		revision, _ := v.want(t, "judge", "GET "+entityAt(r.text("claim")), "", "200").body["revision"].(float64)
		v.want(t, "judge", "POST "+entityAt(r.text("claim"))+"/verification", fmt.Sprintf(`{"status":"revoked","revision":%.0f,"reason":"to count it again"}`, revision), "409 ACTIVE_DEPENDANTS")
	})
}

// listed reads the public lists of a credential and names the bits that are set.
func (v *env) listed(t testing.TB, r reply) string {
	t.Helper()
	var set []string
	for _, e := range r.body["verifiableCredential"].(map[string]any)["credentialStatus"].([]any) {
		entry := e.(map[string]any)
		address := strings.TrimPrefix(entry["statusListCredential"].(string), base)
		list := v.want(t, "nobody", "GET "+address, "", "200")
		reasons, _ := v.verifyDocument(t, []byte(list.raw))
		wantCodes(t, "the list", reasons)
		var place int
		if _, err := fmt.Sscan(entry["statusListIndex"].(string), &place); err != nil {
			t.Fatal(err)
		}
		on, err := (vc.StatusPlace{Purpose: entry["statusPurpose"].(string), Place: place}).In([]byte(list.raw))
		if err != nil {
			t.Fatal(err)
		}
		if on {
			set = append(set, map[string]string{"revocation": "revoked", "suspension": "suspended"}[entry["statusPurpose"].(string)])
		}
	}
	return strings.Join(set, " ")
}

// A dispute suspends, and its decision alone lifts that.
func TestDispute(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		r := v.issue(t, "")
		var nid int64
		if err := d.QueryRow(t.Context(), `SELECT claim FROM credentials WHERE did = $1`, r.text("id")).Scan(&nid); err != nil {
			t.Fatal(err)
		}
		step := func(what string, f func(tx *db.Tx) error, want ...string) {
			t.Helper()
			ctx := webCaller(t, "arbiter")
			if err := d.InTx(ctx, f); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			reasons, _ := v.verify(t, r)
			wantCodes(t, what, reasons, want...)
		}
		ctx := webCaller(t, "arbiter")
		at := "POST /v1/credentials/" + r.text("id")
		step("disputed", func(tx *db.Tx) error { return v.credentials.Suspend(ctx, tx, nid) }, "suspended")
		v.want(t, "judge", at+"/reinstate", `{}`, "409 CREDENTIAL_DISPUTED")
		v.want(t, "judge", "POST "+entityAt(r.text("id"))+"/transitions", `{"to":"active"}`, "409 CREDENTIAL_DISPUTED")
		step("dismissed", func(tx *db.Tx) error { return v.credentials.Reinstate(ctx, tx, nid) })
		v.want(t, "judge", at+"/suspend", `{}`, "200")
		step("disputed again", func(tx *db.Tx) error { return v.credentials.Suspend(ctx, tx, nid) }, "suspended")
		step("dismissed again", func(tx *db.Tx) error { return v.credentials.Reinstate(ctx, tx, nid) }, "suspended")
		v.want(t, "judge", at+"/reinstate", `{}`, "200")
		step("upheld", func(tx *db.Tx) error { return v.credentials.Revoke(ctx, tx, nid) }, "revoked")
		retired := v.issue(t, "")
		v.want(t, "judge", "POST /v1/credentials/"+retired.text("id")+"/retire", `{}`, "200")
		if err := d.QueryRow(t.Context(), `SELECT claim FROM credentials WHERE did = $1`, retired.text("id")).Scan(&nid); err != nil {
			t.Fatal(err)
		}
		r = retired
		step("a retired one", func(tx *db.Tx) error { return v.credentials.Revoke(ctx, tx, nid) }, "revoked")
	})
}

// Old signatures stay good after a rotation. A stolen key counts for what was issued
// here before it was.
func TestRotation(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for _, public := range []string{base, ""} {
			v := newEnv(t, d, public)
			keys := entityAt(v.oracle) + "/issuer-keys"
			old := v.issue(t, "")
			v.want(t, "owner", "POST "+keys, `{}`, "403 NOT_CONTROLLER")
			v.want(t, "stranger", "POST "+keys, `{}`, "404 ENTITY_NOT_FOUND")
			v.want(t, "owner", "POST "+entityAt(v.home)+"/issuer-keys", `{}`, "409 NOT_AN_ORACLE")
			v.want(t, "judge", "POST "+keys, `{"compromisedSince":"2999-01-01T00:00:00Z"}`, "400 ISSUER_KEY_INVALID")
			v.want(t, "judge", "POST "+keys, `{"key":"did:key:z#z"}`, "400 ISSUER_KEY_INVALID")
			v.want(t, "judge", "POST "+keys, `{"reason":"yearly"}`, "201")
			reasons, _ := v.verify(t, old)
			wantCodes(t, "after a rotation", reasons)
			v.now = v.now.Add(time.Hour)
			before := v.issue(t, "")
			v.now = v.now.Add(time.Hour)
			since := v.now.UTC().Format(time.RFC3339)
			v.now = v.now.Add(time.Hour)
			after := v.issue(t, "")
			v.want(t, "judge", "POST "+keys, `{"compromisedSince":"`+since+`"}`, "201")
			reasons, warnings := v.verify(t, before)
			wantCodes(t, "before", reasons)
			wantCodes(t, "before", warnings, "key_compromised_later")
			reasons, _ = v.verify(t, after)
			wantCodes(t, "after", reasons, "key_compromised")
			fresh := v.issue(t, "")
			reasons, _ = v.verify(t, fresh)
			wantCodes(t, "with the new key", reasons)
			all := v.want(t, "judge", "GET "+keys, "", "200").body["items"].([]any)
			var states []string
			for _, k := range all {
				states = append(states, k.(map[string]any)["status"].(string))
			}
			wantCodes(t, "keys", states, "current", "compromised", "ended")
		}
	})
}

// Each credential has a place of its own, drawn at random, and its own pseudonym.
func TestPlaces(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		places, names := map[string]bool{}, map[string]bool{}
		for range 12 {
			doc := v.issue(t, "").body["verifiableCredential"].(map[string]any)
			places[doc["credentialStatus"].([]any)[0].(map[string]any)["statusListIndex"].(string)] = true
			names[doc["credentialSubject"].(map[string]any)["id"].(string)] = true
		}
		if len(places) != 12 || len(names) != 12 {
			t.Errorf("%d places and %d pseudonyms, want 12: %v", len(places), len(names), slices.Sorted(maps.Keys(places)))
		}
		total := 0
		for p := range places {
			var n int
			if _, err := fmt.Sscan(p, &n); err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if total < 12*1000 {
			t.Errorf("the places are %v: not drawn from all", slices.Sorted(maps.Keys(places)))
		}
	})
}

func TestListCredentials(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		a, b := v.issue(t, ""), v.issue(t, "")
		v.want(t, "judge", "POST /v1/credentials/"+a.text("id")+"/revoke", `{}`, "200")
		for path, want := range map[string]int{
			"/v1/credentials": 2, "/v1/credentials?status=active": 1, "/v1/credentials?status=revoked": 1, "/v1/credentials?status=retired": 0,
			"/v1/credentials?kind=fuel-saved": 2, "/v1/credentials?kind=Fuel-Saved": 2, "/v1/credentials?kind=other": 0, "/v1/credentials?limit=1": 1, "/v1/credentials?projectId=did:x:none": 0,
			entityAt(v.home) + "/credentials": 2, entityAt(v.oracle) + "/credentials": 2, entityAt(b.text("claim")) + "/credentials": 1,
		} {
			if got := v.want(t, "judge", "GET "+path, "", "200").body["items"].([]any); len(got) != want {
				t.Errorf("%s has %d items, want %d", path, len(got), want)
			}
		}
		for _, who := range []string{"stranger", "limited"} {
			if got := v.want(t, who, "GET /v1/credentials", "", "200").body["items"].([]any); len(got) != 0 {
				t.Errorf("%s sees %v", who, got)
			}
			v.want(t, who, "GET /v1/credentials/"+a.text("id"), "", "404 CREDENTIAL_NOT_FOUND")
			page := a.text("page")
			v.want(t, who, "GET /v1/credentials/"+page[strings.LastIndex(page, "/")+1:], "", "404 CREDENTIAL_NOT_FOUND")
		}
		page := b.text("page")
		if got := v.want(t, "judge", "GET /v1/credentials/"+page[strings.LastIndex(page, "/")+1:], "", "200"); got.text("id") != b.text("id") {
			t.Errorf("by its page: %v", got.body)
		}
		v.want(t, "judge", "GET /v1/credentials?status=odd", "", "400 INVALID_PARAMETER")
		for _, list := range []string{"x", strings.Repeat("a", 32) + "-revocation", strings.Repeat("a", 32)} {
			v.want(t, "nobody", "GET /v1/status-lists/"+list, "", "404 STATUS_LIST_NOT_FOUND")
		}
	})
}

// Everybody sees what a credential says and whether it stands, and nothing of people.
func TestPage(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for _, public := range []string{base, ""} {
			v := newEnv(t, d, public)
			r := v.issue(t, "")
			path := strings.TrimPrefix(r.text("page"), base)
			if len(path) != len("/c/")+32 {
				t.Fatalf("the page is %s, want 128 bits", r.text("page"))
			}
			page := v.want(t, "nobody", "GET "+path, "", "200").raw
			for _, part := range []string{"12.5 kg", "fuel-saved", "genuine and valid", "urn:hearth:pseudonym:"} {
				if !strings.Contains(page, part) {
					t.Errorf("the page lacks %q", part)
				}
			}
			if strings.Contains(page, "<svg") != (public != "") {
				t.Errorf("with the address %q, QR code: %v", public, strings.Contains(page, "<svg"))
			}
			for _, secret := range []string{v.home, "Mary", "photo", "did:key:owner", "did:key:judge", r.text("claim"), "<script"} {
				if strings.Contains(page, secret) {
					t.Errorf("the page has %q", secret)
				}
			}
			doc := v.want(t, "nobody", "GET "+path+"/credential", "", "200")
			reasons, _ := v.verifyDocument(t, []byte(doc.raw))
			wantCodes(t, "the document", reasons)
			v.want(t, "judge", "POST /v1/credentials/"+r.text("id")+"/revoke", `{}`, "200")
			if page := v.want(t, "nobody", "GET "+path, "", "200").raw; !strings.Contains(page, "Do not rely on") || !strings.Contains(page, "</span> Revoked") {
				t.Errorf("the page of a revoked one: %s", page)
			}
			request := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			request.Header.Set("Accept-Language", "sw")
			answer := httptest.NewRecorder()
			v.h.ServeHTTP(answer, request)
			if page := answer.Body.String(); !strings.Contains(page, "</span> Kimebatilishwa") || strings.Contains(page, "The issuer") {
				t.Errorf("in Kiswahili the page of a revoked one: %s", page)
			}
			v.want(t, "nobody", "GET /c/"+strings.Repeat("a", 32)+"/credential", "", "404 CREDENTIAL_NOT_FOUND")
		}
	})
}

// Where the claim type says so, the approval issues the credential, once.
func TestApprovalIssues(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		v.approved(t)
		if len(v.asked) != 0 {
			t.Fatalf("a type that says nothing issues %v", v.asked)
		}
		const body = `{"type":"Protocol","name":"home","domainType":"household","properties":{},"relationships":{},"claimTypes":{"fuel-saved":{"issue":"%s"}}}`
		v.want(t, "owner", "POST /v1/protocols", fmt.Sprintf(body, "never"), "400 PROTOCOL_INVALID")
		p := v.want(t, "owner", "POST /v1/protocols", fmt.Sprintf(body, "approval"), "201").text("did")
		v.want(t, "owner", "POST /v1/protocols/"+p+"/publish", "", "200")
		v.home = v.want(t, "owner", "POST /v1/entities", `{"type":"home","protocol":"`+p+`"}`, "201").text("did")
		id := v.approved(t)
		wantCodes(t, "asked", v.asked, id)
		for range 2 {
			if err := v.claims.IssueApproved(webCaller(t, "judge"), id); err != nil {
				t.Fatal(err)
			}
		}
		all := v.want(t, "judge", "GET "+entityAt(id)+"/credentials", "", "200").body["items"].([]any)
		if len(all) != 1 || all[0].(map[string]any)["issuer"] != v.oracle {
			t.Errorf("the claim became %v, want one credential of its oracle", all)
		}
	})
}

// A dispute that comes before the credential does not lose it: dismissed, it is issued.
// What somebody has revoked does not come back that way.
func TestDismissalIssues(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, "")
		p := v.want(t, "owner", "POST /v1/protocols", `{"type":"Protocol","name":"home","domainType":"household","properties":{},"relationships":{},"claimTypes":{"fuel-saved":{"issue":"approval"}}}`, "201").text("did")
		v.want(t, "owner", "POST /v1/protocols/"+p+"/publish", "", "200")
		v.home = v.want(t, "owner", "POST /v1/entities", `{"type":"home","protocol":"`+p+`"}`, "201").text("did")
		id := v.approved(t)
		disputed := func(who string) {
			t.Helper()
			disputes := "POST /v1/claims/" + url.PathEscape(id) + "/disputes"
			made := v.want(t, who, disputes, `{"reason":"sold"}`, "201").text("id")
			if err := v.claims.IssueApproved(webCaller(t, "judge"), id); err != nil {
				t.Fatal(err)
			}
			v.want(t, "elder", disputes+"/"+made+"/decision", `{"outcome":"dismissed","reason":"heard"}`, "200")
		}
		disputed("neighbour")
		wantCodes(t, "asked", v.asked, id, id)
		elder := web.Caller{Workspace: "ws", DID: "did:key:elder", Scopes: []string{"claims:adjudicate"}}
		if err := v.claims.IssueApproved(web.WithCaller(t.Context(), elder), id); err != nil {
			t.Fatal(err)
		}
		all := v.want(t, "judge", "GET "+entityAt(id)+"/credentials", "", "200").body["items"].([]any)
		if len(all) != 1 || all[0].(map[string]any)["issuer"] != v.oracle {
			t.Fatalf("the claim became %v, want one credential of its oracle", all)
		}
		v.want(t, "judge", "POST /v1/credentials/"+all[0].(map[string]any)["id"].(string)+"/revoke", `{}`, "200")
		disputed("other")
		wantCodes(t, "asked after it was revoked", v.asked, id, id)
	})
}
