package relationship_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	early, late := now.Add(-time.Millisecond), now.Add(time.Millisecond)
	for _, tt := range []struct {
		since, until time.Time
		want         bool
	}{
		{time.Time{}, time.Time{}, true},
		{early, late, true},
		{now, time.Time{}, true},
		{late, time.Time{}, false},
		{time.Time{}, now, false},
		{early, early, false},
	} {
		if got := relationship.Holds(tt.since, tt.until, now); got != tt.want {
			t.Errorf("Holds(%v, %v) = %v, want %v", tt.since, tt.until, got, tt.want)
		}
	}
}

// store puts edges into the workspace ws.
func store(t *testing.T, d *db.DB, all ...relationship.Row) {
	t.Helper()
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		for _, l := range all {
			l.Source = "declared"
			if _, err := relationship.Insert(t.Context(), tx, "ws", &l); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The store counts what holds as Holds does.
func TestCountNow(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		at := func(ms int64) time.Time { return time.UnixMilli(ms) }
		times := [][2]time.Time{{}, {at(99), at(101)}, {at(100)}, {at(101)}, {{}, at(100)}, {at(98), at(99)}}
		want := 0
		for i, x := range times {
			n := int64(i)
			store(t, d, relationship.Row{
				NID: n + 1, Src: 10, SrcDID: "did:a:a", Dst: 20 + n, DstDID: fmt.Sprint("did:b:", i), Role: "contains", Mirror: true,
				Since: relationship.Millis(x[0]), Until: relationship.Millis(x[1]),
			})
			holds := 0
			if relationship.Holds(x[0], x[1], at(100)) {
				holds = 1
			}
			want += holds
			if in, err := (relationship.Count{Role: "contains", Most: 5, Now: 100}).In(ctx, d, 20+n); in != holds || err != nil {
				t.Errorf("%d: %d edges hold, %v, want %d", i, in, err, holds)
			}
		}
		if n, err := (relationship.Count{Role: "contains", Most: 10, Now: 100}).Out(ctx, d, 10); n != want || want != 3 || err != nil {
			t.Errorf("%d edges hold, %v, want %d", n, err, want)
		}
		if n, err := (relationship.Count{Role: "contains", Most: 10}).Out(ctx, d, 10); n != len(times) || err != nil {
			t.Errorf("%d edges, %v, want %d", n, err, len(times))
		}
		if n, err := (relationship.Count{Role: "contains", Most: 2, Now: 100}).Out(ctx, d, 10); n != 2 || err != nil {
			t.Errorf("%d of at most 2, %v", n, err)
		}
	})
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		id := func(i int) string { return fmt.Sprintf("did:x:%02d", i) }
		var names []string
		for i := range 25 {
			names = append(names, id(i))
		}
		store(t, d,
			relationship.Row{NID: 1, Src: 10, SrcDID: "did:a:a", DstDID: id(3), Role: "implementedBy"},
			relationship.Row{NID: 2, Src: 11, SrcDID: "did:a:b", DstDID: id(3), Role: "peer"},
			relationship.Row{NID: 3, Src: 11, SrcDID: "did:a:b", DstDID: id(24), Role: "peer"},
			relationship.Row{NID: 4, Src: 11, SrcDID: "did:a:b", Dst: 77, DstDID: id(5), Role: "peer"},
			relationship.Row{NID: 5, Src: 30, SrcDID: id(3), Dst: 11, DstDID: "did:a:b", Role: "implements", Mirror: true},
		)
		if got, err := relationship.Awaited(ctx, d, "ws", names...); err != nil || !slices.Equal(got, []string{id(3), id(24)}) {
			t.Errorf("Awaited = %v, %v", got, err)
		}
		if got, err := relationship.Awaited(ctx, d, "other", names...); err != nil || len(got) != 0 {
			t.Errorf("Awaited in another workspace = %v, %v", got, err)
		}
		if got, err := relationship.Missed(ctx, d, "ws", names...); err != nil || len(got) != 0 {
			t.Errorf("Missed = %v, %v, want none: no such twin is held", got, err)
		}
		first, err := relationship.Waiting(ctx, d, "ws", id(3), relationship.Page{Limit: 1})
		if err != nil || len(first) != 1 || first[0].NID != 1 {
			t.Fatalf("Waiting = %+v, %v", first, err)
		}
		rest, err := relationship.Waiting(ctx, d, "ws", id(3), relationship.Page{After: 1, Limit: 9})
		if err != nil || len(rest) != 1 || rest[0].NID != 2 {
			t.Fatalf("Waiting past the first = %+v, %v", rest, err)
		}
		settle := func(l relationship.Row) (done bool) {
			t.Helper()
			err := d.InTx(ctx, func(tx *db.Tx) (err error) {
				done, err = relationship.Settle(ctx, tx, "ws", &l)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		turned := relationship.Row{NID: 1, Src: 30, SrcDID: id(3), Dst: 10, DstDID: "did:a:a", Role: "implements", Mirror: true, Source: "declared"}
		if !settle(turned) || settle(turned) {
			t.Error("want the edge settled once")
		}
		if got, err := relationship.Find(ctx, d, "ws", 1); err != nil || got == nil || *got != turned {
			t.Errorf("settled as %+v, %v, want %+v", got, err, turned)
		}
		if settle(relationship.Row{NID: 2, Src: 30, SrcDID: id(3), Dst: 11, DstDID: "did:a:b", Role: "implements", Mirror: true}) {
			t.Error("an edge that exists was made a second time")
		}
	})
}
