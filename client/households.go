package client

import (
	"context"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const householdsPath = "/v1/households"

// Households are the households of a cooking programme. They are twins:
// Entities changes them, links them and reads their history.
type Households struct{ c *Client }

func householdPath(did string) string { return householdsPath + "/" + url.PathEscape(did) }

// Household is a household.
type Household struct {
	DID         string            `json:"did"`
	Type        string            `json:"type"`
	Location    Object            `json:"location"`
	Devices     []DeviceBrief     `json:"devices"` // the newest 100; none in lists
	MoreDevices bool              `json:"moreDevices,omitzero"`
	Baseline    Object            `json:"baseline"`
	Name        string            `json:"name,omitzero"`
	Phone       string            `json:"phone,omitzero"`
	Size        *int64            `json:"size,omitzero"`
	Consent     *bool             `json:"consent,omitzero"`
	Project     string            `json:"project,omitzero"`
	ExternalIDs map[string]string `json:"externalIds,omitzero"`
	Status      string            `json:"status"`
	Revision    int64             `json:"revision"`
	Created     time.Time         `json:"created"`
	Updated     time.Time         `json:"updated"`
	Links       HouseholdLinks    `json:"links"`
	Withheld    []string          `json:"withheld,omitzero"` // personal properties it has that the key may not see
}

// DeviceBrief is a short description of a device.
type DeviceBrief struct {
	DID    string `json:"did"`
	Type   string `json:"type"`
	Status string `json:"status"`
}

// Types of package api.
type (
	HouseholdLinks = api.HouseholdLinks
	Stacking       = api.Stacking
	StoveUse       = api.StoveUse
	Overlap        = api.Overlap
	StackingShare  = api.StackingShare
)

// HouseholdDraft asks for a household. No member is required.
type HouseholdDraft struct {
	DID         string            `json:"did,omitzero"`
	Type        string            `json:"type,omitzero"`     // Household when absent
	Location    Object            `json:"location,omitzero"` // district, density …
	Baseline    Object            `json:"baseline,omitzero"` // fuelType, monthlyConsumption …
	Name        string            `json:"name,omitzero"`
	Phone       string            `json:"phone,omitzero"`
	Size        *int64            `json:"size,omitzero"`
	Consent     *bool             `json:"consent,omitzero"`
	Project     string            `json:"project,omitzero"`
	ExternalIDs map[string]string `json:"externalIds,omitzero"`
	Controllers []string          `json:"controllers,omitzero"`
	Metadata    Object            `json:"metadata,omitzero"`
}

// Create registers a household. Codes: ENTITY_INVALID, EXTERNAL_ID_EXISTS.
func (h Households) Create(ctx context.Context, d HouseholdDraft, opts ...Option) (*Household, error) {
	return do[Household](ctx, h.c, post(householdsPath, d), opts)
}

// Get reads a household with its devices. Code: ENTITY_NOT_FOUND.
func (h Households) Get(ctx context.Context, did string, opts ...Option) (*Household, error) {
	return do[Household](ctx, h.c, get(householdPath(did), nil), opts)
}

// Page reads one page of the households, newest first.
func (h Households) Page(ctx context.Context, q PageQuery, opts ...Option) (*Page[Household], error) {
	return page[Household](ctx, h.c, householdsPath, q.values(), opts)
}

// List walks over the households, newest first. An error ends it.
func (h Households) List(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Household, error] {
	return pages[Household](ctx, h.c, householdsPath, q.values(), opts)
}

// StackingQuery says what counts as cooking. The zero value means the last 30
// days and the settings of each device.
type StackingQuery struct {
	From           time.Time
	To             time.Time // not included; at most 92 days after From
	MinSeconds     *int64    // shortest cooking event
	MinTemperature *float64  // °C
	StoveTypes     []string  // all by default
}

// Stacking finds stoves of a household that were used at once.
func (h Households) Stacking(ctx context.Context, did string, q StackingQuery, opts ...Option) (*Stacking, error) {
	v := url.Values{}
	setTime(v, "from", q.From)
	setTime(v, "to", q.To)
	setOptional(v, "minDuration", q.MinSeconds)
	setOptional(v, "minTemperature", q.MinTemperature)
	set(v, "stoveTypes", strings.Join(q.StoveTypes, ","))
	return do[Stacking](ctx, h.c, get(householdPath(did)+"/stacking", v), opts)
}
