package db_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// A crowd that commits, fails, panics, leaves and breaks constraints, all at
// once. What was acknowledged is stored, what was not is not.
func TestCrowdGetsWhatItWasTold(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		var mu sync.Mutex
		acked := map[int]bool{}
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(7, uint64(w)))
				for i := range 40 {
					id := w*1000 + i
					if misbehave(t, d, id, rnd.IntN(6), time.Duration(rnd.IntN(2000))*time.Microsecond) {
						mu.Lock()
						acked[id] = true
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		rows, err := d.Query(t.Context(), `SELECT id FROM item`)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		defer rows.Close()
		for rows.Next() {
			var id int
			if err := rows.Scan(&id); err != nil {
				t.Fatalf("scan: %v", err)
			}
			if !acked[id] {
				t.Errorf("%d is stored, but its caller got an error", id)
			}
			delete(acked, id)
		}
		if err := rows.Err(); err != nil {
			t.Errorf("list: %v", err)
		}
		if len(acked) != 0 {
			t.Errorf("%d acknowledged rows are missing: %v", len(acked), acked)
		}
	})
}

// misbehave inserts an item in one of six ways and reports whether InTx said
// that it is stored.
func misbehave(t *testing.T, d *db.DB, id, how int, patience time.Duration) (ok bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if how == 1 {
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	err := d.InTx(ctx, func(tx *db.Tx) error {
		if err := insert(ctx, tx, id); err != nil {
			return err
		}
		switch how {
		case 2:
			return errBoom
		case 3:
			panic(errBoom)
		case 4:
			return insert(ctx, tx, id)
		case 5:
			cancel() // too late: the function succeeds
		}
		return nil
	})
	return err == nil
}
