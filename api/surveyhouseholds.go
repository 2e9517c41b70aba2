package api

// Place is where a household is.
type Place struct {
	Lat float64 `json:"lat" required:"true" example:"-1.2921"`
	Lon float64 `json:"lon" required:"true" example:"36.8219"`
}

// MergedHouseholds is the result of an upload.
type MergedHouseholds struct {
	Added     int   `json:"added"`
	Changed   int   `json:"changed"`
	Unchanged int   `json:"unchanged"`
	Listed    int64 `json:"listed" doc:"Households on the list now."`

	Warnings []string `json:"warnings,omitzero" doc:"What may be a mistake, such as a collector whom the survey does not name."`
}
