package bulk_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// operations makes n creates of devices with four properties each.
func operations(n int) []map[string]any {
	ops := make([]map[string]any, n)
	for i := range ops {
		ops[i] = map[string]any{"op": "create", "entity": map[string]any{
			"type": "Device", "protocol": cooker,
			"properties": map[string]any{"serial": fmt.Sprintf("S%d", i), "model": "M", "fuel_type": "pellets", "efficiency": 40},
		}}
	}
	return ops
}

func (r *rig) batch(t testing.TB, body map[string]any, status int) api.BatchResults {
	t.Helper()
	var out api.BatchResults
	r.do(t, call{method: "POST", path: "/v1/entities:batch", body: body}, status, &out)
	return out
}

// A thousand creates in one transaction stay far below the second that one may
// hold the writer.
func TestBatchOfThousand(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		ops := operations(bulk.MaxOperations)
		for _, op := range ops {
			op["entity"].(map[string]any)["metadata"] = map[string]any{"text": strings.Repeat("x", bulk.MaxBatch/bulk.MaxOperations-300)}
		}
		begun := time.Now()
		got := r.batch(t, map[string]any{"atomic": true, "operations": ops}, 200)
		t.Logf("1000 creates of 8 KiB took %v", time.Since(begun))
		if got.Succeeded != bulk.MaxOperations || got.Results[999].ETag != `"1"` || got.Results[999].Status != 201 {
			t.Errorf("%d succeeded, the last is %+v", got.Succeeded, got.Results[999])
		}
		if n := r.counts(t); n["entities"] != 1000 || n["events"] != 1000 || n["entity_props"] != 2000 {
			t.Errorf("rows = %v", n)
		}
		one := r.batch(t, map[string]any{"operations": operations(120)}, 200)
		if one.Succeeded != 120 {
			t.Errorf("%d succeeded, want 120", one.Succeeded)
		}
	})
}

// An atomic batch with one bad operation, wherever it is, leaves nothing.
func TestBatchRollsBack(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		before := r.counts(t)
		late := append(operations(100), map[string]any{"op": "patch", "did": "did:x:none", "ifMatch": "*", "patch": map[string]any{"type": "X"}})
		early := append([]map[string]any{{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "properties": map[string]any{"efficiency": 400}}}}, operations(10)...)
		twice := append(operations(3),
			map[string]any{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "externalIds": map[string]any{"a": "1"}}},
			map[string]any{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "externalIds": map[string]any{"a": "1"}}})
		for _, tt := range []struct {
			ops     []map[string]any
			status  int
			code    string
			pointer string
		}{
			{late, 404, "ENTITY_NOT_FOUND", "/operations/100"},
			{early, 400, "PROPERTY_SCHEMA_VIOLATION", "/operations/0/entity/properties/efficiency"},
			{twice, 409, "EXTERNAL_ID_EXISTS", "/operations/4/entity/externalIds/a"},
		} {
			w := r.send(t, call{method: "POST", path: "/v1/entities:batch", body: map[string]any{"atomic": true, "operations": tt.ops}})
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.code) || !strings.Contains(w.Body.String(), `"pointer":"`+tt.pointer+`"`) {
				t.Errorf("%d %s, want %d %s at %s", w.Code, w.Body, tt.status, tt.code, tt.pointer)
			}
		}
		if diff := cmp.Diff(before, r.counts(t)); diff != "" {
			t.Errorf("something is left (-before +after):\n%s", diff)
		}
	})
}

// Each operation stands for itself: those after and before a bad one are
// stored.
func TestBatchEach(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		ops := operations(60)
		for i := range 12 {
			ops[i*5] = map[string]any{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "externalIds": map[string]any{"a": "same"}}}
		}
		got := r.batch(t, map[string]any{"operations": ops}, 200)
		if got.Succeeded != 49 || got.Failed != 11 || len(got.Results) != 60 {
			t.Errorf("%d succeeded, %d failed", got.Succeeded, got.Failed)
		}
		for i, res := range got.Results {
			bad := i%5 == 0 && i > 0
			if (res.Error != nil) != bad || res.Index != i || bad && (res.Status != 409 || res.DID != "") {
				t.Errorf("result %d = %+v", i, res)
			}
		}
		if n := r.counts(t); n["entities"] != 49 || n["events"] != 49 || n["batch_results"] != 0 {
			t.Errorf("rows = %v, want 49 twins", n)
		}
	})
}

// A household, its stove and all that can be done with them, in one batch.
func TestBatchReferences(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		for _, atomic := range []bool{true, false} {
			got := r.batch(t, map[string]any{"atomic": atomic, "operations": []map[string]any{
				{"op": "create", "entity": map[string]any{"type": "Household", "protocol": household}},
				{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "relationships": []any{map[string]any{"role": "household", "target": "$0"}}}},
				{"op": "patch", "did": "$1", "ifMatch": "*", "patch": map[string]any{"properties": map[string]any{"model": "M2"}}, "reason": "typo"},
				{"op": "relate", "did": "$0", "relationship": map[string]any{"role": "cooksWith", "target": "$1"}},
				{"op": "transition", "did": "$1", "to": "suspended"},
				{"op": "replace", "did": "$0", "ifMatch": "*", "entity": map[string]any{"type": "Family", "protocol": household}},
				{"op": "deactivate", "did": "$1", "ifMatch": "*"},
			}}, 200)
			if got.Failed != 0 {
				t.Fatalf("atomic %v: %+v", atomic, got)
			}
			if got.Results[2].DID != got.Results[1].DID || !strings.HasPrefix(got.Results[3].Relationship, "rel_") {
				t.Errorf("results = %+v", got.Results)
			}
			r.batch(t, map[string]any{"operations": []map[string]any{{"op": "unrelate", "did": got.Results[0].DID, "id": got.Results[3].Relationship}}}, 200)
		}
		got := r.batch(t, map[string]any{"operations": []map[string]any{
			{"op": "create", "entity": map[string]any{"type": "Household", "protocol": "did:x:none"}},
			{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "relationships": []any{map[string]any{"role": "household", "target": "$0"}}}},
			{"op": "patch", "did": "$1", "ifMatch": "*", "patch": map[string]any{}},
			{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker}},
		}}, 200)
		codes := []string{}
		for _, res := range got.Results {
			if res.Error != nil {
				codes = append(codes, res.Error.Code)
			}
		}
		if diff := cmp.Diff([]string{"PROTOCOL_NOT_FOUND", "BATCH_REFERENCE_FAILED", "BATCH_REFERENCE_FAILED"}, codes); diff != "" {
			t.Errorf("codes (-want +got):\n%s", diff)
		}
	})
}

// The same batch twice under one key is done once, even when two send it at
// the same moment; another batch under the key is refused.
func TestBatchOnce(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		for _, atomic := range []bool{true, false} {
			before := r.counts(t)["entities"]
			key := map[string]string{"Idempotency-Key": fmt.Sprint("key", atomic)}
			body := map[string]any{"atomic": atomic, "operations": operations(110)}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if w := r.send(t, call{method: "POST", path: "/v1/entities:batch", header: key, body: body}); w.Code != 200 && w.Code != 409 {
						t.Errorf("batch = %d %s", w.Code, w.Body)
					}
				})
			}
			wg.Wait()
			var first, second api.BatchResults
			r.do(t, call{method: "POST", path: "/v1/entities:batch", header: key, body: body}, 200, &first)
			w := r.do(t, call{method: "POST", path: "/v1/entities:batch", header: key, body: body}, 200, &second)
			if diff := cmp.Diff(first, second); diff != "" || w.Header().Get("Idempotent-Replayed") != "true" || first.Succeeded != 110 {
				t.Errorf("atomic %v: %d succeeded, replayed %q (-first +second):\n%s", atomic, first.Succeeded, w.Header().Get("Idempotent-Replayed"), diff)
			}
			if n := r.counts(t)["entities"] - before; n != 110 {
				t.Errorf("atomic %v: %d twins, want 110", atomic, n)
			}
			r.do(t, call{method: "POST", path: "/v1/entities:batch", header: key, body: map[string]any{"atomic": atomic, "operations": operations(1)}}, 422, nil)
		}
		n, err := r.ExpireBatches(t.Context(), time.Now().Add(time.Hour), 1000)
		if err != nil || n != 111 {
			t.Errorf("%d results expired, %v; want 111", n, err)
		}
	})
}

// TestBatchOnceForEachKey: what a did:key of a DID has done is not shown to
// another one of it, which may be allowed less.
func TestBatchOnceForEachKey(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		for _, atomic := range []bool{true, false} {
			c := call{method: "POST", path: "/v1/entities:batch", header: map[string]string{"Idempotency-Key": fmt.Sprint("key", atomic)}}
			c.body = map[string]any{"atomic": atomic, "operations": operations(1)}
			seen := map[string]bool{}
			for _, c.as = range []string{"phone", "tablet"} {
				var got api.BatchResults
				if w := r.do(t, c, 200, &got); w.Header().Get("Idempotent-Replayed") != "" || seen[got.Results[0].DID] {
					t.Errorf("atomic %v: %s got the answer of another key", atomic, c.as)
				}
				seen[got.Results[0].DID] = true
			}
		}
	})
}

// A batch that is cut off in its middle is completed by the next request with
// its key.
func TestBatchResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	key := map[string]string{"Idempotency-Key": "k"}
	ops := operations(120)
	ops[119] = map[string]any{"op": "create", "entity": map[string]any{"type": "Device", "protocol": cooker, "relationships": []any{map[string]any{"role": "twin", "target": "$3"}}}}
	body := map[string]any{"operations": ops}
	r.hook.Store(func(n int64) {
		if n == 70 {
			panic("the process ends here")
		}
	})
	func() {
		defer func() { _ = recover() }()
		r.send(t, call{method: "POST", path: "/v1/entities:batch", header: key, body: body})
	}()
	if n := r.counts(t)["entities"]; n != 50 {
		t.Fatalf("%d twins after the first request, want a chunk", n)
	}
	var got api.BatchResults
	r.do(t, call{method: "POST", path: "/v1/entities:batch", header: key, body: body}, 200, &got)
	if n := r.counts(t)["entities"]; n != 120 || got.Succeeded != 120 || got.Results[3].DID == "" {
		t.Errorf("%d twins, %d succeeded, want 120", n, got.Succeeded)
	}
}

func creates(n int) []bulk.Operation {
	ops := make([]bulk.Operation, n)
	for i := range ops {
		props := fmt.Sprintf(`{"serial":"S%d","model":"M","fuel_type":"pellets","efficiency":40}`, i)
		ops[i] = bulk.Operation{Op: "create", Entity: &entity.Draft{Type: "Device", Protocol: cooker, Properties: entity.Object{Value: []byte(props)}}}
	}
	return ops
}

// BenchmarkBatch measures the transaction of 1000 creates.
func BenchmarkBatch(b *testing.B) {
	r := newRig(b, dbtest.SQLite(b))
	ctx := eventtest.Context(b.Context(), "w")
	for b.Loop() {
		if _, err := r.Batch(ctx, bulk.Batch{Atomic: true, Operations: creates(1000)}); err != nil {
			b.Fatal(err)
		}
	}
}

// heavyTwin makes a twin of a size and returns its DID.
func (r *rig) heavyTwin(t testing.TB, size int) string {
	t.Helper()
	var e entity.Entity
	r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{
		"type": "Household", "protocol": household, "properties": map[string]any{"baseline": map[string]any{"text": strings.Repeat("x", size)}},
	}}, 201, &e)
	return e.DID
}

func patches(id string, n int) []map[string]any {
	ops := make([]map[string]any, n)
	for i := range ops {
		ops[i] = map[string]any{"op": "patch", "did": id, "ifMatch": "*", "patch": map[string]any{"metadata": map[string]any{"n": i}}}
	}
	return ops
}

// Many small changes of a large twin are much to write: alone they let others
// in between, together they are refused before they begin.
func TestHeavyBatch(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		id := r.heavyTwin(t, 250<<10)
		w := r.do(t, call{method: "POST", path: "/v1/entities:batch", body: map[string]any{"atomic": true, "operations": patches(id, 1000)}}, 422, nil)
		if !strings.Contains(w.Body.String(), `"BATCH_TOO_HEAVY"`) {
			t.Errorf("answer = %s", w.Body)
		}
		for _, op := range []map[string]any{{"op": "transition", "to": "suspended"}, {"op": "relate", "relationship": map[string]any{"role": "peer", "target": "did:x:1"}}} {
			op["did"] = id
			ops := make([]map[string]any, 100)
			for i := range ops {
				ops[i] = op
			}
			r.do(t, call{method: "POST", path: "/v1/entities:batch", body: map[string]any{"atomic": true, "operations": ops}}, 422, nil)
		}
		if n := r.counts(t)["entity_history"]; n != 0 {
			t.Errorf("%d earlier revisions, want none", n)
		}
		begun := time.Now()
		most := bulk.MaxAtomic / (4*250<<10 + 4000)
		if got := r.batch(t, map[string]any{"atomic": true, "operations": patches(id, most)}, 200); got.Succeeded != most {
			t.Errorf("%d succeeded, want %d", got.Succeeded, most)
		}
		t.Logf("%d changes of 250 KiB took %v", most, time.Since(begun))
	})
}

// While a heavy batch runs, others write.
func TestOthersWriteDuringHeavyBatch(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		id := r.heavyTwin(t, 250<<10)
		done := make(chan api.BatchResults)
		go func() {
			var out api.BatchResults
			r.do(t, call{method: "POST", path: "/v1/entities:batch", body: map[string]any{"operations": patches(id, 40)}}, 200, &out)
			done <- out
		}()
		n, worst := 0, time.Duration(0)
		for {
			select {
			case got := <-done:
				t.Logf("%d others wrote meanwhile, the slowest in %v", n, worst)
				if got.Succeeded != 40 || n < 5 {
					t.Errorf("%d succeeded, and %d others wrote meanwhile", got.Succeeded, n)
				}
				return
			default:
				begun := time.Now()
				r.heavyTwin(t, 1)
				n, worst = n+1, max(worst, time.Since(begun))
			}
		}
	})
}
