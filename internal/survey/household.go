package survey

import (
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Outcomes of the attempts to interview a household.
const (
	OutcomeListed      = "listed"
	OutcomeContacted   = "contacted"
	OutcomeCompleted   = "completed"
	OutcomePartial     = "partial"
	OutcomeRefused     = "refused"
	OutcomeUnreachable = "unreachable"
	OutcomeIneligible  = "ineligible"
)

// Sources of a household on a list: how it came there.
const (
	SourceListed    = "listed"         // listed by hand
	SourceDrawn     = "drawn"          // a draw that was made here
	SourceElsewhere = "drawnElsewhere" // a draw that sampling.drawnElsewhere records
)

// sources are stored as their place in the list.
var sources = []string{SourceListed, SourceDrawn, SourceElsewhere}

func sourceCode(name string) int { return code(sources, name) }
func sourceName(c int) string    { return sources[min(max(c, 0), len(sources)-1)] }

// groups and outcomes are stored as their index in these lists. An outcome that
// follows from a response has an index of its own where a person can note the
// same.
var (
	groups   = []string{"", GroupAdopter, GroupComparison}
	outcomes = []string{
		OutcomeListed, OutcomeContacted, OutcomeCompleted, OutcomeRefused, OutcomeUnreachable, OutcomeRefused, OutcomeIneligible, OutcomePartial,
		OutcomeIneligible, OutcomeContacted,
	}
)

// Standing is the state of a household in a round according to its responses:
// that of the newest one that counts.
type Standing int

// The standings. They are stored as outcomes; the counters count the response,
// not the household, unless no response is left.
const (
	Unchanged Standing = 0
	Withdrawn Standing = 1 // its responses were redacted or invalidated: contacted
	Answered  Standing = 2
	Declined  Standing = 5 // no consent: refused
	Partly    Standing = 7
	Unfit     Standing = 8 // ineligible
	Disproved Standing = 9 // its response was rejected, and still counts as one: contacted
)

// responded reports whether an outcome comes with a response. Nobody notes
// another while it stands.
func responded(outcome int) bool {
	switch Standing(outcome) {
	case Answered, Declined, Partly, Unfit, Disproved:
		return true
	}
	return false
}

func groupCode(name string) int   { return code(groups, name) }
func outcomeCode(name string) int { return code(outcomes, name) }
func groupName(c int) string      { return groups[min(max(c, 0), len(groups)-1)] }
func outcomeName(c int) string    { return outcomes[min(max(c, 0), len(outcomes)-1)] }

func code(list []string, name string) int { return max(slices.Index(list, name), 0) }

// Household is a household of a campaign.
type Household struct {
	HouseholdID  string       `json:"householdId"`
	Stratum      string       `json:"stratum,omitzero"`
	Group        string       `json:"group,omitzero" enum:"adopter,comparison"`
	Area         string       `json:"area,omitzero"`
	Cluster      string       `json:"cluster,omitzero" doc:"First-stage unit of a cluster or multistage sample, such as a village."`
	Source       string       `json:"source" enum:"listed,drawn,drawnElsewhere" doc:"How it came onto the list: added by hand, drawn here from a frozen frame, or drawn elsewhere as sampling.drawnElsewhere says."`
	Replaces     string       `json:"replaces,omitzero" doc:"The drawn household that it replaces."`
	Replacement  *Replacement `json:"replacement,omitzero" doc:"The household that replaces it, and why."`
	Collector    string       `json:"collector,omitzero" doc:"The collector named for this household."`
	AssignedTo   string       `json:"assignedTo,omitzero" doc:"The collector who is to visit it, named for it or found by the assignments."`
	Outcome      string       `json:"outcome" enum:"listed,contacted,completed,partial,refused,ineligible,unreachable" doc:"The outcome in the open round. It follows the response of the household: a rejected, redacted or invalidated response leaves it contacted."`
	OutcomeRound int          `json:"outcomeRound,omitzero"`
	OutcomeAt    time.Time    `json:"outcomeAt,omitzero"`
	Location     *Location    `json:"location,omitzero"`
	Attributes   form.Object  `json:"attributes,omitzero"`
	Contact      *Contact     `json:"contact,omitzero" doc:"With contact=true, for a household that is assigned to the caller and whose twin this server has."`
	Masked       bool         `json:"masked,omitzero" doc:"Location and attributes are not shown, either because the key has none of responses:write, responses:pii, surveys:assign and surveys:write (names then replace DIDs), or because somebody else is to visit the household. A key with responses:check sees the households it is to visit."`
	Erased       bool         `json:"erased,omitzero" doc:"The household was erased: its location, attributes and collector are gone, and nothing new is stored about it."`
	Revision     int64        `json:"revision"`
	Updated      time.Time    `json:"updated"`
	Warnings     []string     `json:"warnings,omitzero" doc:"After a change: possible mistakes, such as a collector whom the survey does not name."`

	// outcome as stored: that of outcomeRound, which may be an earlier round
	outcome, round int
}

// Replacement is the household that replaces a drawn one.
type Replacement = api.SurveyReplacement

// in is the outcome in a round.
func (h *Household) in(round int) string { return outcomeName(h.code(round)) }

// code is the stored outcome in a round.
func (h *Household) code(round int) int {
	if h.round != round {
		return 0
	}
	return h.outcome
}

// merge is the household with what a draft says; true when that changes it.
func (h Household) merge(d *HouseholdDraft) (Household, bool) {
	old := h
	if d.Whole {
		h.Stratum, h.Group, h.Area, h.Cluster, h.Collector, h.Location, h.Attributes = "", "", "", "", "", nil, form.Object{}
	}
	set := func(to *string, v *string) {
		if v != nil {
			*to = *v
		}
	}
	set(&h.Stratum, d.Stratum)
	set(&h.Group, d.Group)
	set(&h.Area, d.Area)
	set(&h.Cluster, d.Cluster)
	set(&h.Collector, d.Collector)
	if d.Location != nil {
		h.Location = d.Location
	}
	if d.Attributes != nil {
		h.Attributes = *d.Attributes
	}
	same := old.Stratum == h.Stratum && old.Group == h.Group && old.Area == h.Area && old.Cluster == h.Cluster && old.Collector == h.Collector &&
		(old.Location == h.Location || old.Location != nil && h.Location != nil && *old.Location == *h.Location) &&
		string(old.Attributes.Value) == string(h.Attributes.Value)
	return h, !same
}

// sampled reports whether the household stands where a draw has put it: its
// stratum and cluster are part of the proof.
func (h *Household) sampled() bool { return h.Source == SourceDrawn }

// moved reports whether the household counts in another place than before.
func (h *Household) moved(old *Household) bool {
	return h.Stratum != old.Stratum || h.Group != old.Group
}
