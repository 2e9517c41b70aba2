// Package vcapi serves the W3C VC-API. Callers with the right to read credentials can
// have any credential or presentation verified, with named reasons. Where a setting
// turns it on, public test suites can have a test issuer sign credentials.
//
// The test issuer's key is derived from the server's own for this purpose alone, so it
// signs nothing else. Its DID is the same on every instance and after every restart,
// and every verification here says that its credentials prove nothing.
//
// Verification costs CPU: each caller has a rate limit, few documents are worked on at
// a time, and callers and workspaces take turns, with at most one document of one
// caller in work. Nothing is stored.
package vcapi

import (
	"context"
	"crypto/ed25519"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Defaults and limits.
const (
	perMinute = 1200            // documents of one caller
	patience  = 2 * time.Second // for a place
)

// Config configures a Service.
type Config struct {
	Key       secret.Key
	Enabled   bool // whether the test issuer signs
	Lookup    vc.Lookup
	Status    func(ctx context.Context, p vc.StatusPlace) (set, known bool, err error)
	History   func(ctx context.Context, method string, doc jsontext.Value) (against, worth []vc.Reason, err error)
	Issued    func(ctx context.Context, id string) (map[string]any, error) // the signed document of a credential of this server
	Now       func() time.Time
	AtOnce    int        // documents worked on at one time; half the processors by default
	PerMinute int        // documents of one caller; 1,200 by default
	Fleet     *web.Fleet // counts them at all servers; nil: at this one
}

// Service verifies credentials, and signs them for tests. It is safe for many
// goroutines.
type Service struct {
	cfg      Config
	id       did.DID
	signer   vc.Signer
	verifier *vc.Verifier
	limit    *web.Limiter
	callers  *lanes
	spaces   *lanes
	all      *lanes // one lane
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.AtOnce <= 0 {
		cfg.AtOnce = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if cfg.PerMinute <= 0 {
		cfg.PerMinute = perMinute
	}
	key := ed25519.NewKeyFromSeed(cfg.Key.Derive("vc-api test issuer"))
	public, _ := key.Public().(ed25519.PublicKey) // always one
	id := did.FromEd25519(public)
	return &Service{
		cfg: cfg, id: id, signer: vc.Signer{Key: key, Method: vc.MethodOf(id)},
		verifier: &vc.Verifier{Lookup: cfg.Lookup, Status: cfg.Status, History: cfg.History, TestIssuer: id.String(), Now: cfg.Now},
		limit:    web.NewLimiter(web.LimiterConfig{PerMinute: cfg.PerMinute, Now: cfg.Now, Fleet: cfg.Fleet, Name: "vc-api"}),
		callers:  newLanes(1), spaces: newLanes(max(1, cfg.AtOnce-1)), all: newLanes(cfg.AtOnce),
	}
}

// Issuer describes the test issuer.
func (s *Service) Issuer() api.DirectIssuer {
	return api.DirectIssuer{ID: s.id.String(), VerificationMethod: s.signer.Method, Enabled: s.cfg.Enabled}
}

// work runs f when it is the caller's turn, within its rate. Faults: RATE_LIMITED,
// VERIFIER_BUSY.
func (s *Service) work(ctx context.Context, f func()) error {
	c := web.CallerFrom(ctx)
	caller := c.Workspace + "\n" + c.DID
	if err := s.limit.Allow(caller).Err(); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, at := range []struct {
		lanes *lanes
		name  string
	}{{s.callers, caller}, {s.spaces, c.Workspace}, {s.all, ""}} {
		leave, ok := at.lanes.enter(wait, at.name)
		if !ok {
			return fault.New(fault.Unavailable, "VERIFIER_BUSY", "Too many documents are being worked on. Try again shortly.").After(time.Second)
		}
		defer leave()
	}
	f()
	return nil
}

// Issue signs a credential with the key of the test issuer. Faults:
// DIRECT_ISSUE_OFF, KEY_RESTRICTED, CREDENTIAL_INVALID, RATE_LIMITED, VERIFIER_BUSY.
func (s *Service) Issue(ctx context.Context, in api.CredentialIssue) (out jsontext.Value, err error) {
	if !s.cfg.Enabled {
		return nil, fault.New(fault.Forbidden, "DIRECT_ISSUE_OFF", "Credentials without a claim are only for tests of software. HEARTH_VC_DIRECT_ISSUE turns their issuer on.")
	}
	if len(web.CallerFrom(ctx).Projects) > 0 {
		return nil, fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; the test issuer belongs to none.")
	}
	if wrong := vc.CheckForm(in.Options.Cryptosuite, in.Options.Envelope); wrong != nil {
		return nil, under("/options", "CREDENTIAL_INVALID", "The credential cannot be signed.", wrong)
	}
	doc, err := s.draft(in.Credential)
	if err != nil {
		return nil, err
	}
	var reasons []vc.Reason
	busy := s.work(ctx, func() {
		if reasons = vc.Check(doc); len(reasons) > 0 {
			return
		}
		if in.Options.Envelope != "" {
			out, err = s.signer.Envelop(doc)
			return
		}
		out, err = s.signer.Sign(doc, vc.Proof{Suite: in.Options.Cryptosuite, Created: s.cfg.Now()})
	})
	if busy != nil {
		return nil, busy
	}
	if r, ok := vc.ReasonOf(err); ok {
		reasons = append(reasons, r)
	} else if err != nil {
		return nil, err
	}
	if len(reasons) > 0 {
		return nil, under("/credential", "CREDENTIAL_INVALID", "The credential cannot be signed.", reasons)
	}
	return out, nil
}

// draft is the credential as it will be signed: with the issuer, and with the context
// that defines proofs where the document's own does not.
func (s *Service) draft(m map[string]any) (jsontext.Value, error) {
	if _, there := m["issuer"]; !there {
		m["issuer"] = s.id.String()
	}
	id, _ := m["issuer"].(string)
	if o, ok := m["issuer"].(map[string]any); ok {
		id, _ = o["id"].(string)
	}
	if id != s.id.String() {
		return nil, under("/credential", "CREDENTIAL_INVALID", "The credential cannot be signed.",
			[]vc.Reason{{Pointer: "/issuer", Code: "issuer_mismatch", Detail: "The issuer here is " + s.id.String() + "; GET /v1/vc-api/issuer shows it."}})
	}
	if items, ok := m["@context"].([]any); ok && len(items) > 0 && items[0] == vc.ContextV1 && !slices.Contains(items, any(vc.ContextDI)) {
		m["@context"] = append(items, vc.ContextDI)
	}
	return json.Marshal(m)
}

// under is a fault whose fields are reasons about a member of the body.
func under(pointer, code, message string, reasons []vc.Reason) *fault.Error {
	f := fault.New(fault.Invalid, code, message)
	for _, r := range reasons {
		f = f.With(fault.Field{Pointer: pointer + r.Pointer, Code: r.Code, Detail: r.Detail})
	}
	return f
}

// Verify verifies a credential. The fault CREDENTIAL_NOT_VERIFIED names every reason;
// others are RATE_LIMITED and VERIFIER_BUSY.
func (s *Service) Verify(ctx context.Context, in api.CredentialVerify) (*api.CredentialVerification, error) {
	return s.verify(ctx, in.VerifiableCredential, "/verifiableCredential", in.Options, s.verifier.Credential)
}

// VerifyPresentation verifies a presentation and the credentials in it. The
// faults are those of Verify.
func (s *Service) VerifyPresentation(ctx context.Context, in api.PresentationVerify) (*api.CredentialVerification, error) {
	return s.verify(ctx, in.VerifiablePresentation, "/verifiablePresentation", in.Options, s.verifier.Presentation)
}

type verification func(ctx context.Context, raw jsontext.Value, o vc.Options) vc.Result

func (s *Service) verify(ctx context.Context, m map[string]any, at string, o api.CredentialVerifyOptions, how verification) (*api.CredentialVerification, error) {
	if m == nil {
		return nil, under(at, "CREDENTIAL_NOT_VERIFIED", "The document is not verified.", []vc.Reason{{Code: "not_an_object", Detail: "The document is not a JSON object."}})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	for i, check := range o.Checks {
		if !slices.Contains(vc.Checks(), check) {
			return nil, under("", "CREDENTIAL_NOT_VERIFIED", "The document is not verified.",
				[]vc.Reason{{Pointer: "/options/checks/" + strconv.Itoa(i), Code: "not_allowed", Detail: "A check is proof, validity or status."}})
		}
	}
	var r vc.Result
	if err := s.work(ctx, func() {
		r = how(ctx, raw, vc.Options{Checks: o.Checks, Domain: o.Domain, Challenge: o.Challenge})
	}); err != nil {
		return nil, err
	}
	out := shown(r)
	out.Checked = checked(o.Checks, r.Form)
	if !r.Verified() {
		return nil, under(at, "CREDENTIAL_NOT_VERIFIED", "The document is not verified.", r.Reasons).Showing(refusal{Verification: out})
	}
	return &out, nil
}

// Check verifies a credential or a presentation and returns the result, good or bad.
// Faults: RATE_LIMITED, VERIFIER_BUSY, and CREDENTIAL_NOT_VERIFIED when there is not
// exactly one document.
func (s *Service) Check(ctx context.Context, in api.CredentialCheck) (*api.CredentialVerification, error) {
	m, at, how := in.VerifiableCredential, "/verifiableCredential", s.verifier.Credential
	if m == nil && in.VerifiablePresentation == nil {
		return nil, under("", "CREDENTIAL_NOT_VERIFIED", "The document is not verified.",
			[]vc.Reason{{Pointer: "/verifiableCredential", Code: "not_an_object", Detail: "Give the document here, or a presentation in verifiablePresentation."}})
	}
	if m == nil {
		m, at, how = in.VerifiablePresentation, "/verifiablePresentation", s.verifier.Presentation
	} else if in.VerifiablePresentation != nil {
		return nil, under("", "CREDENTIAL_NOT_VERIFIED", "The document is not verified.",
			[]vc.Reason{{Pointer: "/verifiablePresentation", Code: "not_both", Detail: "Give one document: a credential, or a presentation."}})
	}
	out, err := s.verify(ctx, m, at, in.Options, how)
	f := fault.As(err)
	if f == nil {
		return out, err
	}
	if shown, ok := f.Members.(refusal); ok {
		return &shown.Verification, nil
	}
	return out, err
}

// CheckIssued is Check for a credential that was issued here, by the DID of its twin or
// the id of its page. Faults: CREDENTIAL_NOT_FOUND, RATE_LIMITED, VERIFIER_BUSY.
func (s *Service) CheckIssued(ctx context.Context, id string) (*api.CredentialVerification, error) {
	doc, err := s.cfg.Issued(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.Check(ctx, api.CredentialCheck{VerifiableCredential: doc})
}

// refusal is the members of CREDENTIAL_NOT_VERIFIED besides the reasons.
type refusal struct {
	Verification api.CredentialVerification `json:"verification"`
}

// checked lists the checks that were made. The signature of an envelope is
// always checked.
func checked(asked []string, form string) (out []string) {
	for _, check := range vc.Checks() {
		if len(asked) == 0 || slices.Contains(asked, check) || check == vc.CheckProof && form == "jose" {
			out = append(out, check)
		}
	}
	return out
}

func shown(r vc.Result) api.CredentialVerification {
	out := api.CredentialVerification{Verified: r.Verified(), Form: r.Form, Issuer: r.Issuer, Holder: r.Holder, TestIssuer: r.Test}
	for _, w := range r.Reasons {
		out.Reasons = append(out.Reasons, api.CredentialReason{Pointer: w.Pointer, Code: w.Code, Detail: w.Detail})
	}
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, api.CredentialReason{Pointer: w.Pointer, Code: w.Code, Detail: w.Detail})
	}
	for _, one := range r.Shown {
		out.Credentials = append(out.Credentials, shown(one))
	}
	return out
}
