package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// ListedHousehold is a household on the list of a campaign.
type ListedHousehold struct {
	HouseholdID  string             `json:"householdId"`
	Stratum      string             `json:"stratum,omitzero"`
	Group        string             `json:"group,omitzero"` // adopter or comparison
	Area         string             `json:"area,omitzero"`
	Collector    string             `json:"collector,omitzero"` // named for this very household
	Cluster      string             `json:"cluster,omitzero"`
	Source       string             `json:"source"`               // listed, drawn or drawnElsewhere
	Replaces     string             `json:"replaces,omitzero"`    // the drawn household it stands in for
	Replacement  *SurveyReplacement `json:"replacement,omitzero"` // the household that stands in for it
	AssignedTo   string             `json:"assignedTo,omitzero"`  // by name or by the assignments
	Outcome      string             `json:"outcome"`              // listed, contacted, completed, partial, refused, ineligible or unreachable
	OutcomeRound int                `json:"outcomeRound,omitzero"`
	OutcomeAt    time.Time          `json:"outcomeAt,omitzero"`
	Location     *Place             `json:"location,omitzero"`
	Attributes   Object             `json:"attributes,omitzero"`
	Contact      *Contact           `json:"contact,omitzero"` // of a household assigned to you, when asked for
	Masked       bool               `json:"masked,omitzero"`  // location and attributes are hidden, and pseudonyms replace DIDs
	Erased       bool               `json:"erased,omitzero"`  // its data was erased, and nothing new is accepted
	Revision     int64              `json:"revision"`
	Updated      time.Time          `json:"updated"`

	Warnings []string `json:"warnings,omitempty"` // after a change: what may be a mistake
}

// SurveyReplacement is the household that replaces a drawn one.
type SurveyReplacement = api.SurveyReplacement

// Contact is how a household is reached.
type Contact struct {
	Name  string `json:"name,omitzero"`
	Phone string `json:"phone,omitzero"`
	Place Object `json:"place,omitzero"` // the location of its twin
}

// Types of package api.
type (
	Place            = api.Place
	MergedHouseholds = api.MergedHouseholds
)

// HouseholdItem is a household for the list. Members that are nil stay
// unchanged.
type HouseholdItem struct {
	HouseholdID string  `json:"householdId"`
	Stratum     *string `json:"stratum,omitzero"`
	Group       *string `json:"group,omitzero"`
	Area        *string `json:"area,omitzero"`
	Collector   *string `json:"collector,omitzero"`
	Location    *Place  `json:"location,omitzero"`
	Attributes  Object  `json:"attributes,omitzero"`
}

func listedPath(id, did string) string {
	return surveyPath(id) + "/households/" + url.PathEscape(did)
}

// AddHouseholds puts at most 1,000 households on the list, all or none. Codes:
// HOUSEHOLDS_INVALID, SURVEY_LOCKED.
func (s Surveys) AddHouseholds(ctx context.Context, id string, items []HouseholdItem, opts ...Option) (*MergedHouseholds, error) {
	body := struct {
		Items []HouseholdItem `json:"items"`
	}{items}
	return do[MergedHouseholds](ctx, s.c, post(surveyPath(id)+"/households", body), opts)
}

// ListedQuery selects households of a list. All conditions must hold.
type ListedQuery struct {
	Stratum   string
	Group     string
	Area      string
	Outcome   string
	Collector string // who is to visit it; "me" is the caller
	Contact   bool   // with how to reach it, for Collector "me"
	Limit     int    // items in one page, 1 to 1000; 50 by default
	Cursor    string // NextCursor of the page before
}

func (q ListedQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "stratum", q.Stratum)
	set(v, "group", q.Group)
	set(v, "area", q.Area)
	set(v, "outcome", q.Outcome)
	set(v, "collector", q.Collector)
	if q.Contact {
		v.Set("contact", "true")
	}
	return v
}

// HouseholdPage reads one page of the list.
func (s Surveys) HouseholdPage(ctx context.Context, id string, q ListedQuery, opts ...Option) (*Page[ListedHousehold], error) {
	return page[ListedHousehold](ctx, s.c, surveyPath(id)+"/households", q.values(), opts)
}

// Households walks over the list, page by page. An error ends it.
func (s Surveys) Households(ctx context.Context, id string, q ListedQuery, opts ...Option) iter.Seq2[ListedHousehold, error] {
	return pages[ListedHousehold](ctx, s.c, surveyPath(id)+"/households", q.values(), opts)
}

// Household reads a household of the list. Code: HOUSEHOLD_NOT_LISTED.
func (s Surveys) Household(ctx context.Context, id, did string, opts ...Option) (*ListedHousehold, error) {
	return do[ListedHousehold](ctx, s.c, get(listedPath(id, did), nil), opts)
}

// PatchHousehold changes a household of the list; it needs the option
// IfRevision or IfMatch. Codes: HOUSEHOLD_NOT_LISTED, HOUSEHOLDS_INVALID,
// SURVEY_LOCKED, STALE_REVISION.
func (s Surveys) PatchHousehold(ctx context.Context, id, did string, patch Object, opts ...Option) (*ListedHousehold, error) {
	return do[ListedHousehold](ctx, s.c, merge(listedPath(id, did), patch), opts)
}

// JSONPatchHousehold is PatchHousehold with the operations of a JSON patch.
func (s Surveys) JSONPatchHousehold(ctx context.Context, id, did string, steps []PatchStep, opts ...Option) (*ListedHousehold, error) {
	return do[ListedHousehold](ctx, s.c, operate(listedPath(id, did), steps), opts)
}

// RemoveHousehold takes a household off the list; it needs the option
// IfRevision or IfMatch.
func (s Surveys) RemoveHousehold(ctx context.Context, id, did string, opts ...Option) (*ListedHousehold, error) {
	return do[ListedHousehold](ctx, s.c, remove(listedPath(id, did)), opts)
}

// SetOutcome says how an attempt to interview a household went: contacted,
// refused, ineligible, unreachable or listed. Codes: HOUSEHOLD_NOT_LISTED,
// SURVEY_NOT_ACTIVE.
func (s Surveys) SetOutcome(ctx context.Context, id, did, outcome string, opts ...Option) (*ListedHousehold, error) {
	body := struct {
		Outcome string `json:"outcome"`
	}{outcome}
	return do[ListedHousehold](ctx, s.c, post(listedPath(id, did)+"/outcome", body), opts)
}
