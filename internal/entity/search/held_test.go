package search_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// bodies counts the statements that read records.
type bodies struct {
	db.Querier
	n int
}

func (b *bodies) Query(ctx context.Context, sql string, args ...any) (db.Rows, error) {
	if strings.Contains(sql, "body") {
		b.n++
	}
	return b.Querier.Query(ctx, sql, args...)
}

// A protocol that declares a property without an index and has no twins does
// not keep the index of the others from ruling candidates out. Once it has one,
// that one is found.
func TestUnusedProtocol(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		used := v.publish(t, "ws", `{"type":"Protocol","name":"used","properties":{"model":{"type":"string","indexed":true},"power":{"type":"number","indexed":true}}}`)
		unused := v.publish(t, "ws", `{"type":"Protocol","name":"unused","properties":{"model":{"type":"string","indexed":true},"power":"number"}}`)
		var drafts []entity.Draft
		for i := range 600 {
			drafts = append(drafts, entity.Draft{Type: "Stove", Protocol: used, Properties: object(t, map[string]any{"model": fmt.Sprint("M", i%2), "power": i % 2})})
		}
		v.store(t, c, drafts...)
		query := entity.Query{Filter: `and(eq(properties.model,"M0"),eq(properties.power,1))`}
		q := &bodies{Querier: d}
		f, err := v.s.List(c, q, query)
		if err != nil || len(f.Rows) != 0 || q.n != 0 {
			t.Errorf("%d twins, %v, and %d statements that read records; want none", len(f.Rows), err, q.n)
		}
		late := v.store(t, c, entity.Draft{Type: "Stove", Protocol: unused, Properties: object(t, map[string]any{"model": "M0", "power": 1})})
		if f, err = v.s.List(c, d, query); err != nil || len(f.Rows) != 1 || f.Rows[0].DID != late[0].DID {
			t.Errorf("%d twins, %v; want the one of the other protocol", len(f.Rows), err)
		}
	})
}
