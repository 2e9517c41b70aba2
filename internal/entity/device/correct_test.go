package device_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

// What is derived follows a correction, what was said stays to be read, and a
// device that sends once more does not bring it back.
func TestCorrections(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		id := e.register(t, device.Draft{DID: "did:ixo:device/a"})
		day := time.Date(2024, 2, 10, 0, 0, 0, 0, time.UTC)
		sent := append(hot(day, 600, 660), hot(day, 900, 930)...)
		e.add(t, id, sent...)
		const events = "/v1/devices/did:ixo:device%2Fa/events?from=2024-02-10&to=2024-02-10"
		lengths := func() (out []float64) {
			for _, ev := range all[device.CookingEvent](t, e, events) {
				out = append(out, ev.DurationSeconds/60)
			}
			return out
		}
		at := func(minute int) time.Time { return day.Add(time.Duration(minute) * time.Minute) }
		change := device.CorrectionDraft{
			Reason:   "It hung beside the stove.",
			Readings: []device.ReadingDraft{reading(at(655), 20), reading(at(650), 20)},
			Withdraw: &device.WithdrawDraft{From: at(900).Format(time.RFC3339), To: at(930).Format(time.RFC3339)},
		}
		r, err := e.s.Correct(ctx, id, change)
		if err != nil || r.Value != (device.CorrectionOutcome{Corrected: 2, Withdrawn: 6}) {
			t.Fatalf("Correct = %+v, %v, want 2 corrected and 6 withdrawn", r.Value, err)
		}
		if got := lengths(); len(got) != 1 || got[0] != 50 {
			t.Errorf("events last %v minutes, want one of 50", got)
		}
		if r, err := e.s.Correct(ctx, id, change); err != nil || r.Value != (device.CorrectionOutcome{Unchanged: 2}) {
			t.Errorf("the same again = %+v, %v, want nothing changed", r.Value, err)
		}
		if out := e.add(t, id, sent...); out.Accepted != 0 || out.Duplicates != len(sent) {
			t.Errorf("sent once more: %+v, want %d duplicates", out, len(sent))
		}
		if got := lengths(); len(got) != 1 || got[0] != 50 {
			t.Errorf("events last %v minutes after the batch came again, want one of 50", got)
		}
		list := all[device.Correction](t, e, "/v1/devices/did:ixo:device%2Fa/corrections?limit=3")
		if len(list) != 8 || *list[0].Was.Temperature != 80 || list[0].Withdrawn || !list[7].Withdrawn || list[7].Reason != change.Reason || list[7].By != "did:key:owner" {
			t.Errorf("corrections = %+v, want what was said, why and by whom", list)
		}
		// A withdrawn reading may come back, by somebody who says why.
		back := device.CorrectionDraft{Reason: "It was right.", Readings: []device.ReadingDraft{reading(at(900), 80)}}
		if r, err := e.s.Correct(ctx, id, back); err != nil || r.Value.Corrected != 1 {
			t.Errorf("back = %+v, %v, want 1 corrected", r.Value, err)
		}
		if got := e.events(t, "device.readings_corrected"); len(got) != 2 {
			t.Errorf("%d events, want 2", len(got))
		}
		never := device.CorrectionDraft{Reason: "x", Readings: []device.ReadingDraft{reading(at(655), 25), reading(at(3), 1)}}
		if _, err := e.s.Correct(ctx, id, never); code(err) != "CORRECTION_INVALID" {
			t.Errorf("a time without a reading = %v, want CORRECTION_INVALID", err)
		}
		if got := all[device.Reading](t, e, "/v1/devices/did:ixo:device%2Fa/readings?from=2024-02-10T10:55:00Z&to=2024-02-10T10:56:00Z"); *got[0].Temperature != 20 {
			t.Errorf("reading = %+v, want nothing of a refused correction", got)
		}
	})
}

// One correction and many senders: in the end the correction holds.
func TestCorrectionAmongSenders(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		id := e.register(t, device.Draft{})
		from := today.Add(-24 * time.Hour)
		sent := series(from, 100)
		e.add(t, id, sent...)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				if i == 8 {
					_, err := e.s.Correct(ctx, id, device.CorrectionDraft{Reason: "x", Withdraw: &device.WithdrawDraft{From: from.Format(time.RFC3339), To: today.Format(time.RFC3339)}})
					if err != nil {
						t.Errorf("Correct: %v", err)
					}
				} else if _, err := e.s.Add(ctx, id, device.Batch{Readings: sent}, false); err != nil {
					t.Errorf("Add: %v", err)
				}
			})
		}
		wg.Wait()
		if n := e.stored(t); n != 0 {
			t.Errorf("%d readings are left, want none", n)
		}
	})
}

func TestCorrectionsAreChecked(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	id := e.register(t, device.Draft{})
	path := "/v1/devices/" + id + "/corrections"
	for body, want := range map[string]string{
		`{}`:             "/reason",
		`{"reason":"x"}`: "required",
		`{"reason":"x","readings":[{"timestamp":"soon","temperature":5}]}`:                      "/readings/0/timestamp",
		`{"reason":"x","readings":[{"timestamp":"2024-02-20T08:00:00Z","temperature":"hot"}]}`:  "/readings/0/temperature",
		`{"reason":"x","withdraw":{"from":"2024-02-20T08:00:00Z","to":"2024-02-20T08:00:00Z"}}`: "/withdraw/to",
		`{"reason":"x","withdraw":{}}`: "/withdraw/from",
		`{"reason":"` + strings.Repeat("x", 1001) + `","withdraw":{"from":"2024-02-20T08:00:00Z","to":"2024-02-20T09:00:00Z"}}`:                         "/reason",
		`{"reason":"x","readings":[{"timestamp":"2024-02-20T08:00:00Z","temperature":5},{"timestamp":"2024-02-20T08:00:00Z","temperature":6}]}`:         "conflict",
		`{"reason":"x","readings":[{"timestamp":"2024-02-20T08:00:00Z","temperature":5}],"withdraw":{"from":"2024-02-20","to":"2024-02-21T00:00:00Z"}}`: "/withdraw/from",
	} {
		if w := e.send(t, "owner", "POST", path, body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s = %d %s, want 400 that names %s", body, w.Code, w.Body, want)
		}
	}
	for role, want := range map[string]int{"device": 403, "auditor": 403, "project": 404} {
		if w := e.send(t, role, "POST", path, `{"reason":"x","withdraw":{"from":"2024-02-20T08:00:00Z","to":"2024-02-20T09:00:00Z"}}`); w.Code != want {
			t.Errorf("%s = %d %s, want %d", role, w.Code, w.Body, want)
		}
	}
}
