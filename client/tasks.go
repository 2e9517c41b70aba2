package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Task       = api.Task
	TaskList   = api.TaskList
	TaskChange = api.TaskChange
)

const tasksPath = "/tasks"

// Tasks lists what this client's principal has scheduled, newest first.
func (o Oracle) Tasks(ctx context.Context, opts ...Option) (*TaskList, error) {
	return keyed[TaskList](ctx, o, get(tasksPath, nil), opts)
}

// CreateTask schedules a task. Title, Prompt and one of Cron and At are needed.
func (o Oracle) CreateTask(ctx context.Context, t TaskChange, opts ...Option) (*Task, error) {
	return keyed[Task](ctx, o, post(tasksPath, t), opts)
}

// Task reads a scheduled task.
func (o Oracle) Task(ctx context.Context, id string, opts ...Option) (*Task, error) {
	return keyed[Task](ctx, o, get(tasksPath+"/"+url.PathEscape(id), nil), opts)
}

// ChangeTask changes, pauses or resumes a scheduled task. Members that are nil
// stay unchanged.
func (o Oracle) ChangeTask(ctx context.Context, id string, t TaskChange, opts ...Option) (*Task, error) {
	return keyed[Task](ctx, o, call{method: http.MethodPatch, path: tasksPath + "/" + url.PathEscape(id), body: t}, opts)
}

// CancelTask cancels a scheduled task for good.
func (o Oracle) CancelTask(ctx context.Context, id string, opts ...Option) error {
	_, err := keyed[struct{}](ctx, o, remove(tasksPath+"/"+url.PathEscape(id)), opts)
	return err
}

// keyed sends a request to a route of the oracle, which reads a key in this header
// only: a bearer is a UCAN there.
func keyed[T any](ctx context.Context, o Oracle, k call, opts []Option) (*T, error) {
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	return do[T](ctx, o.c, k, opts)
}
