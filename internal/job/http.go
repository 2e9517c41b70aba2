package job

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds the job API to a.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/jobs", s.serveList, web.Doc{
		Summary: "List jobs, newest first", Scope: "jobs:read",
		Description: "Follow hasMore: with two filters a page may be short. Results are left out; read the job.",
	})
	web.Get(a, "/v1/jobs/{id}", s.serveGet, web.Doc{Summary: "Read a job", Scope: "jobs:read", Codes: []string{"JOB_NOT_FOUND"}})
	web.Post(a, "/v1/jobs/{id}/cancel", s.serveCancel, web.Doc{
		Summary: "Cancel a job", Scope: "jobs:write",
		Description: "A queued job is cancelled at once. A running one is asked to stop: the answer is 202, and the job ends as cancelled or, if it was faster, otherwise.",
		Codes:       []string{"JOB_NOT_FOUND", "JOB_FINISHED"},
	})
}

const (
	defaultLimit = 50
	maxLimit     = 1000
)

type listIn struct {
	Status Status `query:"status" enum:"queued,running,succeeded,failed,cancelled" doc:"Only jobs that stand here."`
	Kind   string `query:"kind" doc:"Only jobs of this kind." example:"survey.export"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"How many at most."`
	Cursor string `query:"cursor" doc:"nextCursor of the page before."`
}

func (in *listIn) validate() error {
	var c fault.Checks
	if in.Limit < 0 || in.Limit > maxLimit {
		c.Add("query/limit", "out_of_range", "The limit must be 1 to 1000.")
	}
	if all := []Status{"", Queued, Running, Succeeded, Failed, Cancelled}; !slices.Contains(all, in.Status) {
		c.Add("query/status", "unknown", "The status must be queued, running, succeeded, failed or cancelled.")
	}
	if in.Kind != "" && !kindForm.MatchString(in.Kind) {
		c.Add("query/kind", "invalid", "A kind is lower-case words joined by dots or dashes.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// filter is the part of the query that shapes the list.
func (in *listIn) filter() url.Values {
	v := url.Values{}
	if in.Status != "" {
		v.Set("status", string(in.Status))
	}
	if in.Kind != "" {
		v.Set("kind", in.Kind)
	}
	return v
}

func (s *Service) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[Job]], error) {
	var none web.Reply[web.Page[Job]]
	if err := in.validate(); err != nil {
		return none, err
	}
	scope := web.CursorScope{Workspace: web.CallerFrom(ctx).Workspace, Route: "/v1/jobs", Filter: in.filter().Encode()}
	var below int64
	if in.Cursor != "" {
		if err := s.cfg.Cursors.Decode(scope, in.Cursor, &below); err != nil {
			return none, err
		}
	}
	u := &url.URL{Path: "/v1/jobs", RawQuery: in.filter().Encode()}
	if in.Limit == 0 {
		in.Limit = defaultLimit
	} else {
		query := in.filter()
		query.Set("limit", strconv.Itoa(in.Limit))
		u.RawQuery = query.Encode()
	}
	jobs, next, err := s.List(ctx, Filter{Status: in.Status, Kind: in.Kind}, below, in.Limit)
	if err != nil {
		return none, err
	}
	page := web.Page[Job]{Items: jobs, Page: web.PageInfo{Limit: in.Limit, HasMore: next != 0}}
	if next != 0 {
		if page.Page.NextCursor, err = s.cfg.Cursors.Encode(scope, next); err != nil {
			return none, err
		}
	}
	return web.Reply[web.Page[Job]]{Value: page, Link: web.PageLinks(u, page.Page.NextCursor)}, nil
}

type jobIn struct {
	ID string `path:"id" doc:"Name of the job."`
}

func (s *Service) serveGet(ctx context.Context, in *jobIn) (web.Reply[Job], error) {
	j, err := s.Get(ctx, in.ID)
	if err != nil {
		return web.Reply[Job]{}, err
	}
	return replyJob(j), nil
}

func (s *Service) serveCancel(ctx context.Context, in *jobIn) (web.Reply[Job], error) {
	j, err := s.Cancel(ctx, in.ID)
	if err != nil {
		return web.Reply[Job]{}, err
	}
	p := replyJob(j)
	if !j.Status.Final() {
		p.Status = 202
	}
	return p, nil
}

func reply(r *row) (web.Reply[Job], error) {
	j, err := r.job()
	return replyJob(j), err
}

func replyJob(j Job) web.Reply[Job] {
	return web.Reply[Job]{Value: j, ETag: web.ETag(j.Revision)}
}
