package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// TestJSONPatchShowsNothing: a JSON patch asks, copies and moves. Who may not
// read an answer, or who the response is about, learns nothing by it, and what
// they cannot read stays.
func TestJSONPatchShowsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		one := draft("r1", 1, `home.phone="0700"`, `home.people=[{"name":"kim","age":8}]`)
		one.DeviceID = "tablet"
		one.Metadata.Value = []byte(`{"note":"canary"}`)
		v.submit(t, "ann", one)
		const phone, size = "/responses/home/phone", "/responses/home/size"
		for _, tt := range []struct {
			role, ops string
			status    int
			code      string
		}{
			{"editor", `{"op":"test","path":"` + phone + `","value":"0700"}`, 422, "JSON_PATCH_NOT_APPLICABLE"},
			{"editor", `{"op":"test","path":"` + phone + `","value":"0711"}`, 422, "JSON_PATCH_NOT_APPLICABLE"},
			{"editor", `{"op":"copy","from":"` + phone + `","path":"/language"}`, 422, "JSON_PATCH_NOT_APPLICABLE"},
			{"editor", `{"op":"move","from":"/metadata/note","path":"/language"}`, 422, "JSON_PATCH_NOT_APPLICABLE"},
			{"editor", `{"op":"test","path":"/householdId","value":"did:ixo:household/1"}`, 409, "JSON_PATCH_TEST_FAILED"},
			{"editor", `{"op":"test","path":"/collector","value":"did:key:ann"}`, 409, "JSON_PATCH_TEST_FAILED"},
			{"editor", `{"op":"test","path":"/deviceId","value":"tablet"}`, 409, "JSON_PATCH_TEST_FAILED"},
			{"ann", `{"op":"test","path":"` + phone + `","value":"0700"}`, 422, "JSON_PATCH_NOT_APPLICABLE"},
			{"ann", `{"op":"test","path":"/householdId","value":"did:ixo:household/1"}`, 200, ""},
			{"mia", `{"op":"test","path":"` + phone + `","value":"0700"}`, 200, ""},
			{"editor", `{"op":"replace","path":"` + size + `","value":7}`, 200, ""},
			{"ann", `{"op":"replace","path":"` + size + `","value":8}`, 200, ""},
		} {
			w := v.send(t, tt.role, "PATCH /v1/responses/r1", "["+tt.ops+"]", "Content-Type", "application/json-patch+json", "If-Match", "*")
			if w.Code != tt.status || tt.code != "" && !strings.Contains(w.Body.String(), tt.code) {
				t.Errorf("%s %s = %d %s, want %d %s", tt.role, tt.ops, w.Code, w.Body, tt.status, tt.code)
			}
		}
		r := v.get(t, "mia", "r1")
		if got := string(r.Responses.Value); !strings.Contains(got, `"phone":"0700"`) || !strings.Contains(got, `"name":"kim"`) || !strings.Contains(got, `"size":8`) {
			t.Errorf("answers = %s, want the telephone kept", got)
		}
		if r.DeviceID != "tablet" || !strings.Contains(string(r.Metadata.Value), "canary") || r.HouseholdID != "did:ixo:household/1" {
			t.Errorf("record = %+v, want device, metadata and household kept", r)
		}
		// What cannot be read can be said anew.
		w := v.send(t, "ann", "PATCH /v1/responses/r1", `[{"op":"add","path":"`+phone+`","value":"0722"}]`, "Content-Type", "application/json-patch+json", "If-Match", "*")
		if got := string(v.get(t, "mia", "r1").Responses.Value); w.Code != 200 || !strings.Contains(got, `"phone":"0722"`) {
			t.Errorf("a new telephone = %d, %s", w.Code, got)
		}
	})
}

// TestPutKeepsWhatIsInside: a personal answer inside a repeat stays when who may
// not read it sends the rest.
func TestPutKeepsWhatIsInside(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1, `home.people=[{"name":"kim","age":8},{"name":"lee","age":9}]`))
		if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: "*", Draft: draft("", 1, `home.people=[{"age":7},{"name":"li","age":9}]`)}); err != nil {
			t.Fatal(err, codes(err))
		}
		const want = `"people":[{"age":7,"name":"kim"},{"age":9,"name":"li"}]`
		if got := string(v.get(t, "mia", "r1").Responses.Value); !strings.Contains(got, want) {
			t.Errorf("answers = %s, want %s", got, want)
		}
	})
}

// TestEntriesStayWithTheirPeople: who may not read a name in a repeat changes
// the rest of an entry where it stands. It adds, removes and moves none: the
// names would go to somebody else, or be lost.
func TestEntriesStayWithTheirPeople(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1, `home.phone="0700"`, `home.people=[{"name":"kim","age":8},{"name":"lee","age":40}]`))
		const at, patch, steps, stored = "/responses/home/people", "application/merge-patch+json", "application/json-patch+json", `"people":[{"age":8,"name":"kim"},{"age":40,"name":"lee"}]`
		put := func(people string) string {
			return `{"timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"home":` + people + `}}`
		}
		for _, tt := range []struct{ kind, body string }{
			{steps, `[{"op":"remove","path":"` + at + `/0"},{"op":"add","path":"` + at + `/-","value":{"age":1}}]`},
			{steps, `[{"op":"remove","path":"` + at + `/0"}]`},
			{steps, `[{"op":"add","path":"` + at + `/1","value":{"age":1}}]`},
			{steps, `[{"op":"move","from":"` + at + `/0","path":"` + at + `/1"}]`},
			{steps, `[{"op":"move","from":"` + at + `/1","path":"/metadata"}]`},
			{steps, `[{"op":"copy","from":"` + at + `/0","path":"` + at + `/0"},{"op":"remove","path":"` + at + `/0"}]`},
			{steps, `[{"op":"replace","path":"` + at + `","value":[]}]`},
			{steps, `[{"op":"replace","path":"` + at + `","value":null}]`},
			{patch, `{"responses":{"home":{"people":[{"age":40}]}}}`},
			{patch, `{"responses":{"home":{"people":null}}}`},
			{patch, `{"responses":{"home":null}}`},
			{"", put(`{"size":4,"people":[{"age":8}]}`)},
			{"", put(`{"size":4,"people":[{"age":8},{"age":40},{"name":"bo","age":1}]}`)},
			{"", put(`{"size":4,"people":null}`)},
			{"", put(`null`)},
		} {
			method := "PATCH"
			if tt.kind == "" {
				method, tt.kind = "PUT", "application/json"
			}
			for _, role := range []string{"ann", "editor"} {
				w := v.send(t, role, method+" /v1/responses/r1", tt.body, "Content-Type", tt.kind, "If-Match", "*")
				if got := w.Body.String(); w.Code != 409 || !strings.Contains(got, "ENTRIES_WITHHELD") || !strings.Contains(got, `"`+at+`"`) || !strings.Contains(got, "responses:pii") {
					t.Errorf("%s: %s %s = %d %s", role, method, tt.body, w.Code, got)
				}
			}
			if got := string(v.get(t, "mia", "r1").Responses.Value); !strings.Contains(got, stored) {
				t.Fatalf("%s %s: answers = %s, want %s", method, tt.body, got, stored)
			}
		}
		if w := v.send(t, "ann", "PUT /v1/responses/r1", put(`{"size":4,"people":[null,{"age":40}]}`), "Content-Type", "application/json", "If-Match", "*"); w.Code != 400 {
			t.Errorf("an entry that is null = %d %s", w.Code, w.Body)
		}
		for _, tt := range []struct{ role, kind, body, want string }{
			{"ann", steps, `[{"op":"replace","path":"` + at + `/1/age","value":41},{"op":"add","path":"` + at + `/0/age","value":9}]`, `[{"age":9,"name":"kim"},{"age":41,"name":"lee"}]`},
			{"ann", steps, `[{"op":"replace","path":"` + at + `/1","value":{"age":42}}]`, `[{"age":9,"name":"kim"},{"age":42,"name":"lee"}]`},
			{"ann", steps, `[{"op":"remove","path":"` + at + `"}]`, `[{"name":"kim"},{"name":"lee"}]`},
			{"ann", patch, `{"responses":{"home":{"phone":null,"people":[{"age":10},{"name":"li","age":43}]}}}`, `[{"age":10,"name":"kim"},{"age":43,"name":"li"}]`},
			{"mia", patch, `{"responses":{"home":{"people":[{"name":"li"}]}}}`, `[{"name":"li"}]`},
			{"mia", steps, `[{"op":"remove","path":"` + at + `/0"},{"op":"add","path":"` + at + `/-","value":{"age":1}}]`, `[{"age":1}]`},
			{"ann", steps, `[{"op":"remove","path":"` + at + `/0"},{"op":"add","path":"` + at + `/-","value":{"age":2}},{"op":"add","path":"` + at + `/-","value":{"age":3}}]`, `[{"age":2},{"age":3}]`},
		} {
			w := v.send(t, tt.role, "PATCH /v1/responses/r1", tt.body, "Content-Type", tt.kind, "If-Match", "*")
			if got := string(v.get(t, "mia", "r1").Responses.Value); w.Code != 200 || !strings.Contains(got, `"people":`+tt.want) {
				t.Errorf("%s: %s = %d %s, answers %s, want %s", tt.role, tt.body, w.Code, w.Body, got, tt.want)
			}
		}
		if got := string(v.get(t, "mia", "r1").Responses.Value); strings.Contains(got, "phone") {
			t.Errorf("answers = %s, want the telephone taken out by null", got)
		}
	})
}
