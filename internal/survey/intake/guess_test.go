package intake_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// TestGuesses: a batch of all that an answer may have been does not tell what it
// was, neither before nor after the household was erased. Contents that waited
// for a decision are not known any more then, either.
func TestGuesses(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		phone := func(number string) intake.BatchItem { return item("r1", "1", `"size":4,"phone":"`+number+`"`) }
		var waiting []intake.Result
		guesses := []intake.BatchItem{phone("0700"), phone("0711"), phone("0722"), phone("0733")}
		same := func(when, role string) {
			t.Helper()
			out := v.take(t, role, guesses...)
			all, named := strings.Split(words(out), ", "), map[string]bool{}
			for i, one := range all {
				if named[out.Results[i].ConflictID] = true; one != all[0] {
					t.Errorf("%s: %s gets %v, want the same for each", when, role, all)
					return
				}
			}
			for _, old := range waiting {
				if named[old.ConflictID] {
					t.Errorf("%s: %s learns that %s waits with the same", when, role, old.ConflictID)
				}
			}
		}
		first := v.take(t, "ann", phone("0700"), phone("0711"), phone("0722"))
		if got := words(first); got != "created, conflict RESPONSE_CONFLICT, conflict RESPONSE_CONFLICT" {
			t.Fatalf("results = %s", got)
		}
		waiting = first.Results[1:]
		if w := v.send(t, "ann", "POST /v1/surveys/s/conflicts/"+waiting[1].ConflictID+"/resolve", `{"keep":"stored"}`); w.Code != 200 {
			t.Fatalf("resolve = %d %s", w.Code, w.Body)
		}
		same("stored", "bob")
		if got := words(v.take(t, "ann", phone("0711"), phone("0722"))); got != "conflict RESPONSE_CONFLICT, replayed" {
			t.Errorf("who has sent them gets %s, want them known", got)
		}
		if got := words(v.take(t, "ann", phone("0700"))); got != "replayed" {
			t.Errorf("who has sent it gets %s, want replayed", got)
		}
		surveytest.Erase(t, d, "ws", "did:ixo:household/1", v.surveys.Erase, v.responses.Erase)
		for _, role := range []string{"ann", "bob", "mia", "owner"} {
			same("erased", role)
		}
	})
}

// TestWhoseIsTheFirst: who sends a second response of a household is not told
// which the first is, unless they have to do with it.
func TestWhoseIsTheFirst(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.take(t, "ann", item("first", "1", `"size":4,"cost":31337.25`))
		got := v.take(t, "bob", item("second", "1", `"size":5`))
		if words(got) != "conflict DUPLICATE_HOUSEHOLD_RESPONSE" {
			t.Fatalf("results = %s", words(got))
		}
		for role, known := range map[string]bool{"bob": false, "ann": true, "mia": true} {
			w := v.send(t, role, "GET /v1/surveys/s/conflicts/"+got.Results[0].ConflictID, "")
			text := w.Body.String()
			if w.Code != 200 || strings.Contains(text, `"first"`) != known || strings.Contains(text, "31337.25") != known {
				t.Errorf("%s reads %d %s, want the first: %v", role, w.Code, text, known)
			}
		}
		if got.Results[0].Existing != nil {
			t.Errorf("the result names the first: %+v", got.Results[0].Existing)
		}
		for _, one := range got.Results[0].Errors {
			if strings.Contains(one.Detail, "first") {
				t.Errorf("the result tells which is the first: %+v", one)
			}
		}
	})
}
