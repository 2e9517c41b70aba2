package response

import (
	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey"
)

func (p *Prepared) householdNames() map[string]any {
	return HouseholdNames(p.draft.HouseholdID, p.home)
}

// HouseholdNames are the variables of a household in expressions; home is nil if
// it is not listed.
func HouseholdNames(did string, home *survey.Household) map[string]any {
	names := map[string]any{"did": did, "group": "", "stratum": "", "attributes": map[string]any{}}
	if home == nil {
		return names
	}
	names["group"], names["stratum"] = home.Group, home.Stratum
	var attributes map[string]any
	if !home.Attributes.IsZero() && json.Unmarshal(home.Attributes.Value, &attributes) == nil {
		names["attributes"] = attributes
	}
	return names
}

func (p *Prepared) responseNames() map[string]any {
	names := map[string]any{
		"id": p.head.ResponseID, "mode": p.head.Mode, "language": p.head.Language, "collector": p.head.Collector, "round": int64(p.head.Round), "submittedAt": p.head.Timestamp,
	}
	if !p.head.StartedAt.IsZero() {
		names["startedAt"] = p.head.StartedAt
	}
	return names
}
