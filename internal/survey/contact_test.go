package survey_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// reached is a service that knows how to reach every household but the last.
func reached(c *survey.Config) {
	c.Contact = func(_ context.Context, _ db.Querier, household string) (*survey.Contact, error) {
		if strings.HasSuffix(household, "000199") {
			return nil, nil
		}
		return &survey.Contact{Name: "Amina of " + household, Phone: "+2547", Place: form.Object{Value: jsontext.Value(`{"district":"Kitui"}`)}}, nil
	}
}

// TestContacts: who is to visit households reads how to reach them, and nobody
// else does.
func TestContacts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, reached)
		id := v.create(t, "ws", strings.Replace(open, "did:ixo:agent/1", "did:key:collector", 1))
		at := "/v1/surveys/" + id + "/households"
		items := make([]string, 4)
		for i := range items {
			items[i] = fmt.Sprintf(`{"householdId":"did:ixo:household/%d","location":{"lat":1,"lon":%d}}`, i, i)
		}
		v.must(t, "owner", "POST "+at, `{"items":[`+strings.Join(items, ",")+`]}`)
		if got := v.walk(t, "ws mate", at+"?limit=3"); len(got) != 4 {
			t.Errorf("a list nobody has a part of = %v, want all of it", got)
		}
		ask := "GET " + at + "?collector=me&contact=true"
		if w := v.send(t, "ws collector", ask, ""); w.Code != 409 || !strings.Contains(w.Body.String(), "SURVEY_NOT_ACTIVE") {
			t.Errorf("contacts of a draft = %d %s", w.Code, w.Body)
		}
		v.move(t, "ws", id, "activate")
		if w := v.send(t, "ws collector", ask, ""); w.Code != 200 || strings.Contains(w.Body.String(), "Amina") {
			t.Errorf("contacts of a list without assignments = %d %s, want none", w.Code, w.Body)
		}
		if n := strings.Count(v.events(t, "ws"), "survey.contacts_disclosed"); n != 0 {
			t.Errorf("%d audit entries although nobody was told anything", n)
		}
		one := at + "/did:ixo:household%2F1"
		v.must(t, "supervisor", "PATCH "+one, `{"collector":"did:key:collector"}`, "If-Match", "*")
		if w := v.send(t, "ws supervisor", "PATCH "+one, `{"location":{"lat":5,"lon":5}}`, "If-Match", "*"); w.Code != 403 || !strings.Contains(w.Body.String(), "SCOPE_MISSING") {
			t.Errorf("a supervisor moves a household: %d %s", w.Code, w.Body)
		}
		for who, want := range map[string]string{"owner": "0 1 2 3", "supervisor": "0 1 2 3", "collector": "1", "mate": ""} {
			if got := strings.Join(v.walk(t, "ws "+who, at+"?limit=3"), " "); got != want {
				t.Errorf("%s sees %q, want %q", who, got, want)
			}
		}
		for who, want := range map[string]int{"collector": 200, "mate": 404, "supervisor": 200} {
			if w := v.send(t, "ws "+who, "GET "+one, ""); w.Code != want || strings.Contains(w.Body.String(), `"lat"`) != (want == 200) {
				t.Errorf("%s reads a household: %d %s, want %d", who, w.Code, w.Body, want)
			}
		}
		if got := v.walk(t, "ws mate", at+"?collector=did:key:collector"); len(got) != 0 {
			t.Errorf("the list of another = %v, want nothing", got)
		}
		if w := v.send(t, "ws mate", "POST "+at+"/did:ixo:household%2F0/outcome", `{"outcome":"contacted"}`); w.Code != 200 || strings.Contains(w.Body.String(), `"lat"`) {
			t.Errorf("a household nobody visits: %d %s, want no place", w.Code, w.Body)
		}
		before := strings.Count(v.events(t, "ws"), "survey.contacts_disclosed")
		w := v.send(t, "ws collector", ask, "")
		if body := w.Body.String(); w.Code != 200 || strings.Count(body, "Amina of ") != 1 || !strings.Contains(body, `"phone":"+2547"`) || !strings.Contains(body, `"place":{"district":"Kitui"}`) {
			t.Errorf("contacts = %d %s, want those of household 1", w.Code, w.Body)
		}
		if n := strings.Count(v.events(t, "ws"), "survey.contacts_disclosed"); n != before+1 {
			t.Errorf("%d audit entries for one call", n-before)
		}
		for _, tt := range []struct {
			who, ask string
			status   int
			code     string
		}{
			{"collector", at + "?contact=true", 200, ""}, // of a collector's own list
			{"collector", at + "?contact=true&collector=did:key:mate", 400, "INVALID_PARAMETER"},
			{"owner", at + "?contact=true", 400, "INVALID_PARAMETER"},
			{"owner", at + "?contact=true&collector=did:key:collector", 400, "INVALID_PARAMETER"},
			{"reader", at + "?contact=true&collector=me", 403, "SCOPE_MISSING"},
			{"mate", at + "?contact=true&collector=me", 200, ""},
		} {
			w := v.send(t, "ws "+tt.who, "GET "+tt.ask, "")
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.code) || tt.who != "collector" && strings.Contains(w.Body.String(), "Amina") {
				t.Errorf("%s %s = %d %s, want %d %s", tt.who, tt.ask, w.Code, w.Body, tt.status, tt.code)
			}
		}
		v.must(t, "supervisor", "PATCH "+one, `{"collector":"did:key:supervisor"}`, "If-Match", "*")
		for who, want := range map[string]int{"collector": 0, "supervisor": 1} {
			if w := v.send(t, "ws "+who, ask, ""); strings.Count(w.Body.String(), "Amina") != want {
				t.Errorf("%s after the assignment has ended = %s, want %d", who, w.Body, want)
			}
		}
		v.erase(t, "ws", "did:ixo:household/1")
		v.move(t, "ws", id, "close")
		if w := v.send(t, "ws supervisor", ask, ""); w.Code != 409 {
			t.Errorf("contacts of a closed survey = %d %s", w.Code, w.Body)
		}
	})
}

// TestContactsOfBackChecker: whoever only asks again is told who and where the
// households are that are assigned to them, by name or by a rule, and knows the
// others by made-up names.
func TestContactsOfBackChecker(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, reached)
		id := v.create(t, "ws", strings.Replace(open, `"collectors":["did:ixo:agent/1"]`, `"collectors":["did:key:checker"],"assignments":[{"collector":"did:key:checker","areas":["east"]}]`, 1))
		at := "/v1/surveys/" + id + "/households"
		v.must(t, "owner", "POST "+at, `{"items":[
			{"householdId":"did:ixo:household/0","location":{"lat":1,"lon":30}},
			{"householdId":"did:ixo:household/1","location":{"lat":1,"lon":31},"collector":"did:key:checker"},
			{"householdId":"did:ixo:household/2","location":{"lat":1,"lon":32},"area":"east"},
			{"householdId":"did:ixo:household/3","location":{"lat":1,"lon":33},"collector":"did:key:collector"}]}`)
		v.move(t, "ws", id, "activate")
		ask := "GET " + at + "?collector=me&contact=true"
		body := v.send(t, "ws checker", ask, "").Body.String()
		for _, want := range []string{"Amina of did:ixo:household/1", "Amina of did:ixo:household/2", `"lon":31`, `"lon":32`, `"phone":"+2547"`, `"place":{"district":"Kitui"}`} {
			if !strings.Contains(body, want) {
				t.Errorf("contacts = %s, want %s", body, want)
			}
		}
		if strings.Contains(body, "masked") || strings.Contains(body, "household/3") || strings.Contains(body, `"lon":30`) {
			t.Errorf("contacts = %s, want those of two households", body)
		}
		if n := strings.Count(v.events(t, "ws"), "survey.contacts_disclosed"); n != 1 {
			t.Errorf("%d audit entries for one call", n)
		}
		if got := strings.Join(v.walk(t, "ws checker", at+"?collector=me&limit=1"), " "); got != "1 2" {
			t.Errorf("page by page = %s, want 1 2", got)
		}
		all := v.send(t, "ws checker", "GET "+at, "").Body.String()
		if strings.Contains(all, "household/0") || strings.Contains(all, "household/3") || strings.Contains(all, `"lon":33`) || strings.Count(all, `"masked":true`) != 2 {
			t.Errorf("the list = %s, want others masked", all)
		}
		for n, want := range map[int]int{1: 200, 2: 200, 3: 400, 9: 400} {
			if w := v.send(t, "ws checker", fmt.Sprintf("GET %s/did:ixo:household%%2F%d", at, n), ""); w.Code != want || strings.Contains(w.Body.String(), `"lat"`) != (want == 200) {
				t.Errorf("household %d = %d %s, want %d", n, w.Code, w.Body, want)
			}
		}
		v.must(t, "owner", "PATCH "+at+"/did:ixo:household%2F1", `{"collector":"did:key:collector"}`, "If-Match", "*")
		if body := v.send(t, "ws checker", ask, "").Body.String(); strings.Contains(body, "household/1") || !strings.Contains(body, "household/2") {
			t.Errorf("after the assignment has ended = %s, want household 2 only", body)
		}
	})
}

// TestManyContacts: a page has as many as the audit log can name.
func TestManyContacts(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t), reached)
	id := v.create(t, "ws", strings.Replace(open, `"collectors":["did:ixo:agent/1"]`, `"collectors":["did:key:collector"],"assignments":[{"collector":"did:key:collector"}]`, 1))
	v.upload(t, "ws", id, crowdOf(200)...)
	v.move(t, "ws", id, "activate")
	at := "/v1/surveys/" + id + "/households?collector=me&contact=true&limit=1000"
	if got := v.walk(t, "ws collector", at); len(got) != 200 {
		t.Errorf("%d households, want 200", len(got))
	}
	if n := strings.Count(v.events(t, "ws"), "survey.contacts_disclosed"); n != 4 {
		t.Errorf("%d audit entries, want one for each 50", n)
	}
	if w := v.send(t, "ws collector", "GET "+at, ""); strings.Count(w.Body.String(), `"contact":{`) != 50 {
		t.Errorf("a page = %s, want 50 contacts", w.Body)
	}
}
