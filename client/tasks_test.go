package client_test

import (
	"context"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	title := "Silent"
	expect(t, map[string]caller{
		"list": func(ctx context.Context, c *client.Client) error { return only(c.Oracle.Tasks(ctx)) },
		"create": func(ctx context.Context, c *client.Client) error {
			return only(c.Oracle.CreateTask(ctx, client.TaskChange{Title: &title}))
		},
		"read": func(ctx context.Context, c *client.Client) error { return only(c.Oracle.Task(ctx, "task_1/2")) },
		"change": func(ctx context.Context, c *client.Client) error {
			return only(c.Oracle.ChangeTask(ctx, "task_1", client.TaskChange{Title: &title}))
		},
		"cancel": func(ctx context.Context, c *client.Client) error { return c.Oracle.CancelTask(ctx, "task_1") },
	}, map[string]request{
		"list": {Method: "GET", Path: "/tasks"}, "create": {Method: "POST", Path: "/tasks", Body: `{"title":"Silent"}`, Media: plain},
		"read": {Method: "GET", Path: "/tasks/task_1%2F2"}, "change": {Method: "PATCH", Path: "/tasks/task_1", Body: `{"title":"Silent"}`, Media: plain},
		"cancel": {Method: "DELETE", Path: "/tasks/task_1"},
	})
}
