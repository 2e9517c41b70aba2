package hostile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestJSON sends documents as the bodies of all operations that have one: every
// document to a few, and each of the others its share. They all read with the
// same code. What is not JSON, or open to readings, is a 400 with a code; good JSON is
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
	for i, o := range ops {
		volley(share(docs, i, len(ops)), func(d document) {
			a, err := g.fire(g.post(t, o, ids, []byte(d.text)), o.types)
			if err != nil {
				t.Errorf("%s with %s: %v", o, d.name, err)
				return
			}
			if d.kind == yes {
				return
			}
			if !o.RequestBody.Required && len(d.text) == 0 {
				return
			}
			if !refused(o.Path, a) {
				t.Errorf("%s with %c %s: %d %.200s; want a refusal in the words of its area", o, d.kind, d.name, a.status, a.body)
			}
		})
	}
	t.Logf("%d documents (%d to refuse, %d open, %d good) at %d operations", len(docs), counts[no], counts[open], counts[yes], len(ops))
}

// share is what operation i of n gets: all documents for every eighth one, for
// the others every eighth document.
func share(docs []document, i, n int) []document {
	if i%8 == 0 || n < 8 {
		return docs
	}
	var out []document
	for j := i % 8; j < len(docs); j += 8 {
		out = append(out, docs[j])
	}
	return out
}

// refused reports whether an answer says no to a body in the dialect of its path:
// a closing screen for gateways, the oracle's JSON with the status inside, a
// problem with a code everywhere else. No gateway has the name that the test
// makes up.
func refused(path string, a *answer) bool {
	switch {
	case path == "/api/ussd":
		return a.status == http.StatusOK && strings.HasPrefix(string(a.body), "END ")
	case strings.HasPrefix(path, "/api/ussd/"):
		return a.status == http.StatusNotFound && strings.HasPrefix(string(a.body), "END ")
	case !strings.HasPrefix(path, "/v1/") && path != "/mcp": // MCP stands beside /v1
		// A small limit comes first, and nothing at all is no mistake yet: then it
		// is asked who calls.
		known := a.status == http.StatusBadRequest || a.status == http.StatusRequestEntityTooLarge || a.status == http.StatusUnauthorized
		return known && strings.Contains(string(a.body), fmt.Sprintf(`"statusCode":%d`, a.status))
	}
	return a.status == http.StatusBadRequest && problemCode(a) != "" || a.status == http.StatusRequestEntityTooLarge && problemCode(a) == "BODY_TOO_LARGE"
}

func problemCode(a *answer) string {
	var p struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}
