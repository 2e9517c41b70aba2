package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

// TestDemoTakesNothingElse has a manager name a key and a request as those of the
// demo are: the key stays, and so does the event that tells who made it.
func TestDemoTakesNothingElse(t *testing.T) {
	t.Parallel()
	s := newShow(t, 10, nil)
	ctx := t.Context()
	s.runs(t, func() {
		d := s.load(t)
		manager, err := s.api.Keys.Create(ctx, client.KeyDraft{Name: "manager", Role: "manager"})
		if err != nil {
			t.Fatal(err)
		}
		body := strings.NewReader(`{"name":"helper (demo ` + d.ID[len(d.ID)-8:] + `)","role":"collector"}`)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/api-keys", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+manager.Text)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Request-Id", "demo-"+d.ID+"-evil")
		answer, err := (&http.Client{Transport: transport{s.Handler}}).Do(r)
		if err != nil || answer.StatusCode != http.StatusCreated {
			t.Fatalf("make a key: %v, %v", answer, err)
		}
		answer.Body.Close()
		if id := answer.Header.Get("X-Request-Id"); strings.HasPrefix(id, "demo-") {
			t.Errorf("a client's request is called %s", id)
		}
		s.remove(t)
	})
	var names []string
	for k, err := range s.api.Keys.List(ctx, client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, k.Name)
	}
	if all := strings.Join(names, ", "); !strings.Contains(all, "helper (demo ") || strings.Contains(all, "Loader") {
		t.Errorf("keys = %s, want that of the manager and not the loader's", all)
	}
	var made int
	if err := s.DB.QueryRow(ctx, `SELECT count(*) FROM events WHERE type = 'key.created'`).Scan(&made); err != nil || made != len(names) {
		t.Errorf("%d events tell of %d keys that were made, %v", made, len(names), err)
	}
}

// TestDemoBesideASurvey has somebody else have a survey with an id of the demo's:
// the load stops, and the removal leaves the survey alone.
func TestDemoBesideASurvey(t *testing.T) {
	t.Parallel()
	s := newShow(t, 10, nil)
	ctx, own := t.Context(), "did:ixo:entity:0123456789abcdef0123456789abcdef"
	draft := client.SurveyDraft{SurveyID: "demo-baseline", Type: "BaselineSurvey", ProjectID: own}
	size := 10.0
	draft.Name, draft.Template = "Ours", &client.SurveyFlags{StovePerceptions: true}
	draft.Sampling = &client.SurveySampling{Method: "simple_random", Size: &size, Population: &size, Enrolment: "list"}
	if _, err := s.api.Surveys.Create(ctx, draft); err != nil {
		t.Fatal(err)
	}
	s.runs(t, func() {
		j, err := s.api.Demo.Load(ctx, client.DemoDraft{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if j, err = s.api.Jobs.Wait(ctx, j.ID); err != nil || j.Status != "failed" {
			t.Fatalf("load = %+v, %v, want failed", j, err)
		}
		s.remove(t)
	})
	if v, err := s.api.Surveys.Get(ctx, "demo-baseline"); err != nil || v.Name != "Ours" || v.ProjectID != own {
		t.Errorf("the survey is %+v, %v", v, err)
	}
}

// TestDemoWithAClaim has somebody claim something of a stove of the demo, and it become
// a credential: both go with the demo. Before that an auditor takes its bundle along.
func TestDemoWithAClaim(t *testing.T) {
	t.Parallel()
	s := newShow(t, 10, nil)
	ctx := t.Context()
	made := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	s.runs(t, func() {
		before := s.rows(t)["claim_cover"]
		s.load(t)
		project, err := s.api.Entities.Page(ctx, client.EntityQuery{ExternalID: "demo-project"})
		if err != nil || len(project.Items) != 1 {
			t.Fatalf("project = %+v, %v", project, err)
		}
		s.checkClaims(t, project.Items[0].DID)
		page, err := s.api.Entities.Page(ctx, client.EntityQuery{ExternalID: "demo-stove-0020"})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("stove = %+v, %v", page, err)
		}
		stove := page.Items[0]
		key, err := s.api.Keys.Create(ctx, client.KeyDraft{Name: "claimant", Role: "owner"})
		made("key", err)
		other, err := s.api.Keys.Create(ctx, client.KeyDraft{Name: "judge", Role: "owner"})
		made("key of the judge", err)
		bench := s.as(t, other.Text)
		judge, err := bench.Entities.Create(ctx, client.EntityDraft{Type: "oracle", Protocol: "did:ixo:protocol/oracle"})
		made("oracle", err)
		_, err = s.api.Entities.Transfer(ctx, stove.DID, client.Transfer{Controller: key.Principal}, client.IfMatch("*"))
		made("transfer", err)
		draft := client.ClaimDraft{
			Kind: "fuel-saved", Subject: stove.DID, Oracle: judge.DID, PeriodStart: "2026-10-01", PeriodEnd: "2026-10-31", Amount: &client.ClaimAmount{Value: 12, Unit: "kg"},
			Evidence: []any{written}, Data: calculated(t),
		}
		c, err := s.as(t, key.Text).Claims.Submit(ctx, draft)
		made("claim", err)
		draft.PeriodStart, draft.PeriodEnd, draft.Data = "2026-11-01", "2026-11-02", map[string]any{"calculation": map[string]any{"asked": map[string]any{"module": written}, "traceHash": written}}
		_, err = s.as(t, key.Text).Claims.Submit(ctx, draft)
		made("claim with a calculation of nothing", err)
		_, err = bench.Claims.Evaluate(ctx, c.ID, client.ClaimEvaluationDraft{Decision: "approved", Reason: written})
		made("evaluation", err)
		issued, err := bench.Claims.Issue(ctx, client.CredentialRequest{Claim: c.ID})
		made("credential", err)
		s.checkReport(t, project.Items[0].DID, func() {
			_, err := bench.Credentials.Suspend(ctx, issued.ID, written)
			made("suspension", err)
		})
		s.remove(t)
		var state string
		made("state", s.DB.QueryRow(ctx, `SELECT state FROM credentials`).Scan(&state))
		if state != "revoked" {
			t.Errorf("a signed credential of a removed twin is %s, want revoked", state)
		}
		after := s.rows(t)
		if after["claims"] != 0 || after["claim_evaluations"] != 0 || after["claim_cover"] != before {
			t.Errorf("claims = %d, evaluations = %d, covered = %d are left", after["claims"], after["claim_evaluations"], after["claim_cover"])
		}
	})
}
