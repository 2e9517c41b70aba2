package client

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Root is what a server says about itself.
type Root struct {
	Status      string    `json:"status"`
	Message     string    `json:"message"`
	Environment string    `json:"environment"`
	Timestamp   time.Time `json:"timestamp"`
	Version     string    `json:"version"`
}

// Index is what the API of a server offers.
type Index struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`    // of the program
	APIVersion   string            `json:"apiVersion"` // v1
	Links        map[string]string `json:"links"`      // paths of openapi, docs, health, events and more
	Capabilities []Capability      `json:"capabilities"`
	Limits       Limits            `json:"limits"`
	Deprecations []Deprecation     `json:"deprecations"`
}

// Capability is a group of routes.
type Capability struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Href        string `json:"href"`
	Templated   bool   `json:"templated"` // Href has names in braces
}

// Deprecation is a route that goes away.
type Deprecation struct {
	Path   string `json:"path"`
	Since  string `json:"since"`
	Sunset string `json:"sunset"`
	Link   string `json:"link"`
}

// Limits are what a client must stay within.
type Limits struct {
	PageItems         Span           `json:"pageItems"`    // of lists
	ChangesItems      Span           `json:"changesItems"` // of Events.Changes
	BodyBytes         int64          `json:"bodyBytes"`    // unless Bodies has the route
	Bodies            []BodyLimit    `json:"bodies"`
	BatchItems        map[string]int `json:"batchItems"` // by path
	Filter            FilterLimits   `json:"filter"`
	EventsScanned     int            `json:"eventsScanned"` // by a filtered page
	StreamsPerKey     int            `json:"streamsPerKey"`
	Webhooks          int            `json:"webhooks"`          // of a workspace
	RequestsPerMinute int            `json:"requestsPerMinute"` // of a key; 0 when nobody counts
	IdempotencyHours  float64        `json:"idempotencyHours"`
}

// Span is how many by default and at most.
type Span struct {
	Default int `json:"default"`
	Max     int `json:"max"`
}

// BodyLimit is how large the body of a route may be.
type BodyLimit struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
}

// FilterLimits bound a filter.
type FilterLimits struct {
	Characters  int `json:"characters"`
	Comparisons int `json:"comparisons"`
	Depth       int `json:"depth"`
}

// Health is how a server is. Status is ok or degraded.
type Health struct {
	Status      string    `json:"status"`
	Environment string    `json:"environment"`
	Timestamp   time.Time `json:"timestamp"`
	Uptime      float64   `json:"uptime"`   // seconds
	Database    string    `json:"database"` // connected or disconnected
}

// Readiness is whether a server can take work, and if not, why.
type Readiness struct {
	Status     string            `json:"status"`     // ready or not ready
	Durability string            `json:"durability"` // what a success of a write means
	Checks     map[string]string `json:"checks"`     // ok, or what is wrong, by part
}

// Ready tells whether the server can take work.
func (r Readiness) Ready() bool { return r.Status == "ready" }

// Root asks the server what it is.
func (c *Client) Root(ctx context.Context, opts ...Option) (*Root, error) {
	return do[Root](ctx, c, get("/", nil), opts)
}

// Index asks what the API of the server offers, and within which limits.
func (c *Client) Index(ctx context.Context, opts ...Option) (*Index, error) {
	return do[Index](ctx, c, get("/v1", nil), opts)
}

// Health asks the server how it is. It is not repeated: the first answer is
// the one that counts.
func (c *Client) Health(ctx context.Context, opts ...Option) (*Health, error) {
	return do[Health](ctx, c, probe("/health"), opts)
}

// Ready asks whether the server can take work. "not ready" is an answer and no
// error. It is not repeated.
func (c *Client) Ready(ctx context.Context, opts ...Option) (*Readiness, error) {
	return do[Readiness](ctx, c, probe("/readyz"), opts)
}

func probe(path string) call {
	return call{method: http.MethodGet, path: path, once: true, accept: http.StatusServiceUnavailable}
}

// OpenAPI reads the description of the API, as JSON.
func (c *Client) OpenAPI(ctx context.Context, opts ...Option) (jsontext.Value, error) {
	raw, err := do[jsontext.Value](ctx, c, get("/v1/openapi.json", nil), opts)
	if err != nil {
		return nil, err
	}
	return *raw, nil
}
