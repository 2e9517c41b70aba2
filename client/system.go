package client

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Root is what a server says about itself.
type Root struct {
	Status      string    `json:"status"`
	Message     string    `json:"message"`
	Environment string    `json:"environment"`
	Timestamp   time.Time `json:"timestamp"`
	Version     string    `json:"version"`
}

// Nouns of package api.
type (
	Index        = api.Index
	Capability   = api.Capability
	Deprecation  = api.Deprecation
	Limits       = api.Limits
	Span         = api.Span
	BodyLimit    = api.BodyLimit
	FilterLimits = api.FilterLimits
)

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

// Ready reports whether the server can take work.
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
