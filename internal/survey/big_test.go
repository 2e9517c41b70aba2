package survey_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// BenchmarkBigList shows that nothing grows with the list: pages, look-ups,
// uploads and progress, by the number of households.
func BenchmarkBigList(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		d := dbtest.SQLite(b)
		v := newEnv(b, d)
		id := v.start(b, "ws", open)
		v.upload(b, "ws", id, home(0, "a", "adopter"))
		ctx := as(b, "ws", "owner")
		o, err := v.s.Open(ctx, id)
		if err != nil {
			b.Fatal(err)
		}
		const chunk = 1000
		for at := 1; at < n; at += chunk {
			err := d.InTx(ctx, func(tx *db.Tx) error {
				_, err := tx.Exec(ctx, `WITH RECURSIVE c(n) AS (VALUES($2) UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2 + $3)
					INSERT INTO survey_households (survey, household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, attributes, rev, updated_at)
					SELECT $1, printf('did:ixo:household/%06d', n), 'a', 1, '', '', 0, 0, 0, '', 1, 0 FROM c`, o.NID, at, chunk)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		next := 2_000_000
		for name, f := range map[string]func() error{
			"page": func() error {
				return only(v.s.Households(ctx, id, survey.HouseholdFilter{}, survey.After(fmt.Sprintf("did:ixo:household/%06d", n/2)), 50))
			},
			"find":     func() error { return only2(v.s.Household(ctx, d, o, fmt.Sprintf("did:ixo:household/%06d", n/2))) },
			"progress": func() error { return only2(v.s.Progress(ctx, id, 0)) },
			"upload": func() error {
				next++
				return only2(v.s.AddHouseholds(ctx, id, survey.Upload{Items: []survey.HouseholdDraft{home(next, "a", "adopter")}}))
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func only[A, B any](_ A, _ B, err error) error { return err }
func only2[A any](_ A, err error) error        { return err }
