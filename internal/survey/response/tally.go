package response

import (
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey"
)

// Class is how a household counts in the figures of its survey.
type Class string

// The classes. Households that count and ineligible ones have answered: these
// keep their weight, but are outside the estimated population. All others are
// silent, and the households of their cell represent them, except those that are
// not part of the sample.
const (
	Counted    Class = "counted"
	Ineligible Class = "ineligible"

	ClassRefused     Class = "refused"
	ClassUnreachable Class = "unreachable"
	ClassPartial     Class = "partial"
	ClassRejected    Class = "rejected"
	ClassInvalidated Class = "invalidated"
	ClassRedacted    Class = "redacted"
	ClassErased      Class = "erased"
	ClassUnverified  Class = "unverified" // where only what is verified counts
	ClassSilent      Class = "silent"     // nobody has answered yet

	OffList  Class = "offList"  // of a survey with a list, and not on it
	Replaced Class = "replaced" // another response stands in its place
	Surplus  Class = "surplus"  // it stands in for a household that answered after all
)

// Unit is what is known about a household in a round, from one of its responses
// or, without one, from the list.
type Unit struct {
	Responded bool
	Status    Status
	VStatus   string
	Unfit     bool  // the eligibility rule of the survey does not hold
	Typed     int64 // whether its answers stand as rows
	Unlisted  bool  // the survey has a list without it
	Outcome   string
}

// Class returns how the unit counts: the one rule for all figures. A response
// counts when it is complete and not rejected, invalidated, replaced or
// redacted, and its household is not erased.
func (u Unit) Class(verifiedOnly bool) Class {
	switch {
	case u.Responded && u.VStatus == Superseded:
		return Replaced
	case u.Unlisted:
		return OffList
	case !u.Responded:
		return noted(u.Outcome)
	case u.Status == Redacted:
		return ClassRedacted
	case u.VStatus == Invalidated:
		return ClassInvalidated
	case u.VStatus == Rejected:
		return ClassRejected
	case u.Typed == Rowless:
		return ClassErased
	case u.Status == Refused:
		return ClassRefused
	case u.Unfit:
		return Ineligible
	case u.Status != Complete:
		return ClassPartial
	case verifiedOnly && u.VStatus != Verified:
		return ClassUnverified
	}
	return Counted
}

// noted is the class of a household of the list without a response.
func noted(outcome string) Class {
	switch outcome {
	case survey.OutcomeRefused:
		return ClassRefused
	case survey.OutcomeUnreachable:
		return ClassUnreachable
	case survey.OutcomeIneligible:
		return Ineligible
	}
	return ClassSilent
}

// Sampled reports whether a household of the class is part of the sample.
func (c Class) Sampled() bool { return c != OffList && c != Replaced && c != Surplus }

// Answers reports whether the class says something about the household: that it
// counts, or that it is ineligible.
func (c Class) Answers() bool { return c == Counted || c == Ineligible }

// Stronger reports whether a response of class c says more about its household
// in a round than an earlier one of class d.
func (c Class) Stronger(d Class) bool { return c.rank() >= d.rank() }

func (c Class) rank() int {
	switch c {
	case Counted, Ineligible, ClassRefused, ClassPartial, ClassUnverified:
		return 2
	case Replaced:
		return 0
	}
	return 1
}

// InSurplus finds the replacements that are not needed. A drawn household and its
// successive replacements fill one place of the sample: the first of them whose
// answer counts fills it, and those after it are not part of the sample, whatever
// they say. So a household that was given up and answers late counts itself. Those
// before it keep their class: not reached, or ineligible.
func InSurplus(homes []survey.Sampled, class func(household string) Class) map[string]bool {
	next, listed := map[string]string{}, map[string]bool{}
	for _, h := range homes {
		listed[h.HouseholdID] = true
		if h.Replaces != "" {
			next[h.Replaces] = h.HouseholdID
		}
	}
	out := map[string]bool{}
	for _, h := range homes {
		if listed[h.Replaces] || next[h.HouseholdID] == "" {
			continue // not the first of several
		}
		filled := false
		for id := h.HouseholdID; id != "" && !out[id]; id = next[id] {
			if filled {
				out[id] = true
			}
			filled = filled || class(id) == Counted
		}
	}
	return out
}

// Tally counts the households in each class.
type Tally map[Class]int

// silences are the silent classes, with their descriptions.
var silences = []struct {
	class Class
	words string
}{
	{ClassRefused, "refused"},
	{ClassUnreachable, "were not reached"},
	{ClassPartial, "answered in part"},
	{ClassRejected, "were rejected"},
	{ClassInvalidated, "were invalidated"},
	{ClassRedacted, "were redacted"},
	{ClassErased, "were erased"},
	{ClassUnverified, "are not verified"},
	{ClassSilent, "have not answered yet"},
}

// Sampled counts the households that are part of the sample.
func (t Tally) Sampled() (n int) {
	for c, k := range t {
		if c.Sampled() {
			n += k
		}
	}
	return n
}

// Words says which responses count, and how many do not and why: it accompanies
// every figure.
func (t Tally) Words(verifiedOnly bool) string {
	rule := "complete and not rejected, invalidated, replaced, redacted or erased"
	if verifiedOnly {
		rule = "verified, " + rule
	}
	all := t.Sampled()
	out := []string{fmt.Sprintf("%d of %d households count: %s.", t[Counted], all, rule)}
	if n := t[Ineligible]; n > 0 {
		out = append(out, fmt.Sprintf("Not eligible, and excluded from the figure with their weight: %d.", n))
	}
	var why []string
	for _, s := range silences {
		if n := t[s.class]; n > 0 {
			why = append(why, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	if len(why) > 0 {
		out = append(out, fmt.Sprintf("No answer that counts: %d (%s).", all-t[Counted]-t[Ineligible], strings.Join(why, ", ")))
	}
	if n := t[Surplus]; n > 0 {
		out = append(out, fmt.Sprintf("Replacements for households that answered after all, excluded from all figures: %d.", n))
	}
	if n := t[OffList]; n > 0 {
		out = append(out, fmt.Sprintf("Responses of households that are not on the list, counted separately: %d.", n))
	}
	return strings.Join(out, " ")
}
