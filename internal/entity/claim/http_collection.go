package claim

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const collecting = "Claims are submitted to a collection with the member collection. It takes them while it is open, in its window and up to its quota, and the version of the protocol it pins decides about them, " +
	"whatever version a subject has. A claim that is rejected, withdrawn or invalidated frees its place. Claims that it has accepted are evaluated whatever its state."

// routes adds collections to the API.
func (s *Collections) routes(a *web.API) {
	const (
		read  = web.Scope("collections:read")
		write = web.Scope("collections:write")
		one   = "/v1/collections/{collectionId}"
	)
	web.Post(a, "/v1/collections", s.serveCreate, web.Doc{
		Summary: "Make a collection of claims", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Description: collecting,
		Example: api.CollectionDraft{Name: "Fuel saved in 2026", Protocol: "did:ixo:protocol/clean-cooking", Version: "1.1.0", Quota: 500},
		Codes:   []string{badCollection, "PROTOCOL_NOT_FOUND", "PROTOCOL_NOT_PUBLISHED", "PROTOCOL_VERSION_RETIRED", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/collections", s.serveList, web.Doc{
		Summary: "List collections, newest first", Scope: read, Tag: tag, Codes: []string{"INVALID_PARAMETER"}, Description: "A page may be short: follow hasMore.",
	})
	web.Get(a, one, s.serveGet, web.Doc{
		Summary: "Read a collection with its counts", Scope: read, Tag: tag, Codes: []string{"COLLECTION_NOT_FOUND"},
		Description: "The counts are those of its claims at this moment.",
	})
	web.Patch(a, one, s.servePatch, web.Doc{
		Summary: "Change a collection", Scope: write, Tag: tag, Patch: true, Example: map[string]any{"quota": 600},
		Description: "Project, protocol and version cannot change. null removes a bound of the window.",
		Codes:       []string{"COLLECTION_NOT_FOUND", badCollection, "COLLECTION_CLOSED", "COLLECTION_QUOTA_BELOW_COUNT", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	for _, step := range []struct{ verb, state, summary string }{
		{"open", open, "Reopen a paused collection"},
		{"pause", paused, "Pause a collection"},
		{"close", closed, "Close a collection"},
	} {
		web.Post(a, one+"/"+step.verb, func(ctx context.Context, in *inCollection) (web.Reply[*api.Collection], error) {
			return s.Step(ctx, in.ID, step.state)
		}, web.Doc{Summary: step.summary, Scope: write, Tag: tag, Once: true, Codes: []string{"COLLECTION_NOT_FOUND", "COLLECTION_CLOSED"}})
	}
}

// inCollection names a collection.
type inCollection struct {
	ID string `path:"collectionId" doc:"Id of the collection." example:"col_7310428377145344"`
}

func (s *Collections) serveCreate(ctx context.Context, in *struct{ Body api.CollectionDraft }) (web.Reply[*api.Collection], error) {
	return s.Create(ctx, in.Body)
}

func (s *Collections) serveGet(ctx context.Context, in *inCollection) (web.Reply[*api.Collection], error) {
	return s.Get(ctx, in.ID)
}

func (s *Collections) serveList(ctx context.Context, in *struct {
	Project string `query:"projectId" doc:"Only collections of this project."`
	web.Paging
},
) (web.Reply[web.Page[*api.Collection]], error) {
	var c fault.Checks
	if in.Project != "" {
		check.DID(&c, "query/projectId", in.Project)
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[web.Page[*api.Collection]]{}, err
	}
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.Collection, place, error) {
		items, next, err := s.List(ctx, in.Project, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Collections) servePatch(ctx context.Context, in *struct {
	inCollection
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read, such as \"1\" for revision 1; required."`
	Body    api.CollectionChange
	RawBody []byte
},
) (web.Reply[*api.Collection], error) {
	return s.Update(ctx, in.ID, in.IfMatch, in.RawBody)
}
