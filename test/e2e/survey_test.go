package e2e

import (
	"context"
	"encoding/csv"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// survey starts a baseline survey that takes any household.
func survey(t *testing.T, c *client.Client) *client.Survey {
	t.Helper()
	size, confidence := 100.0, 0.95
	d := client.SurveyDraft{Type: "BaselineSurvey", ProjectID: "did:ixo:entity:123"}
	d.Template = &client.SurveyFlags{EligibilityCriteria: true, SocioEconomicData: true}
	d.Sampling = &client.SurveySampling{Method: "simple_random", Size: &size, Confidence: &confidence, Enrolment: "open"}
	d.Collectors = []client.Collector{{DID: "did:ixo:agent/123"}}
	s := must(c.Surveys.Create(t.Context(), d))(t)
	if s.Status != "draft" || s.TemplateID != "baseline-v1" || s.Stage != "baseline" {
		t.Fatalf("survey %s of %s, stage %s; want a draft of baseline-v1", s.Status, s.TemplateID, s.Stage)
	}
	return must(c.Surveys.Activate(t.Context(), s.SurveyID, ""))(t)
}

// documented is what a household says in the interface document.
func documented(size int) client.ResponseDraft {
	return client.ResponseDraft{
		ResponseID: "resp_789", SurveyID: "baseline-v1", HouseholdID: "did:ixo:household/123", Timestamp: time.Date(2026, 2, 20, 10, 0, 0, 0, time.UTC),
		Responses: client.Answers{
			"eligibility": {"current_cooking": []string{"wood", "charcoal"}}, "socio_economic": {"household_size": size},
		},
	}
}

// answers is what a household says that was asked all of it.
func answers(size int) client.ResponseDraft {
	d := documented(size)
	d.Responses = client.Answers{
		"consent": {"consent_given": true, "respondent_is_main_cook": true, "language": "sw", "carbon_rights_waiver": true},
		"eligibility": {
			"current_cooking": []string{"wood", "charcoal"}, "target_area": true, "household_in_other_programme": false, "owns_target_device": false,
			"baseline_stove_type": "three_stone", "willing_to_participate": true,
		},
		"socio_economic": {"household_size": size, "children_under_5": 1, "income_band": "low", "housing_type": "mud", "head_education": "primary", "density": "low"},
	}
	return d
}

// key makes a key of a role for somebody.
func key(t *testing.T, s *server.Server, role, principal string) *client.Client {
	t.Helper()
	k := must(owner(t, s).Keys.Create(t.Context(), client.KeyDraft{Name: role, Role: role, Principal: principal}))(t)
	return with(t, s.URL, k.Text)
}

// TestSurvey takes a survey from its draft to a verified response and a file.
func TestSurvey(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, boss := t.Context(), owner(t, s)
		v := survey(t, boss)
		tablet, judge, auditor := key(t, s, "collector", "did:ixo:agent/123"), key(t, s, "verifier", "did:ixo:agent/456"), key(t, s, "auditor", "did:ixo:agent/789")
		little := documented(5)
		little.ResponseID, little.HouseholdID = "resp_1", "did:ixo:household/1"
		if r := must(tablet.Responses.Submit(ctx, little))(t); r.Status != "partial" {
			t.Errorf("the documented response is %s, want partial", r.Status)
		}
		r := must(tablet.Responses.Submit(ctx, answers(5)))(t)
		if r.Status != "complete" || r.SurveyID != v.SurveyID || r.Verification.Status != "pending" || r.Collector != "did:ixo:agent/123" {
			t.Errorf("response %s of %s, %s by %s; want a complete one that waits", r.Status, r.SurveyID, r.Verification.Status, r.Collector)
		}
		if again := must(tablet.Responses.Submit(ctx, answers(5)))(t); again.Revision != 1 || !again.ReceivedAt.Equal(r.ReceivedAt) {
			t.Errorf("sent again: revision %d of %s, want the first", again.Revision, again.ReceivedAt)
		}
		_, err := tablet.Responses.Submit(ctx, answers(6))
		refused(t, "other answers under the same id", "RESPONSE_CONFLICT", err)
		wrong := answers(5)
		wrong.ResponseID, wrong.Responses["socio_economic"]["household_size"] = "resp_790", "5"
		_, err = tablet.Responses.Submit(ctx, wrong)
		refused(t, "a number as a text", "RESPONSE_INVALID", err)
		second := answers(7)
		second.ResponseID = "resp_790"
		_, err = tablet.Responses.Submit(ctx, second)
		refused(t, "a second response of the household", "DUPLICATE_HOUSEHOLD_RESPONSE", err)

		_, err = tablet.Verifications.Decide(ctx, "resp_789", client.DecisionDraft{Status: "verified"}, client.IfRevision(1))
		refused(t, "a decision by a collector", "SCOPE_MISSING", err)
		must(judge.Verifications.Decide(ctx, "resp_789", client.DecisionDraft{Status: "verified", Reason: "seen"}, client.IfRevision(must(judge.Responses.Get(ctx, "resp_789"))(t).Revision)))(t)
		if r = must(auditor.Responses.Get(ctx, "resp_789"))(t); r.Verification.Status != "verified" || r.Verification.Verifier != "did:ixo:agent/456" {
			t.Errorf("verification = %+v, want verified by agent 456", r.Verification)
		}
		if p := must(boss.Surveys.Get(ctx, v.SurveyID))(t).Progress; p == nil || p.Completed != 1 || p.Verified != 1 {
			t.Errorf("progress = %+v, want one complete and verified", p)
		}
		checkFile(t, auditor, v.SurveyID)
		checkForgotten(t, boss)
		_, err = with(t, s.URL, "hearth_nobody_nobody").Responses.Get(ctx, "resp_789")
		refused(t, "somebody unknown", "KEY_INVALID", err)
	})
}

// checkFile exports the responses as an auditor and reads the table.
func checkFile(t *testing.T, c *client.Client, survey string) {
	t.Helper()
	job := must(c.Surveys.Export(t.Context(), survey, client.SurveyExportDraft{Format: "csv"}))(t)
	if done := must(c.Jobs.Wait(t.Context(), job.ID))(t); done.Status != "succeeded" {
		t.Fatalf("export has %s: %+v", done.Status, done.Errors)
	}
	file := must(c.Surveys.ExportFile(t.Context(), survey, job.ID))(t)
	defer file.Close()
	rows := must(csv.NewReader(file).ReadAll())(t)
	if len(rows) != 3 || !strings.Contains(strings.Join(rows[0], ","), "socio_economic.household_size") || strings.Contains(strings.Join(rows[1], ",")+strings.Join(rows[2], ","), "did:ixo:household/1") {
		t.Errorf("file = %q, want two responses of households without their names", rows)
	}
}

// checkForgotten erases a household that has no twin, only a response.
func checkForgotten(t *testing.T, c *client.Client) {
	t.Helper()
	d := answers(4)
	d.ResponseID, d.HouseholdID, d.Location = "resp_9", "did:ixo:household/9", &client.Spot{Lat: -1.29, Lon: 36.82}
	if r := must(c.Responses.Submit(t.Context(), d))(t); r.Location == nil {
		t.Error("the owner does not see where the response was given")
	}
	must(c.Erasures.Create(t.Context(), client.ErasureDraft{Subject: d.HouseholdID, Reason: "asked to"}))(t)
	if r := must(c.Responses.Get(t.Context(), "resp_9"))(t); r.Location != nil || !r.Erased {
		t.Errorf("after the erasure: location %v, erased %v", r.Location, r.Erased)
	}
	_, err := c.Erasures.Create(t.Context(), client.ErasureDraft{Subject: "did:ixo:household/nobody", Reason: "asked to"})
	refused(t, "the erasure of somebody nobody knows", "ENTITY_NOT_FOUND", err)
}

// TestSurveyKilled: many clients send the same response while the server is
// killed again and again; one is stored, and everybody learns of it in the end.
func TestSurveyKilled(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		const clients, kills = 64, 3
		s := server.Run(t, o)
		survey(t, owner(t, s))
		for round := range kills {
			d := answers(5)
			d.ResponseID, d.HouseholdID = fmt.Sprint("resp_", round), fmt.Sprint("did:ixo:household/", round)
			told := make(chan *client.Response, clients)
			var wg sync.WaitGroup
			for range clients {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // cut while it waits
					defer cancel()
					if r, err := owner(t, s).Responses.Submit(ctx, d); err == nil { // the kill decides who gets an answer
						told <- r
					}
				})
			}
			known := <-told // one has its answer, most are on their way
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			wg.Wait()
			s = server.Run(t, o)
			c := owner(t, s)
			first := must(c.Responses.Submit(t.Context(), d))(t)
			if !first.ReceivedAt.Equal(known.ReceivedAt) {
				t.Errorf("round %d: received at %s, but somebody was told %s", round, first.ReceivedAt, known.ReceivedAt)
			}
			n := 0
			for r, err := range c.Responses.OfHousehold(t.Context(), d.HouseholdID, client.PageQuery{}) {
				if err != nil || r.ResponseID != first.ResponseID || r.Revision != 1 {
					t.Errorf("round %d: response %s revision %d, %v", round, r.ResponseID, r.Revision, err)
				}
				n++
			}
			if n != 1 {
				t.Errorf("round %d: %d responses, want 1", round, n)
			}
		}
	})
}
