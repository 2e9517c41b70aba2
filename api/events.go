package api

// EventType describes a kind of event.
type EventType struct {
	Type        string `json:"type" example:"entity.created"`
	Description string `json:"description" doc:"What has happened." example:"A twin was made."`
}
