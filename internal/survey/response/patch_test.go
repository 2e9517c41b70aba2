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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
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
