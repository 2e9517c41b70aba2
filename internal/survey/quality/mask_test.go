package quality_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// TestCollectorsAreNamed: who may not read what is about a person learns of no
// collector by what checks have found.
func TestCollectorsAreNamed(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.crew(t)
	if _, err := v.s.Draw(surveytest.As(t.Context(), "ws", "owner"), "s", quality.DrawDraft{Seed: "lottery", Share: 0.25, PerCollector: 2}); err != nil {
		t.Fatal(err)
	}
	b := v.backChecks(t, "")[0]
	name := vault.New(vault.Config{Key: v.Key}).Pseudonyms("ws", surveytest.Project).Person(b.Collector)
	for _, path := range []string{"/quality", "/flags", "/back-checks", "/back-checks/" + b.BackCheckID, "/flags?collector=" + name} {
		w := v.Send(t, "ws reader", "GET /v1/surveys/s"+path, "")
		if text := w.Body.String(); w.Code != 200 || strings.Contains(text, "did:key:ann") || strings.Contains(text, "did:key:ben") || strings.HasPrefix(path, "/back") && !strings.Contains(text, name) {
			t.Errorf("%s = %d %s, want the name %s and no DID of a collector", path, w.Code, text, name)
		}
	}
	// Whoever assigns collectors knows them, and no more than that.
	for _, path := range []string{"/quality", "/back-checks", "/back-checks/" + b.BackCheckID, "/flags?collector=" + b.Collector} {
		w := v.Send(t, "ws supervisor", "GET /v1/surveys/s"+path, "")
		if text := w.Body.String(); w.Code != 200 || strings.Contains(text, `"pe_`) || !strings.HasPrefix(path, "/flags") && !strings.Contains(text, b.Collector) || strings.Contains(text, "did:ixo:household/") {
			t.Errorf("%s by a supervisor = %d %s, want %s and no household", path, w.Code, text, b.Collector)
		}
	}
	w := v.Send(t, "ws vera", "POST /v1/surveys/s/back-checks:draw", `{"seed":"lottery","share":0.25,"perCollector":2}`)
	if text := w.Body.String(); w.Code != 200 || strings.Contains(text, "did:key:ann") || !strings.Contains(text, name) || !strings.Contains(text, `"by":"did:key:owner"`) {
		t.Errorf("draw = %d %s, want names of collectors, and who asked", w.Code, text)
	}
	w = v.Send(t, "ws vera", "POST /v1/surveys/s/back-checks/"+b.BackCheckID, `{"outcome":"refused"}`)
	if text := w.Body.String(); w.Code != 200 || !strings.Contains(text, name) || !strings.Contains(text, `"by":"did:key:vera"`) {
		t.Errorf("answer = %d %s, want the name of the collector, and who asks", w.Code, text)
	}
}

// TestFlagsHoldNoDistance: who can move a place does not read how far it is from
// another.
func TestFlagsHoldNoDistance(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.work(t)
	v.Start(t, "ws", "s", 1)
	for i := range 2 {
		v.Submit(t, "ws", "s", surveytest.Interview{ID: []string{"here", "there"}[i], Household: i, Lat: 1 + float64(i)*0.00003, Lon: 36, Answers: surveytest.Home(nil)})
	}
	v.run(t)
	for who, exact := range map[string]bool{"owner": true, "vera": true, "ann": false} {
		var p struct {
			Items []quality.FlagRecord `json:"items"`
		}
		v.Must(t, "ws "+who, "GET /v1/surveys/s/flags?rule=duplicate_household", "", &p)
		n := 0
		for _, f := range p.Items {
			if f.Question != "/location" {
				continue
			}
			n++
			if strings.Contains(f.Detail, "was at most 5 m from that of response ") == exact || !exact && f.Value != 0 || f.Limit != 5 {
				t.Errorf("%s reads %+v, want metres %v", who, f, exact)
			}
		}
		if n == 0 {
			t.Errorf("%s reads no flag of a place: %+v", who, p.Items)
		}
	}
}

// TestNightFromMidnight: 0 is an hour, not the absence of one.
func TestNightFromMidnight(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.Start(t, "ws", "n", 1)
	var got struct {
		NightFrom *int `json:"nightFrom"`
		NightTo   *int `json:"nightTo"`
	}
	v.Must(t, "ws owner", "PUT /v1/surveys/n/quality/rules", `{"nightFrom":0}`, nil)
	v.Must(t, "ws owner", "GET /v1/surveys/n/quality/rules", "", &got)
	if got.NightFrom == nil || *got.NightFrom != 0 || got.NightTo == nil || *got.NightTo != 5 {
		t.Errorf("rules = %+v, want a night from 0 to 5", got)
	}
}

// TestSerialsAreNamed: who may not know whose thing it is reads the name that
// exports have in place of its number, and asks for it by that.
func TestSerialsAreNamed(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.work(t)
	v.Start(t, "ws", "s", 1)
	v.Submit(t, "ws", "s", surveytest.Interview{ID: "one", Household: 1, Answers: surveytest.Home(map[string]any{"serial": "AB-1234"})})
	name := vault.New(vault.Config{Key: v.Key}).Pseudonyms("ws", surveytest.Project).Serial("AB-1234")
	for who, knows := range map[string]bool{"owner": true, "reader": false, "vera": false} {
		for _, path := range []string{"/v1/responses/one", "/v1/surveys/s/responses"} {
			w := v.Send(t, "ws "+who, "GET "+path, "")
			if text := w.Body.String(); w.Code != 200 || strings.Contains(text, "AB-1234") != knows || strings.Contains(text, name) == knows {
				t.Errorf("%s by %s = %d %s, want the serial number: %v, else %s", path, who, w.Code, text, knows, name)
			}
		}
	}
}
