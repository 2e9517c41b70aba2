package vcapi_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/vc/vcapi"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// gate lets everybody in as the same caller.
type gate struct{ caller web.Caller }

func (g gate) Admit(http.Header, *http.Request, web.Scope) (web.Caller, error) { return g.caller, nil }

func serverKey(t *testing.T) secret.Key {
	t.Helper()
	k, err := secret.Parse("a server key of tests, with 32 characters and more")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// served is a service and its routes.
func served(t *testing.T, cfg vcapi.Config, caller web.Caller) (*vcapi.Service, http.Handler) {
	t.Helper()
	cfg.Key = serverKey(t)
	s := vcapi.New(cfg)
	a := web.NewAPI(web.APIConfig{Name: "areas", Gate: gate{caller}})
	s.Routes(a)
	mux := http.NewServeMux()
	a.Mount(mux)
	return s, mux
}

func post(h http.Handler, path string, body any) *httptest.ResponseRecorder {
	text, ok := body.(string)
	if !ok {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		text = string(b)
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

type object = map[string]any

func plain() object {
	return object{"@context": []any{vc.ContextV2}, "type": []any{"VerifiableCredential"}, "credentialSubject": object{"id": "did:example:subject"}}
}

const (
	issuePath  = "/v1/vc-api/credentials/issue"
	verifyPath = "/v1/vc-api/credentials/verify"
)

func TestIssueAndVerify(t *testing.T) {
	t.Parallel()
	s, h := served(t, vcapi.Config{Enabled: true}, web.Caller{Workspace: "default", DID: "did:ixo:agent/1"})
	for name, options := range map[string]object{
		"default": {}, "rdfc": {"cryptosuite": vc.RDFC}, "jose": {"envelope": vc.MediaCredential},
	} {
		w := post(h, issuePath, object{"credential": plain(), "options": options})
		if w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		var signed object
		if err := json.Unmarshal(w.Body.Bytes(), &signed); err != nil {
			t.Fatal(err)
		}
		w = post(h, verifyPath, object{"verifiableCredential": signed})
		var got api.CredentialVerification
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || !got.Verified || !got.TestIssuer || got.Issuer != s.Issuer().ID {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if !slices.ContainsFunc(got.Warnings, func(r api.CredentialReason) bool { return r.Code == "test_issuer" }) {
			t.Errorf("%s: no warning about the test issuer: %+v", name, got.Warnings)
		}
	}
}

func TestVerifyNamesReasons(t *testing.T) {
	t.Parallel()
	_, h := served(t, vcapi.Config{Enabled: true}, web.Caller{Workspace: "default", DID: "did:ixo:agent/1"})
	w := post(h, issuePath, object{"credential": plain()})
	changed := strings.Replace(w.Body.String(), "did:example:subject", "did:example:thief", 1)
	w = post(h, verifyPath, `{"verifiableCredential":`+changed+`}`)
	if w.Code != http.StatusBadRequest {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, part := range []string{"CREDENTIAL_NOT_VERIFIED", "signature_invalid", "/verifiableCredential/proof/proofValue", `"verified":false`} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %s", part, w.Body)
		}
	}
	w = post(h, "/v1/credentials:verify", `{"verifiableCredential":`+changed+`}`)
	var got api.CredentialVerification
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got.Verified || len(got.Reasons) != 1 || got.Reasons[0].Code != "signature_invalid" || got.Reasons[0].Pointer != "/proof/proofValue" {
		t.Errorf("/v1/credentials:verify = %d %s", w.Code, w.Body)
	}
	for name, body := range map[string]string{
		"a text": `{"verifiableCredential":"{}"}`, "nothing": `{}`, "null": `{"verifiableCredential":null}`, "an unknown check": `{"verifiableCredential":{},"options":{"checks":["all"]}}`,
		"another member": `{"verifiableCredential":{},"extra":1}`, "too much": `{"verifiableCredential":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`,
	} {
		if w := post(h, verifyPath, body); w.Code < 400 || w.Code > 422 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestPresentationIsVerified(t *testing.T) {
	t.Parallel()
	_, h := served(t, vcapi.Config{}, web.Caller{Workspace: "default", DID: "did:ixo:agent/1"})
	for _, r := range []struct {
		options object
		status  int
	}{
		{object{"domain": "hearth.example.org", "challenge": "c0ffee"}, http.StatusOK},
		{object{"domain": "hearth.example.org", "challenge": "tea"}, http.StatusBadRequest},
		{object{"domain": "elsewhere.example"}, http.StatusBadRequest},
	} {
		w := post(h, "/v1/vc-api/presentations/verify", object{"verifiablePresentation": vcapi.ExamplePresentation(), "options": r.options})
		if w.Code != r.status {
			t.Errorf("%v: %d %s", r.options, w.Code, w.Body)
		}
	}
}

// One route takes both and answers whatever comes out, with the reasons of each
// credential beside it.
func TestCheck(t *testing.T) {
	t.Parallel()
	stored := vcapi.ExamplePresentation()["verifiableCredential"].([]any)[0].(object)
	_, h := served(t, vcapi.Config{Issued: func(_ context.Context, id string) (object, error) {
		if id != "mine" {
			return nil, fault.New(fault.NotFound, "CREDENTIAL_NOT_FOUND", "No credential has this id.")
		}
		return stored, nil
	}}, web.Caller{Workspace: "default", DID: "did:ixo:agent/1"})
	const path = "/v1/credentials:verify"
	check := func(path string, body any) (out api.CredentialVerification) {
		t.Helper()
		w := post(h, path, body)
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s %v: %d %s", path, body, w.Code, w.Body)
		}
		return out
	}
	shown := maps.Clone(vcapi.ExamplePresentation())
	if got := check(path, object{"verifiablePresentation": shown, "options": object{"domain": "hearth.example.org", "challenge": "c0ffee"}}); !got.Verified || got.Holder == "" || len(got.Credentials) != 1 || !got.Credentials[0].Verified {
		t.Errorf("a good presentation: %+v", got)
	}
	changed := maps.Clone(stored)
	changed["validFrom"] = "2026-02-01T00:00:00Z"
	shown["verifiableCredential"] = []any{stored, changed}
	got := check(path, object{"verifiablePresentation": shown, "options": object{"challenge": "c0ffee"}})
	if got.Verified || len(got.Reasons) != 2 || got.Reasons[1].Pointer != "/verifiableCredential/1/proof/proofValue" || len(got.Credentials) != 2 || !got.Credentials[0].Verified ||
		len(got.Credentials[1].Reasons) != 1 || got.Credentials[1].Reasons[0].Code != "signature_invalid" || got.Credentials[1].Reasons[0].Pointer != "/proof/proofValue" {
		t.Errorf("a changed presentation: %+v", got)
	}
	if got := check("/v1/credentials/mine/verify", ""); !got.Verified || got.Issuer != stored["issuer"] {
		t.Errorf("a stored credential: %+v", got)
	}
	for body, want := range map[string]string{
		`{}`: `"pointer":"/verifiableCredential","code":"not_an_object","detail":"Give the document here, or`, `{"verifiablePresentation":{},"verifiableCredential":{}}`: "not_both", `{"verifiablePresentation":{},"options":{"checks":["all"]}}`: "not_allowed",
	} {
		if w := post(h, path, body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
		}
	}
	if w := post(h, "/v1/credentials/yours/verify", ""); w.Code != http.StatusNotFound {
		t.Errorf("one that is not there: %d %s", w.Code, w.Body)
	}
}

// TestIssueRefuses: it is off by default, signs for one issuer alone, and not for
// keys of projects.
func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	someone := web.Caller{Workspace: "default", DID: "did:ixo:agent/1"}
	limited := someone
	limited.Projects = []string{"did:ixo:project/1"}
	_, off := served(t, vcapi.Config{}, someone)
	_, on := served(t, vcapi.Config{Enabled: true}, someone)
	_, project := served(t, vcapi.Config{Enabled: true}, limited)
	other := plain()
	other["issuer"] = "did:example:registry"
	null := plain()
	null["issuer"] = nil
	undefined := plain()
	undefined["amount"] = 5000
	for name, tt := range map[string]struct {
		h    http.Handler
		doc  object
		code string
	}{
		"off":                   {off, plain(), "DIRECT_ISSUE_OFF"},
		"a key of a project":    {project, plain(), "KEY_RESTRICTED"},
		"another issuer":        {on, other, "issuer_mismatch"},
		"no issuer at all":      {on, null, "issuer_mismatch"},
		"what nothing defines":  {on, undefined, "data_loss"},
		"an empty credential":   {on, object{}, "required"},
		"a credential in doubt": {on, object{"proof": object{}}, "proof_present"},
	} {
		w := post(tt.h, issuePath, object{"credential": tt.doc})
		if w.Code < 400 || !strings.Contains(w.Body.String(), tt.code) {
			t.Errorf("%s: %d %s, want %s", name, w.Code, w.Body, tt.code)
		}
	}
}

// TestIssuerIsOne: the same server key gives the same issuer, another one another.
func TestIssuerIsOne(t *testing.T) {
	t.Parallel()
	a, b := vcapi.New(vcapi.Config{Key: serverKey(t)}), vcapi.New(vcapi.Config{Key: serverKey(t), Enabled: true})
	k, err := secret.Parse("another server key of tests, also long enough")
	if err != nil {
		t.Fatal(err)
	}
	if a.Issuer().ID != b.Issuer().ID || a.Issuer().ID == vcapi.New(vcapi.Config{Key: k}).Issuer().ID || a.Issuer().Enabled {
		t.Errorf("%+v, %+v", a.Issuer(), b.Issuer())
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	now := time.Unix(1.8e9, 0)
	s, _ := served(t, vcapi.Config{PerMinute: 3, AtOnce: 1, Now: func() time.Time { return now }}, web.Caller{})
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: "a", DID: "did:ixo:agent/1"})
	verify := func() string {
		_, err := s.Verify(ctx, api.CredentialVerify{VerifiableCredential: object{}})
		return fault.CodeOf(err)
	}
	var wg sync.WaitGroup
	codes := make([]string, 5)
	for i := range codes {
		wg.Go(func() { codes[i] = verify() })
	}
	wg.Wait()
	slices.Sort(codes)
	if want := []string{"CREDENTIAL_NOT_VERIFIED", "CREDENTIAL_NOT_VERIFIED", "CREDENTIAL_NOT_VERIFIED", "RATE_LIMITED", "RATE_LIMITED"}; !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
	other := web.WithCaller(t.Context(), web.Caller{Workspace: "b", DID: "did:ixo:agent/1"})
	if _, err := s.Verify(other, api.CredentialVerify{VerifiableCredential: object{}}); fault.CodeOf(err) != "CREDENTIAL_NOT_VERIFIED" {
		t.Errorf("another workspace: %v", err)
	}
}

// slow is a service that takes 300 ms for each document, at one place.
func slow() *vcapi.Service {
	return vcapi.New(vcapi.Config{AtOnce: 1, Lookup: func(context.Context, string) (vc.Method, bool, error) {
		<-time.After(300 * time.Millisecond)
		return vc.Method{}, false, nil
	}})
}

// slowly is a document whose key is looked up.
func slowly() api.CredentialVerify {
	doc := plain()
	doc["issuer"] = "did:web:example.org"
	doc["proof"] = object{"type": "DataIntegrityProof", "cryptosuite": vc.JCS, "verificationMethod": "did:web:example.org#key", "proofPurpose": vc.Assertion, "proofValue": "z1"}
	return api.CredentialVerify{VerifiableCredential: doc}
}

// Whoever sends many documents at once waits for itself: neither another caller of the
// workspace nor another workspace waits for more than the one that is being worked on.
func TestCallersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, start := slow(), time.Now()
		verify := func(ws, caller string) (string, time.Duration) {
			_, err := s.Verify(web.WithCaller(t.Context(), web.Caller{Workspace: ws, DID: caller}), slowly())
			return fault.CodeOf(err), time.Since(start)
		}
		var wg sync.WaitGroup
		codes := make([]string, 24)
		for i := range codes { // one caller alone, and several that belong together
			wg.Go(func() { codes[i], _ = verify("a", []string{"flood", strconv.Itoa(i)}[i/12]) })
		}
		synctest.Wait()
		for i, other := range [][2]string{{"b", "one"}, {"c", "flood"}} {
			wg.Go(func() {
				code, took := verify(other[0], other[1])
				if want := time.Duration(i+2) * 300 * time.Millisecond; code != "CREDENTIAL_NOT_VERIFIED" || took > want+300*time.Millisecond {
					t.Errorf("workspace %s: %s after %s, want it within a turn of %s", other[0], code, took, want)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if n := count(codes[:12], "CREDENTIAL_NOT_VERIFIED"); n == 0 || n > 2 {
			t.Errorf("the flood had %d turns in two seconds, as others wait: %q", n, codes[:12])
		}
		if n := count(codes, "VERIFIER_BUSY"); n < 12 {
			t.Errorf("%d of the flood were refused: %q", n, codes)
		}
		codes, start = nil, time.Now()
		if code, took := verify("a", "flood"); code != "CREDENTIAL_NOT_VERIFIED" || took != 300*time.Millisecond {
			t.Errorf("afterwards: %s after %s", code, took)
		}
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
