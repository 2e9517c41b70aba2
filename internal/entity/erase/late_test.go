package erase_test

import (
	"context"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestWrittenWhileErased: what another transaction was writing about somebody while she
// was erased, and had not committed yet, is erased too before the certificate is
// complete, with a certificate of its own.
func TestWrittenWhileErased(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t) // on SQLite one waits for the other
	if _, err := d.Exec(t.Context(), `CREATE TABLE words (about TEXT NOT NULL, said TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, d, erase.Eraser{Name: "words", Erase: func(ctx context.Context, tx *db.Tx, _, did string) (int64, error) {
		return tx.Exec(ctx, `DELETE FROM words WHERE about = $1`, did)
	}})
	ctx := r.owner(t)
	id := r.create(ctx, t, household(1))
	var first erase.Certificate
	settled := make(chan bool, 1)
	r.tx(ctx, t, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO words VALUES ($1, 'she is ill')`, id); err != nil {
			return err
		}
		first, _, _ = r.run(ctx, t, id)
		go func() {
			left, err := r.erase.Settle(t.Context())
			settled <- left && err == nil
		}()
		for range 100 { // it has every chance to be too early
			var n int
			if err := d.QueryRow(ctx, `SELECT count(*) FROM words`).Scan(&n); err != nil {
				return err
			}
		}
		return nil
	})
	if !<-settled {
		t.Error("Settle() has left nothing, want the certificate of what came late")
	}
	r.settle(t)
	var n int
	if err := d.QueryRow(ctx, `SELECT count(*) FROM words`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d words are left, %v", n, err)
	}
	list, _, err := r.erase.List(ctx, 0, 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("List() = %+v, %v, want two certificates", list, err)
	}
	late := list[1]
	if late.Counts["words"] != 1 || late.By != first.By || late.Reason != first.Reason || late.Subject != id || late.Bytes.State != erase.Released {
		t.Errorf("certificate = %+v, want that of one word, as %+v", late, first)
	}
}

// TestLateRefusal: a rule that has come to protect what there is now holds up nobody's
// certificate.
func TestLateRefusal(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	kept := ""
	r := newRig(t, d, erase.Eraser{
		Name:  "words",
		Erase: func(context.Context, *db.Tx, string, string) (int64, error) { return 0, nil },
		May: func(_ context.Context, _ db.Querier, _, did string) error {
			if did == kept {
				return fault.New(fault.Conflict, "LAST_OWNER", "Somebody must own the workspace.")
			}
			return nil
		},
	})
	ctx := r.owner(t)
	first, _, _ := r.run(ctx, t, r.create(ctx, t, household(1)))
	second, _, _ := r.run(ctx, t, r.create(ctx, t, household(2)))
	kept = first.Subject
	r.settle(t)
	for _, c := range []erase.Certificate{first, second} {
		if got := r.certificate(ctx, t, c.ID).Bytes; got.State != erase.Released {
			t.Errorf("bytes of %s = %+v, want released", c.ID, got)
		}
	}
}
