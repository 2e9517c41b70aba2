package survey_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		h := home(1, "a", "adopter")
		h.Location, h.Area = &survey.Location{Lat: 1, Lon: 2}, ptr("here")
		first, second, other := v.create(t, "ws", open), v.create(t, "ws", open), v.create(t, "other", open)
		v.upload(t, "ws", first, h)
		v.upload(t, "ws", second, h, home(2, "a", ""))
		v.upload(t, "other", other, h)
		erase := func() int64 {
			t.Helper()
			return v.erase(t, "ws", h.HouseholdID)
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

// TestUploadWaitsForErase: a list that comes while one of its households is
// erased waits, and is refused.
func TestUploadWaitsForErase(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	v := newEnv(t, d)
	id := v.create(t, "ws", open)
	list := make([]survey.HouseholdDraft, 200)
	for i := range list {
		list[i] = home(i, "a", "")
	}
	gone := list[7].HouseholdID
	err := surveytest.Overlap(t, d, surveytest.Erasing(t.Context(), d, "ws", gone, v.s.Erase), func() error {
		_, err := v.s.AddHouseholds(as(t, "ws", "owner"), id, survey.Upload{Items: list})
		return err
	})
	want(t, "an upload", err, "HOUSEHOLD_ERASED")
	v.upload(t, "ws", id, list[:7]...)
}

// TestErasedHouseholdIsMarked: it can be told from others, nobody is to visit
// it, and nothing new is stored about it.
func TestErasedHouseholdIsMarked(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.start(t, "ws", strings.Replace(open, "{", `{"assignments":[{"collector":"did:ixo:agent/1","strata":["a"]}],`, 1))
		h := home(1, "a", "adopter")
		h.Collector = ptr("did:ixo:agent/named")
		v.upload(t, "ws", id, h, home(2, "a", ""))
		path := "/v1/surveys/" + id + "/households"
		v.clock.Set(v.clock.Now().Add(time.Hour))
		v.erase(t, "ws", h.HouseholdID)
		check := func(when string) {
			t.Helper()
			r, err := v.s.GetHousehold(as(t, "ws", "owner"), id, h.HouseholdID)
			if err != nil {
				t.Fatal(err)
			}
			if g := r.Value; !g.Erased || g.Collector+g.AssignedTo+g.Area != "" || g.Location != nil || g.Revision != 2 || !g.Updated.Equal(v.clock.Now().Truncate(time.Millisecond)) {
				t.Errorf("%s: household = %+v, want it marked and bare", when, g)
			}
		}
		check("erased")
		_, err := v.s.AddHouseholds(as(t, "ws", "owner"), id, survey.Upload{Items: []survey.HouseholdDraft{
			home(3, "a", "adopter"), home(2, "a", "adopter"), {HouseholdID: h.HouseholdID, Location: &survey.Location{Lat: 1, Lon: 2}},
		}})
		want(t, "an upload", err, "HOUSEHOLD_ERASED")
		if got := codes(err); got != "/items/2/householdId erased" || !strings.Contains(details(err), h.HouseholdID) {
			t.Errorf("fields = %s (%s), want the household named where it was sent", got, details(err))
		}
		v.upload(t, "ws", id, home(1, "a", "adopter")) // says nothing new
		_, err = v.s.PatchHousehold(as(t, "ws", "owner"), id, h.HouseholdID, "*", []byte(`{"collector":"did:ixo:agent/x"}`))
		want(t, "a patch", err, "HOUSEHOLD_ERASED")
		_, err = v.s.SetOutcome(as(t, "ws", "owner"), id, h.HouseholdID, survey.OutcomeChange{Outcome: survey.OutcomeContacted})
		want(t, "an outcome", err, "HOUSEHOLD_ERASED")
		check("after all that")
		if w := v.send(t, "ws owner", "GET "+path, ""); strings.Count(w.Body.String(), `"erased":true`) != 1 {
			t.Errorf("the list = %s, want one marked", w.Body)
		}
	})
}

// TestErasedHouseholdIsListedNowhere: who was erased is put on no list any more,
// however many come with it, unless another workspace asks for it.
func TestErasedHouseholdIsListedNowhere(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		first, second, other := v.create(t, "ws", open), v.create(t, "ws", open), v.create(t, "other", open)
		v.upload(t, "ws", first, home(1, "a", ""))
		for n := range 3 {
			v.erase(t, "ws", home(n, "", "").HouseholdID) // one is on a list, the others on none
		}
		v.erase(t, "ws", home(1, "", "").HouseholdID) // a second certificate is no second household
		items := make([]survey.HouseholdDraft, 20)
		for n := range items {
			items[n] = home(len(items)-n-1, "a", "")
		}
		_, err := v.s.AddHouseholds(as(t, "ws", "owner"), second, survey.Upload{Items: items})
		want(t, "an upload", err, "HOUSEHOLD_ERASED")
		if got, want := codes(err), "/items/17/householdId erased, /items/18/householdId erased, /items/19/householdId erased"; got != want {
			t.Errorf("fields = %s, want %s", got, want)
		}
		if w := v.send(t, "ws owner", "GET /v1/surveys/"+second+"/households", ""); w.Code != 200 || strings.Contains(w.Body.String(), "did:ixo:household") {
			t.Errorf("the list after a refused upload = %d %s, want an empty one", w.Code, w.Body)
		}
		if m := v.upload(t, "ws", second, items[:17]...); m.Added != 17 {
			t.Errorf("added %d others, want 17", m.Added)
		}
		if m := v.upload(t, "other", other, items...); m.Added != 20 {
			t.Errorf("another workspace added %d, want 20", m.Added)
		}
	})
}
