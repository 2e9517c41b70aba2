package emission

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "emissions"

const (
	aboutCalculate = "Calculates by a module, in one version, from the inputs of the request. Every value has a unit: one of another dimension is refused with its pointer, any other is converted exactly. " +
		"An input is a value, or the name of an estimate of the request, with n and sd or a 90 % interval. The answer has every step with what it was filled with, every rule that was applied, " +
		"the reductions by calendar year in whole tonnes, rounded down, and what is carried on, and hashes of the request and of all this. Nothing is stored. The same request has the same answer."
	aboutModules = "What each module does and does not, its inputs with their units and bounds, and its constants with their sources. A module never changes in one version. docs/emissions.md explains them."
)

// Service answers requests for calculations. It is safe for many goroutines.
type Service struct{ cursors web.Cursors }

// New makes a Service. cursors sign those of lists.
func New(cursors web.Cursors) *Service { return &Service{cursors} }

// Routes adds emission calculations to the API.
func (s *Service) Routes(a *web.API) {
	web.Post(a, "/v1/emissions:calculate", s.serveCalculate, web.Doc{
		Summary: "Calculate emissions and reductions, step by step", Scope: "analytics:read", Tag: tag, Description: aboutCalculate, Example: Example(),
		Codes: []string{"EMISSION_MODULE_UNKNOWN", "EMISSION_INPUT_INVALID"},
	})
	web.Get(a, "/v1/emissions/modules", s.serveModules, web.Doc{
		Summary: "List the modules for emission calculations", Scope: "analytics:read", Tag: tag, Description: aboutModules, Codes: []string{"INVALID_PARAMETER"},
	})
}

func (s *Service) serveCalculate(_ context.Context, in *struct{ Body api.EmissionDraft }) (*api.EmissionCalculation, error) {
	return Calculate(in.Body)
}

func (s *Service) serveModules(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.EmissionModule]], error) {
	from := 0
	return web.List(ctx, s.cursors, in.Paging, &from, func(limit int) (items []api.EmissionModule, next int, err error) {
		all := Modules()
		all = all[min(max(0, from), len(all)):]
		if len(all) > limit {
			return all[:limit], from + limit, nil
		}
		return all, 0, nil
	})
}
