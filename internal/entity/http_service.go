package entity

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// serviceRoutes serve the services of a twin. Their ETag is that of the record,
// as for all parts below.
func (h handlers) serviceRoutes(a *web.API) {
	web.Get(a, "/v1/entities/{did}/services/{id}", h.serveGetService, web.Doc{
		Summary: "Read a service", Scope: readScope, Tag: tag, Codes: []string{"SERVICE_NOT_FOUND"},
	})
	web.Put(a, "/v1/entities/{did}/services/{id}", h.servePutService, web.Doc{
		Summary: "Add or replace a service", Scope: writeScope, Tag: tag, Also: []int{http.StatusCreated}, Codes: codes(),
		Description: "The endpoint is stored, never called. " + aboutParts,
		Example:     map[string]string{"type": "DataIngestion", "endpoint": "https://example.org/ingest"},
	})
	web.Delete(a, "/v1/entities/{did}/services/{id}", h.serveDeleteService, web.Doc{
		Summary: "Remove a service", Scope: writeScope, Tag: tag, Codes: codes("SERVICE_NOT_FOUND"), Description: aboutParts,
	})
}

type oneService struct {
	ID string `path:"id" doc:"Its id, with or without #." example:"data"`
}

// fragment is the id with its #.
func (o oneService) fragment() string { return "#" + strings.TrimPrefix(o.ID, "#") }

func indexOf(e *Entity, id string) int {
	return slices.IndexFunc(e.Services, func(s Endpoint) bool { return s.ID == id })
}

func serviceNotFound() error {
	return fault.New(fault.NotFound, "SERVICE_NOT_FOUND", "The entity has no service with this id.")
}

func (h handlers) serveGetService(ctx context.Context, in *struct {
	one
	oneService
},
) (web.Reply[Endpoint], error) {
	r, e, err := h.read(ctx, in.DID)
	if err != nil {
		return web.Reply[Endpoint]{}, err
	}
	i := indexOf(e, in.fragment())
	if i < 0 {
		return web.Reply[Endpoint]{}, serviceNotFound()
	}
	return web.Reply[Endpoint]{Value: e.Services[i], ETag: web.ETag(r.Revision)}, nil
}

// endpoint is a service whose id need not be repeated.
type endpoint struct {
	ID       string `json:"id,omitzero" doc:"That of the path, if given." example:"#data"`
	Type     string `json:"type" example:"DataIngestion"`
	Endpoint string `json:"endpoint" doc:"URL: http, https, ws, wss, mqtt, mqtts or ipfs." example:"https://example.org/ingest"`
}

// SchemaName is the name under which clients know it.
func (endpoint) SchemaName() string { return "PartEndpoint" }

func (h handlers) servePutService(ctx context.Context, in *struct {
	changing
	oneService
	Body endpoint
},
) (web.Reply[Endpoint], error) {
	var none web.Reply[Endpoint]
	made := Endpoint{ID: in.fragment(), Type: in.Body.Type, Endpoint: in.Body.Endpoint}
	var c fault.Checks
	if in.Body.ID != "" && in.Body.ID != made.ID {
		c.Add("/id", "invalid", "The id must be the one of the path.")
	}
	made.Check(&c, "")
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return none, err
	}
	var status int
	r, err := h.edit(ctx, in.changing, func(e *Entity) error {
		if i := indexOf(e, made.ID); i >= 0 {
			e.Services[i], status = made, http.StatusOK
			return nil
		}
		e.Services, status = append(e.Services, made), http.StatusCreated
		return nil
	})
	if err != nil {
		return none, err
	}
	return web.Reply[Endpoint]{Value: made, ETag: web.ETag(r.Revision), Status: status}, nil
}

func (h handlers) serveDeleteService(ctx context.Context, in *struct {
	changing
	oneService
},
) (web.Reply[*Entity], error) {
	return h.edited(ctx, in.changing, func(e *Entity) error {
		i := indexOf(e, in.fragment())
		if i < 0 {
			return serviceNotFound()
		}
		e.Services = slices.Delete(e.Services, i, i+1)
		return nil
	})
}
