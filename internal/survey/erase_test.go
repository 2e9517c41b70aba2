package survey_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/plan"
)

func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		h := home(1, "a", "adopter")
		h.Location, h.Area = &plan.Location{Lat: 1, Lon: 2}, ptr("here")
		first, second, other := v.create(t, "ws", open), v.create(t, "ws", open), v.create(t, "other", open)
		v.upload(t, "ws", first, h)
		v.upload(t, "ws", second, h, home(2, "a", ""))
		v.upload(t, "other", other, h)
		erase := func() (n int64) {
			t.Helper()
			err := d.InTx(t.Context(), func(tx *db.Tx) (err error) {
				n, err = v.s.Erase(t.Context(), tx, "ws", h.HouseholdID)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n, again := erase(), erase(); n != 2 || again != 0 {
			t.Errorf("erased %d, then %d, want 2 and 0", n, again)
		}
		// One of which the list says nothing but its name can be erased as well.
		bare := h.HouseholdID
		h.HouseholdID = home(2, "a", "").HouseholdID
		if n, again := erase(), erase(); n != 1 || again != 0 {
			t.Errorf("erased %d of a household that is only listed, then %d, want 1 and 0", n, again)
		}
		v.upload(t, "ws", second, plan.HouseholdDraft{HouseholdID: h.HouseholdID, Area: ptr("there")})
		if n, again := erase(), erase(); n != 1 || again != 0 {
			t.Errorf("erased %d of what came since, then %d, want 1 and 0", n, again)
		}
		if w := v.send(t, "ws owner", "GET /v1/surveys/"+second+"/households", ""); w.Code != 200 || strings.Contains(w.Body.String(), "null") || strings.Contains(w.Body.String(), "attributes") {
			t.Errorf("the list = %d %s", w.Code, w.Body)
		}
		h.HouseholdID = "did:ixo:household/nobody"
		if n := erase(); n != 0 {
			t.Errorf("erased %d of a household that is on no list", n)
		}
		h.HouseholdID = bare
		for ws, id := range map[string]string{"ws": second, "other": other} {
			r, err := v.s.GetHousehold(as(t, ws, "owner"), id, h.HouseholdID)
			if err != nil || (r.Value.Location == nil) != (ws == "ws") || r.Value.Stratum != "a" {
				t.Errorf("%s: household = %+v, %v", ws, r.Value, err)
			}
		}
	})
}
