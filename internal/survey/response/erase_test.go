package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// erase has the workspace forget a household, and tells how many things that
// were.
func (v *env) erase(t *testing.T, household string) int64 {
	t.Helper()
	return surveytest.Erase(t, v.d, "ws", household, v.surveys.Erase, v.s.Erase)
}

// TestEraseTakesOutWhatLiesOpen: what senders and deciders wrote in plain text
// goes with the answers, from earlier revisions and decisions too.
func TestEraseTakesOutWhatLiesOpen(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		one := draft("r1", 1)
		one.DeviceID, one.Metadata = canary+"-device", form.Object{Value: []byte(`{"note":"` + canary + `"}`)}
		one.Attachments = []response.Attachment{{SHA256: hashOf("x"), Name: canary + ".jpg"}}
		v.submit(t, "ann", one)
		for _, reason := range []string{canary, "second " + canary} {
			if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: "*", Reason: reason, Patch: []byte(`{"responses":{"home":{"size":7}}}`)}); err != nil {
				t.Fatal(err, codes(err))
			}
		}
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			_, o, err := v.s.Find(as(t, "owner"), tx, "r1")
			if err != nil {
				return err
			}
			r, err := v.s.FindForUpdate(as(t, "owner"), tx, o, "r1")
			if err == nil {
				_, _, err = v.s.MoveTx(as(t, "owner"), tx, o, r, response.Move{To: response.Rejected, Reason: canary, Notes: canary})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		v.submit(t, "ann", draft("r2", 2)) // of somebody else
		if n := v.erase(t, "did:ixo:household/1"); n == 0 {
			t.Error("erased nothing")
		}
		if n := v.erase(t, "did:ixo:household/1"); n != 0 {
			t.Errorf("erased %d things again", n)
		}
		for _, table := range []string{"responses", "response_history"} {
			if left := v.rowsWith(t, table, "body", canary); left > 0 {
				t.Errorf("%d rows of %s still say it", left, table)
			}
		}
		for _, path := range []string{"/v1/responses/r1", "/v1/responses/r1?at=1", "/v1/responses/r1?at=2", "/v1/responses/r1/history"} {
			w := v.send(t, "owner", "GET "+path, "")
			if w.Code != 200 || strings.Contains(w.Body.String(), canary) || !strings.HasSuffix(path, "history") && !strings.Contains(w.Body.String(), `"erased":true`) {
				t.Errorf("%s = %d %s", path, w.Code, w.Body)
			}
		}
		var left int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM response_decisions WHERE reason <> '' OR notes <> ''`).Scan(&left); err != nil || left > 0 {
			t.Errorf("%d decisions have reasons, %v", left, err)
		}
		if r := v.get(t, "owner", "r2"); r.Erased {
			t.Error("another household is marked as erased")
		}
	})
}

func (v *env) rowsWith(t *testing.T, table, column, text string) int {
	t.Helper()
	var n int
	if err := v.d.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE `+column+` LIKE '%`+text+`%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEraseOfWhoSaidNothingPersonal counts: whoever asks to be forgotten gets a
// certificate, once.
func TestEraseOfWhoSaidNothingPersonal(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1))
		for want := range 2 {
			if n := v.erase(t, "did:ixo:household/1"); n != int64(1-want) {
				t.Errorf("erased %d things, want %d", n, 1-want)
			}
		}
		if r := v.get(t, "owner", "r1"); !r.Erased || r.Status != response.Complete {
			t.Errorf("record = %+v, want it marked", r.Head)
		}
		if n := v.erase(t, "did:ixo:household/9"); n != 0 {
			t.Errorf("erased %d things of nobody", n)
		}
	})
}

// TestErasedHouseholdIsNotAskedAgain: nothing new is stored about who was
// erased, on a list or on none.
func TestErasedHouseholdIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		listed bool
	}{{"listed", true}, {"on no list", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
				v := newEnv(t, d)
				v.start(t, homeSurvey)
				one, two := "did:ixo:household/1", "did:ixo:household/2"
				if tt.listed {
					up := survey.Upload{Items: []survey.HouseholdDraft{{HouseholdID: one}, {HouseholdID: two}}}
					if _, err := v.surveys.AddHouseholds(as(t, "owner"), "s", up); err != nil {
						t.Fatal(err)
					}
				}
				v.submit(t, "ann", draft("r1", 1))
				v.erase(t, one)
				v.submit(t, "ann", draft("r1", 1)) // what is stored is answered as before
				_, err := v.s.Submit(as(t, "ann"), "s", draft("r3", 1))
				want(t, "a response", err, "HOUSEHOLD_ERASED")
				if got := codes(err); got != "/householdId erased" {
					t.Errorf("fields = %s, want the household", got)
				}
				_, err = v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: "*", Patch: []byte(`{"responses":{"home":{"size":7}}}`)})
				want(t, "a correction", err, "HOUSEHOLD_ERASED")
				v.submit(t, "ann", draft("r2", 2))
			})
		})
	}
}

// TestErasedBetweenCheckAndWrite: a response that was checked before the
// erasure and comes to be stored after it is refused all the same.
func TestErasedBetweenCheckAndWrite(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		ctx := as(t, "ann")
		o, err := v.surveys.Open(ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		p, err := v.s.Prepare(ctx, o, draft("r1", 1), false)
		if err != nil {
			t.Fatal(err)
		}
		v.erase(t, "did:ixo:household/1")
		err = d.InTx(ctx, func(tx *db.Tx) error {
			_, err := v.s.StoreTx(ctx, tx, p)
			return err
		})
		want(t, "a response", err, "HOUSEHOLD_ERASED")
		if got, n := codes(err), v.count(t, "responses"); got != "/householdId erased" || n != 0 {
			t.Errorf("fields = %s and %d responses, want the household and none", got, n)
		}
	})
}
