package relationship_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

func TestCounter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	count := relationship.Counter(&twin.Entity{Relationships: []twin.Relationship{
		{Role: "operator"},
		{Role: "operator", Since: now.Add(-time.Hour), Until: now.Add(time.Hour)},
		{Role: "operator", Until: now.Add(-time.Hour)},
		{Role: "operator", Since: now.Add(time.Hour)},
		{Role: "verifier", Until: now},
	}}, now)
	for word, want := range map[string]int{"operator": 2, "verifier": 0, "other": 0} {
		if got := count(word); got != want {
			t.Errorf("%d of %s, want %d", got, word, want)
		}
	}
}

// What is not held here is taken for the project it is named as.
func TestShow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ word, other, project string }{
		{"project", "project", "did:x:1"},
		{"partOf", "", "did:x:1"},
		{"generatedBy", "project", "did:x:1"},
		{"partOf", "system", ""},
		{"implementedBy", "", ""},
	} {
		var e twin.Entity
		edges := []twin.Relationship{{Role: tt.word, Target: "did:x:1"}}
		if got := relationship.Places("", tt.other, edges); got != (tt.project != "") {
			t.Errorf("Places(%s, %s) = %v", tt.word, tt.other, got)
		}
		for range twin.MaxRelations + 1 {
			relationship.Show(&e, edges[0], tt.other)
		}
		if e.Project != tt.project || len(e.Relationships) != twin.MaxRelations || !e.MoreRelationships {
			t.Errorf("%s of %q: project %q, %d shown, more %v", tt.word, tt.other, e.Project, len(e.Relationships), e.MoreRelationships)
		}
	}
}
