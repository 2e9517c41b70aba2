package response_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// TestNobodyGuessesAnswers: who has no part in a response gets the same refusal
// for the very content as for any other.
func TestNobodyGuessesAnswers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		sent := func(phone string) *response.Draft { return draft("r1", 1, `home.phone="`+phone+`"`) }
		v.submit(t, "ann", sent("0700"))
		answer := func(role, phone string) string {
			r, err := v.s.Submit(as(t, role), "s", sent(phone))
			return fmt.Sprint(r.Status, err, codes(err), details(err))
		}
		for _, role := range []string{"bob", "writer", "editor", "vera"} {
			if right, wrong := answer(role, "0700"), answer(role, "0711"); right != wrong {
				t.Errorf("%s learns the number: %s\nagainst %s", role, right, wrong)
			}
		}
		for _, role := range []string{"ann", "mia"} {
			if got := answer(role, "0700"); got != "200 <nil>" {
				t.Errorf("%s repeats it: %s, want 200", role, got)
			}
		}
		v.move(t, "s", "close") // what was stored is still told, and to whom
		if right, wrong := answer("bob", "0700"), answer("bob", "0711"); right != wrong || answer("ann", "0700") != "200 <nil>" {
			t.Errorf("after the end: %s\nagainst %s, and ann %s", right, wrong, answer("ann", "0700"))
		}
	})
}

// TestNobodyGuessesWhatWasErased, not even who has sent it.
func TestNobodyGuessesWhatWasErased(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1, `home.phone="0700"`))
		v.submit(t, "ann", draft("r2", 2))
		v.erase(t, "did:ixo:household/1")
		var hashes int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM responses WHERE length(hash) > 0 OR length(first_hash) > 0`).Scan(&hashes); err != nil || hashes != 1 {
			t.Errorf("%d responses have hashes, %v, want that of the other household", hashes, err)
		}
		for _, role := range []string{"ann", "bob", "mia", "owner"} {
			answer := func(phone string) string {
				r, err := v.s.Submit(as(t, role), "s", draft("r1", 1, `home.phone="`+phone+`"`))
				return fmt.Sprint(r.Status, err, codes(err), details(err))
			}
			if right, wrong := answer("0700"), answer("0711"); right != wrong {
				t.Errorf("%s learns the number: %s\nagainst %s", role, right, wrong)
			}
		}
		// It can still be decided about.
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			_, o, err := v.s.Find(as(t, "owner"), tx, "r1")
			if err != nil {
				return err
			}
			r, err := v.s.FindForUpdate(as(t, "owner"), tx, o, "r1")
			if err == nil {
				_, _, err = v.s.MoveTx(as(t, "owner"), tx, o, r, response.Move{To: response.Verified})
			}
			return err
		})
		if err != nil {
			t.Errorf("decide: %v", err)
		}
		if n := v.erase(t, "did:ixo:household/1"); n != 0 {
			t.Errorf("erased %d things again", n)
		}
	})
}

// TestWhoseResponseIsReplaced: only who may change a response may replace it,
// and nobody learns by trying which household it is of.
func TestWhoseResponseIsReplaced(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1))
		if _, err := v.surveys.OpenRound(as(t, "owner"), "s", "*", survey.NextRound{Reason: "next"}); err != nil {
			t.Fatal(err)
		}
		for i, tt := range []struct {
			role, old        string
			household, round int
			code, fields     string
		}{
			{"bob", "r1", 1, 1, "NOT_COLLECTOR", ""},
			{"bob", "r1", 2, 1, "NOT_COLLECTOR", ""},
			{"bob", "r0", 2, 1, "SUPERSEDES_INVALID", "/supersedes not_found"},
			{"editor", "r1", 1, 2, "SUPERSEDES_INVALID", "/supersedes not_replaceable"},
			{"editor", "r1", 2, 1, "SUPERSEDES_INVALID", "/supersedes not_replaceable"},
			{"mia", "r1", 1, 2, "SUPERSEDES_INVALID", "/supersedes other_round"},
			{"ann", "r1", 2, 1, "SUPERSEDES_INVALID", "/supersedes other_household"},
			{"bob", "", 1, 1, "DUPLICATE_HOUSEHOLD_RESPONSE", "/householdId exists"},
			{"mia", "", 1, 1, "DUPLICATE_HOUSEHOLD_RESPONSE", "/householdId exists, /supersedes required"},
			{"ann", "", 1, 1, "DUPLICATE_HOUSEHOLD_RESPONSE", "/householdId exists, /supersedes required"},
			{"editor", "r1", 1, 1, "", ""},
		} {
			next := draft(fmt.Sprintf("n%d", i), tt.household)
			next.Supersedes, next.Round = tt.old, tt.round
			_, err := v.s.Submit(as(t, tt.role), "s", next)
			want(t, tt.role+" replaces "+tt.old, err, tt.code)
			if got := codes(err); got != tt.fields {
				t.Errorf("%s, household %d, round %d: %s, want %s", tt.role, tt.household, tt.round, got, tt.fields)
			}
		}
	})
}
