package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

const jobsPath = "/v1/jobs"

// Jobs are the background work of the workspace.
type Jobs struct{ c *Client }

// Job is one piece of background work.
type Job struct {
	ID              string         `json:"id"`
	Kind            string         `json:"kind"`
	Status          string         `json:"status"` // queued, running, succeeded, completedWithErrors, failed or cancelled
	Progress        Progress       `json:"progress"`
	Result          jsontext.Value `json:"result,omitzero"` // JSON, once it has ended by itself; lists leave it out
	Errors          []JobError     `json:"errors,omitempty"`
	Attempts        int            `json:"attempts"`
	MaxAttempts     int            `json:"maxAttempts"`
	CancelRequested bool           `json:"cancelRequested"`
	CreatedBy       string         `json:"createdBy"`
	CreatedAt       time.Time      `json:"createdAt"`
	RunAt           time.Time      `json:"runAt,omitzero"`
	StartedAt       time.Time      `json:"startedAt,omitzero"`
	FinishedAt      time.Time      `json:"finishedAt,omitzero"`
	Revision        int64          `json:"revision"`
	Links           JobLinks       `json:"links"`
}

// JobLinks are the addresses of a job.
type JobLinks struct {
	Self   string `json:"self"`
	Cancel string `json:"cancel,omitzero"` // while it can be stopped
	About  string `json:"about,omitzero"`  // its import, export or migration, the survey it checks
	Rows   string `json:"rows,omitzero"`   // of an import or migration that was just begun: what became of every row
}

// Final reports whether the job is over.
func (j Job) Final() bool {
	return j.Status != "" && j.Status != "queued" && j.Status != "running"
}

// Done reports whether the job has done its work. In one that ended as
// completedWithErrors some rows were refused: the report of the import or
// migration says which and why.
func (j Job) Done() bool { return j.Status == "succeeded" || j.Status == "completedWithErrors" }

// Types of package api.
type (
	Progress = api.Progress
	JobError = api.JobError
)

// JobQuery asks for jobs.
type JobQuery struct {
	Status string // all by default
	Kind   string // all by default
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q JobQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "status", q.Status)
	set(v, "kind", q.Kind)
	return v
}

// Get reads a job. Code: JOB_NOT_FOUND.
func (j Jobs) Get(ctx context.Context, id string, opts ...Option) (*Job, error) {
	return do[Job](ctx, j.c, get(jobPath(id), nil), opts)
}

// Page reads one page of the jobs, newest first.
func (j Jobs) Page(ctx context.Context, q JobQuery, opts ...Option) (*Page[Job], error) {
	return page[Job](ctx, j.c, jobsPath, q.values(), opts)
}

// List walks over the jobs, newest first. An error ends it.
func (j Jobs) List(ctx context.Context, q JobQuery, opts ...Option) iter.Seq2[Job, error] {
	return pages[Job](ctx, j.c, jobsPath, q.values(), opts)
}

// Cancel asks a job to stop. A running job may still end differently: see Wait.
// It is not retried. Codes: JOB_NOT_FOUND, JOB_FINISHED.
func (j Jobs) Cancel(ctx context.Context, id string, opts ...Option) (*Job, error) {
	return do[Job](ctx, j.c, call{method: http.MethodPost, path: jobPath(id) + "/cancel"}, opts)
}

// Wait polls a job until it is over, however it ends, or ctx is.
func (j Jobs) Wait(ctx context.Context, id string, opts ...Option) (*Job, error) {
	for n := 1; ; n++ {
		job, err := j.Get(ctx, id, opts...)
		if err != nil || job.Final() {
			return job, err
		}
		if err := pause(ctx, Retry{Min: 50 * time.Millisecond, Max: 2 * time.Second}.wait(n)); err != nil {
			return job, err
		}
	}
}

func jobPath(id string) string { return jobsPath + "/" + url.PathEscape(id) }
