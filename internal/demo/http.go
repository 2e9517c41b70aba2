package demo

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const path = "/v1/demo"

// Routes adds the demo to a.
func (s *Service) Routes(a *web.API) {
	const tag, write = "demo", "operations:write"
	web.Get(a, path, s.serveState, web.Doc{Summary: "Read whether the demo programme is there", Scope: "operations:read", Tag: tag})
	web.Post(a, path, s.serveLoad, web.Doc{
		Summary: "Load the demo programme", Status: http.StatusAccepted, Scope: write, Tag: tag,
		Description: "A job makes two organisations with groups and people, 300 households with places in three districts, 300 stoves, hourly readings of 60 of them over 60 days, " +
			"a baseline, a follow-up and a monitoring survey with 400 interviews, pictures, verdicts and back-checks, customers of the USSD line, conversations with the oracle, a webhook that is switched off, an import and an export. " +
			"One of the eight collectors copies interviews and one is too fast: the checks of the surveys name these two. " +
			"It is written through this API, by the people of the demo, each with a key of their own that is revoked at the end; so it needs the scope * besides. The twins belong to whoever loads it. " +
			"Asking again while it loads, or after it was cut off, joins the load or goes on with it. A store that holds anything else, and a server in production, want force. DELETE takes it away whole.",
		Example: Draft{Seed: 1, Force: true},
		Codes:   []string{codeOccupied, codeProduction, codeRemoving, "SCOPE_MISSING", "KEY_RESTRICTED"},
	})
	web.Delete(a, path, s.serveRemove, web.Doc{
		Summary: "Remove the demo programme", Status: http.StatusAccepted, Scope: write, Tag: tag,
		Description: "A job takes out everything that the load has made and what hangs on it, such as responses that others have sent to its surveys: no list, count, search, map or export shows anything of it, and its files, accounts, conversations and keys are gone. " +
			"Events about it stay as numbers of the type demo.forgotten, so that there is no gap; demo.removed tells when it went. Relationships of other twins to it end. Backups made before stay as they are.",
		Codes: []string{codeNone, "SCOPE_MISSING", "KEY_RESTRICTED"},
	})
}

// Draft is the type of package api.
type Draft = api.DemoDraft

type none struct{}

func (s *Service) serveState(ctx context.Context, _ *none) (State, error) { return s.State(ctx) }

func (s *Service) serveLoad(ctx context.Context, in *struct{ Body *Draft }) (web.Reply[job.Job], error) {
	var d Draft
	if in.Body != nil {
		d = *in.Body
	}
	return s.Load(ctx, d)
}

func (s *Service) serveRemove(ctx context.Context, _ *none) (web.Reply[job.Job], error) {
	return s.Remove(ctx)
}
