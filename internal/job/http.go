package job

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds the job API to a.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/jobs", s.serveList, web.Doc{
		Summary: "List jobs, newest first", Tag: "jobs", Scope: "jobs:read",
		Description: "Follow hasMore: with two filters a page may be short. Results are left out; read the job. " +
			"Jobs of one kind begin in order of time. Kinds take turns and one kind never has all workers, so that an import does not wait for a queue of exports.",
	})
	web.Get(a, "/v1/jobs/{id}", s.serveGet, web.Doc{
		Summary: "Read a job", Tag: "jobs", Scope: web.Signed, Codes: []string{"JOB_NOT_FOUND", "SCOPE_MISSING"},
		Description: "The caller who started a job can read it as long as they have any right in the workspace. Everybody who may ask for a quality run (`survey.quality`) can read one too: `responses:verify` or `responses:check`. Other jobs of others need the scope `jobs:read`.",
	})
	web.Post(a, "/v1/jobs/{id}/cancel", s.serveCancel, web.Doc{
		Summary: "Cancel a job", Tag: "jobs", Scope: "jobs:write", Also: []int{202},
		Description: "A queued job is cancelled at once. A running one is asked to stop: the answer is 202, and the job ends as cancelled, unless it finishes first.",
		Codes:       []string{"JOB_NOT_FOUND", "JOB_FINISHED"},
	})
}

type listIn struct {
	Status Status `query:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled" doc:"Only jobs with this status."`
	Kind   string `query:"kind" doc:"Only jobs of this kind." example:"survey.export"`
	web.Paging
}

func (in *listIn) validate() error {
	var c fault.Checks
	in.Size(&c)
	if in.Status != "" && !slices.Contains(statuses, in.Status) {
		c.Add("query/status", "unknown", "The status must be queued, running, succeeded, completedWithErrors, failed or cancelled.")
	}
	if in.Kind != "" && !kindForm.MatchString(in.Kind) {
		c.Add("query/kind", "invalid", "A kind is lower-case words joined by dots or dashes.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

func (s *Service) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[Job]], error) {
	var none web.Reply[web.Page[Job]]
	if err := in.validate(); err != nil {
		return none, err
	}
	var below int64
	return web.List(ctx, s.cfg.Cursors, in.Paging, &below, func(limit int) ([]Job, int64, error) {
		return s.List(ctx, Filter{Status: in.Status, Kind: in.Kind}, below, limit)
	})
}

type jobIn struct {
	ID string `path:"id" doc:"Name of the job."`
}

func (s *Service) serveGet(ctx context.Context, in *jobIn) (web.Reply[Job], error) {
	j, err := s.Show(ctx, in.ID)
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
