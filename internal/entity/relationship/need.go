package relationship

import (
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// Missing lists the roles that must be filled before a twin can be active:
// those required by its protocol and the one required by the domain model.
// count returns how many current, confirmed relationships the twin shows under
// a word.
func Missing(p *protocol.Protocol, domain string, count func(word string) int) []string {
	out := []string{}
	for _, r := range p.Roles() {
		if r.RequiredFor == "active" && count(r.Name) < r.Min {
			out = append(out, r.Name)
		}
	}
	word := Required(domain)
	filled := word == "" || count(word) > 0 || word == GeneratedBy && count(Project) > 0
	if !filled && !slices.Contains(out, word) {
		out = append(out, word)
	}
	return out
}

// Counter counts the relationships in a record that hold at a moment.
// Unconfirmed ones do not count.
func Counter(e *twin.Entity, now time.Time) func(word string) int {
	return func(word string) int {
		n := 0
		for _, r := range e.Relationships {
			if r.Role == word && !r.Unconfirmed && Holds(r.Since, r.Until, now) {
				n++
			}
		}
		return n
	}
}

// Timed reports whether the passage of time alone can change what a record
// lacks: it shows a relationship that begins or ends at a moment, or does not
// show all.
func Timed(e *twin.Entity) bool {
	return e.MoreRelationships || slices.ContainsFunc(e.Relationships, func(r twin.Relationship) bool {
		return !r.Since.IsZero() || !r.Until.IsZero()
	})
}

// Words lists the words under which relationships are required, and how many of
// each are enough.
func Words(p *protocol.Protocol, domain string) map[string]int {
	out := map[string]int{}
	for _, r := range p.Roles() {
		if r.RequiredFor == "active" && r.Min > 0 {
			out[r.Name] = r.Min
		}
	}
	word := Required(domain)
	if word != "" {
		out[word] = max(out[word], 1)
	}
	if word == GeneratedBy {
		out[Project] = max(out[Project], 1)
	}
	return out
}

// Belongs reports whether a relationship makes the twin that shows it under a
// word part of the project at the other end. other is the domain type of that
// end, "" when it is not held here.
func Belongs(word, other string) bool {
	switch word {
	case Project, GeneratedBy, PartOf:
		return other == "project" || other == ""
	}
	return false
}

// Places reports whether relationships make a twin part of a project it is not
// part of. other is the domain type of their other end.
func Places(project, other string, edges []twin.Relationship) bool {
	return project == "" && slices.ContainsFunc(edges, func(r twin.Relationship) bool { return Belongs(r.Role, other) })
}

// Show adds a relationship to a record. other is the domain type of its other
// end, "" when that is not held here.
func Show(e *twin.Entity, r twin.Relationship, other string) {
	if len(e.Relationships) < twin.MaxRelations {
		e.Relationships = append(e.Relationships, r)
	} else {
		e.MoreRelationships = true
	}
	if e.Project == "" && Belongs(r.Role, other) {
		e.Project = r.Target
	}
}
