package response_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Everything that is wrong is named at once, by its pointer.
func TestInvalidDrafts(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	day := time.Date(2026, 2, 20, 10, 0, 0, 0, time.UTC)
	bad := -1.0
	for _, tt := range []struct {
		name   string
		change func(d *response.Draft)
		want   string
	}{
		{"nothing", func(d *response.Draft) { *d = response.Draft{} }, "/householdId required, /timestamp required, /responses required, /responses/consent/ok required, /responses/home/size required"},
		{"id", func(d *response.Draft) { d.ResponseID = "a b" }, "/responseId invalid"},
		{"long id", func(d *response.Draft) { d.ResponseID = strings.Repeat("a", 101) }, "/responseId invalid"},
		{"dids", func(d *response.Draft) { d.HouseholdID, d.Collector = "123", "ann" }, "/householdId not_a_did, /collector not_a_did"},
		{"end before begin", func(d *response.Draft) { d.StartedAt = day.Add(time.Second) }, "/startedAt after_end"},
		{"year", func(d *response.Draft) { d.Timestamp = time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC) }, "/timestamp out_of_range"},
		{"duration", func(d *response.Draft) { d.DurationSec = -1 }, "/durationSec out_of_range"},
		{"round", func(d *response.Draft) { d.Round = 2 }, "/round out_of_range"},
		{"round below", func(d *response.Draft) { d.Round = -1 }, "/round out_of_range"},
		{"mode", func(d *response.Draft) { d.Mode = "smoke" }, "/mode unknown"},
		{"place", func(d *response.Draft) { d.Location = &response.Location{Lat: 91, Lon: -181, Accuracy: &bad} }, "/location/lat out_of_range, /location/lon out_of_range, /location/accuracy out_of_range"},
		{"attachments", func(d *response.Draft) { d.Attachments = []response.Attachment{{SHA256: "x"}} }, "/attachments/0/sha256 invalid"},
		{"many attachments", func(d *response.Draft) {
			for range 51 {
				d.Attachments = append(d.Attachments, response.Attachment{SHA256: hashOf("x")})
			}
		}, "/attachments too_many"},
		{"texts", func(d *response.Draft) { d.DeviceID, d.Language = strings.Repeat("ü", 201), strings.Repeat("ü", 200) }, "/deviceId too_long"},
		{"metadata", func(d *response.Draft) { d.Metadata.Value = []byte(`[]`) }, "/metadata wrong_type"},
		{"much metadata", func(d *response.Draft) { d.Metadata.Value = []byte(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`) }, "/metadata too_large"},
		{"many answers", func(d *response.Draft) {
			d.Responses.Value = []byte(`{"home":{"phone":"` + strings.Repeat("x", 512<<10) + `"}}`)
			d.Partial = true
		}, "/responses too_large"},
		{"answers", func(d *response.Draft) { d.Responses.Value = []byte(`5`); d.Partial = true }, "/responses wrong_type"},
		{"null", func(d *response.Draft) { d.Responses.Value = []byte(`null`); d.Partial = true }, "/responses required"},
		{"unknown answers", func(d *response.Draft) {
			d.Responses.Value = []byte(`{"consent":{"ok":true,"x":1},"home":{"size":1.5,"fuel":["coal"]},"y":{}}`)
		}, "/responses/consent/x unknown_question, /responses/home/size wrong_type, /responses/home/fuel/0 not_an_option, /responses/y unknown_section"},
		{"verification", func(d *response.Draft) { d.Verification = &response.Verification{Status: "pending"} }, "/verification/status unknown, /verification/verifier required, /verification/timestamp required"},
	} {
		d := draft("r1", 1)
		tt.change(d)
		_, err := v.s.Submit(as(t, "owner"), "s", d)
		if got := codes(err); got != tt.want {
			t.Errorf("%s: %s (%v)\nwant %s", tt.name, got, err, tt.want)
		}
	}
	if n := v.count(t, "responses"); n != 0 {
		t.Errorf("%d were stored", n)
	}
}

// Who may send what.
func TestWhoMaySend(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, strings.Replace(homeSurvey, `"collectors"`, `"strictCollectors":true,"collectors"`, 1))
	for _, tt := range []struct{ role, collector, code, fields string }{
		{"vera", "", "COLLECTOR_UNKNOWN", "/collector unknown"},
		{"ann", "did:key:bob", "SCOPE_MISSING", "/collector scope_missing"},
		{"mia", "did:key:bob", "", ""},
		{"mia", "did:key:eve", "COLLECTOR_UNKNOWN", "/collector unknown"},
	} {
		d := draft("r-"+tt.role, 1)
		d.Collector = tt.collector
		_, err := v.s.Submit(as(t, tt.role), "s", d)
		want(t, tt.role, err, tt.code)
		if got := codes(err); got != tt.fields {
			t.Errorf("%s for %s: %s", tt.role, tt.collector, got)
		}
	}
	if r := v.get(t, "mia", "r-mia"); r.Collector != "did:key:bob" || r.SubmittedBy != "did:key:mia" {
		t.Errorf("record = %+v", r.Head)
	}
	_, err := v.s.Submit(as(t, "ann"), "s", func() *response.Draft { d := draft("r", 9); d.SurveyID = "other"; return d }())
	want(t, "two surveys", err, "RESPONSE_INVALID")
	_, err = v.s.Submit(as(t, "ann"), "", draft("r", 9))
	want(t, "no survey", err, "RESPONSE_INVALID")
	_, err = v.s.Submit(as(t, "ann"), "nope", draft("r", 9))
	want(t, "unknown survey", err, "SURVEY_NOT_FOUND")
}

// A retry without an id of its own needs a key, and then stores once.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	const body = `{"householdId":"did:ixo:household/1","timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"home":{"size":2}}}`
	first := v.send(t, "ann", "POST /v1/surveys/s/responses", body, "Idempotency-Key", "k1")
	if first.Code != 201 || !strings.HasPrefix(record(t, first.Body.Bytes()).ResponseID, "rsp_") {
		t.Fatalf("first = %d %s", first.Code, first.Body)
	}
	for _, before := range []string{"", "close"} {
		if before != "" {
			v.move(t, "s", before)
		}
		again := v.send(t, "ann", "POST /v1/surveys/s/responses", body, "Idempotency-Key", "k1")
		if again.Code != 201 || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("again after %q = %d %s", before, again.Code, again.Body)
		}
	}
	if w := v.send(t, "ann", "POST /v1/surveys/s/responses", strings.Replace(body, `"size":2`, `"size":3`, 1), "Idempotency-Key", "k1"); w.Code != 422 && w.Code != 409 {
		t.Errorf("another with the same key = %d %s", w.Code, w.Body)
	}
	if n := v.count(t, "responses"); n != 1 {
		t.Errorf("%d were stored", n)
	}
}
