package app

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/audit"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// buildReports makes the service of bundles for auditors. They are read through the
// routes of the areas, by a gate that believes the process itself.
func buildReports(a *App) {
	d := dialects{gate: ownCalls{}, log: a.log}
	table := d.area("report")
	a.twins.routes(table)
	a.surveys.routes(table)
	vcAPI(a).Routes(table)
	handler := muxOf([]*web.API{table})
	r := reports{a}
	a.reports = audit.New(audit.Config{
		DB: a.DB, Exchange: a.exchange, Idem: a.Idem, Cursors: a.cursors, Handler: func() http.Handler { return handler },
		Issuer: r.issuer, Sign: r.sign, Keys: r.keys, List: a.twins.issued.ListNow, Name: r.name, Figures: r.figures,
		Revisions: a.twins.history.List, KitchenTests: a.surveys.kitchens.History,
	})
}

// evidence completes the evidence of a claim that is submitted.
func (a reports) evidence(ctx context.Context, d *api.ClaimDraft) error {
	return a.App.reports.Fix(ctx, d)
}

// ownCalls admits requests of this process, whose context says who calls. No listener
// has it.
type ownCalls struct{}

// Admit looks at the scope alone.
func (ownCalls) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	c := web.CallerFrom(r.Context())
	if scope != web.Public && !scope.Open(func(name string) bool { return auth.May(c, name) }) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// reports is what bundles ask of the areas.
type reports struct{ *App }

// issuer finds the signer: the requested oracle, or that of the project's
// newest credential.
func (a reports) issuer(ctx context.Context, project, want string) (string, error) {
	r, err := a.twins.entities.Find(ctx, a.DB, project)
	if err != nil {
		return "", nowhere(err, "/projectId")
	}
	if r.DomainType != "project" {
		return "", fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No project has this DID.").
			With(fault.Field{Pointer: "/projectId", Code: "not_found", Detail: "It is the DID of another twin. Give that of a project."})
	}
	if want == "" {
		some, _, err := a.twins.issued.List(ctx, credential.Filter{Project: project}, 0, 1)
		if err != nil {
			return "", err
		}
		if len(some) == 0 {
			return "", fault.New(fault.Conflict, "REPORT_NEEDS_ORACLE", "The project has no credentials yet. Name the oracle that signs the report.").
				With(fault.Field{Pointer: "/oracle", Code: "required", Detail: "Give the DID of an oracle that you control."})
		}
		want = some[0].Issuer
	}
	return want, a.maySign(ctx, project, want)
}

// nowhere names the member that names a twin which is not there.
func nowhere(err error, at string) error {
	if f := fault.As(err); f != nil && f.Kind == fault.NotFound {
		return f.With(fault.Field{Pointer: at, Code: "not_found", Detail: "No entity that you may see has this DID."})
	}
	return err
}

// maySign returns nil for an oracle whose key has signed for the project. Any other one
// signs only for callers who may have a key made for it: they control it, and may change
// it.
func (a reports) maySign(ctx context.Context, project, oracle string) error {
	r, err := a.twins.entities.Find(anywhere(ctx), a.DB, oracle)
	if err != nil {
		return nowhere(err, "/oracle")
	}
	if issued, err := credential.HasIssued(ctx, a.DB, r.Workspace, project, r.NID); err != nil || issued {
		return err
	}
	if _, err := a.twins.entities.Find(ctx, a.DB, oracle); err != nil {
		return nowhere(err, "/oracle") // for this caller
	}
	if r.DomainType != "oracle" {
		return fault.New(fault.Conflict, "REPORT_NEEDS_ORACLE", "Reports are signed by oracles, and this twin is not an oracle.").
			With(fault.Field{Pointer: "/oracle", Code: "invalid", Detail: "Give the DID of an oracle of the workspace."})
	}
	err = a.twins.entities.MayUpdate(ctx, a.DB, r)
	if fault.CodeOf(err) == "NOT_CONTROLLER" || err == nil && !auth.May(web.CallerFrom(ctx), "entities:write") {
		return fault.New(fault.Conflict, "REPORT_NEEDS_ORACLE", "This oracle has issued nothing in the project, and you do not control it.").
			With(fault.Field{Pointer: "/oracle", Code: "not_allowed", Detail: "Leave it out, or name an oracle that has issued a credential of the project, or one that you control and may change."})
	}
	return err
}

// anywhere is the caller without the limits of a key to projects: an oracle belongs to
// none.
func anywhere(ctx context.Context) context.Context {
	c := web.CallerFrom(ctx)
	c.Projects = nil
	return web.WithCaller(ctx, c)
}

func (a reports) sign(ctx context.Context, oracle string, make func(issuer string) (jsontext.Value, error)) (jsontext.Value, error) {
	return a.twins.issued.SignFor(anywhere(ctx), oracle, make)
}

func (a reports) keys(ctx context.Context, oracle string) ([]api.IssuerKey, error) {
	return a.twins.issued.Keys(anywhere(ctx), oracle)
}

// name replaces people and households by the pseudonyms of the project's exports. A
// DID without a twin is the principal of a key, and so a person.
func (a reports) name(ctx context.Context, project, id string) (string, error) {
	if !strings.HasPrefix(id, "did:") {
		return id, nil // made up already, or the server itself
	}
	names := a.surveys.vault.Pseudonyms(web.CallerFrom(ctx).Workspace, project)
	r, err := a.twins.entities.Find(anywhere(ctx), a.DB, id) // a household may have moved on
	if fault.KindOf(err) == fault.NotFound {
		return names.Person(id), nil
	} else if err != nil {
		return "", err
	}
	p, err := a.twins.protocols.FindAny(ctx, r.Workspace, r.Protocol, r.ProtocolVersion)
	switch {
	case err != nil:
		return "", err
	case r.DomainType == "person":
		return names.Person(id), nil
	case r.DomainType == "household" || len(p.PII()) > 0:
		return names.Household(id), nil
	}
	return id, nil
}

// figures is what the figures of a survey come from, without who has drawn it elsewhere.
func (a reports) figures(ctx context.Context, project, survey string) ([]byte, error) {
	b, err := a.surveys.figures.Basis(ctx, survey, a.surveys.vault.Pseudonyms(web.CallerFrom(ctx).Workspace, project))
	if err != nil {
		return nil, err
	}
	if b.Sampling != nil && b.Sampling.DrawnElsewhere != nil {
		plan, drawn := *b.Sampling, *b.Sampling.DrawnElsewhere
		drawn.By, drawn.Remark = "", ""
		plan.DrawnElsewhere, b.Sampling = &drawn, &plan
	}
	return json.Marshal(b, json.Deterministic(true))
}

// acrossAreas adds the routes that query all areas at once.
func acrossAreas(a *App, area *web.API) {
	a.overview().Routes(area)
	if a.cfg.HasArea("a") && a.cfg.HasArea("b") {
		a.reports.Routes(area)
	}
}
