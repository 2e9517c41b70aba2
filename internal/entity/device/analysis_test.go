package device_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

const analysed = `{"householdId":"did:ixo:household/1","periodStart":"2024-02-01","periodEnd":"2024-02-29"}`

// cooked sends readings of a day: hot for some hours, then cold.
func (e *env) cooked(t *testing.T, id string, day, hours int) {
	t.Helper()
	from := time.Date(2024, 2, day, 6, 0, 0, 0, time.UTC)
	var list []device.ReadingDraft
	for i := range 24 * 12 {
		temp := 20.0
		if i < hours*12 {
			temp = 80
		}
		list = append(list, reading(from.Add(time.Duration(i-72)*5*time.Minute), temp))
	}
	e.add(t, id, list...)
}

func (e *env) analyse(t *testing.T, body string) api.HouseholdReductions {
	t.Helper()
	w := e.send(t, "owner", "POST", "/v1/analysis/household", body)
	var out api.HouseholdAnalysis
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	if out.HouseholdID != "did:ixo:household/1" || out.Period.Start != "2024-02-01" || out.Period.End != "2024-02-29" {
		t.Errorf("%+v", out)
	}
	return out.Analysis
}

// Two new stoves and then the old one too, of which two monitors watch.
func TestAnalysis(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		e.fleet(t)
		_, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{
			DID: "did:ixo:household/1", Name: "x", Project: project,
			Baseline: entity.Object{Value: []byte(`{"fuelType":"Charcoal","monthlyConsumption":40,"cookingHours":5}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, typ := range map[string]string{"did:ixo:stove/new": "ImprovedStove", "did:ixo:stove/old": "Three-Stone"} {
			if _, err := e.e.Create(ctx, entity.Draft{DID: name, Type: typ, Protocol: "did:ixo:protocol/asset"}); err != nil {
				t.Fatal(err)
			}
		}
		since := func(id, stove string) string {
			return e.register(t, device.Draft{DID: id, HouseholdID: "did:ixo:household/1", StoveID: stove, Project: project})
		}
		since("did:ixo:device/a", "did:ixo:stove/new")
		since("did:ixo:device/b", "")
		e.cooked(t, "did:ixo:device/a", 3, 3)
		e.cooked(t, "did:ixo:device/a", 4, 1)
		e.cooked(t, "did:ixo:device/b", 4, 1)
		got := e.analyse(t, analysed)
		mass, factor := 40*12*29.0/365, 0.0295*(112*0.3+5.865)
		near := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-3 {
				t.Errorf("%s = %v, want %v", what, got, want)
			}
		}
		// Ten hours of before on two days, of which five are on the new stoves.
		near("baseline", got.BaselineEmissions, mass*factor)
		near("reductions", got.Reductions, mass*factor*2/29*0.5)
		near("actual", got.ActualEmissions, mass*factor*(1-1.0/29))
		near("confidence", got.Confidence, 2.0/29)
		if len(got.DeviceContributions) != 2 || len(got.Steps) == 0 || got.Unit != "kgCO2e" || got.TraceHash == "" {
			t.Fatalf("%+v", got)
		}
		a, b := got.DeviceContributions[0], got.DeviceContributions[1]
		if a.DeviceID != "did:ixo:device/a" || a.Evidence.UsageHours != 4 || a.Evidence.Days != 2 || b.Evidence.UsageHours != 1 || b.Evidence.Days != 1 {
			t.Errorf("contributions %+v", got.DeviceContributions)
		}
		near("share of a", a.ReductionShare, 0.8)
		near("fuel of a", a.Evidence.FuelSaved, mass*1.0/29*0.8)
		near("share of b", b.ReductionShare, 0.2)

		since("did:ixo:device/c", "did:ixo:stove/old")
		since("did:ixo:device/d", "did:ixo:stove/old")
		e.cooked(t, "did:ixo:device/c", 4, 5)
		e.cooked(t, "did:ixo:device/d", 4, 4)
		got = e.analyse(t, strings.Replace(analysed, "2024-02-29", "2024-02-29T05:00:00Z", 1))
		near("reductions", got.Reductions, mass*factor*2/29*0.5) // five hours on each
		if c := got.DeviceContributions[2]; !c.Evidence.Traditional || c.ReductionShare != 0 || c.Evidence.UsageHours != 5 {
			t.Errorf("the old stove: %+v", c)
		}
	})
}

func TestAnalysisRefuses(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	ctx := as(t.Context(), "ws", "owner")
	e.fleet(t)
	for id, baseline := range map[string]string{"1": `{"fuelType":"Charcoal","monthlyConsumption":40}`, "2": `{"fuelType":"moonlight"}`} {
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: "did:ixo:household/" + id, Name: "x", Baseline: entity.Object{Value: []byte(baseline)}}); err != nil {
			t.Fatal(err)
		}
	}
	e.register(t, device.Draft{DID: "did:ixo:device/a", HouseholdID: "did:ixo:household/1"})
	e.cooked(t, "did:ixo:device/a", 3, 1)
	for _, tt := range []struct {
		name, role, body string
		status           int
		want             string
	}{
		{"no readings", "owner", strings.ReplaceAll(analysed, "2024-02", "2024-01"), 422, "READINGS_MISSING"},
		{"no baseline", "owner", strings.Replace(analysed, "household/1", "household/2", 1), 422, "BASELINE_MISSING"},
		{"nobody", "owner", strings.Replace(analysed, "household/1", "household/9", 1), 404, "ENTITY_NOT_FOUND"},
		{"no household", "owner", strings.Replace(analysed, "household/1", "device/a", 1), 404, "ENTITY_NOT_FOUND"},
		{"another project", "project", analysed, 404, "ENTITY_NOT_FOUND"},
		{"no scope", "device", analysed, 403, "SCOPE_MISSING"},
		{"nothing", "owner", `{}`, 400, `"/householdId"`},
		{"no days", "owner", `{"householdId":"did:ixo:household/1","periodStart":"yesterday","periodEnd":"0001-01-01"}`, 400, `"/periodEnd"`},
		{"backwards", "owner", strings.Replace(analysed, "2024-02-29", "2024-01-31", 1), 400, `"/periodEnd"`},
		{"too long", "owner", strings.Replace(analysed, "2024-02-29", "2025-02-01", 1), 400, `"/periodEnd"`},
	} {
		if w := e.send(t, tt.role, "POST", "/v1/analysis/household", tt.body); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %d and %s", tt.name, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
