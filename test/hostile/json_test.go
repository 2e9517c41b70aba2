package hostile_test

import (
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestJSON sends every document as the body of every operation that has one.
// What is not JSON, or open to readings, is a 400 with a code; good JSON is
// judged by what it says.
func TestJSON(t *testing.T) {
	t.Parallel()
	g := aim(t)
	ops, ids := withBody(g.operations(t)), g.objects(t)
	docs := documents()
	counts := map[kind]int{}
	for _, d := range docs {
		counts[d.kind]++
	}
	if counts[no] < 150 || counts[open] < 30 || counts[yes] < 30 {
		t.Fatalf("documents: %d to refuse, %d open, %d good; want many of each", counts[no], counts[open], counts[yes])
	}
	for _, o := range ops {
		volley(docs, func(d document) {
			a, err := g.fire(g.post(t, o, ids, []byte(d.text)), o.types)
			if err != nil {
				t.Errorf("%s with %s: %v", o, d.name, err)
				return
			}
			if d.kind == yes {
				return
			}
			if o.optional() && len(d.text) == 0 {
				return
			}
			if a.status != http.StatusBadRequest || problemCode(a) == "" {
				t.Errorf("%s with %c %s: %d %.200s; want 400 with a code", o, d.kind, d.name, a.status, a.body)
			}
		})
	}
	t.Logf("%d documents (%d to refuse, %d open, %d good) at %d operations", len(docs), counts[no], counts[open], counts[yes], len(ops))
}

// optional operations take no body as well.
func (o *operation) optional() bool { return len(o.body()) == 0 }

func problemCode(a *answer) string {
	var p struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}
