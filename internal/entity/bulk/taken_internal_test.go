package bulk

import (
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity"
)

func TestTakenNames(t *testing.T) {
	t.Parallel()
	n := newTakenNames("owner")
	one := &entity.Draft{DID: "did:x:1", ExternalIDs: map[string]string{"erp": "E1"}}
	two, nameless := &entity.Draft{ExternalIDs: map[string]string{"erp": "E2"}}, &entity.Draft{}
	if n.has("did:x:1") || n.twin(one) != nil {
		t.Error("an empty set has names")
	}
	n.take(one)
	if !n.has("did:x:1") || !n.has(externalName("erp", "E1")) || n.has(externalName("erp", "E2")) || n.twin(one) != nil {
		t.Error("one row has taken its names and nothing else is known")
	}
	const record = `{"did":"did:x:1","owner":"did:x:o","properties":{"a":1},"status":"active"}`
	for _, d := range []*entity.Draft{one, two, nameless} {
		if err := n.note(d, []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	n.take(one) // once more
	got := n.twin(&entity.Draft{ExternalIDs: map[string]string{"erp": "E1"}})
	if got == nil || got.Status != entity.StatusActive || string(got.Body) != `{"owner":"did:x:o","status":"active"}` {
		t.Errorf("twin = %+v, want its owner and status", got)
	}
	if got != n.twin(two) || n.twin(nameless) != nil {
		t.Error("twins that are alike are remembered once, those without a name not at all")
	}
	edges := []entity.RelationDraft{{Role: "peer", Target: "did:x:2"}, {Role: "project", Target: "did:x:p"}}
	blind := newTakenNames("project")
	if err := blind.expect(one, edges, []byte(record)); err != nil {
		t.Fatal(err)
	}
	if got := blind.twin(one); got == nil || got.Status != "" || string(got.Body) != `{"project":"did:x:p"}` {
		t.Errorf("twin = %+v, want its project and no status", got)
	}
	if n.note(one, []byte(`{`)) == nil {
		t.Error("what is no record is noted")
	}
}

// TestTwinPast: what rows did to a twin is known by each of their names.
func TestTwinPast(t *testing.T) {
	t.Parallel()
	n := newTakenNames()
	both := &entity.Draft{DID: "did:x:1", ExternalIDs: map[string]string{"erp": "E1"}}
	named := &entity.Draft{ExternalIDs: map[string]string{"erp": "E1"}}
	check := func(what string, d *entity.Draft, want twinPast) {
		t.Helper()
		if got := n.past(d); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	check("nothing", both, twinPast{})
	n.take(both)
	check("taken, and nothing known", both, twinPast{Taken: true, Changed: true})
	n.tell(both, false, []byte("a"))
	check("unchanged", both, twinPast{Taken: true, Said: n.hashOf([]byte("a"))})
	n.tell(both, true, []byte("a"))
	check("by another name", named, twinPast{Taken: true, Changed: true, Said: n.hashOf([]byte("a"))})
	n.tell(named, true, []byte("b"))
	check("by two names", both, twinPast{Taken: true, Changed: true})
	check("by the last name", named, twinPast{Taken: true, Changed: true, Said: n.hashOf([]byte("b"))})
	n.free(both)
	if check("freed", both, twinPast{}); n.has("did:x:1") {
		t.Error("a name that was given back is taken")
	}
}

// Of more different twins than are told apart nothing is known but their names.
func TestOutlinesAreBounded(t *testing.T) {
	t.Parallel()
	n := newTakenNames("project")
	draft := func(i int) *entity.Draft { return &entity.Draft{DID: fmt.Sprint("did:ixo:device/", i)} }
	const most = 10_000
	for i := range most + 1 {
		if err := n.note(draft(i), fmt.Appendf(nil, `{"status":"active","project":"did:ixo:project/%d"}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n.twin(draft(0)) == nil || n.twin(draft(most-1)) == nil {
		t.Error("the first ones are forgotten")
	}
	if n.twin(draft(most)) != nil || !n.has("did:ixo:device/10000") {
		t.Error("the last one is remembered, or its name is not taken")
	}
}
