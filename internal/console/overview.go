package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const overviewTag = "overview"

// maxNames is how many DIDs one request asks about.
const maxNames = 100

// Namer returns the names of those DIDs that it knows and the caller of ctx may
// know.
type Namer func(ctx context.Context, ids []string) ([]api.Name, error)

// OverviewConfig is the areas' functions. DB has the counters.
type OverviewConfig struct {
	DB      *db.DB
	Names   []Namer // the first that knows a DID decides
	Finders []Finder
	Cursors web.Cursors // of time lines
	// Twin returns the number of a twin that the caller of ctx may read; the
	// fault is ENTITY_NOT_FOUND. If it is nil there are no time lines.
	Twin     func(ctx context.Context, did string) (int64, error)
	Timeline []Source
}

// Overview answers overview queries. It is safe for many goroutines.
type Overview struct{ cfg OverviewConfig }

// NewOverview makes an Overview.
func NewOverview(cfg OverviewConfig) *Overview { return &Overview{cfg: cfg} }

// Routes adds the overview to a.
func (s *Overview) Routes(a *web.API) {
	web.Get(a, "/v1/names", s.serveNames, web.Doc{
		Summary: "List the names of DIDs", Tag: overviewTag, Scope: web.Signed,
		Description: "For lists that hold DIDs: actors of events, collectors, targets of relationships. Twins are named to callers with `entities:read`, " +
			"protocols to those with `protocols:read`, API keys to those with `keys:read`. A name that is personal is `withheld` without `entities:pii`. " +
			"DIDs without a name here, or that you may not see, are left out.",
		Codes: []string{"INVALID_PARAMETER"},
	})
	web.Get(a, "/v1/counts", s.serveCounts, web.Doc{
		Summary: "Count twins, responses and jobs", Tag: overviewTag, Scope: web.Signed,
		Description: "Twins (`entities:read`), responses (`responses:read`) and jobs (`jobs:read`) of the workspace, from counters that are kept with each change: nothing is counted, and a part you may not read is absent.",
		Codes:       []string{"KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/search", s.serveSearch, web.Doc{
		Summary: "Find things by the beginning of a name, a number or an id", Tag: overviewTag, Scope: web.Signed,
		Description: "Twins by external id, by their name or any word of it, by telephone number (from four digits; with or without the number of the country) and by district or village " +
			"(`entities:read`; what is personal with `entities:pii`), surveys by id and name (`surveys:read`), responses by id " +
			"(`responses:read`) and API keys by the name of whom they speak for (`keys:read`): at most five of each kind; `more` names the kinds with further results. " +
			"`place` and `externalId` distinguish twins that share a name. A whole DID finds the twin that has it and the member of groups (`groups:read`). Letters A to Z match in either case. " +
			"For keys that see some projects or no personal names, 200 names are looked at.",
		Codes: []string{"INVALID_PARAMETER"},
	})
	if s.cfg.Twin != nil {
		s.timelineRoute(a)
	}
}

func (s *Overview) timelineRoute(a *web.API) {
	web.Get(a, "/v1/entities/{did}/timeline", s.serveTimeline, web.Doc{
		Summary: "List what happened to a twin, newest first", Tag: overviewTag, Scope: "entities:read",
		Description: "Its revisions, relationships that began or ended and claims it produced; interviews about it (`responses:read`; without `responses:pii` those you have collected or sent); " +
			"readings by day of the device it is, or of the devices at it (`devices:read`); registrations and calls over the USSD line (`ussd:read`, for the operator; calls with `entities:pii`; they are kept for 30 days). " +
			"Sources that you may not read, or not completely, are left out and named in `withheld`. Revisions that only add or remove a relationship appear as that relationship. " +
			"50 a page, at most 200. `before` begins at a time; pages go on with `cursor`, which keeps the position among items of the same time, so that none is lost or repeated. A page may be short: follow hasMore.",
		Codes: []string{"ENTITY_NOT_FOUND", "INVALID_PARAMETER"},
	})
}

func (s *Overview) serveNames(ctx context.Context, in *struct {
	DID string `query:"did" minLength:"1" doc:"DIDs, joined by commas: 1 to 100." example:"did:ixo:protocol/clean-cooking,did:ixo:protocol/household"`
},
) (api.Names, error) {
	var c fault.Checks
	ids := strings.Split(in.DID, ",")
	if in.DID == "" || len(ids) > maxNames {
		c.Add("query/did", "out_of_range", fmt.Sprintf("Name 1 to %d DIDs, joined by commas.", maxNames))
	}
	for i, id := range ids {
		if in.DID != "" && i < maxNames && !did.Valid(id) {
			c.Add("query/did", "invalid", fmt.Sprintf("%q, number %d of the list, is not a DID.", fault.Echo(id), i+1))
		}
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return api.Names{}, err
	}
	return s.Names(ctx, ids)
}

// Names returns the names of DIDs, as far as the caller of ctx may know them:
// in order, without duplicates.
func (s *Overview) Names(ctx context.Context, ids []string) (api.Names, error) {
	known, left := map[string]api.Name{}, slices.Clone(ids)
	slices.Sort(left)
	left = slices.Compact(left)
	for _, names := range s.cfg.Names {
		if len(left) == 0 {
			break
		}
		found, err := names(ctx, left)
		if err != nil {
			return api.Names{}, err
		}
		for _, n := range found {
			known[n.DID] = n
		}
		left = slices.DeleteFunc(left, func(id string) bool { _, ok := known[id]; return ok })
	}
	out := api.Names{Items: make([]api.Name, 0, len(known))}
	for _, id := range ids {
		if n, ok := known[id]; ok {
			out.Items = append(out.Items, n)
			delete(known, id)
		}
	}
	return out, nil
}
