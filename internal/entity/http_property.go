package entity

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// propertyRoutes serve the properties of a twin.
func (h handlers) propertyRoutes(a *web.API) {
	web.Get(a, "/v1/entities/{did}/properties/{name}", h.serveGetProperty, web.Doc{
		Summary: "Read a property", Scope: readScope, Tag: tag, Codes: []string{"PROPERTY_NOT_FOUND", "SCOPE_MISSING"},
		Description: "A personal property of an entity you do not control needs the scope entities:pii.",
	})
	web.Put(a, "/v1/entities/{did}/properties/{name}", h.servePutProperty, web.Doc{
		Summary: "Set a property", Scope: writeScope, Tag: tag, Also: []int{http.StatusCreated}, Description: "The body is the value. " + aboutParts,
		Example: "value", Codes: codes("PROPERTY_SCHEMA_VIOLATION"),
	})
	web.Delete(a, "/v1/entities/{did}/properties/{name}", h.serveDeleteProperty, web.Doc{
		Summary: "Remove a property", Scope: writeScope, Tag: tag, Description: aboutParts,
		Codes: codes("PROPERTY_NOT_FOUND", "PROPERTY_SCHEMA_VIOLATION"),
	})
}

// Value is any JSON value.
type Value struct{ jsontext.Value }

// Schema describes any value in the API reference.
func (Value) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "Any JSON value."}
}

type oneProperty struct {
	Name string `path:"name" doc:"Name of the property." example:"metricOne"`
}

func propertyNotFound() error {
	return fault.New(fault.NotFound, "PROPERTY_NOT_FOUND", "The entity has no property of this name.")
}

// membersOf splits the properties of a record.
func membersOf(e *Entity) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(e.Properties.Value, &members); err != nil {
		return nil, fmt.Errorf("read properties: %w", err)
	}
	return members, nil
}

func (h handlers) serveGetProperty(ctx context.Context, in *struct {
	one
	oneProperty
},
) (web.Reply[Value], error) {
	r, e, err := h.read(ctx, in.DID)
	if err != nil {
		return web.Reply[Value]{}, err
	}
	hidden, err := h.service.See(ctx).Hidden(ctx, h.service.db, r.Protocol, r.Body)
	if err != nil {
		return web.Reply[Value]{}, err
	}
	if slices.Contains(hidden, in.Name) { // whether it exists or not
		return web.Reply[Value]{}, mask.Missing()
	}
	members, err := membersOf(e)
	if err != nil {
		return web.Reply[Value]{}, err
	}
	v, ok := members[in.Name]
	if !ok {
		return web.Reply[Value]{}, propertyNotFound()
	}
	return web.Reply[Value]{Value: Value{v}, ETag: web.ETag(r.Revision)}, nil
}

func (h handlers) servePutProperty(ctx context.Context, in *struct {
	changing
	oneProperty
	Body Value
},
) (web.Reply[Value], error) {
	var status int
	r, err := h.edit(ctx, in.changing, func(e *Entity) error {
		members, err := membersOf(e)
		if err != nil {
			return err
		}
		if status = http.StatusOK; members[in.Name] == nil {
			status = http.StatusCreated
		}
		members[in.Name] = in.Body.Value
		return setMembers(e, members)
	})
	if err != nil {
		return web.Reply[Value]{}, err
	}
	return web.Reply[Value]{Value: in.Body, ETag: web.ETag(r.Revision), Status: status}, nil
}

// setMembers makes an object of members, in the order of their names.
func setMembers(e *Entity, members map[string]jsontext.Value) error {
	text, err := web.Encode(members)
	if err != nil {
		return err
	}
	e.Properties = Object{Value: text}
	return nil
}

func (h handlers) serveDeleteProperty(ctx context.Context, in *struct {
	changing
	oneProperty
},
) (web.Reply[*Entity], error) {
	return h.edited(ctx, in.changing, func(e *Entity) error {
		members, err := membersOf(e)
		if err != nil {
			return err
		}
		if members[in.Name] == nil {
			return propertyNotFound()
		}
		delete(members, in.Name)
		return setMembers(e, members)
	})
}

// controllerRoutes serve the controllers of a twin: those who may change it.
func (h handlers) controllerRoutes(a *web.API) {
	web.Put(a, "/v1/entities/{did}/controllers/{target}", h.servePutController, web.Doc{
		Summary: "Add a controller to an entity", Scope: writeScope, Tag: tag, Codes: codes(), Description: aboutParts,
	})
	web.Delete(a, "/v1/entities/{did}/controllers/{target}", h.serveDeleteController, web.Doc{
		Summary: "Remove a controller from an entity", Scope: writeScope, Tag: tag, Codes: codes("CONTROLLER_NOT_FOUND"),
		Description: "At least one controller must remain. " + aboutParts,
	})
}

type oneController struct {
	Target string `path:"target" doc:"DID of the controller." example:"did:ixo:org/stoves"`
}

func (h handlers) servePutController(ctx context.Context, in *struct {
	changing
	oneController
},
) (web.Reply[*Entity], error) {
	var c fault.Checks
	check.DID(&c, "path/target", in.Target)
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return web.Reply[*Entity]{}, err
	}
	return h.edited(ctx, in.changing, func(e *Entity) error {
		e.SetControllers(append(slices.Clone(e.Controllers), in.Target)...)
		return nil
	})
}

func (h handlers) serveDeleteController(ctx context.Context, in *struct {
	changing
	oneController
},
) (web.Reply[*Entity], error) {
	return h.edited(ctx, in.changing, func(e *Entity) error {
		if !slices.Contains(e.Controllers, in.Target) {
			return fault.New(fault.NotFound, "CONTROLLER_NOT_FOUND", "The entity has no such controller. Its member controllers lists them.")
		}
		e.SetControllers(slices.DeleteFunc(slices.Clone(e.Controllers), func(d string) bool { return d == in.Target })...)
		return nil
	})
}
