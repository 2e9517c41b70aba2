package device_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
)

// Whoever sends the same batch, and however many do at once, it is stored
// once.
func TestManySendersOfOneBatch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		const n = 500
		batch := device.Batch{Readings: series(today.Add(-48*time.Hour), n)}
		var accepted, duplicates atomic.Int64
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				b := device.Batch{Readings: slices.Clone(batch.Readings)}
				rng := rand.New(rand.NewPCG(uint64(i), 0))
				rng.Shuffle(n, func(a, b2 int) { b.Readings[a], b.Readings[b2] = b.Readings[b2], b.Readings[a] })
				r, err := e.s.Add(as(t.Context(), "ws", "owner"), id, b, false)
				if err != nil {
					t.Errorf("Add: %v", err)
				}
				accepted.Add(int64(r.Value.Accepted))
				duplicates.Add(int64(r.Value.Duplicates))
			})
		}
		wg.Wait()
		if accepted.Load() != n || duplicates.Load() != 63*n || e.stored(t) != n {
			t.Errorf("%d accepted, %d duplicates, %d stored, want %d, %d, %d", accepted.Load(), duplicates.Load(), e.stored(t), n, 63*n, n)
		}
		if got := e.events(t, "device."); len(got) != 1 || got[0].Type != "device.readings_added" {
			t.Errorf("events = %+v, want one device.readings_added", got)
		}
	})
}

// Two who send different readings for the same times: one wins whole.
func TestRivalBatches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		from := today.Add(-24 * time.Hour)
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				var b device.Batch
				for k := range 250 {
					b.Readings = append(b.Readings, reading(from.Add(time.Duration(k)*5*time.Minute), float64(i)))
				}
				_, err := e.s.Add(as(t.Context(), "ws", "owner"), id, b, false)
				switch code(err) {
				case "":
					won.Add(1)
				case "DEVICE_DATA_CONFLICT":
				default:
					t.Errorf("Add: %v", err)
				}
			})
		}
		wg.Wait()
		got := all[device.Reading](t, e, "/v1/devices/"+id+"/readings?limit=1000")
		for _, r := range got {
			if *r.Temperature != *got[0].Temperature {
				t.Fatal("readings of two batches are mixed")
			}
		}
		if won.Load() != 1 || len(got) != 250 {
			t.Errorf("%d batches won, %d readings stored, want 1 and 250", won.Load(), len(got))
		}
	})
}

// What is derived does not depend on how the readings came.
func TestBatchesDoNotMatter(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		from := today.Add(-72 * time.Hour)
		readings := series(from, 800)
		readings = slices.Delete(readings, 300, 320) // a hole
		readings = slices.Delete(readings, 77, 78)
		const query = "?from=2024-02-27&to=2024-03-01T12:00:00Z&limit=1000"
		var want []device.CookingEvent
		var gaps []device.Gap
		for turn := range 6 {
			id := e.register(t, device.Draft{})
			rng := rand.New(rand.NewPCG(uint64(turn), 7))
			rest := slices.Clone(readings)
			if turn > 0 {
				rng.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
			}
			for len(rest) > 0 {
				n := min(len(rest), 1+rng.IntN(300))
				e.add(t, id, rest[:n]...)
				if rng.IntN(3) == 0 { // the answer was lost
					e.add(t, id, rest[:n]...)
				}
				rest = rest[n:]
			}
			events, holes := all[device.CookingEvent](t, e, "/v1/devices/"+id+"/events"+query), all[device.Gap](t, e, "/v1/devices/"+id+"/gaps"+query)
			if turn == 0 {
				want, gaps = events, holes
				if len(want) < 20 || len(gaps) < 2 {
					t.Fatalf("%d events and %d gaps, want some to compare", len(want), len(gaps))
				}
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("turn %d: events (-want +got):\n%s", turn, diff)
			}
			if diff := cmp.Diff(gaps, holes); diff != "" {
				t.Errorf("turn %d: gaps (-want +got):\n%s", turn, diff)
			}
			small := all[device.CookingEvent](t, e, "/v1/devices/"+id+"/events?from=2024-02-27&to=2024-03-01T12:00:00Z&limit=1")
			if diff := cmp.Diff(want, small); diff != "" {
				t.Errorf("turn %d: events one by one (-want +got):\n%s", turn, diff)
			}
			small2 := all[device.Gap](t, e, "/v1/devices/"+id+"/gaps?from=2024-02-27&to=2024-03-01T12:00:00Z&limit=1")
			if diff := cmp.Diff(gaps, small2); diff != "" {
				t.Errorf("turn %d: gaps one by one (-want +got):\n%s", turn, diff)
			}
		}
	})
}

// Nothing of a batch that fails in the middle is left.
func TestBatchIsWholeOrNot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		readings := series(today.Add(-72*time.Hour), 800)
		clash := readings[750]
		clash.Temperature = new(float64)
		e.add(t, id, clash)
		before := len(e.events(t, "device."))
		_, err := e.s.Add(as(t.Context(), "ws", "owner"), id, device.Batch{Readings: readings}, false)
		if code(err) != "DEVICE_DATA_CONFLICT" || e.stored(t) != 1 || len(e.events(t, "device.")) != before {
			t.Errorf("Add = %v with %d stored, want a conflict and nothing new", err, e.stored(t))
		}
		r, err := e.s.Add(as(t.Context(), "ws", "owner"), id, device.Batch{Readings: readings}, true)
		if err != nil || r.Value.Accepted != 799 || len(r.Value.Conflicts) != 1 || r.Value.Conflicts[0].Index != 750 || *r.Value.Conflicts[0].Stored.Temperature != 0 {
			t.Errorf("Add with skip = %+v, %v, want all but reading 750", r.Value, err)
		}
	})
}

// Readings of one workspace, project or device are nobody else's.
func TestOthersSeeNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		const id = "did:ixo:device/sum789" // the same DID in both workspaces
		e.register(t, device.Draft{DID: id, Controllers: []string{"did:key:device"}})
		e.add(t, id, series(today.Add(-24*time.Hour), 100)...)
		other := as(t.Context(), "other", "owner")
		m := "/v1/devices/did:ixo:device%2Fsum789"
		if _, err := e.s.Status(other, id); code(err) != "ENTITY_NOT_FOUND" {
			t.Errorf("Status in another workspace = %v, want ENTITY_NOT_FOUND", err)
		}
		if _, err := e.s.Add(other, id, device.Batch{Readings: series(today.Add(-24*time.Hour), 1)}, false); code(err) != "ENTITY_NOT_FOUND" {
			t.Errorf("Add in another workspace = %v, want ENTITY_NOT_FOUND", err)
		}
		if _, err := e.s.CreateDevice(other, device.Draft{DID: id, Type: "StoveUseMonitor"}); err != nil {
			t.Fatalf("the same DID in another workspace: %v", err)
		}
		st, err := e.s.Status(other, id)
		if err != nil || !st.LastReadingAt.IsZero() {
			t.Errorf("Status of the other device = %+v, %v, want no readings", st, err)
		}
		for _, tt := range []struct {
			role, method, path, body string
			want                     int
		}{
			{"device", "GET", m + "/readings", "", 200},
			{"device", "GET", m + "/status", "", 200},
			{"device", "POST", m + "/readings", `{"readings":[{"timestamp":"2024-02-01T00:00:00Z","temperature":20}]}`, 200},
			{"device", "GET", "/v1/households", "", 403},
			{"device", "POST", "/v1/devices", `{"type":"StoveUseMonitor"}`, 403},
			{"thief", "GET", m, "", 404},
			{"thief", "GET", m + "/readings", "", 404},
			{"thief", "GET", m + "/events", "", 404},
			{"thief", "GET", m + "/gaps", "", 404},
			{"thief", "GET", m + "/status", "", 404},
			{"thief", "POST", m + "/readings", `{"readings":[{"timestamp":"2024-02-02T00:00:00Z","temperature":20}]}`, 404},
			{"writer", "POST", m + "/readings", `{"readings":[{"timestamp":"2024-02-02T00:00:00Z","temperature":20}]}`, 403},
			{"auditor", "GET", m + "/readings", "", 200},
			{"auditor", "POST", m + "/readings", `{"readings":[{"timestamp":"2024-02-02T00:00:00Z","temperature":20}]}`, 403},
			{"manager", "POST", m + "/readings", `{"readings":[{"timestamp":"2024-02-02T00:00:00Z","temperature":20}]}`, 200},
			{"project", "GET", m, "", 404},
			{"project", "POST", m + "/readings", `{"readings":[{"timestamp":"2024-02-03T00:00:00Z","temperature":20}]}`, 404},
		} {
			if w := e.send(t, tt.role, tt.method, tt.path, tt.body); w.Code != tt.want {
				t.Errorf("%s %s %s = %d %s, want %d", tt.role, tt.method, tt.path, w.Code, w.Body, tt.want)
			}
		}
		for role, want := range map[string]int{"owner": 1, "device": 1, "thief": 0, "project": 0} {
			items, _, err := e.s.Devices(as(t.Context(), "ws", role), "", "", 1<<62, 10)
			if err != nil || len(items) != want {
				t.Errorf("%s lists %d devices, %v, want %d", role, len(items), err, want)
			}
		}
	})
}

func TestSerialNumbers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		draft := device.Draft{Type: "StoveUseMonitor", Serial: "SN1", HouseholdID: "did:ixo:household/1", StoveID: "did:ixo:stove/1"}
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for range 16 {
			wg.Go(func() {
				r, err := e.s.CreateDevice(ctx, draft)
				if err != nil {
					t.Errorf("CreateDevice: %v", err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				got[r.Value.DID+" "+fmt.Sprint(r.Status)]++
			})
		}
		wg.Wait()
		first := 0
		dids := map[string]bool{}
		for key, n := range got {
			if key[len(key)-3:] == "201" {
				first += n
			}
			dids[key[:len(key)-4]] = true
		}
		if first != 1 || len(dids) != 1 {
			t.Errorf("answers %v, want one 201, the rest 200, one device", got)
		}
		change := func(f func(*device.Draft)) error {
			x := draft
			f(&x)
			_, err := e.s.CreateDevice(ctx, x)
			return err
		}
		for name, err := range map[string]error{
			"household":     change(func(d *device.Draft) { d.HouseholdID = "did:ixo:household/2" }),
			"stove":         change(func(d *device.Draft) { d.StoveID = "did:ixo:stove/2" }),
			"type":          change(func(d *device.Draft) { d.Type = "Thermometer"; d.Protocol = "did:ixo:protocol/stove-use-monitor" }),
			"configuration": change(func(d *device.Draft) { d.Configuration = config(60) }),
			"did":           change(func(d *device.Draft) { d.DID = "did:ixo:device/x" }),
		} {
			if code(err) != "DEVICE_DATA_CONFLICT" {
				t.Errorf("another %s = %v, want DEVICE_DATA_CONFLICT", name, err)
			}
		}
		if err := change(func(d *device.Draft) { d.Configuration = config(300) }); err != nil {
			t.Errorf("the standard configuration in words = %v, want the same device", err)
		}
		if _, err := e.s.CreateDevice(as(t.Context(), "other", "owner"), draft); err != nil {
			t.Errorf("the same serial number in another workspace: %v", err)
		}
	})
}

// TestTakenReadsTheSame: the refusal of a serial number that is taken reads the
// same whatever has it: a device the caller sees and has described otherwise,
// one of another project, a deactivated one, or a twin that is no device.
func TestTakenReadsTheSame(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		register := func(role, serial, more string) *httptest.ResponseRecorder {
			t.Helper()
			return e.send(t, role, "POST", "/v1/devices", `{"type":"StoveUseMonitor","serial":"`+serial+`"`+more+`}`)
		}
		made := func(w *httptest.ResponseRecorder) string {
			t.Helper()
			var got struct {
				DID string `json:"did"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 201 {
				t.Fatalf("create = %d %s, %v", w.Code, w.Body, err)
			}
			return got.DID
		}
		made(e.send(t, "owner", "POST", "/v1/entities", `{"did":"`+project+`","type":"p","protocol":"did:ixo:protocol/project"}`))
		const mine = `,"project":"` + project + `"`
		made(register("project", "SEEN", mine+`,"name":"one"`))
		made(register("owner", "HIDDEN", ""))
		gone := made(register("owner", "GONE", mine))
		made(e.send(t, "owner", "POST", "/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/household","externalIds":{"serial":"HOME"}}`))
		end := httptest.NewRequestWithContext(t.Context(), "DELETE", "/v1/entities/"+gone, http.NoBody)
		end.Header.Set("If-Match", "*")
		if w := e.with(t, end, ""); w.Code/100 != 2 {
			t.Fatalf("deactivate = %d %s", w.Code, w.Body)
		}
		var want string
		for _, serial := range []string{"SEEN", "HIDDEN", "GONE", "HOME"} {
			w := register("project", serial, mine+`,"name":"another"`)
			if got := w.Body.String(); w.Code != 409 || want != "" && got != want {
				t.Errorf("%s = %d %s, want 409 %s", serial, w.Code, got, want)
			}
			want = w.Body.String()
		}
		if strings.Contains(want, "did:") || !strings.Contains(want, "DEVICE_DATA_CONFLICT") {
			t.Errorf("refusal = %s, want nothing about what has the number", want)
		}
		if w := register("project", "SEEN", mine+`,"name":"one"`); w.Code != 200 {
			t.Errorf("the same registration again = %d %s, want 200", w.Code, w.Body)
		}
		// A key that does not read twins learns no device from its plate.
		if w := register("registrar", "HIDDEN", ""); w.Code != 409 || w.Body.String() != want {
			t.Errorf("without entities:read = %d %s, want 409 %s", w.Code, w.Body, want)
		}
		made(register("registrar", "OWN", ""))
		if w := register("registrar", "OWN", ""); w.Code != 200 {
			t.Errorf("its own again = %d %s, want 200", w.Code, w.Body)
		}
	})
}

func config(rate int64) *device.ConfigurationDraft {
	threshold, mode := 60.0, "realtime"
	return &device.ConfigurationDraft{SamplingRate: &rate, TemperatureThreshold: &threshold, TransmissionMode: &mode}
}

// A device that is deactivated takes no more readings; what it has stays.
func TestDeactivated(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		e.add(t, id, series(today.Add(-24*time.Hour), 10)...)
		ctx := as(t.Context(), "ws", "owner")
		err := d.InTx(ctx, func(tx *db.Tx) error {
			_, err := e.e.TransitionTx(ctx, tx, id, "", entity.Transition{To: entity.StatusDeactivated, Reason: "lost"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.s.Add(ctx, id, device.Batch{Readings: series(today.Add(-2*time.Hour), 1)}, false); code(err) != "DEVICE_DEACTIVATED" {
			t.Errorf("Add = %v, want DEVICE_DEACTIVATED", err)
		}
		if got := all[device.Reading](t, e, "/v1/devices/"+id+"/readings?limit=5"); len(got) != 10 {
			t.Errorf("%d readings, want the 10 that were", len(got))
		}
	})
}

// The devices of a household: those linked before it was held here, and after.
func TestDevicesOfAHousehold(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		const home = "did:ixo:household/123"
		var want []string
		for range 3 {
			want = append(want, e.register(t, device.Draft{HouseholdID: home}))
		}
		e.register(t, device.Draft{HouseholdID: "did:ixo:household/9"})
		if _, err := e.s.Household(ctx, home); code(err) != "ENTITY_NOT_FOUND" {
			t.Errorf("Household that is not held here = %v, want ENTITY_NOT_FOUND", err)
		}
		list := func() []string {
			var got []string
			for _, d := range all[device.Device](t, e, "/v1/devices?limit=2&householdId=did:ixo:household/123") {
				got = append(got, d.DID)
			}
			slices.Sort(got)
			return got
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, list()); diff != "" {
			t.Errorf("devices of an external household (-want +got):\n%s", diff)
		}
		if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{DID: home, Name: "a"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			want = append(want, e.register(t, device.Draft{HouseholdID: home}))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, list()); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
		h, err := e.s.Household(ctx, home)
		if err != nil || len(h.Devices) != 5 || h.MoreDevices || h.Devices[0].Type != "StoveUseMonitor" || h.Devices[0].Status != "active" {
			t.Errorf("Household = %+v, %v, want its 5 devices", h, err)
		}
	})
}

// Whoever has the Idempotency-Key gets the first answer again.
func TestAddOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	id := e.register(t, device.Draft{})
	send := func() string {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "/v1/devices/"+id+"/readings", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "k1")
		w := e.with(t, r, `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":85.4}]}`)
		return fmt.Sprint(w.Code, w.Body)
	}
	if first, second := send(), send(); first != second {
		t.Errorf("answers %s and %s, want the same", first, second)
	}
}

// Many households and devices: every page is short and quick, and none is
// lost between pages.
func TestListsArePaged(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := as(t.Context(), "ws", "owner")
		for range 7 {
			if _, err := e.s.CreateHousehold(ctx, device.HouseholdDraft{Name: "a"}); err != nil {
				t.Fatal(err)
			}
			e.register(t, device.Draft{})
			e.register(t, device.Draft{Type: "ElectricPressureCooker"})
		}
		for path, want := range map[string]int{
			"/v1/households?limit=3": 7, "/v1/devices?limit=3": 7, "/v1/devices?limit=2&type=ElectricPressureCooker": 7, "/v1/devices?limit=2&type=Nothing": 0,
		} {
			items := all[struct {
				DID     string    `json:"did"`
				Created time.Time `json:"created"`
			}](t, e, path)
			seen := map[string]bool{}
			for _, it := range items {
				seen[it.DID] = true
			}
			if len(items) != want || len(seen) != want {
				t.Errorf("%s: %d items, %d different, want %d", path, len(items), len(seen), want)
			}
		}
	})
}

// A sender that goes away in the middle leaves nothing or everything.
func TestSenderLeaves(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.register(t, device.Draft{})
		readings := series(today.Add(-17*24*time.Hour), 4000)
		for i := range 8 {
			ctx, cancel := context.WithTimeout(as(t.Context(), "ws", "owner"), time.Duration(i)*2*time.Millisecond)
			part := readings[i*500 : (i+1)*500]
			before := e.stored(t)
			_, err := e.s.Add(ctx, id, device.Batch{Readings: part}, false)
			cancel()
			if n := e.stored(t) - before; err == nil && n != 500 || n != 0 && n != 500 {
				t.Errorf("Add = %v, %d of 500 stored", err, n)
			}
		}
		out := e.add(t, id, readings...)
		if out.Accepted+out.Duplicates != 4000 || e.stored(t) != 4000 {
			t.Errorf("sent again: %+v, %d stored, want 4000", out, e.stored(t))
		}
	})
}
