package entity_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestOneConnection: a transaction needs no connection but its own, also when
// nothing is known of a protocol yet, as after one was published. As many as
// there are connections would else wait for each other.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	const writers = 2
	v := newEnv(t, dbtest.Postgres(t, dbtest.With(func(c *db.Config) { c.Conns = writers })))
	stove := v.publish(t, "ws", `{"type":"Protocol","name":"stove","domainType":"device","properties":{"name":{"type":"string","pii":true},"serial":{"type":"string","indexed":true}},"relationships":{}}`)
	claim := v.kind(t, "ws", "claim")
	var stoves, claims [writers]string
	for i := range writers {
		stoves[i] = v.create(t, "ws", entity.Draft{Type: "Stove", Protocol: stove, Properties: object(`{"name":"Wanjiru"}`)}).DID
		claims[i] = v.create(t, "ws", entity.Draft{Type: "claim", Protocol: claim}).DID
	}
	for _, tt := range []struct {
		name, role, code string
		fn               func(ctx context.Context, tx *db.Tx, i int) error
	}{
		{"a record without what is personal", "reader", "", func(ctx context.Context, tx *db.Tx, i int) error {
			r, err := v.s.Find(ctx, tx, stoves[i])
			if err != nil {
				return err
			}
			a, err := v.s.Answer(ctx, tx, r)
			if err == nil && fmt.Sprint(decode(t, a.Raw).Withheld) != "[name]" {
				err = fmt.Errorf("answer is %s", a.Raw)
			}
			return err
		}},
		{"a change", "owner", "", func(ctx context.Context, tx *db.Tx, i int) error {
			_, err := v.s.PatchTx(ctx, tx, stoves[i], "*", entity.Change{Merge: []byte(`{"properties":{"serial":"S"}}`)})
			return err
		}},
		{"a refused change", "owner", "PROPERTY_SCHEMA_VIOLATION", func(ctx context.Context, tx *db.Tx, i int) error {
			_, err := v.s.PatchTx(ctx, tx, stoves[i], "*", entity.Change{Merge: []byte(`{"status":"active","properties":{"serial":1}}`)})
			return err
		}},
		{"an edge to a claim", "owner", "", func(ctx context.Context, tx *db.Tx, i int) error {
			_, err := v.s.RelateTx(ctx, tx, stoves[i], entity.RelationDraft{Role: "produces", Target: claims[i]})
			return err
		}},
	} {
		v.p.Flush()
		ctx, cancel := context.WithTimeout(as(t, "ws", tt.role), 20*time.Second)
		var inside sync.WaitGroup
		inside.Add(writers)
		crowd(t, writers, func(i int) error {
			var in sync.Once // the function may run twice
			err := v.d.InTx(ctx, func(tx *db.Tx) error {
				in.Do(inside.Done)
				inside.Wait()
				return tt.fn(ctx, tx, i)
			})
			if fault.CodeOf(err) != tt.code || err != nil && tt.code == "" {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
			}
			return nil
		})
		cancel()
	}
}
