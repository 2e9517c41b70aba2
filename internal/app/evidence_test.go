package app_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/check"
)

// Every piece of evidence of the demo's claims is looked up in the state that it had, and
// what happens to it later is told.
func TestEvidence(t *testing.T) {
	t.Parallel()
	s := newShow(t, 10, nil)
	ctx := t.Context()
	s.runs(t, func() {
		s.load(t)
		for c, err := range s.api.Claims.List(ctx, client.ClaimQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			chain, err := s.api.Claims.Chain(ctx, c.ID)
			if err != nil {
				t.Fatal(err)
			}
			checkChain(t, &c, chain)
			s.checkNoName(t, c.ID)
		}
		s.checkCorrected(t)
		s.checkWritten(t)
		s.checkKitchenTest(t)
		s.checkWrongEvidence(t)
	})
}

// checkChain wants a tick at each step but a credential that does not verify.
func checkChain(t *testing.T, c *client.Claim, chain *client.ClaimChain) {
	t.Helper()
	pieces := 0
	for _, step := range chain.Steps {
		if step.Step == "evidence" {
			pieces++
			if step.State != "checked" || step.Evidence.State != "same" || step.Evidence.Hash == "" {
				t.Errorf("%s: evidence %+v is %s, want checked", c.Status, step.Evidence, step.State)
			}
		} else if step.State == "failed" && step.Step != "credential" {
			t.Errorf("%s: %s failed: %s", c.Status, step.Step, step.Detail)
		}
	}
	if pieces == 0 {
		t.Errorf("%s: no evidence, want the stove at least", c.Status)
	}
}

// checkNoName has somebody read a chain who knows households by made-up names alone: a
// claim says which household it is about, so the chain does not say its name.
func (s *show) checkNoName(t *testing.T, claim string) {
	t.Helper()
	key, err := s.api.Keys.Create(t.Context(), client.KeyDraft{Name: "reads claims", Role: "auditor"})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := s.as(t, key.Text).Claims.Chain(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(chain.Steps, func(step client.ChainStep) bool { return step.Step == "subject" })
	if i < 0 || strings.Contains(chain.Steps[i].Detail, "hh_") || strings.Contains(chain.Steps[i].Detail, "sn_") {
		t.Errorf("chain for an auditor = %+v, want a subject without its made-up name", chain.Steps)
	}
}

// evidenceOf is the evidence of a claim of one type.
func (s *show) evidenceOf(t *testing.T, claim, kind string) client.ClaimEvidence {
	t.Helper()
	all, err := s.api.Claims.Evidence(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all.Items, func(p client.ClaimEvidence) bool { return p.Type == kind })
	if i < 0 {
		t.Fatalf("no evidence of type %s in %+v", kind, all)
	}
	return all.Items[i]
}

// checkCorrected corrects a reading and changes a stove: the first is told, and the
// second is no matter, because evidence names a revision.
func (s *show) checkCorrected(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	var claim string
	for c, err := range s.api.Claims.List(ctx, client.ClaimQuery{Status: "approved"}) {
		if err != nil {
			t.Fatal(err)
		}
		claim = c.ID
	}
	was := s.evidenceOf(t, claim, "readings")
	from, err := time.Parse(time.RFC3339, was.From)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.api.Devices.Correct(ctx, was.ID, client.CorrectionDraft{Reason: "The sensor hung beside the stove.", Withdraw: &client.ReadingRange{From: from, To: from.Add(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	if p := s.evidenceOf(t, claim, "readings"); p.State != "changed" || p.Corrections != 1 || p.Hash != was.Hash || p.Count != was.Count {
		t.Errorf("corrected readings are %+v, want changed by 1 correction", p)
	}
	stove := s.evidenceOf(t, claim, "entity")
	if _, err := s.api.Entities.Patch(ctx, stove.ID, client.Object{"metadata": client.Object{"note": "moved"}}, client.IfMatch("*")); err != nil {
		t.Fatal(err)
	}
	if p := s.evidenceOf(t, claim, "entity"); p.State != "same" || p.Revision != stove.Revision {
		t.Errorf("a changed stove is %+v, want the same at revision %d", p, stove.Revision)
	}
}

// checkWritten writes evidence as a text, past what completes it: what it says about
// itself is not believed, and what is not there takes nothing else away.
func (s *show) checkWritten(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	stove := ""
	for c, err := range s.api.Claims.List(ctx, client.ClaimQuery{Status: "withdrawn"}) {
		if err != nil {
			t.Fatal(err)
		}
		stove = c.Subject
	}
	own := map[string]any{"type": "identity", "id": "7", "hash": "x"} // of a type that is none of ours
	c, err := s.api.Claims.Submit(ctx, client.ClaimDraft{Kind: "fuel-saved", Subject: stove, PeriodStart: "2026-12-01", PeriodEnd: "2026-12-31", Evidence: []any{
		`{"type":"entity","id":"` + stove + `","revision":1,"hash":"x","corrections":1,"state":"same"}`, `{"type":"response","id":"none","revision":1,"hash":"x"}`,
		`{"type":"file","id":"..","hash":"sha256:.."}`, `{"type":"entity","id":"` + stove + `","revision":99,"hash":"x"}`, "words", own,
	}})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := s.api.Claims.Chain(ctx, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, step := range chain.Steps {
		if step.Step == "evidence" {
			got = append(got, step.State+" "+step.Evidence.State)
		}
	}
	want := []string{"failed changed", "unchecked unchecked", "unchecked unchecked", "failed missing", "unchecked unchecked", "unchecked unchecked"}
	if chain.Holds || !slices.Equal(got, want) {
		t.Errorf("written evidence is %q, holds %v, want %q", got, chain.Holds, want)
	}
}

// checkKitchenTest has a test that is withdrawn later as evidence: its hash is made of what
// the API says of its revision.
func (s *show) checkKitchenTest(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	stove, test := "", client.KitchenTest{}
	for c, err := range s.api.Claims.List(ctx, client.ClaimQuery{Status: "withdrawn"}) {
		if err != nil {
			t.Fatal(err)
		}
		stove = c.Subject
	}
	for one, err := range s.api.KitchenTests.List(ctx, client.KitchenTestQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		test = one
	}
	want, err := check.Hash(map[string]any{
		"id": test.ID, "revision": test.Revision, "testGroup": test.TestGroup, "testPeriod": test.TestPeriod, "fuelMeasurements": test.FuelMeasurements, "people": test.People, "status": test.Status,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.api.Claims.Submit(ctx, client.ClaimDraft{
		Kind: "fuel-saved", Subject: stove, PeriodStart: "2027-01-01", PeriodEnd: "2027-01-31", Evidence: []any{map[string]any{"type": "kitchenTest", "id": test.ID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, then := range []string{"submitted", "withdrawn"} {
		if p := s.evidenceOf(t, c.ID, "kitchenTest"); p.State != "same" || p.Hash != want || p.Revision != test.Revision {
			t.Errorf("a %s kitchen test is %+v, want the same with the hash %s at revision %d", then, p, want, test.Revision)
		}
		if _, err := s.api.KitchenTests.Withdraw(ctx, test.ID, "The scales were broken.", client.IfMatch("*")); err != nil && then == "submitted" {
			t.Fatal(err)
		}
	}
}

// checkWrongEvidence wants evidence that is not so to be refused by its place.
func (s *show) checkWrongEvidence(t *testing.T) {
	t.Helper()
	stove := ""
	for c, err := range s.api.Claims.List(t.Context(), client.ClaimQuery{Status: "withdrawn"}) {
		if err != nil {
			t.Fatal(err)
		}
		stove = c.Subject
	}
	calculation := calculated(t)
	changed := maps.Clone(calculation)
	changed["calculation"] = map[string]any{"asked": map[string]any{"module": "fuel-factor"}, "traceHash": "0000"}
	for name, c := range map[string]struct {
		piece map[string]any
		at    string
		data  map[string]any
	}{
		"without its hash":           {map[string]any{"type": "calculation"}, "/evidence/0/hash", calculation},
		"of another calculation":     {map[string]any{"type": "calculation", "hash": "0000"}, "/evidence/0/hash", calculation},
		"of no calculation":          {map[string]any{"type": "calculation", "hash": "0000"}, "/evidence/0/hash", nil},
		"of one that comes out else": {map[string]any{"type": "calculation", "hash": "0000"}, "/evidence/0/hash", changed},

		"without an id":     {map[string]any{"type": "response"}, "/evidence/0/id", nil},
		"of nothing":        {map[string]any{"type": "response", "id": "none"}, "/evidence/0/id", nil},
		"by another hash":   {map[string]any{"type": "entity", "id": stove, "hash": "0000"}, "/evidence/0/hash", nil},
		"of no revision":    {map[string]any{"type": "entity", "id": stove, "revision": 999}, "/evidence/0", nil},
		"without a time":    {map[string]any{"type": "readings", "id": stove}, "/evidence/0", nil},
		"of a way up":       {map[string]any{"type": "file", "id": ".."}, "/evidence/0/id", nil},
		"of a slipped type": {map[string]any{"type": "reponse", "id": "none"}, "/evidence/0/type", nil},
		"of a type in caps": {map[string]any{"type": "Entity", "id": stove}, "/evidence/0/type", nil},
		"of a plural":       {map[string]any{"type": "calculations", "hash": "0000"}, "/evidence/0/type", nil},
		"of the wrong type": {map[string]any{"type": "entity", "id": 7}, "/evidence/0", nil},
	} {
		_, err := s.api.Claims.Submit(t.Context(), client.ClaimDraft{Kind: "fuel-saved", Subject: stove, PeriodStart: "2026-01-01", PeriodEnd: "2026-01-31", Evidence: []any{c.piece}, Data: c.data})
		var p *client.Error
		if !errors.As(err, &p) || p.Code != "CLAIM_INVALID" || len(p.Fields) != 1 || p.Fields[0].Pointer != c.at {
			t.Errorf("evidence %s: %+v, want CLAIM_INVALID at %s", name, err, c.at)
		}
	}
}
