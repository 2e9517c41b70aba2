package intake_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// TestBatchWaitsForErase: what would be set aside while its household is erased
// waits, and is refused.
func TestBatchWaitsForErase(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"", "close"} {
		d := dbtest.Postgres(t)
		v := newEnv(t, d)
		v.start(t)
		v.take(t, "ann", item("r1", "1", `"size":4`))
		if stop != "" {
			v.must(t, "owner", "POST /v1/surveys/s/"+stop, `{}`)
		}
		err := surveytest.Overlap(t, d, surveytest.Erasing(t.Context(), d, "ws", "did:ixo:household/1", v.surveys.Erase, v.responses.Erase), func() error {
			out, err := v.s.Take(as(t, "ann"), intake.Batch{Items: []intake.BatchItem{item("r2", "1", `"size":5,"phone":"0700"`)}})
			if err == nil && words(out) != "invalid HOUSEHOLD_ERASED" {
				t.Errorf("results = %s, want HOUSEHOLD_ERASED", words(out))
			}
			return err
		})
		if n := v.count(t, "response_conflicts"); err != nil || n != 0 {
			t.Errorf("%d conflicts, %v, want none", n, err)
		}
	}
}

// TestErasedWhileABatchIsTaken: a household that is erased after its item was
// checked is refused, and the others of the batch are stored.
func TestErasedWhileABatchIsTaken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stop, want  string
		stored, conflicts int
	}{
		{"active", "", "created, invalid HOUSEHOLD_ERASED, created", 2, 0},
		{"closed", "close", "held SURVEY_CLOSED, invalid HOUSEHOLD_ERASED, held SURVEY_CLOSED", 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
				v := newEnv(t, d)
				v.start(t)
				if tt.stop != "" {
					if w := v.send(t, "owner", "POST /v1/surveys/s/"+tt.stop, `{}`); w.Code >= 300 {
						t.Fatalf("%s = %d %s", tt.stop, w.Code, w.Body)
					}
				}
				seen := 0
				v.checked = func() {
					if seen++; seen == 3 { // all are checked, none is stored
						surveytest.Erase(t, d, "ws", "did:ixo:household/2", v.surveys.Erase, v.responses.Erase)
					}
				}
				out := v.take(t, "ann", item("r1", "1", `"size":4`), item("r2", "2", `"size":4,"phone":"0700"`), item("r3", "3", `"size":4`))
				if got := words(out); got != tt.want {
					t.Errorf("results = %s, want %s", got, tt.want)
				}
				if got := out.Results[1].Errors; len(got) != 1 || got[0].Pointer != "/householdId" || got[0].Code != "erased" {
					t.Errorf("errors = %+v, want the household", got)
				}
				if r, c := v.count(t, "responses"), v.count(t, "response_conflicts"); r != tt.stored || c != tt.conflicts {
					t.Errorf("%d responses and %d conflicts, want %d and %d", r, c, tt.stored, tt.conflicts)
				}
			})
		})
	}
}

// TestEraseTakesWhatClashed: a content that was sent for another household under
// the id of a response may be about the people of that response. It goes with
// them, and whoever sends it again does not learn that it was sent.
func TestEraseTakesWhatClashed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		clash := item("r1", "2", `"size":4,"phone":"0700"`)
		v.take(t, "ann", item("r1", "1", `"size":4,"phone":"0700"`))
		first := v.take(t, "ann", clash).Results[0].ConflictID
		second := v.take(t, "ann", item("r1", "3", `"size":4,"phone":"0700"`)).Results[0].ConflictID
		if first == "" || second == "" {
			t.Fatal("nothing was set aside")
		}
		surveytest.Erase(t, d, "ws", "did:ixo:household/1", v.surveys.Erase, v.responses.Erase)
		for _, id := range []string{first, second} {
			c, err := v.s.Get(as(t, "owner"), "s", id)
			if err != nil || !c.Erased || len(c.Sent.Value) > 0 {
				t.Errorf("Get(%s) = %+v, %v, want it erased", id, c, err)
			}
		}
		var left int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM response_conflicts WHERE length(sealed) > 0 OR length(hash) > 24`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d contents are still sealed with the keys of other households, %v", left, err)
		}
		if again := v.take(t, "ann", clash).Results[0].ConflictID; again == first {
			t.Errorf("the same content again is %s, which says that it was sent before", again)
		}
	})
}
