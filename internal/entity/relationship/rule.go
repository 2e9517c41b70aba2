package relationship

import (
	"errors"
	"slices"
)

// The words of the domain model, as they are stored.
const (
	Implements = "implements"
	Generates  = "generates"
	Produces   = "produces"
	Verifies   = "verifies"
	Becomes    = "becomes"
	Contains   = "contains"
)

// The same relationships seen from their target.
const (
	ImplementedBy = "implementedBy"
	GeneratedBy   = "generatedBy"
	ProducedBy    = "producedBy"
	VerifiedBy    = "verifiedBy"
	BecameFrom    = "becameFrom"
	PartOf        = "partOf"
)

// Project is the role by which a twin names the project it belongs to. It is
// not a word of the domain model: protocols declare it.
const Project = "project"

// anything means every domain type in a pair, except group: a membership group
// belongs to an organisation, and a twin that contains the organisation has the
// group too.
const anything = "*"

// pair is a source and a target that may be joined.
type pair struct{ From, To string }

// Rule is one kind of relationship of the domain model.
type Rule struct {
	Role    string // as stored, from source to target
	Inverse string // as the target shows it
	Pairs   []pair // domain types it may join
}

// Rules is the matrix of the domain model.
func Rules() []Rule {
	return []Rule{
		{Implements, ImplementedBy, []pair{{"organisation", "project"}}},
		{Generates, GeneratedBy, []pair{{"project", "asset"}, {"project", "device"}}},
		{Produces, ProducedBy, []pair{{"asset", "claim"}, {"device", "claim"}, {"household", "claim"}}},
		{Verifies, VerifiedBy, []pair{{"oracle", "claim"}}},
		{Becomes, BecameFrom, []pair{{"claim", "credential"}}},
		{Contains, PartOf, []pair{
			{"organisation", "group"}, {"group", "group"}, {"system", anything}, {"project", "household"}, {"project", "device"},
		}},
	}
}

// Of finds the rule for a word. inverse reports that the word is the one the
// target uses.
func Of(word string) (rule Rule, inverse, ok bool) {
	for _, r := range Rules() {
		if word == r.Role || word == r.Inverse {
			return r, word == r.Inverse, true
		}
	}
	return Rule{}, false, false
}

// Inverse is the word that the target of a relationship uses for it, "" when
// the relationship is not one of the domain model.
func Inverse(role string) string {
	if r, inverse, ok := Of(role); ok && !inverse {
		return r.Inverse
	}
	return ""
}

// Joins reports whether the rule allows a relationship between these domain types.
func (r Rule) Joins(from, to string) bool {
	return slices.ContainsFunc(r.Pairs, func(p pair) bool {
		return p.From == from && (p.To == to || p.To == anything && to != "group")
	})
}

// Partners lists the domain types at the other end of a relationship of the
// rule, as seen from a twin, for messages. anything is one of them.
func (r Rule) Partners(domain string, inverse bool) []string {
	var out []string
	for _, p := range r.Pairs {
		switch {
		case !inverse && p.From == domain:
			out = append(out, p.To)
		case inverse && (p.To == domain || p.To == anything && domain != "group"):
			out = append(out, p.From)
		}
	}
	return out
}

// Outside reports whether a twin may name a parent that is not held here, by a
// word of the domain model: the organisation of a project, the project of an
// asset, a device or a household. The type of such a parent cannot be checked.
func Outside(word, domain string) bool {
	switch word {
	case ImplementedBy:
		return domain == "project"
	case GeneratedBy:
		return domain == "asset" || domain == "device"
	case PartOf:
		return domain == "household" || domain == "device"
	}
	return false
}

// Orders reports whether the relationships of a role must not form a cycle.
func Orders(role string) bool { return role == Contains || role == Generates }

// Required names the word by which a twin of a domain type must be joined to a
// parent before it can be active, "" when it needs none.
func Required(domain string) string {
	switch domain {
	case "project":
		return ImplementedBy
	case "asset":
		return GeneratedBy
	case "group":
		return PartOf
	case "claim":
		return ProducedBy
	case "credential":
		return BecameFrom
	}
	return ""
}

// Leans returns which relationships join a twin of a domain type to the parent
// it needs while it is active: those of a role that lead to it, and those it
// has made itself by one of words. role is "" when no parent has to stay
// active: a group remains with its organisation, and gives nothing once the
// organisation has ended; a claim remains with what produced it.
func Leans(domain string) (role string, words []string) {
	switch domain {
	case "project":
		return Implements, []string{ImplementedBy}
	case "asset":
		return Generates, []string{GeneratedBy, Project}
	case "credential":
		return Becomes, nil
	}
	return "", nil
}

// Binds reports whether a relationship of a role says something about its
// source that only the source's controllers may say: what it implements,
// produces, verifies or has become. A project accepts what others register in
// it.
func Binds(role string) bool {
	return role == Implements || role == Produces || role == Verifies || role == Becomes
}

// maxWord limits the length of a user's own role.
const maxWord = 64

// IsWord reports whether s can be a role: a lower-case letter, then letters and
// digits, at most 64 in all.
func IsWord(s string) bool {
	if s == "" || len(s) > maxWord {
		return false
	}
	for i := range len(s) {
		c := s[i]
		lower := c >= 'a' && c <= 'z'
		if !lower && (i == 0 || (c < 'A' || c > 'Z') && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// ErrTooFar means that a walk has reached its limit of twins.
var ErrTooFar = errors.New("too many twins to look at")

// Reaches reports whether goal is start or one of its ancestors, where above
// lists the direct parents of a twin. It looks at no more than limit twins and
// returns ErrTooFar when they do not answer the question. It copes with
// existing cycles.
func Reaches(start, goal int64, limit int, above func(nid int64) ([]int64, error)) (bool, error) {
	seen := map[int64]bool{start: true}
	next := []int64{start}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		if at == goal {
			return true, nil
		}
		if len(seen) > limit {
			return false, ErrTooFar
		}
		parents, err := above(at)
		if err != nil {
			return false, err
		}
		for _, p := range parents {
			if !seen[p] {
				seen[p] = true
				next = append(next, p)
			}
		}
	}
	return false, nil
}
