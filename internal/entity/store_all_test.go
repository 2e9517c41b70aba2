package entity_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

var errUndone = errors.New("undone")

// twinRows are all tables a new twin has rows in, each row as text. The numbers
// of the events on PostgreSQL are given later, by whoever reads.
var twinRows = []string{
	`SELECT concat_ws('|', nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded, type_key, protocol_key,
		coalesce(project_key, -1), coalesce(status_key, -1), created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, length(rev_hash), chosen, body) FROM entities ORDER BY nid`,
	`SELECT concat_ws('|', pid, val, nid) FROM entity_props ORDER BY pid, val, nid`,
	`SELECT concat_ws('|', ws, value, scheme, nid) FROM entity_externals ORDER BY ws, value, scheme`,
	`SELECT concat_ws('|', ws, seq, type, subject, revision, actor, request_id, at, data, subject_key, actor_key) FROM events ORDER BY id`,
}

// dump reads every row that a transaction sees.
func dump(t testing.TB, tx *db.Tx) []string {
	t.Helper()
	var out []string
	for _, query := range twinRows {
		rows, err := tx.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var row string
			if err := rows.Scan(&row); err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// still stops the clock, so that two runs leave the same rows.
func still(c *entity.Config) {
	now := func() time.Time { return time.UnixMilli(1_700_000_000_000) }
	c.Now, c.Events = now, event.New(event.Config{DB: c.DB, Cursors: eventtest.Cursors(), Now: now})
}

// prepareAll makes drafts ready.
func (v *env) prepareAll(t testing.TB, role string, drafts []entity.Draft) []*entity.Prepared {
	t.Helper()
	var out []*entity.Prepared
	for _, d := range drafts {
		p, err := v.s.Prepare(as(t, "ws", role), d)
		if err != nil {
			t.Fatalf("prepare: %+v", fault.As(err))
		}
		out = append(out, p)
	}
	return out
}

// plainDrafts are twins with 0 to 3 external ids and 0 to 2 indexed properties.
func plainDrafts(n int) []entity.Draft {
	var out []entity.Draft
	for i := range n {
		d := draftOf("household")
		d.Properties = object([]string{`{}`, `{"district":"D1"}`, fmt.Sprintf(`{"district":"D%d","fuelType":"wood","size":%d}`, i%3, i)}[i%3])
		for k := range i % 4 {
			if d.ExternalIDs == nil {
				d.ExternalIDs = map[string]string{}
			}
			d.ExternalIDs[fmt.Sprint("scheme", k)] = fmt.Sprint("x", i)
		}
		if i%5 == 0 {
			d.DID = fmt.Sprint("did:ixo:household/", i)
		}
		out = append(out, d)
	}
	return out
}

// Whatever their number, twins stored together leave the rows that they leave
// when each is stored for itself.
func TestStoreAllIsStore(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, still)
		ctx := as(t, "ws", "owner")
		for _, n := range []int{0, 1, 9, 10, 11, 47} {
			list := v.prepareAll(t, "owner", plainDrafts(n))
			var one, all []string
			err := d.InTx(ctx, func(tx *db.Tx) error {
				for _, p := range list {
					if _, err := v.s.StoreTx(ctx, tx, p); err != nil {
						return err
					}
				}
				one = dump(t, tx)
				return errUndone
			})
			if !errors.Is(err, errUndone) {
				t.Fatal(err)
			}
			err = d.InTx(ctx, func(tx *db.Tx) error {
				rows, err := v.s.StoreAllTx(ctx, tx, list)
				if err != nil {
					return err
				}
				for i, r := range rows {
					if r.DID != list[i].DID() || r.Revision != 1 || len(r.Body) != list[i].Size() {
						t.Errorf("row %d = %s, revision %d", i, r.DID, r.Revision)
					}
				}
				if len(rows) != n {
					t.Errorf("%d rows for %d twins", len(rows), n)
				}
				all = dump(t, tx)
				return errUndone
			})
			if !errors.Is(err, errUndone) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(one, all); diff != "" || n > 0 && len(all) == 0 {
				t.Errorf("%d twins (-one by one +together):\n%s", n, diff)
			}
		}
	})
}

// Twins with edges and groups keep their place among the others, and may refer
// to them.
func TestStoreAllKeepsOrder(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		drafts := plainDrafts(26)
		drafts[4] = with(draftOf("household"), "neighbour", "did:ixo:household/0")
		drafts[15] = draftOf("organisation")
		drafts[15].DID = "did:ixo:org/a"
		drafts[16] = with(draftOf("project"), "implementedBy", "did:ixo:org/a")
		list := v.prepareAll(t, "owner", drafts)
		err := d.InTx(ctx, func(tx *db.Tx) error {
			_, err := v.s.StoreAllTx(ctx, tx, list)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, p := range list {
			want = append(want, p.DID())
			e := v.get(t, "ws", p.DID())
			if e.Type == "project" && (e.Status != entity.StatusActive || len(e.Relationships) != 1) {
				t.Errorf("the project is %s with %d edges", e.Status, len(e.Relationships))
			}
		}
		for _, it := range v.events(t, "ws", 0) {
			if it.Type == "entity.created" && v.get(t, "ws", it.Subject).DomainType != "group" {
				got = append(got, it.Subject)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A name that is taken, anywhere in the list and by whomever, is refused, and
// nothing is left when the transaction is undone.
func TestStoreAllTaken(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		held := draftOf("household")
		held.DID, held.ExternalIDs = "did:ixo:household/held", map[string]string{"erp": "held"}
		v.create(t, "ws", held)
		before := v.newest(t, "ws")
		for _, at := range []int{0, 7, 13, 29, 33} {
			for name, change := range map[string]func(list []entity.Draft){
				"DID of another":         func(l []entity.Draft) { l[at].DID = held.DID },
				"external id of another": func(l []entity.Draft) { l[at].ExternalIDs = held.ExternalIDs },
				"DID twice":              func(l []entity.Draft) { l[at].DID, l[(at+3)%34].DID = "did:ixo:a/b", "did:ixo:a/b" },
				"external id twice": func(l []entity.Draft) {
					l[at].ExternalIDs, l[(at+20)%34].ExternalIDs = map[string]string{"erp": "new"}, map[string]string{"erp": "new"}
				},
			} {
				drafts := plainDrafts(34)
				change(drafts)
				list := v.prepareAll(t, "owner", drafts)
				err := d.InTx(ctx, func(tx *db.Tx) error {
					_, err := v.s.StoreAllTx(ctx, tx, list)
					return err
				})
				if !errors.Is(err, entity.ErrTaken) && fault.KindOf(err) != fault.Conflict {
					t.Errorf("%s at %d: %v, want it refused", name, at, err)
				}
			}
		}
		if n := v.newest(t, "ws"); n != before {
			t.Errorf("%d events are left", n-before)
		}
		limited := as(t, "ws", "limited")
		err := d.InTx(limited, func(tx *db.Tx) error {
			_, err := v.s.StoreAllTx(limited, tx, v.prepareAll(t, "limited", plainDrafts(12)))
			return err
		})
		want(t, "twins outside of the projects of a key", err, "KEY_RESTRICTED")
	})
}

// BenchmarkStore compares twins stored one by one with twins stored together,
// 20 in a transaction.
func BenchmarkStore(b *testing.B) {
	for _, together := range []bool{false, true} {
		b.Run(fmt.Sprintf("together=%v", together), func(b *testing.B) {
			v := newEnv(b, dbtest.SQLite(b))
			ctx := as(b, "ws", "owner")
			for b.Loop() {
				b.StopTimer()
				var drafts []entity.Draft
				for i := range 20 {
					d := draftOf("clean-cooking")
					d.Properties = object(fmt.Sprintf(`{"serial":"SN-%d","model":"M%d"}`, i, i%3))
					drafts = append(drafts, d)
				}
				list := v.prepareAll(b, "owner", drafts)
				b.StartTimer()
				err := v.d.InTx(ctx, func(tx *db.Tx) error {
					if together {
						_, err := v.s.StoreAllTx(ctx, tx, list)
						return err
					}
					for _, p := range list {
						if _, err := v.s.StoreTx(ctx, tx, p); err != nil {
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
}
