package kpt_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/kpt"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// twin is a household with a twin and on no list.
const twin = "did:ixo:household/twin"

type env struct {
	*surveytest.Env
	s     *kpt.Service
	clock *surveytest.Clock
}

// newEnv has 200 households on the list of a survey: did:ixo:household/0 and so on.
func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d), clock: new(surveytest.Clock)}
	v.s = kpt.New(kpt.Config{
		DB: d, Vault: vault.New(vault.Config{Key: v.Key}), Events: v.Log, Idem: v.Idem, Cursors: eventtest.Cursors(), Now: v.clock.Now,
		Household: func(_ context.Context, _ db.Querier, did string) (bool, error) { return did == twin, nil },
		Design:    func(_ context.Context, _ db.Querier, _, id string) (bool, error) { return id == "kitui", nil },
	})
	v.s.Routes(v.API)
	v.Must(t, "ws owner", "POST /v1/templates", surveytest.Template, nil)
	v.Must(t, "ws owner", "POST /v1/templates/field/publish", `{}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys", surveytest.Survey("s", 1), nil)
	var items []string
	for i := range 200 {
		items = append(items, fmt.Sprintf(`{"householdId":"did:ixo:household/%d"}`, i))
	}
	v.Must(t, "ws owner", "POST /v1/surveys/s/households", `{"items":[`+strings.Join(items, ",")+`]}`, nil)
	return v
}

// test is the documented test with changes: "member", "value" in turn; "" takes a
// member out.
func test(changes ...string) string {
	m := map[string]string{
		"projectId": `"` + surveytest.Project + `"`, "householdId": `"did:ixo:household/1"`, "testGroup": `"intervention"`,
		"testPeriod":       `{"startDate":"2024-02-01","endDate":"2024-02-04","durationDays":3}`,
		"fuelMeasurements": `{"total":11.9,"dailyLogs":[3.2,2.8,3.0,2.9]}`,
		"people":           `{"children":2,"women":1,"men":1}`, "selection": `{"method":"simple_random","document":"MADD 4.2"}`,
		"externalFactors": `{"season":"dry","culturalEvents":["none"],"occupationalFactors":["typical_workweek"]}`,
	}
	for i := 0; i < len(changes); i += 2 {
		m[changes[i]] = changes[i+1]
		if changes[i+1] == "" {
			delete(m, changes[i])
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%q:%s", name, m[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// refused wants a request such as "ws ann GET /v1/kpt" to be refused with a code,
// and a field where one is named: "KPT_INVALID /testPeriod/endDate too_short".
func (v *env) refused(t *testing.T, request, body, want string, headers ...string) {
	t.Helper()
	w := v.as(t, request, body, headers)
	var p struct {
		Code   string `json:"code"`
		Errors []struct {
			Pointer string `json:"pointer"`
			Code    string `json:"code"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %d %s", request, w.Code, w.Body)
	}
	code, field, _ := strings.Cut(want, " ")
	found := field == ""
	for _, e := range p.Errors {
		found = found || e.Pointer+" "+e.Code == field
	}
	if p.Code != code || !found {
		t.Errorf("%s with %s = %d %s, want %s", request, body, w.Code, w.Body, want)
	}
}

// send is a request whose answer is wanted.
func (v *env) send(t *testing.T, request, body string, out any, headers ...string) {
	t.Helper()
	w := v.as(t, request, body, headers)
	if w.Code >= 300 {
		t.Fatalf("%s = %d %s", request, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		t.Fatalf("%s: %v in %s", request, err, w.Body)
	}
}

func (v *env) as(t *testing.T, request, body string, headers []string) *httptest.ResponseRecorder {
	t.Helper()
	parts := strings.SplitN(request, " ", 3)
	return v.Send(t, parts[0]+" "+parts[1], parts[2], body, headers...)
}

func TestRules(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for _, tt := range []struct{ name, value, field string }{
			{"testGroup", `"control"`, ""},
			{"testGroup", "", ""},
			{"householdId", `"household 1"`, "/householdId not_a_did"},
			{"testPeriod", `{"startDate":"2024-02-01","endDate":"2024-02-02"}`, "/testPeriod/endDate too_short"},
			{"testPeriod", `{"startDate":"2024-02-01","endDate":"2024-02-31"}`, "/testPeriod/endDate invalid"},
			{"testPeriod", `{"startDate":"2024-02-01","endDate":"2024-02-09"}`, "/fuelMeasurements/dailyLogs mismatch"},
			{"testPeriod", `{"startDate":"2024-02-01","endDate":"2024-02-04","durationDays":7}`, "/testPeriod/durationDays mismatch"},
			{"fuelMeasurements", `{"total":6,"dailyLogs":[3,3]}`, "/fuelMeasurements/dailyLogs out_of_range"},
			{"fuelMeasurements", `{"total":12.1,"dailyLogs":[3.2,2.8,3.0,2.9]}`, "/fuelMeasurements/total mismatch"},
			{"fuelMeasurements", `{"total":9,"dailyLogs":[-1,4,3,3]}`, "/fuelMeasurements/dailyLogs/0 out_of_range"},
			{"fuelMeasurements", `{"fuel":"Wood!","total":11.9,"dailyLogs":[3.2,2.8,3.0,2.9]}`, "/fuelMeasurements/fuel invalid"},
			{"people", `{"men":-1}`, "/people/men out_of_range"},
			{"people", `{}`, "/people required"},
			{"selection", `{"method":"by hand"}`, ""},
			{"selection", `{"method":"simple_random","designId":"other"}`, "/selection/designId not_found"},
			{"cookingSessions", `[{"minutes":2000}]`, "/cookingSessions/0/minutes out_of_range"},
			{"evidence", `["a\nb"]`, ""},
			{"id", `"analysis"`, "/id invalid"},
			{"projectId", `""`, ""},
		} {
			if tt.name == "projectId" { // the lists say which
				v.Must(t, "ws ann", "POST /v1/kpt", test(tt.name, tt.value), nil)
				continue
			}
			v.refused(t, "ws ann POST /v1/kpt", test(tt.name, tt.value), "KPT_INVALID "+tt.field)
		}
		v.refused(t, "ws ann POST /v1/kpt", test("householdId", `"did:ixo:household/nowhere"`), "HOUSEHOLD_UNKNOWN /householdId not_found")
		v.refused(t, "ws ann POST /v1/kpt", test("householdId", `"`+twin+`"`, "projectId", ""), "KPT_INVALID /projectId required")
		v.refused(t, "ws ann POST /v1/kpt", test("fuelMeasurements", `{"total":0,"dailyLogs":[0,0,0]}`, "testGroup", `"reference"`), "KPT_INVALID /fuelMeasurements/total out_of_range")
		v.refused(t, "ws stranger POST /v1/kpt", test(), "KPT_INVALID /projectId not_found")
		v.refused(t, "ws reader POST /v1/kpt", test(), "SCOPE_MISSING")
		v.refused(t, "ws ann GET /v1/kpt/analysis?projectId="+surveytest.Project, "", "SCOPE_MISSING")
		v.refused(t, "ws auditor GET /v1/kpt/analysis?precision=2", "", "INVALID_PARAMETER query/projectId required")
		v.refused(t, "ws stranger GET /v1/kpt/analysis?projectId="+surveytest.Project, "", "INVALID_PARAMETER query/projectId not_found")
		var got api.KitchenTest
		v.Must(t, "ws ann", "POST /v1/kpt", test("householdId", `"`+twin+`"`, "selection", "", "people", "", "externalFactors", "", "id", `"bare"`), &got)
		if got.ID != "bare" || len(got.Warnings) != 3 || got.Days != 4 || got.Type != "KPTClaim" || got.FuelMeasurements.Unit != "kg" || math.Abs(*got.PerDay-2.975) > 1e-12 {
			t.Errorf("a bare test: %+v", got)
		}
	})
}

// A day is weighed for one test of a fuel. The logs are of the last days of a
// period, so that one which leaves out its first day may begin where another ends.
func TestSharedDay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		days := func(household, from, to, logs int) string {
			return test("householdId", fmt.Sprintf(`"did:ixo:household/%d"`, household), "testPeriod", fmt.Sprintf(`{"startDate":"2024-05-%02d","endDate":"2024-05-%02d"}`, from, to),
				"fuelMeasurements", fmt.Sprintf(`{"total":%d,"dailyLogs":[%s]}`, logs, strings.TrimSuffix(strings.Repeat("1,", logs), ",")))
		}
		for i, tt := range []struct {
			name                       string
			from, to, logs             int
			nextFrom, nextTo, nextLogs int
			ok                         bool
		}{
			{"the last day of one is the first of the other", 1, 3, 3, 3, 5, 3, false},
			{"the first day of one is the last of the other", 3, 5, 3, 1, 3, 3, false},
			{"the later one leaves out its first day", 1, 3, 3, 3, 6, 3, true},
			{"the one of before leaves out its first day, which is the last of the other", 3, 6, 3, 1, 3, 3, true},
			{"both leave out the first day", 1, 4, 3, 4, 7, 3, true},
			{"both begin on one day", 1, 4, 3, 1, 4, 4, false},
			{"one day after another", 1, 3, 3, 4, 6, 3, true},
			{"one within the other", 1, 9, 9, 4, 6, 3, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				v.Must(t, "ws ann", "POST /v1/kpt", days(i, tt.from, tt.to, tt.logs), nil)
				if next := days(i, tt.nextFrom, tt.nextTo, tt.nextLogs); tt.ok {
					v.Must(t, "ws ann", "POST /v1/kpt", next, nil)
				} else {
					v.refused(t, "ws ann POST /v1/kpt", next, "KPT_OVERLAPS /testPeriod exists")
				}
			})
		}
	})
}

// Nothing is weighed on days to come. Tomorrow has begun somewhere.
func TestDaysToCome(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.clock.Set(time.Date(2026, 5, 9, 18, 0, 0, 0, time.UTC))
		until := func(end int) string {
			return test("testPeriod", fmt.Sprintf(`{"startDate":"2026-05-%02d","endDate":"2026-05-%02d"}`, end-3, end))
		}
		v.refused(t, "ws ann POST /v1/kpt", until(11), "KPT_INVALID /testPeriod/endDate out_of_range")
		var got api.KitchenTest
		v.Must(t, "ws ann", "POST /v1/kpt", until(10), &got)
		v.refused(t, "ws ann PUT /v1/kpt/"+got.ID+"?reason=typo", until(12), "KPT_INVALID /testPeriod/endDate out_of_range", "If-Match", `"1"`)
	})
}

type list struct {
	Items []api.KitchenTest `json:"items"`
}

func TestLife(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const home, reason = `"did:ixo:household/1"`, "?reason=counted+twice"
		var first, got api.KitchenTest
		v.send(t, "ws ann POST /v1/kpt", test("id", `"k1"`, "evidence", `["ipfs://Qm1"]`), &first, "Idempotency-Key", "once")
		v.send(t, "ws ann POST /v1/kpt", test("id", `"k1"`, "evidence", `["ipfs://Qm1"]`), &got, "Idempotency-Key", "once")
		if got.ID != first.ID || got.Revision != 1 || got.HouseholdID != "did:ixo:household/1" || math.Abs(*got.PerAdultDay-2.975/2.8) > 1e-12 || math.Abs(*got.PerHeadDay-2.975/4) > 1e-12 {
			t.Errorf("sent again: %+v, want %+v", got, first)
		}
		v.refused(t, "ws ann POST /v1/kpt", test("id", `"k1"`, "householdId", `"did:ixo:household/2"`), "KPT_EXISTS /id exists")
		v.refused(t, "ws ann POST /v1/kpt", test("id", `"k1"`), "KPT_EXISTS /id exists")
		v.refused(t, "ws ann POST /v1/kpt", test("testPeriod", `{"startDate":"2024-02-03","endDate":"2024-02-06"}`), "KPT_OVERLAPS /testPeriod exists")
		if w := v.Send(t, "ws ben", "POST /v1/kpt", test()); strings.Contains(w.Body.String(), "k1") {
			t.Errorf("another collector learns which test overlaps: %s", w.Body)
		}
		v.Must(t, "ws ann", "POST /v1/kpt", test("fuelMeasurements", `{"fuel":"charcoal","total":3,"dailyLogs":[1,1,1]}`), nil)
		// The 4th is weighed in k1: another test may begin on it, and leaves it out.
		v.refused(t, "ws ann POST /v1/kpt", test("testPeriod", `{"startDate":"2024-02-04","endDate":"2024-02-07"}`), "KPT_OVERLAPS /testPeriod exists")
		v.Must(t, "ws ann", "POST /v1/kpt", test("testPeriod", `{"startDate":"2024-02-04","endDate":"2024-02-07"}`, "fuelMeasurements", `{"total":9,"dailyLogs":[3.2,2.8,3.0]}`), nil)

		got = api.KitchenTest{}
		v.send(t, "ws reader GET /v1/kpt/k1", "", &got)
		if !got.Masked || !strings.HasPrefix(got.HouseholdID, "hh_") || !strings.HasPrefix(got.RecordedBy, "pe_") || got.Evidence != nil {
			t.Errorf("a reader sees %+v", got)
		}
		for _, who := range []string{"ws stranger", "other owner"} {
			v.refused(t, who+" GET /v1/kpt/k1", "", "KPT_NOT_FOUND")
			v.refused(t, who+" DELETE /v1/kpt/k1"+reason, "", "KPT_NOT_FOUND", "If-Match", `"1"`)
			var all list
			v.send(t, who+" GET /v1/kpt", "", &all)
			if len(all.Items) != 0 {
				t.Errorf("%s lists %d tests", who, len(all.Items))
			}
		}
		v.refused(t, "ws reader GET /v1/kpt?householdId=did:ixo:household/1", "", "INVALID_PARAMETER query/householdId scope_missing")
		for who, want := range map[string]int{"ws ann": 3, "ws ben": 0, "ws owner": 3} {
			var all list
			v.send(t, who+" GET /v1/kpt?householdId=did:ixo:household/1&testGroup=intervention", "", &all)
			if len(all.Items) != want {
				t.Errorf("%s finds %d tests of a household by its DID, want %d", who, len(all.Items), want)
			}
		}
		v.change(t, home, reason)
		v.erased(t)
	})
}

// change corrects and withdraws the test k1.
func (v *env) change(t *testing.T, home, reason string) {
	t.Helper()
	var got api.KitchenTest
	better := test("projectId", "", "householdId", "", "testGroup", `"reference"`, "fuelMeasurements", `{"total":8.9,"dailyLogs":[3.2,2.8,2.9]}`)
	v.refused(t, "ws ann PUT /v1/kpt/k1", better, "INVALID_PARAMETER query/reason required", "If-Match", `"1"`)
	v.refused(t, "ws ann PUT /v1/kpt/k1"+reason, better, "PRECONDITION_REQUIRED")
	v.refused(t, "ws ann PUT /v1/kpt/k1"+reason, better, "STALE_REVISION", "If-Match", `"7"`)
	v.refused(t, "ws ben PUT /v1/kpt/k1"+reason, better, "NOT_RECORDER", "If-Match", `"1"`)
	v.refused(t, "ws ann PUT /v1/kpt/k1"+reason, test("householdId", `"did:ixo:household/2"`), "KPT_INVALID /householdId read_only", "If-Match", `"1"`)
	v.refused(t, "ws ann PUT /v1/kpt/k1"+reason, test("householdId", home, "testPeriod", `{"startDate":"2024-02-03","endDate":"2024-02-06"}`), "KPT_OVERLAPS", "If-Match", `"1"`)
	v.send(t, "ws ann PUT /v1/kpt/k1"+reason, better, &got, "If-Match", `"1"`)
	if got.Revision != 2 || got.TestGroup != "reference" || got.Days != 3 || got.Reason != "counted twice" {
		t.Errorf("corrected: %+v", got)
	}
	v.send(t, "ws owner DELETE /v1/kpt/k1"+reason, "", &got, "If-Match", `"2"`)
	if got.Status != "withdrawn" || got.Revision != 3 {
		t.Errorf("withdrawn: %+v", got)
	}
	v.refused(t, "ws ann PUT /v1/kpt/k1"+reason, better, "KPT_LOCKED", "If-Match", `"3"`)
	v.Must(t, "ws ann", "POST /v1/kpt", test(), nil) // the days are free again
	var past struct {
		Items []api.KitchenTestRevision `json:"items"`
		Page  api.PageInfo              `json:"page"`
	}
	v.send(t, "ws reader GET /v1/kpt/k1/history?limit=2", "", &past)
	if len(past.Items) != 2 || past.Items[1].Test.TestGroup != "reference" || past.Items[0].Test.Status != "withdrawn" || past.Page.NextCursor == "" || !strings.HasPrefix(past.Items[0].By, "pe_") {
		t.Errorf("history %+v", past)
	}
}

// erased wants an erasure to take out what the tests of a household say, and
// nothing new to be stored about it.
func (v *env) erased(t *testing.T) {
	t.Helper()
	if n := surveytest.Erase(t, v.DB, "ws", "did:ixo:household/1", v.s.Erase); n != 4 {
		t.Errorf("erased %d tests, want 4", n)
	}
	var got api.KitchenTest
	v.send(t, "ws owner GET /v1/kpt/k1", "", &got)
	if got.Status != "erased" || got.FuelMeasurements.Total != 0 || got.Evidence != nil || got.Reason != "" || got.TestPeriod.StartDate != "2024-02-01" {
		t.Errorf("of an erased household stays %+v", got)
	}
	rows, err := v.DB.Query(t.Context(), `SELECT body || reason FROM kpt_history UNION ALL SELECT body || reason FROM kpt_tests`)
	texts, err := db.Collect(rows, err, "read what stays", db.Column[string])
	if err != nil || strings.Join(texts, "") != "" {
		t.Errorf("stays: %q, %v", texts, err)
	}
	v.refused(t, "ws ann POST /v1/kpt", test("testPeriod", `{"startDate":"2025-02-01","endDate":"2025-02-04"}`), "HOUSEHOLD_ERASED")
}

// Two collectors who test a household at once: one of them is told.
func TestOverlapAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		got := surveytest.CrowdOf(8, func(i int) (string, error) {
			w := v.Send(t, "ws ann", "POST /v1/kpt", test("testPeriod", fmt.Sprintf(`{"startDate":"2024-02-0%d","endDate":"2024-02-1%d"}`, 1+i%3, i%3), "fuelMeasurements",
				`{"total":9,"dailyLogs":[1,1,1,1,1,1,1,1,1]}`))
			return http.StatusText(w.Code), nil
		})
		if got["Created"] != 1 || got["Conflict"] != 7 {
			t.Errorf("%v, want one test and seven conflicts", got)
		}
	})
}
