package entity_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// What fills a required role of an active twin is not deactivated as long as
// nothing else does: not over the API, and not by two callers at once.
func TestFillersStay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		kept := v.publish(t, "ws", `{"type":"Protocol","name":"kept","class":"physical","properties":{},"relationships":{"keeper":"OrganisationEntity"}}`)
		one, two := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
		made := v.create(t, "ws", with(entity.Draft{Type: "x", Protocol: kept}, "keeper", one.DID))
		if made.Status != entity.StatusActive {
			t.Fatalf("the twin is %s and misses %v, want it active", made.Status, made.MissingRelationships)
		}
		err := v.transit(t, "ws", one.DID, gone)
		want(t, "what fills a required role", err, "ACTIVE_DEPENDANTS")
		if f := fault.As(err); f == nil || len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, made.DID) {
			t.Errorf("fields = %+v, want the twin named", f)
		}
		if w := v.send(t, "ws owner", "DELETE /v1/entities/"+one.DID, "", "If-Match", "*"); w.Code != 409 {
			t.Errorf("DELETE = %d %s, want 409", w.Code, w.Body)
		}
		want(t, "suspending harms nobody", v.transit(t, "ws", one.DID, entity.StatusSuspended), "")

		_, err = v.relate(t, "ws", made.DID, "keeper", two.DID)
		want(t, "a second one", err, "")
		want(t, "now the first may go", v.transit(t, "ws", one.DID, gone), "")
		want(t, "the second may not", v.transit(t, "ws", two.DID, gone), "ACTIVE_DEPENDANTS")

		want(t, "suspend the twin", v.transit(t, "ws", made.DID, entity.StatusSuspended), "")
		want(t, "the second goes", v.transit(t, "ws", two.DID, gone), "")
		want(t, "the twin cannot come back", v.transit(t, "ws", made.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		three, four := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
		for _, o := range []*entity.Entity{three, four} {
			_, err = v.relate(t, "ws", made.DID, "keeper", o.DID)
			want(t, "another", err, "")
		}
		want(t, "and it is back", v.transit(t, "ws", made.DID, entity.StatusActive), "")

		var wg sync.WaitGroup
		ends := make([]error, 2)
		for i, o := range []*entity.Entity{three, four} {
			wg.Go(func() { ends[i] = v.transit(t, "ws", o.DID, gone) })
		}
		wg.Wait()
		if (ends[0] == nil) == (ends[1] == nil) {
			t.Errorf("two at once: %v, %v; want one of them refused", ends[0], ends[1])
		}
	})
}
