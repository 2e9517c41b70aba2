package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestDevicesAsDocumented registers a household and a monitor with the
// documented bodies and sends what it measures.
func TestDevicesAsDocumented(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		home := wants[client.Household](t, 201, curl(t, s, "POST /v1/households", `{
  "location": {"district": "XYZ", "density": "Medium"},
  "baseline": {"fuelType": "Charcoal", "monthlyConsumption": 40}
}`))
		if home.Type != "Household" || home.Location["district"] != "XYZ" || home.Baseline["monthlyConsumption"] != 40.0 {
			t.Errorf("household = %+v, want what was sent", home)
		}
		monitor := wants[client.Device](t, 201, curl(t, s, "POST /v1/devices", `{
  "type": "StoveUseMonitor",
  "householdId": "`+home.DID+`",
  "stoveId": "did:ixo:stove/456",
  "configuration": {"samplingRate": 300, "temperatureThreshold": 60, "transmissionMode": "realtime"}
}`))
		if monitor.HouseholdID != home.DID || monitor.StoveID != "did:ixo:stove/456" || monitor.Configuration.SamplingRate != 300 {
			t.Errorf("device = %+v, want what was sent", monitor)
		}
		twin := must(c.Entities.Get(ctx, monitor.DID))(t)
		if twin.Class != "physical" || twin.DomainType != "device" || twin.Type != "StoveUseMonitor" {
			t.Errorf("twin of the device = %s %s %s", twin.Class, twin.DomainType, twin.Type)
		}
		readings := "/v1/devices/" + monitor.DID + "/readings"
		first := wants[client.ReadingOutcome](t, 200, curl(t, s, "POST "+readings, `{
  "deviceId": "`+monitor.DID+`",
  "stoveId": "did:ixo:stove/456",
  "readings": [{"timestamp": "2024-02-20T08:15:00Z", "temperature": 85.4, "cookingEvent": true, "duration": 1800}],
  "status": {"battery": 92, "signal": "strong", "lastSync": "2024-02-20T08:20:00Z"}
}`))
		if first.Accepted != 1 || first.Duplicates != 0 {
			t.Errorf("outcome = %+v, want 1 reading", first)
		}
		begin := time.Date(2024, 2, 20, 8, 15, 0, 0, time.UTC)
		if whole := must(c.Devices.Add(ctx, monitor.DID, cooking(begin, 85.4, 80, 75, 70, 65, 61, 40, 35, 30, 25)))(t); whole.Accepted != 9 || whole.Duplicates != 1 {
			t.Errorf("outcome = %+v, want 9 new ones and the first again", whole)
		}
		_, err := c.Devices.Add(ctx, monitor.DID, cooking(begin, 20))
		refused(t, "another reading for a time", "DEVICE_DATA_CONFLICT", err)
		left := must(c.Devices.AddNew(ctx, monitor.DID, cooking(begin.Add(-time.Hour), 20, 20)))(t)
		if left.Accepted != 2 || len(left.Gaps) != 1 || left.Gaps[0].Missing != 10 {
			t.Errorf("outcome of earlier readings = %+v, want a gap of 10", left)
		}
		checkCooking(t, c, monitor.DID, begin)
		if st := must(c.Devices.Status(ctx, monitor.DID))(t); st.Battery == nil || *st.Battery != 92 || st.Signal != "strong" || !st.LastReadingAt.Equal(begin.Add(45*time.Minute)) {
			t.Errorf("status = %+v, want what the device said", st)
		}
		if h := must(c.Households.Get(ctx, home.DID))(t); len(h.Devices) != 1 || h.Devices[0].DID != monitor.DID {
			t.Errorf("devices of the household = %+v, want the monitor", h.Devices)
		}
	})
}

// cooking is a batch of temperatures, five minutes apart. The first is said to
// be cooking, as in the documented batch.
func cooking(at time.Time, temperatures ...float64) client.ReadingBatch {
	var b client.ReadingBatch
	for i, temp := range temperatures {
		r := client.Reading{Timestamp: at.Add(time.Duration(i) * 5 * time.Minute), Temperature: &temp}
		if temp == 85.4 {
			r.CookingEvent, r.Duration = new(true), new(1800.0)
		}
		b.Readings = append(b.Readings, r)
	}
	return b
}

// checkCooking wants one event of an hour: the half that the device says it had
// been cooking, and the half its temperatures show.
func checkCooking(t *testing.T, c *client.Client, did string, begin time.Time) {
	t.Helper()
	ctx := t.Context()
	from, to := begin.Add(-2*time.Hour), begin.Add(2*time.Hour)
	n := 0
	for ev, err := range c.Devices.Events(ctx, did, client.CookingQuery{From: from, To: to, MinSeconds: new(int64(1800)), Limit: 1}) {
		if n++; err != nil || !ev.Start.Equal(begin.Add(-30*time.Minute)) || ev.DurationSeconds != 3600 || ev.MaxTemperature != 85.4 || ev.Readings != 6 || ev.Truncated {
			t.Errorf("event = %+v, %v; want 3600 seconds from half an hour before %s on", ev, err, begin)
		}
	}
	if n != 1 {
		t.Errorf("%d cooking events, want 1", n)
	}
	var times []time.Time
	for r, err := range c.Devices.Readings(ctx, did, client.ReadingQuery{Limit: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, r.Timestamp)
	}
	if len(times) != 12 || !times[2].Equal(begin) {
		t.Errorf("readings at %v, want 12, oldest first", times)
	}
	gaps := must(c.Devices.GapPage(ctx, did, client.ReadingQuery{From: from, To: begin}))(t)
	if len(gaps.Items) != 1 || gaps.Items[0].Missing != 10 {
		t.Errorf("gaps = %+v, want one of 10 readings", gaps.Items)
	}
	if p := must(c.Households.Page(ctx, client.PageQuery{}))(t); len(p.Items) != 1 {
		t.Errorf("%d households, want 1", len(p.Items))
	} else if st := must(c.Households.Stacking(ctx, p.Items[0].DID, client.StackingQuery{From: from, To: to}))(t); st.OverlapMinutes != 0 || st.Days.Observed != 1 {
		t.Errorf("stacking = %+v, want none on one day", st)
	}
}

// TestDeviceKey lets a device send for itself, and for nobody else.
func TestDeviceKey(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	ctx, boss := t.Context(), owner(t, s)
	var dids []string
	for i := range 2 {
		d := must(boss.Devices.Create(ctx, client.DeviceDraft{Type: "StoveUseMonitor", Serial: fmt.Sprintf("SN%d", i)}))(t)
		again := must(boss.Devices.Create(ctx, client.DeviceDraft{Type: "StoveUseMonitor", Serial: d.Serial}))(t)
		if dids = append(dids, d.DID); again.DID != d.DID {
			t.Errorf("the same serial number made %s and %s", d.DID, again.DID)
		}
	}
	key := must(boss.Keys.Create(ctx, client.KeyDraft{Name: "monitor", Role: "device", Principal: dids[0]}))(t)
	device := with(t, s.URL, key.Text)
	batch := cooking(time.Now().UTC().Add(-time.Hour).Truncate(time.Second), 70, 20)
	if out := must(device.Devices.Add(ctx, dids[0], batch))(t); out.Accepted != 2 {
		t.Errorf("outcome = %+v, want 2", out)
	}
	if out := must(device.Devices.Add(ctx, dids[0], batch))(t); out.Duplicates != 2 {
		t.Errorf("the same again = %+v, want 2 duplicates", out)
	}
	if _, err := device.Devices.Add(ctx, dids[1], batch); client.CodeOf(err) != "ENTITY_NOT_FOUND" && client.CodeOf(err) != "NOT_CONTROLLER" {
		t.Errorf("readings of another device: %v, want a refusal", err)
	}
	if _, err := device.Entities.Get(ctx, dids[1]); !strings.HasPrefix(client.CodeOf(err), "SCOPE") {
		t.Errorf("another twin read with the key of a device: %v, want SCOPE_MISSING", err)
	}
}
