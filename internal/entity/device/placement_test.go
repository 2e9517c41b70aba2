package device_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

// move takes a device out of the household it is in and puts it into another,
// from a moment on, as people do it: one relationship goes, another comes.
func (e *env) move(t *testing.T, id, household string, since time.Time) {
	t.Helper()
	e.unrelate(t, id, "household")
	if household == "" {
		return
	}
	if _, err := e.e.Relate(as(t.Context(), "ws", "owner"), id, entity.RelationDraft{Role: "household", Target: household, Since: since}); err != nil {
		t.Fatal(err)
	}
}

// unrelate removes the relationships of a role.
func (e *env) unrelate(t *testing.T, id, role string) {
	t.Helper()
	for _, r := range all[entity.ListedRelationship](t, e, "/v1/entities/"+url.PathEscape(id)+"/relationships?role="+role) {
		if w := e.send(t, "owner", "DELETE", "/v1/entities/"+url.PathEscape(id)+"/relationships/"+r.ID, ""); w.Code != 200 {
			t.Fatalf("remove relationship = %d %s", w.Code, w.Body)
		}
	}
}

// minutes are the cooking minutes that a household is told of a month.
func (e *env) minutes(t *testing.T, household string) float64 {
	t.Helper()
	sum := 0.0
	for _, d := range get[device.Stacking](t, e, "/v1/households/"+url.PathEscape(household)+"/stacking?from=2024-02-01&to=2024-03-01T12:00:00Z").Devices {
		sum += d.CookingMinutes
	}
	return sum
}

// A monitor that moves leaves what it has measured where it has measured it.
func TestMovedMonitor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		const one, two, three = "did:ixo:household/1", "did:ixo:household/2", "did:ixo:household/3"
		for _, home := range []string{one, two} {
			if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: home, Name: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		day := func(n int) time.Time { return time.Date(2024, 2, n, 0, 0, 0, 0, time.UTC) }
		id := e.register(t, device.Draft{DID: "did:ixo:device/a", HouseholdID: one})
		e.add(t, id, hot(day(10), 600, 660)...)
		if got := e.minutes(t, one); got != 60 {
			t.Fatalf("the first household cooked %v minutes, want 60", got)
		}
		e.move(t, id, two, day(15))
		e.add(t, id, hot(day(20), 600, 630)...) // in the second
		e.add(t, id, hot(day(5), 600, 640)...)  // late, from the first
		if a, b := e.minutes(t, one), e.minutes(t, two); a != 100 || b != 30 {
			t.Errorf("after the move: %v and %v minutes, want 100 in the first and 30 in the second", a, b)
		}
		// An event that goes on while it is carried over is cut.
		e.add(t, id, hot(day(15), -30, 30)...)
		if a, b := e.minutes(t, one), e.minutes(t, two); a != 130 || b != 60 {
			t.Errorf("over the move: %v and %v minutes, want 130 and 60", a, b)
		}
		for home, want := range map[string]int{one: 0, two: 1} {
			if got := all[device.Device](t, e, "/v1/devices?householdId="+url.QueryEscape(home)); len(got) != want || want == 1 && got[0].HouseholdID != two {
				t.Errorf("devices of %s = %+v, want %d", home, got, want)
			}
		}
		// To a household that is not held here yet, and out of it again. What
		// does not say since when counts from now on.
		e.move(t, id, three, day(25))
		e.add(t, id, hot(day(26), 600, 650)...)
		e.move(t, id, one, time.Time{})
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: three, Name: "c"}); err != nil {
			t.Fatal(err)
		}
		if a, b, c := e.minutes(t, one), e.minutes(t, two), e.minutes(t, three); a != 130 || b != 60 || c != 50 {
			t.Errorf("in the end: %v, %v and %v minutes, want 130, 60 and 50", a, b, c)
		}
	})
}
