package device_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

// TestMonths: readings that are kept by months go a month at a time, the figures of
// their days stay, and a device that sends old ones later is not refused.
func TestMonths(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	e := newEnv(t, d)
	ctx := as(t.Context(), "ws", "owner")
	const one = "did:ixo:household/1"
	e.fleet(t, one, "did:ixo:household/2")
	for _, now := range []time.Time{time.Date(2023, 11, 3, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 20, 0, 0, 0, 0, time.UTC)} {
		p := db.Parts{DB: d, Table: "device_readings", By: "at", Key: "device, at", Now: func() time.Time { return now }}
		if err := p.Make(ctx); err != nil {
			t.Fatal(err)
		}
	}
	id := e.register(t, device.Draft{DID: "did:ixo:device/a", HouseholdID: one})
	day := time.Date(2024, 1, 28, 0, 0, 0, 0, time.UTC)
	for i := range 10 {
		e.add(t, id, hot(day.AddDate(0, 0, i), 600, 660)...)
	}
	before, total := all[device.Usage](t, e, usagePath), e.stored(t)
	expire := func(at time.Time) int {
		t.Helper()
		n, err := e.s.Expire(ctx, at, 50)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := expire(day.AddDate(0, 0, 5)); n != 0 || e.stored(t) != total {
		t.Errorf("%d gone while the month is looked back at, %d left of %d", n, e.stored(t), total)
	}
	after := day.AddDate(0, 0, 9) // 6 February
	if n := expire(after); n != 1 {
		t.Errorf("%d months gone, want January", n)
	}
	if got := e.stored(t); got != total*6/10 {
		t.Errorf("%d of %d left, want those of February", got, total)
	}
	if n := expire(after); n != 0 {
		t.Errorf("%d gone the second time", n)
	}
	if diff := cmp.Diff(before, e.again(t)); diff != "" {
		t.Errorf("days after the readings went (-before +after):\n%s", diff)
	}
	late := hot(day, 900, 930)
	if _, err := e.s.Add(ctx, id, device.Batch{Readings: late}, false); code(err) != "READINGS_INVALID" {
		t.Errorf("readings of days that are final = %v, want READINGS_INVALID", err)
	}
	other := e.register(t, device.Draft{HouseholdID: one})
	e.add(t, other, late...)
	if got := e.stored(t); got != total*6/10+len(late) {
		t.Errorf("%d stored, want those of a new device too", got)
	}
	if err := e.s.MakeMonths(ctx); err != nil {
		t.Error(err)
	}
}
