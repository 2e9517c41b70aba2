package claim

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// routes adds the queue to the API.
func (u *Queue) routes(a *web.API) {
	web.Get(a, "/v1/claim-queue", u.serveList, web.Doc{
		Summary: "List the claims that wait for you", Scope: "claims:evaluate", Tag: tag, Codes: []string{"INVALID_PARAMETER", "INVALID_CURSOR"},
		Description: "The oldest first: claims that are pending or flagged, that the server does not evaluate by itself, and that you may decide about. Claims that somebody else has taken are left out. A page may be short: follow hasMore.",
	})
	web.Post(a, onePath+"/lease", u.serveTake, web.Doc{
		Summary: "Take a claim to decide about it", Scope: "claims:evaluate", Tag: tag, Once: true,
		Description: "Nobody else decides about it for 10 minutes (409 CLAIM_LEASED). Ask again to renew that. It ends by itself, with a verdict, or when you release the claim. You can decide about a claim without taking it while nobody else has taken it.",
		Codes:       []string{"CLAIM_NOT_FOUND", "CLAIM_LEASED", "CLAIM_LEASES_MANY", "CLAIM_NOT_WAITING", "CLAIM_DECIDED", "CLAIM_DISPUTED", "VERIFIER_IS_CLAIMANT", "VERIFIER_NOT_ORACLE", "MISSING_RELATIONSHIPS"},
	})
	web.Delete(a, onePath+"/lease", u.serveRelease, web.Doc{
		Summary: "Release a claim", Scope: "claims:evaluate", Tag: tag, Description: "It is offered to others again. Releasing a claim that you have not taken changes nothing.", Codes: []string{"CLAIM_NOT_FOUND"},
	})
}

// after is where the queue continues.
type after struct {
	After int64 `json:"a"`
}

func (u *Queue) serveList(ctx context.Context, in *struct {
	Status  string `query:"status" enum:"pending,flagged" example:"flagged"`
	Kind    string `query:"kind" doc:"Only claims of this kind."`
	Project string `query:"projectId" doc:"Only claims of this project."`
	In      string `query:"collection" doc:"Only claims of this collection, by its id."`
	web.Paging
},
) (web.Reply[web.Page[*api.QueuedClaim]], error) {
	var c fault.Checks
	check.OneOf(&c, "query/status", in.Status, Pending, Flagged)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[web.Page[*api.QueuedClaim]]{}, err
	}
	var at after
	return web.List(ctx, u.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.QueuedClaim, after, error) {
		items, next, err := u.List(ctx, Filter{Status: in.Status, Kind: in.Kind, Project: in.Project, Collection: in.In}, at.After, limit)
		return items, after{next}, err
	})
}

func (u *Queue) serveTake(ctx context.Context, in *of) (web.Reply[*api.ClaimLease], error) {
	return u.Take(ctx, in.ID)
}

func (u *Queue) serveRelease(ctx context.Context, in *of) (*api.ClaimLease, error) {
	return u.Release(ctx, in.ID)
}
