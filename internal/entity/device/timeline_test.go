package device_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/entity/history"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestTimeline: what area A knows of a household, a device and a stove, each source by
// itself and two at a time.
func TestTimeline(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e, ctx := newEnv(t, d), as(t.Context(), "ws", "owner")
		const home, stove, one, two = "did:ixo:household/1", "did:ixo:stove/1", "did:ixo:device/a", "did:ixo:device/b"
		e.fleet(t, home)
		for _, id := range []string{one, two} {
			e.register(t, device.Draft{DID: id, HouseholdID: home, StoveID: stove})
			for day := range 2 {
				e.add(t, id, reading(time.Date(2024, 2, 10+day, 8, 0, 0, 0, time.UTC), 70))
			}
		}
		if _, err := e.s.Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
		joined, past := relationship.Timeline{DB: d}, history.New(history.Config{DB: d, Entities: e.e})
		told := func(id string, look web.Happenings) string {
			t.Helper()
			var out []string
			l := web.Look{DID: id, NID: -1, Below: web.Mark{At: math.MaxInt64}, Limit: 2}
			if r, err := e.e.Find(ctx, d, id); err == nil {
				l.NID = r.NID
			}
			for range 20 {
				list, err := look(ctx, l)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range list {
					l.Below = h.Mark
					out = append(out, strings.TrimPrefix(h.Kind+" "+h.Role+" "+strings.TrimPrefix(h.Other, "did:ixo:"), "day  "))
				}
				if len(list) < l.Limit {
					break
				}
			}
			return strings.Join(out, ", ")
		}
		const both = "device/b, device/a, device/b, device/a"
		for _, tt := range []struct {
			what, id string
			look     web.Happenings
			want     string
		}{
			{"days at home", home, e.s.AtHome, both},
			{"days at a stove", stove, e.s.AtStove, both},
			{"days of a device", one, e.s.Own, "device/a, device/a"},
			{"days of no device", home, e.s.Own, ""},
			{"devices of a household", home, joined.BeganIn, "began household device/b, began household device/a"},
			{"what has ended", home, joined.EndedIn, ""},
			{"what a household has", home, joined.EndedOut, ""},
			{"the newest revision", one, past.Now, "create  "},
			{"earlier ones", one, past.Earlier, ""},
		} {
			if got := told(tt.id, tt.look); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
			}
		}
		if got := told(one, joined.BeganOut); !strings.Contains(got, "began household household/1") {
			t.Errorf("of a device: %q", got)
		}
	})
}
