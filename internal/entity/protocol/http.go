package protocol

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const creating = "A new protocol is a draft. Publish it with POST /v1/protocols/{did}/publish; then twins can be made from it. " +
	"A property is a type name (string, number, integer, boolean, object, array, date, date-time, uri, did, geo, duration, quantity) or a JSON Schema 2020-12 " +
	"that refers only to itself; type may be one of these names there too, and indexed: true (at most 8 scalars) and pii: true may be in it. A relationship is a class name " +
	"(OracleEntity, OrganisationEntity, ProjectEntity, AssetEntity, DeviceEntity, HouseholdEntity, PersonEntity, GroupEntity, SystemEntity, ClaimEntity, CredentialEntity, Entity for any) " +
	"or the DID of a protocol, which asks for at least one, or {class, min, max, requiredFor: active or claims}. Limits: 1,000 protocols of 100 versions each in a workspace; 256 KiB; 200 properties of 16 KiB, " +
	"16 levels and 500 subschemas each, 2,000 in all; patterns of 512 characters in RE2; 100 relationships; 10 ancestors.\n\n" +
	"What no twin could meet is refused: an empty enum, bounds that exclude each other, a default that does not fit, a class and a domainType that contradict each other. " +
	"Services are as those of twins: id, type, endpoint. The schema of a claim type is a JSON Schema; its verification has the mode manual, a quorum of at least 1, oracles that are DIDs, and a rubric that compiles (POST /v1/protocols/{did}/rubrics/{kind}/try tries one). " +
	"A survey template is its id; governance.approvals is 0 or more. The protocol that a draft extends need not exist yet; it must exist when the draft is published."

// handlers answer the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds the protocol API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	const tag = "protocols"
	const read, write = "protocols:read", "protocols:write"
	web.Post(a, "/v1/protocols", h.serveCreate, web.Doc{
		Summary: "Create a protocol", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Description: creating, Example: example(),
		Codes: []string{"PROTOCOL_INVALID", "PROTOCOL_EXISTS", "PROTOCOL_CYCLE", "TOO_MANY_PROTOCOLS", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/protocols", h.serveList, web.Doc{
		Summary: "List protocols: the shipped ones, then your own", Scope: read, Tag: tag,
		Description: "One item for each protocol: its newest published version, or its newest one when none is. A page may be short: follow hasMore.",
	})
	web.Get(a, "/v1/protocols/{did}", h.serveGet, web.Doc{
		Summary: "Read a protocol", Scope: read, Tag: tag, Codes: []string{"PROTOCOL_NOT_FOUND"},
		Description: "Without a version you get the newest published one, or the newest one when none is published. view=effective adds everything it inherits.",
	})
	web.Patch(a, "/v1/protocols/{did}", h.servePatch, web.Doc{
		Summary: "Change a draft", Scope: write, Tag: tag, Patch: true, Example: map[string]any{"description": "Devices of our second programme."},
		Codes: []string{"PROTOCOL_NOT_FOUND", "PROTOCOL_PUBLISHED", "PROTOCOL_INVALID", "PROTOCOL_CYCLE", "STALE_REVISION", "PRECONDITION_REQUIRED", "PROTOCOL_CHANGED"},
	})
	web.Delete(a, "/v1/protocols/{did}", h.serveDelete, web.Doc{
		Summary: "Remove a draft", Scope: write, Tag: tag,
		Description: "Only a version that was never published can be removed: no twin is made from a draft. When the draft was the only version, the protocol is gone and its DID is free. The answer is the draft as it was.",
		Codes:       []string{"PROTOCOL_NOT_FOUND", "PROTOCOL_PUBLISHED", "PROTOCOL_CHANGED", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Get(a, "/v1/protocols/{did}/versions", h.serveVersions, web.Doc{Summary: "List the versions of a protocol, newest first", Scope: read, Tag: tag, Codes: []string{"PROTOCOL_NOT_FOUND"}})
	web.Post(a, "/v1/protocols/{did}/versions", h.serveNext, web.Doc{
		Summary: "Make a new version", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true,
		Description: "A draft with all of the newest version, changed as by a merge patch. The version must be greater than the newest.",
		Example:     map[string]any{"version": "2.0.0", "properties": map[string]any{"serial": map[string]any{"type": "string", "indexed": true}}},
		Codes:       []string{"PROTOCOL_NOT_FOUND", "PROTOCOL_INVALID", "PROTOCOL_PUBLISHED", "PROTOCOL_VERSION_EXISTS", "TOO_MANY_VERSIONS"},
	})
	h.moveRoutes(a, tag, write)
	web.Get(a, "/v1/protocols/{did}/diff", h.serveDiff, web.Doc{
		Summary: "Compare two versions", Scope: read, Tag: tag, Codes: []string{"PROTOCOL_NOT_FOUND"},
		Description: "Member by member, with all they inherit, and whether twins of the one still fit the other.",
	})
	web.Get(a, "/v1/protocols/{did}/versions/{version}/diff", h.serveVersionDiff, web.Doc{
		Summary: "Compare a version with another", Scope: read, Tag: tag, Codes: []string{"PROTOCOL_NOT_FOUND"},
	})
	a.Handle(http.MethodGet, "/v1/protocols/{did}/schema", h.serveSchema, web.Doc{
		Summary: "Read the JSON Schema of the properties", Scope: read, Tag: tag, Produces: "application/schema+json", Answer: map[string]any{},
		Query: []web.Param{{Name: "version", Doc: "Version; by default the one that is used when none is named.", Example: "1.0.0"}}, Codes: []string{"PROTOCOL_NOT_FOUND"},
	})
	web.Post(a, "/v1/protocols/{did}/validate", h.serveValidate, web.Doc{
		Summary: "Check properties without making a twin", Scope: read, Tag: tag, Example: map[string]any{"properties": map[string]any{"metricOne": "value", "metricTwo": 42}},
		Codes: []string{"PROTOCOL_NOT_FOUND"}, Description: "Nothing is stored. The answer is 200 whether the properties are valid or not.",
	})
	web.Post(a, "/v1/protocols/{did}/rubrics/{kind}/try", h.serveTry, web.Doc{
		Summary: "Try the rubric of a type of claims", Scope: read, Tag: tag, Description: trying,
		Example: api.RubricTrial{Claim: api.TriedClaim{Amount: 12.5, Unit: "t"}, Facts: map[string]api.KnownFact{"usageRate": {Value: 0.9}}},
		Codes:   []string{"PROTOCOL_NOT_FOUND", "RUBRIC_NOT_FOUND", "RUBRIC_INVALID", "CLAIM_FACTS_INVALID"},
	})
}

const trying = "Reports what the rubric of a version (or draft) decides about a claim with these facts, and by which rule. Nothing is stored.\n\n" +
	"A rubric is the members facts and rubric of a claim type's verification. A fact is {id, type: number, text, boolean, date or choice, unit, values of a choice, source, confidence, description}; " +
	"confidence is the minimum: a fact that is less certain counts as missing. A rule is {id, stage, when, then: {outcome, reasonCode, amount}, text}. when is a CEL expression over claim " +
	"(kind, subject, claimant, amount, unit, periodStart, periodEnd, days, evidence, submitted) and facts, or {fact, equals}. " +
	"The stages stand in the order admissibility, veto, missing_evidence, conflict, manual_review, partial, approval. The first rule that holds decides. Where none holds, where one cannot be " +
	"evaluated, and where the amount of a partial outcome is not between 0 and what is claimed, people decide. At most 100 facts and 100 rules."

// moveRoutes adds the routes that change a status.
func (h handlers) moveRoutes(a *web.API, tag string, scope web.Scope) {
	codes := []string{"PROTOCOL_NOT_FOUND", "STATE_TRANSITION_INVALID", "PROTOCOL_PUBLISHED", "PROTOCOL_CHANGED", "STALE_REVISION"}
	web.Post(a, "/v1/protocols/{did}/publish", h.servePublish, web.Doc{
		Summary: "Publish a draft", Scope: scope, Tag: tag, Once: true, Example: Change{},
		Description: "From now on only its status can change, and twins can be made from it. The protocol it extends must be published and is pinned to its newest version. All versions of a protocol have one class.",
		Codes:       append([]string{"PROTOCOL_INVALID", "PROTOCOL_CYCLE", "PROTOCOL_NOT_PUBLISHED", "PROTOCOL_VERSION_RETIRED"}, codes...),
	})
	web.Post(a, "/v1/protocols/{did}/deprecate", h.serveDeprecate, web.Doc{
		Summary: "Deprecate a published version", Scope: scope, Tag: tag, Once: true, Example: Change{Reason: "2.0.0 measures fuel as well."},
		Description: "Twins can still be made from it.", Codes: codes,
	})
	web.Post(a, "/v1/protocols/{did}/retire", h.serveRetire, web.Doc{
		Summary: "Retire a version", Scope: scope, Tag: tag, Once: true, Example: Change{Reason: "Its methodology has expired."},
		Description: "No more twins are made from it; those there are stay as they are. You can also give up a draft this way: name its version.", Codes: codes,
	})
}

// example is the documented protocol.
func example() any {
	return map[string]any{
		"type":          "Protocol",
		"properties":    map[string]any{"metricOne": "string", "metricTwo": "number", "measurements": "object"},
		"relationships": map[string]any{"verifier": "OracleEntity", "operator": "OrganisationEntity"},
	}
}

func (h handlers) serveCreate(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*Record], error) {
	return h.service.Create(ctx, in.Body)
}

func (h handlers) serveList(ctx context.Context, in *struct {
	Status string `query:"status" doc:"Only protocols shown in this status." enum:"draft,published,deprecated,retired"`
	Class  string `query:"class" doc:"Only protocols of this class." enum:"physical,cognitive,system,oracle"`
	Name   string `query:"name" doc:"Only protocols with this in their name, in any case."`
	web.Paging
},
) (web.Reply[web.Page[Record]], error) {
	var none web.Reply[web.Page[Record]]
	var at spot
	f := Filter{Status: Status(in.Status), Class: in.Class, Name: in.Name}
	limit, err := in.Begin(ctx, h.service.cfg.Cursors, &at)
	if err := check.Together(err, f.check()); err != nil {
		return none, err
	}
	items, next, err := h.service.List(ctx, f, at, limit)
	if err != nil {
		return none, err
	}
	if next == nil {
		return web.PageOf(ctx, h.service.cfg.Cursors, limit, items, nil)
	}
	return web.PageOf(ctx, h.service.cfg.Cursors, limit, items, *next)
}

// oneVersion names a version of a protocol.
type oneVersion struct {
	DID     string `path:"did" doc:"DID of the protocol."`
	Version string `query:"version" doc:"Version; by default the one that is used when none is named." example:"1.0.0"`
}

func (h handlers) serveGet(ctx context.Context, in *struct {
	oneVersion
	View string `query:"view" doc:"effective: with all it inherits." enum:"effective"`
},
) (web.Reply[*Record], error) {
	if in.View != "" && in.View != "effective" {
		return web.Reply[*Record]{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/view", Code: "not_allowed", Detail: "The value must be effective."})
	}
	return h.service.Get(ctx, in.DID, in.Version, in.View != "")
}

// Patch is a change of a draft. It documents the body; the raw bytes are
// merged.
type Patch struct {
	Name        *string `json:"name,omitzero"`
	Description *string `json:"description,omitzero"`
	Content
}

func (h handlers) servePatch(ctx context.Context, in *struct {
	DID     string `path:"did" doc:"DID of the protocol."`
	Version string `query:"version" doc:"Version; the newest draft by default." example:"1.0.0"`
	IfMatch string `header:"If-Match" doc:"ETag of the version you have read."`
	Body    Patch
	RawBody []byte
},
) (web.Reply[*Record], error) {
	return h.service.Update(ctx, in.DID, in.Version, in.IfMatch, in.RawBody)
}

func (h handlers) serveDelete(ctx context.Context, in *struct {
	DID     string `path:"did" doc:"DID of the protocol."`
	Version string `query:"version" doc:"Version; the newest draft by default." example:"1.0.0"`
	IfMatch string `header:"If-Match" doc:"ETag of the draft you have read; * for any."`
},
) (*Record, error) {
	return h.service.Delete(ctx, in.DID, in.Version, in.IfMatch)
}

// VersionList is the versions of a protocol.
type VersionList struct {
	DID   string        `json:"did"`
	Items []VersionInfo `json:"items"`
}

func (h handlers) serveVersions(ctx context.Context, in *struct {
	DID string `path:"did" doc:"DID of the protocol."`
},
) (*VersionList, error) {
	items, err := h.service.Versions(ctx, in.DID)
	if err != nil {
		return nil, err
	}
	return &VersionList{DID: in.DID, Items: items}, nil
}

// Next is a new version: its number and its differences from the newest. It
// documents the body; the raw bytes are merged.
type Next struct {
	Version string `json:"version" doc:"Must be greater than the newest." example:"2.0.0"`
	Patch
}

func (h handlers) serveNext(ctx context.Context, in *struct {
	DID     string `path:"did" doc:"DID of the protocol."`
	Body    Next
	RawBody []byte
},
) (web.Reply[*Record], error) {
	return h.service.AddVersion(ctx, in.DID, in.RawBody)
}

// moveInput is the input of the routes that change a status.
type moveInput struct {
	DID     string `path:"did" doc:"DID of the protocol."`
	IfMatch string `header:"If-Match" doc:"ETag of the version you have read; not needed."`
	Body    *Change
}

func (in *moveInput) change() Change {
	if in.Body == nil {
		return Change{}
	}
	return *in.Body
}

func (h handlers) servePublish(ctx context.Context, in *moveInput) (web.Reply[*Record], error) {
	return h.service.Publish(ctx, in.DID, in.IfMatch, in.change())
}

func (h handlers) serveDeprecate(ctx context.Context, in *moveInput) (web.Reply[*Record], error) {
	return h.service.Deprecate(ctx, in.DID, in.IfMatch, in.change())
}

func (h handlers) serveRetire(ctx context.Context, in *moveInput) (web.Reply[*Record], error) {
	return h.service.Retire(ctx, in.DID, in.IfMatch, in.change())
}

func (h handlers) serveDiff(ctx context.Context, in *struct {
	DID  string `path:"did" doc:"DID of the protocol."`
	From string `query:"from" doc:"Version; the one before to by default." example:"1.0.0"`
	To   string `query:"to" doc:"Version; the newest by default." example:"2.0.0"`
},
) (*Diff, error) {
	return h.service.Diff(ctx, in.DID, in.From, in.To)
}

func (h handlers) serveVersionDiff(ctx context.Context, in *struct {
	DID     string `path:"did" doc:"DID of the protocol."`
	Version string `path:"version" doc:"Version to start from." example:"1.0.0"`
	To      string `query:"to" doc:"Version; the newest by default." example:"2.0.0"`
},
) (*Diff, error) {
	return h.service.Diff(ctx, in.DID, in.Version, in.To)
}

func (h handlers) serveSchema(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[oneVersion](r)
	if err != nil {
		return err
	}
	p, err := h.service.FindAny(r.Context(), web.CallerFrom(r.Context()).Workspace, in.DID, in.Version)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/schema+json")
	_, err = w.Write(p.Schema())
	return err
}

func (h handlers) serveValidate(ctx context.Context, in *struct {
	oneVersion
	Body Sample
},
) (*Verdict, error) {
	var c fault.Checks
	c.Require(!in.Body.Properties.IsZero(), "/properties")
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, err
	}
	return h.service.Validate(ctx, in.DID, in.Version, in.Body)
}

func (h handlers) serveTry(ctx context.Context, in *struct {
	oneVersion
	Kind string `path:"kind" doc:"Type of claims." example:"emission-reduction"`
	Body api.RubricTrial
},
) (*api.RubricDecision, error) {
	return h.service.TryRubric(ctx, in.DID, in.Version, in.Kind, in.Body)
}
