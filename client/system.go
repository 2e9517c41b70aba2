package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
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

// Types of package api.
type (
	Index        = api.Index
	Capability   = api.Capability
	Deprecation  = api.Deprecation
	Limits       = api.Limits
	Span         = api.Span
	BodyLimit    = api.BodyLimit
	FilterLimits = api.FilterLimits

	HealthSummary = api.HealthSummary
	Mishap        = api.Mishap
	Setting       = api.Setting
	Backup        = api.Backup
	Node          = api.Node
)

// Operations is for the server's operators: keys of its own workspace with
// operations:read, and operations:write for changes.
type Operations struct{ c *Client }

// Health reads the state of the server.
func (o Operations) Health(ctx context.Context, opts ...Option) (*HealthSummary, error) {
	return do[HealthSummary](ctx, o.c, get("/v1/health/summary", nil), opts)
}

// Errors walks over the last requests that failed, newest first. An error ends it.
func (o Operations) Errors(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Mishap, error] {
	return pages[Mishap](ctx, o.c, "/v1/health/errors", q.values(), opts)
}

// Settings walks over the settings of the server, secrets hidden. An error ends it.
func (o Operations) Settings(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Setting, error] {
	return pages[Setting](ctx, o.c, "/v1/settings", q.values(), opts)
}

// Nodes walks over the servers that work on the store, oldest first. An error ends it.
func (o Operations) Nodes(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Node, error] {
	return pages[Node](ctx, o.c, "/v1/nodes", q.values(), opts)
}

const backupsPath = "/v1/backups"

// Backups walks over the backups, newest first. An error ends it.
func (o Operations) Backups(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Backup, error] {
	return pages[Backup](ctx, o.c, backupsPath, q.values(), opts)
}

// MakeBackup makes the server copy its store and returns the job.
func (o Operations) MakeBackup(ctx context.Context, opts ...Option) (*Job, error) {
	return do[Job](ctx, o.c, post(backupsPath, nil), opts)
}

// VerifyBackup makes the server check a backup and returns the job, which fails
// when the backup is damaged. Code: BACKUP_NOT_FOUND.
func (o Operations) VerifyBackup(ctx context.Context, id string, opts ...Option) (*Job, error) {
	return do[Job](ctx, o.c, post(backupsPath+"/"+url.PathEscape(id)+"/verify", nil), opts)
}

// Health is the state of a server. Status is ok or degraded.
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

// Root asks the server for its version and status.
func (c *Client) Root(ctx context.Context, opts ...Option) (*Root, error) {
	return do[Root](ctx, c, get("/", nil), opts)
}

// Index asks what the API of the server offers, and within which limits.
func (c *Client) Index(ctx context.Context, opts ...Option) (*Index, error) {
	return do[Index](ctx, c, get("/v1", nil), opts)
}

// Health asks the server for its state. It is not retried: the first answer
// counts.
func (c *Client) Health(ctx context.Context, opts ...Option) (*Health, error) {
	return do[Health](ctx, c, probe("/health"), opts)
}

// Ready asks whether the server can take work. "not ready" is an answer, not an
// error. It is not retried.
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
