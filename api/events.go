package api

// EventType is a kind of event there is.
type EventType struct {
	Type        string `json:"type" example:"entity.created"`
	Description string `json:"description" doc:"What has happened." example:"A twin was made."`
}
