package taken_test

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/taken"
)

func TestNames(t *testing.T) {
	t.Parallel()
	n := taken.New("owner")
	one := &entity.Draft{DID: "did:x:1", ExternalIDs: map[string]string{"erp": "E1"}}
	two, nameless := &entity.Draft{ExternalIDs: map[string]string{"erp": "E2"}}, &entity.Draft{}
	if n.Has("did:x:1") || n.Twin(one) != nil {
		t.Error("an empty set has names")
	}
	n.Take(one)
	if !n.Has("did:x:1") || !n.Has(taken.External("erp", "E1")) || n.Has(taken.External("erp", "E2")) || n.Twin(one) != nil {
		t.Error("one row has taken its names and nothing else is known")
	}
	const record = `{"did":"did:x:1","owner":"did:x:o","properties":{"a":1},"status":"active"}`
	for _, d := range []*entity.Draft{one, two, nameless} {
		if err := n.Note(d, []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	n.Take(one) // once more
	got := n.Twin(&entity.Draft{ExternalIDs: map[string]string{"erp": "E1"}})
	if got == nil || got.Status != entity.StatusActive || string(got.Body) != `{"owner":"did:x:o","status":"active"}` {
		t.Errorf("twin = %+v, want its owner and status", got)
	}
	if got != n.Twin(two) || n.Twin(nameless) != nil {
		t.Error("twins that are alike are remembered once, those without a name not at all")
	}
	edges := []entity.RelationDraft{{Role: "peer", Target: "did:x:2"}, {Role: "project", Target: "did:x:p"}}
	blind := taken.New("project")
	if err := blind.Expect(one, edges, []byte(record)); err != nil {
		t.Fatal(err)
	}
	if got := blind.Twin(one); got == nil || got.Status != "" || string(got.Body) != `{"project":"did:x:p"}` {
		t.Errorf("twin = %+v, want its project and no status", got)
	}
	if n.Note(one, []byte(`{`)) == nil {
		t.Error("what is no record is noted")
	}
}

// TestPast: what rows did to a twin is known by each of their names.
func TestPast(t *testing.T) {
	t.Parallel()
	n := taken.New()
	both := &entity.Draft{DID: "did:x:1", ExternalIDs: map[string]string{"erp": "E1"}}
	named := &entity.Draft{ExternalIDs: map[string]string{"erp": "E1"}}
	check := func(what string, d *entity.Draft, want taken.Past) {
		t.Helper()
		if got := n.Past(d); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	check("nothing", both, taken.Past{})
	n.Take(both)
	check("taken, and nothing known", both, taken.Past{Taken: true, Changed: true})
	n.Tell(both, false, []byte("a"))
	check("unchanged", both, taken.Past{Taken: true, Said: n.Hash([]byte("a"))})
	n.Tell(both, true, []byte("a"))
	check("by another name", named, taken.Past{Taken: true, Changed: true, Said: n.Hash([]byte("a"))})
	n.Tell(named, true, []byte("b"))
	check("by two names", both, taken.Past{Taken: true, Changed: true})
	check("by the last name", named, taken.Past{Taken: true, Changed: true, Said: n.Hash([]byte("b"))})
	n.Free(both)
	if check("freed", both, taken.Past{}); n.Has("did:x:1") {
		t.Error("a name that was given back is taken")
	}
}

// Of more different twins than are told apart nothing is known but their names.
func TestOutlinesAreBounded(t *testing.T) {
	t.Parallel()
	n := taken.New("project")
	draft := func(i int) *entity.Draft { return &entity.Draft{DID: fmt.Sprint("did:ixo:device/", i)} }
	const most = 10_000
	for i := range most + 1 {
		if err := n.Note(draft(i), fmt.Appendf(nil, `{"status":"active","project":"did:ixo:project/%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n.Twin(draft(0)) == nil || n.Twin(draft(most-1)) == nil {
		t.Error("the first ones are forgotten")
	}
	if n.Twin(draft(most)) != nil || !n.Has("did:ixo:device/10000") {
		t.Error("the last one is remembered, or its name is not taken")
	}
}
