package quality_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
)

// consentEnv also verifies. Its survey asks for consent as question says, and is
// verified by policy.
func consentEnv(t *testing.T, d *db.DB, question, policy string, more ...string) *env {
	t.Helper()
	v := newEnv(t, d)
	verify.New(verify.Config{
		DB: d, Surveys: v.Surveys, Responses: v.Responses, Media: media.New(media.Config{DB: d, Key: v.Key}), Events: v.Log, Idem: v.Idem, Cursors: eventtest.Cursors(),
	}).Routes(v.API)
	v.Must(t, "ws owner", "POST /v1/templates", `{"templateId":"asking","title":"Asking",`+strings.Join(more, "")+`"sections":[{"id":"consent","questions":[`+question+`]},
		{"id":"home","questions":[{"id":"size","type":"integer"}]}]}`, nil)
	v.Must(t, "ws owner", "POST /v1/templates/asking/publish", `{}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":"s","type":"MonitoringSurvey","projectId":%q,"templateId":"asking","window":{"start":"2024-01-01T00:00:00Z"},"sampling":{"method":"census"},
		"collectors":["did:key:ann"],"verificationPolicy":%s}`, surveytest.Project, policy), nil)
	v.Must(t, "ws owner", "POST /v1/surveys/s/activate", `{"reason":"test"}`, nil)
	return v
}

// optional is of templates for which consent may be elsewhere.
const optional = `"validations":{"consentOptional":true},`

// silent is an interview without an answer to the question for consent.
const silent = `{"responseId":"r1","householdId":"did:ixo:household/1","timestamp":"2026-03-02T09:00:00Z","responses":{"home":{"size":4}}}`

// TestConsentMissing: without an answer a response is partial. Where the template
// says that consent may be elsewhere it is a flag: a verifier sees it and decides.
func TestConsentMissing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := consentEnv(t, d, `{"id":"agree","type":"consent"}`, `{}`)
		var r response.Record
		v.Must(t, "ws ann", "POST /v1/surveys/s/responses", silent, &r)
		if r.Status != response.Partial || strings.Join(r.Missing, " ") != "/responses/consent/agree" {
			t.Errorf("without consent it is %s and %v is missing, want partial and the question", r.Status, r.Missing)
		}
		w := v.Send(t, "ws vera", "POST /v1/responses/r1/verification", `{"status":"verified","reason":"Looks well.","revision":1}`)
		if w.Code != 409 || !strings.Contains(w.Body.String(), "RESPONSE_NOT_VERIFIABLE") {
			t.Errorf("verify = %d %s, want that it is not verifiable", w.Code, w.Body)
		}
	})
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := consentEnv(t, d, `{"id":"agree","type":"consent"}`, `{}`, optional)
		v.Must(t, "ws ann", "POST /v1/surveys/s/responses", silent, nil)
		if got := v.report(t).Flags["consent_missing"]; got != 1 {
			t.Errorf("the report counts %d without consent, want 1", got)
		}
		var e verify.Evidence
		v.Must(t, "ws vera", "GET /v1/responses/r1/evidence", "", &e)
		if len(e.Flags) != 1 || e.Flags[0].Rule != "consent_missing" || e.Flags[0].Question != "/responses/consent/agree" {
			t.Errorf("evidence has the flags %+v, want consent_missing", e.Flags)
		}
		v.Must(t, "ws vera", "POST /v1/responses/r1/verification", `{"status":"verified","reason":"Consent is on paper.","revision":1}`, nil)
	})
}

// TestConsentRequired: a template that marks the question as required has no
// complete interview without it.
func TestConsentRequired(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := consentEnv(t, d, `{"id":"agree","type":"consent","required":true}`, `{}`)
		w := v.Send(t, "ws ann", "POST /v1/surveys/s/responses", silent)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"/responses/consent/agree"`) {
			t.Errorf("without consent = %d %s, want 400 that names the question", w.Code, w.Body)
		}
		var r response.Record
		v.Must(t, "ws ann", "POST /v1/surveys/s/responses", strings.Replace(silent, `"responses"`, `"partial":true,"responses"`, 1), &r)
		if r.Status != response.Partial {
			t.Errorf("status = %s, want partial", r.Status)
		}
		w = v.Send(t, "ws vera", "POST /v1/responses/r1/verification", `{"status":"verified","reason":"Looks well.","revision":1}`)
		if w.Code != 409 || !strings.Contains(w.Body.String(), "RESPONSE_NOT_VERIFIABLE") {
			t.Errorf("verify = %d %s, want that it is not verifiable", w.Code, w.Body)
		}
	})
}

// TestConsentKeepsTheServerFromVerifying where the survey names the flag, or
// none; where it names others only, it does not.
func TestConsentKeepsTheServerFromVerifying(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ policy, want string }{
		{`{"mode":"auto","autoRules":["consent_missing"]}`, response.Pending},
		{`{"mode":"auto"}`, response.Pending},
		{`{"mode":"auto","autoRules":["duration_short"]}`, response.Verified},
	} {
		dbtest.Any(t, func(t *testing.T, d *db.DB) {
			v := consentEnv(t, d, `{"id":"agree","type":"consent"}`, tt.policy, optional)
			var r response.Record
			v.Must(t, "ws ann", "POST /v1/surveys/s/responses", silent, &r)
			if r.Verification.Status != tt.want {
				t.Errorf("%s: %s, want %s", tt.policy, r.Verification.Status, tt.want)
			}
		})
	}
}
