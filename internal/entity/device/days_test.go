package device_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

const usagePath = "/v1/projects/" + project + "/usage?from=2024-02-01&to=2024-03-01T12:00:00Z"

// fleet makes a project, and a household in it.
func (e *env) fleet(t *testing.T, homes ...string) {
	t.Helper()
	ctx := as(t.Context(), "ws", "owner")
	if _, err := e.e.Create(ctx, entity.Draft{DID: project, Type: "p", Protocol: "did:ixo:protocol/project"}); err != nil {
		t.Fatal(err)
	}
	for _, home := range homes {
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: home, Name: "x", Project: project}); err != nil {
			t.Fatal(err)
		}
	}
}

// again has all days remade from the readings and tells what they are then.
func (e *env) again(t *testing.T) []device.Usage {
	t.Helper()
	if _, err := e.d.Exec(t.Context(), `UPDATE device_status SET dirty_from = 0, dirty_to = $1`, int64(1)<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := e.s.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	return all[device.Usage](t, e, usagePath)
}

// The days of a fleet, through late readings, a move within a day, a correction
// and another setting.
func TestUsage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		const one, two = "did:ixo:household/1", "did:ixo:household/2"
		e.fleet(t, one, two)
		id := e.register(t, device.Draft{DID: "did:ixo:device/a", HouseholdID: one, StoveID: "did:ixo:stove/1"})
		day := time.Date(2024, 2, 10, 0, 0, 0, 0, time.UTC)
		at := func(minute int) time.Time { return day.Add(time.Duration(minute) * time.Minute) }
		want := func(what string, days ...string) {
			t.Helper()
			var got []string
			for _, u := range all[device.Usage](t, e, usagePath+"&limit=1") {
				got = append(got, fmt.Sprintf("%s %s %d %v %d", u.Day[8:], u.HouseholdID[len(u.HouseholdID)-1:], u.Events, u.CookingMinutes, u.Readings))
			}
			if diff := cmp.Diff(days, got); diff != "" {
				t.Errorf("%s: days (-want +got):\n%s", what, diff)
			}
			if diff := cmp.Diff(all[device.Usage](t, e, usagePath), e.again(t)); diff != "" {
				t.Errorf("%s: kept days are not what follows from the readings (-kept +remade):\n%s", what, diff)
			}
		}
		e.add(t, id, hot(day, 600, 660)...)
		e.add(t, id, hot(day, 1420, 1460)...) // over midnight
		want("readings", "10 1 2 80 34", "11 1 0 20 10")
		e.add(t, id, hot(day, -800, -740)...)
		want("late ones", "09 1 1 60 24", "10 1 2 80 34", "11 1 0 20 10")
		e.move(t, id, two, at(630))
		if _, err := e.s.Catch(ctx); err != nil {
			t.Fatal(err)
		}
		want("a move within an event", "09 1 1 60 24", "10 1 1 30 12", "10 2 2 50 22", "11 2 0 20 10")
		if _, err := e.s.Correct(ctx, id, device.CorrectionDraft{Reason: "x", Withdraw: &device.WithdrawDraft{From: at(1420).Format(time.RFC3339), To: at(1440).Format(time.RFC3339)}}); err != nil {
			t.Fatal(err)
		}
		want("withdrawn before midnight", "09 1 1 60 24", "10 1 1 30 12", "10 2 1 30 18", "11 2 1 20 10")
		if got := all[device.Usage](t, e, "/v1/projects/did:ixo:household%2F1/usage?limit=1"); len(got) != 0 {
			t.Errorf("usage of a household = %+v, want nothing", got)
		}
		if w := e.send(t, "owner", "GET", "/v1/projects/did:ixo:project%2Fnone/usage", ""); w.Code != 404 {
			t.Errorf("usage of what is not there = %d %s, want 404", w.Code, w.Body)
		}
		if got := len(all[device.Usage](t, e, "/v1/projects/"+project+"/usage?from=2024-02-10&to=2024-02-10")); got != 2 {
			t.Errorf("%d rows of one day, want 2", got)
		}
	})
}

// The project of a day follows the twins it comes from.
func TestUsageFollowsProjects(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		const home = "did:ixo:household/1"
		e.fleet(t)
		id := e.register(t, device.Draft{HouseholdID: home})
		e.add(t, id, hot(time.Date(2024, 2, 10, 0, 0, 0, 0, time.UTC), 600, 660)...)
		days := func() int {
			t.Helper()
			if _, err := e.s.Catch(ctx); err != nil {
				t.Fatal(err)
			}
			return len(all[device.Usage](t, e, usagePath))
		}
		if n := days(); n != 0 {
			t.Errorf("%d days before the household is known, want 0", n)
		}
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: home, Name: "x"}); err != nil {
			t.Fatal(err)
		}
		if n := days(); n != 0 {
			t.Errorf("%d days of a household without a project, want 0", n)
		}
		if _, err := e.e.Relate(ctx, home, entity.RelationDraft{Role: "project", Target: project}); err != nil {
			t.Fatal(err)
		}
		if n := days(); n != 1 {
			t.Errorf("%d days once the household is in the project, want 1", n)
		}
		// A device that has left takes what it saw there along.
		const next = "did:ixo:household/2"
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: next, Name: "y"}); err != nil {
			t.Fatal(err)
		}
		e.move(t, id, next, time.Date(2024, 2, 11, 0, 0, 0, 0, time.UTC))
		days()
		for _, in := range []bool{false, true} {
			if in {
				_, err := e.e.Relate(ctx, home, entity.RelationDraft{Role: "project", Target: project})
				if err != nil {
					t.Fatal(err)
				}
			} else {
				e.unrelate(t, home, "project")
			}
			if n := days(); n != map[bool]int{true: 1}[in] {
				t.Errorf("%d days when the household it left is in the project: %v", n, in)
			}
		}
		// Another threshold, and there is no event.
		set := httptest.NewRequestWithContext(t.Context(), "PUT", "/v1/entities/"+url.PathEscape(id)+"/properties/temperatureThreshold", http.NoBody)
		set.Header.Set("If-Match", "*")
		if w := e.with(t, set, "500"); w.Code/100 != 2 {
			t.Fatalf("threshold = %d %s", w.Code, w.Body)
		}
		if n := days(); n != 1 || all[device.Usage](t, e, usagePath)[0].Events != 0 {
			t.Errorf("days = %+v, want one without events", all[device.Usage](t, e, usagePath))
		}
	})
}

// However readings come, are corrected, and moved: the days that are kept are
// those that follow from what there is in the end.
func TestDaysAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for turn := range 4 {
			e := newEnv(t, d)
			ctx := as(t.Context(), "ws", "owner")
			rng := rand.New(rand.NewPCG(uint64(turn), 11))
			if turn == 0 {
				e.fleet(t, stirred()...)
			}
			id := e.register(t, device.Draft{HouseholdID: stirred()[0]})
			start := time.Date(2024, 2, 8+turn, 0, 0, 0, 0, time.UTC)
			for range 25 {
				e.stir(t, rng, id, start.Add(time.Duration(rng.IntN(5*24*12))*5*time.Minute))
			}
			if _, err := e.s.Catch(ctx); err != nil {
				t.Fatal(err)
			}
			kept := all[device.Usage](t, e, usagePath)
			if diff := cmp.Diff(e.again(t), kept); diff != "" || len(kept) == 0 {
				t.Errorf("turn %d: %d days (-remade +kept):\n%s", turn, len(kept), diff)
			}
		}
	})
}

func stirred() []string { return []string{"did:ixo:household/1", "did:ixo:household/2"} }

// stir moves a device, withdraws readings of it or adds some, from a moment on.
func (e *env) stir(t *testing.T, rng *rand.Rand, id string, at time.Time) {
	t.Helper()
	ctx := as(t.Context(), "ws", "owner")
	switch rng.IntN(6) {
	case 0:
		e.move(t, id, stirred()[rng.IntN(2)], at)
	case 1:
		to := at.Add(time.Duration(1+rng.IntN(20)) * 15 * time.Minute)
		if _, err := e.s.Correct(ctx, id, device.CorrectionDraft{Reason: "x", Withdraw: &device.WithdrawDraft{From: at.Format(time.RFC3339), To: to.Format(time.RFC3339)}}); err != nil {
			t.Fatal(err)
		}
	default:
		if _, err := e.s.Add(ctx, id, device.Batch{Readings: scatter(rng, at)}, true); err != nil {
			t.Fatal(err)
		}
	}
	if rng.IntN(4) == 0 {
		if _, err := e.s.Catch(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// scatter makes readings from a moment on, some of them without a temperature.
func scatter(rng *rand.Rand, at time.Time) []device.ReadingDraft {
	var out []device.ReadingDraft
	temp := 20 + 60*float64(rng.IntN(2))
	for i := range 1 + rng.IntN(60) {
		if rng.IntN(12) == 0 {
			temp = 100 - temp
		}
		r := reading(at.Add(time.Duration(i)*5*time.Minute), temp)
		if rng.IntN(8) == 0 {
			yes, long := true, float64(rng.IntN(40_000))
			r.Temperature, r.CookingEvent, r.Duration = nil, &yes, &long
		}
		out = append(out, r)
	}
	return out
}
