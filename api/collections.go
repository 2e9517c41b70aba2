package api

import "time"

// CollectionDraft describes a collection to make.
type CollectionDraft struct {
	Name        string    `json:"name" maxLength:"200" example:"Fuel saved in 2026"`
	Description string    `json:"description,omitzero" maxLength:"1000" doc:"One line. Name nobody: the text is kept."`
	ProjectID   string    `json:"projectId,omitzero" doc:"DID of the project whose claims it accepts; claims of every project when absent."`
	Protocol    string    `json:"protocol" doc:"DID of the protocol of what produces the claims: its claim types decide about them." example:"did:ixo:protocol/clean-cooking"`
	Version     string    `json:"version,omitzero" doc:"Version of the protocol that decides, whatever version a subject has; the newest published one when absent. It never changes." example:"1.1.0"`
	Quota       int64     `json:"quota,omitzero" doc:"How many claims it accepts; 0 for no limit. A claim that is rejected, withdrawn or invalidated frees its place." example:"500"`
	StartsAt    time.Time `json:"startsAt,omitzero" doc:"Claims are accepted from this moment on; at once when absent."`
	EndsAt      time.Time `json:"endsAt,omitzero" doc:"Claims are accepted before this moment; without end when absent."`
	State       string    `json:"state,omitzero" enum:"open,paused" doc:"open when absent."`
}

// CollectionChange documents what a merge patch of a collection may change.
type CollectionChange struct {
	Name        *string    `json:"name,omitzero" maxLength:"200"`
	Description *string    `json:"description,omitzero" maxLength:"1000"`
	Quota       *int64     `json:"quota,omitzero" doc:"Not below the number of claims that occupy a place."`
	StartsAt    *time.Time `json:"startsAt,omitzero"`
	EndsAt      *time.Time `json:"endsAt,omitzero"`
}

// Collection accepts claims of a project while it is open, in its window and up to
// its quota, and pins the version of the protocol that decides about them.
type Collection struct {
	ID          string           `json:"id" example:"col_7310428377145344"`
	Name        string           `json:"name"`
	Description string           `json:"description,omitzero"`
	ProjectID   string           `json:"projectId,omitzero"`
	Protocol    string           `json:"protocol" example:"did:ixo:protocol/clean-cooking"`
	Version     string           `json:"version" example:"1.1.0"`
	State       string           `json:"state" enum:"open,paused,closed"`
	Quota       int64            `json:"quota" doc:"0 for no limit."`
	StartsAt    time.Time        `json:"startsAt,omitzero"`
	EndsAt      time.Time        `json:"endsAt,omitzero"`
	Counts      CollectionCounts `json:"counts"`
	Revision    int64            `json:"revision" doc:"Changes when the collection is edited, not with its counts."`
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
	CreatedBy   string           `json:"createdBy" doc:"DID of its maker."`
	Links       CollectionLinks  `json:"links"`
}

// CollectionCounts are the claims of a collection by their status, at this moment.
type CollectionCounts struct {
	Submitted   int64 `json:"submitted" doc:"All claims, whatever their status."`
	Taken       int64 `json:"taken" doc:"Claims that count towards the quota: pending, flagged, disputed and approved ones."`
	Pending     int64 `json:"pending"`
	Flagged     int64 `json:"flagged"`
	Disputed    int64 `json:"disputed"`
	Approved    int64 `json:"approved"`
	Rejected    int64 `json:"rejected"`
	Invalidated int64 `json:"invalidated"`
	Withdrawn   int64 `json:"withdrawn"`
}

// CollectionLinks are addresses of a collection.
type CollectionLinks struct {
	Self   string `json:"self"`
	Claims string `json:"claims"`
}
