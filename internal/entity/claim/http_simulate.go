package claim

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const simulationsPath = "/v1/claim-simulations"

func simulationLinks(id string) api.ClaimSimulationLinks {
	self := simulationsPath + "/" + id
	return api.ClaimSimulationLinks{Self: self, Claims: self + "/claims", Job: job.Path(id)}
}

const aboutSimulate = "Applies a rubric to submitted claims, with the facts that people have entered, and reports which outcomes would differ from the newest evaluation. Nothing is written to claims. " +
	"Give the rubric in verification (its facts and rubric, as a claim type has them), or name a protocol, in a draft version too. With protocol, only claims of that protocol are tried. " +
	"Facts that the rubric does not know are left out; one of another type counts as manual_review_required. Withdrawn claims are left out, and so are those that your key does not see. The scope claims:read is needed too."

// routes adds simulations to the API.
func (s *Simulations) routes(a *web.API) {
	web.Post(a, "/v1/claims:simulate", s.serveCreate, web.Doc{
		Summary: "Try a rubric on past claims", Status: http.StatusAccepted, Scope: "claims:evaluate", Tag: tag, Once: true, Description: aboutSimulate,
		Example: api.ClaimSimulationDraft{Kind: "fuel-saved", Protocol: "did:ixo:protocol/clean-cooking", Version: "1.1.0"},
		Codes:   []string{"SIMULATION_INVALID", "PROTOCOL_NOT_FOUND", "RUBRIC_NOT_FOUND", "RUBRIC_INVALID", "SCOPE_MISSING"},
	})
	web.Get(a, simulationsPath+"/{simulationId}", s.serveGet, web.Doc{
		Summary: "Read what a rubric would change", Scope: "claims:evaluate", Tag: tag, Codes: []string{"SIMULATION_NOT_FOUND"},
		Description: "Counts the claims for each outcome before and after, and those that would change: another outcome, or another amount.",
	})
	web.Get(a, simulationsPath+"/{simulationId}/claims", s.serveClaims, web.Doc{
		Summary: "List the claims that a rubric would change", Scope: "claims:evaluate", Tag: tag, Codes: []string{"SIMULATION_NOT_FOUND", "INVALID_PARAMETER", "INVALID_CURSOR"},
		Description: "In the order they were submitted, the first 10,000; counts has all of them.",
	})
}

func (s *Simulations) serveCreate(ctx context.Context, in *struct{ Body api.ClaimSimulationDraft }) (web.Reply[job.Job], error) {
	return s.Create(ctx, in.Body)
}

type simulationIn struct {
	ID string `path:"simulationId" doc:"Id of the simulation, and of its job." example:"0198b3c6-3a5e-7c1f-9b64-2f3c5f0a7d11"`
}

func (s *Simulations) serveGet(ctx context.Context, in *simulationIn) (*api.ClaimSimulation, error) {
	var d simulation
	var n api.ClaimSimulationCounts
	j, o, err := s.cfg.Exchange.Look(ctx, kindSimulate, in.ID)
	if err == nil && o == nil {
		err = noSimulation()
	}
	if err == nil {
		err = o.Read(&d, &n)
	}
	if err != nil {
		return nil, err
	}
	out := &api.ClaimSimulation{
		ID: j.ID, Status: string(j.Status), Kind: d.Kind, Protocol: d.Protocol, Version: d.Version, Project: d.Project, RubricHash: d.Hash, Counts: n,
		CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt, Links: simulationLinks(j.ID),
	}
	if d.Collection != 0 {
		out.Collection = collectionName(d.Collection)
	}
	if out.Counts.Outcomes == nil {
		out.Counts.Outcomes = []api.SimulatedOutcome{}
	}
	for _, e := range j.Errors {
		out.Errors = append(out.Errors, api.JobError(e))
	}
	return out, nil
}

func noSimulation() error {
	return fault.New(fault.NotFound, "SIMULATION_NOT_FOUND", "No simulation has this id.")
}

func (s *Simulations) serveClaims(ctx context.Context, in *struct {
	simulationIn
	web.Paging
},
) (web.Reply[web.Page[api.SimulatedClaim]], error) {
	_, o, err := s.cfg.Exchange.Look(ctx, kindSimulate, in.ID)
	if err == nil && o == nil {
		err = noSimulation()
	}
	if err != nil {
		return web.Reply[web.Page[api.SimulatedClaim]]{}, err
	}
	q := exchange.RowsQuery{Paging: in.Paging}
	if err := q.Validate(); err != nil {
		return web.Reply[web.Page[api.SimulatedClaim]]{}, err
	}
	return exchange.Report[api.SimulatedClaim](ctx, s.db, s.cfg.Cursors, in.ID, &q)
}
