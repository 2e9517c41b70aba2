package response_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// told are what nobody without responses:pii may read of a response of ann.
var told = []string{"did:ixo:household/7", "did:key:ann", "tablet-ann", "called Amina"}

// TestReadsArePseudonymised: who may not read what is about a person learns of
// no household and no collector, and can still tell what belongs together.
func TestReadsArePseudonymised(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		one := draft("r1", 7)
		one.DeviceID, one.Metadata = "tablet-ann", form.Object{Value: []byte(`{"note":"called Amina"}`)}
		v.submit(t, "ann", one)
		v.submit(t, "ann", draft("r2", 8))
		if w := v.send(t, "ann", "PATCH /v1/responses/r1", `{"responses":{"home":{"size":6}}}`, "If-Match", `"1"`, "Content-Type", "application/merge-patch+json"); w.Code != 200 {
			t.Fatalf("correct = %d %s", w.Code, w.Body)
		}
		name := v.vault.Pseudonyms("ws", "did:ixo:project/one")
		home, ann := name("did:ixo:household/7"), "pe_"+name("person\x00did:key:ann")[3:]
		for _, path := range []string{
			"/v1/responses/r1", "/v1/responses/r1?at=1", "/v1/responses/r1/history", "/v1/surveys/s/responses",
			"/v1/surveys/s/responses?filter=" + url.QueryEscape(`eq(householdId,"`+home+`")`),
			"/v1/surveys/s/responses?filter=" + url.QueryEscape(`eq(collector,"`+ann+`")`),
		} {
			w := v.send(t, "reader", "GET "+path, "")
			text := w.Body.String()
			for _, secret := range told {
				if w.Code != 200 || strings.Contains(text, secret) {
					t.Errorf("GET %s = %d with %q in %s", path, w.Code, secret, text)
				}
			}
			if !strings.Contains(text, ann) || !strings.HasSuffix(path, "/history") && !strings.Contains(text, home) {
				t.Errorf("GET %s has not the names of exports, %s and %s: %s", path, home, ann, text)
			}
			if strings.Contains(path, "r1") && !strings.HasSuffix(path, "history") && w.Header().Get("ETag") == "" {
				t.Errorf("GET %s has no ETag", path)
			}
			w = v.send(t, "mia", "GET "+path, "")
			if strings.Contains(path, "filter") == strings.Contains(w.Body.String(), told[1]) {
				t.Errorf("GET %s by whoever may read it = %s", path, w.Body) // the names are not those she is shown
			}
		}
		r := v.get(t, "reader", "r1")
		if !r.Pseudonymised || fmt.Sprint(r.Masked) != "[/metadata]" || !strings.HasPrefix(r.DeviceID, "dv_") || r.SubmittedBy != ann {
			t.Errorf("record = %+v, want names and what is masked", r)
		}
		if r := v.get(t, "ann", "r1"); r.HouseholdID != told[0] || r.Collector != told[1] || r.DeviceID != told[2] || r.Pseudonymised {
			t.Errorf("record for its collector = %+v, want what she has sent", r)
		}
		if r := v.get(t, "bob", "r1"); r.HouseholdID != home || r.Collector != ann {
			t.Errorf("record for another collector = %+v, want names", r)
		}
	})
}

// TestNobodyLearnsNamesByAsking: a filter that knew the household would tell
// which name it has.
func TestNobodyLearnsNamesByAsking(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	v.submit(t, "ann", draft("r1", 7))
	name := v.vault.Pseudonyms("ws", "did:ixo:project/one")("did:ixo:household/7")
	for _, filter := range []string{`eq(householdId,"did:ixo:household/7")`, `like(householdId,"did:*")`, `eq(collector,"did:key:ann")`, `eq(submittedBy,"did:key:ann")`} {
		w := v.send(t, "reader", "GET /v1/surveys/s/responses?filter="+url.QueryEscape(filter), "")
		if w.Code != 200 || strings.Contains(w.Body.String(), "r1") {
			t.Errorf("filter %s = %d %s, want nothing", filter, w.Code, w.Body)
		}
	}
	for _, tt := range []struct {
		role, household, want string
		code                  int
	}{
		{"reader", "did:ixo:household/7", `"scope_missing"`, 400},
		{"reader", name, `"pseudonym"`, 400},
		{"mia", name, `"pseudonym"`, 400},
		{"mia", "did:ixo:household/7", `"r1"`, 200},
		{"ann", "did:ixo:household/7", `"r1"`, 200},
		{"bob", "did:ixo:household/7", `"items":[]`, 200},
	} {
		w := v.send(t, tt.role, "GET /v1/responses?householdId="+tt.household, "")
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("responses of %s as %s = %d %s, want %d with %s", tt.household, tt.role, w.Code, w.Body, tt.code, tt.want)
		}
	}
}

// TestCorrectionOfWhatIsMasked: who reads names, changes an answer and sends
// the record back changes that answer and nothing else.
func TestCorrectionOfWhatIsMasked(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	one := draft("r1", 7)
	one.DeviceID, one.Metadata = "tablet-ann", form.Object{Value: []byte(`{"note":"called Amina"}`)}
	v.submit(t, "ann", one)
	r := v.get(t, "editor", "r1")
	if r.HouseholdID == told[0] {
		t.Fatalf("record = %+v, want names", r)
	}
	body := fmt.Sprintf(`{"householdId":%q,"collector":%q,"deviceId":%q,"timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"home":{"size":9}}}`, r.HouseholdID, r.Collector, r.DeviceID)
	if w := v.send(t, "editor", "PUT /v1/responses/r1", body, "If-Match", `"1"`); w.Code != 200 {
		t.Fatalf("PUT = %d %s", w.Code, w.Body)
	}
	got := v.get(t, "mia", "r1")
	if got.HouseholdID != told[0] || got.Collector != told[1] || got.DeviceID != told[2] || string(got.Metadata.Value) != `{"note":"called Amina"}` {
		t.Errorf("record = %+v, want what was there", got)
	}
}
