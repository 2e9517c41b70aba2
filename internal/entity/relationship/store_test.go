package relationship_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int64{
		"rel_1": 1, "rel_9223372036854775807": 9223372036854775807,
		"": 0, "rel_": 0, "rel_0": 0, "rel_-1": 0, "rel_+1": 0, "rel_01": 0, "rel_1 ": 0, "1": 0, "REL_1": 0, "rel_9223372036854775808": 0, "rel_1e3": 0,
	} {
		if got := relationship.ParseID(id); got != want {
			t.Errorf("ParseID(%q) = %d, want %d", id, got, want)
		}
	}
	if got := relationship.ID(42); got != "rel_42" {
		t.Errorf("ID(42) = %q", got)
	}
	now := time.UnixMilli(1234567890123).UTC()
	if got := relationship.Moment(relationship.Millis(now)); !got.Equal(now) {
		t.Errorf("Moment(Millis(%v)) = %v", now, got)
	}
	if got := relationship.Moment(relationship.Millis(time.Time{})); !got.IsZero() || relationship.Millis(time.Time{}).Valid {
		t.Errorf("no time comes back as %v", got)
	}
}

// An edge is there once, ends once, and can then be there again.
func TestOnce(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		do := func(fn func(tx *db.Tx) (bool, error)) (done bool) {
			t.Helper()
			err := d.InTx(ctx, func(tx *db.Tx) (err error) {
				done, err = fn(tx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		insert := func(l relationship.Row) bool {
			t.Helper()
			return do(func(tx *db.Tx) (bool, error) { return relationship.Insert(ctx, tx, "ws", &l) })
		}
		finish := func(ws string, nid int64) bool {
			t.Helper()
			return do(func(tx *db.Tx) (bool, error) {
				return relationship.Finish(ctx, tx, ws, nid, relationship.Removal{At: 9, By: "me", Reason: "why"})
			})
		}
		edge := relationship.Row{NID: 1, Src: 10, SrcDID: "did:a:a", Dst: 20, DstDID: "did:b:b", Role: "contains", Mirror: true, Source: "declared", Since: relationship.Millis(time.UnixMilli(5)), AddedAt: 7, AddedBy: "me"}
		again := edge
		again.NID = 2
		if !insert(edge) || insert(again) {
			t.Fatal("want the edge once")
		}
		got, err := relationship.Find(ctx, d, "ws", 1)
		if err != nil || got == nil || *got != edge {
			t.Errorf("Find = %+v, %v, want %+v", got, err, edge)
		}
		if got, err := relationship.Find(ctx, d, "other", 1); err != nil || got != nil {
			t.Errorf("Find in another workspace = %+v, %v, want none", got, err)
		}
		for side, nid := range map[relationship.Side]int64{relationship.Out: 10, relationship.In: 20, relationship.Mirrored: 20} {
			list, err := side.List(ctx, d, nid, 0, 10)
			if err != nil || len(list) != 1 || list[0] != edge {
				t.Errorf("side %d = %+v, %v", side, list, err)
			}
			if list, err := side.List(ctx, d, nid, 1, 10); err != nil || len(list) != 0 {
				t.Errorf("side %d past the last = %+v, %v", side, list, err)
			}
		}
		if n, err := (relationship.Count{Role: "contains", Most: 5}).Out(ctx, d, 10); n != 1 || err != nil {
			t.Errorf("CountOut = %d, %v", n, err)
		}
		if n, err := (relationship.Count{Role: "contains", Most: 5}).In(ctx, d, 20); n != 1 || err != nil {
			t.Errorf("CountIn = %d, %v", n, err)
		}
		if p, err := relationship.Parents(ctx, d, 20, "contains", 5); len(p) != 1 || p[0] != 10 || err != nil {
			t.Errorf("Parents = %v, %v", p, err)
		}
		if finish("other", 1) || !finish("ws", 1) || finish("ws", 1) {
			t.Error("want it ended once, in its own workspace")
		}
		if got, err := relationship.Find(ctx, d, "ws", 1); err != nil || got != nil {
			t.Errorf("Find after the end = %+v, %v", got, err)
		}
		if !insert(again) {
			t.Error("it cannot be there again")
		}
		var removed int64
		var reason string
		if err := d.QueryRow(ctx, `SELECT removed_at, reason FROM relationships WHERE nid = $1`, 1).Scan(&removed, &reason); err != nil || removed != 9 || reason != "why" {
			t.Errorf("the row of the first says %d, %q, %v", removed, reason, err)
		}
	})
}

// An edge that is no word of the domain model is not shown at its target.
func TestMirrored(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		for i := range int64(10) {
			l := relationship.Row{NID: i + 1, Src: 100 + i, SrcDID: "did:a:a", Dst: 20, DstDID: "did:b:b", Role: "peer", Mirror: i%2 == 0, Source: "declared"}
			if err := d.InTx(ctx, func(tx *db.Tx) error {
				_, err := relationship.Insert(ctx, tx, "ws", &l)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		for side, want := range map[relationship.Side]int{relationship.In: 10, relationship.Mirrored: 5} {
			if list, err := side.List(ctx, d, 20, 0, 100); err != nil || len(list) != want {
				t.Errorf("side %d has %d, %v, want %d", side, len(list), err, want)
			}
		}
		if list, err := relationship.In.List(ctx, d, 20, 3, 2); err != nil || len(list) != 2 || list[0].NID != 4 {
			t.Errorf("a page = %+v, %v, want two from 4", list, err)
		}
	})
}
