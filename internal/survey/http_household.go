package survey

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxUploadBody is the most bytes of 1,000 households with all they may have.
const maxUploadBody = 4 << 20

// householdRoutes adds the list of households.
func (h handlers) householdRoutes(a *web.API, read, write web.Scope) {
	web.Post(a, "/v1/surveys/{surveyId}/households", h.serveAddHouseholds, web.Doc{
		Summary: "Put households on the list", Scope: write, Tag: tag, Once: true, MaxBody: maxUploadBody,
		Description: "At most 1,000 in one call, all or none. A household that is already on the list is changed where the item differs. The stratum and group of a household are fixed once the survey runs. A household that was erased in the workspace is neither added nor changed.",
		Example: map[string]any{"items": []any{
			map[string]any{"householdId": "did:ixo:household/123", "stratum": "rural", "group": "adopter", "area": "Kibera", "location": map[string]any{"lat": -1.2921, "lon": 36.8219}},
		}},
		Codes: []string{"SURVEY_NOT_FOUND", "HOUSEHOLDS_INVALID", "HOUSEHOLD_ERASED", "SURVEY_LOCKED"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/households", h.serveHouseholds, web.Doc{
		Summary: "List the households", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "INVALID_PARAMETER", "SCOPE_MISSING", "SURVEY_NOT_ACTIVE"},
		Description: "Sorted by DID; for a collector, the households that name it come first. A page may be short: follow hasMore. Keys with responses:pii, surveys:assign or surveys:write see all households with locations and attributes; keys with responses:write see the households assigned to them, " +
			"or all if the survey assigns none. Other keys see households and collectors by the names of pseudonymised exports, and send such a name as collector. " +
			"contact=true with collector=me adds name, telephone number and place to the households assigned to you, for keys with responses:write or responses:check, while the survey is active or paused. Each such call returns at most 50 households and is recorded in the audit log (survey.contacts_disclosed).",
	})
	web.Get(a, "/v1/surveys/{surveyId}/households/{did}", h.serveHousehold, web.Doc{
		Summary: "Read a household of the list", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "HOUSEHOLD_NOT_LISTED", "INVALID_PARAMETER"},
		Description: "For keys with responses:pii, surveys:assign or surveys:write; with responses:write as in the list.",
	})
	web.Patch(a, "/v1/surveys/{surveyId}/households/{did}", h.servePatchHousehold, web.Doc{
		Summary: "Change a household of the list", Scope: write + " or surveys:assign", Tag: tag, Description: "With surveys:assign alone, its collector only.", Patch: true, JSONPatch: true, Example: map[string]any{"collector": "did:ixo:agent/123"},
		Codes: []string{"SURVEY_NOT_FOUND", "HOUSEHOLD_NOT_LISTED", "HOUSEHOLDS_INVALID", "HOUSEHOLD_ERASED", "SURVEY_LOCKED", "STALE_REVISION", "PRECONDITION_REQUIRED", "SCOPE_MISSING"},
	})
	web.Delete(a, "/v1/surveys/{surveyId}/households/{did}", h.serveRemoveHousehold, web.Doc{
		Summary: "Take a household off the list", Scope: write, Tag: tag, Description: "While the survey is a draft or ready.",
		Codes: []string{"SURVEY_NOT_FOUND", "HOUSEHOLD_NOT_LISTED", "SURVEY_LOCKED", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Post(a, "/v1/surveys/{surveyId}/households/{did}/outcome", h.serveOutcome, web.Doc{
		Summary: "Report the outcome of an attempt to interview a household", Scope: "responses:write", Tag: tag, Once: true, Example: OutcomeChange{Outcome: OutcomeContacted},
		Description: "In the open round of an active survey. A household that has answered stays completed, partial, refused or ineligible, as its response says, and contacted while that is rejected. " +
			"Only the collector who is to visit a household reports on it; others need the scope surveys:write.",
		Codes: []string{"SURVEY_NOT_FOUND", "HOUSEHOLD_NOT_LISTED", "HOUSEHOLD_ERASED", "SURVEY_NOT_ACTIVE", "COLLECTOR_UNKNOWN", "NOT_COLLECTOR"},
	})
}

// repoint changes the pointers of a fault back to the request: it replaces one
// prefix with another.
func repoint(err error, from, to string) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	one := *f
	one.Fields = slices.Clone(f.Fields)
	for i := range one.Fields {
		if rest, ok := strings.CutPrefix(one.Fields[i].Pointer, from); ok {
			one.Fields[i].Pointer = to + rest
		}
	}
	return &one
}

func (h handlers) serveAddHouseholds(ctx context.Context, in *struct {
	one
	Body Upload
},
) (web.Reply[*Merged], error) {
	return h.service.AddHouseholds(ctx, in.ID, in.Body)
}

func (h handlers) serveHouseholds(ctx context.Context, in *struct {
	one
	Stratum   string `query:"stratum" doc:"Only households of this stratum."`
	Group     string `query:"group" doc:"Only households of this group." enum:"adopter,comparison"`
	Area      string `query:"area" doc:"Only households of this area."`
	Outcome   string `query:"outcome" doc:"Only households with this outcome in the open round." enum:"listed,contacted,completed,partial,refused,ineligible,unreachable"`
	Collector string `query:"collector" minLength:"1" doc:"Only households this collector is to visit; me is you."`
	Contact   bool   `query:"contact" doc:"With name, telephone number and place, of the households assigned to you."`
	web.Paging
},
) (web.Reply[web.Page[*Household]], error) {
	var at spot
	f := HouseholdFilter{Stratum: in.Stratum, Group: in.Group, Area: in.Area, Outcome: in.Outcome, Collector: in.Collector, Contact: in.Contact}
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Household, *spot, error) {
		return h.service.Households(ctx, in.ID, f, at, limit)
	})
}

// home names a household of a survey.
type home struct {
	one
	DID string `path:"did" doc:"DID of the household."`
}

func (h handlers) serveHousehold(ctx context.Context, in *home) (web.Reply[*Household], error) {
	return h.service.GetHousehold(ctx, in.ID, in.DID)
}

func (h handlers) servePatchHousehold(ctx context.Context, in *struct {
	home
	IfMatch string `header:"If-Match" doc:"ETag of the household as you have read it."`
	Body    HouseholdDraft
	RawBody []byte
},
) (web.Reply[*Household], error) {
	return h.service.PatchHousehold(ctx, in.ID, in.DID, in.IfMatch, in.RawBody)
}

func (h handlers) serveRemoveHousehold(ctx context.Context, in *struct {
	home
	IfMatch string `header:"If-Match" doc:"ETag of the household as you have read it."`
},
) (*Household, error) {
	return h.service.RemoveHousehold(ctx, in.ID, in.DID, in.IfMatch)
}

func (h handlers) serveOutcome(ctx context.Context, in *struct {
	home
	Body OutcomeChange
},
) (web.Reply[*Household], error) {
	return h.service.SetOutcome(ctx, in.ID, in.DID, in.Body)
}
