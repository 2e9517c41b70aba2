package api

// Index is what the API of a server offers.
type Index struct {
	Name         string            `json:"name" example:"Hearth"`
	Version      string            `json:"version" doc:"Of the program." example:"0.1.0"`
	APIVersion   string            `json:"apiVersion" doc:"Begins the paths. A change that breaks clients comes with another one." example:"v1"`
	Links        map[string]string `json:"links" doc:"Where to go on: the document of the API, its reference, errors, health, events."`
	Capabilities []Capability      `json:"capabilities" doc:"The groups of routes there are here."`
	Limits       Limits            `json:"limits"`
	Deprecations []Deprecation     `json:"deprecations" doc:"What will go away, and when. Nothing at present."`
}

// Capability is a group of routes.
type Capability struct {
	Name        string `json:"name" example:"entities"`
	Description string `json:"description"`
	Href        string `json:"href" doc:"Where it begins." example:"/v1/entities"`
	Templated   bool   `json:"templated,omitzero" doc:"href has names in braces to fill in."`
}

// Deprecation is a route that will be removed.
type Deprecation struct {
	Path   string `json:"path"`
	Since  string `json:"since"`
	Sunset string `json:"sunset"`
	Link   string `json:"link"`
}

// Limits are what a client must stay within.
type Limits struct {
	PageItems         Span           `json:"pageItems" doc:"limit of lists."`
	ChangesItems      Span           `json:"changesItems" doc:"limit of /v1/changes."`
	BodyBytes         int64          `json:"bodyBytes" doc:"Of the body of a request under /v1, unless bodies has its route." example:"1048576"`
	Bodies            []BodyLimit    `json:"bodies" doc:"Routes that take other bodies."`
	BatchItems        map[string]int `json:"batchItems" doc:"Items of one request, or rows of its file, by route."`
	Filter            FilterLimits   `json:"filter"`
	EventsScanned     int            `json:"eventsScanned" doc:"Events that a filtered page of /v1/changes looks at." example:"2000"`
	StreamsPerKey     int            `json:"streamsPerKey" doc:"Open streams of events." example:"20"`
	Webhooks          int            `json:"webhooks" doc:"Of a workspace." example:"50"`
	RequestsPerMinute int            `json:"requestsPerMinute,omitzero" doc:"Of a key; absent when nobody counts." example:"600"`
	IdempotencyHours  float64        `json:"idempotencyHours" doc:"How long the answer to an Idempotency-Key is kept." example:"24"`
}

// Span is a default and a maximum.
type Span struct {
	Default int `json:"default"`
	Max     int `json:"max"`
}

// BodyLimit is the maximum size of a route's body.
type BodyLimit struct {
	Method string `json:"method" example:"POST"`
	Path   string `json:"path" example:"/v1/entities:batch"`
	Bytes  int64  `json:"bytes" example:"8388608"`
}

// FilterLimits bound a filter.
type FilterLimits struct {
	Characters  int `json:"characters" example:"2000"`
	Comparisons int `json:"comparisons" example:"50"`
	Depth       int `json:"depth" example:"16"`
}
