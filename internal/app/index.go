package app

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// index is GET /v1: what the API of this server offers. Everybody may know it,
// as they may read the document of the API.
type index struct{ answer api.Index }

// routes adds the index. It is filled later, because it describes all tables.
func (x *index) routes(a *web.API) {
	web.Get(a, "/v1", x.serve, web.Doc{
		Summary: "List what this API offers", Scope: web.Public, Tag: "system", Light: true,
		Description: "The groups of routes with their links, the limits a client must stay within, and what is deprecated. It needs no key and reveals nothing that needs one.",
	})
}

func (x *index) serve(context.Context, *nothing) (api.Index, error) { return x.answer, nil }

// describe fills the index with what the tables of a listener say.
func (x *index) describe(cfg *config.Config, name, version string, apis ...*web.API) {
	var all []web.Route
	for _, table := range apis {
		all = append(all, table.Routes()...)
	}
	x.answer = api.Index{
		Name: name, Version: version, APIVersion: "v1", Capabilities: capabilities(all), Limits: limitsOf(cfg, all), Deprecations: []api.Deprecation{},
		Links: map[string]string{
			"self": "/v1", "openapi": "/v1/openapi.json", "docs": "/docs", "errors": "/docs/errors", "health": "/health", "ready": "/readyz",
			"events": "/v1/events", "changes": "/v1/changes",
		},
	}
}

// capabilities are the groups of routes, in the order of the tables.
func capabilities(all []web.Route) []api.Capability {
	out := []api.Capability{}
	for _, r := range all {
		at := slices.IndexFunc(out, func(c api.Capability) bool { return c.Name == r.Doc.Tag })
		if at < 0 {
			at = len(out)
			out = append(out, api.Capability{Name: r.Doc.Tag, Description: tagText(r.Doc.Tag)})
		}
		if c := &out[at]; c.Href == "" || clearer(c.Name, r.Path, c.Href) {
			c.Href, c.Templated = openRoute(r.Path), strings.Contains(r.Path, "{")
		}
	}
	return slices.DeleteFunc(out, func(c api.Capability) bool { return c.Name == "system" })
}

// clearer reports whether a path is a better entry point of a group than the one
// before it in the table: the one with the group's name, or one without
// parameters.
func clearer(name, path, than string) bool {
	rank := func(p string) int {
		switch {
		case p == "/v1/"+name:
			return 0
		case !strings.Contains(p, "{"):
			return 1
		}
		return 2
	}
	return rank(path) < rank(than)
}

// openRoute is a path of the table as a URI template.
func openRoute(path string) string { return strings.NewReplacer("{$}", "", "...}", "}").Replace(path) }

func limitsOf(cfg *config.Config, all []web.Route) api.Limits {
	l := api.Limits{
		PageItems: api.Span{Default: web.DefaultPage, Max: web.MaxPage}, ChangesItems: api.Span{Default: event.DefaultLimit, Max: event.MaxLimit},
		BodyBytes: cfg.Limits.MaxBodyBytes, Bodies: []api.BodyLimit{}, BatchItems: map[string]int{},
		Filter:        api.FilterLimits{Characters: rql.MaxLength, Comparisons: rql.MaxTerms, Depth: rql.MaxDepth},
		EventsScanned: event.ScanBudget, StreamsPerKey: event.KeyStreams, Webhooks: webhook.Max,
		RequestsPerMinute: cfg.Limits.RateLimit, IdempotencyHours: cfg.Events.IdempotencyRetention.Hours(),
	}
	for _, r := range all {
		bytes, items := r.Doc.MaxBody, 0
		switch r.Method + " " + r.Path { // limits that handlers enforce themselves
		case "POST /v1/imports":
			bytes, items = bulk.MaxImport, sheet.MaxRows
		case "POST /v1/surveys/{surveyId}/imports":
			bytes, items = intake.MaxArchive, sheet.MaxRows
		case "PUT /v1/attachments/{sha256}":
			bytes = media.MaxBytes
		case "POST /v1/templates:import":
			bytes = template.MaxFile
		case "POST /v1/devices/{did}/readings":
			items = device.MaxReadings
		case "POST /v1/devices/{did}/readings/file":
			bytes, items = device.MaxFile, device.MaxFileRows
		case "POST /v1/entities:batch":
			items = bulk.MaxOperations
		case "POST /v1/responses:batch":
			items = intake.MaxItems
		case "POST /v1/surveys/{surveyId}/households":
			items = survey.MaxUpload
		}
		if bytes > 0 {
			l.Bodies = append(l.Bodies, api.BodyLimit{Method: r.Method, Path: openRoute(r.Path), Bytes: bytes})
		}
		if items > 0 {
			l.BatchItems[openRoute(r.Path)] = items
		}
	}
	return l
}
