package device_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

// A device that sends every reading alone costs one event an hour, and each
// reading is in one.
func TestQuietEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := today.Add(-6 * time.Hour)
		e := newEnv(t, d, func(c *device.Config) { c.Now = func() time.Time { return now } })
		ctx := as(t.Context(), "ws", "owner")
		id := e.register(t, device.Draft{})
		for i := range 36 { // three hours
			if i != 20 {
				e.add(t, id, reading(now, 20))
			}
			if _, err := e.s.Tell(ctx); err != nil {
				t.Fatal(err)
			}
			now = now.Add(5 * time.Minute)
		}
		now = now.Add(time.Hour)
		if n, err := e.s.Tell(ctx); err != nil || n != 1 {
			t.Errorf("Tell = %d, %v, want one device", n, err)
		}
		if n, err := e.s.Tell(ctx); err != nil || n != 0 {
			t.Errorf("Tell again = %d, %v, want none", n, err)
		}
		var got []string
		for _, ev := range e.events(t, "device.") {
			data := string(ev.Data.Value)
			got = append(got, ev.Type+" "+data[:strings.IndexByte(data, ',')])
		}
		want := []string{
			`device.readings_added {"count":1`, `device.readings_added {"count":12`, `device.readings_added {"count":11`, `device.reading_gap {"count":1`, `device.readings_added {"count":11`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// Raw readings go, the figures of their days stay, whatever comes later.
func TestTrim(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		const one, two = "did:ixo:household/1", "did:ixo:household/2"
		e.fleet(t, one, two)
		id := e.register(t, device.Draft{DID: "did:ixo:device/a", HouseholdID: one})
		other := e.register(t, device.Draft{HouseholdID: one})
		day := time.Date(2024, 2, 10, 0, 0, 0, 0, time.UTC)
		for i := range 10 {
			e.add(t, id, hot(day.AddDate(0, 0, i), 600, 660)...)
		}
		e.add(t, id, hot(day.AddDate(0, 0, 4), 1430, 1450)...) // over the midnight after which days can be remade
		e.add(t, other, hot(day.AddDate(0, 0, 9), 600, 660)...)
		before, total := all[device.Usage](t, e, usagePath), e.stored(t)
		removed := 0
		for {
			n, err := e.s.Expire(ctx, day.AddDate(0, 0, 5).Add(7*time.Hour), 50)
			if err != nil {
				t.Fatal(err)
			}
			if removed += n; n == 0 {
				break
			}
		}
		if removed != 3*24 || e.stored(t) != total-removed {
			t.Errorf("%d removed, %d left, want the 72 of three whole days: two more are looked back at", removed, e.stored(t))
		}
		if diff := cmp.Diff(before, e.again(t)); diff != "" {
			t.Errorf("days after the readings went (-before +after):\n%s", diff)
		}
		late := hot(day.AddDate(0, 0, 2), 900, 930)
		if _, err := e.s.Add(ctx, id, device.Batch{Readings: late}, false); code(err) != "READINGS_INVALID" {
			t.Errorf("readings of days that are final = %v, want READINGS_INVALID", err)
		}
		r, err := e.s.Add(ctx, id, device.Batch{Readings: append(late, hot(day.AddDate(0, 0, 8), 900, 930)...)}, false)
		if err != nil || r.Value.Accepted != 18 || r.Value.RefusedCount != 18 || r.Value.Refused[0].Errors[0].Pointer != "/readings/0/timestamp" {
			t.Errorf("with others = %+v, %v, want 18 refused and 18 accepted", r.Value, err)
		}
		for _, of := range []device.CorrectionDraft{
			{Reason: "x", Withdraw: &device.WithdrawDraft{From: day.Format(time.RFC3339), To: day.AddDate(0, 0, 9).Format(time.RFC3339)}},
			{Reason: "x", Readings: late[:1]},
		} {
			if _, err := e.s.Correct(ctx, id, of); code(err) != "CORRECTION_INVALID" {
				t.Errorf("a correction of days that are final = %v, want CORRECTION_INVALID", err)
			}
		}
		if n, err := e.s.Expire(ctx, day.AddDate(0, 0, 5), 50); err != nil || n != 0 {
			t.Errorf("Expire again = %d, %v, want nothing", n, err)
		}
	})
}
