package response_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// erasing erases the household 1.
func (v *env) erasing(t *testing.T) func(pause func()) error {
	return surveytest.Erasing(t.Context(), v.d, "ws", "did:ixo:household/1", v.surveys.Erase, v.s.Erase)
}

// TestEraseWaitsForWhoStores: a response whose transaction is open while its
// household is erased is not left behind.
func TestEraseWaitsForWhoStores(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	v := newEnv(t, d)
	v.start(t, homeSurvey)
	v.submit(t, "ann", draft("r0", 2)) // of somebody else
	ctx := as(t, "ann")
	one := draft("r1", 1, `home.phone="canary"`)
	o, err := v.s.Pick(ctx, "s", one)
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.s.Prepare(ctx, o, one, false)
	if err != nil {
		t.Fatal(err)
	}
	err = surveytest.Overlap(t, d, func(pause func()) error {
		return d.InTx(ctx, func(tx *db.Tx) error {
			_, err := v.s.StoreTx(ctx, tx, p)
			pause()
			return err
		})
	}, func() error { return v.erasing(t)(func() {}) })
	if err != nil {
		t.Fatal(err)
	}
	if r := v.get(t, "mia", "r1"); !r.Erased {
		t.Errorf("the response is left as it was: %s", r.Responses.Value)
	}
	if n := v.count(t, "survey_household_keys WHERE household = 'did:ixo:household/1'"); n != 0 {
		t.Errorf("%d keys are left of the household", n)
	}
	if r := v.get(t, "mia", "r0"); r.Erased {
		t.Error("somebody else was erased")
	}
}

// TestWhoStoresWaitsForErase: what comes while its household is erased waits,
// and is refused.
func TestWhoStoresWaitsForErase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		store func(t *testing.T, v *env) error
		code  string
	}{
		{"a response", func(t *testing.T, v *env) error {
			_, err := v.s.Submit(as(t, "ann"), "s", draft("r2", 1))
			return err
		}, "HOUSEHOLD_ERASED"},
		{"a response that is sealed", func(t *testing.T, v *env) error {
			_, err := v.s.Submit(as(t, "ann"), "s", draft("r2", 1, `home.phone="canary"`))
			return err
		}, "HOUSEHOLD_ERASED"},
		{"one that replaces", func(t *testing.T, v *env) error {
			next := draft("r2", 1)
			next.Supersedes = "r1"
			_, err := v.s.Submit(as(t, "ann"), "s", next)
			return err
		}, "HOUSEHOLD_ERASED"},
		{"a correction", func(t *testing.T, v *env) error {
			_, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: "*", Patch: []byte(`{"responses":{"home":{"phone":"canary"}}}`)})
			return err
		}, "STALE_REVISION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.Postgres(t)
			v := newEnv(t, d)
			v.start(t, homeSurvey)
			v.submit(t, "ann", draft("r1", 1))
			want(t, tt.name, surveytest.Overlap(t, d, v.erasing(t), func() error { return tt.store(t, v) }), tt.code)
			if n := v.count(t, "survey_household_keys"); n != 0 {
				t.Errorf("%d keys are left", n)
			}
			if n := v.count(t, "responses"); n != 1 || !v.get(t, "mia", "r1").Erased {
				t.Errorf("%d responses, %+v, want the one that was erased", n, v.get(t, "mia", "r1"))
			}
		})
	}
}
