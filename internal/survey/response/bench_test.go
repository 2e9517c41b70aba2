package response_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// documentedDraft is the response of the interface document.
func documentedDraft(n int) *response.Draft {
	d := &response.Draft{
		ResponseID: fmt.Sprintf("resp_%d", n), HouseholdID: fmt.Sprintf("did:ixo:household/%d", n), Timestamp: time.Date(2024, 2, 20, 10, 0, 0, 0, time.UTC), Partial: true,
	}
	d.Responses.Value = []byte(`{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}}`)
	return d
}

// BenchmarkPrepare is what a response costs before the writer sees it.
func BenchmarkPrepare(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	v.start(b, baseline)
	ctx := as(b, "ann")
	o, err := v.surveys.Open(ctx, "b")
	if err != nil {
		b.Fatal(err)
	}
	d := documentedDraft(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.s.Prepare(ctx, o, d, false); err != nil {
			b.Fatal(err, codes(err))
		}
	}
}

// BenchmarkStore is what it costs to store a prepared response, and beside it a
// bare insert of the same bytes.
func BenchmarkStore(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	v.start(b, baseline)
	ctx := as(b, "ann")
	o, err := v.surveys.Open(ctx, "b")
	if err != nil {
		b.Fatal(err)
	}
	const together = 100
	n := 0
	b.Run("response", func(b *testing.B) {
		b.ReportAllocs()
		for done := 0; done < b.N; done += together {
			b.StopTimer()
			list := make([]*response.Prepared, together)
			for i := range list {
				n++
				if list[i], err = v.s.Prepare(ctx, o, documentedDraft(n), false); err != nil {
					b.Fatal(err)
				}
			}
			b.StartTimer()
			err := v.d.InTx(ctx, func(tx *db.Tx) error {
				for _, p := range list {
					got, err := v.s.StoreTx(ctx, tx, p)
					if err == nil {
						err = v.surveys.Count(ctx, tx, o, got.Deltas...)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		if _, err := v.d.Exec(ctx, `CREATE TABLE IF NOT EXISTS bare (id TEXT PRIMARY KEY, body TEXT NOT NULL)`); err != nil {
			b.Fatal(err)
		}
		d := documentedDraft(1)
		r, err := v.s.Submit(ctx, "b", d)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for done := 0; done < b.N; done += together {
			err := v.d.InTx(ctx, func(tx *db.Tx) error {
				for range together {
					n++
					if _, err := tx.Exec(ctx, `INSERT INTO bare (id, body) VALUES ($1, $2)`, fmt.Sprint(n), string(r.Raw)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
