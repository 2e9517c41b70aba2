package device_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// hot makes readings every five minutes: hot from minute a to minute b, cold
// for half an hour around that.
func hot(day time.Time, a, b int) []device.ReadingDraft {
	var out []device.ReadingDraft
	for m := a - 30; m < b+30; m += 5 {
		temp := 20.0
		if m >= a && m < b {
			temp = 80
		}
		out = append(out, reading(day.Add(time.Duration(m)*time.Minute), temp))
	}
	return out
}

func TestStacking(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		const home = "did:ixo:household/123"
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: home, Name: "a"}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.e.Create(ctx, entity.Draft{DID: "did:ixo:stove/old", Type: "traditional", Protocol: "did:ixo:protocol/clean-cooking"}); err != nil {
			t.Fatal(err)
		}
		old := e.register(t, device.Draft{DID: "did:ixo:device/a", HouseholdID: home, StoveID: "did:ixo:stove/old"})
		twice := e.register(t, device.Draft{DID: "did:ixo:device/b", HouseholdID: home, StoveID: "did:ixo:stove/old"})
		fresh := e.register(t, device.Draft{DID: "did:ixo:device/c", HouseholdID: home})
		e.register(t, device.Draft{HouseholdID: "did:ixo:household/9"})
		day := time.Date(2024, 2, 10, 0, 0, 0, 0, time.UTC)
		e.add(t, old, hot(day, 600, 660)...)     // 10:00 to 11:00
		e.add(t, twice, hot(day, 610, 670)...)   // the same stove
		e.add(t, fresh, hot(day, 640, 700)...)   // 10:40 to 11:40
		e.add(t, old, hot(day, 1440, 1470)...)   // the next day, one stove
		e.add(t, old, hot(day, 2880, 2910)...)   // the day after, one after the other
		e.add(t, fresh, hot(day, 3000, 3030)...) //
		e.add(t, old, hot(day, 4310, 4330)...)   // over midnight
		e.add(t, fresh, hot(day, 4310, 4330)...)
		at := func(m int) time.Time { return day.Add(time.Duration(m) * time.Minute) }
		const path = "/v1/households/did:ixo:household%2F123/stacking"
		got := get[device.Stacking](t, e, path+"?from=2024-02-01&to=2024-02-28")
		both, stoves := []string{old, fresh}, []string{fresh, "did:ixo:stove/old"}
		want := []device.Overlap{
			{Start: at(640), End: at(670), Minutes: 30, Devices: []string{old, twice, fresh}, Stoves: stoves},
			{Start: at(4310), End: at(4330), Minutes: 20, Devices: both, Stoves: stoves},
		}
		if diff := cmp.Diff(want, got.Overlaps); diff != "" {
			t.Errorf("overlaps (-want +got):\n%s", diff)
		}
		if want := (device.StackedDays{Observed: 4, Stacking: 3, Several: 3, Share: 0.75}); got.Days != want || got.OverlapMinutes != 50 || len(got.Devices) != 3 {
			t.Errorf("days %+v, %v minutes, %d devices, want %+v, 50, 3", got.Days, got.OverlapMinutes, len(got.Devices), want)
		}
		for query, want := range map[string]int{
			"?from=2024-02-01&to=2024-02-28&minDuration=1800":                     1,
			"?from=2024-02-01&to=2024-02-28&minTemperature=81":                    0,
			"?from=2024-02-01&to=2024-02-28&stoveTypes=Traditional":               0, // one stove alone
			"?from=2024-02-10T11:00:00Z&to=2024-02-10T11:05:00Z":                  1, // inside an event
			"?from=2024-02-10T11:10:00Z&to=2024-02-10T11:30:00Z":                  0,
			"?from=2024-02-10T11:00:00Z&to=2024-02-10T11:05:00Z&minDuration=3600": 1, // whole events are judged
		} {
			if got := get[device.Stacking](t, e, path+query); len(got.Overlaps) != want {
				t.Errorf("%s: overlaps %+v, want %d", query, got.Overlaps, want)
			}
		}
		if s := get[device.Stacking](t, e, path+"?from=2024-02-10&to=2024-02-10&stoveTypes=traditional"); len(s.Devices) != 2 || s.Devices[0].StoveType != "traditional" || s.Devices[0].CookingMinutes != 60 {
			t.Errorf("traditional stoves = %+v, want both monitors of one", s.Devices)
		}
	})
}

// A page looks at so many readings and goes on, and the events are the same.
func TestBudget(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, func(c *device.Config) { c.ScanBudget = 2000 })
		id := e.register(t, device.Draft{HouseholdID: "did:ixo:household/1", Configuration: config(1)})
		if _, err := e.s.CreateHousehold(as(t.Context(), "ws", "owner"), device.HouseholdDraft{DID: "did:ixo:household/1", Name: "a"}); err != nil {
			t.Fatal(err)
		}
		from := time.Date(2024, 2, 10, 0, 0, 0, 0, time.UTC)
		var readings []device.ReadingDraft
		for k := range 4200 { // every second, hot for 72 s in every 720
			temp := 20.0
			if k%720 < 72 {
				temp = 80
			}
			readings = append(readings, reading(from.Add(time.Duration(k)*time.Second), temp))
		}
		e.add(t, id, readings...)
		path := "/v1/devices/" + id + "/events?from=2024-02-10&to=2024-02-28&limit=1000&minDuration=60"
		first := get[web.Page[device.CookingEvent]](t, e, path)
		if len(first.Items) != 3 || !first.Page.HasMore {
			t.Errorf("first page has %d events, more %v, want 3 and more", len(first.Items), first.Page.HasMore)
		}
		events := all[device.CookingEvent](t, e, path)
		if len(events) != 6 {
			t.Fatalf("%d events, want 6", len(events))
		}
		for i, ev := range events {
			if want := from.Add(time.Duration(i) * 720 * time.Second); !ev.Start.Equal(want) || ev.DurationSeconds != 72 || ev.Readings != 72 || ev.Truncated {
				t.Errorf("event %d = %+v, want 72 s from %s", i, ev, want)
			}
		}
		// All hot: one event longer than any page is told once, cut.
		events = all[device.CookingEvent](t, e, path+"&threshold=-10")
		if len(events) != 1 || !events[0].Truncated || !events[0].Start.Equal(from) {
			t.Errorf("events of a device that never cools = %+v, want one that is cut", events)
		}
		if got := all[device.Gap](t, e, "/v1/devices/"+id+"/gaps?from=2024-02-10&to=2024-02-28"); len(got) != 1 || !got[0].Open {
			t.Errorf("gaps = %+v, want the open one at the end", got)
		}
		const stacking = "/v1/households/did:ixo:household%2F1/stacking?from=2024-02-10"
		for to, want := range map[string]int{"2024-02-28": 400, "2024-02-10T00:30:00Z": 200} {
			if w := e.send(t, "owner", "GET", stacking+"&to="+to, ""); w.Code != want {
				t.Errorf("stacking up to %s = %d %s, want %d", to, w.Code, w.Body, want)
			}
		}
		st := get[device.Status](t, e, "/v1/devices/"+id+"/status")
		if day, month := *st.Completeness.LastDay, *st.Completeness.LastMonth; day != 0 || month != 0.001 {
			t.Errorf("completeness = %v and %v, want 0, and 0.001 of what was looked at", day, month)
		}
	})
}

// Devices without a temperature have readings and gaps, and no events; they
// are no reason to read for ever.
func TestOtherChannels(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		var part []device.ReadingDraft
		for i := range 300 {
			r := device.ReadingDraft{Timestamp: today.Add(time.Duration(i-400) * time.Minute).Format(time.RFC3339), Values: map[string]float64{"power": float64(i) / 10}}
			if i%100 < 40 && i%5 == 0 { // a thermometer that works now and then
				temp := 90.0
				r.Temperature = &temp
			}
			part = append(part, r)
		}
		e.add(t, id, part...)
		events := all[device.CookingEvent](t, e, "/v1/devices/"+id+"/events?from=2024-03-01&limit=1")
		if len(events) != 3 || events[0].DurationSeconds != 2400 || events[0].Readings != 8 || events[2].Truncated != true {
			t.Errorf("events = %+v, want three of 40 minutes", events)
		}
		if got := all[device.Reading](t, e, "/v1/devices/"+id+"/readings?limit=7"); len(got) != 300 || got[299].Values["power"] != 29.9 {
			t.Errorf("%d readings, the last %+v, want 300", len(got), got[len(got)-1])
		}
	})
}

// A wrong cursor, and one of another list, is refused.
func TestCursorsBelongToTheirList(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	id, other := e.register(t, device.Draft{}), e.register(t, device.Draft{})
	e.add(t, id, series(today.Add(-48*time.Hour), 500)...)
	page := get[struct {
		Page struct {
			NextCursor string `json:"nextCursor"`
		} `json:"page"`
	}](t, e, "/v1/devices/"+id+"/events?limit=1")
	for _, path := range []string{
		"/v1/devices/" + other + "/events?limit=1", "/v1/devices/" + id + "/gaps?limit=1", "/v1/devices/" + id + "/events?limit=1&threshold=50",
	} {
		if w := e.send(t, "owner", "GET", path+"&cursor="+url.QueryEscape(page.Page.NextCursor), ""); w.Code != 400 {
			t.Errorf("%s with the cursor of another list = %d, want 400", path, w.Code)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := newEnv(b, dbtest.SQLite(b))
			id := e.register(b, device.Draft{})
			from := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				e.add(b, id, series(from, n)...)
				from = from.Add(time.Duration(n) * 5 * time.Minute)
			}
		})
	}
}

func BenchmarkEvents(b *testing.B) {
	e := newEnv(b, dbtest.SQLite(b))
	id := e.register(b, device.Draft{})
	from := today.Add(-30 * 24 * time.Hour)
	e.add(b, id, series(from, 4320)...)
	e.add(b, id, series(from.Add(15*24*time.Hour), 4320)...)
	path := "/v1/devices/" + id + "/events?limit=1000&from=" + from.Format(time.RFC3339)
	for b.Loop() {
		if got := get[struct {
			Items []device.CookingEvent `json:"items"`
			Page  any                   `json:"page"`
		}](b, e, path); len(got.Items) != 240 {
			b.Fatalf("%d events, want 240", len(got.Items))
		}
	}
}
